//! A queue that serves the smallest rank first, and equal ranks in the order of their arrival.
//!
//! It pops at both ends: the next to be served, and the last, which push-out evicts. O(log n).

use std::collections::BTreeMap;

use crate::packet::Packet;
use crate::units::{Bytes, Limit};

/// Packets ordered by (rank, arrival).
#[derive(Debug, Default)]
pub struct RankedQueue {
    packets: BTreeMap<(u64, u64), Packet>,
    bytes: Bytes,
    arrivals: u64,
}

impl RankedQueue {
    /// Inserts a packet behind those of equal rank.
    #[inline]
    pub fn push(&mut self, rank: u64, packet: Packet) {
        self.bytes += packet.bytes();
        self.packets.insert((rank, self.arrivals), packet);
        self.arrivals += 1;
    }

    /// Takes the one of smallest rank.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let (_, packet) = self.packets.pop_first()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Takes the one that would be served last.
    pub fn pop_last(&mut self) -> Option<Packet> {
        let (_, packet) = self.packets.pop_last()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Whether what waits keeps `limit`.
    #[inline]
    pub fn fits(&self, limit: Limit) -> bool {
        limit.allows(self.packets.len() as u64, self.bytes.0)
    }

    /// Whether `packet` can join under `limit`.
    #[inline]
    pub fn has_room(&self, packet: &Packet, limit: Limit) -> bool {
        limit.allows(self.packets.len() as u64 + 1, self.bytes.0 + packet.bytes().0)
    }

    /// Moves all to `out`, in the order of their arrival.
    pub fn flush(&mut self, out: &mut Vec<Packet>) {
        self.bytes = Bytes::ZERO;
        let mut packets: Vec<_> = core::mem::take(&mut self.packets).into_iter().collect();
        packets.sort_unstable_by_key(|((_, arrival), _)| *arrival);
        out.extend(packets.into_iter().map(|(_, packet)| packet));
    }
}
