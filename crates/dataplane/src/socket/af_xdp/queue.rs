//! `AF_XDP` socket of a queue: frames in before the kernel's network stack, out past its queues.
//!
//! ```text
//! program (xdp_program.rs) -> received -> [slots] -> Receiver::take     taken slots return to the fill ring
//!              Sender::send -> [reserve] -> sent -> completed -> [reserve]
//! ```
//!
//! Both halves share the socket and its memory, and can belong to different threads. Frames are copied in and
//! out, so that all frames live in one slab ([`crate::slab`]). A fixed number of slots is reserved for
//! sending: arrivals can never exhaust them. Copy mode is requested explicitly, because a veth has no other.
//! See decision 050.
#![allow(unsafe_code, reason = "slots of memory shared with the kernel")]

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use xdp::nic::NicIndex;
use xdp::socket::{SocketError, XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, UmemCfg, UmemCfgBuilder};
use xdp::{RingConfig, RingConfigBuilder, Rings, Umem};

use super::super::xdp_program::STAMP;
use crate::error::{InterfaceError, Refusal};
use crate::location::Location;
use crate::namespace::SocketKind;

/// Slots reserved for sending.
pub(super) const RESERVE: u32 = 256;

/// Frames received or sent at most by one call.
pub(super) const BATCH: usize = 64;

/// Bytes that the kernel keeps free in front of each frame.
const HEADROOM: usize = 256;

/// Entries of the fill ring of a socket that receives nothing. There must be some.
const NO_FILL: u32 = 64;

/// Longest wait for a queue that is in use, and the pause before the next attempt: the kernel frees the
/// queues of a process some time after its end.
const BIND_TIMEOUT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// Socket of a queue, with its memory.
pub(super) struct Queue {
    name: String,
    socket: XdpSocket,
    /// Last field, dropped after the socket, which uses the memory.
    slots: Mutex<Slots>,
}

/// Slots of the memory that a socket shares with the kernel.
pub(super) struct Slots {
    pub(super) memory: Umem,
    /// Free slots that belong into the fill ring.
    pub(super) owed: usize,
}

/// Frames that a socket has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capacity {
    /// Longest frame, in bytes.
    pub(super) longest: usize,
    /// Slots for received frames; 0: none is received.
    pub(super) received: u32,
}

impl Queue {
    /// Opens the socket of a queue of the interface at `location`, which has the index `interface`. Returns
    /// it with its rings. Waits a little while another socket has the queue.
    pub(super) fn open(
        location: Location<'_>,
        interface: u32,
        queue: u32,
        capacity: Capacity,
    ) -> Result<(Arc<Self>, Rings), Refusal> {
        let until = Instant::now() + BIND_TIMEOUT;
        loop {
            match Self::open_once(location, interface, queue, capacity) {
                Err(refusal) if refusal.why.kind() == ErrorKind::ResourceBusy && Instant::now() < until => {
                    thread::sleep(PAUSE);
                }
                opened => return opened,
            }
        }
    }

    fn open_once(
        location: Location<'_>,
        interface: u32,
        queue: u32,
        capacity: Capacity,
    ) -> Result<(Arc<Self>, Rings), Refusal> {
        let refused = |what: &str, error: io::Error| Refusal::new(what, error);
        let (memory, rings) = memory_layout(capacity)
            .map_err(|error| refused("lay out an AF_XDP socket", io::Error::other(error.to_string())))?;
        let mut memory = Umem::map(memory).map_err(|error| refused("have memory for frames", error))?;
        let mut builder =
            builder(location).map_err(|error| refused("open an AF_XDP socket (CAP_NET_RAW)", error))?;
        let (mut rings, mut flags) = builder
            .build_rings(&memory, rings)
            .map_err(|error| refused("share memory with the kernel for AF_XDP", cause(error)))?;
        flags.force_copy();
        // SAFETY: the memory lives as long as the socket: both are parts of a `Queue`, which drops the socket
        // first.
        unsafe { rings.fill_ring.enqueue(&mut memory, capacity.received as usize) };
        let socket = builder.bind(NicIndex(interface), queue, flags).map_err(|error| {
            refused(&format!("bind an AF_XDP socket to queue {queue} of `{}`", location.name), cause(error))
        })?;
        let slots = Mutex::new(Slots { memory, owed: 0 });
        let queue = Arc::new(Self { name: location.name.to_owned(), socket, slots });
        // Room for as many frames as there are slots; if the kernel refuses it, fewer are under way.
        let _ = sockopt::set_socket_send_buffer_size_force(queue.as_fd(), RESERVE as usize * 4_096);
        Ok((queue, rings))
    }

    /// Returns the slots, locked. A thread holds the lock for some nanoseconds a slot, and copies no frame
    /// meanwhile.
    pub(super) fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the error of doing `what` by the interface.
    pub(super) fn error(&self, what: &str, why: io::Error) -> InterfaceError {
        InterfaceError { what: format!("{what} `{}`", self.name), why }
    }

    /// Returns the error of an interface that is gone.
    pub(super) fn gone(&self) -> InterfaceError {
        let why = match sockopt::socket_error(self.as_fd()) {
            Ok(Err(error)) | Err(error) => error.into(),
            Ok(Ok(())) => io::Error::other("the interface is gone"),
        };
        self.error("interface", why)
    }

    /// Returns the number of frames, since the socket was opened, for which no slot or no room in the ring
    /// was left.
    pub(super) fn overruns(&self) -> u64 {
        self.socket.statistics().map_or(0, |counts| counts.rx_dropped + counts.rx_ring_full)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open as long as `self` lives.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}

/// Returns the builder of a socket in the interface's namespace.
fn builder(location: Location<'_>) -> io::Result<XdpSocketBuilder> {
    let builder = XdpSocketBuilder::new().map_err(cause)?;
    if location.namespace.is_some() {
        // The builder only knows sockets of this thread's namespace.
        let socket = location.open_socket(SocketKind::AfXdp)?;
        // SAFETY: the builder's descriptor remains open, and remains an unbound `AF_XDP` socket.
        let replaced = unsafe { libc::dup3(socket.as_raw_fd(), builder.as_raw_fd(), libc::O_CLOEXEC) };
        if replaced < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(builder)
}

/// Returns the layout of the memory shared with the kernel, and of the rings.
fn memory_layout(capacity: Capacity) -> Result<(UmemCfg, RingConfig), xdp::error::Error> {
    let fits = capacity.longest + HEADROOM + STAMP as usize <= 2048;
    let slots = UmemCfgBuilder {
        frame_size: if fits { FrameSize::TwoK } else { FrameSize::FourK },
        head_room: STAMP as u32,
        frame_count: capacity.received + RESERVE,
        ..UmemCfgBuilder::default()
    };
    let rings = RingConfigBuilder {
        rx_count: capacity.received,
        // Twice the slots: the kernel does not always report at once that it has read an entry.
        tx_count: 2 * RESERVE,
        fill_count: capacity.received.max(NO_FILL),
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
