//! A value of a link: one for both directions, or one each.

use core::fmt;
use core::marker::PhantomData;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer};

/// A value from the first node of a link to the second, and one back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directions<T> {
    pub(crate) up: T,
    pub(crate) down: T,
}

impl<T: PartialEq> Directions<T> {
    /// Returns true if both directions have the same value.
    pub(crate) fn are_same(&self) -> bool {
        self.up == self.down
    }
}

/// The table form of [`Directions`].
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct UpAndDown<T> {
    /// From the first node of `between` to the second.
    up: T,
    /// From the second node to the first.
    down: T,
}

impl<'de, T: Deserialize<'de> + Clone> Deserialize<'de> for Directions<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either(PhantomData))
    }
}

struct Either<T>(PhantomData<T>);

/// Reads one value for both directions, with the messages of its own type.
fn both<'de, T: Deserialize<'de> + Clone, E: de::Error>(
    value: impl IntoDeserializer<'de, E>,
) -> Result<Directions<T>, E> {
    let value = T::deserialize(value.into_deserializer())?;
    Ok(Directions { up: value.clone(), down: value })
}

impl<'de, T: Deserialize<'de> + Clone> de::Visitor<'de> for Either<T> {
    type Value = Directions<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value for both directions or `{ up = …, down = … }`")
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        both(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        both(value)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        both(value)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        both(value)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        let value = T::deserialize(SeqAccessDeserializer::new(list))?;
        Ok(Directions { up: value.clone(), down: value })
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let UpAndDown { up, down } = UpAndDown::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Directions { up, down })
    }
}

#[cfg(feature = "schema")]
impl<T: JsonSchema> JsonSchema for Directions<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("DirectionsOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (value, table) = (generator.subschema_for::<T>(), generator.subschema_for::<UpAndDown<T>>());
        json_schema!({ "anyOf": [value, table] })
    }
}
