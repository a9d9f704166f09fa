//! Observations of a run: a metric, rows of a series, or a fraction of a distribution.
//!
//! Addresses are those of every scenario (`lockgate list metrics`), and two more for flows:
//!
//! ```text
//! flow.NAME.first_received     arrival of the part's first packet, in seconds from the start of the run
//! flow.NAME.longest_silence    longest time without an arrival, in steps of the sampling interval
//! ```

use lockgate_engine::port_name;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::histogram::Histogram;
use lockgate_measure::metric::{
    self, Address, During, Fold, Metric, Rows, Series, Subject, SubjectKind, Values, check_path,
};
use lockgate_measure::recording::{FlowRecord, PortRecord, Recording};
use lockgate_measure::summary::Summary;
use lockgate_scenario::Scale;

use super::expression::{Clause, Observation};
use crate::ClaimsError;

/// Observations of a flow that are made from its series.
const OF_ARRIVALS: [&str; 2] = ["first_received", "longest_silence"];

/// Returns the series of an object of this kind, by the names that formulas use.
fn series(about: SubjectKind) -> impl Iterator<Item = &'static Series> {
    Metric::of(about).flat_map(|metric| metric.series)
}

/// Returns the distributions with recorded values of an object of this kind.
fn distributions(about: SubjectKind) -> impl Iterator<Item = (&'static str, Values)> {
    Metric::of(about).filter_map(|metric| Some((metric.name, metric.values?)))
}

/// Names in a run.
pub(crate) struct Names {
    pub(crate) flows: Vec<String>,
    pub(crate) ports: Vec<(String, Vec<String>)>,
    /// Warm-up and length of the run.
    pub(crate) times: (Duration, Duration),
}

impl Names {
    pub(crate) fn of(scenario: &lockgate_scenario::Scenario) -> Self {
        Self {
            flows: scenario.flows.iter().map(|flow| flow.name.clone()).collect(),
            ports: scenario.ports.iter().map(|port| (port.name.clone(), port.queues.clone())).collect(),
            times: (scenario.warmup, scenario.duration),
        }
    }

    /// Checks that an observation is possible.
    ///
    /// # Errors
    /// The problem.
    pub(crate) fn check(&self, observation: &Observation) -> Result<(), ClaimsError> {
        let paths = starred(&observation.path, self.flows.iter().map(String::as_str));
        if paths.is_empty() {
            return Err(ClaimsError::NoFlow(observation.to_string()));
        }
        paths.iter().try_for_each(|path| self.check_one(path, observation.clause))
    }

    fn check_one(&self, path: &str, clause: Clause) -> Result<(), ClaimsError> {
        let (subject, name) = split(path)?;
        if clause == Clause::Metric && !OF_ARRIVALS.contains(&name) {
            let names = metric::Names { flows: &self.flows, ports: &self.ports };
            check_path(path, &names).map_err(|error| rows_of(path).unwrap_or(error.into()))?;
            return self.check_part(path);
        }
        let known = match &subject {
            Subject::Flow(flow) => self.flows.contains(flow),
            Subject::Queue(port, queue) => {
                self.ports.iter().any(|(known, queues)| known == port && queues.contains(queue))
            }
            _ => true,
        };
        if !known {
            return Err(ClaimsError::NoSubject(path.to_owned()));
        }
        let about = subject.kind();
        let arrivals = OF_ARRIVALS.into_iter().filter(|_| about == SubjectKind::Flow);
        let (columns, shares) = match clause {
            Clause::Over(..) => (series(about).map(|one| one.name).chain(arrivals).collect(), Vec::new()),
            Clause::Within(..) => (Vec::new(), distributions(about).map(|(name, _)| name).collect()),
            Clause::Metric => return Ok(()),
        };
        let (known, what): (Vec<&str>, _) =
            if shares.is_empty() { (columns, "series") } else { (shares, "shares") };
        if known.contains(&name) {
            return Ok(());
        }
        Err(ClaimsError::NoColumn(path.to_owned(), what, known.join(", ")))
    }
}

impl Names {
    /// Checks that the run has the part that an address names.
    fn check_part(&self, path: &str) -> Result<(), ClaimsError> {
        let (warmup, length) = self.times;
        let during = Address::parse(path).ok().and_then(|address| address.during);
        during.and_then(|part| part.outside(warmup, length)).map_or(Ok(()), |why| Err(ClaimsError::Part(why)))
    }
}

/// Returns how rows of a series are observed, if `path` names a part of one that is no metric.
fn rows_of(path: &str) -> Option<ClaimsError> {
    let (of, during) = path.split_once(" @ ")?;
    let (subject, name) = split(of).ok()?;
    let has_rows = series(subject.kind()).map(|one| one.name).chain(OF_ARRIVALS).any(|known| known == name);
    has_rows.then(|| ClaimsError::Rows(of.to_owned(), during.to_owned()))
}

/// Splits an address into its subject and the rest.
fn split(path: &str) -> Result<(Subject, &str), ClaimsError> {
    let wrong = || ClaimsError::Address(path.to_owned());
    let rest = |prefix: &str| path.strip_prefix(prefix);
    if let Some(rest) = rest("flow.") {
        let (flow, name) = rest.split_once('.').ok_or_else(wrong)?;
        return Ok((Subject::Flow(flow.to_owned()), name));
    }
    if let Some(rest) = rest("port.") {
        let (port, rest) = rest.split_once('.').ok_or_else(wrong)?;
        let port = port_name::canonical(port);
        let Some(rest) = rest.strip_prefix("queue.") else {
            return Ok((Subject::Port(port.into_owned()), rest));
        };
        let (queue, name) = rest.split_once('.').ok_or_else(wrong)?;
        return Ok((Subject::Queue(port.into_owned(), queue.to_owned()), name));
    }
    Ok((Subject::Run, path))
}

/// Expands a `*` in a flow's name to all matching flows. It matches anything without a `/`: members of a
/// group, but not their other directions and control connections.
fn starred<'a>(path: &str, flows: impl Iterator<Item = &'a str>) -> Vec<String> {
    let parts = path.strip_prefix("flow.").and_then(|rest| rest.split_once('.'));
    let Some((pattern, name)) = parts.filter(|(pattern, _)| pattern.contains('*')) else {
        return vec![path.to_owned()];
    };
    let (head, tail) = pattern.split_once('*').unwrap_or((pattern, ""));
    let fits = |flow: &&str| {
        let middle = flow.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
        middle.is_some_and(|middle| !middle.contains('/'))
    };
    flows.filter(fits).map(|flow| format!("flow.{flow}.{name}")).collect()
}

/// Returns the observation of a run at `scale` that corresponds to `wanted` of the unscaled run.
pub(crate) fn at(wanted: &Observation, scale: Scale) -> Observation {
    let clause = match wanted.clause {
        Clause::Metric => {
            let path = part_at(&wanted.path, scale).unwrap_or_else(|| wanted.path.clone());
            return Observation { path, ..wanted.clone() };
        }
        Clause::Over(from, to) => Clause::Over(scale.time(from), scale.time(to)),
        Clause::Within(from, to) => Clause::Within(scale.time(from), scale.time(to)),
    };
    Observation { clause, ..wanted.clone() }
}

/// Returns the address of the part at `scale` that corresponds to that of `path`, if it names one.
fn part_at(path: &str, scale: Scale) -> Option<String> {
    let address = Address::parse(path).ok()?;
    let during = address.during?;
    let time = |time: Instant| Instant::ZERO + scale.time(time.since(Instant::ZERO));
    let during = During { from: time(during.from), to: time(during.to) };
    Some(Address { during: Some(during), ..address }.to_string())
}

/// Returns the addresses of metrics of parts that observations name, for the run to observe them.
pub(crate) fn addresses_of_parts<'a>(
    observations: impl Iterator<Item = &'a Observation>,
    scenario: &lockgate_scenario::Scenario,
) -> Vec<String> {
    let of_parts = observations.filter(|it| it.clause == Clause::Metric && it.path.contains(" @ "));
    let flows = || scenario.flows.iter().map(|flow| flow.name.as_str());
    of_parts.flat_map(|observation| starred(&observation.path, flows())).collect()
}

/// Makes an observation of a run; NaN if nothing was observed.
pub(crate) fn observe(observation: &Observation, recording: &Recording, summary: &Summary) -> Vec<f64> {
    let flows = recording.flows.iter().map(|flow| flow.setup.name.as_str());
    let one = |path: &String| {
        match observation.clause {
            Clause::Metric => metric(path, recording, summary),
            Clause::Over(from, to) => rows_between(path, recording, Instant::ZERO + from, Instant::ZERO + to),
            Clause::Within(from, to) => share(path, recording, from, to),
        }
        .unwrap_or(f64::NAN)
    };
    starred(&observation.path, flows).iter().map(one).collect()
}

fn metric(path: &str, recording: &Recording, summary: &Summary) -> Option<f64> {
    let (_, name) = split(path).ok()?;
    if OF_ARRIVALS.contains(&name) {
        return rows_between(path, recording, recording.warmup, Instant::ZERO + recording.duration);
    }
    summary.metric(path).ok()
}

fn flow<'a>(recording: &'a Recording, name: &str) -> Option<&'a FlowRecord> {
    recording.flows.iter().find(|flow| flow.setup.name == name)
}

fn port<'a>(recording: &'a Recording, name: &str) -> Option<&'a PortRecord> {
    recording.ports.iter().find(|port| port.setup.name == name)
}

/// Returns a series and its rows; `None` if the run has none at `path`.
fn column(path: &str, recording: &Recording) -> Option<(Rows, Fold)> {
    let (subject, name) = split(path).ok()?;
    let series = series(subject.kind()).find(|one| one.name == name)?;
    let rows = match subject {
        Subject::Flow(of) => series.of_flow(flow(recording, &of)?)?,
        Subject::Queue(of, queue) => {
            let port = port(recording, &of)?;
            series.of_queue(port, port.queues().iter().find(|record| record.name == queue)?)?
        }
        _ => return None,
    };
    Some((rows, series.fold))
}

/// Reduces the intervals that end between two times.
fn rows_between(path: &str, recording: &Recording, from: Instant, to: Instant) -> Option<f64> {
    let (subject, name) = split(path).ok()?;
    if let (Subject::Flow(of), "first_received" | "longest_silence") = (&subject, name) {
        return arrivals(flow(recording, of)?, from, to, name == "first_received");
    }
    let (column, fold) = column(path, recording)?;
    let rows = column.ends.iter().zip(&column.values).filter(|(end, _)| **end > from && **end <= to);
    let values = || rows.clone().map(|(_, value)| *value).filter(|value| !value.is_nan());
    let count = values().count();
    let value = match fold {
        Fold::Rate => values().sum::<f64>() / to.since(from).as_secs_f64(),
        Fold::Sum => values().sum(),
        Fold::Mean => values().sum::<f64>() / count as f64,
        Fold::Max => values().reduce(f64::max)?,
        Fold::Growth => {
            let before = column.ends.iter().zip(&column.values).take_while(|(end, _)| **end <= from).last();
            values().next_back()? - before.map_or(0.0, |(_, value)| *value)
        }
    };
    (count > 0).then_some(value)
}

/// Returns the time of the first arrival if `first`, otherwise the longest time without one, in seconds. The
/// resolution is that of the series.
fn arrivals(flow: &FlowRecord, from: Instant, to: Instant, first: bool) -> Option<f64> {
    let series = flow.series();
    let rows = series.end.iter().zip(&series.received_bytes).filter(|(end, _)| **end > from && **end <= to);
    let mut arrived = rows.filter(|(_, bytes)| **bytes > 0).map(|(end, _)| *end);
    if first {
        return arrived.next().map(Instant::as_secs_f64);
    }
    let (mut last, mut longest) = (from, Duration::ZERO);
    for end in arrived.chain([to]) {
        longest = longest.max(end.since(last));
        last = end;
    }
    Some(longest.as_secs_f64())
}

/// Returns the distribution at `path`, such as `flow.call.owd`; `None` if the run has none.
fn histogram(path: &str, recording: &Recording) -> Option<Histogram> {
    let (subject, name) = split(path).ok()?;
    let (_, values) = distributions(subject.kind()).find(|(known, _)| *known == name)?;
    match (values, subject) {
        (Values::Flow(read), Subject::Flow(of)) => read(flow(recording, &of)?).cloned(),
        (Values::Queue(read), Subject::Queue(of, queue)) => {
            let port = port(recording, &of)?;
            let record = port.queues().iter().position(|record| record.name == queue)?;
            Some(read(port, u32::try_from(record).ok()?))
        }
        _ => None,
    }
}

/// Returns the fraction of a distribution's values at or above `from` and below `to`.
fn share(path: &str, recording: &Recording, from: Duration, to: Duration) -> Option<f64> {
    let histogram = histogram(path, recording).filter(|histogram| !histogram.is_empty())?;
    let range = from.as_picos()..to.as_picos();
    let buckets = histogram.buckets();
    let within: u64 = buckets.iter().filter(|(value, _)| range.contains(value)).map(|(_, count)| count).sum();
    Some(within as f64 / histogram.count() as f64)
}

/// Curve of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Curve {
    /// Series over time: seconds, values.
    OverTime,
    /// Density of a distribution: seconds, fraction a second.
    Density,
    /// Distribution function: seconds, fraction.
    Cumulative,
}

impl Curve {
    /// Returns the observation that is possible exactly if this curve of `observation` is.
    pub(crate) fn as_observed(self, observation: &Observation) -> Observation {
        let (from, to) = (Duration::ZERO, Duration::from_secs(1));
        let clause = match self {
            Self::OverTime => Clause::Over(from, to),
            Self::Density | Self::Cumulative => Clause::Within(from, to),
        };
        Observation { clause, ..observation.clone() }
    }
}

/// Returns the points of a curve; empty if nothing was observed.
pub(crate) fn curve(observation: &Observation, curve: Curve, recording: &Recording) -> Vec<(f64, f64)> {
    let path = &observation.path;
    match curve {
        Curve::OverTime => over_time(path, observation.clause, recording).unwrap_or_default(),
        Curve::Density => {
            let points = histogram(path, recording).map(|histogram| histogram.density(100));
            points.unwrap_or_default().into_iter().map(|(at, share)| (at / 1e12, share * 1e12)).collect()
        }
        Curve::Cumulative => {
            let points = histogram(path, recording).map(|histogram| histogram.cdf(400));
            points.unwrap_or_default().into_iter().map(|(at, share)| (at as f64 / 1e12, share)).collect()
        }
    }
}

fn over_time(path: &str, clause: Clause, recording: &Recording) -> Option<Vec<(f64, f64)>> {
    let (column, fold) = column(path, recording)?;
    let mut before = Instant::ZERO;
    let mut points = Vec::with_capacity(column.values.len());
    for (end, value) in column.ends.iter().zip(&column.values) {
        let width = end.since(before).as_secs_f64();
        let seen = match clause {
            Clause::Over(from, to) => *end > Instant::ZERO + from && *end <= Instant::ZERO + to,
            Clause::Metric | Clause::Within(..) => true,
        };
        let value = if fold == Fold::Rate { value / width } else { *value };
        if seen && value.is_finite() {
            points.push((end.as_secs_f64(), value));
        }
        before = *end;
    }
    Some(points)
}

#[cfg(test)]
mod tests {
    use super::super::expression::Expression;
    use super::*;

    fn names() -> Names {
        Names {
            flows: ["file/1", "file/2", "file/1/return", "file/1/control", "echo"]
                .map(str::to_owned)
                .to_vec(),
            ports: vec![("a:b".to_owned(), vec!["link".to_owned()])],
            times: (Duration::from_secs(3), Duration::from_secs(10)),
        }
    }

    fn check(text: &str) -> Result<(), ClaimsError> {
        let expression = Expression::parse(text).expect("a formula");
        let mut result = Ok(());
        expression.each_observation(&mut |observation| {
            if result.is_ok() {
                result = names().check(observation);
            }
        });
        result
    }

    #[test]
    fn what_a_run_has_is_known_before_it_runs() {
        for good in [
            "[r: flow.echo.owd.p99]",
            "[r: flow.file/*.fct]",
            "[r: flow.echo.longest_silence]",
            "[r: flow.echo.throughput over 1s..2s]",
            "[r: flow.echo.iat in 1ms..2ms]",
            "[r: port.a->b.queue.link.dropped_packets over 1s..2s]",
            "[r: port.a->b.utilisation]",
            "[r: port.a:b.utilisation]",
            "[r: port.a:b.queue.link.throughput over 1s..2s]",
            "[r: jain_index]",
            "[r: flow.echo.owd.p99 @ 4s..6s]",
            "[r: flow.file/*.throughput @ 4s..6s]",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, expected) in [
            ("[r: flow.ech.owd.p99]", "there is no flow"),
            ("[r: flow.files/*.fct]", "no flow is called so"),
            ("[r: flow.echo.owd]", "needs one of"),
            ("[r: flow.echo.owd.p99 over 1s..2s]", "there are series of"),
            ("[r: flow.echo.owd.p99 @ 1s..2s]", "begins within the warm-up"),
            ("[r: flow.echo.owd.p99 @ 4s..12s]", "ends after the run"),
            ("[r: flow.echo.cwnd @ 4s..6s]", "over 4s..6s"),
            ("[r: flow.echo.loss in 1ms..2ms]", "there are shares of"),
            ("[r: port.a->b.queue.ling.throughput]", "there is no queue"),
            ("[r: port.a->b.queue.ling.throughput over 1s..2s]", "nothing of this name"),
            ("[r: jain]", "jain_index"),
        ] {
            let why = check(bad).expect_err(bad).to_string();
            assert!(why.contains(expected), "{bad}: {why}");
        }
    }

    #[test]
    fn a_star_stands_for_every_member_but_not_for_the_ways_back() {
        let flows = names().flows;
        let paths = |path| starred(path, flows.iter().map(String::as_str));
        assert_eq!(paths("flow.file/*.fct"), ["flow.file/1.fct", "flow.file/2.fct"]);
        assert_eq!(paths("flow.echo.owd.p99"), ["flow.echo.owd.p99"]);
    }
}
