//! Segments, and the slab in which they are kept while their packets are under way.
//!
//! Sequence numbers here count from 0 at the connection's first (the SYN is number 0, data begin at 1) and
//! never wrap; the wrapped number of the header is for classifiers. A packet carries its segment's slot in
//! [`Segments`] as its payload, so no packet allocates.

use lockgate_engine::units::Instant;

/// Flag bits as in the TCP header (RFC 9293 section 3.1).
pub mod flag {
    /// Last data of the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 0x10;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 0x80;
}

/// Maximum number of SACK blocks that fit beside a timestamp (RFC 2018 section 3).
pub const SACK_BLOCKS: usize = 3;

/// Range of sequence numbers: first included, second excluded.
pub type Block = (u64, u64);

/// Content of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of its first byte (or of its SYN or FIN).
    pub sequence: u64,
    /// Next sequence number that its sender expects.
    pub acknowledgment: u64,
    /// Time of sending: its timestamp (RFC 7323).
    pub sent: Instant,
    /// Echoed timestamp; zero if there is none.
    pub echo: Instant,
    /// Length of its data in bytes.
    pub length: u32,
    /// Receive window in bytes beyond `acknowledgment`, scaling (RFC 7323) already applied.
    pub window: u32,
    /// Packets with a congestion mark that its sender has received so far.
    pub marked: u32,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Number of valid blocks in `sack`.
    pub sack_count: u8,
    /// Blocks that arrived beyond `acknowledgment`, or twice (RFC 2018, RFC 2883).
    pub sack: [Block; SACK_BLOCKS],
}

impl Segment {
    /// Returns the sequence numbers it occupies: its data, SYN and FIN.
    #[inline]
    pub fn span(&self) -> u64 {
        let marks = u64::from(self.flags & flag::SYN != 0) + u64::from(self.flags & flag::FIN != 0);
        u64::from(self.length) + marks
    }

    /// Returns the number after its last.
    #[inline]
    pub fn end(&self) -> u64 {
        self.sequence + self.span()
    }

    /// True if all of these flags are set.
    #[inline]
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// Returns the valid blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.sack[..usize::from(self.sack_count).min(SACK_BLOCKS)]
    }

    /// Returns the bytes of its TCP header: 20, the timestamp's 12 with its padding, and 4 plus 8 a block
    /// (RFC 2018, RFC 7323 appendix A). A SYN carries segment size, window scale and SACK permission: 40 in
    /// all.
    pub fn header_bytes(&self) -> u32 {
        if self.flags & flag::SYN != 0 {
            return 40;
        }
        let blocks = u32::from(self.sack_count);
        20 + 12 + if blocks > 0 { 4 + 8 * blocks } else { 0 }
    }
}

/// Slab of the segments of all packets under way.
#[derive(Debug, Default)]
pub struct Segments {
    kept: Vec<Segment>,
    free: Vec<u32>,
}

impl Segments {
    /// Stores a segment. Returns its slot.
    #[inline]
    pub fn keep(&mut self, segment: Segment) -> u64 {
        if let Some(slot) = self.free.pop() {
            self.kept[slot as usize] = segment;
            return u64::from(slot);
        }
        self.kept.push(segment);
        self.kept.len() as u64 - 1
    }

    /// Returns the segment in a slot; `None` if there is no such slot.
    pub fn get(&self, slot: u64) -> Option<&Segment> {
        self.kept.get(slot as usize)
    }

    /// Takes the segment out of its slot, which is free then.
    #[inline]
    pub fn take(&mut self, slot: u64) -> Segment {
        self.free.push(slot as u32);
        self.kept[slot as usize]
    }

    /// Returns true if no segment is stored.
    pub fn is_empty(&self) -> bool {
        self.kept.len() == self.free.len()
    }
}
