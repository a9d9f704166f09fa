//! Packet socket that sends by an interface and receives nothing.
#![allow(unsafe_code, reason = "calls of the kernel")]

use core::ptr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::dataplane::{Sent, Stopped};
use crate::error::{InterfaceError, Refusal};
use crate::location::Location;
use crate::namespace::SocketKind;

/// Frames sent at most by one call of the kernel.
const BATCH: usize = 64;

/// Bytes of an Ethernet header, and where its protocol is.
const HEADER: usize = 14;
const PROTOCOL: usize = 12;

/// Packet socket that only sends. Its frames bypass the kernel's queues and the programs at the interface's
/// egress, and keep their order.
pub(crate) struct PacketSender {
    pub(super) socket: OwnedFd,
    pub(super) name: String,
    messages: Messages,
    /// Index of the interface, if its frames have no header: those that are sent lose theirs.
    headless: Option<u32>,
}

/// Message headers of a call, reused by the next one: clearing them costs more than sending one frame's.
struct Messages {
    vectors: Box<[libc::iovec; BATCH]>,
    /// Each header refers to the vector of the same index.
    headers: Box<[libc::mmsghdr; BATCH]>,
    /// Addresses of the messages without a link header: their interface and protocol.
    addresses: Box<[libc::sockaddr_ll; BATCH]>,
}

// SAFETY: the pointers refer to the vectors, which belong to the same value, and to frames, which are used
// only during a call.
unsafe impl Send for Messages {}

impl Messages {
    fn new() -> Self {
        // SAFETY: both are plain data of integers and pointers, for which zero is a value.
        let (vectors, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (core::mem::zeroed(), core::mem::zeroed()) };
        for header in &mut headers {
            header.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: as above.
        let addresses = unsafe { core::mem::zeroed() };
        Self { vectors: Box::new(vectors), headers: Box::new(headers), addresses: Box::new(addresses) }
    }

    /// Takes the Ethernet headers of the filled in messages away. Their protocols, and this interface, become
    /// the messages' addresses.
    fn cut(&mut self, frames: &[&[u8]], interface: u32) {
        let parts = self.vectors.iter_mut().zip(self.headers.iter_mut()).zip(self.addresses.iter_mut());
        for (((vector, header), address), frame) in parts.zip(frames) {
            let packet = frame.get(HEADER..).unwrap_or_default();
            vector.iov_base = packet.as_ptr().cast_mut().cast();
            vector.iov_len = packet.len();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_ifindex = interface.cast_signed();
            address.sll_protocol =
                frame.get(PROTOCOL..HEADER).map_or(0, |it| u16::from_ne_bytes([it[0], it[1]]));
            header.msg_hdr.msg_name = ptr::from_mut(address).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        }
    }

    /// Fills in `frames`, at most [`BATCH`].
    fn fill(&mut self, frames: &[&[u8]]) {
        for ((vector, header), frame) in self.vectors.iter_mut().zip(self.headers.iter_mut()).zip(frames) {
            vector.iov_base = frame.as_ptr().cast_mut().cast();
            vector.iov_len = frame.len();
            header.msg_hdr.msg_iov = vector;
        }
    }
}

impl PacketSender {
    /// Opens a socket that only sends, by an interface.
    pub(super) fn open(location: Location<'_>) -> Result<Self, Refusal> {
        Self::unbound(location)?.bound(location)
    }

    /// Binds the socket to its interface.
    pub(super) fn bound(self, location: Location<'_>) -> Result<Self, Refusal> {
        let nothing = 0;
        bind(&self.socket, location.index()?, nothing)
            .map_err(|error| Refusal::new("bind a packet socket", error))?;
        Ok(self)
    }

    /// Opens a socket that only sends, by an interface without a link header.
    pub(super) fn open_without_header(location: Location<'_>) -> Result<Self, Refusal> {
        let opened = Self::of_kind(location, SocketKind::PacketWithoutHeader)?.bound(location)?;
        Ok(Self { headless: Some(location.index()?), ..opened })
    }

    /// Opens a socket that is not bound to the interface yet.
    pub(super) fn unbound(location: Location<'_>) -> Result<Self, Refusal> {
        Self::of_kind(location, SocketKind::Packet)
    }

    fn of_kind(location: Location<'_>, kind: SocketKind) -> Result<Self, Refusal> {
        let socket = location
            .open_socket(kind)
            .map_err(|error| Refusal::new("open a packet socket (CAP_NET_RAW)", error))?;
        set_option(&socket, libc::PACKET_QDISC_BYPASS, &1u32)
            .map_err(|error| Refusal::new("send past the kernel's queues", error))?;
        Ok(Self { socket, name: location.name.to_owned(), messages: Messages::new(), headless: None })
    }

    /// Sends frames in order, until the kernel refuses one.
    pub(super) fn send(&mut self, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        let mut taken = 0;
        for batch in frames.chunks(BATCH) {
            let sent = self.send_batch(batch)?;
            taken += sent.taken;
            if sent.stopped.is_some() {
                return Ok(Sent { taken, ..sent });
            }
        }
        Ok(Sent { taken, stopped: None })
    }

    fn send_batch(&mut self, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        self.messages.fill(frames);
        if let Some(interface) = self.headless {
            self.messages.cut(frames, interface);
        }
        let messages = &mut self.messages.headers[..frames.len().min(BATCH)];
        let mut taken = 0;
        loop {
            let rest = &mut messages[taken..];
            if rest.is_empty() {
                return Ok(Sent { taken, stopped: None });
            }
            // By the system call: musl's `sendmmsg` calls the kernel for each message. What musl's structure
            // pads is zero, as the kernel's wider lengths need it. SAFETY: the messages are filled in, each
            // with one vector over a frame that outlives the call; the kernel only reads through them, and
            // writes their `msg_len`.
            let sent = unsafe {
                libc::syscall(
                    libc::SYS_sendmmsg,
                    self.socket.as_raw_fd(),
                    rest.as_mut_ptr(),
                    rest.len() as u32,
                    libc::MSG_DONTWAIT,
                )
            };
            if let Ok(sent) = usize::try_from(sent) {
                // Not all were taken: the next call returns the reason.
                taken += sent;
                continue;
            }
            let why = io::Error::last_os_error();
            let stopped = match why.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Stopped::Busy,
                Some(libc::EMSGSIZE) => Stopped::TooLong,
                Some(libc::ENETDOWN) => Stopped::Down,
                _ => {
                    let what = format!("sending by interface `{}`", self.name);
                    return Err(InterfaceError { what, why });
                }
            };
            return Ok(Sent { taken, stopped: Some(stopped) });
        }
    }

    /// Returns the MTU of the interface, which may change at any time.
    pub(super) fn mtu(&self) -> io::Result<usize> {
        // SAFETY: `ifreq` is plain data of integers and a pointer, for which zero is a value.
        let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(self.name.bytes()) {
            *to = from.cast_signed();
        }
        // SAFETY: `request` is a whole `ifreq` whose name ends in a zero byte; the kernel writes its MTU.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has written this field of the union.
        Ok(usize::try_from(unsafe { request.ifr_ifru.ifru_mtu }).unwrap_or(0))
    }

    /// Returns the error of an interface that is gone.
    pub(super) fn gone(&self) -> InterfaceError {
        let why = rustix::net::sockopt::socket_error(&self.socket);
        let why = match why {
            Ok(Err(error)) | Err(error) => error.into(),
            Ok(Ok(())) => io::Error::other("the interface is gone"),
        };
        InterfaceError { what: format!("interface `{}`", self.name), why }
    }
}

impl AsFd for PacketSender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

pub(super) fn set_option<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes from a `T`, which every caller chooses as plain data.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Binds a packet socket to an interface, to receive frames of `protocol` (in network byte order; 0: none).
pub(super) fn bind(socket: &OwnedFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: the address is plain data of integers, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = index.cast_signed();
    // SAFETY: the kernel reads the size of a `sockaddr_ll` from one.
    let done = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
