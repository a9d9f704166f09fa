//! The file as it is written: one struct a table, whose doc comments are the reference and the schema.
//!
//! ```text
//! title duration warmup      [record]
//! [node.NAME]  [link.NAME]  [port."A:B"]  [port."A:B".queue.NAME]  [flow.NAME]  [[change]]  [[expect]]
//! ```
//!
//! Nothing here is tagged, flattened or untagged: serde would lose the places of errors.

use core::fmt;

use lockgate_engine::clock::ClockConfig;
use lockgate_engine::ring::RingConfig;
use lockgate_engine::units::{Bytes, Duration, Instant, Limit, Packets, Probability, Rate};
use lockgate_traffic::LawConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer};

use crate::application::{Codec, Ftp, Pages};
use crate::expect::Criterion;
use crate::tcp::{Congestion, InitialSequence};
use crate::written::{
    Address, Amount, Carrier, Drift, Dscp, Endpoint, FlowLabel, Lengths, Name, OneOrMany, Ports, Protocol,
    SignedBytes, SignedTime, TcpFlag, Tos,
};

/// What stands at the top of the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Top {
    /// What the scenario is about, in a line.
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// How long the run is, such as `60s`.
    pub(crate) duration: Duration,
    /// What is left out of the statistics at the start; less than the duration.
    #[serde(default)]
    pub(crate) warmup: Duration,
}

/// What is kept of the run beside its statistics.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RecordTable {
    /// One row a packet and port, as Parquet.
    pub(crate) packets: bool,
    /// One capture (pcapng) with every port as an interface.
    pub(crate) capture: bool,
    /// How long an interval of the time series is; chosen by the duration where it is not given.
    pub(crate) interval: Option<Duration>,
    /// Classes of file sizes that completion times are told by: below the first, below the second, and so on;
    /// powers of ten where neither this nor `file_bin_width` is given.
    pub(crate) file_bins: Option<Vec<Bytes>>,
    /// Classes of file sizes that are each as wide as this, in place of `file_bins`.
    pub(crate) file_bin_width: Option<Bytes>,
    /// Rate that files are taken to share where their completion times are held against processor sharing; the
    /// rate of the slowest link on their way where it is not given. For bottlenecks that are queues, not links.
    pub(crate) sharing_rate: Option<Rate>,
}

/// A host, or a router where more than one link meets.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NodeTable {
    /// Its address; the next free one from 10.0.0.1 on where it is not given.
    pub(crate) address: Option<Address>,
    /// How wrong its clock is.
    pub(crate) clock: Option<NodeClock>,
    /// Its processor, where that bounds what it forwards.
    pub(crate) service: Option<ServiceTable>,
    /// A command that a shell runs on this host from the start to the end of a live run, such as
    /// `iperf3 -c server`. Nodes are known by their names. A simulation leaves it out.
    pub(crate) command: Option<String>,
}

/// How wrong a node's clock is: what its time stamps differ by.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NodeClock {
    /// How far it is ahead at the start, such as `-3ms`.
    pub(crate) offset: Option<SignedTime>,
    /// How much faster it runs, such as `20ppm`.
    pub(crate) drift: Option<Drift>,
}

/// A router's processor, which serves packets one after another before they reach a port.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceTable {
    /// Time each packet takes.
    pub(crate) per_packet: Duration,
    /// Time its bytes take besides, as a rate.
    #[serde(default)]
    pub(crate) rate: Option<Rate>,
    /// How much may wait for the processor.
    #[serde(default = "service_limit")]
    pub(crate) limit: Limit,
}

fn service_limit() -> Limit {
    Limit::Packets(Packets(1000))
}

/// A link between two nodes, the same in both directions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTable {
    /// The two nodes it joins, such as `["home", "server"]`.
    #[schemars(length(min = 2, max = 2))]
    pub(crate) between: Vec<String>,
    /// Its rate. It counts the frame without preamble and frame check sequence, as Linux does.
    #[serde(default)]
    pub(crate) rate: Option<Rate>,
    /// How long a bit is on its way.
    #[serde(default)]
    pub(crate) delay: Duration,
    /// Probability that a packet is lost on the way.
    #[serde(default)]
    pub(crate) loss: Probability,
    /// Bytes the link charges beside each frame, such as `24B` for preamble, gap and check sequence.
    #[serde(default)]
    pub(crate) overhead: Option<SignedBytes>,
    /// Least bytes the link charges for a frame, overhead included.
    #[serde(default)]
    pub(crate) mpu: Option<Bytes>,
    /// Recorded delivery opportunities in place of a rate: a file for both directions, or
    /// `{ up = "…", down = "…" }`, where up is from the first node of `between` to the second.
    #[serde(default)]
    pub(crate) trace: Option<TraceFiles>,
}

/// The traces of a link's two directions.
#[derive(Debug, Default)]
pub(crate) struct TraceFiles {
    pub(crate) up: Option<String>,
    pub(crate) down: Option<String>,
}

/// The table form of [`TraceFiles`].
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct TraceTable {
    /// From the first node of `between` to the second.
    up: Option<String>,
    /// From the second to the first.
    down: Option<String>,
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
                Ok(TraceFiles { up: Some(file.to_owned()), down: Some(file.to_owned()) })
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<TraceFiles, A::Error> {
                let table = TraceTable::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(TraceFiles { up: table.up, down: table.down })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for TraceFiles {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TraceFiles".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<TraceTable>();
        json_schema!({ "anyOf": [{ "type": "string" }, table] })
    }
}

/// The queue where a link leaves a node. Its tables `queue.NAME` are its queues.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PortTable {
    /// The queue that every packet enters first; needed where several are nobody's child.
    pub(crate) root: Option<String>,
    /// The first queues of the trees that stand ready to be the root.
    #[serde(default)]
    pub(crate) alternatives: Vec<String>,
    /// How coarse the scheduler's clock and timer are; exact where it is not given.
    pub(crate) clock: Option<ClockConfig>,
    /// Packets in the device queue below the scheduler, such as `16` or `{ slots = 16, completions = 4 }`.
    pub(crate) ring: Option<Ring>,
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

impl JsonSchema for Ring {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ring".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<RingConfig>();
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, table] })
    }
}

/// What every queue may say, whatever its kind. The discipline's own parameters, and what its parent
/// needs to know of it, stand beside.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueTable {
    /// Its discipline.
    pub(crate) kind: String,
    /// The queues below it, in their order. A packet goes to the first whose `match` holds.
    #[serde(default)]
    pub(crate) children: Vec<String>,
}

/// What a packet must be to be taken: all that is given must hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MatchTable {
    /// IP protocol: `udp`, `tcp`, `icmp` or a number.
    pub(crate) protocol: Option<Protocol>,
    /// Where it comes from: a node, an address or a prefix.
    pub(crate) source: Option<Endpoint>,
    /// Where it goes to: a node, an address or a prefix.
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
    /// Frame length or range of lengths.
    pub(crate) length: Option<Lengths>,
    /// A flow (or group of flows) of this file, or several.
    pub(crate) flow: Option<OneOrMany<Name>>,
}

/// A flow of packets from one node to another. What it sends stands beside.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowTable {
    /// The node that sends.
    pub(crate) from: String,
    /// The node that receives.
    pub(crate) to: String,
    /// How it is carried: `udp` or `tcp`.
    #[serde(default)]
    pub(crate) transport: Option<Carrier>,
    /// Congestion control of a TCP flow; `cubic` where it is not given.
    #[serde(default)]
    pub(crate) congestion: Option<Congestion>,
    /// TCP: each connection carries a file whose size is drawn from this law. With `count`, a group of them.
    #[serde(default)]
    pub(crate) file: Option<LawConfig<Bytes>>,
    /// TCP: a text file with one file a line, its size and, where given, how long after `start` it starts, such as
    /// `12kB` or `12kB 1.5s`: member after member of the group carries them. `count` is their number where it is not
    /// given.
    #[serde(default)]
    pub(crate) files: Option<String>,
    /// TCP: each file is transferred by FTP, with a control connection; `{}` for a client that stores it.
    #[serde(default)]
    pub(crate) ftp: Option<Ftp>,
    /// Whether the far end sends back what it gets, so that round-trip times and losses are measured. What the flow
    /// offers are the requests: each datagram one, or over TCP each write.
    #[serde(default)]
    pub(crate) echo: bool,
    /// UDP: the codec of a call, `g711` or `g729`: how it sounds is rated by the E-model. The profile `g711` has it.
    #[serde(default)]
    pub(crate) voice: Option<Codec>,
    /// TCP: a user who reads page after page over one connection, from the node `to`.
    #[serde(default)]
    pub(crate) pages: Option<Pages>,
    /// TCP, with `file`: time between the starts of a group's connections; the first starts after one. Together
    /// where it is not given. With `files`: one time, which replaces the list's own starts; the first file starts at
    /// once.
    #[serde(default)]
    pub(crate) every: Option<LawConfig<Duration>>,
    /// TCP: payload of a full segment; `1448B` where it is not given, which makes frames of 1514 bytes.
    #[serde(default)]
    pub(crate) mss: Option<Bytes>,
    /// TCP: segments that may be sent before the first acknowledgement; `10p` where it is not given.
    #[serde(default)]
    pub(crate) initial_window: Option<Packets>,
    /// TCP: how much may be under way to the receiver at most; `3MiB` where it is not given. It begins with
    /// 65535 bytes and grows as receivers' buffers do.
    #[serde(default)]
    pub(crate) receive_window: Option<Bytes>,
    /// TCP: whether both ends understand congestion marks; so they do under `dctcp` and `prague`.
    #[serde(default)]
    pub(crate) ecn: Option<bool>,
    /// TCP: whether the receiver tells what arrived beyond a gap; it does where this is not given.
    #[serde(default)]
    pub(crate) sack: Option<bool>,
    /// TCP: how long an acknowledgement waits for a second segment; `40ms` where it is not given, `0s` for none.
    #[serde(default)]
    pub(crate) delayed_ack: Option<Duration>,
    /// TCP: acknowledgements at the start that do not wait; `16p` where it is not given, as in Linux.
    #[serde(default)]
    pub(crate) quick_acks: Option<Packets>,
    /// TCP: the least that is added to the round-trip time for the retransmission timeout; `200ms` where it is
    /// not given, as in Linux.
    #[serde(default)]
    pub(crate) minimum_rto: Option<Duration>,
    /// TCP: whether segments are spaced out over the round trip; `bbr` and `prague` always do.
    #[serde(default)]
    pub(crate) pacing: Option<bool>,
    /// TCP: how the first sequence number is chosen: `random`, or `run2c` for routers that tell a flow's age by
    /// it.
    #[serde(default)]
    pub(crate) initial_sequence: Option<InitialSequence>,
    /// Source port; one from 49152 on where it is not given. The members of a group count up from it.
    #[serde(default)]
    pub(crate) source_port: Option<u16>,
    /// Destination port; 9 (discard) where it is not given.
    #[serde(default)]
    pub(crate) destination_port: Option<u16>,
    /// Differentiated services code point.
    #[serde(default)]
    pub(crate) dscp: Option<Dscp>,
    /// The whole type-of-service byte, in place of `dscp`.
    #[serde(default)]
    pub(crate) tos: Option<Tos>,
    /// IPv6 flow label.
    #[serde(default)]
    pub(crate) flow_label: Option<FlowLabel>,
    /// When it starts: a time, or a law that each member of a group and each seed draws from, such as
    /// `{ distribution = "uniform", min = "0s", max = "1s" }`.
    #[serde(default)]
    pub(crate) start: Option<LawConfig<Duration>>,
    /// When it stops at the latest.
    #[serde(default)]
    pub(crate) stop: Option<Duration>,
    /// How many packets it sends at most; for UDP.
    #[serde(default)]
    pub(crate) packets: Option<Packets>,
    /// How many bytes it sends at most: frames of UDP, data of TCP. A TCP flow without `gap`, `rate` or `profile`
    /// sends them as fast as it can: a size makes it a file, `unlimited` a bulk transfer.
    #[serde(default)]
    pub(crate) bytes: Option<Amount>,
    /// How many such flows there are: a group, its members called `NAME/1`, `NAME/2` and so on.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) count: Option<u32>,
}

/// Something that changes during the run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeTable {
    /// When.
    pub(crate) at: Instant,
    /// New values by path, such as `{ "link.wan.rate" = "2mbit" }`. All of one entry change at once. An empty text
    /// (`""`) takes a value out of the file, so that its default holds.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    #[expect(dead_code, reason = "read from the text itself, where the values have their places")]
    pub(crate) set: toml::Table,
}

/// What a result is held against; all bounds that are given must hold.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectTable {
    /// The metric's address, such as `flow.voice.owd.p99`.
    pub(crate) that: String,
    /// What it is called where it is told of, such as `the call stays clear`.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// What of several runs (`--repeat`) keeps to the bounds: `95%` (both ends of the mean's confidence interval, where
    /// it is not given), `mean` or `all`.
    #[serde(default, rename = "in")]
    pub(crate) criterion: Criterion,
    /// It is less than this.
    #[serde(default)]
    pub(crate) below: Option<Raw>,
    /// It is more than this.
    #[serde(default)]
    pub(crate) above: Option<Raw>,
    /// It is this or less.
    #[serde(default)]
    pub(crate) at_most: Option<Raw>,
    /// It is this or more.
    #[serde(default)]
    pub(crate) at_least: Option<Raw>,
    /// It is from the first to the second.
    #[serde(default)]
    #[schemars(length(min = 2, max = 2))]
    pub(crate) between: Option<Vec<Raw>>,
}

/// A value whose unit depends on the metric it bounds.
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

impl JsonSchema for Raw {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Value".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"], "description": "A value in the metric's unit, such as `20ms`." })
    }
}
