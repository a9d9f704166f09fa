//! Deserialiser of the values of a file, with their positions or without.
//!
//! It has one type of map and one of list. Serde's derived code is compiled anew for each of them, and the
//! deserialisers of `toml` have four maps: tables, dates and positions, and tables without positions. Half of
//! this crate's compiled code was such copies.

use core::fmt::Display;
use std::vec::IntoIter;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use crate::diagnostic::Span;

/// Reads a value with its position.
///
/// # Errors
/// The first value that its type refuses, in serde's words.
pub(crate) fn read<T: DeserializeOwned>(value: &Spanned<DeValue<'_>>) -> Result<T, ValueError> {
    T::deserialize(ValueReader::Placed(value))
}

/// Reads a table without positions.
///
/// # Errors
/// Those of [`read`], without a position.
pub(crate) fn read_plain<T: DeserializeOwned>(table: &toml::Table) -> Result<T, ValueError> {
    T::deserialize(ValueReader::Table(table))
}

/// Reads a value without positions.
///
/// # Errors
/// Those of [`read`], without a position.
pub(crate) fn read_plain_value<T: DeserializeOwned>(value: &toml::Value) -> Result<T, ValueError> {
    T::deserialize(ValueReader::Plain(value))
}

/// Error of a value that a type refuses.
#[derive(Debug)]
pub(crate) struct ValueError {
    pub(crate) message: String,
    /// Position of the innermost value or key; `None` of values without positions.
    pub(crate) span: Option<Span>,
}

impl core::fmt::Display for ValueError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ValueError {}

impl de::Error for ValueError {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), span: None }
    }
}

impl ValueError {
    /// Adds the position of a value around it, unless it has that of one within.
    fn within(self, span: Option<Span>) -> Self {
        Self { span: self.span.or(span), ..self }
    }
}

/// Deserialiser of one value.
#[derive(Clone, Copy)]
enum ValueReader<'v> {
    Placed(&'v Spanned<DeValue<'v>>),
    Plain(&'v toml::Value),
    Table(&'v toml::Table),
}

/// Content of a value.
enum Content<'v> {
    Text(&'v str),
    Integer(i64),
    /// An integer beyond those of 64 bits with a sign.
    Long(&'v DeInteger<'v>),
    Float(f64),
    Boolean(bool),
    /// A date or a time, which no key takes.
    Date,
    List(Elements<'v>),
    Table(Entries<'v>),
}

impl<'v> ValueReader<'v> {
    fn span(self) -> Option<Span> {
        match self {
            Self::Placed(value) => Some(value.span()),
            Self::Plain(_) | Self::Table(_) => None,
        }
    }

    fn content(self) -> Result<Content<'v>, ValueError> {
        Ok(match self {
            Self::Placed(value) => return placed(value),
            Self::Table(table) => Content::Table(Entries::plain(table)),
            Self::Plain(value) => match value {
                toml::Value::String(text) => Content::Text(text),
                toml::Value::Integer(number) => Content::Integer(*number),
                toml::Value::Float(number) => Content::Float(*number),
                toml::Value::Boolean(truth) => Content::Boolean(*truth),
                toml::Value::Datetime(_) => Content::Date,
                toml::Value::Array(list) => Content::List(Elements::of(list.iter().map(Self::Plain))),
                toml::Value::Table(table) => Content::Table(Entries::plain(table)),
            },
        })
    }

    /// Returns the variant of an enum that it names, with its value in a table of one entry.
    fn variant(self) -> Result<Variant<'v>, ValueError> {
        let wrong = match self.content()? {
            Content::Text(name) => return Ok(Variant { name, span: self.span(), value: None }),
            Content::Table(Entries { rest, .. }) => match rest.as_slice() {
                [Entry { key, span, value }] => {
                    return Ok(Variant { name: key, span: span.clone(), value: Some(*value) });
                }
                [] => "wanted exactly 1 element, found 0 elements",
                _ => "wanted exactly 1 element, more than 1 element",
            },
            _ => "wanted string or table",
        };
        Err(de::Error::custom(wrong))
    }
}

fn placed<'v>(value: &'v Spanned<DeValue<'v>>) -> Result<Content<'v>, ValueError> {
    Ok(match value.get_ref() {
        DeValue::String(text) => Content::Text(text),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Content::Integer(number),
            Err(_) => Content::Long(number),
        },
        DeValue::Float(text) => match text.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() || !text.as_str().contains(|c: char| c.is_ascii_digit()) => {
                Content::Float(number)
            }
            _ => return Err(de::Error::custom("floating-point number overflowed")),
        },
        DeValue::Boolean(truth) => Content::Boolean(*truth),
        DeValue::Datetime(_) => Content::Date,
        DeValue::Array(list) => Content::List(Elements::of(list.iter().map(ValueReader::Placed))),
        DeValue::Table(table) => {
            let entry = |(key, value): (&'v Spanned<_>, &'v _)| Entry::placed(key, value);
            Content::Table(Entries {
                rest: table.iter().map(entry).collect::<Vec<_>>().into_iter(),
                value: None,
            })
        }
    })
}

/// Passes an integer beyond those of 64 bits with a sign.
fn visit_long<'v, V: Visitor<'v>>(number: &DeInteger<'_>, visitor: V) -> Result<V::Value, ValueError> {
    let (text, radix) = (number.as_str(), number.radix());
    if let Ok(number) = u64::from_str_radix(text, radix) {
        return visitor.visit_u64(number);
    }
    match i128::from_str_radix(text, radix) {
        Ok(number) => visitor.visit_i128(number),
        Err(_) => Err(de::Error::custom("integer number overflowed")),
    }
}

impl<'de> Deserializer<'de> for ValueReader<'de> {
    type Error = ValueError;

    // `match` instead of `map_err` here and below: a closure would be compiled anew for each type.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let read = match self.content()? {
            Content::Text(text) => visitor.visit_borrowed_str(text),
            Content::Integer(number) => visitor.visit_i64(number),
            Content::Long(number) => visit_long(number, visitor),
            Content::Float(number) => visitor.visit_f64(number),
            Content::Boolean(truth) => visitor.visit_bool(truth),
            Content::Date => Err(de::Error::invalid_type(Unexpected::Other("a date"), &visitor)),
            Content::List(mut list) => match visitor.visit_seq(&mut list) {
                Ok(_) if list.rest.len() > 0 => Err(list.too_many()),
                read => read,
            },
            Content::Table(entries) => visitor.visit_map(entries),
        };
        match read {
            Ok(value) => Ok(value),
            Err(error) => Err(error.within(self.span())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let read = match self.variant() {
            Ok(variant) => visitor.visit_enum(variant),
            Err(error) => Err(error),
        };
        match read {
            Ok(value) => Ok(value),
            Err(error) => Err(error.within(self.span())),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Elements of a list that have not been read.
struct Elements<'v> {
    rest: IntoIter<ValueReader<'v>>,
    count: usize,
}

impl<'v> Elements<'v> {
    fn of(elements: impl ExactSizeIterator<Item = ValueReader<'v>>) -> Self {
        let count = elements.len();
        Self { rest: elements.collect::<Vec<_>>().into_iter(), count }
    }

    #[cold]
    fn too_many(&self) -> ValueError {
        de::Error::invalid_length(self.count, &"fewer elements")
    }
}

impl<'v> de::SeqAccess<'v> for &mut Elements<'v> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'v>>(&mut self, seed: T) -> Result<Option<T::Value>, ValueError> {
        match self.rest.next() {
            Some(element) => match seed.deserialize(element) {
                Ok(read) => Ok(Some(read)),
                Err(error) => Err(error),
            },
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// One entry of a table.
struct Entry<'v> {
    key: &'v str,
    /// Position of the key.
    span: Option<Span>,
    value: ValueReader<'v>,
}

impl<'v> Entry<'v> {
    fn placed(key: &'v Spanned<std::borrow::Cow<'v, str>>, value: &'v Spanned<DeValue<'v>>) -> Self {
        Self { key: key.get_ref(), span: Some(key.span()), value: ValueReader::Placed(value) }
    }
}

/// Entries of a table that have not been read.
struct Entries<'v> {
    rest: IntoIter<Entry<'v>>,
    /// Value of the key that was read last.
    value: Option<ValueReader<'v>>,
}

impl<'v> Entries<'v> {
    fn plain(table: &'v toml::Table) -> Self {
        let entry =
            |(key, value): (&'v String, &'v _)| Entry { key, span: None, value: ValueReader::Plain(value) };
        Self { rest: table.iter().map(entry).collect::<Vec<_>>().into_iter(), value: None }
    }
}

impl<'v> de::MapAccess<'v> for Entries<'v> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'v>>(&mut self, seed: K) -> Result<Option<K::Value>, ValueError> {
        let Some(Entry { key, span, value }) = self.rest.next() else { return Ok(None) };
        self.value = Some(value);
        match seed.deserialize(BorrowedStrDeserializer::<ValueError>::new(key)) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(error.within(span)),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'v>>(&mut self, seed: V) -> Result<V::Value, ValueError> {
        let Some(value) = self.value.take() else {
            return Err(de::Error::custom("a value without its key"));
        };
        match seed.deserialize(value) {
            Ok(read) => Ok(read),
            Err(error) => Err(error.within(value.span())),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A variant of an enum, with its value if it has one.
struct Variant<'v> {
    name: &'v str,
    /// Position of the name.
    span: Option<Span>,
    value: Option<ValueReader<'v>>,
}

impl<'v> de::EnumAccess<'v> for Variant<'v> {
    type Error = ValueError;
    type Variant = VariantValue<'v>;

    fn variant_seed<S: DeserializeSeed<'v>>(self, seed: S) -> Result<(S::Value, Self::Variant), ValueError> {
        match seed.deserialize(BorrowedStrDeserializer::<ValueError>::new(self.name)) {
            Ok(name) => Ok((name, VariantValue(self.value))),
            Err(error) => Err(error.within(self.span)),
        }
    }
}

/// Value of a variant; `None` of one that is only a text.
struct VariantValue<'v>(Option<ValueReader<'v>>);

impl<'v> VariantValue<'v> {
    fn needed(self) -> Result<ValueReader<'v>, ValueError> {
        self.0.ok_or_else(|| de::Error::custom("this name needs a value: write it as `{ name = … }`"))
    }
}

impl<'v> de::VariantAccess<'v> for VariantValue<'v> {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        let Some(value) = self.0 else { return Ok(()) };
        let is_empty = match value.content()? {
            Content::Table(entries) => entries.rest.len() == 0,
            Content::List(list) => list.rest.len() == 0,
            _ => false,
        };
        if is_empty {
            return Ok(());
        }
        let error: ValueError = de::Error::custom("this name has no value: write it as a text");
        Err(error.within(value.span()))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'v>>(self, seed: S) -> Result<S::Value, ValueError> {
        seed.deserialize(self.needed()?)
    }

    fn tuple_variant<V: Visitor<'v>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.needed()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'v>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.needed()?.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use toml::de::{DeTable, ValueDeserializer};

    use super::*;

    #[derive(Clone, Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Whole {
        text: String,
        small: u8,
        long: Option<u64>,
        #[serde(default)]
        float: f64,
        truth: bool,
        list: Vec<i64>,
        kind: Kind,
        law: Option<Law>,
        wrapped: Wrapped,
        part: Option<Part>,
        #[serde(default)]
        free: toml::Table,
    }

    #[derive(Clone, Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        First,
        Second,
    }

    #[derive(Clone, Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Law {
        None,
        Rate(u32),
        Table(Part),
    }

    #[derive(Clone, Debug, Deserialize, PartialEq)]
    struct Wrapped(u16);

    #[derive(Clone, Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Part {
        pair: (u8, u8),
    }

    const SOUND: [&str; 11] = [
        "text = 'a'",
        "small = 255",
        "long = 0x7fff_ffff",
        "float = -2.5e3",
        "truth = true",
        "list = [1, -2, 0b11]",
        "kind = 'second'",
        "law = { rate = 5 }",
        "wrapped = 7",
        "part = { pair = [1, 2] }",
        "free = { a = 1, b = ['x', 2.5, { c = inf }] }",
    ];

    /// Returns what this reader and that of `toml` make of a text: the value, or message and position.
    fn both(text: &str) -> [Result<Whole, (String, Option<Span>)>; 2] {
        let root = DeTable::parse(text).expect("TOML");
        let whole = Spanned::new(root.span(), DeValue::Table(root.into_inner()));
        let own = read(&whole).map_err(|error| (error.message, error.span));
        let toml = Whole::deserialize(ValueDeserializer::from(whole.clone()));
        [own, toml.map_err(|error| (error.message().to_owned(), error.span()))]
    }

    #[test]
    fn values_and_errors_are_those_of_the_parser() {
        let [own, toml] = both(&SOUND.join("\n"));
        assert_eq!(own, toml);
        assert!(own.is_ok(), "{own:?}");
        let wrong = [
            "text = 5",
            "text = ['a']",
            "small = 256",
            "small = -1",
            "small = 1.5",
            "small = 'a'",
            "long = {}",
            "long = 0xffff_ffff_ffff_ffff",
            "long = 99999999999999999999",
            "float = 'x'",
            "float = 1e999",
            "float = -inf",
            "float = 3",
            "truth = 1",
            "list = {}",
            "list = [1, 'x']",
            "kind = 'third'",
            "kind = 5",
            "kind = { first = {} }",
            "kind = {}",
            "kind = { first = {}, second = {} }",
            "law = 'none'",
            "law = { table = { pair = [1, 300] } }",
            "law = { table = { pear = 1 } }",
            "law = { rat = 1 }",
            "wrapped = 70000",
            "wrapped = []",
            "part = { pair = [1] }",
            "part = { pair = [1, 2], more = 3 }",
            "part = 5",
            "free = 5",
            "free = { a = 99999999999999999999 }",
            "unknown = 1",
        ];
        for wrong in wrong {
            let key = wrong.split(' ').next();
            let others = SOUND.into_iter().filter(|line| line.split(' ').next() != key);
            let text = others.chain([wrong]).collect::<Vec<_>>().join("\n");
            let [own, toml] = both(&text);
            assert_eq!(own, toml, "{wrong}");
            let absent = SOUND.into_iter().filter(|line| line.split(' ').next() != key).collect::<Vec<_>>();
            let [own, toml] = both(&absent.join("\n"));
            assert_eq!(own, toml, "without {wrong}");
        }
    }

    #[test]
    fn a_table_without_positions_has_the_same_values() {
        let text = SOUND.join("\n");
        let [own, _] = both(&text);
        assert_eq!(read_plain::<Whole>(&text.parse().expect("TOML")).ok(), own.ok());
        let refused = read_plain::<Part>(&"pair = [1, 'x']".parse().expect("TOML")).expect_err("a text");
        assert_eq!((refused.message.contains("expected u8"), refused.span), (true, None));
    }

    #[test]
    fn a_date_and_elements_too_many_are_refused() {
        let refused = |wrong: &str| {
            let key = wrong.split(' ').next();
            let others = SOUND.into_iter().filter(|line| line.split(' ').next() != key);
            let [own, _] = both(&others.chain([wrong]).collect::<Vec<_>>().join("\n"));
            own.expect_err(wrong).0
        };
        assert_eq!(refused("text = 1979-05-27"), "invalid type: a date, expected a string");
        assert_eq!(refused("part = { pair = [1, 2, 3] }"), "invalid length 3, expected fewer elements");
        assert_eq!(refused("kind = { first = 5 }"), "this name has no value: write it as a text");
    }
}
