//! Conditions that end a trial of a router's policy, or fire an alert: a bound on a figure of a queue in the
//! newest sample.
//!
//! ```text
//! class.voice.sojourn.p99 > 50ms
//! port.lan:wan.queue.voice.backlog.packets >= 100p for 5s
//! ```
//!
//! `class.NAME` is the queue of this name at every port: the condition is met if it is at one of them.
//! `NAME/*` is any member of the group `NAME`.
//!
//! ```
//! use lockgate_scenario::condition::Condition;
//!
//! assert!(Condition::parse("class.voice.sojourn.p99 > 50ms for 5s").is_ok());
//! let error = Condition::parse("class.voice.sojourn.p98 > 50ms").expect_err("no such figure");
//! assert!(error.help.starts_with("did you mean `sojourn.p99`?"));
//! ```

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use lockgate_engine::port_name;
use lockgate_engine::units;
use lockgate_measure::monitor::{QueueSample, Sample};
use lockgate_measure::summary::Bound;

use crate::nearest::nearest;
use crate::tree::QueueTree;

/// Longest condition, in bytes.
const LONGEST_CONDITION_BYTES: usize = 1024;

/// Longest time that a bound may have to be exceeded.
const LONGEST_FOR: Duration = Duration::from_hours(1);

/// Figure of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    SojournMedian,
    SojournHigh,
    SojournMean,
    BacklogPackets,
    BacklogBytes,
    SentRate,
    Drops,
    Loss,
}

impl Figure {
    const ALL: [(&'static str, Self); 8] = [
        ("sojourn.p50", Self::SojournMedian),
        ("sojourn.p99", Self::SojournHigh),
        ("sojourn.mean", Self::SojournMean),
        ("backlog.packets", Self::BacklogPackets),
        ("backlog.bytes", Self::BacklogBytes),
        ("sent.rate", Self::SentRate),
        ("drops", Self::Drops),
        ("loss", Self::Loss),
    ];

    /// Returns the figure of a queue in the interval of its sample, in base units; `None` if nothing was
    /// observed. Drops are packets a second, and loss is their share of the packets that left.
    fn of(self, queue: &QueueSample, interval_s: f64) -> Option<f64> {
        let dropped = queue.dropped_packets as f64;
        match self {
            Self::SojournMedian => queue.sojourn_p50_s,
            Self::SojournHigh => queue.sojourn_p99_s,
            Self::SojournMean => queue.sojourn_mean_s,
            Self::BacklogPackets => Some(queue.packets as f64),
            Self::BacklogBytes => Some(queue.bytes as f64),
            Self::SentRate => Some(queue.sent_bps),
            Self::Drops => (interval_s > 0.0).then(|| dropped / interval_s),
            Self::Loss => {
                let left = dropped + queue.sent_packets as f64;
                (left > 0.0).then(|| dropped / left)
            }
        }
    }

    /// Reads a value of the figure, in base units.
    fn read(self, text: &str) -> Result<f64, String> {
        fn read<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
            text.parse().map_err(|error: T::Err| error.to_string())
        }
        match self {
            Self::SojournMedian | Self::SojournHigh | Self::SojournMean => {
                read::<units::Duration>(text).map(units::Duration::as_secs_f64)
            }
            Self::BacklogPackets | Self::Drops => {
                read::<units::Packets>(text).map(|packets| packets.0 as f64)
            }
            Self::BacklogBytes => read::<units::Bytes>(text).map(|bytes| bytes.0 as f64),
            Self::SentRate => read::<units::Rate>(text).map(|rate| rate.as_bits() as f64),
            Self::Loss => read::<units::Probability>(text).map(units::Probability::as_f64),
        }
    }
}

/// Queue that meets a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Met<'a> {
    /// Port.
    pub port: &'a str,
    /// Queue.
    pub queue: &'a str,
    /// Value of the figure, in base units.
    pub value: f64,
}

/// Condition on a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    /// Port of the queue; `None`: each.
    port: Option<String>,
    queue: String,
    figure: Figure,
    bound: Bound,
    lasting: Duration,
}

/// A condition that cannot be watched: the reason, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ConditionError {
    /// Problem.
    pub problem: String,
    /// Remedy.
    pub help: String,
}

impl ConditionError {
    fn new(problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self { problem: problem.into(), help: help.into() }
    }
}

/// Help for a condition that is malformed as a whole.
const FORM: &str = "write it like 'class.voice.sojourn.p99 > 50ms' or 'class.voice.drops > 100p for 5s'";

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// Returns the first part that cannot be read, and the text that is allowed there.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let text = text.trim();
        if text.len() > LONGEST_CONDITION_BYTES {
            let problem = format!("a condition of {} bytes is too long", text.len());
            return Err(ConditionError::new(problem, format!("it has at most {LONGEST_CONDITION_BYTES}")));
        }
        // The last operator: a port's name may contain an arrow.
        let operator = text.rfind(['<', '>']).filter(|at| *at > 0 && !text[..*at].ends_with('-'));
        let Some(at) = operator else {
            let problem = format!("`{text}` compares nothing");
            return Err(ConditionError::new(problem, FORM));
        };
        let (address, rest) = text.split_at(at);
        let (is_above, rest) = (rest.starts_with('>'), &rest[1..]);
        let (is_equal, rest) = rest.strip_prefix('=').map_or((false, rest), |rest| (true, rest));
        let (value, lasting) = match rest.split_once(" for ") {
            Some((value, lasting)) => (value, read_lasting(lasting.trim())?),
            None => (rest, Duration::ZERO),
        };
        let (port, queue, figure) = read_address(address.trim())?;
        let value = figure.read(value.trim()).map_err(|problem| {
            ConditionError::new(problem, "a value has a unit, such as 50ms, 100p or 5%")
        })?;
        let bound = match (is_above, is_equal) {
            (true, false) => Bound::Above(value),
            (true, true) => Bound::AtLeast(value),
            (false, false) => Bound::Below(value),
            (false, true) => Bound::AtMost(value),
        };
        Ok(Self { text: text.to_owned(), port, queue, figure, bound, lasting })
    }

    /// Returns the condition as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the time that the bound must be exceeded.
    pub fn lasting(&self) -> Duration {
        self.lasting
    }

    /// Checks that the ports of a policy, given by name and queues, have the port and the queue.
    ///
    /// # Errors
    /// Returns the name that is unknown, and the nearest one.
    pub fn check<'a>(
        &self,
        policy: impl Iterator<Item = (&'a str, &'a QueueTree)> + Clone,
    ) -> Result<(), ConditionError> {
        let ports = || policy.clone().map(|(port, _)| port);
        if let Some(port) = self.port.as_deref().filter(|port| ports().all(|known| known != *port)) {
            return Err(no_such("port", port, &ports().collect::<Vec<_>>()));
        }
        let mut names: Vec<&str> = Vec::new();
        for (_, tree) in policy.filter(|(port, _)| self.is_at(port)) {
            names.extend(tree.queues().iter().map(|queue| &*queue.name));
        }
        if names.iter().any(|name| self.is_of(name)) {
            return Ok(());
        }
        Err(no_such("queue", &self.queue, &names))
    }

    fn is_at(&self, port: &str) -> bool {
        self.port.as_deref().is_none_or(|known| known == port)
    }

    /// True if it is about the queue of this name.
    fn is_of(&self, queue: &str) -> bool {
        match self.queue.strip_suffix("/*") {
            Some(group) => queue.split_once('/').is_some_and(|(of, _)| of == group),
            None => queue == self.queue,
        }
    }

    /// Returns the first queue that meets the condition in a sample; `None` if none does.
    pub fn met_by<'a>(&self, sample: &'a Sample) -> Option<Met<'a>> {
        let ports = sample.ports.iter().filter(|port| self.is_at(&port.name));
        let queues = ports.flat_map(|port| port.queues.iter().map(move |queue| (&*port.name, queue)));
        let mut values = queues.filter(|(_, queue)| self.is_of(&queue.name)).filter_map(|(port, queue)| {
            Some(Met { port, queue: &queue.name, value: self.figure.of(queue, sample.interval_s)? })
        });
        values.find(|met| self.bound.holds(met.value))
    }

    /// Formats a value of its figure for messages.
    pub fn shown(&self, value: f64) -> String {
        match self.figure {
            Figure::SojournMedian | Figure::SojournHigh | Figure::SojournMean => {
                format!("{:.1} ms", value * 1e3)
            }
            Figure::BacklogPackets => format!("{value:.0} packets"),
            Figure::BacklogBytes => format!("{value:.0} bytes"),
            Figure::SentRate => format!("{:.3} Mbit/s", value / 1e6),
            Figure::Drops => format!("{value:.0} packets a second"),
            Figure::Loss => format!("{:.2} %", value * 100.0),
        }
    }
}

fn read_lasting(text: &str) -> Result<Duration, ConditionError> {
    let time = text
        .parse::<units::Duration>()
        .map_err(|error| ConditionError::new(error.to_string(), "write the time like `for 5s`"))?;
    let time = Duration::from_secs_f64(time.as_secs_f64());
    if time > LONGEST_FOR {
        let help = "it is at most an hour, and less than the trial";
        return Err(ConditionError::new(format!("`for {text}` is too long"), help));
    }
    Ok(time)
}

type QueueFigure = (Option<String>, String, Figure);

/// Reads `class.QUEUE.FIGURE` or `port.PORT.queue.QUEUE.FIGURE`.
fn read_address(text: &str) -> Result<QueueFigure, ConditionError> {
    let segments = segments(text)?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (port, queue, rest) = match segments.as_slice() {
        ["class", queue, rest @ ..] => (None, *queue, rest),
        ["port", port, "queue", queue, rest @ ..] => {
            (Some(port_name::canonical(port).into_owned()), *queue, rest)
        }
        _ => {
            let help = "it begins with class.QUEUE or port.PORT.queue.QUEUE";
            return Err(ConditionError::new(format!("`{text}` names no figure of a queue"), help));
        }
    };
    let name = rest.join(".");
    let found = Figure::ALL.iter().find(|(known, _)| *known == name);
    let Some((_, figure)) = found else {
        let known: Vec<&str> = Figure::ALL.iter().map(|(known, _)| *known).collect();
        let near = nearest(&name, known.iter().copied()).map(|near| format!("did you mean `{near}`? "));
        let help = format!("{}a queue has {}", near.unwrap_or_default(), known.join(", "));
        return Err(ConditionError::new(format!("`{name}` is not a figure of a queue"), help));
    };
    Ok((port, queue.to_owned(), *figure))
}

/// Splits an address at its dots; a part in quotes may contain dots.
fn segments(text: &str) -> Result<Vec<String>, ConditionError> {
    let mut segments = vec![String::new()];
    let mut is_quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => segments.push(String::new()),
            other => segments.iter_mut().last().into_iter().for_each(|part| part.push(other)),
        }
    }
    if is_quoted {
        return Err(ConditionError::new(format!("a quote of `{text}` is not closed"), FORM));
    }
    Ok(segments)
}

fn no_such(what: &str, name: &str, known: &[&str]) -> ConditionError {
    const SHOWN: usize = 12;
    let help = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.len() > SHOWN => format!("there are {} and others", known[..SHOWN].join(", ")),
        None => format!("there are {}", known.join(", ")),
    };
    ConditionError::new(format!("the policy has no {what} `{name}`"), help)
}

/// Observation of a condition during a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    condition: Condition,
    /// First sample that shows only the new policy.
    first: u64,
    /// Time of the first sample since which the bound was exceeded in each.
    since: Option<Duration>,
}

impl Watch {
    /// Starts to observe. `newest` is the number of the sample before the change. The sample after it shows
    /// packets of both policies and is skipped.
    pub fn new(condition: Condition, newest: Option<u64>) -> Self {
        Self { condition, first: newest.map_or(0, |number| number.saturating_add(2)), since: None }
    }

    /// Returns the condition.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Observes the newest sample at time `now`. Returns the reason to go back, if the condition is met.
    pub fn observe(&mut self, sample: &Sample, now: Duration) -> Option<String> {
        if sample.number < self.first {
            return None;
        }
        let Some(Met { value, .. }) = self.condition.met_by(sample) else {
            self.since = None;
            return None;
        };
        let since = *self.since.get_or_insert(now);
        if now.saturating_sub(since) < self.condition.lasting {
            return None;
        }
        Some(format!("`{}` was met: {}", self.condition.text, self.condition.shown(value)))
    }
}

#[cfg(test)]
mod tests;
