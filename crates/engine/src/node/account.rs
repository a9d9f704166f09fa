//! What is counted of the packets that pass a node.

use crate::units::Bytes;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of packets.
    pub packets: u64,
    /// Their frame bytes.
    pub bytes: Bytes,
}

/// A tally that is counted with every packet: packets in the upper half of the number, bytes in the lower,
/// so that one packet more or less is one addition (two instructions; as two words of a [`Tally`] the
/// compiler makes six of them).
///
/// Bytes cannot reach the upper half: 2^64 of them are five years at 800 Gbit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(u128);

impl Count {
    const fn of(bytes: Bytes) -> u128 {
        (1 << 64) | bytes.0 as u128
    }

    /// One packet more.
    #[inline(always)]
    pub const fn add(&mut self, bytes: Bytes) {
        self.0 = self.0.wrapping_add(Self::of(bytes));
    }

    /// One packet less.
    ///
    /// # Panics
    /// Where there is less than that: an account that cannot be right.
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

    /// Their frame bytes.
    #[inline(always)]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0 as u64)
    }

    /// Both.
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

/// What went through a node since the start. Every field but the backlog only grows:
/// `offered + moved_in = sent + dropped + moved_out + backlog`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Came in.
    pub offered: Tally,
    /// Left by the front.
    pub sent: Tally,
    /// Dropped here or below.
    pub dropped: Tally,
    /// Moved in from the tree before, when the tree was replaced; not part of `offered`.
    pub moved_in: Tally,
    /// Moved out to the next tree, when the tree was replaced.
    pub moved_out: Tally,
    /// Waiting now.
    pub backlog: Tally,
    /// Marked with congestion experienced, here or below.
    pub marked_packets: u64,
    /// Taken by no child's `match`, and so given to the last child.
    pub unclassified_packets: u64,
}
