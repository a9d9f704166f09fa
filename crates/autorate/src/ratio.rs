//! Ratio: a factor as an integer number of millionths, the same on every machine.

use core::fmt;
#[cfg(feature = "schema")]
use std::borrow::Cow;

use lockgate_engine::units::{Duration, Rate};
#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};

/// Millionths in one.
const ONE: u64 = 1_000_000;

/// Largest ratio.
const MOST: u64 = 1000 * ONE;

/// A factor from 0 to 1000, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(u64);

impl Ratio {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// One.
    pub const ONE: Self = Self(ONE);

    /// Returns the ratio of this many thousandths, at most 1000.
    pub const fn milli(thousandths: u64) -> Self {
        Self(if thousandths > 1_000_000 { MOST } else { thousandths * (ONE / 1000) })
    }

    /// Returns `part / whole`, at most 1000; zero if `whole` is.
    pub fn between(part: u64, whole: u64) -> Self {
        let millionths = (u128::from(part) * u128::from(ONE)).checked_div(u128::from(whole)).unwrap_or(0);
        Self(u64::try_from(millionths).unwrap_or(MOST).min(MOST))
    }

    /// Returns the millionths.
    pub const fn millionths(self) -> u64 {
        self.0
    }

    /// Returns this part of a number.
    pub fn of(self, number: u64) -> u64 {
        u64::try_from(u128::from(number) * u128::from(self.0) / u128::from(ONE)).unwrap_or(u64::MAX)
    }

    /// Returns this part of a rate.
    pub fn of_rate(self, rate: Rate) -> Rate {
        Rate::from_bits(self.of(rate.as_bits()))
    }

    /// Returns this part of a time.
    pub fn of_time(self, time: Duration) -> Duration {
        Duration::from_picos(self.of(time.as_picos()))
    }

    /// Returns the sum, at most 1000.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0).min(MOST))
    }

    /// Returns the difference, at least zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the product, at most 1000.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self(other.of(self.0).min(MOST))
    }

    /// Returns the value between `low` and `high` that lies as far from `low` as this from zero to one.
    #[must_use]
    pub fn mix(self, low: Self, high: Self) -> Self {
        let part = self.min(Self::ONE);
        if high >= low {
            low.plus(part.times(high.minus(low)))
        } else {
            low.minus(part.times(low.minus(high)))
        }
    }

    fn from_f64(value: f64) -> Option<Self> {
        (0.0..=1000.0).contains(&value).then_some(Self((value * ONE as f64 + 0.5) as u64))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 as f64 / ONE as f64)
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl de::Visitor<'_> for Number {
            type Value = Ratio;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a factor: `0.98` or `98%`")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Ratio, E> {
                Ratio::from_f64(value)
                    .ok_or_else(|| E::custom(format_args!("`{value}` is not a factor: it is from 0 to 1000")))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Ratio, E> {
                self.visit_f64(value as f64)
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Ratio, E> {
                self.visit_f64(value as f64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ratio, E> {
                let number = text.trim().strip_suffix('%').and_then(|text| text.trim().parse::<f64>().ok());
                match number {
                    Some(percent) => self.visit_f64(percent / 100.0),
                    None => Err(E::custom(format_args!("`{text}` is not a factor: write `0.98` or `98%`"))),
                }
            }
        }
        deserializer.deserialize_any(Number)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Ratio {
    fn schema_name() -> Cow<'static, str> {
        "Ratio".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1000 }, { "type": "string", "pattern": "%$" }],
            "description": "A factor: `0.98` or `98%`."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_neither_overflows_nor_divides_by_zero() {
        assert_eq!(Ratio::between(1, 0), Ratio::ZERO);
        assert_eq!(Ratio::between(u64::MAX, 1), Ratio(MOST));
        assert_eq!(Ratio(MOST).of(u64::MAX), u64::MAX);
        assert_eq!(Ratio::milli(980).of_rate(Rate::from_bits(1_000_000)), Rate::from_bits(980_000));
        assert_eq!(Ratio::milli(500).mix(Ratio::milli(990), Ratio::milli(750)), Ratio::milli(870));
    }

    #[test]
    fn a_factor_is_a_number_or_a_percentage() {
        #[derive(serde::Deserialize)]
        struct Table {
            value: Ratio,
        }
        let read = |text: &str| toml::from_str::<Table>(text).map(|table| table.value);
        assert_eq!(read("value = 0.98").expect("a number"), Ratio::milli(980));
        assert_eq!(read("value = '98%'").expect("a percentage"), Ratio::milli(980));
        assert_eq!(read("value = 2").expect("an integer"), Ratio::milli(2000));
        assert!(
            read("value = -1").is_err() && read("value = 'much'").is_err() && read("value = nan").is_err()
        );
    }
}
