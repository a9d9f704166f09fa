//! Addresses of metrics: parsing, checks against the names of a scenario, and suggestions for wrong ones.

use core::fmt;

use lockgate_engine::port_name;

use super::during::AT;
use super::error::{MetricError, unknown};
use super::{During, MemberStatistic, Metric, Statistic, SubjectKind, Unit, is_pattern, matches};
use crate::group::group_of;

/// The object that an address refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The whole run.
    Run,
    /// The flow of this name.
    Flow(String),
    /// The group of flows of this name.
    Group(String),
    /// A size class of files of a group: the group's name, the number of the class.
    Bin(String, u64),
    /// The port of this name.
    Port(String),
    /// A queue of a port: the port's name, the queue's name.
    Queue(String, String),
}

impl Subject {
    /// Returns true if it stands for several flows or queues.
    fn is_many(&self) -> bool {
        match self {
            Self::Flow(name) | Self::Queue(_, name) => is_pattern(name),
            _ => false,
        }
    }

    /// Returns true if its value is computed from this flow.
    pub(crate) fn has_flow(&self, name: &str) -> bool {
        match self {
            Self::Run => true,
            Self::Flow(pattern) => matches(pattern, name),
            Self::Group(group) | Self::Bin(group, _) => group_of(name) == Some(group),
            Self::Port(_) | Self::Queue(..) => false,
        }
    }

    /// Returns true if its value is computed from this port.
    pub(crate) fn has_port(&self, name: &str) -> bool {
        matches!(self, Self::Port(port) | Self::Queue(port, _) if port == name)
    }

    /// Returns the kind of object.
    pub fn kind(&self) -> SubjectKind {
        match self {
            Self::Run => SubjectKind::Run,
            Self::Flow(_) => SubjectKind::Flow,
            Self::Group(_) | Self::Bin(..) => SubjectKind::Group,
            Self::Port(_) => SubjectKind::Port,
            Self::Queue(..) => SubjectKind::Queue,
        }
    }
}

/// The address of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Object.
    pub subject: Subject,
    /// Metric.
    pub metric: &'static Metric,
    /// Statistic, if the metric is a distribution.
    pub statistic: Option<Statistic>,
    /// Statistic over several flows or queues, if the name of the subject stands for them and the address
    /// gives one.
    pub member_statistic: Option<MemberStatistic>,
    /// Part of the run; `None`: all of it after the warm-up.
    pub during: Option<During>,
}

impl Address {
    /// Parses an address. [`check_path`](super::check_path) also checks the names.
    ///
    /// # Errors
    /// Returns [`MetricError::Unknown`], with the nearest metric or statistic.
    pub fn parse(path: &str) -> Result<Self, MetricError> {
        // Names of ports may have the sign, but no space before it.
        let Some((of, part)) =
            path.rsplit_once(AT).filter(|(of, part)| part.contains("..") || of.ends_with(' '))
        else {
            return Self::parse_whole(path);
        };
        let during = During::parse(path, part)?;
        let address = Self::parse_whole(of.trim_end())?;
        if !address.metric.parts {
            let why = format!("`{}` is of the whole run: a part of it has none", address.metric.name);
            return Err(unknown(path, why, Some(of.trim_end().to_owned())));
        }
        Ok(Self { during: Some(during), ..address })
    }

    /// Parses an address of the whole run.
    fn parse_whole(path: &str) -> Result<Self, MetricError> {
        let segments = segments(path).map_err(|why| unknown(path, why, None))?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (subject, rest) = match segments.as_slice() {
            ["flow", flow, rest @ ..] => (Subject::Flow((*flow).into()), rest),
            ["group", group, "bin", number, rest @ ..] => {
                let number = number.parse().ok().filter(|number| *number > 0);
                let why = "classes of file sizes are numbered: `bin.1` is the smallest files'";
                (Subject::Bin((*group).into(), number.ok_or_else(|| unknown(path, why, None))?), rest)
            }
            // Metrics of the members, unless the group itself has one of this name.
            ["group", group, rest @ ..]
                if rest.first().is_some_and(|name| {
                    Metric::named(SubjectKind::Group, name).is_none()
                        && Metric::named(SubjectKind::Flow, name).is_some()
                }) =>
            {
                (Subject::Flow(format!("{group}/*")), rest)
            }
            ["group", group, rest @ ..] => (Subject::Group((*group).into()), rest),
            ["port", port, "queue", queue, rest @ ..] => {
                (Subject::Queue(port_name::canonical(port).into(), (*queue).into()), rest)
            }
            ["port", port, rest @ ..] => (Subject::Port(port_name::canonical(port).into()), rest),
            rest => (Subject::Run, rest),
        };
        let about = subject.kind();
        let [name, rest @ ..] = rest else {
            return Err(unknown(path, format!("it ends before a metric: {}", allowed(about)), None));
        };
        // A name of two words, such as `owd.bound`.
        let long = rest.first().and_then(|second| Metric::named(about, &format!("{name}.{second}")));
        let rest = if long.is_some() { &rest[1..] } else { rest };
        let Some(metric) = long.or_else(|| Metric::named(about, name)) else {
            let known = Metric::of(about).map(|metric| metric.name);
            let best = nearest(name, known);
            return Err(unknown(path, format!("`{name}` is not one of {}", allowed(about)), best));
        };
        let (rest, over) = match rest.split_last() {
            Some((last, rest))
                if subject.is_many() && rest.len() == usize::from(metric.is_distribution()) =>
            {
                let over = MemberStatistic::parse(last);
                let why =
                    || format!("`{last}` is not a statistic over several: {}", MemberStatistic::names());
                (rest, Some(over.ok_or_else(|| unknown(path, why(), None))?))
            }
            _ => (rest, None),
        };
        if over.is_none() && segments.first() == Some(&"group") && subject.is_many() {
            let names = MemberStatistic::names();
            let why = format!("it needs a statistic over the members at its end: {names}");
            return Err(unknown(path, why, Some(format!("{path}.worst"))));
        }
        let statistic = statistic(path, metric, rest)?;
        Ok(Self { subject, metric, statistic, member_statistic: over, during: None })
    }

    /// Returns the address of the same value of one of the flows or queues that it stands for.
    pub(crate) fn of_member(&self, name: &str) -> Option<Self> {
        let subject = match &self.subject {
            Subject::Flow(_) => Subject::Flow(name.to_owned()),
            Subject::Queue(port, _) => Subject::Queue(port.clone(), name.to_owned()),
            _ => return None,
        };
        Some(Self { subject, member_statistic: None, ..self.clone() })
    }

    /// Returns the address of the same value of the whole run.
    #[must_use]
    pub fn of_whole_run(&self) -> Self {
        Self { during: None, ..self.clone() }
    }

    /// Returns true if it is of several flows or queues.
    pub fn is_many(&self) -> bool {
        self.subject.is_many()
    }

    /// Returns the unit of its metric.
    pub fn unit(&self) -> Unit {
        self.metric.unit
    }
}

fn statistic(path: &str, metric: &Metric, rest: &[&str]) -> Result<Option<Statistic>, MetricError> {
    let names = || Statistic::ALL.iter().map(|(_, name)| *name);
    match (metric.is_distribution(), rest) {
        (false, []) => Ok(None),
        (false, [extra, ..]) => {
            Err(unknown(path, format!("`{}` is one value, without `{extra}`", metric.name), None))
        }
        (true, [name]) => {
            let known = Statistic::ALL.iter().find(|(_, known)| known == name);
            known.map(|(statistic, _)| Some(*statistic)).ok_or_else(|| {
                let why = format!("`{name}` is not one of {}", names().collect::<Vec<_>>().join(", "));
                unknown(path, why, nearest(name, names()))
            })
        }
        (true, _) => {
            let why =
                format!("`{}` needs one of {} after it", metric.name, names().collect::<Vec<_>>().join(", "));
            Err(unknown(path, why, Some(format!("{}.p99", metric.name))))
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Subject::Run => {}
            Subject::Flow(flow) => {
                match flow.strip_suffix("/*").filter(|_| self.member_statistic.is_some()) {
                    Some(group) if Metric::named(SubjectKind::Group, self.metric.name).is_none() => {
                        write!(f, "group.{}.", Segment(group))?;
                    }
                    _ => write!(f, "flow.{}.", Segment(flow))?,
                }
            }
            Subject::Group(group) => write!(f, "group.{}.", Segment(group))?,
            Subject::Bin(group, number) => write!(f, "group.{}.bin.{number}.", Segment(group))?,
            Subject::Port(port) => write!(f, "port.{}.", Segment(port))?,
            Subject::Queue(port, queue) => write!(f, "port.{}.queue.{}.", Segment(port), Segment(queue))?,
        }
        f.write_str(self.metric.name)?;
        self.statistic.map_or(Ok(()), |statistic| write!(f, ".{}", statistic.name()))?;
        self.member_statistic.map_or(Ok(()), |over| write!(f, ".{}", over.name()))?;
        self.during.map_or(Ok(()), |during| write!(f, " {AT} {during}"))
    }
}

/// A name as written in an address: quoted if it has a dot or a quote.
struct Segment<'a>(&'a str);

impl fmt::Display for Segment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() || self.0.contains(['.', '"']) {
            write!(f, "\"{}\"", self.0.replace('"', "\\\""))
        } else {
            f.write_str(self.0)
        }
    }
}

/// Splits an address at its dots; a quoted part may contain dots.
pub(crate) fn segments(path: &str) -> Result<Vec<String>, String> {
    let mut segments = Vec::new();
    let mut part = String::new();
    let mut quoted = false;
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted = !quoted,
            '\\' if quoted => part.extend(characters.next()),
            '.' if !quoted => segments.push(core::mem::take(&mut part)),
            other => part.push(other),
        }
    }
    if quoted {
        return Err("a quote is not closed".into());
    }
    segments.push(part);
    Ok(segments)
}

fn allowed(about: SubjectKind) -> String {
    let names: Vec<&str> = Metric::of(about).map(|metric| metric.name).collect();
    match about {
        SubjectKind::Run => {
            format!(
                "{}, flow.<name>.…, group.<name>.…, port.<name>.…, port.<name>.queue.<name>.…",
                names.join(", ")
            )
        }
        SubjectKind::Port => format!("{}, queue.<name>.…", names.join(", ")),
        SubjectKind::Group => format!("{}, bin.<number>.…", names.join(", ")),
        SubjectKind::Flow | SubjectKind::Queue => names.join(", "),
    }
}

pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // Long names are truncated: the comparison is quadratic.
    let short = |text: &str| text.chars().take(64).collect::<String>();
    let name = short(name);
    let scored = known.map(|known| (strsim::damerau_levenshtein(&name, &short(known)), known));
    let (distance, best) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + best.chars().count().max(name.chars().count()) / 3).then(|| best.into())
}

#[cfg(test)]
mod tests {
    use super::super::{Names, check_path};
    use super::*;

    fn check(path: &str) -> Result<Unit, MetricError> {
        let flows = ["voice".into(), "a.b".into(), "web/1".into()];
        let ports = [("home:server".into(), vec!["link".into(), "voice".into()])];
        check_path(path, &Names { flows: &flows, ports: &ports })
    }

    #[test]
    fn addresses_are_read_printed_and_have_units() {
        for (path, unit) in [
            ("flow.voice.owd.p99", Unit::Seconds),
            ("flow.\"a.b\".throughput", Unit::BitsPerSecond),
            ("flow.web/1.loss", Unit::Ratio),
            ("flow.voice.owd.bound", Unit::Seconds),
            ("flow.voice.jitter_rfc3550", Unit::Seconds),
            ("port.home:server.queue.voice.sojourn.p95", Unit::Seconds),
            ("port.home:server.queue.link.dropped_packets", Unit::Packets),
            ("port.home:server.utilisation", Unit::Ratio),
            ("group.web.jain_index", Unit::Number),
            ("group.web.fct.mean", Unit::Seconds),
            ("group.web.bin.2.slowdown.p99", Unit::Number),
            ("group.web.completed", Unit::Number),
            ("jain_index", Unit::Number),
        ] {
            assert_eq!(check(path), Ok(unit), "{path}");
            assert_eq!(Address::parse(path).expect("an address").to_string(), path);
        }
    }

    #[test]
    fn a_part_of_the_run_is_behind_its_address() {
        for (path, printed) in [
            ("flow.voice.owd.p99 @ 10s..20s", "flow.voice.owd.p99 @ 10s..20s"),
            ("flow.voice.owd.p99@10s..20s", "flow.voice.owd.p99 @ 10s..20s"),
            ("flow.web/*.loss.worst @ 0.5s .. 1500ms", "group.web.loss.worst @ 500ms..1.5s"),
            ("port.\"home:server\".utilisation @ 1s..2s", "port.home:server.utilisation @ 1s..2s"),
            ("jain_index @ 1s..2s", "jain_index @ 1s..2s"),
        ] {
            assert!(check(path).is_ok(), "{path}: {:?}", check(path));
            assert_eq!(Address::parse(path).expect("an address").to_string(), printed);
        }
        let help = |path: &str| check(path).expect_err(path).help();
        for (path, expected) in [
            ("flow.voce.owd.p99 @ 10s..20s", "did you mean `voice`?"),
            ("flow.voice.owd.p9 @ 10s..20s", "did you mean `p90`?"),
            ("flow.voice.thruput @ 10s..20s", "did you mean `throughput`?"),
            (
                "flow.voice.loss @ 20s..10s",
                "`20s..10s` ends before it begins: a part of the run is written `10s..20s`",
            ),
            (
                "flow.voice.loss @ 10..20",
                "`10..20` is not two times: a part of the run is written `10s..20s`",
            ),
            ("flow.voice.loss @ 10s", "`10s` is not two times: a part of the run is written `10s..20s`"),
            (
                "flow.voice.fct @ 1s..2s",
                "`fct` is of the whole run: a part of it has none; did you mean `flow.voice.fct`?",
            ),
            (
                "group.web.completed @ 1s..2s",
                "`completed` is of the whole run: a part of it has none; did you mean `group.web.completed`?",
            ),
        ] {
            assert!(help(path).ends_with(expected), "{path}: {}", help(path));
        }
    }

    #[test]
    fn an_arrow_is_read_and_a_colon_is_printed() {
        for (read, printed) in [
            ("port.home->server.utilisation", "port.home:server.utilisation"),
            ("port.home->server.queue.link.sojourn.p99", "port.home:server.queue.link.sojourn.p99"),
            ("port.\"a->b@up\".rate", "port.a:b@up.rate"),
        ] {
            assert_eq!(Address::parse(read).expect("an address").to_string(), printed);
        }
        assert_eq!(check("port.home->server.rate"), Ok(Unit::BitsPerSecond));
    }

    #[test]
    fn a_wrong_address_gets_the_nearest_right_one() {
        for (path, expected) in [
            ("flow.voce.owd.p99", Some("voice")),
            ("flow.voice.owd.maxx", Some("max")),
            ("flow.voice.thruput", Some("throughput")),
            ("flow.voice.owd", Some("owd.p99")),
            ("port.home:server.queue.lnk.sojourn.p95", Some("link")),
            ("port.home->serve.utilisation", Some("home:server")),
            ("group.wbe.fct.mean", Some("web")),
            ("group.voice.fct.mean", None),
            ("group.web.bin.first.fct.mean", None),
            ("group.web.fct", Some("fct.p99")),
            ("jain", None),
            ("jain_indx", Some("jain_index")),
            ("flow.voice", None),
            ("flow.voice.loss.p99", None),
            ("flow.\"voice.loss", None),
            ("", None),
        ] {
            match check(path) {
                Err(MetricError::Unknown { nearest, .. }) => {
                    assert_eq!(nearest.as_deref(), expected, "{path}");
                }
                other => panic!("{path}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_worst_depends_on_the_metric() {
        for (path, expected) in [
            ("group.call.loss.worst", 3.0),
            ("group.call.loss.best", 1.0),
            ("group.call.throughput.worst", 1.0),
            ("group.call.owd.p99.mean", 2.0),
            ("group.call.owd.p99.p95", 3.0),
            ("group.call.loss.sum", 6.0),
        ] {
            let address = Address::parse(path).expect("an address");
            let over = address.member_statistic.expect("a statistic over members");
            assert_eq!(over.of(address.metric, &[1.0, 2.0, 3.0]), Some(expected), "{path}");
            assert_eq!(address.to_string(), path);
        }
    }
}
