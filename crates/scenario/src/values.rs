//! Small values as written in files: addresses, port ranges, code points, signed times.
//!
//! Each is a text (some also a whole number), read by [`TextValue`]; serde and the schema derive from it.

use core::fmt;
use core::marker::PhantomData;
use core::net::IpAddr;
use core::ops::RangeInclusive;

use lockgate_engine::classify::PROTOCOL_OTHER;
use lockgate_engine::overhead::{LINES, Line};
use lockgate_engine::units::{Bytes, Duration, Overhead};
#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};

use crate::refusal::Refusal;

/// A value written as a text or a whole number.
#[cfg_attr(not(feature = "schema"), allow(dead_code, reason = "the schema shows them"))]
pub(crate) trait TextValue: Sized {
    /// Name in the schema.
    const NAME: &'static str;
    /// Description, with the notation, for users.
    const ABOUT: &'static str;
    /// Name in errors, with its article.
    const WHAT: &'static str;
    /// Example of the notation.
    const EXAMPLE: &'static str;
    /// JSON types that the schema allows.
    const TYPES: &'static [&'static str] = &["string"];

    /// Reads a text; the error says what is allowed.
    fn from_text(text: &str) -> Result<Self, Refusal>;

    /// Reads a whole number.
    fn from_number(number: i64) -> Result<Self, Refusal> {
        let _ = number;
        Err(format!("it is a text, such as `{}`", Self::EXAMPLE).into())
    }
}

fn refuse<T: TextValue, E: de::Error>(value: impl fmt::Display, why: impl fmt::Display) -> E {
    let value: String = value.to_string().chars().take(40).collect();
    E::custom(format_args!("`{value}` is not {}: {why}", T::WHAT))
}

struct Reader<T>(PhantomData<T>);

impl<T: TextValue> de::Visitor<'_> for Reader<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, such as `{}`", T::WHAT, T::EXAMPLE)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(|why| refuse::<T, E>(text, why))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        T::from_number(number).map_err(|why| refuse::<T, E>(number, why))
    }
}

/// One value, or a list of them.
#[derive(Clone, Debug)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<T>);

struct ManyReader<T>(PhantomData<T>);

impl<'de, T: TextValue + Deserialize<'de>> de::Visitor<'de> for ManyReader<T> {
    type Value = OneOrMany<T>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} or a list of them, such as `{}`", T::WHAT, T::EXAMPLE)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMany<T>, E> {
        Reader(PhantomData).visit_str(text).map(|one| OneOrMany(vec![one]))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<OneOrMany<T>, E> {
        Reader(PhantomData).visit_i64(number).map(|one| OneOrMany(vec![one]))
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany<T>, A::Error> {
        let mut many = Vec::new();
        while let Some(one) = list.next_element()? {
            many.push(one);
        }
        if many.is_empty() {
            return Err(de::Error::custom("an empty list matches nothing: name at least one"));
        }
        Ok(OneOrMany(many))
    }
}

impl<'de, T: TextValue + Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ManyReader(PhantomData))
    }
}

#[cfg(feature = "schema")]
impl<T: TextValue> JsonSchema for OneOrMany<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}s", T::NAME).into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": format!("{} One, or a list of which any holds.", T::ABOUT),
            "anyOf": [
                { "type": T::TYPES },
                { "type": "array", "minItems": 1, "items": { "type": T::TYPES } },
            ],
        })
    }
}

macro_rules! text_values {
    ($($type:ident),* $(,)?) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Reader(PhantomData))
            }
        }

        #[cfg(feature = "schema")]
        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                Self::NAME.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": Self::TYPES, "description": Self::ABOUT })
            }
        }
    )*};
}

text_values!(
    Address,
    Endpoint,
    SignedTime,
    Drift,
    Ports,
    Protocol,
    Dscp,
    Tos,
    FlowLabel,
    Lengths,
    LinkOverhead,
    TcpFlag,
    Mark,
    Name,
    Carrier,
    Amount,
);

#[cfg_attr(not(feature = "schema"), allow(dead_code, reason = "the schema shows it"))]
const TEXT_OR_NUMBER: &[&str] = &["string", "integer"];

/// An IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) IpAddr);

impl TextValue for Address {
    const NAME: &'static str = "Address";
    const ABOUT: &'static str = "An IPv4 or IPv6 address, such as `192.0.2.1`.";
    const WHAT: &'static str = "an address";
    const EXAMPLE: &'static str = "192.0.2.1";
    fn from_text(text: &str) -> Result<Self, Refusal> {
        // A table of subscribers has all of a circuit's: a list, and prefixes.
        let first = text.split(',').map(str::trim).find(|part| !part.is_empty()).unwrap_or_default();
        let network = || first.parse().ok().map(|network: ipnet::IpNet| network.addr());
        let address = first.parse().ok().or_else(network);
        let address = address.ok_or("it is written like `192.0.2.1` or `2001:db8::1`")?;
        Ok(Self(address))
    }
}

/// A node's name, an address or a prefix; resolved once the nodes are known.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint(pub(crate) String);

impl TextValue for Endpoint {
    const NAME: &'static str = "Endpoint";
    const ABOUT: &'static str = "A node's name, an address or a prefix such as `192.0.2.0/24`.";
    const WHAT: &'static str = "a node or an address";
    const EXAMPLE: &'static str = "server";
    fn from_text(text: &str) -> Result<Self, Refusal> {
        Ok(Self(text.to_owned()))
    }
}

/// Splits a leading sign off.
fn signed<T>(text: &str, read: impl FnOnce(&str) -> Result<T, Refusal>) -> Result<(bool, T), Refusal> {
    let text = text.trim();
    match text.strip_prefix('-') {
        Some(rest) => Ok((true, read(rest)?)),
        None => Ok((false, read(text.strip_prefix('+').unwrap_or(text))?)),
    }
}

/// A time that may be negative, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignedTime(pub(crate) i64);

impl TextValue for SignedTime {
    const NAME: &'static str = "SignedTime";
    const ABOUT: &'static str = "A length of time that may be negative, such as `-3ms`.";
    const WHAT: &'static str = "a time";
    const EXAMPLE: &'static str = "-3ms";
    fn from_text(text: &str) -> Result<Self, Refusal> {
        let why = || Refusal::from(format!("it is written with its unit, such as `{}`", Self::EXAMPLE));
        let (negative, time) = signed(text, |text| text.parse::<Duration>().map_err(|_| why()))?;
        let picos = i64::try_from(time.as_picos()).map_err(|_| "it is at most `2562h`")?;
        Ok(Self(if negative { -picos } else { picos }))
    }
}

/// Relative excess of a clock's speed over true time, in parts per billion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drift(pub(crate) i64);

impl TextValue for Drift {
    const NAME: &'static str = "Drift";
    const ABOUT: &'static str =
        "How much faster than true time a clock runs: `20ppm`, `-5ppb`, at most `100000ppm`.";
    const WHAT: &'static str = "a drift";
    const EXAMPLE: &'static str = "20ppm";
    fn from_text(text: &str) -> Result<Self, Refusal> {
        let why = || Refusal::from("it is a whole number of `ppm` or `ppb`, such as `20ppm` or `-5ppb`");
        let (negative, ppb) = signed(text, |text| {
            let (number, scale) = match (text.strip_suffix("ppm"), text.strip_suffix("ppb")) {
                (Some(number), _) => (number, 1000),
                (_, Some(number)) => (number, 1),
                _ => return Err(why()),
            };
            let number: i64 = number.trim().parse().map_err(|_| why())?;
            number
                .checked_mul(scale)
                .filter(|ppb| (0..=100_000_000).contains(ppb))
                .ok_or_else(|| "a clock is at most `100000ppm` wrong".into())
        })?;
        Ok(Self(if negative { -ppb } else { ppb }))
    }
}

/// A port or a range of ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ports(pub(crate) RangeInclusive<u16>);

impl TextValue for Ports {
    const NAME: &'static str = "Ports";
    const ABOUT: &'static str = "A port, or a range of ports such as `\"5060-5070\"`.";
    const WHAT: &'static str = "a port or a range of ports";
    const EXAMPLE: &'static str = "5060-5070";
    const TYPES: &'static [&'static str] = TEXT_OR_NUMBER;
    fn from_text(text: &str) -> Result<Self, Refusal> {
        let why = || Refusal::from("it is a number from 0 to 65535, or two of them such as `5060-5070`");
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let (low, high) = (low.trim().parse().map_err(|_| why())?, high.trim().parse().map_err(|_| why())?);
        if low > high {
            return Err(format!("the range is empty: write `{high}-{low}`").into());
        }
        Ok(Self(low..=high))
    }
    fn from_number(number: i64) -> Result<Self, Refusal> {
        let port = u16::try_from(number).map_err(|_| "a port is from 0 to 65535")?;
        Ok(Self(port..=port))
    }
}

/// An IP protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Protocol(pub(crate) u8);

impl TextValue for Protocol {
    const NAME: &'static str = "Protocol";
    const ABOUT: &'static str =
        "An IP protocol: `udp`, `tcp`, `icmp`, `icmpv6`, `sctp`, its number, or `other`: no IP at all.";
    const WHAT: &'static str = "a protocol";
    const EXAMPLE: &'static str = "udp";
    const TYPES: &'static [&'static str] = TEXT_OR_NUMBER;
    fn from_text(text: &str) -> Result<Self, Refusal> {
        let known =
            [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmpv6", 58), ("sctp", 132), ("other", PROTOCOL_OTHER)];
        let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        match found {
            Some((_, number)) => Ok(Self(*number)),
            None => text.parse().map(Self).map_err(|_| {
                "it is one of `udp`, `tcp`, `icmp`, `icmpv6`, `sctp`, `other`, or a number from 0 to 255"
                    .into()
            }),
        }
    }
    fn from_number(number: i64) -> Result<Self, Refusal> {
        u8::try_from(number).map(Self).map_err(|_| "it is from 0 to 255".into())
    }
}

/// Overhead of a link or a port: bytes, or a line by the name that `tc` has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkOverhead {
    Bytes(Overhead),
    /// The line's minimum and framing, too.
    Line(Line),
}

impl TextValue for LinkOverhead {
    const NAME: &'static str = "LinkOverhead";
    const ABOUT: &'static str =
        "Bytes that a link adds to each packet, such as `18B`, or a link's name, such as `docsis`.";
    const WHAT: &'static str = "an overhead";
    const EXAMPLE: &'static str = "18B";
    fn from_text(text: &str) -> Result<Self, Refusal> {
        if let Some(line) = Line::named(text) {
            return Ok(Self::Line(line));
        }
        text.parse().map(Self::Bytes).map_err(|_| {
            let names = LINES.map(|line| line.name);
            format!("it is written like `18B`, or one of {}", names.join(", ")).into()
        })
    }
}

/// A differentiated services code point, 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dscp(pub(crate) u8);

impl Dscp {
    /// Returns its name, or its number.
    #[cfg(feature = "tools")]
    pub(crate) fn name(self) -> String {
        match (self.0, self.0 >> 3, self.0 & 7) {
            (46, ..) => "EF".to_owned(),
            (1, ..) => "LE".to_owned(),
            (0, ..) => "DF".to_owned(),
            (_, class, 0) => format!("CS{class}"),
            (_, class @ 1..=4, drop @ (2 | 4 | 6)) => format!("AF{class}{}", drop / 2),
            (code, ..) => code.to_string(),
        }
    }
}

impl TextValue for Dscp {
    const NAME: &'static str = "Dscp";
    const ABOUT: &'static str = "A differentiated services code point: `EF`, `AF11` to `AF43`, `CS0` to `CS7`, `LE`, `VA`, `NQB`, `DF`, or its number.";
    const WHAT: &'static str = "a DSCP";
    const EXAMPLE: &'static str = "EF";
    const TYPES: &'static [&'static str] = TEXT_OR_NUMBER;
    fn from_text(text: &str) -> Result<Self, Refusal> {
        let why = || {
            Refusal::from("it is `EF`, `AF11` to `AF43`, `CS0` to `CS7`, `LE`, `VA`, `NQB`, `DF`, or 0 to 63")
        };
        let upper = text.to_ascii_uppercase();
        let digits = |from: usize| -> Vec<u8> {
            upper.bytes().skip(from).map(|byte| byte.wrapping_sub(b'0')).collect()
        };
        match (upper.as_str(), digits(2).as_slice()) {
            // RFC 3246, RFC 8622, RFC 5865, RFC 9956, RFC 2474.
            ("EF", _) => Ok(Self(46)),
            ("LE", _) => Ok(Self(1)),
            ("VA" | "VOICE-ADMIT", _) => Ok(Self(44)),
            ("NQB", _) => Ok(Self(45)),
            ("DF" | "BE", _) => Ok(Self(0)),
            // RFC 2474 section 4.2.2: class selectors; RFC 2597 section 6: 8 * class + 2 * drop precedence.
            (name, &[class @ 0..=7]) if name.starts_with("CS") => Ok(Self(8 * class)),
            (name, &[class @ 1..=4, drop @ 1..=3]) if name.starts_with("AF") => {
                Ok(Self(8 * class + 2 * drop))
            }
            _ => text.parse().ok().filter(|code| *code < 64).map(Self).ok_or_else(why),
        }
    }
    fn from_number(number: i64) -> Result<Self, Refusal> {
        u8::try_from(number)
            .ok()
            .filter(|code| *code < 64)
            .map(Self)
            .ok_or_else(|| "it is from 0 to 63; for the whole byte of the header write `tos`".into())
    }
}

/// The byte of the IP header that holds DSCP and ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tos(pub(crate) u8);

impl TextValue for Tos {
    const NAME: &'static str = "Tos";
    const ABOUT: &'static str = "The whole type-of-service byte (DSCP and ECN), such as `0xb8`.";
    const WHAT: &'static str = "a type-of-service byte";
    const EXAMPLE: &'static str = "0xb8";
    const TYPES: &'static [&'static str] = TEXT_OR_NUMBER;
    fn from_text(text: &str) -> Result<Self, Refusal> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let read = digits.map_or_else(|| text.parse(), |digits| u8::from_str_radix(digits, 16));
        read.map(Self).map_err(|_| "it is from 0 to 255, such as `0xb8`".into())
    }
    fn from_number(number: i64) -> Result<Self, Refusal> {
        u8::try_from(number).map(Self).map_err(|_| "it is from 0 to 255".into())
    }
}

/// An IPv6 flow label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowLabel(pub(crate) u32);

impl TextValue for FlowLabel {
    const NAME: &'static str = "FlowLabel";
    const ABOUT: &'static str = "An IPv6 flow label, 0 to 1048575.";
    const WHAT: &'static str = "a flow label";
    const EXAMPLE: &'static str = "7";
    const TYPES: &'static [&'static str] = &["integer"];
    fn from_text(_: &str) -> Result<Self, Refusal> {
        Err("it is a number from 0 to 1048575, without quotes".into())
    }
    fn from_number(number: i64) -> Result<Self, Refusal> {
        let label = u32::try_from(number).ok().filter(|label| *label < 1 << 20);
        label.map(Self).ok_or_else(|| "it has 20 bits: 0 to 1048575".into())
    }
}

/// A range of frame lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lengths(pub(crate) RangeInclusive<u32>);

impl TextValue for Lengths {
    const NAME: &'static str = "Lengths";
    const ABOUT: &'static str = "A frame length such as `64B`, or a range such as `64B-128B`.";
    const WHAT: &'static str = "a length or a range of lengths";
    const EXAMPLE: &'static str = "64B-128B";
    fn from_text(text: &str) -> Result<Self, Refusal> {
        let read = |text: &str| {
            let bytes = text
                .trim()
                .parse::<Bytes>()
                .map_err(|_| "it is a size such as `64B`, or two such as `64B-128B`")?;
            u32::try_from(bytes.0).map_err(|_| Refusal::from("no frame is that long"))
        };
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let range = read(low)?..=read(high)?;
        if range.is_empty() {
            return Err("the range is empty: its ends are the wrong way round".into());
        }
        Ok(Self(range))
    }
    fn from_number(_: i64) -> Result<Self, Refusal> {
        Err("it needs a unit, such as `64B` or `64B-128B`".into())
    }
}

/// A TCP flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpFlag(pub(crate) u8);

impl TextValue for TcpFlag {
    const NAME: &'static str = "TcpFlag";
    const ABOUT: &'static str = "A TCP flag: `fin`, `syn`, `rst`, `psh`, `ack`, `urg`, `ece` or `cwr`.";
    const WHAT: &'static str = "a TCP flag";
    const EXAMPLE: &'static str = "syn";
    fn from_text(text: &str) -> Result<Self, Refusal> {
        // RFC 9293 section 3.1, from the lowest bit.
        let flags = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
        let bit = flags.iter().position(|flag| flag.eq_ignore_ascii_case(text));
        bit.map(|bit| Self(1 << bit)).ok_or_else(|| format!("it is one of `{}`", flags.join("`, `")).into())
    }
}

/// A mark of packets, compared where the mask has ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) value: u32,
    pub(crate) mask: u32,
}

impl Mark {
    /// Returns whether a packet of this mark is meant.
    pub(crate) fn matches(self, mark: u32) -> bool {
        (mark ^ self.value) & self.mask == 0
    }
}

impl TextValue for Mark {
    const NAME: &'static str = "Mark";
    const ABOUT: &'static str =
        "A firewall's mark, such as `1` or `\"0x10\"`; in a `match` also with a mask, `\"0x10/0xff\"`.";
    const WHAT: &'static str = "a mark";
    const EXAMPLE: &'static str = "0x10/0xff";
    const TYPES: &'static [&'static str] = TEXT_OR_NUMBER;
    fn from_text(text: &str) -> Result<Self, Refusal> {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) if !digits.starts_with('+') => u32::from_str_radix(digits, 16).ok(),
            _ => text.parse().ok(),
        };
        let (value, mask) = text.split_once('/').unwrap_or((text, "0xffffffff"));
        let both = number(value).zip(number(mask));
        let (value, mask) = both.ok_or("it is a number of 32 bits, or two of them such as `0x10/0xff`")?;
        if value & !mask != 0 {
            return Err("the mark has bits that its mask leaves out, so no packet has it".into());
        }
        Ok(Self { value, mask })
    }
    fn from_number(number: i64) -> Result<Self, Refusal> {
        let value = u32::try_from(number).map_err(|_| "it has 32 bits: 0 to 4294967295")?;
        Ok(Self { value, mask: u32::MAX })
    }
}

/// The name of another object in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub(crate) String);

impl TextValue for Name {
    const NAME: &'static str = "Name";
    const ABOUT: &'static str = "The name of a flow.";
    const WHAT: &'static str = "a name";
    const EXAMPLE: &'static str = "voice";
    fn from_text(text: &str) -> Result<Self, Refusal> {
        Ok(Self(text.to_owned()))
    }
}

/// Transport protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Udp,
    Tcp,
}

impl TextValue for Carrier {
    const NAME: &'static str = "Transport";
    const ABOUT: &'static str = "How the flow is carried: `udp` or `tcp`.";
    const WHAT: &'static str = "a transport";
    const EXAMPLE: &'static str = "udp";
    fn from_text(text: &str) -> Result<Self, Refusal> {
        match text.to_ascii_lowercase().as_str() {
            "udp" => Ok(Self::Udp),
            "tcp" => Ok(Self::Tcp),
            _ => Err("it is `udp` or `tcp`".into()),
        }
    }
}

/// An amount of data, or unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount(pub(crate) Option<Bytes>);

impl TextValue for Amount {
    const NAME: &'static str = "Amount";
    const ABOUT: &'static str = "A size such as `1MB`, or `unlimited`.";
    const WHAT: &'static str = "an amount of data";
    const EXAMPLE: &'static str = "1MB";
    fn from_text(text: &str) -> Result<Self, Refusal> {
        if text == "unlimited" {
            return Ok(Self(None));
        }
        let bytes = text.parse::<Bytes>().map_err(|_| "it is a size such as `1MB`, or `unlimited`")?;
        Ok(Self(Some(bytes)))
    }
    fn from_number(_: i64) -> Result<Self, Refusal> {
        Err("it needs a unit, such as `1MB`; or it is `unlimited`".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_have_their_names() {
        for (text, code) in
            [("EF", 46), ("af41", 34), ("AF13", 14), ("CS6", 48), ("LE", 1), ("NQB", 45), ("63", 63)]
        {
            assert_eq!(Dscp::from_text(text), Ok(Dscp(code)), "{text}");
        }
        for text in ["AF44", "AF51", "CS8", "64", "", "AF1", "EFG"] {
            assert!(Dscp::from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_and_signs_are_read_and_bounded() {
        assert_eq!(Ports::from_text("5060-5070"), Ok(Ports(5060..=5070)));
        assert!(Ports::from_text("2-1").is_err_and(|why| why.to_string().contains("`1-2`")));
        assert!(Ports::from_number(65_536).is_err());
        assert_eq!(SignedTime::from_text("-3ms"), Ok(SignedTime(-3_000_000_000)));
        assert!(SignedTime::from_text("--3ms").is_err());
        assert!(SignedTime::from_text("5000h").is_err());
        assert_eq!(Drift::from_text("-20ppm"), Ok(Drift(-20_000)));
        assert!(Drift::from_text("9999999999999999ppm").is_err());
        assert_eq!(LinkOverhead::from_text("-14B"), Ok(LinkOverhead::Bytes(Overhead(-14))));
        assert_eq!(Lengths::from_text("64B-128B"), Ok(Lengths(64..=128)));
        assert_eq!(Tos::from_text("0xb8"), Ok(Tos(184)));
        assert_eq!(TcpFlag::from_text("SYN"), Ok(TcpFlag(2)));
    }
}
