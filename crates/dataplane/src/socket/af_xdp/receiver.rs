//! Receiving half of an `AF_XDP` socket.
#![allow(unsafe_code, reason = "slots of memory shared with the kernel")]

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use xdp::slab::{HeapSlab, Slab};
use xdp::{FillRing, Packet, RxRing};

use super::super::xdp_program::STAMP;
use super::queue::{BATCH, Queue};
use crate::error::InterfaceError;

/// Receiver of the frames of a queue.
pub(crate) struct Receiver {
    /// Received frames that have not been taken.
    waiting: HeapSlab,
    /// The next of them and its time of arrival, in nanoseconds of `CLOCK_MONOTONIC`.
    next: Option<(Packet, u64)>,
    /// Frames that have been taken. Their slots are to be returned to the fill ring.
    taken: Vec<Packet>,
    fill: FillRing,
    received: RxRing,
    /// Last field: the fields above point into its memory.
    queue: Arc<Queue>,
}

// SAFETY: packets and ring entries point to slots of the queue, which lives as long as `self`. A slot that is
// received belongs to this half alone until it is freed, under the queue's lock. The rings are only touched
// through `&mut self`.
unsafe impl Send for Receiver {}

impl Receiver {
    pub(super) fn new(queue: Arc<Queue>, fill: FillRing, received: RxRing) -> Self {
        let (waiting, taken) = (HeapSlab::with_capacity(BATCH), Vec::with_capacity(BATCH));
        Self { waiting, next: None, taken, fill, received, queue }
    }

    /// Returns the arrival time of the next frame in nanoseconds of `CLOCK_MONOTONIC`, 0 if it is not known;
    /// `None` if there is no frame.
    pub(super) fn next(&mut self) -> Option<u64> {
        if let Some((_, at)) = &self.next {
            return Some(*at);
        }
        if self.waiting.is_empty() {
            self.refill();
        }
        let mut packet = self.waiting.pop_back()?;
        let at = stamp(&mut packet);
        self.next = Some((packet, at));
        Some(at)
    }

    /// Returns the taken slots to the kernel, and receives more frames.
    fn refill(&mut self) {
        let mut slots = self.queue.slots();
        slots.owed += self.taken.len();
        for packet in self.taken.drain(..) {
            slots.memory.free_packet(packet);
        }
        // SAFETY: packets and ring entries point into the queue's memory, which outlives them.
        unsafe {
            if slots.owed > 0 {
                let owed = slots.owed;
                slots.owed -= self.fill.enqueue(&mut slots.memory, owed);
            }
            self.received.recv(&slots.memory, &mut self.waiting);
        }
    }

    /// Passes the next frame, if any, to `take` and frees its slot.
    pub(super) fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        if self.next().is_none() {
            return;
        }
        if let Some((packet, _)) = self.next.take() {
            take(&packet);
            self.taken.push(packet);
        }
    }

    /// Returns the error of an interface that is gone.
    pub(super) fn gone(&self) -> InterfaceError {
        self.queue.gone()
    }

    /// Returns the number of frames, since the socket was opened, for which no slot or no room in the ring
    /// was left.
    pub(super) fn overruns(&self) -> u64 {
        self.queue.overruns()
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

/// Removes the time stamp in front of a frame and returns it, in nanoseconds of `CLOCK_MONOTONIC`; 0 if it
/// has no stamp. It is cleared, so that an unstamped frame in the same slot later has none.
fn stamp(packet: &mut Packet) -> u64 {
    let mut bytes = [0; STAMP as usize];
    // Every slot has this room, so no call can fail.
    if packet.adjust_head(-STAMP).is_ok() {
        let _ = packet.array_at_offset(0, &mut bytes);
        packet[..STAMP as usize].fill(0);
        let _ = packet.adjust_head(STAMP);
    }
    u64::from_ne_bytes(bytes)
}
