//! Buffer of received packets whose delays are not in the histograms yet.

use crate::histogram::BATCH;

/// Packets that a member of a group buffers.
pub(super) const MEMBER_BATCH: usize = 5;

/// A received packet whose delays are not in the histograms yet: half a cache line; times in ps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) now: u64,
    pub(super) sent: u64,
    pub(super) waited: u64,
    pub(super) sequence: u32,
}

impl Pending {
    #[inline]
    pub(super) fn owd(&self) -> u64 {
        self.now.saturating_sub(self.sent)
    }
}

/// Buffered packets, fewer than a batch, with their number. Allocated with the first.
#[derive(Clone, Debug, Default)]
pub(super) enum Batch {
    #[default]
    Empty,
    /// Those of a member of a group.
    Few(u8, Box<[Pending; MEMBER_BATCH]>),
    Many(u8, Box<[Pending; BATCH]>),
}

impl Batch {
    /// Appends a packet; `is_member` if the flow is one of a group. Returns true if the batch is full; it
    /// must be cleared then.
    #[inline(always)]
    pub(super) fn push(&mut self, packet: Pending, is_member: impl FnOnce() -> bool) -> bool {
        let (count, packets) = match self {
            Self::Empty => {
                self.push_first(packet, is_member());
                return false;
            }
            Self::Few(count, packets) => (count, &mut packets[..]),
            Self::Many(count, packets) => (count, &mut packets[..]),
        };
        if let Some(slot) = packets.get_mut(usize::from(*count)) {
            *slot = packet;
        }
        *count += 1;
        usize::from(*count) == packets.len()
    }

    #[cold]
    #[inline(never)]
    fn push_first(&mut self, packet: Pending, is_member: bool) {
        *self = if is_member {
            Self::Few(1, Box::new([packet; MEMBER_BATCH]))
        } else {
            Self::Many(1, Box::new([packet; BATCH]))
        };
    }

    #[inline]
    pub(super) fn all(&self) -> &[Pending] {
        match self {
            Self::Empty => &[],
            Self::Few(count, packets) => &packets[..usize::from(*count)],
            Self::Many(count, packets) => &packets[..usize::from(*count)],
        }
    }

    pub(super) fn clear(&mut self) {
        if let Self::Few(count, _) | Self::Many(count, _) = self {
            *count = 0;
        }
    }
}

impl PartialEq for Batch {
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}
