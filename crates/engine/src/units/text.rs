//! Notation of quantities: `20ms`, `10mbit`, `1500B`, `100p`, `1%`.
//!
//! A bare number where a unit belongs is refused, and so are `kbps` and `mbps`, which mean bytes to
//! `tc` and bits to everyone else. Decimal fractions are exact (`1.5ms`); what is finer than the
//! quantity's own grain (a picosecond, a byte, a bit per second) is rounded to it if that changes the value
//! by less than a millionth, as in `0.8888888888888888ms`, and refused otherwise: `1.5B` is not a size.

use core::fmt;
use core::str::FromStr;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{
    Bytes, Duration, Instant, Limit, Overhead, PICOS_PER_SECOND, Packets, Probability, Rate, Threshold,
};

/// Error of a text that is not the expected quantity: the problem, and the notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    what: &'static str,
    text: String,
    why: String,
}

impl Malformed {
    fn new(what: &'static str, text: &str, why: impl Into<String>) -> Self {
        Self { what, text: text.chars().take(40).collect(), why: why.into() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}: {}", self.text, self.what, self.why)
    }
}

impl core::error::Error for Malformed {}

/// Notation of one kind of quantity.
struct Notation {
    /// With its article: "a rate".
    what: &'static str,
    example: &'static str,
    /// Units and their sizes in the quantity's grain; those used for printing come first, the largest first.
    units: &'static [(&'static str, u128)],
    /// Units that look right and are not, with the reason.
    refused: &'static [(&'static str, &'static str)],
}

const TIME: Notation = Notation {
    what: "a duration",
    example: "20ms",
    units: &[
        ("s", PICOS_PER_SECOND as u128),
        ("ms", 1_000_000_000),
        ("us", 1_000_000),
        ("ns", 1_000),
        ("ps", 1),
        ("min", 60 * PICOS_PER_SECOND as u128),
        ("h", 3600 * PICOS_PER_SECOND as u128),
        ("µs", 1_000_000),
    ],
    refused: &[("m", "`m` could be minutes or milliseconds: write `min` or `ms`")],
};

const BITS_OR_BYTES: &str =
    "`kbps` means bytes to tc and bits to everyone else: write `kbit` for bits or `kBps` for bytes";

const RATE: Notation = Notation {
    what: "a rate",
    example: "10mbit",
    units: &[
        ("gbit", 1_000_000_000),
        ("mbit", 1_000_000),
        ("kbit", 1_000),
        ("bit", 1),
        ("Gbit", 1_000_000_000),
        ("Mbit", 1_000_000),
        ("Kbit", 1_000),
        ("Gbit/s", 1_000_000_000),
        ("Mbit/s", 1_000_000),
        ("kbit/s", 1_000),
        ("gbit/s", 1_000_000_000),
        ("mbit/s", 1_000_000),
        ("bit/s", 1),
        ("kBps", 8_000),
        ("MBps", 8_000_000),
        ("GBps", 8_000_000_000),
    ],
    refused: &[
        ("kbps", BITS_OR_BYTES),
        (
            "mbps",
            "`mbps` means bytes to tc and bits to everyone else: write `mbit` for bits or `MBps` for bytes",
        ),
        (
            "gbps",
            "`gbps` means bytes to tc and bits to everyone else: write `gbit` for bits or `GBps` for bytes",
        ),
        ("bps", "`bps` means bytes to tc and bits to everyone else: write `bit`"),
        ("Kbps", BITS_OR_BYTES),
        ("Mbps", "`Mbps` is ambiguous between bits and bytes: write `mbit` for bits or `MBps` for bytes"),
        ("Gbps", "`Gbps` is ambiguous between bits and bytes: write `gbit` for bits or `GBps` for bytes"),
    ],
};

const SIZE: Notation = Notation {
    what: "a size",
    example: "1500B",
    units: &[
        ("MB", 1_000_000),
        ("kB", 1_000),
        ("B", 1),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("KB", 1_000),
    ],
    refused: &[
        ("b", "`b` could be bits or bytes: write `B` for bytes"),
        ("kb", "`kb` could be bits or bytes: write `kB` for bytes"),
        ("mb", "`mb` could be bits or bytes: write `MB` for bytes"),
    ],
};

const COUNT: Notation =
    Notation { what: "a number of packets", example: "100p", units: &[("p", 1)], refused: &[] };

/// Part of a value by which rounding may change it: a millionth.
const LEAST_CHANGE: u128 = 1_000_000;

impl Notation {
    fn parse(&self, text: &str) -> Result<u64, Malformed> {
        let fail = |why: String| Malformed::new(self.what, text, why);
        let trimmed = text.trim();
        let split =
            trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let unit = unit.trim_start();
        if number.is_empty() {
            return Err(fail(format!("it must start with a number, such as `{}`", self.example)));
        }
        if unit.is_empty() {
            return Err(fail(format!("it needs a unit, such as `{}`", self.example)));
        }
        let Some((_, scale)) = self.units.iter().find(|(name, _)| *name == unit) else {
            if let Some((_, why)) = self.refused.iter().find(|(name, _)| *name == unit) {
                return Err(fail((*why).to_owned()));
            }
            return Err(fail(format!("the unit is one of {}", self.unit_names())));
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits: String = [whole, fraction].concat().chars().filter(|c| *c != '_').collect();
        let decimals = u32::try_from(fraction.chars().filter(|c| *c != '_').count()).unwrap_or(u32::MAX);
        let too_large = || fail("it is too large".to_owned());
        let mantissa: u128 =
            digits.parse().map_err(|_| fail(format!("the number is written like `{}`", self.example)))?;
        let divisor =
            10u128.checked_pow(decimals).ok_or_else(|| fail("it has too many decimal places".to_owned()))?;
        let scaled = mantissa.checked_mul(*scale).ok_or_else(too_large)?;
        let rest = scaled % divisor;
        let nearest = scaled / divisor + u128::from(rest > divisor / 2);
        let change = rest.min(divisor - rest);
        if rest != 0 && change > scaled / LEAST_CHANGE {
            return Err(fail("it is finer than can be represented".to_owned()));
        }
        u64::try_from(nearest).map_err(|_| too_large())
    }

    fn unit_names(&self) -> String {
        let names: Vec<String> = self
            .units
            .iter()
            .filter(|(name, _)| name.is_ascii())
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        names.join(" ")
    }

    /// Writes `value` exactly: in the largest of the leading (descending) units that leaves at most three
    /// decimal places, or as a whole number of KiB, MiB or GiB if that is shorter.
    fn print(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = self.decimal(u128::from(value));
        let is_binary = |scale: u128| scale >= 1 << 10 && scale.is_power_of_two();
        let divides = |scale: u128| value > 0 && u128::from(value).is_multiple_of(scale);
        let units = self.units.iter().filter(|(_, scale)| is_binary(*scale) && divides(*scale));
        let binary = units.max_by_key(|(_, scale)| *scale);
        let binary = binary.map(|(name, scale)| format!("{}{name}", u128::from(value) / scale));
        f.write_str(&binary.filter(|text| text.len() < decimal.len()).unwrap_or(decimal))
    }

    /// Returns `value` in the largest of the leading (descending) units that leaves at most three decimal
    /// places.
    fn decimal(&self, value: u128) -> String {
        let mut descending = Vec::new();
        for &(name, scale) in self.units {
            if descending.last().is_none_or(|&(_, previous)| scale < previous) {
                descending.push((name, scale));
            } else {
                break;
            }
        }
        for (name, scale) in descending {
            if value == 0 && scale != 1 && name != "s" {
                continue;
            }
            if (value >= scale || value == 0) && (value * 1_000).is_multiple_of(scale) {
                let thousandths = value * 1_000 / scale;
                let (whole, rest) = (thousandths / 1_000, thousandths % 1_000);
                return if rest == 0 {
                    format!("{whole}{name}")
                } else {
                    let decimals = format!("{rest:03}");
                    format!("{whole}.{}{name}", decimals.trim_end_matches('0'))
                };
            }
        }
        format!("{value}{}", self.units.last().map_or("", |(name, _)| name))
    }
}

macro_rules! quantity {
    ($type:ident, $notation:ident, $name:literal, $about:literal, |$raw:ident| $make:expr, |$value:ident| $get:expr) => {
        impl FromStr for $type {
            type Err = Malformed;
            fn from_str(text: &str) -> Result<Self, Malformed> {
                let $raw = $notation.parse(text)?;
                Ok($make)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $value = self;
                $notation.print($get, f)
            }
        }

        textual!($type, $notation, $name, $about);
    };
}

/// Implements serde and the schema for a type written as text with a unit.
macro_rules! textual {
    ($type:ident, $notation:ident, $name:literal, $about:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "{} with its unit, such as `{}`", $notation.what, $notation.example)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$type, E> {
                        Err(bare(&$notation, number))
                    }
                    fn visit_u64<E: de::Error>(self, number: u64) -> Result<$type, E> {
                        Err(bare(&$notation, number))
                    }
                    fn visit_f64<E: de::Error>(self, number: f64) -> Result<$type, E> {
                        Err(bare(&$notation, number))
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }

        #[cfg(feature = "schema")]
        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $about })
            }
        }
    };
}

fn bare<E: de::Error>(notation: &Notation, number: impl fmt::Display) -> E {
    E::custom(format_args!(
        "the bare number `{number}` is not {}: it needs a unit, such as `{}`",
        notation.what, notation.example
    ))
}

quantity!(
    Duration,
    TIME,
    "Duration",
    "A length of time: ns, us, ms, s, min or h, such as `20ms`.",
    |raw| Self::from_picos(raw),
    |value| value.as_picos()
);
quantity!(
    Instant,
    TIME,
    "Instant",
    "A time since the start of the run, such as `30s`.",
    |raw| Self::from_picos(raw),
    |value| value.as_picos()
);
quantity!(
    Rate,
    RATE,
    "Rate",
    "A rate: bit, kbit, mbit, gbit (powers of 1000) or kBps, MBps, such as `10mbit`.",
    |raw| Self::from_bits(raw),
    |value| value.as_bits()
);
quantity!(
    Bytes,
    SIZE,
    "Bytes",
    "A size: B, kB, MB, KiB or MiB, such as `1500B`.",
    |raw| Self(raw),
    |value| value.0
);
quantity!(Packets, COUNT, "Packets", "A number of packets, such as `100p`.", |raw| Self(raw), |value| value
    .0);

const LIMIT: Notation =
    Notation { what: "a limit", example: "100p` or `64kB", units: &[("p", 1), ("B", 1)], refused: &[] };

impl FromStr for Limit {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        if text.trim().ends_with('p') {
            text.parse().map(Self::Packets)
        } else {
            SIZE.parse(text).map(|bytes| Self::Bytes(Bytes(bytes))).map_err(|error| Malformed {
                what: LIMIT.what,
                why: format!("{}; packets are written `100p`", error.why),
                ..error
            })
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => packets.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

textual!(Limit, LIMIT, "Limit", "How much may wait: packets such as `100p`, or bytes such as `64kB`.");

const THRESHOLD: Notation =
    Notation { what: "a threshold", example: "1ms` or `5p", units: &[("p", 1), ("s", 1)], refused: &[] };

impl FromStr for Threshold {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        if text.trim().ends_with('p') {
            text.parse().map(Self::Packets)
        } else {
            text.parse().map(Self::Time).map_err(|error: Malformed| Malformed {
                what: THRESHOLD.what,
                why: format!("{}; packets are written `5p`", error.why),
                ..error
            })
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => time.fmt(f),
            Self::Packets(packets) => packets.fmt(f),
        }
    }
}

textual!(Threshold, THRESHOLD, "Threshold", "A waiting such as `1ms`, or a number of packets such as `5p`.");

const OVERHEAD: Notation =
    Notation { what: "an overhead", example: "38B` or `-4B", units: &[("B", 1)], refused: &[] };

impl FromStr for Overhead {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let fail = |why: &str| Malformed::new(OVERHEAD.what, text, why);
        let (below, size) = match text.trim().strip_prefix('-') {
            Some(size) => (true, size),
            None => (false, text),
        };
        let Bytes(bytes) = size.parse().map_err(|error: Malformed| fail(&error.why))?;
        let bytes = i64::try_from(bytes).map_err(|_| fail("it is too large"))?;
        Ok(Self(if below { -bytes } else { bytes }))
    }
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 < 0 { "-" } else { "" })?;
        Bytes(self.0.unsigned_abs()).fmt(f)
    }
}

textual!(Overhead, OVERHEAD, "Overhead", "Bytes added to every frame, or left out: `38B`, `-4B`.");

impl FromStr for Probability {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let fail = || Malformed::new("a probability", text, "it is between `0%` and `100%`");
        let percent = text.trim().strip_suffix('%').ok_or_else(fail)?;
        let value: f64 = percent.trim().parse().map_err(|_| fail())?;
        Self::from_f64(value / 100.0).ok_or_else(fail)
    }
}

impl Probability {
    /// Returns the number of the fewest digits that, divided by `scale`, is read as this probability: 0.1 for
    /// its nearest step of 2^-32, which is 0.10000000009313226.
    fn shortest(self, scale: f64) -> f64 {
        let exact = self.as_f64() * scale;
        let rounded = |digits: usize| format!("{exact:.digits$e}").parse::<f64>().ok();
        let is_same = |value: &f64| Self::from_f64(value / scale) == Some(self);
        (0..17).filter_map(rounded).find(is_same).unwrap_or(exact)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.shortest(100.0))
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.shortest(1.0))
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fraction;
        impl de::Visitor<'_> for Fraction {
            type Value = Probability;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability: `0.01` or `1%`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Probability, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Probability, E> {
                Probability::from_f64(value).ok_or_else(|| {
                    E::custom(format_args!("`{value}` is not a probability: it is between 0 and 1"))
                })
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Probability, E> {
                self.visit_f64(value as f64)
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Probability, E> {
                self.visit_f64(value as f64)
            }
        }
        deserializer.deserialize_any(Fraction)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for Probability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "type": "string", "pattern": "%$" }],
            "description": "A probability: `0.01` or `1%`."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn why<T: FromStr<Err = Malformed> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().expect_err("must be refused").to_string()
    }

    #[test]
    fn quantities_are_read_exactly() {
        assert_eq!("20ms".parse(), Ok(Duration::from_millis(20)));
        assert_eq!("1.5 us".parse(), Ok(Duration::from_picos(1_500_000)));
        assert_eq!("2min".parse(), Ok(Duration::from_secs(120)));
        assert_eq!("10Mbit/s".parse(), Ok(Rate::from_bits(10_000_000)));
        assert_eq!("1_000kBps".parse(), Ok(Rate::from_bits(8_000_000)));
        assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("100p".parse(), Ok(Limit::Packets(Packets(100))));
        assert_eq!("1.5kB".parse(), Ok(Limit::Bytes(Bytes(1_500))));
        assert_eq!("1%".parse::<Probability>().map(|p| p.hits(42_949_672)), Ok(true));
        assert_eq!("1%".parse::<Probability>().map(|p| p.hits(42_949_674)), Ok(false));
    }

    #[test]
    fn ambiguous_and_unitless_texts_are_refused_with_the_way_out() {
        assert!(why::<Rate>("100kbps").contains("write `kbit`"));
        assert!(why::<Rate>("10").contains("needs a unit, such as `10mbit`"));
        assert!(why::<Duration>("5m").contains("`min` or `ms`"));
        assert!(why::<Duration>("0.1ps").contains("finer"));
        // What is finer by less than a millionth is rounded to the nearest.
        assert_eq!("0.8888888888888888ms".parse(), Ok(Duration::from_picos(888_888_889)));
        assert_eq!("333.3333333333333kbit".parse(), Ok(Rate::from_bits(333_333)));
        assert_eq!("1234567.5B".parse(), Ok(Bytes(1_234_567)));
        assert_eq!("1234567.51B".parse(), Ok(Bytes(1_234_568)));
        for text in ["1.5B", "333.3B", "0.0000001B"] {
            assert!(why::<Bytes>(text).contains("finer"), "{text}");
        }
        assert!(why::<Packets>("2.5p").contains("finer") && why::<Rate>("0.5bit").contains("finer"));
        assert!(why::<Duration>("999999999h").contains("too large"));
        assert!(why::<Bytes>("64kb").contains("`kB`"));
        assert!(why::<Limit>("64").contains("100p"));
        assert!(why::<Probability>("101%").contains("between"));
        assert!(why::<Duration>("").contains("start with a number"));
        assert!(why::<Duration>("1..5s").contains("is not a duration"));
        let error =
            toml::from_str::<std::collections::BTreeMap<String, Rate>>("rate = 10").expect_err("bare");
        assert!(error.to_string().contains("bare number `10` is not a rate"), "{error}");
    }

    #[test]
    fn quantities_are_printed_in_the_fewest_digits() {
        let printed = |text: &str| text.parse::<Bytes>().expect("a size").to_string();
        let sizes = ["32MiB", "64KiB", "1GiB", "1514B", "1250kB", "2.56MB", "64000KiB", "3000KiB", "0B"];
        let shown = ["32MiB", "64KiB", "1GiB", "1.514kB", "1.25MB", "2.56MB", "65.536MB", "3.072MB", "0B"];
        assert_eq!(sizes.map(printed), shown);
        let printed = |text: &str| text.parse::<Probability>().expect("a probability");
        let shown = |text: &str| (printed(text).to_string(), serde_json::json!(printed(text)).to_string());
        for (text, number) in
            [("10%", "0.1"), ("2%", "0.02"), ("0%", "0.0"), ("100%", "1.0"), ("0.125%", "0.00125")]
        {
            assert_eq!(shown(text), (text.to_owned(), number.to_owned()));
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_printed_is_read_back(value: u64) {
            let probability = Probability(value % ((1 << 32) + 1));
            proptest::prop_assert_eq!(probability.to_string().parse(), Ok(probability));
            proptest::prop_assert_eq!(Probability::from_f64(probability.shortest(1.0)), Some(probability));
            proptest::prop_assert_eq!(Duration::from_picos(value).to_string().parse(), Ok(Duration::from_picos(value)));
            proptest::prop_assert_eq!(Rate::from_bits(value).to_string().parse(), Ok(Rate::from_bits(value)));
            proptest::prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            proptest::prop_assert_eq!(Packets(value).to_string().parse(), Ok(Packets(value)));
            let overhead = Overhead((value >> 1).cast_signed() - (1 << 62));
            proptest::prop_assert_eq!(overhead.to_string().parse(), Ok(overhead));
            let threshold = Threshold::Time(Duration::from_picos(value));
            proptest::prop_assert_eq!(threshold.to_string().parse(), Ok(threshold));
            let threshold = Threshold::Packets(Packets(value));
            proptest::prop_assert_eq!(threshold.to_string().parse(), Ok(threshold));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text: String) {
            let _ = text.parse::<Duration>();
            let _ = text.parse::<Limit>();
            let _ = text.parse::<Probability>();
            let _ = text.parse::<Threshold>();
            let _ = text.parse::<Overhead>();
        }
    }
}
