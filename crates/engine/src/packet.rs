//! The packet as schedulers see it: an owned handle over a 64-byte header.
//!
//! A [`Packet`] cannot be cloned, so nothing can send it twice, and the contents stay with the driver
//! behind [`Header::payload`]. Headers are recycled through a [`Pool`]: no allocation per packet once
//! a run is warm.

use core::ops::{Deref, DerefMut};

use crate::units::{Bytes, Duration, Instant};

/// Which flow a packet belongs to: an index the driver gives out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// What schedulers, classifiers and measurements may know of a packet. One cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Header {
    /// The driver's own reference (a segment, a frame's address); the engine never looks at it.
    pub payload: u64,
    /// When the source sent it, in true time: what one-way delay is measured from.
    pub sent: Instant,
    /// When the source says it sent it, by its own clock: what LIS and SIS rank by.
    pub stamp: Instant,
    /// When it arrived at this port, in true time.
    pub arrived: Instant,
    /// Waiting accumulated in the queues before this one.
    pub waited: Duration,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Its number within the flow, from 0: what loss and reordering are measured by.
    pub sequence: u32,
    /// Its TCP sequence number; 0 for other protocols.
    pub tcp_sequence: u32,
    /// Layer-2 frame length in bytes.
    pub length: u32,
    /// The tree node it entered last, as numbered by the port. 16 bits: a scenario's port has 4096 queues at most
    /// ([`Place::MOST`](crate::port::Place::MOST)).
    pub node: u16,
    /// Which child of the current node it was classified to.
    pub class: ChildNumber,
    /// Routers passed so far.
    pub hops: u8,
    /// DSCP (upper six bits) and ECN (lower two), as in the IP header.
    pub traffic_class: u8,
    /// TCP flags as in the TCP header; 0 for other protocols.
    pub tcp_flags: u8,
}

/// Which child of a node: in 24 bits, for which a header of one cache line has room.
///
/// In two parts, which are written and read apart: as three bytes the compiler writes them one by one and reads them by two, and
/// the processor waits for such a write to reach the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed)]
pub struct ChildNumber {
    low: u16,
    high: u8,
}

impl ChildNumber {
    const LAST: usize = (1 << 24) - 1;

    /// The number of the child at this place; those beyond what can be told apart have the last.
    #[inline]
    pub const fn new(place: usize) -> Self {
        let place = if place < Self::LAST { place } else { Self::LAST };
        Self { low: place as u16, high: (place >> 16) as u8 }
    }

    /// The child's place.
    #[inline(always)]
    pub const fn place(self) -> usize {
        (self.high as usize) << 16 | self.low as usize
    }
}

/// ECN codepoint "congestion experienced" (RFC 3168 section 5).
const ECN_CE: u8 = 0b11;

impl Header {
    /// Frame length.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        Bytes(u64::from(self.length))
    }

    /// Differentiated services code point, 0..=63 (RFC 2474).
    pub fn dscp(&self) -> u8 {
        self.traffic_class >> 2
    }

    /// Whether the sender declared that it understands ECN marks (RFC 3168 section 5).
    pub fn is_ecn_capable(&self) -> bool {
        self.traffic_class & 0b11 != 0
    }

    /// Whether it carries a congestion mark.
    pub fn is_marked(&self) -> bool {
        self.traffic_class & 0b11 == ECN_CE
    }

    /// Clears the code point, but not the ECN bits.
    pub(crate) fn wash(&mut self) {
        self.traffic_class &= ECN_CE;
    }

    pub(crate) fn mark(&mut self) {
        self.traffic_class |= ECN_CE;
    }
}

/// One packet, owned by exactly one queue, link or host at a time.
#[derive(Debug)]
pub struct Packet(Box<Header>);

impl Packet {
    /// A packet with this header, freshly allocated. In a run, take it from a [`Pool`].
    pub fn new(header: Header) -> Self {
        Self(Box::new(header))
    }
}

impl Deref for Packet {
    type Target = Header;
    #[inline]
    fn deref(&self) -> &Header {
        &self.0
    }
}

impl DerefMut for Packet {
    #[inline]
    fn deref_mut(&mut self) -> &mut Header {
        &mut self.0
    }
}

/// Packets that left the network, waiting to be used again.
#[derive(Debug, Default)]
pub struct Pool(Vec<Packet>);

impl Pool {
    /// A packet with this header.
    #[inline(always)]
    pub fn take(&mut self, header: Header) -> Packet {
        // The header is written where it stays; given to both branches, it would be copied twice.
        let mut packet = self.0.pop().unwrap_or_else(Self::allocate);
        *packet = header;
        packet
    }

    #[cold]
    #[inline(never)]
    fn allocate() -> Packet {
        Packet::new(Header::default())
    }

    /// Gives a packet back.
    #[inline]
    pub fn recycle(&mut self, packet: Packet) {
        self.0.push(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_told_apart_up_to_24_bits() {
        for place in [0, 1, 0xFFFF, 0x1_0000, 0xFF_FFFF] {
            assert_eq!(ChildNumber::new(place).place(), place);
        }
        assert_eq!(ChildNumber::new(1 << 24), ChildNumber::new(usize::MAX));
    }

    #[test]
    fn a_header_is_one_cache_line_and_a_packet_one_word() {
        assert!(size_of::<Header>() <= 64);
        assert_eq!(size_of::<Packet>(), 8);
    }
}
