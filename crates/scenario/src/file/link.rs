//! Links, as written.

use core::fmt;

use lockgate_engine::overhead::Framing;
use lockgate_engine::units::{Bytes, Duration, Probability, Rate};
use lockgate_traffic::LawConfig;
#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer};

use crate::directions::Directions;
use crate::line_conditions::{ConditionsTable, LossBurstsTable, SlotsTable};
use crate::line_law::LineLaw;
use crate::values::LinkOverhead;

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
