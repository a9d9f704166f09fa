//! Connection to a host by either kind of socket: `AF_XDP` if permitted, a packet socket otherwise.

use std::os::fd::{AsFd, BorrowedFd};

use super::af_xdp::AfXdpSocket;
use super::packet::PacketSocket;
use crate::failure::Missing;
use crate::machine::Broken;

/// Choice of the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FramesBy {
    /// `AF_XDP` if all wires permit it, packet sockets otherwise.
    #[default]
    Best,
    /// Packet sockets.
    Packet,
    /// `AF_XDP`, or an error.
    Express,
}

/// Arrival time of a frame, by the clock of its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Wall clock: seconds and nanoseconds since 1970.
    Wall(i64, u32),
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    Monotonic(u64),
}

/// Open socket of a host's veth.
pub(super) enum Wire {
    Packet(PacketSocket),
    Express(Box<AfXdpSocket>),
}

impl Wire {
    /// Opens wires on interfaces of this thread's namespace for frames of up to `longest` bytes, all of one
    /// kind. If that is not `AF_XDP`, the second value says why.
    pub(super) fn open_all(
        names: &[&str],
        longest: usize,
        wanted: FramesBy,
    ) -> Result<(Vec<Self>, Option<String>), Missing> {
        let express = || {
            let opened = names.iter().map(|name| AfXdpSocket::open(name, longest, names.len()));
            opened.map(|opened| opened.map(|socket| Self::Express(Box::new(socket)))).collect()
        };
        let why_not = match wanted {
            FramesBy::Packet => "packet sockets were asked for".to_owned(),
            FramesBy::Express => return Ok((express()?, None)),
            FramesBy::Best => match express() {
                Ok(wires) => return Ok((wires, None)),
                Err(missing) => missing.to_string(),
            },
        };
        let opened = names.iter().map(|name| PacketSocket::open(name, longest, names.len()));
        let wires: Result<Vec<Self>, Missing> = opened.map(|opened| opened.map(Self::Packet)).collect();
        Ok((wires?, Some(why_not)))
    }

    /// Returns the arrival time of the next frame; `None` if there is no frame.
    pub(super) fn next(&mut self) -> Option<Stamp> {
        match self {
            Self::Packet(socket) => socket.next().map(|(seconds, nanos)| Stamp::Wall(seconds, nanos)),
            Self::Express(socket) => socket.next().map(Stamp::Monotonic),
        }
    }

    /// Passes the next frame, if any, to `take` and frees its slot.
    pub(super) fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        match self {
            Self::Packet(socket) => socket.take(take),
            Self::Express(socket) => socket.take(take),
        }
    }

    /// Sends frames in order. Returns how many the kernel took.
    pub(super) fn send(&mut self, frames: &[&[u8]]) -> Result<usize, Broken> {
        match self {
            Self::Packet(socket) => socket.send(frames),
            Self::Express(socket) => socket.send(frames),
        }
    }

    /// Returns the error of a wire that is gone.
    pub(super) fn gone(&self) -> Broken {
        match self {
            Self::Packet(socket) => socket.gone(),
            Self::Express(socket) => socket.gone(),
        }
    }

    /// Returns the frames lost because a ring or the slots were full.
    pub(super) fn overruns(&self) -> u64 {
        match self {
            Self::Packet(socket) => socket.overruns(),
            Self::Express(socket) => socket.overruns(),
        }
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Packet(socket) => socket.as_fd(),
            Self::Express(socket) => socket.as_fd(),
        }
    }
}
