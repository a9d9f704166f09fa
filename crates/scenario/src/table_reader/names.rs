//! Keys of a type without its JSON schema: their names, from the deserialiser that serde derives.
//!
//! They have no documentation, and none is marked as required: serde itself reports the first that is
//! missing.

use core::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::{Key, TableKeys};

impl TableKeys {
    /// Returns the keys of `T`.
    pub(crate) fn of<T: DeserializeOwned>() -> Self {
        let mut names: &'static [&'static str] = &[];
        // Always an error: the probe has no value.
        let _ = T::deserialize(Probe(&mut names));
        let key = |name: &&str| Key {
            name: (*name).to_owned(),
            doc: String::new(),
            required: false,
            example: None,
        };
        Self { keys: names.iter().map(key).collect() }
    }
}

/// Deserialiser without a value: it records the names of a type's fields.
struct Probe<'n>(&'n mut &'static [&'static str]);

/// Error of every probe.
#[derive(Debug)]
struct NoValue;

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a probe has no value")
    }
}

impl core::error::Error for NoValue {}

impl de::Error for NoValue {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = NoValue;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoValue> {
        Err(NoValue)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, NoValue> {
        *self.0 = fields;
        Err(NoValue)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
