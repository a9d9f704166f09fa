//! A running run as it is seen from outside: one [`Sample`] an interval, of everything.
//!
//! ```text
//! driver --look (some ten times an interval)--> Monitor --close (each interval)--> Sample --> terminal
//!                                                                                     |----> page
//!                                                                                     '----> exports
//! ```
//!
//! A sample is complete in itself: totals since the start stand beside the interval's figures, so that one
//! that is lost on its way takes nothing with it but its own interval.

use lockgate_engine::discipline::DropReason;
use lockgate_engine::node::{Counters, Tally};
use lockgate_engine::port::{Handed, Port};
use lockgate_engine::units::{Duration, Instant};
use serde::Serialize;

use crate::histogram::Coarse;
use crate::recording::{Event, FlowRecord, PortRecord, Recording, SOJOURN_CLASSES, Seen, Totals, Window};

/// Everything seen at the end of an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Its number, from 0. A gap says that samples were dropped, because a reader was slow.
    pub number: u64,
    /// End of the interval, in seconds since the start of the run.
    pub at_s: f64,
    /// Its length.
    pub interval_s: f64,
    /// Samples dropped so far on their way from the run, because nobody took them in time.
    pub dropped_samples: u64,
    /// The ports, in the scenario's order.
    pub ports: Vec<PortSample>,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowSample>,
    /// What happened in the interval.
    pub events: Vec<EventSample>,
    /// How exact the run has been so far; `None` of a simulation, which is.
    pub fidelity: Option<FidelitySample>,
}

/// How exact a live run has been so far, and whether its figures can be relied on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FidelitySample {
    /// 99th percentile, since the start, of the time from when a frame was due at its host to when it had been handed
    /// over; `None` before the first.
    pub late_p99_s: Option<f64>,
    /// Packets that the machine lost, outside the network under test.
    pub host_losses: u64,
    /// How long the driver was stopped, or kept from running, for long at once.
    pub stood_still_s: f64,
    /// A sentence for each limit that was passed; none: the run is faithful.
    pub unfaithful: Vec<String>,
}

/// One port, and with it one direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PortSample {
    /// Its name in the scenario.
    pub name: String,
    /// Bits per second put on the link in the interval.
    pub sent_bps: f64,
    /// Packets in the device ring below the queues now.
    pub ring_packets: usize,
    /// Its queues, the root first, parents before children; those of trees no longer in use are left out.
    pub queues: Vec<QueueSample>,
}

/// One queue, with all that is below it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueSample {
    /// Its name in the scenario.
    pub name: String,
    /// Its kind of discipline.
    pub kind: &'static str,
    /// Its number in the port, which stays.
    pub place: u16,
    /// The number of the queue above it.
    pub parent: Option<u16>,
    /// Waiting now.
    pub packets: u64,
    /// Waiting now, in bytes.
    pub bytes: u64,
    /// Mean of the looks in the interval.
    pub mean_packets: f64,
    /// Mean of the looks in the interval, in bytes.
    pub mean_bytes: f64,
    /// The most that waited in the interval.
    pub peak_packets: u64,
    /// The most that waited in the interval, in bytes.
    pub peak_bytes: u64,
    /// Bits per second offered in the interval.
    pub offered_bps: f64,
    /// Bits per second sent in the interval.
    pub sent_bps: f64,
    /// Packets sent in the interval.
    pub sent_packets: u64,
    /// Packets dropped in the interval.
    pub dropped_packets: u64,
    /// The same by reason, where there are any.
    pub dropped_by: Vec<(&'static str, u64)>,
    /// Packets marked in the interval.
    pub marked_packets: u64,
    /// Mean time in the port of the packets sent in the interval; `None` where none was.
    pub sojourn_mean_s: Option<f64>,
    /// Median of the same, within 3 %.
    pub sojourn_p50_s: Option<f64>,
    /// 99th percentile of the same, within 3 %.
    pub sojourn_p99_s: Option<f64>,
    /// Mean time in the queue itself of the packets it gave to the device ring in the interval; the rest of their time
    /// in the port is the ring's. `None` where none was, or where there is no ring and all of it is the queue's.
    pub waited_mean_s: Option<f64>,
    /// What the discipline shows of itself, by name.
    pub gauges: Vec<(&'static str, f64)>,
    /// Since the start.
    pub total: QueueTotal,
}

/// What a queue has done since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueTotal {
    /// Packets offered.
    pub offered_packets: u64,
    /// Bytes offered.
    pub offered_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets dropped.
    pub dropped_packets: u64,
    /// Packets marked.
    pub marked_packets: u64,
    /// Packets taken along when the tree was replaced.
    pub moved_packets: u64,
    /// Packets sent by sojourn time: how many waited at most each of [`SOJOURN_CLASSES`].
    pub sojourn_classes: [u64; SOJOURN_CLASSES.len()],
    /// How many sojourn times there are.
    pub sojourn_count: u64,
    /// Their sum.
    pub sojourn_sum_s: f64,
    /// Packets given to the device ring, where there is one.
    pub waited_count: u64,
    /// How long they had waited until then, in sum.
    pub waited_sum_s: f64,
}

/// One flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowSample {
    /// Its name in the scenario.
    pub name: String,
    /// Bits per second its source sent in the interval.
    pub offered_bps: f64,
    /// Bits per second its receiver got in the interval.
    pub received_bps: f64,
    /// Packets lost in the interval.
    pub lost_packets: u64,
    /// Median one-way delay of the packets received in the interval, within 3 %; `None` where none was.
    pub owd_p50_s: Option<f64>,
    /// 99th percentile of the same, within 3 %.
    pub owd_p99_s: Option<f64>,
    /// The sender's congestion window as it was sampled last, in payload bytes; `None` where there is none.
    pub cwnd_bytes: Option<u64>,
    /// Its smoothed round-trip time at the same moment.
    pub rtt_s: Option<f64>,
    /// Packets sent since the start.
    pub sent_packets: u64,
    /// Packets received since the start.
    pub received_packets: u64,
    /// Packets lost since the start.
    pub lost_packets_total: u64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventSample {
    /// When, in seconds since the start of the run.
    pub at_s: f64,
    /// `change`, `expect` or `note`.
    pub kind: crate::recording::EventKind,
    /// The path of the value that changed; may be empty.
    pub path: String,
    /// The new value, as written; may be empty.
    pub value: String,
    /// Packets that moved to a new tree.
    pub moved_packets: Option<u64>,
    /// Packets that the change forced out.
    pub forced_out_packets: u64,
    /// A sentence for the reader; may be empty.
    pub text: String,
    /// What is to be set for it to be undone, `PATH=VALUE` each; empty where that is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
}

impl EventSample {
    /// The event as samples show it.
    pub fn of(event: &Event) -> Self {
        Self {
            at_s: event.at.as_secs_f64(),
            kind: event.kind,
            path: event.path.clone(),
            value: event.value.clone(),
            moved_packets: event.moved_packets,
            forced_out_packets: event.forced_out_packets,
            text: event.text.clone(),
            before: Vec::new(),
        }
    }
}

/// Looks at a run and makes samples of what it sees.
#[derive(Debug, Default)]
pub struct Monitor {
    number: u64,
    /// End of the last interval.
    closed: Instant,
    /// Looks since then.
    looks: u64,
    ports: Vec<PortState>,
    flows: Vec<Totals>,
    events: usize,
    /// Room for what one place, and one flow, has seen.
    seen: Vec<Seen>,
    delays: Coarse,
}

#[derive(Debug, Default)]
struct PortState {
    transmitted: Tally,
    places: Vec<PlaceState>,
    parents: Vec<Option<u16>>,
    /// Under a ring: what each place, with all below it, gave to it.
    handed: Vec<Handed>,
}

/// What is known of a place at the end of the last interval, and what the looks since have seen.
#[derive(Debug, Default)]
struct PlaceState {
    counters: Counters,
    drops: [u64; DropReason::ALL.len()],
    peak: Tally,
    packets: u128,
    bytes: u128,
    handed: Handed,
}

impl Monitor {
    /// A monitor of a run that is at `now`.
    pub fn new(now: Instant) -> Self {
        Self { closed: now, ..Self::default() }
    }

    /// End of the last interval.
    pub fn closed(&self) -> Instant {
        self.closed
    }

    /// Looks at the queues of every port, in their order.
    pub fn look<'a>(&mut self, ports: impl Iterator<Item = (&'a mut Port, &'a mut PortRecord)>) {
        self.looks += 1;
        for (index, (port, record)) in ports.enumerate() {
            if index >= self.ports.len() {
                self.ports.resize_with(index + 1, PortState::default);
            }
            let places = &mut self.ports[index].places;
            port.each_node(&mut |node| {
                let place = usize::from(node.id());
                if place >= places.len() {
                    places.resize_with(place + 1, PlaceState::default);
                }
                let state = &mut places[place];
                let peak = record.look_at_peak(node);
                state.peak.packets = state.peak.packets.max(peak.packets);
                state.peak.bytes = state.peak.bytes.max(peak.bytes);
                let backlog = node.backlog();
                state.packets += u128::from(backlog.packets);
                state.bytes += u128::from(backlog.bytes.0);
            });
        }
    }

    /// The last sample was lost on its way: its events, of which there were so many, come with the next.
    pub fn tell_again(&mut self, events: usize) {
        self.events = self.events.saturating_sub(events);
    }

    /// Ends the interval at `now`, which is one of the instants looked at. `recording` is of the same run,
    /// with or without the records of its ports.
    pub fn close<'a>(
        &mut self,
        now: Instant,
        ports: impl Iterator<Item = (&'a mut Port, &'a mut PortRecord)>,
        recording: &mut [FlowRecord],
        events: &[Event],
    ) -> Sample {
        let mut sample = Sample::default();
        self.close_into(&mut sample, now, ports, recording, events);
        sample
    }

    /// The same into a sample that was used before, whose memory is used again: where no queue and no flow has
    /// come since, and nothing has happened, nothing is allocated.
    pub fn close_into<'a>(
        &mut self,
        sample: &mut Sample,
        now: Instant,
        ports: impl Iterator<Item = (&'a mut Port, &'a mut PortRecord)>,
        recording: &mut [FlowRecord],
        events: &[Event],
    ) {
        let interval = now.since(self.closed).as_secs_f64();
        let looks = core::mem::take(&mut self.looks).max(1);
        let mut count = 0;
        for ((port, record), state) in ports.zip(&mut self.ports) {
            record.learn_places(port);
            record.seen(&mut self.seen);
            state.close(nth(&mut sample.ports, count), port, record, &mut self.seen, interval, looks);
            count += 1;
        }
        sample.ports.truncate(count);
        self.flows.resize_with(recording.len(), Totals::default);
        sample.flows.resize_with(recording.len(), FlowSample::default);
        for ((shown, flow), before) in sample.flows.iter_mut().zip(recording).zip(&mut self.flows) {
            flow.look_at_delays(&mut self.delays);
            flow_sample(shown, flow, &mut self.delays, before, interval);
        }
        sample.number = self.number;
        sample.at_s = now.as_secs_f64();
        sample.interval_s = interval;
        sample.dropped_samples = 0;
        sample.fidelity = None;
        sample.events.clear();
        sample.events.extend(events.iter().skip(self.events).map(EventSample::of));
        self.events = events.len();
        self.number += 1;
        self.closed = now;
    }
}

/// The entry at `index`, which is at most one beyond the last.
fn nth<T: Default>(all: &mut Vec<T>, index: usize) -> &mut T {
    if index >= all.len() {
        all.push(T::default());
    }
    &mut all[index]
}

/// Starts to gather what samples need beside what a recording does.
pub fn watch<'a>(recording: &mut Recording, ports: impl Iterator<Item = &'a mut PortRecord>) {
    recording.flows.iter_mut().for_each(FlowRecord::watch);
    ports.for_each(PortRecord::watch);
}

/// Ends it. What was recorded is as if nobody had watched.
pub fn unwatch<'a>(recording: &mut Recording, ports: impl Iterator<Item = &'a mut PortRecord>) {
    recording.flows.iter_mut().for_each(FlowRecord::unwatch);
    ports.for_each(PortRecord::unwatch);
}

fn per_second(bytes: u64, interval: f64) -> f64 {
    if interval > 0.0 { bytes as f64 * 8.0 / interval } else { 0.0 }
}

fn seconds(picos: u64) -> f64 {
    Duration::from_picos(picos).as_secs_f64()
}

fn quantiles(delays: &mut Coarse) -> [Option<f64>; 2] {
    delays.quantiles_in_place([0.5, 0.99]).map_or([None; 2], |pair| pair.map(|picos| Some(seconds(picos))))
}

fn flow_sample(
    shown: &mut FlowSample,
    flow: &FlowRecord,
    delays: &mut Coarse,
    before: &mut Totals,
    interval: f64,
) {
    let [p50, p99] = quantiles(delays);
    let now = flow.totals(Window::WholeRun);
    let then = core::mem::replace(before, now);
    shown.name.clone_from(&flow.setup.name);
    shown.offered_bps = per_second(now.sent.bytes.0 - then.sent.bytes.0, interval);
    shown.received_bps = per_second(now.received.bytes.0 - then.received.bytes.0, interval);
    shown.lost_packets = now.lost.packets - then.lost.packets;
    shown.owd_p50_s = p50;
    shown.owd_p99_s = p99;
    let sender = flow.tcp.as_ref().and_then(|tcp| tcp.samples.last());
    shown.cwnd_bytes = sender.map(|sender| sender.cwnd.0);
    shown.rtt_s = sender.and_then(|sender| sender.rtt).map(Duration::as_secs_f64);
    shown.sent_packets = now.sent.packets;
    shown.received_packets = now.received.packets;
    shown.lost_packets_total = now.lost.packets;
}

impl PortState {
    fn close(
        &mut self,
        shown: &mut PortSample,
        port: &mut Port,
        record: &mut PortRecord,
        seen: &mut [Seen],
        interval: f64,
        looks: u64,
    ) {
        let transmitted = record.transmitted();
        let bytes = transmitted.bytes.0 - self.transmitted.bytes.0;
        self.transmitted = transmitted;
        shown.name.clone_from(&record.setup.name);
        shown.sent_bps = per_second(bytes, interval);
        shown.ring_packets = port.ring_occupancy();
        self.parents.clear();
        self.parents.extend(port.places().iter().map(|place| place.parent));
        self.count_handed(port);
        let (places, parents, queues) = (&mut self.places, &self.parents, &mut shown.queues);
        let mut count = 0;
        port.each_node(&mut |node| {
            let id = usize::from(node.id());
            let (Some(state), Some(seen)) = (places.get_mut(id), seen.get_mut(id)) else { return };
            let queue = nth(queues, count);
            count += 1;
            state.close(queue, node.counters(), seen, interval, looks);
            state.close_handed(queue, self.handed.get(id).copied().unwrap_or_default());
            queue.name.clear();
            queue.name.push_str(node.name());
            queue.kind = node.kind();
            queue.place = node.id();
            queue.parent = parents.get(id).copied().flatten();
            queue.gauges.clear();
            node.gauges(&mut |name, value| queue.gauges.push((name, value)));
        });
        queues.truncate(count);
        record.close_interval();
    }

    /// Sums up what places gave to the device ring, over all that is below each.
    fn count_handed(&mut self, port: &Port) {
        self.handed.clear();
        if !port.has_ring() {
            return;
        }
        self.handed.resize(self.parents.len(), Handed::default());
        for place in 0..self.parents.len() {
            let own = port.handed(place as u16);
            let mut at = Some(place).filter(|_| own.packets > 0);
            // No chain of parents is longer than there are places.
            for _ in 0..=self.parents.len() {
                let Some(place) = at else { break };
                self.handed[place].packets += own.packets;
                self.handed[place].waited_ps += own.waited_ps;
                at = self.parents[place].map(usize::from);
            }
        }
    }
}

impl PlaceState {
    fn close(
        &mut self,
        shown: &mut QueueSample,
        counters: Counters,
        seen: &mut Seen,
        interval: f64,
        looks: u64,
    ) {
        let then = core::mem::replace(&mut self.counters, counters);
        shown.dropped_by.clear();
        for (index, reason) in DropReason::ALL.into_iter().enumerate() {
            let packets = seen.drops[index].saturating_sub(self.drops[index]);
            if packets > 0 {
                shown.dropped_by.push((reason.name(), packets));
            }
        }
        self.drops = seen.drops;
        let [p50, p99] = quantiles(&mut seen.sojourn);
        let peak = core::mem::take(&mut self.peak);
        let (packets, bytes) = (core::mem::take(&mut self.packets), core::mem::take(&mut self.bytes));
        shown.packets = counters.backlog.packets;
        shown.bytes = counters.backlog.bytes.0;
        shown.mean_packets = packets as f64 / looks as f64;
        shown.mean_bytes = bytes as f64 / looks as f64;
        shown.peak_packets = peak.packets;
        shown.peak_bytes = peak.bytes.0;
        shown.offered_bps = per_second(counters.offered.bytes.0 - then.offered.bytes.0, interval);
        shown.sent_bps = per_second(counters.sent.bytes.0 - then.sent.bytes.0, interval);
        shown.sent_packets = counters.sent.packets - then.sent.packets;
        shown.dropped_packets = counters.dropped.packets - then.dropped.packets;
        shown.marked_packets = counters.marked_packets - then.marked_packets;
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

    fn close_handed(&mut self, shown: &mut QueueSample, handed: Handed) {
        let then = core::mem::replace(&mut self.handed, handed);
        let packets = handed.packets - then.packets;
        let waited = (handed.waited_ps - then.waited_ps) as f64 / 1e12;
        shown.waited_mean_s = (packets > 0).then(|| waited / packets as f64);
        shown.total.waited_count = handed.packets;
        shown.total.waited_sum_s = handed.waited_ps as f64 / 1e12;
    }
}
