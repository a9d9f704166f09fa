//! An `AF_XDP` socket on one end of a veth: frames in before the kernel's network code sees them, out past its queues.
//!
//! ```text
//! program (redirect.rs) -> received -> [slots] -> take      fill ring gets a slot back for each that was taken
//!                                send -> [reserve] -> sent -> completed -> [reserve]
//! ```
//!
//! Slots are copied from and to, so that all of Lockgate's frames live in one place. Those for sending are kept apart by
//! count: what is received can never use them up. Copy mode is asked for: a veth has no other.
#![allow(unsafe_code, reason = "slots of memory shared with the kernel")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::net::{SendFlags, send};
use xdp::nic::NicIndex;
use xdp::slab::{HeapSlab, Slab};
use xdp::socket::{XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, UmemCfgBuilder};
use xdp::{CompletionRing, FillRing, Packet, RingConfigBuilder, RxRing, TxRing, Umem};

use super::packet::ring_length;
use super::redirect::{Redirection, STAMP};
use crate::failure::Missing;
use crate::machine::Broken;
use crate::testbed::index_of;

/// Slots for frames that go.
const RESERVE: u32 = 256;

/// Most frames that are looked at, or sent, at a time.
const BATCH: usize = 64;

/// What the kernel keeps free in front of each frame.
const HEADROOM: usize = 256;

/// How often sending is tried where the kernel says that it has not sent everything: it sends 32 frames a call.
const TRIES: usize = 8;

/// A socket of an interface.
pub(super) struct ExpressSocket {
    name: String,
    /// Frames that have come and have not been taken.
    waiting: HeapSlab,
    /// The next of them, and when it came, by `CLOCK_MONOTONIC`.
    next: Option<(Packet, u64)>,
    /// Slots to be given back to the kernel.
    owed: usize,
    sending: HeapSlab,
    fill: FillRing,
    received: RxRing,
    sent: TxRing,
    completed: CompletionRing,
    socket: XdpSocket,
    /// Held as long as frames are to come.
    redirection: Redirection,
    /// Last: what is above points into it.
    slots: Umem,
}

// SAFETY: packets and rings point into memory that belongs to this socket alone, and are only touched through
// `&mut self`.
unsafe impl Send for ExpressSocket {}

impl ExpressSocket {
    /// Opens a socket for frames of up to `longest` bytes on an interface of this thread's namespace; `wires` is how
    /// many there will be.
    pub(super) fn open(name: &str, longest: usize, wires: usize) -> Result<Self, Missing> {
        let refused = |what: &str, error: &io::Error| Missing::refused(what, error);
        let other = |what: &str, error: &dyn core::fmt::Debug| {
            Missing::refused(what, &io::Error::other(format!("{error:?}")))
        };
        let (frame_size, bytes) = match longest + HEADROOM + STAMP as usize {
            ..=2048 => (FrameSize::TwoK, 2048),
            2049..=4096 => (FrameSize::FourK, 4096),
            _ => return Err(other("have frames this long in an AF_XDP socket", &longest)),
        };
        let slots_received = ring_length(bytes, wires) as u32;
        let interface = index_of(name)?;
        let redirection = Redirection::attach(interface)
            .map_err(|error| refused("attach a program to a veth (CAP_BPF and CAP_NET_ADMIN)", &error))?;
        let wanted = UmemCfgBuilder {
            frame_size,
            head_room: STAMP as u32,
            frame_count: slots_received + RESERVE,
            ..UmemCfgBuilder::default()
        };
        let wanted = wanted.build().map_err(|error| other("lay out slots for frames", &error))?;
        let mut slots = Umem::map(wanted).map_err(|error| refused("have memory for frames", &error))?;
        let mut builder =
            XdpSocketBuilder::new().map_err(|error| other("open an AF_XDP socket (CAP_NET_RAW)", &error))?;
        let rings = RingConfigBuilder {
            rx_count: slots_received,
            tx_count: RESERVE,
            fill_count: slots_received,
            completion_count: RESERVE,
        };
        let rings = rings.build().map_err(|error| other("lay out rings for frames", &error))?;
        let (mut rings, mut flags) = builder
            .build_rings(&slots, rings)
            .map_err(|error| other("share memory with the kernel (limit of locked memory)", &error))?;
        let (Some(received), Some(sent)) = (rings.rx_ring.take(), rings.tx_ring.take()) else {
            return Err(other("have rings both ways", &name));
        };
        flags.force_copy();
        // SAFETY: the slots live as long as the socket: both are parts of `Self`, which drops the socket first.
        unsafe { rings.fill_ring.enqueue(&mut slots, slots_received as usize) };
        let socket = builder
            .bind(NicIndex(interface), 0, flags)
            .map_err(|error| other("bind an AF_XDP socket in copy mode", &error))?;
        let opened = Self {
            name: name.to_owned(),
            waiting: HeapSlab::with_capacity(BATCH),
            next: None,
            owed: 0,
            sending: HeapSlab::with_capacity(BATCH),
            fill: rings.fill_ring,
            received,
            sent,
            completed: rings.completion_ring,
            socket,
            redirection,
            slots,
        };
        opened
            .redirection
            .hand_to(opened.as_fd())
            .map_err(|error| refused("have frames handed to an AF_XDP socket", &error))?;
        Ok(opened)
    }

    /// When the next frame came, in nanoseconds of `CLOCK_MONOTONIC`; `None` where there is none.
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

    /// Shows the next frame, if there is one, and gives its slot back.
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

    /// Sends frames in order; returns how many the kernel took.
    pub(super) fn send(&mut self, frames: &[&[u8]]) -> Result<usize, Broken> {
        let mut done = 0;
        for batch in frames.chunks(BATCH) {
            let taken = self.send_batch(batch)?;
            done += taken;
            if taken < batch.len() {
                break;
            }
        }
        Ok(done)
    }

    fn send_batch(&mut self, frames: &[&[u8]]) -> Result<usize, Broken> {
        self.completed.dequeue(&mut self.slots, RESERVE as usize);
        let mut laid = 0;
        for frame in frames {
            // SAFETY: the packet stays within `self`, whose slots outlive it. What is owed to the fill ring is not for
            // sending.
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
        // SAFETY: as above. There is room: as many entries as slots for sending.
        let queued = unsafe { self.sent.send(&mut self.sending) };
        while let Some(packet) = self.sending.pop_back() {
            self.slots.free_packet(packet);
        }
        debug_assert_eq!(queued, laid, "the ring has room for every slot");
        self.kick()?;
        Ok(queued)
    }

    /// Lets the kernel send what stands in the ring. What it leaves there goes with the next.
    fn kick(&self) -> Result<(), Broken> {
        for _ in 0..TRIES {
            match send(self.as_fd(), &[], SendFlags::DONTWAIT) {
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Ok(_) | Err(rustix::io::Errno::BUSY | rustix::io::Errno::NOBUFS) => break,
                Err(why) => {
                    return Err(Broken { what: format!("sending by wire `{}`", self.name), why: why.into() });
                }
            }
        }
        Ok(())
    }

    /// Why the wire is gone.
    pub(super) fn gone(&self) -> Broken {
        let why = match rustix::net::sockopt::socket_error(self.as_fd()) {
            Ok(Err(error)) | Err(error) => error.into(),
            Ok(Ok(())) => io::Error::other("the wire is gone"),
        };
        Broken { what: format!("wire `{}`", self.name), why }
    }

    /// Frames that found no slot or no room in the ring since the socket was opened.
    pub(super) fn overruns(&self) -> u64 {
        self.socket.statistics().map_or(0, |counts| counts.rx_dropped + counts.rx_ring_full)
    }
}

impl AsFd for ExpressSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open as long as `self` lives.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}

/// The time in front of a frame.
fn stamp(packet: &mut Packet) -> u64 {
    let mut bytes = [0; STAMP as usize];
    // The room is that of every slot, so neither can fail.
    if packet.adjust_head(-STAMP).is_ok() {
        let _ = packet.array_at_offset(0, &mut bytes);
        let _ = packet.adjust_head(STAMP);
    }
    u64::from_ne_bytes(bytes)
}
