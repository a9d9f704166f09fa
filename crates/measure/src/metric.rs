//! Definition of every metric: name, meaning, source, unit, and address.
//!
//! ```text
//! flow.voice.owd.p99      port.home:server.queue.voice.sojourn.p95      port.home:server.utilisation
//! flow."a.b".throughput   jain_index
//! group.backup.fct.mean   group.backup.bin.1.slowdown.p99
//! group.call.owd.p99.worst      flow.call/*.loss      flow.loaded.rtt.p95 - flow.idle.rtt.p50
//! ```
//!
//! Documentation, the report's definitions, expectations and intervals derive from [`METRICS`].

mod address;
mod members;
mod quantity;
mod statistic;

pub use address::{Address, MetricError, Names, Subject, check_path};
pub use members::{MemberStatistic, is_pattern, matches, more_is_better};
pub use quantity::Quantity;
pub use statistic::Statistic;

use schemars::JsonSchema;
use serde::Serialize;

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Unit {
    /// Time, in seconds.
    #[serde(rename = "s")]
    Seconds,
    /// A rate, in bits per second.
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    /// A size, in bytes.
    #[serde(rename = "B")]
    Bytes,
    /// A number of packets.
    #[serde(rename = "packets")]
    Packets,
    /// A fraction of one.
    #[serde(rename = "ratio")]
    Ratio,
    /// A number without a unit.
    #[serde(rename = "")]
    Number,
}

impl Unit {
    /// Returns the symbol for axes and tables.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::BitsPerSecond => "bit/s",
            Self::Bytes => "B",
            Self::Packets => "packets",
            Self::Ratio => "ratio",
            Self::Number => "",
        }
    }
}

/// The kind of object that a metric describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "typescript", ts(rename = "About"))]
#[schemars(rename = "About")]
#[serde(rename_all = "lowercase")]
pub enum SubjectKind {
    /// The whole run.
    Run,
    /// A flow.
    Flow,
    /// A group of flows (`count`), or a size class of its files.
    Group,
    /// A port and its link.
    Port,
    /// A queue of a port.
    Queue,
}

/// A metric: one name, one definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Metric {
    /// Name in addresses.
    pub name: &'static str,
    /// Kind of object that it describes.
    pub about: SubjectKind,
    /// Definition.
    pub definition: &'static str,
    /// Source of the definition; empty if it needs none.
    pub source: &'static str,
    /// Unit.
    pub unit: Unit,
    /// True if it is a distribution, addressed by one of its statistics ([`Statistic`]).
    pub distribution: bool,
}

/// Direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Smaller values: delays, losses.
    Lower,
    /// Larger values: throughput, quality.
    Higher,
}

impl Metric {
    /// Returns the direction in which the metric improves; `None` if neither is better.
    pub fn better(&self) -> Option<Better> {
        match self.name {
            "owd"
            | "queueing"
            | "serialisation"
            | "ipdv"
            | "pdv"
            | "jitter_rfc3550"
            | "iat"
            | "loss"
            | "reordered"
            | "fct"
            | "slowdown"
            | "rtt"
            | "rtt_loss"
            | "answer_gap"
            | "page_load"
            | "retransmissions"
            | "timeouts"
            | "rtt_mean"
            | "lost_packets"
            | "sojourn"
            | "scheduling_mean"
            | "dropped_packets"
            | "backlog_packets"
            | "peak_backlog_packets" => Some(Better::Lower),
            "throughput" | "goodput" | "jain_index" | "completed" | "r_factor" | "mos"
            | "received_packets" | "received_bytes" | "utilisation" => Some(Better::Higher),
            _ => None,
        }
    }
}

const fn value(
    name: &'static str,
    about: SubjectKind,
    unit: Unit,
    source: &'static str,
    definition: &'static str,
) -> Metric {
    Metric { name, about, definition, source, unit, distribution: false }
}

const fn delay(
    name: &'static str,
    about: SubjectKind,
    source: &'static str,
    definition: &'static str,
) -> Metric {
    Metric { name, about, definition, source, unit: Unit::Seconds, distribution: true }
}

use SubjectKind::{Flow, Group, Port, Queue, Run};
use Unit::{BitsPerSecond, Bytes, Number, Packets, Ratio, Seconds};

/// Source of the reference completion times.
const PROCESSOR_SHARING: &str = "Kleinrock 1967";
const PS_FCT: &str = "flow completion time under processor sharing: if at every moment the files at the slowest link on its \
     way (of equally slow ones, that of the most files) shared the rate that link has at the start (or \
     `record.sharing_rate`) equally, as a fluid, headers of full segments counted, bulk transfers taking their share, \
     nothing else on the link, without round trips";
const SLOWDOWN: &str = "flow completion time over the one under processor sharing";

/// Every metric.
pub const METRICS: &[Metric] = &[
    value(
        "jain_index",
        Run,
        Number,
        "Jain, Chiu and Hawe 1984",
        "how evenly all flows share throughput: (sum x)^2 / (n sum x^2), from 1/n to 1; of flows that want the same, so \
         of a group, it says more",
    ),
    delay(
        "owd",
        Flow,
        "RFC 7679",
        "one-way delay: from when the source sends a packet to when its last bit arrives; lost packets are not in it",
    ),
    delay("queueing", Flow, "RFC 7679", "the part of the one-way delay spent waiting in queues"),
    delay(
        "serialisation",
        Flow,
        "RFC 7679",
        "the part of the one-way delay spent being put on links and served by routers",
    ),
    value("propagation", Flow, Seconds, "RFC 7679", "the part of the one-way delay spent propagating, mean"),
    delay(
        "ipdv",
        Flow,
        "RFC 3393",
        "delay variation, magnitude: difference of the one-way delays of two packets sent one after the other and \
         received one after the other; a pair broken by loss or reordering is undefined and left out",
    ),
    value("ipdv_signed_mean", Flow, Seconds, "RFC 3393", "mean delay variation with its sign"),
    delay("pdv", Flow, "RFC 5481", "delay above the smallest one-way delay of the flow"),
    value(
        "jitter_rfc3550",
        Flow,
        Seconds,
        "RFC 3550 section 6.4.1",
        "interarrival jitter after the last packet received: the difference of transit times, smoothed by 1/16",
    ),
    delay("iat", Flow, "", "inter-arrival time: between the last bits of two packets at the receiver"),
    value(
        "throughput",
        Flow,
        BitsPerSecond,
        "",
        "frame bits received during the window, whenever they were sent, a second",
    ),
    value(
        "goodput",
        Flow,
        BitsPerSecond,
        "RFC 2647 section 3.17",
        "payload bits that arrived during the window a second: without headers, each byte when it arrives first, in \
         order or not; so never more than the throughput",
    ),
    value("loss", Flow, Ratio, "RFC 7680", "packets lost of those sent in the window"),
    value(
        "reordered",
        Flow,
        Ratio,
        "RFC 4737 section 4.1",
        "packets received after one that was sent later, of all received",
    ),
    value("fct", Flow, Seconds, "", "flow completion time: from its start until all it had was delivered"),
    value("file_bytes", Flow, Bytes, "", "size of the file it carries, without headers"),
    value("ps_fct", Flow, Seconds, PROCESSOR_SHARING, PS_FCT),
    value("slowdown", Flow, Number, PROCESSOR_SHARING, SLOWDOWN),
    value(
        "jain_index",
        Group,
        Number,
        "Jain, Chiu and Hawe 1984",
        "how evenly the flows of the group share throughput: (sum x)^2 / (n sum x^2), from 1/n to 1",
    ),
    value(
        "files",
        Group,
        Number,
        "",
        "files of the group, or of the class of sizes, that start in the window",
    ),
    value("completed", Group, Number, "", "those of them that were delivered whole"),
    value("mean_bytes", Group, Bytes, "", "their mean size, without headers"),
    delay(
        "fct",
        Group,
        "",
        "their flow completion times: from the start of each until all of it was delivered",
    ),
    delay("ps_fct", Group, PROCESSOR_SHARING, PS_FCT),
    Metric {
        name: "slowdown",
        about: Group,
        definition: SLOWDOWN,
        source: PROCESSOR_SHARING,
        unit: Number,
        distribution: true,
    },
    delay(
        "rtt",
        Flow,
        "RFC 2681",
        "round-trip time of an echo: from when a request is sent until its answer is there; what is not answered is not \
         in it",
    ),
    value(
        "rtt_loss",
        Flow,
        Ratio,
        "RFC 6673",
        "requests of an echo that were lost, or whose answers were, of those sent in the window",
    ),
    delay("answer_gap", Flow, "", "time between two answers of an echo"),
    delay(
        "page_load",
        Flow,
        "",
        "from the first request of a page until its last object is there, requests sent in the window",
    ),
    value(
        "r_factor",
        Flow,
        Number,
        "ITU-T G.107",
        "rating of a call by the E-model, from 0 to 93.2: from the delay between mouth and ear and from what is lost or late, \
         at the fixed playout delay that is best",
    ),
    value("mos", Flow, Number, "ITU-T G.107 annex B", "mean opinion score of that rating, from 1 to 4.5"),
    value("retransmissions", Flow, Packets, "RFC 5681", "segments the TCP sender sent again in the window"),
    value(
        "timeouts",
        Flow,
        Number,
        "RFC 6298",
        "times the TCP sender's retransmission timer expired in the window",
    ),
    value(
        "cwnd_mean",
        Flow,
        Bytes,
        "RFC 5681",
        "mean congestion window of the samples in the window, payload",
    ),
    value(
        "cwnd_min",
        Flow,
        Bytes,
        "RFC 5681",
        "smallest congestion window of the samples in the window, payload",
    ),
    value(
        "cwnd_max",
        Flow,
        Bytes,
        "RFC 5681",
        "largest congestion window of the samples in the window, payload",
    ),
    value("rtt_mean", Flow, Seconds, "RFC 6298", "mean of the TCP sender's smoothed round-trip time"),
    value("sent_packets", Flow, Packets, "", "packets the source sent in the window"),
    value("sent_bytes", Flow, Bytes, "", "frame bytes the source sent in the window"),
    value("received_packets", Flow, Packets, "", "packets received of those sent in the window"),
    value("received_bytes", Flow, Bytes, "", "frame bytes received of those sent in the window"),
    value("lost_packets", Flow, Packets, "RFC 7680", "packets lost of those sent in the window"),
    value(
        "inside_packets",
        Flow,
        Packets,
        "",
        "packets sent in the window that were in the network at the end",
    ),
    value(
        "utilisation",
        Port,
        Ratio,
        "RFC 5136 section 2.3",
        "bits sent, the link's overhead included, of those it could send in the window",
    ),
    value("rate", Port, BitsPerSecond, "", "rate of the link at the start of the run"),
    value(
        "requests_met",
        Port,
        Ratio,
        "",
        "of the device ring's requests for a packet in the window, those that the scheduler answered with one",
    ),
    value(
        "requests_contended",
        Port,
        Ratio,
        "",
        "of the packets the device ring got from the scheduler in the window, those for which two or more of the \
         root's queues had one waiting: how often there was anything to decide",
    ),
    delay(
        "sojourn",
        Queue,
        "RFC 8289",
        "from a packet's arrival at the port until its transmission begins, by the queue it was in; a packet that a \
         replaced tree handed over is not in it, because it waited in another queue before",
    ),
    value(
        "scheduling_mean",
        Queue,
        Seconds,
        "",
        "mean time from a packet's arrival at the port until the scheduler gave it to the device ring, where there is \
         one",
    ),
    value(
        "enqueued_packets",
        Queue,
        Packets,
        "",
        "packets offered to the queue in the window, dropped ones among them",
    ),
    value("offered_bytes", Queue, Bytes, "", "frame bytes offered to the queue in the window"),
    value("sent_packets", Queue, Packets, "", "packets that left the queue by its front in the window"),
    value("sent_bytes", Queue, Bytes, "", "frame bytes that left the queue by its front in the window"),
    value(
        "throughput",
        Queue,
        BitsPerSecond,
        "",
        "frame bits that left the queue by its front in the window a second of the time that the queue was in the \
         port's tree",
    ),
    value("dropped_packets", Queue, Packets, "", "packets dropped in the window, here or below"),
    value(
        "marked_packets",
        Queue,
        Packets,
        "RFC 3168",
        "packets marked with congestion experienced in the window, here or below",
    ),
    value("backlog_packets", Queue, Packets, "", "packets waiting at the end of the run"),
    value("peak_backlog_packets", Queue, Packets, "", "the most packets that waited at once in the window"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_thing_of_one_subject() {
        for (index, metric) in METRICS.iter().enumerate() {
            let twin = METRICS[..index]
                .iter()
                .find(|other| (other.name, other.about) == (metric.name, metric.about));
            assert_eq!(twin, None, "{}", metric.name);
            assert!(!metric.definition.ends_with('.') && !metric.definition.is_empty(), "{}", metric.name);
        }
    }
}
