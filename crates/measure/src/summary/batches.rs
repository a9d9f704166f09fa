//! Level of a flow before and after a change: values of five parts of each phase, from its series.
//!
//! A run that has no other life (live, or simulated without one) tells two phases apart by them. A phase that
//! is too short for five parts has none: a swing of TCP lasts seconds.

use indexmap::IndexMap;
use lockgate_engine::units::{Duration, Instant};

use crate::group::group_of;
use crate::metric::{Address, Statistic, Subject, matches};
use crate::recording::FlowRecord;

/// Parts of a phase.
const PARTS: u64 = 5;

/// Length of the shortest phase that is tested.
const SHORTEST: Duration = Duration::from_secs(10);

/// Levels of a flow in the parts of a phase; empty if it is too short, and if a part has no value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Levels {
    /// Medians of the median delay, in seconds.
    p50: Vec<f64>,
    /// Medians of the 99th percentile of the delay, in seconds.
    p99: Vec<f64>,
    /// Bits per second received.
    rate: Vec<f64>,
}

impl Levels {
    /// Reads the levels of a flow in the phase from `from` until `to`.
    pub(super) fn of(record: &FlowRecord, from: Instant, to: Instant) -> Self {
        let (series, length) = (record.series(), to.since(from));
        if length < SHORTEST || record.brief().is_some() {
            return Self::default();
        }
        let part = length / PARTS;
        let rows = |index: u64| {
            let start = from + part * index;
            let row = |time: Instant| series.end.partition_point(|end| *end <= time);
            row(start)..row(start + part)
        };
        let all: Vec<_> = (0..PARTS).map(rows).collect();
        let medians = |column: &[Option<Duration>]| -> Vec<f64> {
            let median = |rows: &core::ops::Range<usize>| {
                let mut found: Vec<Duration> = column.get(rows.clone())?.iter().flatten().copied().collect();
                found.sort_unstable();
                found.get(found.len() / 2).map(|delay| delay.as_secs_f64())
            };
            all.iter().map(median).collect::<Option<_>>().unwrap_or_default()
        };
        let rate = |rows: &core::ops::Range<usize>| {
            let bytes: u64 = series.received_bytes.get(rows.clone()).unwrap_or_default().iter().sum();
            bytes as f64 * 8.0 / part.as_secs_f64()
        };
        Self {
            p50: medians(&series.owd_p50),
            p99: medians(&series.owd_p99),
            rate: all.iter().map(rate).collect(),
        }
    }
}

/// Returns the levels of the metric at an address, from those of the flows of a phase; none if it has no
/// series.
pub(crate) fn levels(of_flows: &IndexMap<String, Levels>, address: &Address) -> Vec<f64> {
    let is_of = |name: &str| match &address.subject {
        Subject::Flow(pattern) => matches(pattern, name),
        Subject::Group(group) => group_of(name) == Some(group),
        _ => false,
    };
    let (column, is_rate): (fn(&Levels) -> &Vec<f64>, bool) = match (address.metric.name, address.statistic) {
        ("owd", Some(Statistic::P50)) => (|levels| &levels.p50, false),
        ("owd", Some(_)) => (|levels| &levels.p99, false),
        ("goodput" | "throughput", _) => (|levels| &levels.rate, true),
        _ => return Vec::new(),
    };
    let of: Vec<&Vec<f64>> =
        of_flows.iter().filter(|(name, _)| is_of(name)).map(|(_, levels)| column(levels)).collect();
    let sums = (0..PARTS as usize).map(|part| of.iter().map(|one| one.get(part)).sum::<Option<f64>>());
    let count = if is_rate { 1.0 } else { of.len() as f64 };
    let sums: Option<Vec<f64>> = sums.collect();
    sums.filter(|_| !of.is_empty()).unwrap_or_default().iter().map(|sum| sum / count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_the_sum_of_rates_and_the_mean_of_delays() {
        let one = |delay: f64, rate: f64| Levels {
            p50: vec![delay; 5],
            p99: vec![2.0 * delay; 5],
            rate: vec![rate; 5],
        };
        let mut flows = IndexMap::new();
        flows.insert("call".to_owned(), one(9.0, 9.0));
        flows.insert("backup/1".to_owned(), one(1.0, 10.0));
        flows.insert("backup/2".to_owned(), one(3.0, 20.0));
        let of = |flows: &IndexMap<String, Levels>, path: &str| {
            levels(flows, &Address::parse(path).expect("an address"))
        };
        assert_eq!(of(&flows, "group.backup.goodput.sum"), [30.0; 5]);
        assert_eq!(of(&flows, "flow.backup/*.owd.p50.worst"), [2.0; 5]);
        assert_eq!(of(&flows, "flow.call.owd.p95"), [18.0; 5]);
        assert_eq!(of(&flows, "flow.call.loss"), [0.0; 0]);
        flows.insert("backup/3".to_owned(), Levels::default());
        assert_eq!(of(&flows, "group.backup.goodput.sum"), [0.0; 0]);
    }
}
