//! The file as it is written: one struct a table. Their doc comments are the reference pages and the
//! schema.
//!
//! ```text
//! title duration warmup      [record]
//! [node.NAME]  [link.NAME]  [port."A:B"]  [port."A:B".queue.NAME]  [flow.NAME]  [[change]]  [[expect]]
//! [[vary]]
//! ```
//!
//! No type here is a tagged, flattened or untagged enum: serde would lose the positions of errors.

use core::fmt;

use lockgate_autorate::Law;
use lockgate_engine::clock::ClockConfig;
use lockgate_engine::overhead::Framing;
use lockgate_engine::ring::RingConfig;
use lockgate_engine::units::{Bytes, Duration, Instant, Limit, Packets, Probability, Rate};
use lockgate_traffic::LawConfig;
#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer};

use crate::application::{Codec, Ftp, Pages};
use crate::directions::Directions;
use crate::line_conditions::{ConditionsTable, LossBurstsTable, SlotsTable};
use crate::line_law::LineLaw;
use crate::tcp::{Congestion, EcnKey, InitialSequence};
use crate::values::{
    Address, Amount, Carrier, Drift, Dscp, Endpoint, FlowLabel, Lengths, LinkOverhead, Mark, Name, OneOrMany,
    Ports, Protocol, SignedTime, TcpFlag, Tos,
};
use lockgate_measure::bufferbloat::Grade;
use lockgate_measure::recording::Detail;
use lockgate_measure::summary::Criterion;

/// Sections of a file; the top-level keys are not among them.
pub(crate) const SECTIONS: [&str; 8] = ["record", "node", "link", "port", "flow", "change", "expect", "vary"];

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

/// A link between two nodes.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTable {
    /// The two nodes it joins, such as `["home", "server"]`.
    #[cfg_attr(feature = "schema", schemars(length(min = 2, max = 2)))]
    pub(crate) between: Vec<String>,
    /// Rate, or `{ up = "…", down = "…" }`, where up is from the first node of `between` to the second. The
    /// link charges each frame without preamble and frame check sequence, as Linux does.
    #[serde(default)]
    pub(crate) rate: Option<Directions<Rate>>,
    /// Propagation delay, or `{ up = "…", down = "…" }`.
    #[serde(default)]
    pub(crate) delay: Directions<Duration>,
    /// Probability that a packet is lost on the link, or `{ up = …, down = … }`.
    #[serde(default)]
    pub(crate) loss: Directions<Probability>,
    /// Bytes that the link charges on top of each frame, such as `24B` for preamble, gap and check
    /// sequence. Or the name of a link as `tc` has it, such as `docsis` or `pppoe-llcsnap`, which says `mpu`
    /// and `framing` too.
    #[serde(default)]
    pub(crate) overhead: Option<LinkOverhead>,
    /// Minimum bytes that the link charges for a frame, overhead included.
    #[serde(default)]
    pub(crate) mpu: Option<Bytes>,
    /// Framing of the link: `noatm`, `atm` (53 bytes for every 48 begun) or `ptm` (one more for every 64).
    /// The link's rate is then that of the cells or codewords.
    #[serde(default)]
    pub(crate) framing: Option<Framing>,
    /// Recorded delivery opportunities instead of a rate: a file for both directions, or
    /// `{ up = "…", down = "…" }`, where up is from the first node of `between` to the second. In place of a
    /// file, the law of a [generated line](#line): `{ up = { law = "leo", rate = "20mbit" } }`. A table (CSV)
    /// has capacity, delay and loss: its first line names its columns, `time` and any of `rate`, `delay` and
    /// `loss`, and each value has its unit (`100ms,9mbit,48ms,0.5%`), or the name of its column ends in one
    /// (`time_s rate_mbps delay_ms loss_percent`). Its delay and loss come on top of those of the link.
    #[serde(default)]
    pub(crate) trace: Option<TraceFiles>,
    /// [Losses in bursts](#loss_bursts), besides `loss`.
    #[serde(default)]
    pub(crate) loss_bursts: Option<LossBurstsTable>,
    /// Delay of each packet besides `delay`: a time or a law, such as `{ distribution = "uniform", min =
    /// "0s", max = "8ms" }`. It counts as a part of the transmission, not as waiting in a queue.
    #[serde(default)]
    pub(crate) jitter: Option<LawConfig<Duration>>,
    /// If false, packets may overtake each other, as their jitter has it; true by default.
    #[serde(default)]
    pub(crate) keep_order: Option<bool>,
    /// Probability that a packet arrives twice; the copy takes nothing of the rate.
    #[serde(default)]
    pub(crate) duplicate: Option<Probability>,
    /// Probability that a packet overtakes those on their way: it skips the delay.
    #[serde(default)]
    pub(crate) reorder: Option<Probability>,
    /// [Slots](#slots) in which packets may start.
    #[serde(default)]
    pub(crate) slots: Option<SlotsTable>,
    /// [Keys of the direction](#direction) from the first node of `between` to the second, in place of those
    /// beside it.
    #[serde(default)]
    pub(crate) up: Option<ConditionsTable>,
    /// [Keys of the direction](#direction) from the second node to the first.
    #[serde(default)]
    pub(crate) down: Option<ConditionsTable>,
}

impl LinkTable {
    /// Returns the conditions of both directions.
    pub(crate) fn conditions(&self) -> ConditionsTable {
        ConditionsTable {
            loss_bursts: self.loss_bursts.clone(),
            jitter: self.jitter.clone(),
            keep_order: self.keep_order,
            duplicate: self.duplicate,
            reorder: self.reorder,
            slots: self.slots.clone(),
        }
    }
}

/// The traces of a link's two directions.
#[derive(Debug, Default)]
pub(crate) struct TraceFiles {
    pub(crate) up: Option<TraceSource>,
    pub(crate) down: Option<TraceSource>,
}

/// Source of a trace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TraceSource {
    File(String),
    Law(LineLaw),
}

impl<'de> Deserialize<'de> for TraceSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> de::Visitor<'de> for Either {
            type Value = TraceSource;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a file's name or `{ law = \"…\", rate = \"…\" }`")
            }
            fn visit_str<E: de::Error>(self, file: &str) -> Result<TraceSource, E> {
                Ok(TraceSource::File(file.to_owned()))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<TraceSource, A::Error> {
                LineLaw::deserialize(de::value::MapAccessDeserializer::new(map)).map(TraceSource::Law)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for TraceSource {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TraceSource".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let law = generator.subschema_for::<LineLaw>();
        json_schema!({ "anyOf": [{ "type": "string" }, law] })
    }
}

/// The table form of [`TraceFiles`].
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
struct TraceTable {
    /// Trace from the first node of `between` to the second.
    up: Option<TraceSource>,
    /// Trace from the second node to the first.
    down: Option<TraceSource>,
}

impl<'de> Deserialize<'de> for TraceFiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> de::Visitor<'de> for Either {
            type Value = TraceFiles;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a file's name or `{ up = \"…\", down = \"…\" }`")
            }
            fn visit_str<E: de::Error>(self, file: &str) -> Result<TraceFiles, E> {
                let file = TraceSource::File(file.to_owned());
                Ok(TraceFiles { up: Some(file.clone()), down: Some(file) })
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<TraceFiles, A::Error> {
                let table = TraceTable::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(TraceFiles { up: table.up, down: table.down })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for TraceFiles {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TraceFiles".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<TraceTable>();
        json_schema!({ "anyOf": [{ "type": "string" }, table] })
    }
}

/// The queue where a link leaves a node. Its tables `queue.NAME` define its queues.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PortTable {
    /// The queue that every packet enters first; required if several queues have no parent.
    pub(crate) root: Option<String>,
    /// Roots of alternative trees: kept ready for a change that makes them the root.
    #[serde(default)]
    pub(crate) alternatives: Vec<String>,
    /// Granularity of the scheduler's clock and timer; exact by default.
    pub(crate) clock: Option<ClockConfig>,
    /// Packets in the device queue below the scheduler, such as `16` or `{ slots = 16, completions = 4 }`.
    pub(crate) ring: Option<Ring>,
    /// Policy of a router whose port this is, such as `house.toml:wan`: its rate, its framing and its queues,
    /// letter for letter. Keys beside it replace those of the policy.
    pub(crate) policy: Option<String>,
    /// Rate at which the port sends, such as `9.5mbit`: a little less than the line behind carries, so that
    /// the queue is here. After a pause, what it could have sent in the last millisecond passes at once. By
    /// default as fast as the link takes frames. `cake` below takes its scale from it.
    pub(crate) rate: Option<Rate>,
    /// Bytes that the line behind adds to each packet without its 14 bytes of Ethernet, such as `18B`, as for
    /// `cake`. Or the name of a link as `tc` has it, such as `docsis` or `pppoe-llcsnap`, which says `mpu`
    /// and `framing` too.
    pub(crate) overhead: Option<LinkOverhead>,
    /// Minimum length of a packet on the line behind, overhead included.
    pub(crate) mpu: Option<Bytes>,
    /// Framing of the line behind: `noatm`, `atm` (53 bytes for every 48 begun) or `ptm` (one more for every
    /// 64).
    pub(crate) framing: Option<Framing>,
}

/// The controller of a port's rate, for a line whose rate moves: it steps the rate by what comes back over
/// the line. The parameters of each law are in a table of the law's name, such as `brake = { target = "20ms"
/// }`; those of laws that are not chosen have no effect.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AutorateTable {
    /// Law that steps the rate; `brake` by default.
    #[serde(default = "default_law")]
    pub(crate) law: Law,
    /// Least rate.
    pub(crate) min: Rate,
    /// Largest rate.
    pub(crate) max: Rate,
    /// Rate before the first step; by default the `rate` of the port, or else `max`.
    #[serde(default)]
    pub(crate) start: Option<Rate>,
    /// If true, the acknowledgements of TCP that pass the port's node tell the delivered rate and the round
    /// trip; true by default.
    #[serde(default = "default_true")]
    pub(crate) acknowledgements: bool,
    /// Probes whose round trips tell the delay, such as `{ to = ["a", "b"], every = "1s" }`; none by default.
    #[serde(default)]
    pub(crate) probes: Option<Probes>,
    /// If true, the rate stays, and the steps are only recorded.
    #[serde(default)]
    pub(crate) observe_only: bool,
    /// Link whose capacity `oracle` knows; by default the slowest one behind the port.
    #[serde(default)]
    pub(crate) line: Option<String>,
}

fn default_law() -> Law {
    Law::Brake
}

fn default_true() -> bool {
    true
}

/// Probes of a line: echo requests to nodes beyond it.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Probes {
    /// Nodes that answer, at most 8.
    pub(crate) to: Vec<String>,
    /// Time between two probes of one of them.
    pub(crate) every: Duration,
}

/// A device ring: a number of slots, or a table.
#[derive(Debug)]
pub(crate) struct Ring(pub(crate) RingConfig);

impl<'de> Deserialize<'de> for Ring {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> de::Visitor<'de> for Either {
            type Value = Ring;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of packets or `{ slots = 16, completions = 4 }`")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Ring, E> {
                let slots = u32::try_from(number).map_err(|_| {
                    E::custom(format_args!("`{number}` is not a number of slots: it is from 1 to 4294967295"))
                })?;
                Ok(Ring(RingConfig { slots, completions: 1 }))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Ring, A::Error> {
                RingConfig::deserialize(de::value::MapAccessDeserializer::new(map)).map(Ring)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Ring {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ring".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<RingConfig>();
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, table] })
    }
}

/// Keys of every queue, whatever its kind. The discipline's own parameters and those that its parent needs
/// are written beside them.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueTable {
    /// Its discipline.
    pub(crate) kind: String,
    /// The queues below it, in order. A packet goes to the first whose `match` holds.
    #[serde(default)]
    pub(crate) children: Vec<String>,
}

/// Conditions on a packet: all that are given must hold.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MatchTable {
    /// IP protocol: `udp`, `tcp`, `icmp` or a number.
    pub(crate) protocol: Option<Protocol>,
    /// Source of the packet: a node, an address or a prefix.
    pub(crate) source: Option<Endpoint>,
    /// Destination of the packet: a node, an address or a prefix.
    pub(crate) destination: Option<Endpoint>,
    /// Source port or range of ports.
    pub(crate) source_port: Option<Ports>,
    /// Destination port or range of ports.
    pub(crate) destination_port: Option<Ports>,
    /// Differentiated services code point, or several.
    pub(crate) dscp: Option<OneOrMany<Dscp>>,
    /// The type-of-service byte; its two ECN bits must be zero and are not compared.
    pub(crate) tos: Option<Tos>,
    /// IPv6 flow label.
    pub(crate) flow_label: Option<FlowLabel>,
    /// TCP flags that must be set.
    pub(crate) tcp_flags: Option<OneOrMany<TcpFlag>>,
    /// TCP flags that must not be set.
    pub(crate) tcp_flags_clear: Option<OneOrMany<TcpFlag>>,
    /// Frame length or range of lengths.
    pub(crate) length: Option<Lengths>,
    /// A flow (or group of flows) of this file, or several.
    pub(crate) flow: Option<OneOrMany<Name>>,
    /// Mark of the packets, as firewalls set it: a number, or a number and its mask such as `0x10/0xff`.
    /// It holds for both directions of the flows of this file that have such a `mark`.
    pub(crate) mark: Option<Mark>,
    /// Rules with lower numbers are tried first, whatever their queue; 0 by default. Rules of the same
    /// number are tried in the order of the queues. Alone, it takes every packet that is left.
    pub(crate) preference: Option<u32>,
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

/// A string, or a list of strings, numbers and Booleans.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Texts {
    pub(crate) texts: Vec<String>,
    pub(crate) is_list: bool,
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> de::Visitor<'de> for Either {
            type Value = Texts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of values")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts { texts: vec![text.to_owned()], is_list: false })
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Texts, A::Error> {
                let mut texts = Vec::new();
                while let Some(value) = list.next_element::<toml::Value>()? {
                    texts.push(match value {
                        toml::Value::String(text) => text,
                        other => other.to_string(),
                    });
                }
                Ok(Texts { texts, is_list: true })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Texts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Texts".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string" },
            { "type": "array", "minItems": 1, "items": { "type": ["string", "number", "boolean", "array", "object"] } },
        ] })
    }
}

/// A value whose unit depends on the metric that it bounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    Text(String),
    Number(f64),
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl de::Visitor<'_> for Either {
            type Value = Raw;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value with its unit, such as `20ms`, or a number")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Raw, E> {
                Ok(Raw::Text(text.to_owned()))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Raw, E> {
                Ok(Raw::Number(number as f64))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Raw, E> {
                Ok(Raw::Number(number))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Raw {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Value".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"], "description": "A value in the metric's unit, such as `20ms`." })
    }
}
