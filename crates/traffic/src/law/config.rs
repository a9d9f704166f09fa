//! A law as written: a bare quantity, or a table that names a distribution.

use core::fmt;
use core::marker::PhantomData;
#[cfg(feature = "schema")]
use std::borrow::Cow;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[cfg(feature = "schema")]
use crate::laws::{self, Form};
use crate::laws::{Field, Kind};
use crate::quantity::Quantity;

/// A law as written: `"20ms"`, or `{ distribution = "exponential", mean = "20ms" }`.
///
/// The fields of each distribution are its [`parameters`](crate::laws::Distribution::PARAMETERS);
/// [`Law::new`](crate::Law::new) checks them, not this type.
#[derive(Clone, Debug, PartialEq)]
pub struct LawConfig<Q> {
    /// Distribution.
    pub distribution: Kind,
    /// Value of a constant law.
    pub value: Option<Q>,
    /// Mean of the law, before any clamping by `min` and `max`.
    pub mean: Option<Q>,
    /// Standard deviation of the law, before any clamping.
    pub std: Option<Q>,
    /// Lower limit: a parameter of some distributions; for others, lower draws become this value.
    pub min: Option<Q>,
    /// Upper limit: a parameter of some distributions; for others, higher draws become this value.
    pub max: Option<Q>,
    /// Scale of the distribution.
    pub scale: Option<Q>,
    /// Shape of the distribution, a bare number.
    pub shape: Option<f64>,
    /// Values of an empirical distribution.
    pub values: Option<Vec<Q>>,
    /// Relative frequencies of `values`, in any unit.
    pub weights: Option<Vec<f64>>,
    /// Name of a file with an empirical distribution.
    pub file: Option<String>,
}

impl<Q> LawConfig<Q> {
    /// Creates a law of this distribution without parameters.
    pub fn of(distribution: Kind) -> Self {
        Self {
            distribution,
            value: None,
            mean: None,
            std: None,
            min: None,
            max: None,
            scale: None,
            shape: None,
            values: None,
            weights: None,
            file: None,
        }
    }

    /// Creates a constant law.
    pub fn constant(value: Q) -> Self
    where
        Q: Copy,
    {
        Self { value: Some(value), ..Self::of(Kind::Constant) }
    }

    /// Creates an exponential law with this mean.
    pub fn exponential(mean: Q) -> Self
    where
        Q: Copy,
    {
        Self { mean: Some(mean), ..Self::of(Kind::Exponential) }
    }

    /// Returns true if `field` is given.
    pub(crate) fn has(&self, field: Field) -> bool {
        match field {
            Field::Value => self.value.is_some(),
            Field::Mean => self.mean.is_some(),
            Field::Std => self.std.is_some(),
            Field::Min => self.min.is_some(),
            Field::Max => self.max.is_some(),
            Field::Scale => self.scale.is_some(),
            Field::Shape => self.shape.is_some(),
            Field::Values => self.values.is_some(),
            Field::Weights => self.weights.is_some(),
            Field::File => self.file.is_some(),
        }
    }

    /// Returns true if it is written as a bare quantity.
    pub(crate) fn is_bare(&self) -> bool {
        self.distribution == Kind::Constant
            && Field::ALL.iter().all(|field| self.has(*field) == (*field == Field::Value))
    }
}

/// The table form, with the same fields as [`LawConfig`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "Q: Quantity"))]
struct Table<Q> {
    distribution: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Q>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mean: Option<Q>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    std: Option<Q>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min: Option<Q>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max: Option<Q>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<Q>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Vec<Q>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl<Q> From<Table<Q>> for LawConfig<Q> {
    fn from(table: Table<Q>) -> Self {
        let Table { distribution, value, mean, std, min, max, scale, shape, values, weights, file } = table;
        Self { distribution, value, mean, std, min, max, scale, shape, values, weights, file }
    }
}

impl<Q> From<LawConfig<Q>> for Table<Q> {
    fn from(law: LawConfig<Q>) -> Self {
        let LawConfig { distribution, value, mean, std, min, max, scale, shape, values, weights, file } = law;
        Self { distribution, value, mean, std, min, max, scale, shape, values, weights, file }
    }
}

impl<Q: Quantity> Serialize for LawConfig<Q> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Some(value) if self.is_bare() => value.serialize(serializer),
            _ => Table::from(self.clone()).serialize(serializer),
        }
    }
}

impl<'de, Q: Quantity> Deserialize<'de> for LawConfig<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrTable(PhantomData))
    }
}

struct TextOrTable<Q>(PhantomData<Q>);

impl<Q: Quantity> TextOrTable<Q> {
    fn bare<E: de::Error>(number: impl fmt::Display) -> E {
        E::custom(format_args!(
            "the bare number `{number}` is not {}: it needs a unit, such as `{}`",
            Q::NAME,
            Q::EXAMPLE
        ))
    }
}

impl<'de, Q: Quantity> de::Visitor<'de> for TextOrTable<Q> {
    type Value = LawConfig<Q>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} with its unit, such as `{}`, or a law, such as `{{ distribution = \"exponential\", mean = \"{}\" }}`",
            Q::NAME,
            Q::EXAMPLE,
            Q::EXAMPLE
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        text.parse().map(LawConfig::constant).map_err(E::custom)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Table::deserialize(MapAccessDeserializer::new(map)).map(LawConfig::from)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Err(Self::bare(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Err(Self::bare(number))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Err(Self::bare(number))
    }
}

/// The schema is derived from the list of laws: a quantity, or one table per distribution with its
/// parameters.
#[cfg(feature = "schema")]
impl<Q: Quantity> JsonSchema for LawConfig<Q> {
    fn schema_name() -> Cow<'static, str> {
        format!("Law of {}", Q::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let quantity = generator.subschema_for::<Q>().to_value();
        let tables = laws::descriptions().into_iter().map(|law| {
            let mut properties = serde_json::Map::new();
            properties.insert("distribution".into(), serde_json::json!({ "const": law.name }));
            for parameter in law.parameters {
                let mut schema = match parameter.field.form() {
                    Form::Quantity => quantity.clone(),
                    Form::Number => serde_json::json!({ "type": "number" }),
                    Form::Quantities => serde_json::json!({ "type": "array", "items": quantity }),
                    Form::Numbers => serde_json::json!({ "type": "array", "items": { "type": "number" } }),
                    Form::File => serde_json::json!({ "type": "string" }),
                };
                if let Some(object) = schema.as_object_mut() {
                    object.insert("description".into(), parameter.doc.into());
                }
                properties.insert(parameter.field.name().into(), schema);
            }
            for (field, doc) in laws::CLAMPS {
                properties.entry(field.name()).or_insert_with(|| {
                    let mut schema = quantity.clone();
                    if let Some(object) = schema.as_object_mut() {
                        object.insert("description".into(), doc.into());
                    }
                    schema
                });
            }
            serde_json::json!({
                "type": "object",
                "description": law.summary,
                "properties": properties,
                "required": ["distribution"],
                "additionalProperties": false,
            })
        });
        let forms: Vec<_> = core::iter::once(quantity.clone()).chain(tables).collect();
        json_schema!({
            "anyOf": forms,
            "description": "A quantity that is always the same, or a random law."
        })
    }
}
