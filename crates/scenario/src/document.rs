//! Values of a scenario's file with their positions, independent of its text: what a change edits.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::diagnostic::Span;

/// A value with its position in the text.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    span: Span,
    content: Content,
}

/// One entry of a table: its key, the position of the key, and its value.
pub(crate) type Entry = (String, Span, Value);

/// A table: its entries in the order of the file.
pub(crate) type Table = Vec<Entry>;

#[derive(Clone, Debug)]
enum Content {
    String(String),
    /// An integer or a float, in its notation.
    Number(String),
    Boolean(bool),
    Datetime(toml::value::Datetime),
    Array(Vec<Value>),
    Table(Table),
}

impl Value {
    /// Copies `value`, with its positions moved by `offset` bytes.
    pub(crate) fn new(value: &Spanned<DeValue<'_>>, offset: usize) -> Self {
        let content = match value.get_ref() {
            DeValue::String(text) => Content::String(text.to_string()),
            DeValue::Integer(number) => Content::Number(number.to_string()),
            DeValue::Float(number) => Content::Number(number.to_string()),
            DeValue::Boolean(truth) => Content::Boolean(*truth),
            DeValue::Datetime(time) => Content::Datetime(*time),
            DeValue::Array(list) => {
                Content::Array(list.iter().map(|value| Self::new(value, offset)).collect())
            }
            DeValue::Table(entries) => Content::Table(table(entries, offset)),
        };
        Self { span: moved(&value.span(), offset), content }
    }

    /// Copies `value`; every position in it becomes `span`.
    pub(crate) fn at(value: &Spanned<DeValue<'_>>, span: &Span) -> Self {
        let content = match value.get_ref() {
            DeValue::Array(list) => Content::Array(list.iter().map(|value| Self::at(value, span)).collect()),
            DeValue::Table(entries) => Content::Table(table_at(entries, span)),
            _ => Self::new(value, 0).content,
        };
        Self { span: span.clone(), content }
    }

    /// Returns the value as the TOML parser would, borrowing its texts.
    pub(crate) fn parsed(&self) -> Spanned<DeValue<'_>> {
        let value = match &self.content {
            Content::String(text) => DeValue::String(Cow::Borrowed(text)),
            Content::Number(text) => DeValue::parse(text)
                .map_or_else(|_| DeValue::String(Cow::Borrowed(text)), Spanned::into_inner),
            Content::Boolean(truth) => DeValue::Boolean(*truth),
            Content::Datetime(time) => DeValue::Datetime(*time),
            Content::Array(list) => DeValue::Array(list.iter().map(Self::parsed).collect()),
            Content::Table(entries) => DeValue::Table(parsed(entries)),
        };
        Spanned::new(self.span.clone(), value)
    }

    /// Returns its position.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Returns the text, if it is one.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the entries, if it is a table.
    pub(crate) fn as_table(&self) -> Option<&Table> {
        match &self.content {
            Content::Table(entries) => Some(entries),
            _ => None,
        }
    }
}

/// Copies a table, with its positions moved by `offset` bytes.
pub(crate) fn table(entries: &DeTable<'_>, offset: usize) -> Table {
    let entry = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        (key.get_ref().to_string(), moved(&key.span(), offset), Value::new(value, offset))
    };
    entries.iter().map(entry).collect()
}

/// Copies a table; every position in it becomes `span`.
pub(crate) fn table_at(entries: &DeTable<'_>, span: &Span) -> Table {
    let entry = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        (key.get_ref().to_string(), span.clone(), Value::at(value, span))
    };
    entries.iter().map(entry).collect()
}

/// Returns a table as the TOML parser would, borrowing its texts.
pub(crate) fn parsed(entries: &[Entry]) -> DeTable<'_> {
    let mut table = DeTable::new();
    for (key, span, value) in entries {
        table.insert(Spanned::new(span.clone(), Cow::Borrowed(key.as_str())), value.parsed());
    }
    table
}

/// Returns the value of `key`.
pub(crate) fn get<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Value> {
    entries.iter().find(|(name, ..)| name == key).map(|(.., value)| value)
}

fn moved(span: &Span, offset: usize) -> Span {
    span.start + offset..span.end + offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_parsed_to_the_same_values_at_moved_positions() {
        let text = "a = { x = [1, 0xff, -2.5e3, inf], t = true }\nb.c = \"text\"\nd = 1979-05-27\n";
        let read = DeTable::parse(text).expect("TOML").into_inner();
        let copy = table(&read, 0);
        assert_eq!(
            format!("{:?}", parsed(&copy).iter().collect::<Vec<_>>()),
            format!("{:?}", read.iter().collect::<Vec<_>>())
        );
        let later = table(&read, 7);
        assert_eq!(get(&later, "a").map(Value::span), read.get("a").map(|value| moved(&value.span(), 7)));
    }
}
