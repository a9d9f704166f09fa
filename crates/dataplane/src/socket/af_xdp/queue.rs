//! `AF_XDP` socket of a queue: frames in before the kernel's network stack, out past its queues.
//!
//! ```text
//! program (xdp_program.rs) -> received -> [slots] -> take     taken slots return to the fill ring
//!                                send -> [reserve] -> sent -> completed -> [reserve]
//! ```
//!
//! Frames are copied in and out, so that all frames live in one slab ([`crate::slab`]). A fixed number of
//! slots is reserved for sending: arrivals can never exhaust them. Copy mode is requested explicitly, because
//! a veth has no other. See decision 050.
#![allow(unsafe_code, reason = "slots of memory shared with the kernel")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::net::{SendFlags, send};
use xdp::nic::NicIndex;
use xdp::slab::{HeapSlab, Slab};
use xdp::socket::{SocketError, XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, UmemCfg, UmemCfgBuilder};
use xdp::{CompletionRing, FillRing, Packet, RingConfig, RingConfigBuilder, RxRing, TxRing, Umem};

use super::super::xdp_program::STAMP;
use crate::dataplane::{Sent, Stopped};
use crate::endpoint::Endpoint;
use crate::error::{InterfaceError, Refusal};
use crate::namespace::SocketKind;

/// Slots reserved for sending.
const RESERVE: u32 = 256;

/// Frames received or sent at most by one call.
const BATCH: usize = 64;

/// Bytes that the kernel keeps free in front of each frame.
const HEADROOM: usize = 256;

/// Attempts to send while frames remain in the ring: the kernel sends 32 frames a call.
const TRIES: usize = 8;

/// `AF_XDP` socket of a queue.
pub(super) struct QueueSocket {
    name: String,
    /// Received frames that have not been taken.
    waiting: HeapSlab,
    /// The next of them and its time of arrival, in nanoseconds of `CLOCK_MONOTONIC`.
    next: Option<(Packet, u64)>,
    /// Slots to be returned to the fill ring.
    owed: usize,
    sending: HeapSlab,
    fill: FillRing,
    received: RxRing,
    sent: TxRing,
    completed: CompletionRing,
    socket: XdpSocket,
    /// Last field, dropped last: the fields above point into it.
    slots: Umem,
}

// SAFETY: packets and rings point into memory that belongs to this socket alone, and are only touched through
// `&mut self`.
unsafe impl Send for QueueSocket {}

impl QueueSocket {
    /// Opens a socket for frames of up to `longest` bytes on a queue of the interface of `endpoint`, which has
    /// the index `interface`, with `count` slots for received frames.
    pub(super) fn open(
        endpoint: &Endpoint<'_>,
        interface: u32,
        queue: u32,
        longest: usize,
        count: u32,
    ) -> Result<Self, Refusal> {
        let refused = |what: &str, error: io::Error| Refusal::new(what, error);
        let (slots, rings) = memory_layout(longest, count)
            .map_err(|error| refused("lay out an AF_XDP socket", io::Error::other(error.to_string())))?;
        let mut slots = Umem::map(slots).map_err(|error| refused("have memory for frames", error))?;
        let mut builder =
            builder(endpoint).map_err(|error| refused("open an AF_XDP socket (CAP_NET_RAW)", error))?;
        let (mut rings, mut flags) = builder
            .build_rings(&slots, rings)
            .map_err(|error| refused("share memory with the kernel for AF_XDP", cause(error)))?;
        let (Some(received), Some(sent)) = (rings.rx_ring.take(), rings.tx_ring.take()) else {
            return Err(refused("have rings both ways", io::Error::other("there is none")));
        };
        flags.force_copy();
        // SAFETY: the slots live as long as the socket: both are parts of `Self`, which drops the socket
        // first.
        unsafe { rings.fill_ring.enqueue(&mut slots, count as usize) };
        let socket = builder.bind(NicIndex(interface), queue, flags).map_err(|error| {
            refused(&format!("bind an AF_XDP socket to queue {queue} of `{}`", endpoint.name), cause(error))
        })?;
        Ok(Self {
            name: endpoint.name.to_owned(),
            waiting: HeapSlab::with_capacity(BATCH),
            next: None,
            owed: 0,
            sending: HeapSlab::with_capacity(BATCH),
            fill: rings.fill_ring,
            received,
            sent,
            completed: rings.completion_ring,
            socket,
            slots,
        })
    }

    /// Returns the arrival time of the next frame in nanoseconds of `CLOCK_MONOTONIC`, 0 if it is not known;
    /// `None` if there is no frame.
    pub(super) fn next(&mut self) -> Option<u64> {
        if let Some((_, at)) = &self.next {
            return Some(*at);
        }
        if self.waiting.is_empty() {
            // SAFETY: packets and ring entries stay within `self`, whose slots outlive them.
            unsafe {
                if self.owed > 0 {
                    self.owed -= self.fill.enqueue(&mut self.slots, self.owed);
                }
                self.received.recv(&self.slots, &mut self.waiting);
            }
        }
        let mut packet = self.waiting.pop_back()?;
        let at = stamp(&mut packet);
        self.next = Some((packet, at));
        Some(at)
    }

    /// Passes the next frame, if any, to `take` and frees its slot.
    pub(super) fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        if self.next().is_none() {
            return;
        }
        if let Some((packet, _)) = self.next.take() {
            take(&packet);
            self.slots.free_packet(packet);
            self.owed += 1;
        }
    }

    /// Sends frames in order, until no slot is free.
    pub(super) fn send(&mut self, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        let mut taken = 0;
        for batch in frames.chunks(BATCH) {
            let sent = self.send_batch(batch)?;
            taken += sent;
            if sent < batch.len() {
                return Ok(Sent { taken, stopped: Some(Stopped::Busy) });
            }
        }
        Ok(Sent { taken, stopped: None })
    }

    fn send_batch(&mut self, frames: &[&[u8]]) -> Result<usize, InterfaceError> {
        self.completed.dequeue(&mut self.slots, RESERVE as usize);
        let mut laid = 0;
        for frame in frames {
            // SAFETY: the packet stays within `self`, whose slots outlive it. Slots that are to return to the
            // fill ring are not used for sending.
            let Some(mut packet) =
                (self.slots.allocatable() > self.owed).then(|| unsafe { self.slots.alloc() }).flatten()
            else {
                break;
            };
            if packet.append(frame).is_err() {
                self.slots.free_packet(packet);
                break;
            }
            self.sending.push_front(packet);
            laid += 1;
        }
        // SAFETY: as above. The ring has room: it has as many entries as there are slots for sending.
        let queued = unsafe { self.sent.send(&mut self.sending) };
        while let Some(packet) = self.sending.pop_back() {
            self.slots.free_packet(packet);
        }
        debug_assert_eq!(queued, laid, "the ring has room for every slot");
        self.kick()?;
        Ok(queued)
    }

    /// Makes the kernel send the ring's frames. Frames that remain are sent by the next call.
    fn kick(&self) -> Result<(), InterfaceError> {
        for _ in 0..TRIES {
            match send(self.as_fd(), &[], SendFlags::DONTWAIT) {
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Ok(_) | Err(rustix::io::Errno::BUSY | rustix::io::Errno::NOBUFS) => break,
                Err(why) => {
                    return Err(InterfaceError {
                        what: format!("sending by interface `{}`", self.name),
                        why: why.into(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns the error of an interface that is gone.
    pub(super) fn gone(&self) -> InterfaceError {
        let why = match rustix::net::sockopt::socket_error(self.as_fd()) {
            Ok(Err(error)) | Err(error) => error.into(),
            Ok(Ok(())) => io::Error::other("the interface is gone"),
        };
        InterfaceError { what: format!("interface `{}`", self.name), why }
    }

    /// Returns the number of frames, since the socket was opened, for which no slot or no room in the ring
    /// was left.
    pub(super) fn overruns(&self) -> u64 {
        self.socket.statistics().map_or(0, |counts| counts.rx_dropped + counts.rx_ring_full)
    }
}

impl AsFd for QueueSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open as long as `self` lives.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}

/// Returns the builder of a socket in the interface's namespace.
fn builder(endpoint: &Endpoint<'_>) -> io::Result<XdpSocketBuilder> {
    let builder = XdpSocketBuilder::new().map_err(cause)?;
    if endpoint.namespace.is_some() {
        // The builder only knows sockets of this thread's namespace.
        let socket = endpoint.open_socket(SocketKind::AfXdp)?;
        // SAFETY: the builder's descriptor remains open, and remains an unbound `AF_XDP` socket.
        let replaced = unsafe { libc::dup3(socket.as_raw_fd(), builder.as_raw_fd(), libc::O_CLOEXEC) };
        if replaced < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(builder)
}

/// Returns the layout of the memory shared with the kernel: `count` slots for received frames of up to
/// `longest` bytes, the slots for sending, and rings for both.
fn memory_layout(longest: usize, count: u32) -> Result<(UmemCfg, RingConfig), xdp::error::Error> {
    let fits = longest + HEADROOM + STAMP as usize <= 2048;
    let slots = UmemCfgBuilder {
        frame_size: if fits { FrameSize::TwoK } else { FrameSize::FourK },
        head_room: STAMP as u32,
        frame_count: count + RESERVE,
        ..UmemCfgBuilder::default()
    };
    let rings = RingConfigBuilder {
        rx_count: count,
        tx_count: RESERVE,
        fill_count: count,
        completion_count: RESERVE,
    };
    Ok((slots.build()?, rings.build()?))
}

/// Converts to the kernel's error.
fn cause(error: SocketError) -> io::Error {
    match error {
        SocketError::SocketCreation(error) | SocketError::Bind(error) => error,
        SocketError::SetSockOpt { inner, .. }
        | SocketError::GetSockOpt { inner, .. }
        | SocketError::RingMap { inner, .. } => inner,
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
