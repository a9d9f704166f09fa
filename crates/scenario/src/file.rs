//! The file as it is written: one struct a table. Their doc comments are the reference pages and the
//! schema.
//!
//! ```text
//! title duration warmup      [record]
//! [node.NAME]  [link.NAME]  [port."A:B"]  [port."A:B".queue.NAME]  [flow.NAME]  [adversary]  [[change]]
//! [[expect]]  [[vary]]
//! ```
//!
//! No type here is a tagged, flattened or untagged enum: serde would lose the positions of errors.

mod link;
mod port;
mod raw;

use lockgate_engine::units::{Bytes, Duration, Instant, Limit, Packets, Rate};
use lockgate_measure::bufferbloat::Grade;
use lockgate_measure::recording::Detail;
use lockgate_measure::summary::Criterion;
use lockgate_traffic::LawConfig;
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

pub(crate) use self::link::{LinkTable, TraceFiles, TraceSource};
pub(crate) use self::port::{AutorateTable, MatchTable, PortTable, Probes, QueueTable, Ring};
pub(crate) use self::raw::{Raw, Texts};
use crate::application::{Codec, Ftp, Pages};
use crate::tcp::{Congestion, EcnKey, InitialSequence};
use crate::values::{Address, Amount, Carrier, Drift, Dscp, FlowLabel, Mark, SignedTime, Tos};

/// Sections of a file; the top-level keys are not among them.
pub(crate) const SECTIONS: [&str; 9] =
    ["record", "node", "link", "port", "flow", "adversary", "change", "expect", "vary"];

/// Keys at the top of the file.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Top {
    /// Subject of the scenario, in one line.
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// Length of the run, such as `60s`.
    pub(crate) duration: Duration,
    /// Time at the start that statistics leave out; less than the duration.
    #[serde(default)]
    pub(crate) warmup: Duration,
    /// Table of subscribers: a CSV file with the names of its columns in the first row, such as the
    /// `ShapedDevices.csv` of `LibreQoS`. `count = "subscribers"` makes a member of each row, and
    /// `$download_max` is the value of the column `Download Max Mbps`, with its unit.
    #[serde(default)]
    #[expect(dead_code, reason = "read before groups are expanded")]
    pub(crate) subscribers: Option<String>,
    /// Sites and access points that the subscribers are below: a JSON file such as the `network.json` of
    /// `LibreQoS`. `count = "sites"` makes a member of each that has subscribers, `$download` is its rate,
    /// and queues of subscribers are children of the queue of their `Parent Node`.
    #[serde(default)]
    #[expect(dead_code, reason = "read before groups are expanded")]
    pub(crate) sites: Option<String>,
}

/// Outputs of the run besides its statistics.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RecordTable {
    /// Writes one row per packet and port, as Parquet.
    pub(crate) packets: bool,
    /// Writes one capture (pcapng) with every port as an interface.
    pub(crate) capture: bool,
    /// Recording detail of group members: `all`, in full; `groups`, two distributions and few intervals each;
    /// `totals`, counters and mean delays. Default: `all` up to 2000 flows and queues, `groups` up to 200000.
    pub(crate) detail: Option<Detail>,
    /// Length of an interval of the time series; by default chosen from the duration.
    pub(crate) interval: Option<Duration>,
    /// Limits between the classes of file sizes that completion times are reported by: below the first,
    /// below the second, and so on; by default powers of ten.
    pub(crate) file_bins: Option<Vec<Bytes>>,
    /// Width of each class of file sizes, instead of `file_bins`.
    pub(crate) file_bin_width: Option<Bytes>,
    /// Rate that files are assumed to share when completion times are compared with processor sharing; by
    /// default the rate of the slowest link on their path. For bottlenecks that are queues, not links.
    pub(crate) sharing_rate: Option<Rate>,
}

/// A host, or a router if more than one link meets there.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NodeTable {
    /// Address; by default the next free one from 10.0.0.1 on. Of several with commas between them, and of a
    /// prefix, as tables of subscribers have them, the first.
    pub(crate) address: Option<Address>,
    /// Error of its clock, and the ticks of its timers.
    pub(crate) clock: Option<NodeClock>,
    /// Processor, if that limits how fast it forwards.
    pub(crate) service: Option<ServiceTable>,
    /// Shell command that runs on this host from the start to the end of a live run, such as
    /// `iperf3 -c server`. Node names resolve to addresses. Simulations ignore it.
    pub(crate) command: Option<String>,
}

/// Error of a node's clock, visible in its time stamps, and the ticks of its timers.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NodeClock {
    /// Time by which the clock is ahead at the start, such as `-3ms`.
    pub(crate) offset: Option<SignedTime>,
    /// Relative excess of the clock's speed, such as `20ppm`.
    pub(crate) drift: Option<Drift>,
    /// Time between the ticks of the host's timers, on which TCP's timeouts, probes and delayed
    /// acknowledgements end; `4ms` by default, as in kernels with 250 ticks a second; `0s`: exact timers.
    pub(crate) tick: Option<Duration>,
}

/// A router's processor, which serves packets one after another before they reach a port.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceTable {
    /// Time that each packet takes.
    pub(crate) per_packet: Duration,
    /// Rate at which the processor handles bytes; their time adds to `per_packet`.
    #[serde(default)]
    pub(crate) rate: Option<Rate>,
    /// Limit on the packets or bytes at the processor: those that wait and the one in service.
    #[serde(default = "service_limit")]
    pub(crate) limit: Limit,
}

fn service_limit() -> Limit {
    Limit::Packets(Packets(1000))
}

/// A flow of packets from one node to another. The keys of its traffic are written beside these.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowTable {
    /// The node that sends.
    pub(crate) from: String,
    /// The node that receives.
    pub(crate) to: String,
    /// Transport protocol: `udp` or `tcp`.
    #[serde(default)]
    pub(crate) transport: Option<Carrier>,
    /// Congestion control of a TCP flow; `cubic` by default.
    #[serde(default)]
    pub(crate) congestion: Option<Congestion>,
    /// TCP: the connection carries a file whose size is drawn from this law. With `count`, each member of
    /// the group carries one.
    #[serde(default)]
    pub(crate) file: Option<LawConfig<Bytes>>,
    /// TCP: a text file with one file a line: its size and, optionally, its start after `start`, such as
    /// `12kB` or `12kB 1.5s`. The members of the group carry them in order. `count` defaults to their
    /// number.
    #[serde(default)]
    pub(crate) files: Option<String>,
    /// TCP: each file is transferred by FTP, with a control connection; `{}` for a client that stores it.
    #[serde(default)]
    pub(crate) ftp: Option<Ftp>,
    /// If true, the receiver sends back what it receives, so that round-trip times and losses are measured.
    /// Each datagram that the flow offers is a request; over TCP, each write is.
    #[serde(default)]
    pub(crate) echo: bool,
    /// UDP: codec of a call, `g711` or `g729`; the E-model rates its quality. The profile `g711` sets it.
    #[serde(default)]
    pub(crate) voice: Option<Codec>,
    /// TCP: a user who reads page after page over one connection, from the node `to`.
    #[serde(default)]
    pub(crate) pages: Option<Pages>,
    /// TCP, with `file`: time between the starts of a group's connections; the first starts after one such
    /// time. By default all start together. With `files`: one constant time, which replaces the list's own
    /// starts; the first file starts at once.
    #[serde(default)]
    pub(crate) every: Option<LawConfig<Duration>>,
    /// TCP: payload of a full segment; `1448B` by default, which makes frames of 1514 bytes.
    #[serde(default)]
    pub(crate) mss: Option<Bytes>,
    /// TCP: segments that may be sent before the first acknowledgement; `10p` by default.
    #[serde(default)]
    pub(crate) initial_window: Option<Packets>,
    /// TCP: limit on the receive window; `3MiB` by default. The window starts at 65535 bytes and grows as
    /// receivers' buffers do.
    #[serde(default)]
    pub(crate) receive_window: Option<Bytes>,
    /// TCP: use of ECN by both ends: `off`; `classic`, one echo a round trip (RFC 3168); or `accecn`, every
    /// mark is echoed (RFC 9768). `dctcp` has `classic` by default, of which it changes the echo (RFC 8257),
    /// and `prague` has `accecn`; the others have `off`, and `classic` if this is `true`. `dctcp` with `off`,
    /// and `prague` with `off` or `classic`, fall back to `reno`.
    #[serde(default)]
    pub(crate) ecn: Option<EcnKey>,
    /// TCP: if true, the receiver sends selective acknowledgements; true by default.
    #[serde(default)]
    pub(crate) sack: Option<bool>,
    /// TCP: time that an acknowledgement waits for a second segment; `40ms` by default, `0s` for no delay.
    #[serde(default)]
    pub(crate) delayed_ack: Option<Duration>,
    /// TCP: acknowledgements at the start that are sent without delay; `16p` by default, as in Linux.
    #[serde(default)]
    pub(crate) quick_acks: Option<Packets>,
    /// TCP: minimum added to the round-trip time for the retransmission timeout; `200ms` by default, as in
    /// Linux.
    #[serde(default)]
    pub(crate) minimum_rto: Option<Duration>,
    /// Prague: on a shorter round trip its rate grows as on this one, from the 500th round trip on; `25ms` by
    /// default. `0s`: the rate grows by its own round trip, as in Linux until 2020.
    #[serde(default)]
    pub(crate) virtual_rtt: Option<Duration>,
    /// TCP: if true, segments are spaced out over the round trip; `bbr` and `prague` always do so.
    #[serde(default)]
    pub(crate) pacing: Option<bool>,
    /// TCP: choice of the initial sequence number: `random`, or `run2c` for routers that derive a flow's
    /// age from it.
    #[serde(default)]
    pub(crate) initial_sequence: Option<InitialSequence>,
    /// Envelope of what it may send, for proofs (`lockgate prove`); by default derived from its traffic, if
    /// that has such a limit.
    #[serde(default)]
    pub(crate) envelope: Option<Box<EnvelopeTable>>,
    /// Source port; by default one from 49152 on. The members of a group count up from it.
    #[serde(default)]
    pub(crate) source_port: Option<u16>,
    /// Destination port; 9 (discard) by default.
    #[serde(default)]
    pub(crate) destination_port: Option<u16>,
    /// Differentiated services code point.
    #[serde(default)]
    pub(crate) dscp: Option<Dscp>,
    /// The whole type-of-service byte, instead of `dscp`.
    #[serde(default)]
    pub(crate) tos: Option<Tos>,
    /// IPv6 flow label.
    #[serde(default)]
    pub(crate) flow_label: Option<FlowLabel>,
    /// Mark that a firewall gives its packets in both directions, for a queue's `match` on `mark`; 0, which
    /// is none, by default.
    #[serde(default)]
    pub(crate) mark: Option<Mark>,
    /// Start of the flow: a time, or a law that each member of a group and each seed draws from, such as
    /// `{ distribution = "uniform", min = "0s", max = "1s" }`.
    #[serde(default)]
    pub(crate) start: Option<LawConfig<Duration>>,
    /// Time at which the flow stops at the latest.
    #[serde(default)]
    pub(crate) stop: Option<Duration>,
    /// UDP: limit on the packets that the flow sends.
    #[serde(default)]
    pub(crate) packets: Option<Packets>,
    /// Limit on the bytes that the flow sends: frames of UDP, data of TCP. A TCP flow without `gap`, `rate`
    /// or `profile` sends them as fast as it can: a size makes it a file, `unlimited` a bulk transfer.
    #[serde(default)]
    pub(crate) bytes: Option<Amount>,
    /// Number of such flows: a group with members `NAME/1`, `NAME/2` and so on.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub(crate) count: Option<u32>,
}

/// Envelope of a flow: in any interval of length t it sends at most `burst + rate * t` bytes of frames.
/// Traffic that sends more is reported.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EnvelopeTable {
    /// Rate of the token bucket; below those of the links on the path.
    pub(crate) rate: Option<Rate>,
    /// Depth of the token bucket: bytes that may come at once, at least the longest packet.
    pub(crate) burst: Option<Bytes>,
    /// Further token buckets, such as `[{ rate = "1mbit", burst = "30kB" }]`; all hold.
    pub(crate) buckets: Vec<BucketTable>,
    /// Peak rate: another bucket, as deep as the longest packet.
    pub(crate) peakrate: Option<Rate>,
    /// Length of its shortest frame; by default as the traffic says, or else `1B`.
    pub(crate) shortest: Option<Bytes>,
    /// Length of its longest frame; by default as the traffic says, or else the smallest burst.
    pub(crate) longest: Option<Bytes>,
}

/// A further token bucket of an envelope.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct BucketTable {
    /// Rate of the token bucket.
    pub(crate) rate: Rate,
    /// Depth of the token bucket.
    pub(crate) burst: Bytes,
}

/// Adversary of `lockgate attack`: UDP flows of its own, called `adversary-1` and so on, which share one
/// token bucket. Runs send nothing of it; proofs hold for all that it may send.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AdversaryTable {
    /// The node that sends.
    pub(crate) from: String,
    /// The node that receives.
    pub(crate) to: String,
    /// Number of its flows, at most 1000.
    #[serde(default = "one_flow")]
    pub(crate) flows: u32,
    /// Sum of their rates.
    pub(crate) rate: Rate,
    /// Bytes of frames that may come at once of all its flows together.
    pub(crate) burst: Bytes,
    /// Length of its shortest frame; `64B` by default.
    #[serde(default = "shortest_frame")]
    pub(crate) shortest: Bytes,
    /// Length of its longest frame; `1514B` by default.
    #[serde(default = "longest_frame")]
    pub(crate) longest: Bytes,
}

fn one_flow() -> u32 {
    1
}

fn shortest_frame() -> Bytes {
    Bytes(64)
}

fn longest_frame() -> Bytes {
    Bytes(1514)
}

/// A change during the run.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeTable {
    /// Time of the change.
    pub(crate) at: Instant,
    /// New values by path, such as `{ "link.wan.rate" = "2mbit" }`. All of one entry change at once. An
    /// empty text (`""`) removes a value from the file, so that its default holds.
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, serde_json::Value>"))]
    #[expect(dead_code, reason = "read from the text itself, where the values have their places")]
    pub(crate) set: toml::Table,
}

/// An expectation on a result; all bounds given must hold.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectTable {
    /// Address of the metric, such as `flow.voice.owd.p99`, or the difference of two:
    /// `flow.loaded.rtt.p95 - flow.idle.rtt.p50`. `@ 10s..20s` behind an address takes that part of the run.
    pub(crate) that: String,
    /// Name of the expectation in reports, such as `the call stays clear`.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Statistic of several runs (`--repeat`) that must satisfy the bounds: `95%` (both ends of the mean's
    /// confidence interval, the default), `mean` or `all`.
    #[serde(default, rename = "in")]
    pub(crate) criterion: Criterion,
    /// Fraction of the flows or queues that must satisfy the bounds, such as `99%`, if the address stands
    /// for several (`flow.call/*.loss`); all by default.
    #[serde(default)]
    pub(crate) held_by: Option<Raw>,
    /// The metric is less than this.
    #[serde(default)]
    pub(crate) below: Option<Raw>,
    /// The metric is more than this.
    #[serde(default)]
    pub(crate) above: Option<Raw>,
    /// The metric is at most this.
    #[serde(default)]
    pub(crate) at_most: Option<Raw>,
    /// The metric is at least this.
    #[serde(default)]
    pub(crate) at_least: Option<Raw>,
    /// The metric is from the first value to the second, both included.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(min = 2, max = 2)))]
    pub(crate) between: Option<Vec<Raw>>,
    /// Instead of a bound: the worst grade that a line may have, by what a round trip takes longer under load
    /// than without (Waveform's scale of bufferbloat): `A+` below 5 ms, `A` below 30 ms, `B` below 60 ms, `C`
    /// below 200 ms, `D` below 400 ms. The metric is a time, such as a difference of two `rtt`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "grades"))]
    pub(crate) grade: Option<Grade>,
    /// If true, the delay must be proven to satisfy the bound for all traffic within the envelopes
    /// (`lockgate prove`), not only measured. The metric is a one-way delay of flows, such as
    /// `flow.call.owd.max`.
    #[serde(default)]
    pub(crate) proven: bool,
}

#[cfg(feature = "schema")]
/// Returns the schema of the grades that bound something: every line has the worst or a better one.
#[cfg(feature = "schema")]
fn grades(_: &mut SchemaGenerator) -> Schema {
    let bounded: Vec<_> =
        Grade::ALL.into_iter().filter(|grade| grade.limit().is_some()).map(Grade::name).collect();
    json_schema!({ "type": ["string", "null"], "enum": bounded })
}

/// A value that `lockgate compare` and `lockgate sweep` vary; a single run ignores it.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct VaryTable {
    /// Path of the value, as for `--set`, or a list of paths that all get the same value.
    pub(crate) path: Texts,
    /// List of values, or a text: `a..b step s`, `a..b log n`. A share of a rate is `95% of link` (that of
    /// the path's port), `95% of link.NAME`, or of another path.
    pub(crate) values: Texts,
    /// Name in tables and figures; by default the path.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Name of a group: all variations of the group advance together, value by value. By default every
    /// combination is run.
    #[serde(default)]
    pub(crate) together: Option<String>,
}
