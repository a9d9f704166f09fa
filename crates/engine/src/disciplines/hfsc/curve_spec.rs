//! Service curves of one or two straight pieces, as written in a scenario.

use core::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::units::{Duration, Rate};

/// Service curve in a scenario: a rate, or `{ m1, d, m2 }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CurveSpec {
    /// Rate of the first piece.
    pub m1: Rate,
    /// Duration of the first piece.
    pub d: Duration,
    /// Rate after the first piece.
    pub m2: Rate,
}

/// The pieces of a curve.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Pieces {
    /// The rate of the first piece; `0bit` where it is not given.
    #[serde(default)]
    m1: Rate,
    /// How long the first piece lasts.
    #[serde(default)]
    d: Duration,
    /// The rate from then on.
    m2: Rate,
}

impl CurveSpec {
    /// Returns whether the curve is convex: its first rate is at most its second.
    #[inline]
    pub(super) fn is_convex(&self) -> bool {
        self.m1 <= self.m2
    }

    /// Returns the work at the end of the first piece.
    #[inline]
    pub(super) fn rise(&self) -> u128 {
        u128::from(self.m1.as_bits()) * u128::from(self.d.as_picos())
    }
}

impl Serialize for CurveSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.d.is_zero() {
            return self.m2.serialize(serializer);
        }
        Pieces { m1: self.m1, d: self.d, m2: self.m2 }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CurveSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RateOrPieces;
        impl<'de> Visitor<'de> for RateOrPieces {
            type Value = CurveSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as `10mbit`, or a curve such as `{ m1 = \"2mbit\", d = \"10ms\", m2 = \"1mbit\" }`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<CurveSpec, E> {
                let rate: Rate = text.parse().map_err(E::custom)?;
                Ok(CurveSpec { m1: rate, d: Duration::ZERO, m2: rate })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CurveSpec, A::Error> {
                let Pieces { m1, d, m2 } = Pieces::deserialize(MapAccessDeserializer::new(map))?;
                Ok(CurveSpec { m1: if d.is_zero() { m2 } else { m1 }, d, m2 })
            }
        }
        deserializer.deserialize_any(RateOrPieces)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for CurveSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ServiceCurve".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (rate, pieces) = (generator.subschema_for::<Rate>(), generator.subschema_for::<Pieces>());
        schemars::json_schema!({ "anyOf": [rate, pieces] })
    }
}

/// Returns whether these curves, started together, ever exceed a link of this rate. A sum of straight
/// pieces is highest above a straight line at one of its bends, or at the end.
pub(super) fn exceed(specs: &[CurveSpec], link: Rate) -> bool {
    let link = u128::from(link.as_bits());
    let work = |spec: &CurveSpec, time: Duration| {
        let rest = u128::from(time.saturating_sub(spec.d).as_picos());
        let rise = u128::from(time.min(spec.d).as_picos()) * u128::from(spec.m1.as_bits());
        rise.saturating_add(rest * u128::from(spec.m2.as_bits()))
    };
    let asks_too_much = |bend: Duration| {
        let asked = specs.iter().fold(0_u128, |sum, spec| sum.saturating_add(work(spec, bend)));
        asked > link * u128::from(bend.as_picos())
    };
    specs.iter().any(|spec| asks_too_much(spec.d))
        || specs.iter().map(|spec| u128::from(spec.m2.as_bits())).sum::<u128>() > link
}
