//! Buffer of received packets whose delays are not in the histograms yet.

use lockgate_engine::units::Bytes;

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
    pub(super) bytes: u32,
}

impl Pending {
    #[inline]
    pub(super) fn owd(&self) -> u64 {
        self.now.saturating_sub(self.sent)
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes(u64::from(self.bytes))
    }
}

/// Packets of a batch in order of arrival, a column for each value, for loops over one of them.
pub(super) struct Columns<const COUNT: usize> {
    pub(super) count: usize,
    now: [u64; COUNT],
    owd: [u64; COUNT],
    waited: [u64; COUNT],
    sequence: [u32; COUNT],
}

impl<const COUNT: usize> Columns<COUNT> {
    /// Copies the values of at most `COUNT` packets.
    #[inline(always)]
    pub(super) fn of<'p>(packets: impl Iterator<Item = &'p Pending>) -> Self {
        let zeros = [0; COUNT];
        let mut all = Self { count: 0, now: zeros, owd: zeros, waited: zeros, sequence: [0; COUNT] };
        for (index, packet) in packets.enumerate().take(COUNT) {
            (all.now[index], all.owd[index]) = (packet.now, packet.owd());
            (all.waited[index], all.sequence[index]) = (packet.waited, packet.sequence);
            all.count = index + 1;
        }
        all
    }

    /// Arrivals in ps.
    #[inline(always)]
    pub(super) fn now(&self) -> &[u64] {
        &self.now[..self.count.min(COUNT)]
    }

    /// One-way delays in ps.
    #[inline(always)]
    pub(super) fn owd(&self) -> &[u64] {
        &self.owd[..self.count.min(COUNT)]
    }

    /// Waiting times in ps.
    #[inline(always)]
    pub(super) fn waited(&self) -> &[u64] {
        &self.waited[..self.count.min(COUNT)]
    }

    /// Sequence numbers.
    #[inline(always)]
    pub(super) fn sequence(&self) -> &[u32] {
        &self.sequence[..self.count.min(COUNT)]
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
        match self {
            Self::Empty => {
                self.push_first(packet, is_member());
                false
            }
            Self::Few(count, packets) => append(count, packets, packet),
            Self::Many(count, packets) => append(count, packets, packet),
        }
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

/// Appends a packet. Returns true if there is no more room.
#[inline(always)]
fn append<const MOST: usize>(count: &mut u8, packets: &mut [Pending; MOST], packet: Pending) -> bool {
    if let Some(slot) = packets.get_mut(usize::from(*count)) {
        *slot = packet;
    }
    *count += 1;
    usize::from(*count) == MOST
}

impl PartialEq for Batch {
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}
