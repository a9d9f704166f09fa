//! Detects how much of a run's start belongs to the warm-up.
//!
//! MSER-5: averages of five observations each; the truncation point is the one that minimizes the standard
//! error of the remaining mean. A minimum in the second half means that the run is too short to tell.
//!
//! Source: White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for
//! simulation", Winter Simulation Conference 2000.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use lockgate_engine::units::{Duration, Instant};

use crate::figures::count;
use crate::recording::{EventKind, FlowRecord, Recording, kin};

/// Observations per average.
const BATCH: usize = 5;

/// Returns the number of observations to leave out at the start; `None` if they are too few to tell, or
/// have not settled by their middle.
pub fn mser5(observations: &[f64]) -> Option<usize> {
    let means: Vec<f64> =
        observations.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let batches = means.len();
    if batches < 10 || means.iter().any(|mean| !mean.is_finite()) {
        return None;
    }
    // Differences from a typical value: sums of squares then do not cancel.
    let middle = means[batches / 2];
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (start, mean) in means.iter().enumerate().rev() {
        let value = mean - middle;
        count += 1.0;
        sum += value;
        squares += value * value;
        // The last few alone are always similar; the literature excludes them.
        if batches - start < BATCH {
            continue;
        }
        let around: f64 = squares - sum * sum / count;
        let error = around.max(0.0) / (count * count);
        if error <= best.0 {
            best = (error, start);
        }
    }
    (best.1 * 2 <= batches).then_some(best.1 * BATCH)
}

/// Returns a warning for each flow, and for each group of flows, whose median delay settled well after the
/// end of the warm-up, if a longer warm-up would change its mean by more than a tenth. Runs with a timeline
/// of changes are not checked, nor are flows that carry a file: they do not settle.
pub fn warnings(recording: &Recording) -> Vec<String> {
    if recording.events.iter().any(|event| event.kind == EventKind::Change) {
        return Vec::new();
    }
    let ends = |flow: &&FlowRecord| flow.file.as_ref().is_some_and(|file| file.bytes.is_some());
    let files: BTreeSet<&str> = recording.flows.iter().filter(ends).map(|flow| &*flow.setup.name).collect();
    // The reverse direction of a file's connection, and its control connection, end with it.
    let of_file = |flow: &&FlowRecord| {
        let name = flow.setup.name.trim_end_matches("/return").trim_end_matches("/control");
        files.contains(name)
    };
    let settled = recording
        .flows
        .iter()
        .filter(|flow| !of_file(flow))
        .filter_map(|flow| Some((flow, settles_late(flow, recording.warmup)?)));
    // One warning for all members of a group.
    let mut late: IndexMap<String, (u64, Instant)> = IndexMap::new();
    for (flow, at) in settled {
        let (members, latest) = late.entry(kin(&flow.setup.name)).or_insert((0, at));
        (*members, *latest) = (*members + 1, (*latest).max(at));
    }
    let warning = |(name, (members, at)): (String, (u64, Instant))| {
        let whose = if recording.flows.iter().any(|flow| flow.setup.name == name) {
            format!("flow `{name}`: its delay settles after about")
        } else {
            let all = recording.flows.iter().filter(|flow| kin(&flow.setup.name) == name).count() as u64;
            let flows = count(all, "flow");
            format!("{members} of {flows} of the group `{name}`: the last delay settles after about")
        };
        format!(
            "the warm-up looks too short for {whose} {:.3} s (MSER-5), the warm-up ends at {:.3} s",
            at.as_secs_f64(),
            recording.warmup.as_secs_f64(),
        )
    };
    late.into_iter().map(warning).collect()
}

/// Returns the time at which the flow's delay settles, if that is late and matters.
fn settles_late(flow: &FlowRecord, warmup: Instant) -> Option<Instant> {
    let series = flow.series();
    let observed: Vec<(Instant, f64)> = series
        .end
        .iter()
        .zip(&series.owd_p50)
        .filter_map(|(end, delay)| Some((*end, delay.map(Duration::as_secs_f64)?)))
        .collect();
    let values: Vec<f64> = observed.iter().map(|(_, value)| *value).collect();
    let cut = mser5(&values)?;
    let (at, _) = *observed.get(cut.checked_sub(1)?)?;
    let given = observed.partition_point(|(end, _)| *end <= warmup);
    if at <= warmup || given >= cut {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (before, after) = (mean(&values[given..]), mean(&values[cut..]));
    ((before - after).abs() > 0.1 * after).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decaying_start_is_cut_and_a_steady_run_is_not() {
        // A wobble around 1 with a start that decays from 21 within about 60 observations.
        let noise = |index: usize| 0.1 * libm::sin(index as f64 * 2.3);
        let start = |index: usize| 20.0 * libm::exp(-(index as f64) / 10.0);
        let decaying: Vec<f64> = (0..600).map(|index| 1.0 + noise(index) + start(index)).collect();
        let cut = mser5(&decaying).expect("settles");
        assert!((30..=90).contains(&cut), "{cut}");
        let steady: Vec<f64> = (0..600).map(|index| 1.0 + noise(index)).collect();
        assert!(mser5(&steady).expect("settled") <= 30);
        let growing: Vec<f64> = (0..600).map(f64::from).collect();
        assert_eq!(mser5(&growing), None);
        assert_eq!(mser5(&[1.0; 20]), None);
    }
}
