//! The results of a run, as `summary.json` has them: base SI units, the unit in the name, never NaN.
//!
//! Statistics leave the warm-up out. What was not observed is `null`. The same scenario and seeds give the same bytes, on
//! any machine and any number of threads: how long a run took stands in `manifest.json`.

mod build;
mod expectation;
mod files;
mod requests;
mod value;

pub use build::summarise;
pub use expectation::{Bound, Criterion, Expectation, Expected};
pub use files::{BinSummary, FileSummary, FilesSummary, GroupSummary, group_of};
pub use requests::{EchoSummary, PagesSummary};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::intervals::Interval;
use crate::recording::Mode;

/// Version of the document's form; it grows when a reader must change.
pub const SCHEMA: u32 = 2;

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Version of this document's form.
    pub schema: u32,
    /// The scenario's title.
    pub title: String,
    /// Simulated or live.
    pub mode: Mode,
    /// What the random draws of the (first) run started from.
    pub seed: u64,
    /// How many runs, with seeds from that one on: the first, whose results these are, and its repetitions.
    pub runs: u64,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// How much of its start the statistics leave out, in seconds.
    pub warmup_s: f64,
    /// Each flow, by name, in the scenario's order.
    pub flows: IndexMap<String, FlowSummary>,
    /// Each group of flows, by name; absent where there is none.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub groups: IndexMap<String, GroupSummary>,
    /// Each port, by name.
    pub ports: IndexMap<String, PortSummary>,
    /// Jain's fairness index of the throughput of all flows, from 1/n to 1.
    pub jain_index: Option<f64>,
    /// Every value of this document that can be expected, by its address; `null` where nothing was observed. Left out in
    /// reports.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metrics: IndexMap<String, Option<f64>>,
    /// Means over all runs with their 95 % confidence intervals, by the metric's address; empty for a single run.
    pub intervals: IndexMap<String, Interval>,
    /// Each expectation and whether it holds.
    pub expect: Vec<Expectation>,
    /// How much the run had to do.
    pub engine: EngineSummary,
    /// How exact a live run was, by name (`timer_lateness_p99_s`); absent for a simulation.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub fidelity: IndexMap<String, f64>,
    /// Sentences about what may be wrong with the run.
    pub warnings: Vec<String>,
}

/// A flow's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSummary {
    /// Packets the source sent in the window.
    pub sent_packets: u64,
    /// Their frame bytes.
    pub sent_bytes: u64,
    /// Of those, packets that reached the receiver.
    pub received_packets: u64,
    /// Their frame bytes.
    pub received_bytes: u64,
    /// Of those sent, packets lost.
    pub lost_packets: u64,
    /// Lost packets by reason, where there are any.
    pub lost_by: IndexMap<String, u64>,
    /// Of those sent, packets in the network at the end: sent = received + lost + inside.
    pub inside_packets: u64,
    /// Frame bits received during the window (whenever sent) a second.
    pub throughput_bps: Option<f64>,
    /// Payload bits received during the window a second.
    pub goodput_bps: Option<f64>,
    /// Lost packets of those sent.
    pub loss_ratio: Option<f64>,
    /// Packets received after one that was sent later, of all received (RFC 4737).
    pub reordered_ratio: Option<f64>,
    /// One-way delay (RFC 7679), in seconds.
    pub owd_s: Distribution,
    /// Its part spent waiting in queues.
    pub queueing_s: Distribution,
    /// Its part spent being put on links and served by routers.
    pub serialisation_s: Distribution,
    /// Its part spent propagating, mean.
    pub propagation_s: Option<f64>,
    /// Magnitude of the delay variation of neighbouring packets (RFC 3393).
    pub ipdv_s: Distribution,
    /// Mean of the same with its sign.
    pub ipdv_signed_mean_s: Option<f64>,
    /// Delay above the smallest (RFC 5481).
    pub pdv_s: Distribution,
    /// Interarrival jitter after the last packet (RFC 3550 section 6.4.1).
    pub jitter_rfc3550_s: Option<f64>,
    /// Time between arrivals at the receiver.
    pub iat_s: Distribution,
    /// Flow completion time; `null` where it did not end.
    pub fct_s: Option<f64>,
    /// The file it carries; absent for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileSummary>,
    /// Its requests to be sent back; absent for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<EchoSummary>,
    /// Its requests for pages; absent for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesSummary>,
    /// How it sounds; absent for flows that are no calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<VoiceSummary>,
    /// Its TCP sender; absent for other flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSummary>,
}

/// How a call sounds, by the E-model (ITU-T G.107), played out at the fixed delay that is best for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VoiceSummary {
    /// Its codec.
    pub codec: String,
    /// The rating R, from 0 to 93.2; `null` where nothing arrived, as the rest.
    pub r_factor: Option<f64>,
    /// The mean opinion score of that rating, from 1 to 4.5.
    pub mos: Option<f64>,
    /// Delay from mouth to ear, the framing of the codec included, in seconds.
    pub delay_s: Option<f64>,
    /// Packets lost or too late to be played out, of all.
    pub loss_ratio: Option<f64>,
}

/// A TCP sender's results. Windows are of the samples taken in the window of the statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpSummary {
    /// Its congestion control.
    pub congestion: String,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Times the retransmission timer expired.
    pub timeouts: u64,
    /// Times fast recovery began.
    pub recoveries: u64,
    /// Reductions for congestion marks.
    pub mark_reductions: u64,
    /// Reductions that were taken back.
    pub undone: u64,
    /// Mean congestion window, in payload bytes.
    pub cwnd_mean_bytes: Option<f64>,
    /// Smallest congestion window.
    pub cwnd_min_bytes: Option<f64>,
    /// Largest congestion window.
    pub cwnd_max_bytes: Option<f64>,
    /// Mean of the smoothed round-trip time.
    pub rtt_mean_s: Option<f64>,
}

/// A port's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PortSummary {
    /// Its link's rate at the start of the run.
    pub rate_bps: f64,
    /// Bits sent of those its link could send in the window.
    pub utilisation: Option<f64>,
    /// Of its device ring's requests in the window, those that got a packet; `null` without a ring.
    pub requests_met_ratio: Option<f64>,
    /// Of the packets its ring got, those for which two or more of the root's queues had one; `null` without a ring.
    pub requests_contended_ratio: Option<f64>,
    /// Each queue, by name, parents before children.
    pub queues: IndexMap<String, QueueSummary>,
}

/// A queue's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueSummary {
    /// Its kind of discipline.
    pub kind: String,
    /// The queue above it; `null` for the root.
    pub parent: Option<String>,
    /// Packets offered to it in the window, dropped ones among them. What waited at the end of the warm-up and
    /// `enqueued_packets + moved_in_packets` are together
    /// `sent_packets + dropped_packets + moved_out_packets + backlog_packets`.
    pub enqueued_packets: u64,
    /// Their frame bytes.
    pub offered_bytes: u64,
    /// Packets that left by its front in the window.
    pub sent_packets: u64,
    /// Their frame bytes.
    pub sent_bytes: u64,
    /// Those a second, in bits.
    pub throughput_bps: Option<f64>,
    /// Packets dropped in the window, here or below.
    pub dropped_packets: u64,
    /// Dropped packets by reason, where there are any.
    pub drops_by: IndexMap<String, u64>,
    /// Packets marked in the window, here or below.
    pub marked_packets: u64,
    /// Packets that came from the tree before, where the port's tree was replaced in the window.
    #[serde(default)]
    pub moved_in_packets: u64,
    /// Packets that went on to the next tree, where the port's tree was replaced in the window.
    #[serde(default)]
    pub moved_out_packets: u64,
    /// Packets waiting at the end.
    pub backlog_packets: u64,
    /// The most that waited at once in the window.
    pub peak_backlog_packets: u64,
    /// From arrival at the port until transmission begins, in seconds.
    pub sojourn_s: Distribution,
    /// From arrival at the port until given to the device ring, mean, in seconds; `null` without a ring.
    pub scheduling_mean_s: Option<f64>,
}

/// A distribution in a few numbers; all `null` where nothing was observed. Quantiles by nearest rank, their
/// relative error at most 2^-10 (exact for up to 128 values); the rest is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// The smallest.
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
    /// The largest.
    pub max: Option<f64>,
}

/// How much a run had to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineSummary {
    /// Packets transmitted on links: one packet on one link is one packet-hop.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
}

/// Picoseconds in a second.
const PICOS: f64 = 1e12;

impl Distribution {
    /// The distribution of these picoseconds, in seconds.
    pub fn of_picos(histogram: &Histogram) -> Self {
        Self::above(histogram, 0)
    }

    /// The same of what lies above `floor`, which none is below.
    fn above(histogram: &Histogram, floor: u64) -> Self {
        let seconds = |value: u64| Some(value.saturating_sub(floor) as f64 / PICOS);
        let Some([p50, p90, p95, p99, p999]) = histogram.quantiles([0.5, 0.9, 0.95, 0.99, 0.999]) else {
            return Self::default();
        };
        let total = histogram.sum().saturating_sub(u128::from(histogram.count()) * u128::from(floor));
        Self {
            count: histogram.count(),
            min: histogram.min().and_then(seconds),
            mean: Some(total as f64 / histogram.count() as f64 / PICOS),
            std: histogram.std().map(|std| std / PICOS),
            p50: seconds(p50),
            p90: seconds(p90),
            p95: seconds(p95),
            p99: seconds(p99),
            p999: seconds(p999),
            max: histogram.max().and_then(seconds),
        }
    }

    /// The same distribution above its smallest value.
    fn above_min(histogram: &Histogram) -> Self {
        Self::above(histogram, histogram.min().unwrap_or(0))
    }
}

/// The JSON Schema of `summary.json`.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Summary).to_value()
}

#[cfg(test)]
mod tests;
