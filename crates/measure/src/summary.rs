//! The results of a run, as in `summary.json`: base SI units, the unit in the name, never NaN.
//!
//! Statistics leave the warm-up out. Quantities that were not observed are `null`. The same scenario and
//! seeds give the same bytes on any machine and with any number of threads; the time that a run took is in
//! `manifest.json`.

mod batches;
mod build;
mod expectation;
mod files;
mod flow;
mod fold;
mod judged;
mod phases;
mod requests;
mod totals;
mod value;
mod voice;
mod without;
mod worst;

pub(crate) use batches::levels;
pub use build::summarise;
pub use expectation::{BOUND, Bound, Criterion, Expectation, Expected, MembersHeld};
pub use files::{BinSummary, FileSummary, FilesSummary, GroupSummary};
pub use fold::MembersSummary;
pub use judged::{JudgedRow, Outcome, PhaseRow, PhaseTable, RunVerdict};
#[cfg(feature = "page")]
pub(crate) use phases::change;
pub use phases::{PhaseSummary, values_by_phase};
pub use requests::{EchoSummary, PagesSummary};
pub use totals::GroupTotals;
pub use without::{Pairs, Values, WithoutChange, WithoutValue};
pub use worst::{FlowTable, WORST, sort_worst_first};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::intervals::Interval;
use crate::metric::During;
use crate::recording::{Detail, Mode};

/// Version of the document's format; it increases if readers must change.
pub const SCHEMA: u32 = 2;

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Summary {
    /// Version of the document's format.
    pub schema: u32,
    /// Title of the scenario.
    pub title: String,
    /// Simulated or live.
    pub mode: Mode,
    /// Seed of the random draws of the (first) run.
    pub seed: u64,
    /// Number of runs, with successive seeds from `seed` on: the first, which these results describe, and
    /// its repetitions.
    pub runs: u64,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Time at the start that statistics leave out, in seconds.
    pub warmup_s: f64,
    /// Recording detail of group members; absent for `all`.
    #[serde(default, skip_serializing_if = "is_all")]
    pub detail: Detail,
    /// Each flow, by name, in the scenario's order.
    pub flows: IndexMap<String, FlowSummary>,
    /// Each group of flows, by name; absent if there are none.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub groups: IndexMap<String, GroupSummary>,
    /// Each port, by name.
    pub ports: IndexMap<String, PortSummary>,
    /// Jain's fairness index of the throughput of all flows, from 1/n to 1.
    pub jain_index: Option<f64>,
    /// Every value that an expectation can refer to, by its address, in base units: those of each flow,
    /// queue, port and group of this document, `null` if nothing was observed, and those over several flows
    /// or queues (`group.call.owd.p99.worst`), if there are several and one has a value. Filled in the
    /// written document.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metrics: IndexMap<String, Option<f64>>,
    /// Means over all runs with 95 % confidence intervals, by the metric's address; empty for a single run.
    pub intervals: IndexMap<String, Interval>,
    /// Each expectation, with its outcome.
    pub expect: Vec<Expectation>,
    /// Parts of the window between the changes of the (first) run; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseSummary>,
    /// Sentences on what holds and how tightly, where packets waited, what each change did. Filled in the
    /// written document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
    /// Work done by the simulator or driver.
    pub engine: EngineSummary,
    /// Timing accuracy of a live run, by name (`timer_lateness_p99_s`); absent for a simulation.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub fidelity: IndexMap<String, f64>,
    /// Warnings about the validity of the run.
    pub warnings: Vec<String>,
    /// Results of the parts of the run that expectations name, with the flows and ports that they name.
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub(crate) parts: Vec<(During, Self)>,
    /// Summaries of the repetitions, for values that `intervals` does not have.
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub repetitions: Vec<Self>,
}

impl Summary {
    /// Returns the summary of nothing.
    pub(super) fn empty() -> Self {
        Self {
            schema: SCHEMA,
            title: String::new(),
            mode: Mode::Sim,
            seed: 0,
            runs: 0,
            duration_s: 0.0,
            warmup_s: 0.0,
            detail: Detail::All,
            flows: IndexMap::new(),
            groups: IndexMap::new(),
            ports: IndexMap::new(),
            jain_index: None,
            metrics: IndexMap::new(),
            intervals: IndexMap::new(),
            expect: Vec::new(),
            phases: Vec::new(),
            verdict: None,
            engine: EngineSummary::default(),
            fidelity: IndexMap::new(),
            warnings: Vec::new(),
            parts: Vec::new(),
            repetitions: Vec::new(),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_all(detail: &Detail) -> bool {
    *detail == Detail::All
}

/// A flow's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FlowSummary {
    /// Packets the source sent in the window.
    pub sent_packets: u64,
    /// Frame bytes of the packets sent.
    pub sent_bytes: u64,
    /// Packets received, of those sent in the window.
    pub received_packets: u64,
    /// Frame bytes of the packets received.
    pub received_bytes: u64,
    /// Packets lost, of those sent in the window.
    pub lost_packets: u64,
    /// Lost packets by reason, if any.
    pub lost_by: IndexMap<String, u64>,
    /// Packets in the network at the end, of those sent in the window: sent = received + lost + inside.
    pub inside_packets: u64,
    /// Frame bits per second received during the window, whenever sent.
    pub throughput_bps: Option<f64>,
    /// Payload bits per second that arrived during the window, each byte once.
    pub goodput_bps: Option<f64>,
    /// Fraction of the packets sent that were lost.
    pub loss_ratio: Option<f64>,
    /// Fraction of the packets received that arrived after one that was sent later (RFC 4737).
    pub reordered_ratio: Option<f64>,
    /// One-way delay (RFC 7679), in seconds.
    pub owd_s: Distribution,
    /// Bound on the one-way delay that network calculus proves for all traffic within the envelopes, in
    /// seconds; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owd_bound_s: Option<f64>,
    /// Reason why there is no such bound; absent with one, and if none was sought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_bound: Option<String>,
    /// Part of the one-way delay spent waiting in queues, in seconds.
    pub queueing_s: Distribution,
    /// Part of the one-way delay spent in transmission on links and in service at routers, in seconds.
    pub serialisation_s: Distribution,
    /// Part of the one-way delay spent in propagation: mean, in seconds.
    pub propagation_s: Option<f64>,
    /// Magnitude of the delay variation between packets sent and received in succession (RFC 3393), in
    /// seconds.
    pub ipdv_s: Distribution,
    /// Mean of the signed delay variation, in seconds.
    pub ipdv_signed_mean_s: Option<f64>,
    /// One-way delay in excess of the smallest (RFC 5481), in seconds.
    pub pdv_s: Distribution,
    /// Interarrival jitter after the last packet (RFC 3550 section 6.4.1), in seconds.
    pub jitter_rfc3550_s: Option<f64>,
    /// Time between arrivals at the receiver, in seconds.
    pub iat_s: Distribution,
    /// Flow completion time, in seconds; `null` if the flow did not complete.
    pub fct_s: Option<f64>,
    /// The file it carries; absent for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileSummary>,
    /// Echo requests; absent for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<EchoSummary>,
    /// Requests for pages; absent for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesSummary>,
    /// Speech quality; absent for flows that are not calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<VoiceSummary>,
    /// TCP sender; absent for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSummary>,
}

/// Speech quality of a call by the E-model (ITU-T G.107), played out at the fixed delay that gives the best
/// rating.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct VoiceSummary {
    /// Codec.
    pub codec: String,
    /// Rating R, from 0 to 93.2; this and the following are `null` if nothing arrived.
    pub r_factor: Option<f64>,
    /// Mean opinion score of that rating, from 1 to 4.5.
    pub mos: Option<f64>,
    /// Delay from mouth to ear in seconds, the codec's framing included.
    pub delay_s: Option<f64>,
    /// Fraction of the packets that were lost or too late to be played out.
    pub loss_ratio: Option<f64>,
}

/// Shares of the samples after the warm-up at which each reason kept a TCP sender from sending more; of 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TcpLimits {
    /// The application had nothing to send.
    pub application_ratio: f64,
    /// The receiver's window was full.
    pub receive_window_ratio: f64,
    /// The congestion window was full.
    pub congestion_window_ratio: f64,
    /// The next segment waited for its time.
    pub pacing_ratio: f64,
}

/// Results of a TCP sender. Statistics of the congestion window cover the samples after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TcpSummary {
    /// Congestion control.
    pub congestion: String,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Reductions of the window for ECN marks.
    pub mark_reductions: u64,
    /// Reductions that were undone.
    pub undone: u64,
    /// Mean congestion window, in payload bytes.
    pub cwnd_mean_bytes: Option<f64>,
    /// Smallest congestion window, in payload bytes.
    pub cwnd_min_bytes: Option<f64>,
    /// Largest congestion window, in payload bytes.
    pub cwnd_max_bytes: Option<f64>,
    /// Mean of the smoothed round-trip time, in seconds.
    pub rtt_mean_s: Option<f64>,
    /// Reasons that kept it from sending more; absent for live runs, which do not observe them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<TcpLimits>,
}

/// A port's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PortSummary {
    /// Rate of its link at the start of the run, in bits per second.
    pub rate_bps: f64,
    /// Mean rate at which its link could have carried frames in the window, in bits per second: of a trace,
    /// of a rate that changed, or a smaller rate of the port's own.
    #[serde(default)]
    pub capacity_bps: Option<f64>,
    /// Fraction of the link's capacity in the window that was used.
    pub utilisation: Option<f64>,
    /// Fraction of its device ring's requests in the window that got a packet; `null` without a ring.
    pub requests_met_ratio: Option<f64>,
    /// Fraction of the packets for its ring that were chosen while two or more of the root's queues had
    /// one; `null` without a ring.
    pub requests_contended_ratio: Option<f64>,
    /// Each queue, by name, parents before children.
    pub queues: IndexMap<String, QueueSummary>,
}

/// A queue's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct QueueSummary {
    /// Discipline.
    pub kind: String,
    /// Parent; `null` for the root.
    pub parent: Option<String>,
    /// Packets offered to it in the window, dropped ones included. The backlog at the end of the warm-up plus
    /// `enqueued_packets + moved_in_packets` equals
    /// `sent_packets + dropped_packets + moved_out_packets + backlog_packets`.
    pub enqueued_packets: u64,
    /// Frame bytes of the packets offered.
    pub offered_bytes: u64,
    /// Packets dequeued for transmission in the window.
    pub sent_packets: u64,
    /// Frame bytes of the packets sent.
    pub sent_bytes: u64,
    /// Bits per second sent in the part of the window during which the queue was in the port's tree.
    pub throughput_bps: Option<f64>,
    /// Packets dropped in the window, here or below.
    pub dropped_packets: u64,
    /// Dropped packets by reason, if any.
    pub drops_by: IndexMap<String, u64>,
    /// Packets marked in the window, here or below.
    pub marked_packets: u64,
    /// Tins of a `cake` by name, the least urgent first.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub tins: IndexMap<String, TinSummary>,
    /// Packets taken over from the previous tree, if the port's tree was replaced in the window.
    #[serde(default)]
    pub moved_in_packets: u64,
    /// Packets handed over to the next tree, if the port's tree was replaced in the window.
    #[serde(default)]
    pub moved_out_packets: u64,
    /// Backlog at the end, in packets.
    pub backlog_packets: u64,
    /// Largest backlog in the window, in packets.
    pub peak_backlog_packets: u64,
    /// Mean backlog in packets over the time that the queue was in the port's tree in the window, by Little's
    /// law: the waits of the packets sent in the window, of a second of that time. Waits of packets that were
    /// dropped after they had waited are not in it.
    pub mean_backlog_packets: Option<f64>,
    /// Time from arrival at the port until transmission begins, in seconds. Packets moved in are not in it:
    /// they waited in another queue before.
    pub sojourn_s: Distribution,
    /// Mean time from arrival at the port until a packet is passed to the device ring, in seconds; `null`
    /// without a ring.
    pub scheduling_mean_s: Option<f64>,
    /// Bytes of a buffer that never overflows, which network calculus proves for all traffic within the
    /// envelopes; absent without such a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bound_bytes: Option<u64>,
    /// True if its limit is less than that, so that it may drop.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub may_overflow: bool,
}

impl QueueSummary {
    /// Returns the packets that were in it at any time in the window: those of its account, of which the
    /// dropped ones are a part.
    pub fn handled_packets(&self) -> u64 {
        self.sent_packets + self.dropped_packets + self.moved_out_packets + self.backlog_packets
    }
}

/// Results of a tin of `cake` in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TinSummary {
    /// Packets sent.
    pub sent_packets: u64,
    /// Frame bytes of these.
    pub sent_bytes: u64,
    /// Packets dropped, superseded acknowledgements among them. Packets dropped before they had a tin are
    /// not.
    pub dropped_packets: u64,
    /// Acknowledgements that a later one of their connection superseded (`ack_filter`).
    pub superseded_packets: u64,
    /// Packets marked.
    pub marked_packets: u64,
    /// Backlog at the end, in packets.
    pub backlog_packets: u64,
    /// Mean time that the sent packets waited in the port, in seconds; `null` if none was sent.
    pub sojourn_mean_s: Option<f64>,
}

/// Statistics of a distribution; all `null` if nothing was observed. Quantiles are by nearest rank, with a
/// relative error of at most 2^-10 (exact for up to 128 values); the rest is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Smallest value.
    pub min: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation.
    pub std: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

/// Work done by the simulator or driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct EngineSummary {
    /// Packets transmitted on links: one packet on one link is one packet-hop.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
}

/// Picoseconds in a second.
const PICOS: f64 = 1e12;

impl Distribution {
    /// Converts a distribution of picoseconds to seconds.
    pub fn of_picos<const SUB: usize>(histogram: &Histogram<SUB>) -> Self {
        Self::above(histogram, 0)
    }

    /// Converts a distribution of picoseconds, less `floor`, to seconds; no value is below `floor`.
    fn above<const SUB: usize>(histogram: &Histogram<SUB>, floor: u64) -> Self {
        let seconds = |value: u64| Some(value.saturating_sub(floor) as f64 / PICOS);
        if histogram.is_empty() {
            return Self::default();
        }
        let quantiles = histogram.quantiles([0.5, 0.9, 0.95, 0.99, 0.999]);
        let [p50, p90, p95, p99, p999] = quantiles.map_or([None; 5], |quantiles| quantiles.map(seconds));
        let total = histogram.sum().saturating_sub(u128::from(histogram.count()) * u128::from(floor));
        Self {
            count: histogram.count(),
            min: histogram.min().and_then(seconds),
            mean: Some(total as f64 / histogram.count() as f64 / PICOS),
            std: histogram.std().map(|std| std / PICOS),
            p50,
            p90,
            p95,
            p99,
            p999,
            max: histogram.max().and_then(seconds),
        }
    }

    /// Converts a distribution of picoseconds, less its smallest value, to seconds.
    fn above_min<const SUB: usize>(histogram: &Histogram<SUB>) -> Self {
        Self::above(histogram, histogram.min().unwrap_or(0))
    }
}

/// Returns `part / whole`, if that is a finite number.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole).and_then(finite)
}

/// Returns `value`, if it is finite.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Returns the JSON Schema of `summary.json`.
#[cfg(feature = "schema")]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Summary).to_value()
}

#[cfg(test)]
mod tests;
