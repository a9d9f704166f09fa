//! Ranked queue: serves the smallest rank first, and equal ranks in order of arrival.
//!
//! An ordered map, because it pops at both ends: the next packet to serve, and the last, which push-out
//! drops. O(log n).

use std::collections::BTreeMap;

use crate::packet::Packet;
use crate::units::{Bytes, Limit};

/// Packets ordered by (rank, arrival).
#[derive(Debug, Default)]
pub(crate) struct RankedQueue {
    packets: BTreeMap<(u64, u64), Packet>,
    bytes: Bytes,
    arrivals: u64,
}

impl RankedQueue {
    /// Inserts a packet after those of equal rank.
    #[inline]
    pub(crate) fn push(&mut self, rank: u64, packet: Packet) {
        self.bytes += packet.bytes();
        self.packets.insert((rank, self.arrivals), packet);
        self.arrivals += 1;
    }

    /// Removes and returns the packet of smallest rank.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let (_, packet) = self.packets.pop_first()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Returns the packets with their ranks, in the order in which they will be served.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (u64, &Packet)> {
        self.packets.iter().map(|((rank, _), packet)| (*rank, packet))
    }

    /// Returns the number of packets.
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Removes and returns the packet that would be served last.
    pub(crate) fn pop_last(&mut self) -> Option<Packet> {
        let (_, packet) = self.packets.pop_last()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Returns whether the queued packets keep `limit`.
    #[inline]
    pub(crate) fn fits(&self, limit: Limit) -> bool {
        limit.allows(self.packets.len() as u64, self.bytes.0)
    }

    /// Returns whether `packet` fits under `limit`.
    #[inline]
    pub(crate) fn has_room(&self, packet: &Packet, limit: Limit) -> bool {
        limit.allows(self.packets.len() as u64 + 1, self.bytes.0 + packet.bytes().0)
    }

    /// Moves all packets to `out`, in order of arrival.
    pub(crate) fn flush(&mut self, out: &mut Vec<Packet>) {
        self.bytes = Bytes::ZERO;
        let mut packets: Vec<_> = core::mem::take(&mut self.packets).into_iter().collect();
        packets.sort_unstable_by_key(|((_, arrival), _)| *arrival);
        out.extend(packets.into_iter().map(|(_, packet)| packet));
    }
}
