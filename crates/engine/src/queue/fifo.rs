//! Queue with a limit: the FIFO of disciplines and the inline contents of most leaves.

use super::{Overflow, PacketQueue};
use crate::context::{Context, Dequeue, DropReason};
use crate::packet::Packet;
use crate::units::{Bytes, Limit, Packets};

/// First in, first out.
pub struct Fifo {
    /// Limit up to which a packet is appended without further tests.
    limit: Limit,
    overflow: Overflow,
    queue: PacketQueue,
    step: Option<Box<Step>>,
}

/// Step marker. A queue that has one takes the cold path at each packet: its `limit` has no room.
#[derive(Clone, Copy)]
struct Step {
    /// Limit of the queue.
    limit: Limit,
    /// Backlog above which an arriving packet is marked.
    mark: Limit,
}

impl Fifo {
    /// Creates an empty queue.
    pub(crate) fn new(limit: Limit, overflow: Overflow) -> Self {
        Self { limit, overflow, queue: PacketQueue::default(), step: None }
    }

    /// Sets the backlog above which arriving packets are marked, after [`change`](Self::change) or at the
    /// start.
    pub(crate) fn set_mark(&mut self, mark: Option<Limit>) {
        let Some(mark) = mark else { return };
        self.step = Some(Box::new(Step { limit: self.limit, mark }));
        self.limit = Limit::Packets(Packets(0));
    }

    /// Changes the limit; drops the packets beyond it. There is no mark then.
    pub(crate) fn change(&mut self, limit: Limit, overflow: Overflow, cx: &mut Context<'_>) {
        self.queue.shrink(limit, cx);
        (self.limit, self.overflow, self.step) = (limit, overflow, None);
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

    /// Returns the number and the bytes of the packets.
    pub(crate) fn backlog(&self) -> (usize, Bytes) {
        (self.queue.len(), self.queue.bytes())
    }

    /// Prefetches the next packet: see [`PacketQueue::prefetch`].
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.queue.prefetch();
    }

    /// Marks `packet` if it is to be, and appends it; or drops it, or the oldest ones for it.
    #[cold]
    fn drop_for(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let waiting = (self.queue.len() as u64, self.queue.bytes().0);
        let (limit, is_marked) = match &self.step {
            Some(step) => (step.limit, !step.mark.allows(waiting.0, waiting.1)),
            None => (self.limit, false),
        };
        let push = |queue: &mut PacketQueue, mut packet: Packet, cx: &mut Context<'_>| {
            if is_marked {
                cx.mark(&mut packet);
            }
            queue.push(packet);
        };
        if self.step.is_some() && self.queue.has_room(&packet, limit) {
            return push(&mut self.queue, packet, cx);
        }
        // It can never fit, so no other packet is dropped for it.
        if self.overflow != Overflow::Head || !limit.allows(1, packet.bytes().0) {
            cx.drop(packet, DropReason::Limit);
            return;
        }
        while !self.queue.has_room(&packet, limit) {
            let Some(oldest) = self.queue.pop() else { break };
            cx.drop(oldest, DropReason::Head);
        }
        push(&mut self.queue, packet, cx);
    }
}
