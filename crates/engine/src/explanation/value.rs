//! Quantities of an explanation, and the sentence made of them.

use core::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::packet::FlowId;
use crate::units::{Bytes, Duration, Instant, Rate};

/// Quantity with its unit. JSON has its number, its unit and its text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Bytes; a debt if negative.
    Bytes(i128),
    /// Point in time.
    Time(Instant),
    /// Length of time.
    Span(Duration),
    /// Rate.
    Rate(Rate),
    /// Point in virtual time: bytes per unit of weight, as an exact fraction.
    Tag {
        /// Numerator.
        numerator: u128,
        /// Denominator, at least 1.
        denominator: u128,
    },
    /// Count of packets, flows or rounds.
    Count(i128),
    /// Probability, 0 to 1.
    Probability(f64),
    /// Number without a unit, as gauges have.
    Number(f64),
    /// State in a word.
    Word(&'static str),
    /// Name of a queue, or of a flow that is known.
    Name(Arc<str>),
    /// Flow by its number.
    Flow(FlowId),
}

/// Significant digits of a printed quantity.
const DIGITS: i32 = 6;

/// Writes `value` with at most [`DIGITS`] significant digits and without trailing zeros.
fn short(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value == 0.0 {
        return f.write_str("0");
    }
    let decimals = (DIGITS - 1 - libm::floor(libm::log10(value.abs())) as i32).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    f.write_str(text)
}

/// Writes a length of time in the largest unit of which it has at least one, rounded to nanoseconds.
fn write_span(picos: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let units =
        [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| picos >= *scale).unwrap_or((1, "s"));
    short(picos as f64 / scale as f64, f)?;
    f.write_str(unit)
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes} B"),
            Self::Time(time) if *time == Instant::NEVER => f.write_str("never"),
            Self::Time(time) => {
                // Seconds throughout, so that times of one table compare.
                let text = format!("{:.9}", time.as_secs_f64());
                write!(f, "{}s", text.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Span(span) => write_span(span.as_picos(), f),
            Self::Rate(rate) => write!(f, "{rate}"),
            Self::Tag { numerator, denominator } => {
                let thousandths =
                    numerator.saturating_mul(1000).saturating_add(denominator / 2) / denominator;
                let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
                f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Count(count) => write!(f, "{count}"),
            Self::Probability(value) => {
                short(value * 100.0, f)?;
                f.write_str("%")
            }
            Self::Number(value) => short(*value, f),
            Self::Word(word) => f.write_str(word),
            Self::Name(name) => f.write_str(name),
            Self::Flow(flow) => write!(f, "flow {}", flow.0),
        }
    }
}

impl Value {
    /// Returns the unit's name, and the number if the quantity has one.
    fn number(&self) -> (&'static str, Option<f64>) {
        match self {
            Self::Bytes(bytes) => ("bytes", Some(*bytes as f64)),
            Self::Time(time) => ("time", Some(time.as_secs_f64())),
            Self::Span(span) => ("seconds", Some(span.as_secs_f64())),
            Self::Rate(rate) => ("rate", Some(rate.as_bits() as f64)),
            Self::Tag { numerator, denominator } => ("tag", Some(*numerator as f64 / *denominator as f64)),
            Self::Count(count) => ("count", Some(*count as f64)),
            Self::Probability(value) => ("probability", Some(*value)),
            Self::Number(value) => ("number", Some(*value)),
            Self::Word(_) => ("word", None),
            Self::Name(_) => ("name", None),
            Self::Flow(flow) => ("flow", Some(f64::from(flow.0))),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let (unit, number) = self.number();
        let mut fields = serializer.serialize_struct("Value", 3)?;
        fields.serialize_field("unit", unit)?;
        fields.serialize_field("number", &number)?;
        fields.serialize_field("text", &self.to_string())?;
        fields.end()
    }
}

/// Writes a name.
pub(super) fn text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// Writes a point in time in seconds.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
pub(super) fn seconds<S: Serializer>(time: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl From<Bytes> for Value {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes.0.into())
    }
}
impl From<Instant> for Value {
    fn from(time: Instant) -> Self {
        Self::Time(time)
    }
}
impl From<Duration> for Value {
    fn from(span: Duration) -> Self {
        Self::Span(span)
    }
}
impl From<Rate> for Value {
    fn from(rate: Rate) -> Self {
        Self::Rate(rate)
    }
}
impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count.into())
    }
}
impl From<u32> for Value {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}
impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::from(count as u64)
    }
}
impl From<&'static str> for Value {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}
impl From<&Arc<str>> for Value {
    fn from(name: &Arc<str>) -> Self {
        Self::Name(name.clone())
    }
}
impl From<FlowId> for Value {
    fn from(flow: FlowId) -> Self {
        Self::Flow(flow)
    }
}

/// Part of a sentence: words, or a quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Part {
    /// Words.
    Text(&'static str),
    /// Quantity or name.
    Value(Value),
}

impl From<&'static str> for Part {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

/// Every other quantity.
macro_rules! parts {
    ($($type:ty),*) => {$(
        impl From<$type> for Part {
            fn from(value: $type) -> Self {
                Self::Value(value.into())
            }
        }
    )*};
}
parts!(Value, Bytes, Instant, Duration, Rate, u64, u32, usize, &Arc<str>, FlowId);

/// Sentence of an explanation, with its quantities as such.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Why(pub Vec<Part>);

impl Why {
    /// Returns the quantities.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.0.iter_mut().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value(value) => Some(value),
        })
    }

    /// Returns the sentence followed by another part of it.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::Value(value @ (Value::Name(_) | Value::Flow(_))) => write!(f, "`{value}`")?,
                Part::Value(value) => write!(f, "{value}")?,
            }
        }
        Ok(())
    }
}

/// Makes a sentence of words and quantities.
macro_rules! why {
    ($($part:expr),* $(,)?) => {
        $crate::explanation::Why(vec![$($crate::explanation::Part::from($part)),*])
    };
}
pub(crate) use why;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_printed_briefly_and_with_their_units() {
        let text = |value: Value| value.to_string();
        assert_eq!(text(Value::Bytes(-300)), "-300 B");
        assert_eq!(text(Value::Time(Instant::from_picos(1_250_000_000_000))), "1.25s");
        assert_eq!(text(Value::Span(Duration::from_picos(25_100_000))), "25.1us");
        assert_eq!(text(Value::Span(Duration::ZERO)), "0s");
        assert_eq!(text(Value::Tag { numerator: 7, denominator: 4 }), "1.75");
        assert_eq!(text(Value::Tag { numerator: 1000, denominator: 3 }), "333.333");
        assert_eq!(text(Value::Probability(0.0125)), "1.25%");
        assert_eq!(text(Value::Number(1_234_567.8)), "1234568");
        let why = why!["deficit ", Bytes(512), " >= ", Bytes(214)];
        assert_eq!(why.to_string(), "deficit 512 B >= 214 B");
    }
}
