//! What a segment says, and where segments are kept while their packets are on the way.
//!
//! Sequence numbers here count from 0 at the connection's first (the SYN is number 0, data begin at 1) and
//! never wrap; the wrapped number of the header is for classifiers. A packet carries its segment's place
//! in [`Segments`] as its payload, so no packet allocates.

use lockgate_engine::units::Instant;

/// Flag bits as in the TCP header (RFC 9293 section 3.1).
pub mod flag {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number is meant.
    pub const ACK: u8 = 0x10;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 0x80;
}

/// Most blocks an acknowledgement has room for beside a timestamp (RFC 2018 section 3).
pub const SACK_BLOCKS: usize = 3;

/// A range of sequence numbers: from the first to before the second.
pub type Block = (u64, u64);

/// What one segment says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of its first byte (or of its SYN or FIN).
    pub sequence: u64,
    /// What the receiver of this segment sent and the sender of it expects next.
    pub acknowledgment: u64,
    /// When it was sent: its timestamp (RFC 7323).
    pub sent: Instant,
    /// The timestamp it echoes; zero where it has none to echo.
    pub echo: Instant,
    /// Data it carries, in bytes.
    pub length: u32,
    /// Bytes beyond `acknowledgment` that may be sent, scaling (RFC 7323) already applied.
    pub window: u32,
    /// Packets with a congestion mark that the sender of this segment has received so far.
    pub marked: u32,
    /// Of [`flag`].
    pub flags: u8,
    /// How many of `sack` are meant.
    pub sack_count: u8,
    /// What arrived beyond `acknowledgment`, or twice (RFC 2018, RFC 2883).
    pub sack: [Block; SACK_BLOCKS],
}

impl Segment {
    /// Sequence numbers it takes: its data, SYN and FIN.
    #[inline]
    pub fn span(&self) -> u64 {
        let marks = u64::from(self.flags & flag::SYN != 0) + u64::from(self.flags & flag::FIN != 0);
        u64::from(self.length) + marks
    }

    /// The number after its last.
    #[inline]
    pub fn end(&self) -> u64 {
        self.sequence + self.span()
    }

    /// Whether all of these flags are set.
    #[inline]
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// The blocks that are meant.
    pub fn blocks(&self) -> &[Block] {
        &self.sack[..usize::from(self.sack_count).min(SACK_BLOCKS)]
    }

    /// Bytes of TCP header: 20, the timestamp's 12 with its padding, and 8 a block beside 4 (RFC 2018, RFC
    /// 7323 appendix A). A SYN says its segment size, window scale and that it knows SACK: 40 in all.
    pub fn header_bytes(&self) -> u32 {
        if self.flags & flag::SYN != 0 {
            return 40;
        }
        let blocks = u32::from(self.sack_count);
        20 + 12 + if blocks > 0 { 4 + 8 * blocks } else { 0 }
    }
}

/// The segments of all packets on the way.
#[derive(Debug, Default)]
pub struct Segments {
    kept: Vec<Segment>,
    free: Vec<u32>,
}

impl Segments {
    /// Keeps a segment; its place.
    #[inline]
    pub fn keep(&mut self, segment: Segment) -> u64 {
        if let Some(place) = self.free.pop() {
            self.kept[place as usize] = segment;
            return u64::from(place);
        }
        self.kept.push(segment);
        self.kept.len() as u64 - 1
    }

    /// Takes the segment out of its place, which may be used again.
    #[inline]
    pub fn take(&mut self, place: u64) -> Segment {
        self.free.push(place as u32);
        self.kept[place as usize]
    }

    /// Segments that are kept now.
    pub fn len(&self) -> usize {
        self.kept.len() - self.free.len()
    }
}
