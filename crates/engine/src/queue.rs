//! Where packets wait: the structures that disciplines are built from.

pub mod active;
pub mod fattest;
pub mod flows;

pub mod bitmap;
pub mod ranked;
pub mod slots;
pub mod winner_tree;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discipline::{Context, DropReason};
use crate::packet::{Header, Packet};
use crate::prefetch::{LONG_QUEUE, PACKETS_AHEAD, prefetch};
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
    /// The oldest, beside what is counted: one packet that waits alone touches no other memory.
    first: Option<Packet>,
    /// Those after it; none where there is no first.
    rest: VecDeque<Packet>,
    bytes: Bytes,
}

impl PacketQueue {
    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
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

    /// Out of line and last of all, so that what comes before keeps no registers for it.
    #[cold]
    #[inline(never)]
    fn push_growing(&mut self, packet: Packet) {
        self.rest.push_back(packet);
    }

    /// Takes the oldest.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
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
    pub fn prefetch(&self) {
        if let Some(first) = &self.first {
            prefetch::<Header>(first);
        }
        // The slot in the deque, and not the header that it points to: reading the pointer would be a miss.
        if let Some(next) = self.rest.front() {
            prefetch::<Packet>(next);
        }
    }

    /// Takes the newest.
    pub fn pop_newest(&mut self) -> Option<Packet> {
        let packet = self.rest.pop_back().or_else(|| self.first.take())?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// The packet before which `index` others wait.
    pub fn get(&self, index: usize) -> Option<&Packet> {
        if index == 0 { self.first.as_ref() } else { self.rest.get(index - 1) }
    }

    /// Takes the packet before which `index` others wait; the others keep their order.
    pub fn take(&mut self, index: usize) -> Option<Packet> {
        if index == 0 {
            return self.pop();
        }
        let packet = self.rest.remove(index - 1)?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// The oldest.
    #[inline]
    pub fn front(&self) -> Option<&Packet> {
        self.first.as_ref()
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Their bytes.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Whether `packet` can join under `limit`.
    #[inline]
    pub fn has_room(&self, packet: &Packet, limit: Limit) -> bool {
        limit.allows(self.len() as u64 + 1, self.bytes.0 + packet.bytes().0)
    }

    /// Drops the newest until `limit` is kept: what a smaller limit does to those waiting.
    pub fn shrink(&mut self, limit: Limit, cx: &mut Context<'_>) {
        while !limit.allows(self.len() as u64, self.bytes.0) {
            let Some(packet) = self.pop_newest() else { break };
            cx.drop(packet, DropReason::Shrunk);
        }
    }

    /// Takes out the packets longer than `largest`, leaving the others in order.
    pub fn take_larger_than(&mut self, largest: Bytes) -> Vec<Packet> {
        if self.first.iter().chain(&self.rest).all(|packet| packet.bytes() <= largest) {
            return Vec::new();
        }
        let mut all = Vec::with_capacity(self.len());
        self.flush(&mut all);
        let (kept, taken) = all.into_iter().partition(|packet: &Packet| packet.bytes() <= largest);
        Vec::into_iter(kept).for_each(|packet| self.push(packet));
        taken
    }

    /// Moves all to `out`, oldest first.
    pub fn flush(&mut self, out: &mut Vec<Packet>) {
        self.bytes = Bytes::ZERO;
        out.extend(self.first.take());
        out.extend(self.rest.drain(..));
    }
}
