//! Packet queues and orders of queues, from which disciplines are built.

pub(crate) mod active;
pub(crate) mod fattest;
pub(crate) mod fifo;
pub(crate) mod flows;

pub(crate) mod bitmap;
pub(crate) mod key_tree;
pub(crate) mod ranked;
pub(crate) mod slots;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::context::{Context, DropReason};
use crate::packet::{Header, Packet};
use crate::prefetch::{LONG_QUEUE, PACKETS_AHEAD, prefetch};
use crate::units::{Bytes, Limit};

/// Packet to drop when a queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// FIFO queue of packets that counts their bytes.
///
/// Invariant: `rest` is empty if there is no `first`.
#[derive(Debug, Default)]
pub(crate) struct PacketQueue {
    /// Oldest packet, inline: a packet that waits alone touches no other memory.
    first: Option<Packet>,
    /// Packets after the first.
    rest: VecDeque<Packet>,
    bytes: Bytes,
}

impl Clone for PacketQueue {
    /// Copies the packets, for the rehearsal of a decision.
    fn clone(&self) -> Self {
        Self {
            first: self.first.as_ref().map(Packet::copy),
            rest: self.rest.iter().map(Packet::copy).collect(),
            bytes: self.bytes,
        }
    }
}

impl PacketQueue {
    /// Appends a packet.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet) {
        // Cannot overflow: no machine holds 2^32 packets.
        self.bytes.0 = self.bytes.0.wrapping_add(packet.bytes().0);
        if self.first.is_none() {
            self.first = Some(packet);
        } else if self.rest.len() == self.rest.capacity() {
            self.push_growing(packet);
        } else {
            self.rest.push_back(packet);
        }
    }

    /// Appends a packet if the deque must grow. Out of line and a tail call, so that `push` saves no
    /// registers for it.
    #[cold]
    #[inline(never)]
    fn push_growing(&mut self, packet: Packet) {
        self.rest.push_back(packet);
    }

    /// Removes and returns the oldest packet.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.first.take()?;
        self.bytes -= packet.bytes();
        self.first = self.rest.pop_front();
        // The headers of a long queue have left the cache when their turns come.
        let next =
            if self.rest.len() > LONG_QUEUE { self.rest.get(PACKETS_AHEAD) } else { self.first.as_ref() };
        if let Some(next) = next {
            prefetch::<Header>(next);
        }
        Some(packet)
    }

    /// Prefetches the memory that the next [`pop`](Self::pop) reads.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Some(first) = &self.first {
            prefetch::<Header>(first);
        }
        // The slot in the deque, and not the header that it points to: reading the pointer would be a miss.
        if let Some(next) = self.rest.front() {
            prefetch::<Packet>(next);
        }
    }

    /// Removes and returns the newest packet.
    pub(crate) fn pop_newest(&mut self) -> Option<Packet> {
        let packet = self.rest.pop_back().or_else(|| self.first.take())?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Returns the packet at `index`, counted from the oldest.
    pub(crate) fn get(&self, index: usize) -> Option<&Packet> {
        if index == 0 { self.first.as_ref() } else { self.rest.get(index - 1) }
    }

    /// Removes and returns the packet at `index`; the others keep their order.
    pub(crate) fn take(&mut self, index: usize) -> Option<Packet> {
        if index == 0 {
            return self.pop();
        }
        let packet = self.rest.remove(index - 1)?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Iterates over the packets, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.first.iter().chain(&self.rest)
    }

    /// Returns the oldest packet.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Packet> {
        self.first.as_ref()
    }

    /// Returns the number of packets.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// Returns whether it is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns the bytes of all packets.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Returns whether `packet` fits under `limit`.
    #[inline]
    pub(crate) fn has_room(&self, packet: &Packet, limit: Limit) -> bool {
        limit.allows(self.len() as u64 + 1, self.bytes.0 + packet.bytes().0)
    }

    /// Drops the newest packets until `limit` is kept, after a change to a smaller limit.
    pub(crate) fn shrink(&mut self, limit: Limit, cx: &mut Context<'_>) {
        while !limit.allows(self.len() as u64, self.bytes.0) {
            let Some(packet) = self.pop_newest() else { break };
            cx.drop(packet, DropReason::Shrunk);
        }
    }

    /// Removes and returns the packets longer than `largest`; the others keep their order.
    pub(crate) fn take_larger_than(&mut self, largest: Bytes) -> Vec<Packet> {
        if self.first.iter().chain(&self.rest).all(|packet| packet.bytes() <= largest) {
            return Vec::new();
        }
        let mut all = Vec::with_capacity(self.len());
        self.flush(&mut all);
        let (kept, taken) = all.into_iter().partition(|packet: &Packet| packet.bytes() <= largest);
        Vec::into_iter(kept).for_each(|packet| self.push(packet));
        taken
    }

    /// Moves all packets to `out`, oldest first.
    pub(crate) fn flush(&mut self, out: &mut Vec<Packet>) {
        self.bytes = Bytes::ZERO;
        out.extend(self.first.take());
        out.extend(self.rest.drain(..));
    }
}
