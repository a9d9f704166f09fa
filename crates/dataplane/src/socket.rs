//! Socket of an interface, of either kind: `AF_XDP` if permitted, a packet socket otherwise.

pub(crate) mod af_xdp;
mod checked_sender;
mod joined_sender;
mod packet;
mod packet_sender;
mod xdp_program;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::dataplane::Sent;
use crate::error::{InterfaceError, Refusal};
use crate::location::Location;
use crate::xdp_redirection::XdpRedirection;

use af_xdp::{Receivers, Sender};
use checked_sender::CheckedSender;
use joined_sender::JoinedSender;
use packet::PacketSocket;
use packet_sender::PacketSender;
pub(crate) use xdp_program::XdpProgram;

/// Binds a packet socket to an interface, to receive frames of every protocol.
pub(crate) fn bind_packet_socket(socket: &OwnedFd, index: u32) -> io::Result<()> {
    packet_sender::bind(socket, index, packet::EVERYTHING)
}

/// Choice of the kind of socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SocketChoice {
    /// `AF_XDP` if all interfaces permit it, packet sockets otherwise, and for endpoints that only receive.
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
    /// Frames arrive at the end of a veth pair and are sent elsewhere (decision 122).
    Cheaper,
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
    AfXdp(Box<(Receivers, Sender)>),
    /// Receives only.
    Receiver(Box<Receivers>),
    /// Sends only.
    PacketSender(PacketSender),
    /// Sends only.
    AfXdpSender(Box<CheckedSender>),
    /// The first, but that successive segments of a connection are sent as super-frames.
    Joining(Box<(FrameSocket, JoinedSender)>),
    /// Receives by the first, which may receive super-frames, and sends by the second.
    Halves(Box<(PacketSocket, FrameSocket)>),
}

impl FrameSocket {
    /// Opens an `AF_XDP` socket for frames of up to `longest` bytes on an interface. `sockets` is the number
    /// of them, which share the memory for frames.
    pub(crate) fn open_af_xdp(
        location: Location<'_>,
        longest: usize,
        sockets: usize,
    ) -> Result<Self, Refusal> {
        af_xdp::open(location, longest, sockets).map(|halves| Self::AfXdp(Box::new(halves)))
    }

    /// Takes the receiving half of the sockets of a redirection.
    pub(crate) fn receiver_of(redirection: &XdpRedirection) -> Result<Self, Refusal> {
        let receivers = redirection.take_receivers()?;
        Ok(Self::Receiver(Box::new(Receivers::of(receivers))))
    }

    /// Takes the sending half of the sockets of a redirection.
    pub(crate) fn sender_of(redirection: &XdpRedirection) -> Result<Self, Refusal> {
        let sender = CheckedSender::new(redirection.name(), redirection.take_sender()?)?;
        Ok(Self::AfXdpSender(Box::new(sender)))
    }

    /// Opens an `AF_XDP` socket that only sends, by an interface of this thread's namespace.
    pub(crate) fn open_af_xdp_sender(location: Location<'_>, longest: usize) -> Result<Self, Refusal> {
        let sender = CheckedSender::new(location.name, af_xdp::open_sender(location, longest)?)?;
        Ok(Self::AfXdpSender(Box::new(sender)))
    }

    /// Opens a packet socket, as [`open_af_xdp`](Self::open_af_xdp) does.
    pub(crate) fn open_packet(
        location: Location<'_>,
        longest: usize,
        sockets: usize,
    ) -> Result<Self, Refusal> {
        PacketSocket::open(location, longest, sockets, false).map(Self::Packet)
    }

    /// Opens a packet socket that may receive super-frames, and if `sends`, others to send by.
    pub(crate) fn open_super_frames(
        location: Location<'_>,
        longest: usize,
        sockets: usize,
        sends: bool,
    ) -> Result<Self, Refusal> {
        let receiver = PacketSocket::open(location, longest, sockets, true)?;
        if !sends {
            return Ok(Self::Packet(receiver));
        }
        let sender = Self::open_packet_sender(location)?.joining(location)?;
        Ok(Self::Halves(Box::new((receiver, sender))))
    }

    /// Returns this socket of an interface, joining what it sends to super-frames.
    pub(crate) fn joining(self, location: Location<'_>) -> Result<Self, Refusal> {
        Ok(Self::Joining(Box::new((self, JoinedSender::open(location)?))))
    }

    /// Opens a packet socket that only sends, by an interface without a link header.
    pub(crate) fn open_packets_sender(location: Location<'_>) -> Result<Self, Refusal> {
        PacketSender::open_without_header(location).map(Self::PacketSender)
    }

    /// Opens a packet socket that only sends, by an interface.
    pub(crate) fn open_packet_sender(location: Location<'_>) -> Result<Self, Refusal> {
        PacketSender::open(location).map(Self::PacketSender)
    }

    /// Returns the arrival time of the next frame; `None` if there is no frame.
    pub(crate) fn next(&mut self) -> Option<ArrivalTime> {
        let nanos = match self {
            Self::Packet(socket) => {
                return socket.next().map(|(seconds, nanos)| ArrivalTime::Wall(seconds, nanos));
            }
            Self::AfXdp(halves) => halves.0.next(),
            Self::Receiver(receivers) => receivers.next(),
            Self::Halves(halves) => {
                return halves.0.next().map(|(seconds, nanos)| ArrivalTime::Wall(seconds, nanos));
            }
            Self::PacketSender(_) | Self::AfXdpSender(_) | Self::Joining(_) => None,
        };
        nanos.map(|nanos| match nanos {
            0 => ArrivalTime::Unknown,
            nanos => ArrivalTime::Monotonic(nanos),
        })
    }

    /// Passes the next frame, if any, to `take`, or the segments of a super-frame, and frees its slot.
    pub(crate) fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        match self {
            Self::Packet(socket) => socket.take(take),
            Self::AfXdp(halves) => halves.0.take(take),
            Self::Receiver(receivers) => receivers.take(take),
            Self::Halves(halves) => halves.0.take(take),
            Self::PacketSender(_) | Self::AfXdpSender(_) | Self::Joining(_) => {}
        }
    }

    /// Sends frames in order, until one is refused.
    pub(crate) fn send(&mut self, frames: &[&[u8]]) -> Result<Sent, InterfaceError> {
        match self {
            Self::Packet(socket) => socket.sender.send(frames),
            Self::AfXdp(halves) => halves.1.send(frames),
            Self::Receiver(receivers) => Err(receivers.gone()),
            Self::PacketSender(sender) => sender.send(frames),
            Self::AfXdpSender(sender) => sender.send(frames),
            Self::Joining(both) => both.1.send(&mut both.0, frames),
            Self::Halves(halves) => halves.1.send(frames),
        }
    }

    /// Sends frames that were taken for sending and that the kernel could not send so far. Returns true if
    /// some still wait.
    #[inline]
    pub(crate) fn flush(&mut self) -> Result<bool, InterfaceError> {
        match self {
            Self::AfXdp(halves) => halves.1.flush(),
            Self::AfXdpSender(sender) => sender.flush(),
            Self::Joining(both) => both.0.flush(),
            Self::Halves(halves) => halves.1.flush(),
            Self::Packet(_) | Self::Receiver(_) | Self::PacketSender(_) => Ok(false),
        }
    }

    /// Returns the error of an interface that is gone.
    pub(crate) fn gone(&self) -> InterfaceError {
        match self {
            Self::Packet(socket) => socket.sender.gone(),
            Self::AfXdp(halves) => halves.0.gone(),
            Self::Receiver(receivers) => receivers.gone(),
            Self::PacketSender(sender) => sender.gone(),
            Self::AfXdpSender(sender) => sender.gone(),
            Self::Joining(both) => both.0.gone(),
            Self::Halves(halves) => halves.0.sender.gone(),
        }
    }

    /// Returns the number of frames, since the socket was opened, that were lost: because a ring or the slots
    /// were full, or because the interface dropped them.
    pub(crate) fn lost(&mut self) -> u64 {
        let unsent = match self {
            Self::Packet(_) | Self::Receiver(_) | Self::PacketSender(_) => 0,
            Self::AfXdp(halves) => halves.1.lost(),
            Self::AfXdpSender(sender) => sender.lost(),
            Self::Joining(both) => both.0.lost(),
            Self::Halves(halves) => halves.1.lost(),
        };
        self.overruns() + unsent
    }

    /// Returns the number of frames lost as [`lost`](Self::lost) does, without those that are still to be
    /// sent.
    pub(crate) fn dropped(&mut self) -> u64 {
        let unsent = match self {
            Self::Packet(_) | Self::Receiver(_) | Self::PacketSender(_) => 0,
            Self::AfXdp(halves) => halves.1.dropped(),
            Self::AfXdpSender(sender) => sender.dropped(),
            Self::Joining(both) => both.0.dropped(),
            Self::Halves(halves) => halves.1.dropped(),
        };
        self.overruns() + unsent
    }

    /// Returns the number of frames, since the socket was opened, that were lost because a ring or the slots
    /// for received frames were full. A super-frame counts as one.
    pub(crate) fn overruns(&mut self) -> u64 {
        match self {
            Self::Packet(socket) => socket.overruns(),
            Self::AfXdp(halves) => halves.0.overruns(),
            Self::Receiver(receivers) => receivers.overruns(),
            Self::Halves(halves) => halves.0.overruns(),
            Self::PacketSender(_) | Self::AfXdpSender(_) | Self::Joining(_) => 0,
        }
    }

    /// Reads the MTU of an interface again, if this socket checks the lengths of frames itself.
    pub(crate) fn refresh(&mut self) {
        match self {
            Self::AfXdpSender(sender) => sender.refresh(),
            Self::Joining(both) => both.0.refresh(),
            Self::Halves(halves) => halves.1.refresh(),
            Self::Packet(_) | Self::AfXdp(_) | Self::Receiver(_) | Self::PacketSender(_) => {}
        }
    }

    /// Returns the descriptors to wait for.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Packet(socket) => vec![socket.as_fd()],
            Self::AfXdp(halves) => halves.0.descriptors().collect(),
            Self::Receiver(receivers) => receivers.descriptors().collect(),
            Self::PacketSender(sender) => vec![sender.as_fd()],
            Self::Joining(both) => both.0.descriptors(),
            Self::Halves(halves) => vec![halves.0.as_fd()],
            // Its socket is that of a receiver, which may belong to another thread.
            Self::AfXdpSender(_) => Vec::new(),
        }
    }
}
