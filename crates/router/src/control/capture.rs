//! Filter of a capture at the queues of a port: which frames it has.
//!
//! ```text
//! class.plan/C7 and dropped
//! waited > 20ms
//! class.voice and reason early
//! ```
//!
//! ```
//! use lockgate_router::control::capture::{Fate, Filter};
//!
//! let filter = Filter::parse("class.plan/* and waited > 20ms")?;
//! assert!(filter.has(&Fate { queue: "plan/C7", waited_s: 0.03, reason: None }));
//! assert!(!filter.has(&Fate { queue: "rest", waited_s: 0.03, reason: None }));
//! # Ok::<(), lockgate_router::control::capture::FilterError>(())
//! ```

use lockgate_engine::discipline::DropReason;
use lockgate_engine::units::Duration;
use lockgate_scenario::nearest;

/// Longest filter, in bytes.
const LONGEST_FILTER_BYTES: usize = 1024;

/// Fate of a frame at a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fate<'a> {
    /// Queue that it left.
    pub queue: &'a str,
    /// Time in the port, in seconds.
    pub waited_s: f64,
    /// Reason why it was dropped; `None`: it was sent.
    pub reason: Option<DropReason>,
}

/// Condition on a frame.
#[derive(Clone, Debug, PartialEq)]
enum Term {
    /// In this queue; `NAME/*`: in any member of the group.
    Queue(String),
    Dropped,
    Sent,
    Reason(DropReason),
    WaitedAbove(f64),
    WaitedBelow(f64),
}

/// Filter: conditions that all hold. The empty filter has every frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter(Vec<Term>);

/// A filter that cannot be read: the reason, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct FilterError {
    /// Problem.
    pub problem: String,
    /// Remedy.
    pub help: String,
}

const FORM: &str =
    "write terms such as class.QUEUE, dropped, sent, reason early, waited > 20ms; join them by `and`";

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// Returns the first term that cannot be read.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let error = |problem: String, help: &str| FilterError { problem, help: help.to_owned() };
        if text.len() > LONGEST_FILTER_BYTES {
            return Err(error(format!("a filter of {} bytes is too long", text.len()), FORM));
        }
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        text.split(" and ").map(|term| Term::parse(term.trim())).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the names of the queues that it requires.
    pub fn queues(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|term| match term {
            Term::Queue(name) => Some(&**name),
            _ => None,
        })
    }

    /// True if it has a frame of this fate.
    pub fn has(&self, fate: &Fate<'_>) -> bool {
        self.0.iter().all(|term| match term {
            Term::Queue(name) => is_of(name, fate.queue),
            Term::Dropped => fate.reason.is_some(),
            Term::Sent => fate.reason.is_none(),
            Term::Reason(reason) => fate.reason == Some(*reason),
            Term::WaitedAbove(least) => fate.waited_s > *least,
            Term::WaitedBelow(most) => fate.waited_s < *most,
        })
    }
}

/// True if `name` of a filter names this queue.
pub(crate) fn is_of(name: &str, queue: &str) -> bool {
    match name.strip_suffix("/*") {
        Some(group) => queue.split_once('/').is_some_and(|(of, _)| of == group),
        None => name == queue,
    }
}

impl Term {
    fn parse(text: &str) -> Result<Self, FilterError> {
        let error = |problem: String, help: String| Err(FilterError { problem, help });
        if let Some(name) = text.strip_prefix("class.") {
            let name = name.trim_matches('"');
            if name.is_empty() {
                return error("`class.` names no queue".to_owned(), FORM.to_owned());
            }
            return Ok(Self::Queue(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix("reason ") {
            let name = name.trim();
            let known = || DropReason::ALL.into_iter().map(DropReason::name);
            let found = DropReason::ALL.into_iter().find(|reason| reason.name() == name);
            return found.map(Self::Reason).map_or_else(
                || {
                    let near = nearest(name, known()).map(|near| format!("did you mean `{near}`? "));
                    let known = known().collect::<Vec<_>>().join(", ");
                    error(
                        format!("`{name}` is not a reason of drops"),
                        format!("{}there are {known}", near.unwrap_or_default()),
                    )
                },
                Ok,
            );
        }
        if let Some(rest) = text.strip_prefix("waited") {
            let rest = rest.trim_start();
            let (is_above, value) = match (rest.strip_prefix('>'), rest.strip_prefix('<')) {
                (Some(value), _) => (true, value),
                (_, Some(value)) => (false, value),
                _ => return error(format!("`{text}` compares nothing"), FORM.to_owned()),
            };
            let time: Duration = match value.trim().parse() {
                Ok(time) => time,
                Err(why) => {
                    return error(format!("{why}"), "write a time such as `waited > 20ms`".to_owned());
                }
            };
            let time = time.as_secs_f64();
            return Ok(if is_above { Self::WaitedAbove(time) } else { Self::WaitedBelow(time) });
        }
        match text {
            "dropped" => Ok(Self::Dropped),
            "sent" => Ok(Self::Sent),
            _ => error(format!("`{text}` is not a term of a filter"), FORM.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_hold_together() {
        let sent = Fate { queue: "plan/C7", waited_s: 0.03, reason: None };
        let dropped = Fate { reason: Some(DropReason::ALL[0]), ..sent };
        let name = DropReason::ALL[0].name();
        for (text, has_sent, has_dropped) in [
            ("", true, true),
            ("dropped", false, true),
            ("sent", true, false),
            ("class.plan/C7 and dropped", false, true),
            ("class.plan/C8", false, false),
            ("class.plan/* and waited > 20ms and waited < 1s", true, true),
            ("waited > 30ms", false, false),
            (&format!("reason {name}"), false, true),
            (&format!("reason {}", DropReason::ALL[1].name()), false, false),
        ] {
            let filter = Filter::parse(text).expect(text);
            assert_eq!((filter.has(&sent), filter.has(&dropped)), (has_sent, has_dropped), "{text}");
        }
    }

    #[test]
    fn wrong_terms_say_what_to_write() {
        for (text, problem, help) in [
            ("lost", "`lost` is not a term", "dropped"),
            ("class.", "names no queue", "class.QUEUE"),
            ("dropped and ", "`` is not a term", "dropped"),
            ("dropped and  and sent", "`` is not a term", "dropped"),
            ("waited 5ms", "compares nothing", "waited > 20ms"),
            ("waited > 5", "", "20ms"),
            ("reason fulll", "is not a reason", "there are"),
        ] {
            let error = Filter::parse(text).expect_err(text);
            assert!(error.problem.contains(problem) && error.help.contains(help), "{text}: {error:?}");
        }
        assert!(Filter::parse(&"x".repeat(2000)).is_err());
    }
}
