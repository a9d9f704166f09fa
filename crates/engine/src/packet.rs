//! Packets as schedulers see them: an owned handle over a 64-byte header.
//!
//! A [`Packet`] cannot be cloned, so nothing can send it twice. The contents stay with the driver, behind
//! [`Header::payload`]. Headers are recycled through a [`Pool`]: a warm run allocates nothing per packet.

use core::ops::{Deref, DerefMut};

use crate::units::{Bytes, Duration, Instant};

/// Identifier of a flow: an index that the driver assigns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// Packet header for schedulers, classifiers and measurements. One cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Header {
    /// Opaque reference of the driver (a segment, a frame's address); the engine does not read it.
    pub payload: u64,
    /// Time at which the source sent it, in true time: the base of one-way delay.
    pub sent: Instant,
    /// Time at which the source sent it, by the source's own clock: the rank of LIS and SIS.
    pub stamp: Instant,
    /// Time of arrival at this port, in true time.
    pub arrived: Instant,
    /// Waiting time accumulated in the queues before this one.
    pub waited: Duration,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Sequence number within the flow, from 0: loss and reordering are measured by it.
    pub sequence: u32,
    /// TCP sequence number; 0 for other protocols.
    pub tcp_sequence: u32,
    /// Layer-2 frame length in bytes.
    pub length: u32,
    /// Place in the tree of the port that it is in.
    pub position: Position,
    /// Number of routers passed so far.
    pub hops: u8,
    /// DSCP (upper six bits) and ECN (lower two), as in the IP header.
    pub traffic_class: u8,
    /// TCP flags as in the TCP header; 0 for other protocols.
    pub tcp_flags: u8,
}

/// Position of a packet in a tree: the number of the node that it entered last, as assigned by the port, and
/// the index of the child of that node to which it was classified. Both have 20 bits, which is the room in a
/// header of one cache line: a port has at most a million queues ([`Queue::MOST`](crate::port::Queue::MOST)).
///
/// The node's number and part of the child's index share a word that is written and read as a whole. For
/// single bytes the compiler writes each by itself and reads them in pairs. Such a read waits until the
/// writes have reached the cache (no store forwarding), which cost `htb` 10 ns (decision 001).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed)]
pub struct Position {
    /// Node in the lower 20 bits, lower 12 bits of the child above.
    word: u32,
    /// Upper 8 bits of the child.
    high: u8,
}

impl Position {
    /// Bits of a node's number and of a child's index.
    const BITS: u32 = 20;
    /// Number of nodes of a port, and of children of a node, that have a number of their own.
    pub const MOST: usize = 1 << Self::BITS;

    /// Creates the position of a packet for the child with this index, which is limited to 2^20 - 1.
    #[inline]
    pub const fn to_child(index: usize) -> Self {
        let mut position = Self { word: 0, high: 0 };
        position.turn_to(Self::clamp(index) as u32);
        position
    }

    /// Returns `index`, or the largest index if that is smaller.
    #[inline]
    pub const fn clamp(index: usize) -> usize {
        if index < Self::MOST { index } else { Self::MOST - 1 }
    }

    /// Returns the number of the node.
    #[inline(always)]
    pub const fn node(self) -> u32 {
        self.word & (Self::MOST as u32 - 1)
    }

    /// Returns the index of the child.
    #[inline(always)]
    pub const fn child(self) -> usize {
        (self.word >> Self::BITS) as usize | (self.high as usize) << (u32::BITS - Self::BITS)
    }

    /// Sets the node, whose number is below [`MOST`](Self::MOST).
    #[inline(always)]
    pub(crate) const fn enter(&mut self, node: u32) {
        self.word = self.word & !(Self::MOST as u32 - 1) | node;
    }

    /// Sets the child, whose index is below [`MOST`](Self::MOST).
    #[inline(always)]
    pub(crate) const fn turn_to(&mut self, child: u32) {
        self.word = self.node() | child << Self::BITS;
        self.high = (child >> (u32::BITS - Self::BITS)) as u8;
    }
}

/// ECN codepoint "congestion experienced" (RFC 3168 section 5).
const ECN_CE: u8 = 0b11;

impl Header {
    /// Returns the frame length.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        Bytes(u64::from(self.length))
    }

    /// Returns the differentiated services code point, 0..=63 (RFC 2474).
    pub fn dscp(&self) -> u8 {
        self.traffic_class >> 2
    }

    /// Returns whether the sender declared ECN capability (RFC 3168 section 5).
    pub fn is_ecn_capable(&self) -> bool {
        self.traffic_class & 0b11 != 0
    }

    /// Returns whether the packet carries a congestion mark.
    pub fn is_marked(&self) -> bool {
        self.traffic_class & 0b11 == ECN_CE
    }

    /// Clears the code point, but not the ECN bits.
    pub(crate) fn wash(&mut self) {
        self.traffic_class &= ECN_CE;
    }

    /// Sets the code point, and leaves the ECN bits.
    pub(crate) fn set_dscp(&mut self, code: u8) {
        self.traffic_class = code << 2 | self.traffic_class & ECN_CE;
    }

    pub(crate) fn mark(&mut self) {
        self.traffic_class |= ECN_CE;
    }
}

/// One packet, owned by exactly one queue, link or host at a time.
#[derive(Debug)]
pub struct Packet(Box<Header>);

impl Packet {
    /// Allocates a packet with this header. During a run, take it from a [`Pool`] instead.
    pub fn new(header: Header) -> Self {
        Self(Box::new(header))
    }

    /// Returns a copy for the rehearsal of a decision. No node counts it, and it is never sent.
    pub(crate) fn copy(&self) -> Self {
        Self::new(Header { ..*self.0 })
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

/// Free list of packets that left the network.
#[derive(Debug, Default)]
pub struct Pool(Vec<Packet>);

impl Pool {
    /// Returns a packet with this header, recycled if possible.
    #[inline(always)]
    pub fn take(&mut self, header: Header) -> Packet {
        // Written in place once; a copy in both branches would be made twice.
        let mut packet = self.0.pop().unwrap_or_else(Self::allocate);
        *packet = header;
        packet
    }

    #[cold]
    #[inline(never)]
    fn allocate() -> Packet {
        Packet::new(Header::default())
    }

    /// Returns a packet to the free list.
    #[inline]
    pub fn recycle(&mut self, packet: Packet) {
        self.0.push(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_children_are_told_apart_up_to_20_bits() {
        let numbers = [0, 1, 0xFFFF, 0x1_0000, 0xF_FFFF];
        for (node, child) in numbers.into_iter().flat_map(|node| numbers.map(|child| (node, child))) {
            let mut position = Position::to_child(3);
            position.enter(node);
            assert_eq!((position.node(), position.child()), (node, 3));
            position.turn_to(child);
            assert_eq!((position.node(), position.child()), (node, child as usize));
            position.enter(0);
            assert_eq!((position.node(), position.child()), (0, child as usize));
        }
        assert_eq!(Position::to_child(1 << 20), Position::to_child(usize::MAX));
    }

    #[test]
    fn a_header_is_one_cache_line_and_a_packet_one_word() {
        assert!(size_of::<Header>() <= 64);
        assert_eq!(size_of::<Packet>(), 8);
    }
}
