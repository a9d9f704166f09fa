//! A packet of a box: the smallest, of usual kinds first.

use core::net::IpAddr;

use lockgate_engine::classify::PROTOCOL_OTHER;

use crate::field::{Field, address};
use crate::region::{Region, Space};
use crate::spans::Spans;

/// Protocols that are preferred: UDP, TCP, ICMP.
const USUAL: [u128; 3] = [17, 6, 1];

/// Least length of a frame of Ethernet, without its checksum.
const SHORTEST: u128 = 60;

/// Returns the least length of a frame with a packet of this version and protocol.
fn shortest(version: u128, protocol: u128) -> u128 {
    let ip = if version == 6 { 40 } else { 20 };
    let header = match protocol {
        6 => 20,
        1 | 17 | 58 => 8,
        _ => 0,
    };
    SHORTEST.max(14 + ip + header)
}

/// A packet that shows a difference: of each field the lowest number, but a usual protocol, a length that a
/// frame can have, and an address and a port that are not zero, where the box has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    numbers: [u128; Field::COUNT],
}

impl Packet {
    /// Returns the smallest packet of a box that is in `space`; `None` if there is none.
    pub fn smallest(region: &Region, space: &Space) -> Option<Self> {
        let packets = space.parts().iter().filter_map(|part| Self::of(&part.and(region)?));
        packets.min_by_key(|packet| {
            let version = packet.number(Field::Version);
            let rank = USUAL.iter().position(|usual| *usual == packet.number(Field::Protocol));
            (version == 0, version, rank.unwrap_or(USUAL.len()))
        })
    }

    /// Returns the smallest packet of a box.
    pub(crate) fn of(region: &Region) -> Option<Self> {
        let mut numbers = [0; Field::COUNT];
        for field in Field::ALL {
            let spans = region.field(field);
            let from = |least: u128| spans.and(&Spans::range(least, field.most())).ends().map(|(low, _)| low);
            let wished = match field {
                Field::Version => from(4),
                Field::Protocol => USUAL.into_iter().find(|usual| spans.contains(*usual)),
                Field::Length => {
                    from(shortest(numbers[Field::Version as usize], numbers[Field::Protocol as usize]))
                }
                Field::Source | Field::Destination | Field::SourcePort | Field::DestinationPort => from(1),
                _ => None,
            };
            numbers[field as usize] = wished.or_else(|| from(0))?;
        }
        Some(Self { numbers })
    }

    /// Returns the number of a field.
    pub fn number(&self, field: Field) -> u128 {
        self.numbers[field as usize]
    }

    /// Returns the numbers of all fields.
    pub fn numbers(&self) -> [u128; Field::COUNT] {
        self.numbers
    }

    /// Returns source and destination; `None` of a frame without an IP packet.
    pub fn addresses(&self) -> Option<[IpAddr; 2]> {
        let version = self.number(Field::Version);
        let is_ip = version != 0 && self.number(Field::Protocol) != u128::from(PROTOCOL_OTHER);
        is_ip.then(|| [Field::Source, Field::Destination].map(|field| address(version, self.number(field))))
    }
}
