//! Interval of a monitor: the state of a port and its queues at its start, and the rows of a sample at its
//! end.
//!
//! A port of many queues is observed, and its interval closed, some queues at a time. A router's thread does
//! this between frames, which would otherwise wait for all queues.

use core::ops::Range;
use std::borrow::Cow;

use lockgate_engine::discipline::DropReason;
use lockgate_engine::node::{Counters, Tally};
use lockgate_engine::port::{Port, RingInput};

use super::{PortSample, QueueSample, QueueTotal, TinSample, per_second, quantiles};
use crate::recording::{PortRecord, QueueFigures};

/// Position of a pass over the queues of all ports, which may be interrupted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pass {
    /// Index of the current port.
    pub(super) port: usize,
    step: Step,
    /// Number of the next queue, in the order of the step.
    next: usize,
    /// Number of rows of the sample written so far.
    rows: usize,
}

/// Steps of closing the interval of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Begin,
    /// The buffers of the last port are cleared.
    Clear,
    /// The queues' figures are added up.
    Add,
    /// The rows are written.
    Rows,
}

impl Pass {
    /// Takes the next queues, `left` at most. Returns their range.
    fn take(&mut self, left: &mut usize, most: usize) -> Range<usize> {
        let start = self.next;
        self.next = start.saturating_add(*left).min(most);
        *left -= self.next - start;
        start..self.next
    }

    fn begin(&mut self, step: Step) {
        (self.step, self.next) = (step, 0);
    }

    /// Goes on to the next port.
    fn leave_port(&mut self) {
        *self = Self { port: self.port + 1, ..Self::default() };
    }
}

/// State of a port at the end of the last interval, and of its queues.
#[derive(Debug, Default)]
pub(super) struct PortState {
    transmitted: Tally,
    queues: Vec<QueueState>,
    parents: Vec<Option<u32>>,
    /// Packets passed to the ring by each queue, everything below it included; empty without a ring.
    handed: Vec<RingInput>,
}

/// State of a queue at the end of the last interval, and sums over the observations since.
#[derive(Debug, Default)]
struct QueueState {
    counters: Counters,
    drops: [u64; DropReason::ALL.len()],
    peak: Tally,
    packets: u128,
    bytes: u128,
    handed: RingInput,
    /// Length of the intervals up to then in which packets waited and none left.
    still_s: f64,
}

impl PortState {
    /// Observes the backlogs of the next queues, `left` at most. Returns true at the last.
    pub(super) fn observe(
        &mut self,
        pass: &mut Pass,
        left: &mut usize,
        port: &mut Port,
        record: &mut PortRecord,
    ) -> bool {
        let states = &mut self.queues;
        let range = pass.take(left, usize::MAX);
        let passed = port.each_node_in(&range, &mut |node| {
            let index = node.id() as usize;
            if index >= states.len() {
                states.resize_with(index + 1, QueueState::default);
            }
            let state = &mut states[index];
            let peak = record.take_peak(node);
            state.peak.packets = state.peak.packets.max(peak.packets);
            state.peak.bytes = state.peak.bytes.max(peak.bytes);
            let backlog = node.backlog();
            state.packets += u128::from(backlog.packets);
            state.bytes += u128::from(backlog.bytes.0);
        });
        if passed == range.end {
            return false;
        }
        // The rest of the range is left for the next port.
        *left += range.end - passed.max(range.start);
        pass.leave_port();
        true
    }

    /// Ends the interval of the next queues, `left` at most, and writes their rows. Returns true at the last.
    pub(super) fn close(
        &mut self,
        pass: &mut Pass,
        left: &mut usize,
        shown: &mut PortSample,
        (port, record): (&mut Port, &mut PortRecord),
        seen: &mut Vec<QueueFigures>,
        (interval, observations): (f64, u64),
    ) -> bool {
        if pass.step == Step::Begin {
            self.begin(shown, port, record, interval);
            pass.begin(Step::Clear);
        }
        if pass.step == Step::Clear {
            // Those of this port: a port with many queues leaves as many figures, which no other port reads.
            let count = record.queues().len();
            let used = count.min(seen.len());
            seen[pass.take(left, used)].iter_mut().for_each(QueueFigures::clear);
            if pass.next < used {
                return false;
            }
            seen.resize_with(count.max(seen.len()), QueueFigures::default);
            pass.begin(Step::Add);
        }
        if pass.step == Step::Add {
            let range = pass.take(left, usize::MAX);
            let count = record.add_seen(seen, &range);
            if range.end < count {
                return false;
            }
            *left += range.end - count.max(range.start);
            pass.begin(Step::Rows);
        }
        self.write_rows(pass, left, shown, port, seen, (interval, observations))
    }

    fn begin(&mut self, shown: &mut PortSample, port: &mut Port, record: &mut PortRecord, interval: f64) {
        record.learn_queues(port);
        let transmitted = record.transmitted();
        let bytes = transmitted.bytes.0 - self.transmitted.bytes.0;
        self.transmitted = transmitted;
        shown.name.clone_from(&record.setup.name);
        shown.sent_bps = per_second(bytes, interval);
        shown.ring_packets = port.ring_occupancy();
        self.parents.clear();
        self.parents.extend(port.queues().iter().map(|queue| queue.parent));
        self.count_handed(port);
    }

    fn write_rows(
        &mut self,
        pass: &mut Pass,
        left: &mut usize,
        shown: &mut PortSample,
        port: &mut Port,
        seen: &mut [QueueFigures],
        (interval, observations): (f64, u64),
    ) -> bool {
        let (states, parents, queues) = (&mut self.queues, &self.parents, &mut shown.queues);
        let mut rows = pass.rows;
        let range = pass.take(left, usize::MAX);
        let passed = port.each_node_in(&range, &mut |node| {
            let id = node.id() as usize;
            let (Some(state), Some(seen)) = (states.get_mut(id), seen.get_mut(id)) else { return };
            let queue = super::nth(queues, rows);
            rows += 1;
            state.close(queue, node.counters(), seen, interval, observations);
            state.close_handed(queue, self.handed.get(id).copied().unwrap_or_default());
            queue.name.clear();
            queue.name.push_str(node.name());
            queue.kind = Cow::Borrowed(node.kind());
            queue.index = node.id();
            queue.parent = parents.get(id).copied().flatten();
            queue.gauges.clear();
            queue.why.clear();
            node.gauges(&mut |name, value| queue.gauges.push((Cow::Borrowed(name), value)));
            queue.tins.clear();
            node.bands(&mut |name, account| queue.tins.push(TinSample::of(name, account)));
        });
        pass.rows = rows;
        if passed == range.end {
            return false;
        }
        *left += range.end - passed.max(range.start);
        queues.truncate(rows);
        pass.leave_port();
        true
    }

    /// Adds up the packets passed to the device ring, for each queue with everything below it.
    fn count_handed(&mut self, port: &Port) {
        self.handed.clear();
        if !port.has_ring() {
            return;
        }
        self.handed.resize(self.parents.len(), RingInput::default());
        for index in 0..self.parents.len() {
            let own = port.handed(index as u32);
            let mut at = Some(index).filter(|_| own.packets > 0);
            // A chain of parents is at most as long as the number of queues.
            for _ in 0..=self.parents.len() {
                let Some(index) = at else { break };
                self.handed[index].packets += own.packets;
                self.handed[index].waited_ps += own.waited_ps;
                at = self.parents[index].map(|parent| parent as usize);
            }
        }
    }
}

impl QueueState {
    fn close(
        &mut self,
        shown: &mut QueueSample,
        counters: Counters,
        seen: &mut QueueFigures,
        interval: f64,
        observations: u64,
    ) {
        let then = core::mem::replace(&mut self.counters, counters);
        shown.dropped_by.clear();
        for (index, reason) in DropReason::ALL.into_iter().enumerate() {
            let packets = seen.drops[index].saturating_sub(self.drops[index]);
            if packets > 0 {
                shown.dropped_by.push((Cow::Borrowed(reason.name()), packets));
            }
        }
        self.drops = seen.drops;
        let [p50, p99] = quantiles(&mut seen.sojourn);
        let peak = core::mem::take(&mut self.peak);
        let (packets, bytes) = (core::mem::take(&mut self.packets), core::mem::take(&mut self.bytes));
        shown.packets = counters.backlog.packets;
        shown.bytes = counters.backlog.bytes.0;
        shown.mean_packets = packets as f64 / observations as f64;
        shown.mean_bytes = bytes as f64 / observations as f64;
        shown.peak_packets = peak.packets;
        shown.peak_bytes = peak.bytes.0;
        shown.offered_bps = per_second(counters.offered.bytes.0 - then.offered.bytes.0, interval);
        shown.sent_bps = per_second(counters.sent.bytes.0 - then.sent.bytes.0, interval);
        shown.sent_packets = counters.sent.packets - then.sent.packets;
        shown.dropped_packets = counters.dropped.packets - then.dropped.packets;
        shown.marked_packets = counters.marked_packets - then.marked_packets;
        let is_still =
            then.backlog.packets > 0 && shown.packets > 0 && shown.sent_packets + shown.dropped_packets == 0;
        self.still_s = if is_still { self.still_s + interval } else { 0.0 };
        shown.still_s = self.still_s;
        shown.sojourn_mean_s = seen.sojourn.mean().map(|picos| picos / 1e12);
        shown.sojourn_p50_s = p50;
        shown.sojourn_p99_s = p99;
        shown.total = QueueTotal {
            offered_packets: counters.offered.packets,
            offered_bytes: counters.offered.bytes.0,
            sent_packets: counters.sent.packets,
            sent_bytes: counters.sent.bytes.0,
            dropped_packets: counters.dropped.packets,
            marked_packets: counters.marked_packets,
            moved_packets: counters.moved_out.packets,
            sojourn_classes: seen.classes,
            sojourn_count: seen.sojourns.0,
            sojourn_sum_s: seen.sojourns.1 as f64 / 1e12,
            waited_count: 0,
            waited_sum_s: 0.0,
        };
    }

    fn close_handed(&mut self, shown: &mut QueueSample, handed: RingInput) {
        let then = core::mem::replace(&mut self.handed, handed);
        let packets = handed.packets - then.packets;
        let waited = (handed.waited_ps - then.waited_ps) as f64 / 1e12;
        shown.waited_mean_s = (packets > 0).then(|| waited / packets as f64);
        shown.total.waited_count = handed.packets;
        shown.total.waited_sum_s = handed.waited_ps as f64 / 1e12;
    }
}
