//! Sending half of an `AF_XDP` socket.
#![allow(unsafe_code, reason = "slots of memory shared with the kernel")]

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use xdp::slab::{HeapSlab, Slab};
use xdp::{CompletionRing, Packet, TxRing};

use super::queue::{BATCH, Queue, RESERVE};
use crate::dataplane::{Sent, Stopped};
use crate::error::InterfaceError;

/// Attempts to send while frames remain in the ring: the kernel sends 32 frames a call.
const TRIES: usize = 8;

/// Sender by a queue. The kernel makes a packet of each frame of the ring, which bypasses its queues and the
/// programs at the interface's egress. It does not check the length of a frame.
pub(crate) struct Sender {
    /// Slots without a frame.
    free: Vec<Packet>,
    /// Frames on their way into the ring.
    laid: HeapSlab,
    sent: TxRing,
    completed: CompletionRing,
    /// True if frames of earlier calls are still in the ring.
    has_unsent: bool,
    /// Frames put into the ring, and those that have left it and whose packet the kernel has freed.
    put: u64,
    done: u64,
    /// Frames that the interface dropped.
    dropped: u64,
    /// True if the interface dropped a frame of the last ones: frames are then sent one by one, so that the
    /// next one that it drops is known, and stays with its owner.
    is_cautious: bool,
    /// Last field: the fields above point into its memory.
    queue: Arc<Queue>,
}

// SAFETY: packets and ring entries point to slots of the queue, which lives as long as `self`. A slot that is
// allocated belongs to this half alone until the kernel completes it, and returns under the queue's lock. The
// rings are only touched through `&mut self`.
unsafe impl Send for Sender {}

/// Result of telling the kernel to send the ring's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kick {
    /// It has sent all.
    Done,
    /// It will send the others later.
    Later,
    /// The interface is down.
    Down,
}

impl Sender {
    pub(super) fn new(queue: Arc<Queue>, sent: TxRing, completed: CompletionRing) -> Self {
        let (free, laid) = (Vec::with_capacity(BATCH), HeapSlab::with_capacity(BATCH));
        Self {
            free,
            laid,
            sent,
            completed,
            has_unsent: false,
            put: 0,
            done: 0,
            dropped: 0,
            is_cautious: false,
            queue,
        }
    }

    /// Sends frames in order, until no slot is free. Frames that the kernel has not sent by then stay in the
    /// ring, and count as taken; [`flush`](Self::flush) sends them. If the interface drops a frame that was
    /// sent alone, as the first of each call is, that is not taken; other dropped ones are
    /// ([`lost`](Self::lost)).
    pub(crate) fn send(&mut self, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        let mut taken = 0;
        let mut before = if self.has_unsent { self.kick()? } else { Kick::Done };
        while taken < frames.len() {
            let stopped = match before {
                Kick::Done => None,
                Kick::Later => Some(Stopped::Busy),
                Kick::Down => Some(Stopped::Down),
            };
            if stopped.is_some() {
                return Ok(Sent { taken, stopped });
            }
            // The first one shows whether the interface takes frames.
            let most = if taken == 0 || self.is_cautious { 1 } else { BATCH };
            let batch = &frames[taken..frames.len().min(taken + most)];
            let (put, dropped) = (self.put(batch), self.dropped);
            before = self.kick()?;
            self.is_cautious = self.dropped > dropped;
            if self.is_cautious && put == 1 {
                self.dropped = dropped;
                return Ok(Sent { taken, stopped: Some(Stopped::Busy) });
            }
            taken += put;
            if put < batch.len() {
                return Ok(Sent { taken, stopped: Some(Stopped::Busy) });
            }
        }
        Ok(Sent { taken, stopped: None })
    }

    /// Puts frames into the ring. Returns how many fit.
    fn put(&mut self, frames: &[&[u8]]) -> usize {
        if self.free.len() < frames.len() {
            self.gather(frames.len());
        }
        for frame in frames {
            let Some(mut packet) = self.free.pop() else { break };
            if packet.append(frame).is_err() {
                self.free.push(packet);
                break;
            }
            self.laid.push_front(packet);
        }
        // SAFETY: the packets point into the queue's memory, which outlives the ring's use of it.
        let queued = unsafe { self.sent.send(&mut self.laid) };
        self.put += queued as u64;
        // The ring has room for every slot, so that none is left.
        while let Some(packet) = self.laid.pop_back() {
            self.queue.slots().memory.free_packet(packet);
        }
        queued
    }

    /// Takes back the slots of sent frames, and gathers up to `count` free ones.
    fn gather(&mut self, count: usize) {
        let mut slots = self.queue.slots();
        self.done += self.completed.dequeue(&mut slots.memory, RESERVE as usize) as u64;
        // Slots that are to return to the fill ring are not used for sending.
        while self.free.len() < count && slots.memory.allocatable() > slots.owed {
            // SAFETY: the packet stays within `self`, whose queue outlives it.
            let Some(packet) = (unsafe { slots.memory.alloc() }) else { break };
            self.free.push(packet);
        }
    }

    /// Tells the kernel to send the ring's frames.
    fn kick(&mut self) -> Result<Kick, InterfaceError> {
        let mut tries = 0;
        let mut result = Kick::Later;
        for _ in 0..RESERVE as usize + TRIES {
            match send(self.queue.as_fd(), &[], SendFlags::DONTWAIT) {
                Ok(_) => {
                    result = Kick::Done;
                    break;
                }
                // One frame was dropped: there is no carrier, or no room at the other end. The next call
                // goes on after it.
                Err(Errno::BUSY) => self.dropped += 1,
                Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => {
                    tries += 1;
                    if tries == TRIES {
                        break;
                    }
                }
                Err(Errno::NETDOWN) => {
                    result = Kick::Down;
                    break;
                }
                Err(why) => return Err(self.queue.error("sending by interface", why.into())),
            }
        }
        self.has_unsent = result != Kick::Done;
        Ok(result)
    }

    /// Sends frames that remain in the ring. Returns true if some still do.
    pub(crate) fn flush(&mut self) -> Result<bool, InterfaceError> {
        if self.has_unsent {
            self.kick()?;
        }
        Ok(self.has_unsent)
    }

    /// Returns the number of taken frames that the interface dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the number of taken frames that the interface dropped, or that are still to be sent.
    pub(crate) fn lost(&mut self) -> u64 {
        if !self.has_unsent {
            return self.dropped;
        }
        self.gather(0);
        self.dropped + (self.put - self.done)
    }

    /// Returns the error of an interface that is gone.
    pub(crate) fn gone(&self) -> InterfaceError {
        self.queue.gone()
    }
}
