//! Runs of one variant as a single [`Run`] of the page: distributions of all seeds, series of the first.

use std::collections::BTreeMap;

use super::run::{FlowData, FlowSeriesData, QueueSeriesData, Run, box_plot, cdf, density, p99, phase_cdf};
use crate::histogram::Histogram;
use crate::metric::During;
use crate::recording::{FlowRecord, Recording};
use crate::summary::Summary;

/// Limit on the points of a series: a page has those of every variant.
const MOST_POINTS: usize = 200;
/// Limit on the ports of which queues are shown.
const MOST_PORTS: usize = 2;

/// Parts of a network that the page shows of each variant.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Names of flows.
    pub flows: Vec<String>,
    /// Names of ports; if empty, the one that dropped or held most.
    pub ports: Vec<String>,
}

/// Runs of a variant so far. Runs may be added in any order.
#[derive(Debug, Default)]
pub struct VariantRun {
    first: Option<Run>,
    /// Distributions of all seeds, by flow.
    flows: BTreeMap<String, AllSeeds>,
}

/// Distributions of a flow over all seeds of a variant.
#[derive(Debug, Default)]
struct AllSeeds {
    /// One-way delays.
    owd: Histogram,
    /// Times between arrivals.
    iat: Histogram,
    /// One-way delays by phase: all seeds have the same changes.
    phases: Vec<Histogram>,
}

impl AllSeeds {
    fn add(&mut self, flow: &FlowRecord, phases: &[During]) {
        self.owd.merge(&flow.delays().owd);
        self.iat.merge(&flow.delays().iat);
        self.phases.resize_with(self.phases.len().max(phases.len()), Histogram::default);
        for (all, phase) in self.phases.iter_mut().zip(phases.iter().filter_map(|phase| flow.part(*phase))) {
            all.merge(&phase.delays().owd);
        }
    }

    /// Replaces the distributions of one seed.
    fn put_into(&self, flow: &mut FlowData) {
        flow.owd_cdf = cdf(&self.owd);
        flow.owd_box = box_plot(&self.owd);
        flow.iat_density = density(&self.iat);
        for (phase, all) in flow.phases.iter_mut().zip(&self.phases) {
            phase.packets = all.count();
            phase.owd_cdf = phase_cdf(all, self.phases.len());
            phase.owd_box = box_plot(all);
            phase.owd_p99_s = p99(all);
            // The means of other seeds are not kept.
            phase.queueing_s = None;
        }
    }
}

impl VariantRun {
    /// Adds a run; `is_first`: its series are shown.
    pub fn add(&mut self, label: &str, recording: &Recording, shown: &Shown, is_first: bool) {
        let wanted = recording.flows.iter().filter(|flow| shown.flows.contains(&flow.setup.name));
        for flow in wanted.filter(|flow| flow.brief().is_none()) {
            self.flows.entry(flow.setup.name.clone()).or_default().add(flow, recording.phases());
        }
        if is_first {
            let summary = crate::summary::summarise(core::slice::from_ref(recording));
            self.first = Some(thin(Run::new(label, recording, &reduced(summary, shown))));
        }
    }

    /// Returns the run for the page; `None` if the first was not added.
    pub fn finish(self) -> Option<Run> {
        let mut run = self.first?;
        for flow in &mut run.flows {
            if let Some(all) = self.flows.get(&flow.name) {
                all.put_into(flow);
            }
        }
        Some(run)
    }
}

/// Keeps of a summary what is shown: [`Run::new`] takes flows and ports from it.
fn reduced(mut summary: Summary, shown: &Shown) -> Summary {
    summary.flows.retain(|name, _| shown.flows.contains(name));
    summary.groups.clear();
    let mut ports: Vec<String> =
        shown.ports.iter().filter(|name| summary.ports.contains_key(*name)).cloned().collect();
    if ports.is_empty() {
        let weight = |port: &crate::summary::PortSummary| {
            let queues = port.queues.values();
            let dropped: u64 = queues.clone().map(|queue| queue.dropped_packets).sum();
            (dropped, queues.map(|queue| queue.peak_backlog_packets).max())
        };
        // Of equal ones, the first.
        let fullest = summary.ports.iter().rev().max_by_key(|(_, port)| weight(port));
        ports.extend(fullest.map(|(name, _)| name.clone()));
    }
    ports.truncate(MOST_PORTS);
    summary.ports.retain(|name, _| ports.contains(name));
    summary
}

/// Joins intervals until no series has more than [`MOST_POINTS`].
fn thin(mut run: Run) -> Run {
    let rows = |times: &[f64]| times.len();
    let flows = run.flows.iter().map(|flow| rows(&flow.series.time_s));
    let queues = run.ports.iter().flat_map(|port| &port.queues).map(|queue| rows(&queue.series.time_s));
    let step = flows.chain(queues).max().unwrap_or(0).div_ceil(MOST_POINTS).max(1);
    for flow in &mut run.flows {
        flow.tcp = None;
        flow.series = thin_flow(&flow.series, step);
    }
    for queue in run.ports.iter_mut().flat_map(|port| &mut port.queues) {
        queue.series = thin_queue(&queue.series, step);
    }
    run.interval_s *= step as f64;
    run
}

fn thin_flow(series: &FlowSeriesData, step: usize) -> FlowSeriesData {
    FlowSeriesData {
        time_s: lasts(&series.time_s, step),
        offered_bps: means(&series.offered_bps, step),
        received_bps: means(&series.received_bps, step),
        lost_packets: sums(&series.lost_packets, step),
        owd_p50_s: middles(&series.owd_p50_s, step),
        owd_p99_s: largest(&series.owd_p99_s, step),
        owd_max_s: largest(&series.owd_max_s, step),
    }
}

fn thin_queue(series: &QueueSeriesData, step: usize) -> QueueSeriesData {
    let peak = |chunk: &[u64]| chunk.iter().copied().max().unwrap_or(0);
    QueueSeriesData {
        time_s: lasts(&series.time_s, step),
        backlog_packets: lasts(&series.backlog_packets, step),
        peak_packets: series.peak_packets.chunks(step).map(peak).collect(),
        backlog_bytes: lasts(&series.backlog_bytes, step),
        offered_bps: means(&series.offered_bps, step),
        sent_bps: means(&series.sent_bps, step),
        dropped_packets: sums(&series.dropped_packets, step),
        marked_packets: sums(&series.marked_packets, step),
    }
}

fn lasts<T: Copy>(values: &[T], step: usize) -> Vec<T> {
    values.chunks(step).filter_map(|chunk| chunk.last().copied()).collect()
}

fn means(values: &[f64], step: usize) -> Vec<f64> {
    let mean = |chunk: &[f64]| super::rounding::short(chunk.iter().sum::<f64>() / chunk.len().max(1) as f64);
    values.chunks(step).map(mean).collect()
}

fn sums(values: &[u64], step: usize) -> Vec<u64> {
    values.chunks(step).map(|chunk| chunk.iter().sum()).collect()
}

fn largest(values: &[Option<f64>], step: usize) -> Vec<Option<f64>> {
    values.chunks(step).map(|chunk| chunk.iter().flatten().copied().reduce(f64::max)).collect()
}

/// Returns the median of each chunk's values.
fn middles(values: &[Option<f64>], step: usize) -> Vec<Option<f64>> {
    let middle = |chunk: &[Option<f64>]| {
        let mut found: Vec<f64> = chunk.iter().flatten().copied().collect();
        found.sort_by(f64::total_cmp);
        found.get(found.len() / 2).copied()
    };
    values.chunks(step).map(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_intervals_keep_sums_peaks_and_the_last_state() {
        let series = FlowSeriesData {
            time_s: vec![1.0, 2.0, 3.0],
            offered_bps: vec![1.0, 3.0, 7.0],
            received_bps: Vec::new(),
            lost_packets: vec![1, 2, 4],
            owd_p50_s: vec![Some(1.0), None, None],
            owd_p99_s: vec![Some(1.0), Some(5.0), None],
            owd_max_s: vec![None, None, Some(2.0)],
        };
        let thin = thin_flow(&series, 2);
        assert_eq!((thin.time_s, thin.offered_bps), (vec![2.0, 3.0], vec![2.0, 7.0]));
        assert_eq!((thin.lost_packets, thin.received_bps.len()), (vec![3, 4], 0));
        assert_eq!(thin.owd_p50_s, [Some(1.0), None]);
        assert_eq!((thin.owd_p99_s, thin.owd_max_s), (vec![Some(5.0), None], vec![None, Some(2.0)]));
    }
}
