//! Packet counters of a node.

use crate::units::Bytes;

/// Number of packets and their total of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of packets.
    pub packets: u64,
    /// Their frame bytes.
    pub bytes: Bytes,
}

/// Account of a band within a leaf, such as a tin of `cake`, since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Band {
    /// Packets that left.
    pub sent: Tally,
    /// Sum of the times that these waited in the port, in picoseconds.
    pub waited_ps: u128,
    /// Packets dropped, superseded acknowledgements among them.
    pub dropped_packets: u64,
    /// Acknowledgements that later ones superseded.
    pub superseded_packets: u64,
    /// Packets marked.
    pub marked_packets: u64,
    /// Packets that wait now.
    pub backlog: Tally,
}

/// A [`Tally`] in one `u128`, for counters that change with every packet: packets in the upper half, bytes
/// in the lower. Adding or removing a packet is one addition of two instructions; for the two words of a
/// [`Tally`] the compiler makes six.
///
/// Invariant: the bytes do not reach the upper half. 2^64 bytes are five years at 800 Gbit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(u128);

impl Count {
    const fn of(bytes: Bytes) -> u128 {
        (1 << 64) | bytes.0 as u128
    }

    /// Adds a packet.
    #[inline(always)]
    pub const fn add(&mut self, bytes: Bytes) {
        self.0 = self.0.wrapping_add(Self::of(bytes));
    }

    /// Removes a packet.
    ///
    /// # Panics
    /// If there are fewer packets or bytes than that: an accounting error.
    #[inline(always)]
    pub(super) fn remove(&mut self, bytes: Bytes) {
        let (rest, is_overdrawn) = self.0.overflowing_sub(Self::of(bytes));
        self.0 = rest;
        if is_overdrawn {
            overdrawn();
        }
    }

    /// Number of packets.
    #[inline(always)]
    pub const fn packets(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// Frame bytes of the packets.
    #[inline(always)]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 as u64)
    }

    /// Returns packets and bytes.
    pub const fn tally(self) -> Tally {
        Tally { packets: self.packets(), bytes: self.bytes() }
    }
}

impl From<Tally> for Count {
    fn from(tally: Tally) -> Self {
        Self((u128::from(tally.packets) << 64) | u128::from(tally.bytes.0))
    }
}

#[cold]
#[inline(never)]
fn overdrawn() -> ! {
    panic!("more packets or bytes left a queue than came in")
}

/// Counters of a node since the start. Every field except the backlog only grows: `offered + moved_in =
/// sent + dropped + moved_out + backlog`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Arrived.
    pub offered: Tally,
    /// Dequeued by the parent or the port.
    pub sent: Tally,
    /// Dropped here or below.
    pub dropped: Tally,
    /// Moved in from the tree before, when the tree was replaced; not part of `offered`.
    pub moved_in: Tally,
    /// Moved out to the next tree, when the tree was replaced.
    pub moved_out: Tally,
    /// Queued now.
    pub backlog: Tally,
    /// Marked "congestion experienced", here or below.
    pub marked_packets: u64,
    /// Matched by no child's `match`, and so given to the last child.
    pub unclassified_packets: u64,
}
