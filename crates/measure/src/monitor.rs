//! Live view of a run: one [`Sample`] of everything per interval.
//!
//! ```text
//! driver --observe (some ten times an interval)--> Monitor --close (each interval)--> Sample --> terminal
//!                                                                                     |----> page
//!                                                                                     '----> exports
//! ```
//!
//! Every sample is complete: it has totals since the start besides the figures of the interval. A lost
//! sample loses only the figures of its own interval.

mod groups;
mod hurt;
mod interval;
mod judged;
mod marks;
mod pain;

use std::borrow::Cow;

use lockgate_engine::node::Band;
use lockgate_engine::port::Port;
use lockgate_engine::units::{Duration, Instant};
use serde::{Deserialize, Serialize};

pub use self::groups::{GroupSample, groups};
pub use self::hurt::{Hurt, worst};
pub use self::interval::Pass;
use self::interval::PortState;
pub use self::judged::{MOST_JUDGED, judge_so_far};
pub use self::marks::{Limits, mark};
pub use self::pain::{Condition, LONGEST_WAIT, MOST_LOSS, Pain, advice};
use crate::histogram::Coarse;
use crate::recording::{
    Event, FlowRecord, PortRecord, QueueFigures, Recording, SOJOURN_CLASSES, Totals, Window,
};
use crate::verdict::JudgedRow;

/// Observations in an interval: the number of values from which the mean queue length is computed.
pub const LOOKS: u64 = 10;

/// State of the run at the end of an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Sample {
    /// Number of the sample, from 0. A gap means that samples were dropped because a reader was slow.
    pub number: u64,
    /// End of the interval, in seconds since the start of the run.
    pub at_s: f64,
    /// Length of the interval, in seconds.
    pub interval_s: f64,
    /// Samples dropped so far between the run and the reader, because the reader was slow.
    pub dropped_samples: u64,
    /// The ports, in the scenario's order.
    pub ports: Vec<PortSample>,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowSample>,
    /// Parts of a large network that this sample leaves out.
    pub left_out: LeftOut,
    /// Statistics over the members of each group of flows, if the sample leaves out some of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupSample>,
    /// Expectations on flows, judged on the run from the end of its warm-up until now; empty before, and if
    /// the run does not judge them while it goes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<JudgedRow>,
    /// Sentence on the queue that hurts most, and what is worth a trial there; empty if none does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hurts: String,
    /// Events in the interval.
    pub events: Vec<EventSample>,
    /// Timing accuracy of the run so far; `None` for a simulation, which is exact.
    pub fidelity: Option<FidelitySample>,
    /// Condition of the router; `None` for a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<RouterSample>,
}

/// Condition of a router, beside its ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RouterSample {
    /// Mode of its policy.
    pub mode: String,
    /// Interfaces: name in the policy, name on the machine.
    pub interfaces: Vec<(String, String)>,
    /// Number of the policy that runs; 0 while it is not known.
    pub policy: u64,
    /// True while that policy is on trial.
    pub is_on_trial: bool,
    /// Time in seconds after which the router goes back to the policy before, unless this one is confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revert_s: Option<f64>,
    /// Names of the alerts that fire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alerts: Vec<String>,
    /// Frames lost outside the queues since the start, by cause.
    pub lost_by: Vec<(Cow<'static, str>, u64)>,
    /// Frames that took the kernel's way past the router since the start.
    pub bypassed_frames: u64,
    /// Reason why frames take that way now; empty: they do not.
    pub bypass: String,
    /// Controllers of the rates of its ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub autorate: Vec<AutorateSample>,
}

/// Controller of the rate of a router's port, as it is now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct AutorateSample {
    /// Port.
    pub port: String,
    /// Law.
    pub law: Cow<'static, str>,
    /// Rate that the law has chosen, in bits per second.
    pub rate_bps: f64,
    /// True if the port has that rate; false if the steps are only recorded.
    pub is_applied: bool,
    /// Reason of the latest step, by its name.
    pub why: Cow<'static, str>,
    /// The same as a sentence, with what was measured.
    pub reason: String,
    /// Delivered rate, in bits per second; `None` if it is not known.
    pub delivered_bps: Option<f64>,
    /// Delay above that of the line without a queue, in seconds; `None` if it is not known.
    pub delay_s: Option<f64>,
    /// Latest rate used with hardly a queue on the line, in bits per second: a restart begins with it.
    pub safe_bps: Option<f64>,
    /// Steps since the start, by the name of their reason.
    pub steps: Vec<(Cow<'static, str>, u64)>,
    /// Signals that have not moved with the load for an hour, and are not used.
    pub blind: Vec<Cow<'static, str>>,
    /// Probed addresses whose answers differ from the others', and that are left out.
    pub left_out: Vec<String>,
    /// Latest marks.
    pub marks: Vec<MarkSample>,
}

/// Step of a controller that is worth a line: the rate has changed much, or the line stalls or returns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MarkSample {
    /// Its number since the start, from 1 on.
    pub number: u64,
    /// Time, in seconds.
    pub at_s: f64,
    /// Rates before and after, and the reason.
    pub text: String,
}

/// Numbers of ports, queues and flows that a sample of a large network leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LeftOut {
    /// Ports.
    pub ports: usize,
    /// Queues, those of the ports included.
    pub queues: usize,
    /// Flows.
    pub flows: usize,
}

/// Timing accuracy of a live run so far, and whether its figures are reliable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FidelitySample {
    /// 99th percentile of the lateness of frames, since the start (of a router's in the interval): from when
    /// a frame was due to when it was handed over. `None` before the first frame.
    pub late_p99_s: Option<f64>,
    /// Packets lost by the machine, outside the network under test.
    pub host_losses: u64,
    /// Total time, in seconds, in long periods during which the driver was stopped or did not run.
    pub stood_still_s: f64,
    /// A sentence for each limit that was exceeded; empty: the run is faithful.
    pub unfaithful: Vec<String>,
}

/// One port, which is one direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PortSample {
    /// Name in the scenario.
    pub name: String,
    /// Index in the scenario's order.
    pub index: usize,
    /// Bits per second sent on the link in the interval.
    pub sent_bps: f64,
    /// Rate of the link, or of the port itself, in bits per second; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<f64>,
    /// True if that rate is used up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_full: bool,
    /// Packets in the device ring below the queues now.
    pub ring_packets: usize,
    /// Queues, the root first, parents before children; those of replaced trees are left out.
    pub queues: Vec<QueueSample>,
}

/// One queue, everything below it included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct QueueSample {
    /// Name in the scenario.
    pub name: String,
    /// Discipline.
    pub kind: Cow<'static, str>,
    /// Index in the port, constant during the run.
    // The name that recordings and pages have.
    #[serde(rename = "place")]
    pub index: u32,
    /// Index of its parent.
    pub parent: Option<u32>,
    /// Backlog now, in packets.
    pub packets: u64,
    /// Backlog now, in bytes.
    pub bytes: u64,
    /// Mean backlog over the observations in the interval, in packets.
    pub mean_packets: f64,
    /// Mean backlog over the observations in the interval, in bytes.
    pub mean_bytes: f64,
    /// Largest backlog in the interval, in packets.
    pub peak_packets: u64,
    /// Largest backlog in the interval, in bytes.
    pub peak_bytes: u64,
    /// Bits per second offered in the interval.
    pub offered_bps: f64,
    /// Bits per second sent in the interval.
    pub sent_bps: f64,
    /// Packets sent in the interval.
    pub sent_packets: u64,
    /// Packets dropped in the interval.
    pub dropped_packets: u64,
    /// Packets dropped in the interval, by reason, if any.
    pub dropped_by: Vec<(Cow<'static, str>, u64)>,
    /// Packets marked in the interval.
    pub marked_packets: u64,
    /// Mean time in the port of the packets sent in the interval, in seconds; `None` if none was sent.
    pub sojourn_mean_s: Option<f64>,
    /// Median of the time in the port, in seconds, within 3 %.
    pub sojourn_p50_s: Option<f64>,
    /// 99th percentile of the time in the port, in seconds, within 3 %.
    pub sojourn_p99_s: Option<f64>,
    /// Mean time, in seconds, in the queue itself of the packets that it passed to the device ring in the
    /// interval; the rest of their time in the port is spent in the ring. `None` if there were none, and
    /// without a ring, when the queue accounts for all of the time.
    pub waited_mean_s: Option<f64>,
    /// Time in seconds, in whole intervals until now, for which packets have waited and none has left.
    // Read by the log and `status` alone.
    #[cfg_attr(feature = "typescript", ts(skip))]
    #[serde(default, skip_serializing_if = "is_zero")]
    pub still_s: f64,
    /// Smallest upper bound of the expectations on its delay, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_s: Option<f64>,
    /// Reason for which it hurts; `None`: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pain: Option<Pain>,
    /// Reason why its packets wait, if it is known, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Most that its parent lets it send, in bits per second, if it is known: its `ceil`.
    #[cfg_attr(feature = "typescript", ts(skip))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceil_bps: Option<f64>,
    /// Internal state that the discipline exposes, by name.
    pub gauges: Vec<(Cow<'static, str>, f64)>,
    /// Tins of a `cake`, in the order of `tc -s`; none for other disciplines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tins: Vec<TinSample>,
    /// Totals since the start.
    pub total: QueueTotal,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(value: &bool) -> bool {
    !value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// A tin of a `cake`: its backlog now, and its totals since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TinSample {
    /// Name.
    pub name: Cow<'static, str>,
    /// Backlog now, in packets.
    pub packets: u64,
    /// Backlog now, in bytes.
    pub bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Time, in seconds, that these had been in the port, in sum.
    pub sojourn_sum_s: f64,
    /// Packets dropped, superseded acknowledgements among them. Packets dropped before they had a tin are
    /// not.
    pub dropped_packets: u64,
    /// Packets marked.
    pub marked_packets: u64,
}

impl TinSample {
    /// Creates the sample of a tin from its account.
    fn of(name: &'static str, account: Band) -> Self {
        Self {
            name: Cow::Borrowed(name),
            packets: account.backlog.packets,
            bytes: account.backlog.bytes.0,
            sent_packets: account.sent.packets,
            sent_bytes: account.sent.bytes.0,
            sojourn_sum_s: account.waited_ps as f64 / 1e12,
            dropped_packets: account.dropped_packets,
            marked_packets: account.marked_packets,
        }
    }
}

/// Totals of a queue since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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
    /// Packets moved when the tree was replaced.
    pub moved_packets: u64,
    /// Packets sent by sojourn time: the number with at most each of [`SOJOURN_CLASSES`].
    pub sojourn_classes: [u64; SOJOURN_CLASSES.len()],
    /// Number of sojourn times.
    pub sojourn_count: u64,
    /// Sum of the sojourn times, in seconds.
    pub sojourn_sum_s: f64,
    /// Packets passed to the device ring, if there is one.
    pub waited_count: u64,
    /// Sum of their waiting times until then, in seconds.
    pub waited_sum_s: f64,
}

/// One flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FlowSample {
    /// Name in the scenario.
    pub name: String,
    /// Bits per second sent by its source in the interval.
    pub offered_bps: f64,
    /// Bits per second that reached its receiver in the interval.
    pub received_bps: f64,
    /// Packets lost in the interval.
    pub lost_packets: u64,
    /// Median one-way delay of the packets received in the interval, in seconds, within 3 %; `None` if none
    /// was received.
    pub owd_p50_s: Option<f64>,
    /// 99th percentile of the one-way delay, in seconds, within 3 %.
    pub owd_p99_s: Option<f64>,
    /// Smallest upper bound of the expectations on that delay, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_s: Option<f64>,
    /// Reason for which it hurts; `None`: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pain: Option<Pain>,
    /// Congestion window of the sender at its last sample, in payload bytes; `None` for flows without one.
    pub cwnd_bytes: Option<u64>,
    /// Smoothed round-trip time at the same instant, in seconds.
    pub rtt_s: Option<f64>,
    /// Packets sent since the start.
    pub sent_packets: u64,
    /// Packets received since the start.
    pub received_packets: u64,
    /// Packets lost since the start.
    pub lost_packets_total: u64,
}

/// An event of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct EventSample {
    /// Time of the event, in seconds since the start of the run.
    pub at_s: f64,
    /// Kind: `change`, `expect` or `note`.
    pub kind: crate::recording::EventKind,
    /// Path of the value that changed; may be empty.
    pub path: String,
    /// New value, as written; may be empty.
    pub value: String,
    /// Packets that moved to a new tree.
    pub moved_packets: Option<u64>,
    /// Packets that the change forced out.
    pub forced_out_packets: u64,
    /// Description for the reader; may be empty.
    pub text: String,
    /// Settings that undo the change, `PATH=VALUE` each; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
}

impl EventSample {
    /// Converts a recorded event.
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

/// Observes a run and produces samples.
#[derive(Debug, Default)]
pub struct Monitor {
    number: u64,
    /// End of the last interval.
    closed: Instant,
    /// Number of observations since then.
    observations: u64,
    ports: Vec<PortState>,
    flows: Vec<Totals>,
    events: usize,
    /// Buffers reused for the figures of a queue, and of a flow.
    seen: Vec<QueueFigures>,
    delays: Coarse,
}

impl Monitor {
    /// Creates a monitor of a run that is at `now`.
    pub fn new(now: Instant) -> Self {
        Self { closed: now, ..Self::default() }
    }

    /// Returns the end of the last interval.
    pub fn closed(&self) -> Instant {
        self.closed
    }

    /// Observes the backlog of the queues of every port, in their order.
    pub fn observe<'a>(&mut self, ports: impl Iterator<Item = (&'a mut Port, &'a mut PortRecord)>) {
        self.observe_some(&mut Pass::default(), usize::MAX, ports);
    }

    /// Observes the next queues, at most `most`, from the position of `pass`. Returns true once all have been
    /// observed; `pass` is then at the start again.
    pub fn observe_some<'a>(
        &mut self,
        pass: &mut Pass,
        most: usize,
        ports: impl Iterator<Item = (&'a mut Port, &'a mut PortRecord)>,
    ) -> bool {
        let mut left = most;
        for (index, (port, record)) in ports.enumerate().skip(pass.port) {
            if index >= self.ports.len() {
                self.ports.resize_with(index + 1, PortState::default);
            }
            if !self.ports[index].observe(pass, &mut left, port, record) {
                return false;
            }
        }
        *pass = Pass::default();
        self.observations += 1;
        true
    }

    /// Repeats the last `events` events in the next sample, because the last sample was lost.
    pub fn tell_again(&mut self, events: usize) {
        self.events = self.events.saturating_sub(events);
    }

    /// Ends the interval at `now`, which must be the time of an observation, and returns its sample.
    /// `recording` is of the same run, with or without the records of its ports.
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

    /// Ends the interval as [`close`](Self::close) does, into a sample whose memory is reused. Allocates
    /// nothing unless there are new queues, flows or events.
    pub fn close_into<'a>(
        &mut self,
        sample: &mut Sample,
        now: Instant,
        ports: impl Iterator<Item = (&'a mut Port, &'a mut PortRecord)>,
        recording: &mut [FlowRecord],
        events: &[Event],
    ) {
        self.close_some(&mut Pass::default(), usize::MAX, sample, now, ports);
        self.flows.resize_with(recording.len(), Totals::default);
        sample.flows.resize_with(recording.len(), FlowSample::default);
        for ((shown, flow), before) in sample.flows.iter_mut().zip(recording).zip(&mut self.flows) {
            flow.take_delays(&mut self.delays);
            flow_sample(shown, flow, &mut self.delays, before, sample.interval_s);
        }
        self.finish(sample, now, events);
    }

    /// Ends the interval of the next queues, at most `most`, from the position of `pass`, and writes them
    /// into `sample`. Returns true once all are written; then [`finish`](Self::finish) must follow. `now`
    /// must be the same in all calls of a pass, and the trees of the ports must not change during the pass.
    pub fn close_some<'a>(
        &mut self,
        pass: &mut Pass,
        most: usize,
        sample: &mut Sample,
        now: Instant,
        ports: impl Iterator<Item = (&'a mut Port, &'a mut PortRecord)>,
    ) -> bool {
        let over = (now.since(self.closed).as_secs_f64(), self.observations.max(1));
        sample.interval_s = over.0;
        let mut left = most;
        for (pair, state) in ports.zip(&mut self.ports).skip(pass.port) {
            let shown = nth(&mut sample.ports, pass.port);
            shown.index = pass.port;
            if !state.close(pass, &mut left, shown, pair, &mut self.seen, over) {
                return false;
            }
        }
        sample.ports.truncate(pass.port);
        *pass = Pass::default();
        true
    }

    /// Ends the interval of a sample that has all queues, and adds the new ones of `events`.
    pub fn finish(&mut self, sample: &mut Sample, now: Instant, events: &[Event]) {
        self.observations = 0;
        sample.number = self.number;
        sample.at_s = now.as_secs_f64();
        sample.dropped_samples = 0;
        sample.fidelity = None;
        sample.router = None;
        sample.left_out = LeftOut::default();
        sample.groups.clear();
        sample.judged.clear();
        sample.hurts.clear();
        sample.events.clear();
        sample.events.extend(events.iter().skip(self.events).map(EventSample::of));
        self.events = events.len();
        self.number += 1;
        self.closed = now;
    }
}

/// Returns the entry at `index`, appending a default one if it is one beyond the last.
fn nth<T: Default>(all: &mut Vec<T>, index: usize) -> &mut T {
    if index >= all.len() {
        all.push(T::default());
    }
    &mut all[index]
}

/// Starts to collect what samples need in addition to a recording.
pub fn watch<'a>(recording: &mut Recording, ports: impl Iterator<Item = &'a mut PortRecord>) {
    recording.flows.iter_mut().for_each(FlowRecord::watch);
    ports.for_each(PortRecord::watch);
}

/// Stops collecting. The recording is the same as if it had not been observed.
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
    let sender = flow.tcp.as_ref().and_then(|tcp| tcp.last());
    shown.cwnd_bytes = sender.map(|sender| sender.cwnd.0);
    shown.rtt_s = sender.and_then(|sender| sender.rtt).map(Duration::as_secs_f64);
    shown.sent_packets = now.sent.packets;
    shown.received_packets = now.received.packets;
    shown.lost_packets_total = now.lost.packets;
}
