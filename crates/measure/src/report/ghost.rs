//! Ghost of a run: its series without one of its changes, for the same strips, thinned.

use lockgate_engine::units::Instant;
use serde::Serialize;

use super::rounding::short;
use crate::metric::During;
use crate::recording::{FlowRecord, PortRecord, Recording};
use crate::summary::change;

/// Limit on the points of a series.
const MOST_POINTS: usize = 200;

/// A run without a change, from the change on: until then it is the run itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Ghost {
    /// The changes that are not made, such as `router:client = fair`: those at one time.
    pub changes: Vec<String>,
    /// Time of the change, in seconds.
    pub from_s: f64,
    /// End of the time that both lives are compared in: the next change, or the end of the run, in seconds.
    /// The series go on to the end of the run.
    pub to_s: f64,
    /// End of each interval, in seconds, of all series.
    pub time_s: Vec<f64>,
    /// Flows that a packet of which differs; without acknowledgements.
    pub flows: Vec<GhostFlow>,
    /// Queues that held a packet. Queues are those of the trees without the change.
    pub queues: Vec<GhostQueue>,
}

/// Series of a flow without a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "the fields are the document's keys, named with their units")]
pub struct GhostFlow {
    pub name: String,
    pub owd_p50_s: Vec<Option<f64>>,
    pub received_bps: Vec<f64>,
}

/// Series of a queue without a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[allow(missing_docs, reason = "the fields are the document's keys, named with their units")]
pub struct GhostQueue {
    pub port: String,
    pub name: String,
    /// Packets that wait at the end of each interval.
    pub backlog_packets: Vec<u64>,
}

impl Ghost {
    /// Creates the ghost of a run from its recording and that of the same run without the changes that begin
    /// its phase of this index.
    pub fn new(with: &Recording, without: &Recording, phase: usize) -> Self {
        let whole = During { from: Instant::ZERO, to: Instant::NEVER };
        let During { from, to } = with.phases().get(phase).copied().unwrap_or(whole);
        let to = to.min(Instant::ZERO + with.duration);
        let changes = with.changes_of(phase).map(|event| change(&event.path, &event.value)).collect();
        let ends = without.flows.iter().map(|flow| flow.series().end.as_slice());
        let ends = ends.max_by_key(|ends| ends.len()).unwrap_or_default();
        let first = ends.partition_point(|end| *end <= from);
        let step = ends.len().saturating_sub(first).div_ceil(MOST_POINTS).max(1);
        let time = |rows: &[Instant]| rows.last().map(|end| short(end.as_secs_f64()));
        let time_s: Vec<f64> = ends[first..].chunks(step).filter_map(time).collect();
        let is_shown = |flow: &&FlowRecord| {
            let name = &flow.setup.name;
            flow.series().end.len() == ends.len() && !name.ends_with("/return") && !name.ends_with("/control")
        };
        let differs = |flow: &&FlowRecord| {
            let other = with.flows.iter().find(|other| other.setup.name == flow.setup.name);
            other.is_none_or(|other| !other.has_same_packets(flow))
        };
        let flows = without.flows.iter().filter(is_shown).filter(differs);
        Self {
            changes,
            from_s: from.as_secs_f64(),
            to_s: to.as_secs_f64(),
            flows: flows.map(|flow| GhostFlow::of(flow, from, first, step)).collect(),
            queues: without.ports.iter().flat_map(|port| queues(port, from, step)).collect(),
            time_s,
        }
    }
}

impl GhostFlow {
    /// Returns the series from the row `first` on, `step` rows in one; that row begins at `from` at the
    /// earliest.
    fn of(record: &FlowRecord, from: Instant, first: usize, step: usize) -> Self {
        let series = record.series();
        let middle = |rows: &[Option<_>]| {
            let mut found: Vec<lockgate_engine::units::Duration> = rows.iter().flatten().copied().collect();
            found.sort_unstable();
            found.get(found.len() / 2).map(|delay| short(delay.as_secs_f64()))
        };
        let rows = series.end[first..].chunks(step).zip(series.received_bytes[first..].chunks(step));
        let mut start = first.checked_sub(1).map_or(Instant::ZERO, |row| series.end[row]).max(from);
        let rate = |(ends, bytes): (&[Instant], &[u64])| {
            let end = ends.last().copied().unwrap_or(start);
            let seconds = end.since(core::mem::replace(&mut start, end)).as_secs_f64();
            short(bytes.iter().sum::<u64>() as f64 * 8.0 / seconds.max(1e-9))
        };
        Self {
            name: record.setup.name.clone(),
            received_bps: rows.map(rate).collect(),
            owd_p50_s: series.owd_p50[first..].chunks(step).map(middle).collect(),
        }
    }
}

/// Returns the queues of a port that held a packet after `from`, `step` rows in one.
fn queues(port: &PortRecord, from: Instant, step: usize) -> Vec<GhostQueue> {
    let first = port.ends().partition_point(|end| *end <= from);
    let of = |record: &crate::recording::QueueRecord| {
        let rows = record.series.backlog.get(first..).filter(|_| !record.is_brief)?;
        let last = |rows: &[lockgate_engine::node::Tally]| rows.last().map(|tally| tally.packets);
        let backlog_packets: Vec<u64> = rows.chunks(step).filter_map(last).collect();
        backlog_packets.iter().any(|packets| *packets > 0).then(|| GhostQueue {
            port: port.setup.name.clone(),
            name: record.name.clone(),
            backlog_packets,
        })
    };
    port.queues().iter().filter_map(of).collect()
}
