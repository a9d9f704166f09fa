//! Ports, their queues and the rules of these, as written.

use core::fmt;

use lockgate_autorate::Law;
use lockgate_engine::clock::ClockConfig;
use lockgate_engine::overhead::Framing;
use lockgate_engine::ring::RingConfig;
use lockgate_engine::units::{Bytes, Duration, Rate};
#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer};

use crate::values::{
    Dscp, Endpoint, FlowLabel, Lengths, LinkOverhead, Mark, Name, OneOrMany, Ports, Protocol, TcpFlag, Tos,
};

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
    /// Nodes that answer, at most 8; addresses in a policy.
    pub(crate) to: Vec<String>,
    /// Time between two probes of one of them; at least `500ms` in a policy.
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
