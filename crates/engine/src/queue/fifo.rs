//! Queue with a limit: the FIFO of disciplines and the inline contents of most leaves.

use super::{Overflow, PacketQueue};
use crate::context::{Context, Dequeue, DropReason};
use crate::packet::Packet;
use crate::units::Limit;

/// First in, first out.
pub struct Fifo {
    limit: Limit,
    overflow: Overflow,
    queue: PacketQueue,
}

impl Fifo {
    /// Creates an empty queue.
    pub(crate) fn new(limit: Limit, overflow: Overflow) -> Self {
        Self { limit, overflow, queue: PacketQueue::default() }
    }

    /// Changes the limit; drops the packets beyond it.
    pub(crate) fn change(&mut self, limit: Limit, overflow: Overflow, cx: &mut Context<'_>) {
        self.queue.shrink(limit, cx);
        (self.limit, self.overflow) = (limit, overflow);
    }

    /// Appends a packet, or drops it or older ones.
    #[inline]
    pub(crate) fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        if self.queue.has_room(&packet, self.limit) {
            self.queue.push(packet);
        } else {
            self.drop_for(packet, cx);
        }
    }

    /// Returns whether a packet has room without a drop.
    #[inline(always)]
    pub(crate) fn has_room(&self, packet: &Packet) -> bool {
        self.queue.has_room(packet, self.limit)
    }

    /// Appends a packet that [has room](Self::has_room).
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: Packet) {
        self.queue.push(packet);
    }

    /// Removes and returns the oldest packet.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        self.queue.pop()
    }

    /// Removes the oldest packet.
    #[inline]
    pub(crate) fn dequeue(&mut self) -> Dequeue {
        match self.queue.pop() {
            Some(packet) => Dequeue::Packet(packet),
            None => Dequeue::Empty,
        }
    }

    /// Enqueues, then dequeues, while it is empty: the packet is not stored.
    #[inline]
    pub(crate) fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        if self.queue.has_room(&packet, self.limit) {
            return Dequeue::Packet(packet);
        }
        self.drop_for(packet, cx);
        self.dequeue()
    }

    /// Moves all packets to `out`, oldest first.
    pub(crate) fn flush(&mut self, out: &mut Vec<Packet>) {
        self.queue.flush(out);
    }

    /// Returns the next packet to leave.
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&Packet> {
        self.queue.front()
    }

    /// Prefetches the next packet: see [`PacketQueue::prefetch`].
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.queue.prefetch();
    }

    /// Drops `packet`, or the oldest ones for it.
    #[cold]
    fn drop_for(&mut self, packet: Packet, cx: &mut Context<'_>) {
        // It can never fit, so no other packet is dropped for it.
        if self.overflow != Overflow::Head || !self.limit.allows(1, packet.bytes().0) {
            cx.drop(packet, DropReason::Limit);
            return;
        }
        while !self.queue.has_room(&packet, self.limit) {
            let Some(oldest) = self.queue.pop() else { break };
            cx.drop(oldest, DropReason::Head);
        }
        self.queue.push(packet);
    }
}
