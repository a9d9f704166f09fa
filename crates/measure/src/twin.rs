//! Comparison of simulated and live runs of one scenario.
//!
//! | flow | metric | tolerance |
//! | --- | --- | --- |
//! | datagrams | throughput | 0.5 % |
//! | | one-way delay, median | 2 % + 50 us |
//! | | one-way delay, p99 | 5 % + 1 ms |
//! | reliable | goodput | 5 % |
//! | | mean queueing delay | 15 % |
//!
//! For repetitions, the medians are compared. Metrics that neither side observed are left out; a metric
//! that only one side observed counts as a miss.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::summary::{FlowSummary, Summary};

/// A metric of a flow, in simulation and live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
}

/// Tolerance on a metric.
struct Tolerance {
    metric: &'static str,
    of: fn(&FlowSummary) -> Option<f64>,
    relative: f64,
    absolute: f64,
}

const DATAGRAMS: [Tolerance; 3] = [
    Tolerance { metric: "throughput", of: |flow| flow.throughput_bps, relative: 0.005, absolute: 0.0 },
    Tolerance { metric: "owd.p50", of: |flow| flow.owd_s.p50, relative: 0.02, absolute: 50e-6 },
    Tolerance { metric: "owd.p99", of: |flow| flow.owd_s.p99, relative: 0.05, absolute: 1e-3 },
];

const RELIABLE: [Tolerance; 2] = [
    Tolerance { metric: "goodput", of: |flow| flow.goodput_bps, relative: 0.05, absolute: 0.0 },
    Tolerance { metric: "queueing.mean", of: |flow| flow.queueing_s.mean, relative: 0.15, absolute: 0.0 },
];

/// Returns the differences between simulated and live runs, flow by flow in the order of the simulation.
/// `is_reliable` returns true for TCP flows; flows for which it returns `None` are left out.
pub fn differences(
    simulated: &[Summary],
    live: &[Summary],
    is_reliable: &dyn Fn(&str) -> Option<bool>,
) -> Vec<Difference> {
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
            differences.extend(tolerance.judge(name, of(simulated), of(live)));
        }
    }
    differences
}

impl Tolerance {
    fn judge(&self, flow: &str, simulated: Option<f64>, live: Option<f64>) -> Option<Difference> {
        if simulated.is_none() && live.is_none() {
            return None;
        }
        let tolerance = self.absolute + self.relative * simulated.unwrap_or(0.0).abs();
        let pair = simulated.zip(live);
        Some(Difference {
            metric: format!("flow.{flow}.{}", self.metric),
            simulated,
            live,
            relative: pair.filter(|(simulated, _)| *simulated > 0.0).map(|(sim, live)| live / sim - 1.0),
            tolerance,
            holds: pair.is_some_and(|(simulated, live)| (live - simulated).abs() <= tolerance),
        })
    }
}

/// Returns the median: the middle value, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
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
        let judged = |simulated, live| owd.judge("f", Some(simulated), Some(live)).expect("observed");
        // 2 % of 10 ms and 50 us.
        assert!(judged(10e-3, 10.249e-3).holds && !judged(10e-3, 10.251e-3).holds);
        assert!(judged(0.0, 49e-6).holds && !judged(0.0, 51e-6).holds);
        assert_eq!(judged(0.0, 49e-6).relative, None);
        assert!(!owd.judge("f", Some(1.0), None).expect("observed").holds);
        assert_eq!(owd.judge("f", None, None), None);
        assert_eq!(judged(10e-3, 1.0).metric, "flow.f.owd.p50");
    }

    #[test]
    fn the_middle_one_counts() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
