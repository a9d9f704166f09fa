//! Filter of acknowledgements: which waiting acknowledgement an arriving segment supersedes.
//!
//! ```text
//! head [ data | ack 10 | ack 20 | dup 20 ] <- ack 30        true: ack 10 (a second one stays)
//!                 ^ the oldest that acknowledges less       aggressive: ack 10, then ack 20 at the next arrival
//! ```

use core::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::classify::Acknowledgement;
use crate::discipline::Context;
use crate::packet::Packet;

/// Filtering of acknowledgements. In files `false`, `true` or `"aggressive"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckFilter {
    /// None.
    #[default]
    Off,
    /// At least two acknowledgements of a connection stay.
    Conservative,
    /// At least one stays.
    Aggressive,
}

const AGGRESSIVE: &str = "aggressive";

impl Serialize for AckFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Conservative => serializer.serialize_bool(true),
            Self::Aggressive => serializer.serialize_str(AGGRESSIVE),
        }
    }
}

impl<'de> Deserialize<'de> for AckFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl de::Visitor<'_> for Either {
            type Value = AckFilter;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, `false` or `\"aggressive\"`")
            }
            fn visit_bool<E: de::Error>(self, is_on: bool) -> Result<AckFilter, E> {
                Ok(if is_on { AckFilter::Conservative } else { AckFilter::Off })
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<AckFilter, E> {
                match word {
                    AGGRESSIVE => Ok(AckFilter::Aggressive),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for AckFilter {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AckFilter".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": [false, true, AGGRESSIVE] })
    }
}

/// Bits of the TCP header.
mod flag {
    pub(super) const FIN: u8 = 0x01;
    pub(super) const SYN: u8 = 0x02;
    pub(super) const RST: u8 = 0x04;
    pub(super) const ACK: u8 = 0x10;
    pub(super) const URG: u8 = 0x20;
    pub(super) const ECE: u8 = 0x40;
    pub(super) const CWR: u8 = 0x80;
}

/// Returns the acknowledgement of a packet, if it has one and none of these flags.
fn without(packet: &Packet, flags: u8, cx: &Context<'_>) -> Option<Acknowledgement> {
    let has_one = packet.tcp_flags & (flags | flag::ACK) == flag::ACK;
    if has_one { cx.headers.acknowledgement(packet) } else { None }
}

/// Returns the acknowledgement of a packet that has nothing else to say. A segment with an echo of a
/// congestion mark, or with blocks of SACK, tells its receiver more than the number.
pub(super) fn redundant(packet: &Packet, cx: &Context<'_>) -> Option<Acknowledgement> {
    const MORE: u8 = flag::FIN | flag::SYN | flag::RST | flag::URG | flag::ECE | flag::CWR;
    without(packet, MORE, cx).filter(|acknowledgement| acknowledgement.is_bare)
}

/// Returns the acknowledgement of a packet by which it may supersede others, data or not. One that echoes a
/// mark would apply the mark to what the others acknowledged.
pub(super) fn superseding(packet: &Packet, cx: &Context<'_>) -> Option<Acknowledgement> {
    without(packet, flag::SYN | flag::RST | flag::ECE | flag::CWR, cx)
}
