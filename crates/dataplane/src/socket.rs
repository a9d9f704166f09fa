//! Socket of an interface, of either kind: `AF_XDP` if permitted, a packet socket otherwise.

mod af_xdp;
mod packet;
mod packet_sender;
mod xdp_program;

use std::os::fd::{AsFd, BorrowedFd};

use crate::dataplane::Sent;
use crate::endpoint::Endpoint;
use crate::error::{InterfaceError, Refusal};
use crate::xdp_redirection::XdpRedirection;

use af_xdp::AfXdpSocket;
use packet::PacketSocket;
use packet_sender::PacketSender;
pub(crate) use xdp_program::XdpProgram;

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
    /// The driver has no room for a time stamp.
    Unknown,
}

/// Open socket of an interface.
pub(crate) enum FrameSocket {
    Packet(PacketSocket),
    AfXdp(Box<AfXdpSocket>),
    /// Sends only.
    Sender(PacketSender),
}

impl FrameSocket {
    /// Opens an `AF_XDP` socket for frames of up to `longest` bytes on an interface. `sockets` is the number
    /// of them, which share the memory for frames.
    pub(crate) fn open_af_xdp(
        endpoint: &Endpoint<'_>,
        longest: usize,
        sockets: usize,
    ) -> Result<Self, Refusal> {
        Ok(Self::AfXdp(Box::new(AfXdpSocket::open(endpoint, longest, sockets)?)))
    }

    /// Opens an `AF_XDP` socket for each queue of `redirection`, as [`open_af_xdp`](Self::open_af_xdp) does.
    pub(crate) fn open_queues(
        redirection: &XdpRedirection,
        longest: usize,
        sockets: usize,
    ) -> Result<Self, Refusal> {
        Ok(Self::AfXdp(Box::new(AfXdpSocket::open_queues(redirection, longest, sockets)?)))
    }

    /// Opens a packet socket, as [`open_af_xdp`](Self::open_af_xdp) does.
    pub(crate) fn open_packet(
        endpoint: &Endpoint<'_>,
        longest: usize,
        sockets: usize,
    ) -> Result<Self, Refusal> {
        PacketSocket::open(endpoint, longest, sockets).map(Self::Packet)
    }

    /// Opens a socket that only sends, by an interface.
    pub(crate) fn open_sender(endpoint: &Endpoint<'_>) -> Result<Self, Refusal> {
        PacketSender::open(endpoint).map(Self::Sender)
    }

    /// Returns the arrival time of the next frame; `None` if there is no frame.
    pub(crate) fn next(&mut self) -> Option<ArrivalTime> {
        match self {
            Self::Packet(socket) => socket.next().map(|(seconds, nanos)| ArrivalTime::Wall(seconds, nanos)),
            Self::AfXdp(socket) => socket.next().map(|nanos| match nanos {
                0 => ArrivalTime::Unknown,
                nanos => ArrivalTime::Monotonic(nanos),
            }),
            Self::Sender(_) => None,
        }
    }

    /// Passes the next frame, if any, to `take` and frees its slot.
    pub(crate) fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        match self {
            Self::Packet(socket) => socket.take(take),
            Self::AfXdp(socket) => socket.take(take),
            Self::Sender(_) => {}
        }
    }

    /// Sends frames in order, until one is refused.
    pub(crate) fn send(&mut self, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        match self {
            Self::Packet(socket) => socket.sender.send(frames),
            Self::AfXdp(socket) => socket.send(frames),
            Self::Sender(sender) => sender.send(frames),
        }
    }

    /// Returns the error of an interface that is gone.
    pub(crate) fn gone(&self) -> InterfaceError {
        match self {
            Self::Packet(socket) => socket.sender.gone(),
            Self::AfXdp(socket) => socket.gone(),
            Self::Sender(sender) => sender.gone(),
        }
    }

    /// Returns the number of frames, since the socket was opened, that were lost because a ring or the slots
    /// were full.
    pub(crate) fn overruns(&mut self) -> u64 {
        match self {
            Self::Packet(socket) => socket.overruns(),
            Self::AfXdp(socket) => socket.overruns(),
            Self::Sender(_) => 0,
        }
    }

    /// Returns the descriptors to wait for.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Packet(socket) => vec![socket.as_fd()],
            Self::AfXdp(socket) => socket.descriptors().collect(),
            Self::Sender(sender) => vec![sender.as_fd()],
        }
    }
}
