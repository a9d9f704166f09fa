//! Where packets wait: the structures that disciplines are built from.

pub mod active;
pub mod fattest;

pub mod places;
pub mod ranked;
pub mod tournament;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discipline::{Context, DropReason};
use crate::packet::Packet;
use crate::units::{Bytes, Limit};

/// Which packet goes when a queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The one arriving.
    #[default]
    Tail,
    /// The one that would be served next.
    Head,
    /// The one that would be served last.
    PushOut,
}

/// Packets in the order of their arrival, and their bytes.
#[derive(Debug, Default)]
pub struct PacketQueue {
    packets: VecDeque<Packet>,
    bytes: Bytes,
}

impl PacketQueue {
    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        // Cannot overflow: no machine holds 2^32 packets.
        self.bytes.0 = self.bytes.0.wrapping_add(packet.bytes().0);
        if self.packets.len() == self.packets.capacity() {
            return self.push_growing(packet);
        }
        self.packets.push_back(packet);
    }

    /// Out of line and last of all, so that what comes before keeps no registers for it.
    #[cold]
    #[inline(never)]
    fn push_growing(&mut self, packet: Packet) {
        self.packets.push_back(packet);
    }

    /// Takes the oldest.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.bytes();
        // Touches the header of the next one: in a long queue it has left the cache, and is back there when
        // its turn comes. Nothing waits for this load.
        if let Some(next) = self.packets.front() {
            core::hint::black_box(next.length);
        }
        Some(packet)
    }

    /// Takes the newest.
    pub fn pop_newest(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_back()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// The oldest.
    pub fn front(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Their bytes.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Whether `packet` can join under `limit`.
    #[inline]
    pub fn has_room(&self, packet: &Packet, limit: Limit) -> bool {
        limit.allows(self.packets.len() as u64 + 1, self.bytes.0 + packet.bytes().0)
    }

    /// Drops the newest until `limit` is kept: what a smaller limit does to those waiting.
    pub fn shrink(&mut self, limit: Limit, cx: &mut Context<'_>) {
        while !limit.allows(self.packets.len() as u64, self.bytes.0) {
            let Some(packet) = self.pop_newest() else { break };
            cx.drop(packet, DropReason::Shrunk);
        }
    }

    /// Takes out the packets longer than `largest`, leaving the others in order.
    pub fn take_larger_than(&mut self, largest: Bytes) -> Vec<Packet> {
        if self.packets.iter().all(|packet| packet.bytes() <= largest) {
            return Vec::new();
        }
        let (kept, taken): (VecDeque<_>, VecDeque<_>) =
            core::mem::take(&mut self.packets).into_iter().partition(|packet| packet.bytes() <= largest);
        self.packets = kept;
        self.bytes = self.packets.iter().fold(Bytes::ZERO, |sum, packet| sum + packet.bytes());
        taken.into()
    }

    /// Moves all to `out`, oldest first.
    pub fn flush(&mut self, out: &mut Vec<Packet>) {
        self.bytes = Bytes::ZERO;
        out.extend(self.packets.drain(..));
    }
}
