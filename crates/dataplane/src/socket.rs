//! Socket of an interface, of either kind: `AF_XDP` if permitted, a packet socket otherwise.

mod af_xdp;
mod packet;
mod xdp_program;

use std::os::fd::{AsFd, BorrowedFd};

use crate::error::{InterfaceError, Refusal};

use af_xdp::AfXdpSocket;
use packet::PacketSocket;

/// Choice of the kind of socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SocketChoice {
    /// `AF_XDP` if all interfaces permit it, packet sockets otherwise.
    #[default]
    AfXdpOrPacket,
    /// Packet sockets.
    Packet,
    /// `AF_XDP`, or an error.
    AfXdp,
}

/// Reason why packet sockets are used instead of `AF_XDP`.
#[derive(Debug)]
pub enum PacketSocketReason {
    /// [`SocketChoice::Packet`].
    Chosen,
    /// The kernel refused `AF_XDP`.
    Refused(Refusal),
}

/// Arrival time of a frame, by the clock of its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrivalTime {
    /// Wall clock: seconds and nanoseconds since 1970.
    Wall(i64, u32),
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    Monotonic(u64),
}

/// Open socket of an interface.
pub(crate) enum FrameSocket {
    Packet(PacketSocket),
    AfXdp(Box<AfXdpSocket>),
}

impl FrameSocket {
    /// Opens sockets on interfaces of this thread's namespace for frames of up to `longest` bytes, all of one
    /// kind. If that is not `AF_XDP`, the second value says why.
    pub(crate) fn open_all(
        names: &[&str],
        longest: usize,
        choice: SocketChoice,
    ) -> Result<(Vec<Self>, Option<PacketSocketReason>), Refusal> {
        let by_af_xdp = || {
            let opened = names.iter().map(|name| AfXdpSocket::open(name, longest, names.len()));
            opened.map(|opened| opened.map(|socket| Self::AfXdp(Box::new(socket)))).collect()
        };
        let reason = match choice {
            SocketChoice::Packet => PacketSocketReason::Chosen,
            SocketChoice::AfXdp => return Ok((by_af_xdp()?, None)),
            SocketChoice::AfXdpOrPacket => match by_af_xdp() {
                Ok(sockets) => return Ok((sockets, None)),
                Err(refusal) => PacketSocketReason::Refused(refusal),
            },
        };
        let opened = names.iter().map(|name| PacketSocket::open(name, longest, names.len()));
        let sockets: Result<Vec<Self>, Refusal> = opened.map(|opened| opened.map(Self::Packet)).collect();
        Ok((sockets?, Some(reason)))
    }

    /// Returns the arrival time of the next frame; `None` if there is no frame.
    pub(crate) fn next(&mut self) -> Option<ArrivalTime> {
        match self {
            Self::Packet(socket) => socket.next().map(|(seconds, nanos)| ArrivalTime::Wall(seconds, nanos)),
            Self::AfXdp(socket) => socket.next().map(ArrivalTime::Monotonic),
        }
    }

    /// Passes the next frame, if any, to `take` and frees its slot.
    pub(crate) fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        match self {
            Self::Packet(socket) => socket.take(take),
            Self::AfXdp(socket) => socket.take(take),
        }
    }

    /// Sends frames in order. Returns how many the kernel took.
    pub(crate) fn send(&mut self, frames: &[&[u8]]) -> Result<usize, InterfaceError> {
        match self {
            Self::Packet(socket) => socket.send(frames),
            Self::AfXdp(socket) => socket.send(frames),
        }
    }

    /// Returns the error of an interface that is gone.
    pub(crate) fn gone(&self) -> InterfaceError {
        match self {
            Self::Packet(socket) => socket.gone(),
            Self::AfXdp(socket) => socket.gone(),
        }
    }

    /// Returns the frames lost because a ring or the slots were full.
    pub(crate) fn overruns(&self) -> u64 {
        match self {
            Self::Packet(socket) => socket.overruns(),
            Self::AfXdp(socket) => socket.overruns(),
        }
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Packet(socket) => socket.as_fd(),
            Self::AfXdp(socket) => socket.as_fd(),
        }
    }
}
