//! Comparison of simulated and live runs of one scenario.
//!
//! | flow | metric | tolerance |
//! | --- | --- | --- |
//! | datagrams | throughput | 0.5 % |
//! | | one-way delay, median | 2 % + 50 us |
//! | | one-way delay, p99 | 5 % + 1 ms |
//! | reliable | goodput | 5 % |
//! | | mean queueing delay | 15 % |
//! | queue of a port with a rate of its own | throughput | 0.1 % |
//! | | sojourn time, p99 | 5 % + 1 ms |
//!
//! A p99 at a *knee* is not a miss: where the live distribution is so steep that the simulated p99 lies
//! between the live p98 and p99.7, a few packets decide the difference.
//!
//! For repetitions, the medians are compared. Metrics that neither side observed are left out; a metric
//! that only one side observed counts as a miss.

use serde::{Deserialize, Serialize};

use crate::recording::Recording;
use crate::summary::{FlowSummary, Summary, summarise};

/// A metric of a flow or a queue, in simulation and live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Address of the metric, such as `flow.voice.owd.p99`.
    pub metric: String,
    /// Median over the simulated runs, in the metric's unit; `null` if not observed.
    pub simulated: Option<f64>,
    /// Median over the live runs, in the metric's unit; `null` if not observed.
    pub live: Option<f64>,
    /// Relative difference: (live - simulated) / simulated.
    pub relative: Option<f64>,
    /// Tolerance on the difference, in the metric's unit.
    pub tolerance: f64,
    /// True if the difference is within the tolerance.
    pub holds: bool,
    /// True if the difference is beyond the tolerance, but the simulated p99 lies between the live p98 and
    /// p99.7.
    #[serde(default)]
    pub at_knee: bool,
}

impl Difference {
    /// Compares a metric; `None` if neither side has observed it.
    fn within(
        relative: f64,
        absolute: f64,
        metric: String,
        simulated: Option<f64>,
        live: Option<f64>,
    ) -> Option<Self> {
        if simulated.is_none() && live.is_none() {
            return None;
        }
        let tolerance = absolute + relative * simulated.unwrap_or(0.0).abs();
        let pair = simulated.zip(live);
        Some(Self {
            metric,
            simulated,
            live,
            relative: pair.filter(|(simulated, _)| *simulated > 0.0).map(|(sim, live)| live / sim - 1.0),
            tolerance,
            holds: pair.is_some_and(|(simulated, live)| (live - simulated).abs() <= tolerance),
            at_knee: false,
        })
    }

    /// Returns true if the difference is beyond the tolerance, and not at a knee of the distribution.
    pub fn is_missed(&self) -> bool {
        !self.holds && !self.at_knee
    }
}

/// Tolerance on a metric.
struct Tolerance {
    metric: &'static str,
    of: fn(&FlowSummary) -> Option<f64>,
    relative: f64,
    absolute: f64,
}

/// Metric that may lie at a knee.
const P99: &str = "owd.p99";

const DATAGRAMS: [Tolerance; 3] = [
    Tolerance { metric: "throughput", of: |flow| flow.throughput_bps, relative: 0.005, absolute: 0.0 },
    Tolerance { metric: "owd.p50", of: |flow| flow.owd_s.p50, relative: 0.02, absolute: 50e-6 },
    Tolerance { metric: P99, of: |flow| flow.owd_s.p99, relative: 0.05, absolute: 1e-3 },
];

const RELIABLE: [Tolerance; 2] = [
    Tolerance { metric: "goodput", of: |flow| flow.goodput_bps, relative: 0.05, absolute: 0.0 },
    Tolerance { metric: "queueing.mean", of: |flow| flow.queueing_s.mean, relative: 0.15, absolute: 0.0 },
];

/// Metrics of a queue, with relative and absolute tolerances.
const QUEUES: [(&str, f64, f64); 2] = [("throughput", 0.001, 0.0), ("sojourn.p99", 0.05, 1e-3)];

/// Returns the differences between simulated and live runs, flow by flow in the order of the simulation.
/// `is_reliable` returns true for TCP flows; flows for which it returns `None` are left out. `queues` are the
/// addresses of queues to compare as well, such as `port.a:b.queue.q`.
pub fn differences(
    simulated: &[Recording],
    live: &[Recording],
    is_reliable: &dyn Fn(&str) -> Option<bool>,
    queues: &[String],
) -> Vec<Difference> {
    let one_by_one = |recordings: &[Recording]| -> Vec<Summary> {
        recordings.iter().map(|recording| summarise(core::slice::from_ref(recording))).collect()
    };
    let tail = |name: &str| knee(live, name);
    let (simulated, live) = (one_by_one(simulated), one_by_one(live));
    let Some(first) = simulated.first() else { return Vec::new() };
    let mut differences = Vec::new();
    for name in first.flows.keys() {
        let tolerances: &[Tolerance] = match is_reliable(name) {
            Some(true) => &RELIABLE,
            Some(false) => &DATAGRAMS,
            None => continue,
        };
        for tolerance in tolerances {
            let of = |runs: &[Summary]| {
                let values = runs.iter().filter_map(|run| (tolerance.of)(run.flows.get(name)?));
                median(values.collect())
            };
            differences.extend(tolerance.judge(name, of(&simulated), of(&live), tail(name)));
        }
    }
    for (queue, (metric, relative, absolute)) in queues.iter().flat_map(|queue| QUEUES.map(|it| (queue, it)))
    {
        let metric = format!("{queue}.{metric}");
        let of = |runs: &[Summary]| median(runs.iter().filter_map(|run| run.metric(&metric).ok()).collect());
        let (simulated, live) = (of(&simulated), of(&live));
        differences.extend(Difference::within(relative, absolute, metric, simulated, live));
    }
    differences
}

/// Compares a flow of datagrams that other means than a live run have measured: throughput in bit/s, median
/// and p99 of the one-way delay in seconds, in this order. `knee` has the bounds of the measured delay around
/// its p99.
pub fn datagrams(
    flow: &str,
    simulated: [Option<f64>; 3],
    measured: [Option<f64>; 3],
    knee: Option<[f64; 2]>,
) -> Vec<Difference> {
    let pairs = DATAGRAMS.iter().zip(simulated.into_iter().zip(measured));
    pairs.filter_map(|(tolerance, (simulated, live))| tolerance.judge(flow, simulated, live, knee)).collect()
}

impl Tolerance {
    /// Compares a metric of `flow`; `knee` has the bounds of the live delay around its p99.
    fn judge(
        &self,
        flow: &str,
        simulated: Option<f64>,
        live: Option<f64>,
        knee: Option<[f64; 2]>,
    ) -> Option<Difference> {
        let metric = format!("flow.{flow}.{}", self.metric);
        let difference = Difference::within(self.relative, self.absolute, metric, simulated, live)?;
        let is_around = |[low, high]: [f64; 2]| simulated.is_some_and(|p99| (low..=high).contains(&p99));
        let at_knee = !difference.holds && self.metric == P99 && knee.is_some_and(is_around);
        Some(Difference { at_knee, ..difference })
    }
}

/// Returns the median p98 and p99.7 of a flow's one-way delay, in seconds.
fn knee(recordings: &[Recording], flow: &str) -> Option<[f64; 2]> {
    let of = |recording: &Recording| {
        let flow = recording.flows.iter().find(|record| record.setup.name == flow)?;
        flow.delays().owd.quantiles([0.98, 0.997])
    };
    let all: Vec<[u64; 2]> = recordings.iter().filter_map(of).collect();
    let at = |index: usize| median(all.iter().map(|bounds| bounds[index] as f64 / 1e12).collect());
    Some([at(0)?, at(1)?])
}

/// Returns the median: the middle value, or the mean of the two in the middle.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[middle - 1], upper) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_has_a_share_and_a_floor() {
        let owd = &DATAGRAMS[1];
        let judged = |simulated, live| owd.judge("f", Some(simulated), Some(live), None).expect("observed");
        // 2 % of 10 ms and 50 us.
        assert!(judged(10e-3, 10.249e-3).holds && !judged(10e-3, 10.251e-3).holds);
        assert!(judged(0.0, 49e-6).holds && !judged(0.0, 51e-6).holds);
        assert_eq!(judged(0.0, 49e-6).relative, None);
        assert!(!owd.judge("f", Some(1.0), None, None).expect("observed").holds);
        assert_eq!(owd.judge("f", None, None, None), None);
        assert_eq!(judged(10e-3, 1.0).metric, "flow.f.owd.p50");
    }

    #[test]
    fn a_p99_at_a_knee_is_no_miss() {
        let judged = |tolerance: &Tolerance, simulated: f64| {
            let difference = tolerance.judge("f", Some(simulated), Some(60e-3), Some([20e-3, 90e-3]));
            difference.map(|difference| (difference.holds, difference.at_knee, difference.is_missed()))
        };
        assert_eq!(judged(&DATAGRAMS[2], 60e-3), Some((true, false, false)));
        assert_eq!(judged(&DATAGRAMS[2], 25e-3), Some((false, true, false)));
        assert_eq!(judged(&DATAGRAMS[2], 19e-3), Some((false, false, true)));
        assert_eq!(judged(&DATAGRAMS[2], 91e-3), Some((false, false, true)));
        assert_eq!(judged(&DATAGRAMS[1], 25e-3), Some((false, false, true)), "a median has no knee");
        let mut recording = crate::example::run(1, 950);
        recording.flows[0].setup.name = "f".into();
        let [low, high] = knee(&[recording], "f").expect("delays");
        assert!(low <= high && low > 0.0, "{low} {high}");
        assert_eq!(knee(&[], "f"), None);
    }

    #[test]
    fn the_middle_one_counts() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
