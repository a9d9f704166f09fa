//! A wire to a host: frames by `AF_XDP` where that is permitted, by a packet socket elsewhere.

use std::os::fd::{AsFd, BorrowedFd};

use super::express::ExpressSocket;
use super::packet::PacketSocket;
use crate::failure::Missing;
use crate::machine::Broken;

/// How frames are to come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FramesBy {
    /// By `AF_XDP` where all wires allow it, by packet sockets elsewhere.
    #[default]
    Best,
    /// By packet sockets.
    Packet,
    /// By `AF_XDP`, or not at all.
    Express,
}

/// When a frame came, by the clock of what it came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// The wall clock, in seconds and nanoseconds.
    Wall(i64, u32),
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    Monotonic(u64),
}

/// A wire.
pub(super) enum Wire {
    Packet(PacketSocket),
    Express(Box<ExpressSocket>),
}

impl Wire {
    /// Opens wires on interfaces of this thread's namespace for frames of up to `longest` bytes, all of one kind; and
    /// says, where that is not `AF_XDP`, why.
    pub(super) fn open_all(
        names: &[&str],
        longest: usize,
        wanted: FramesBy,
    ) -> Result<(Vec<Self>, Option<String>), Missing> {
        let express = || {
            let opened = names.iter().map(|name| ExpressSocket::open(name, longest, names.len()));
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

    /// When the next frame came; `None` where there is none.
    pub(super) fn next(&mut self) -> Option<Stamp> {
        match self {
            Self::Packet(socket) => socket.next().map(|(seconds, nanos)| Stamp::Wall(seconds, nanos)),
            Self::Express(socket) => socket.next().map(Stamp::Monotonic),
        }
    }

    /// Shows the next frame, if there is one, and gives its place back.
    pub(super) fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        match self {
            Self::Packet(socket) => socket.take(take),
            Self::Express(socket) => socket.take(take),
        }
    }

    /// Sends frames in order; returns how many the kernel took.
    pub(super) fn send(&mut self, frames: &[&[u8]]) -> Result<usize, Broken> {
        match self {
            Self::Packet(socket) => socket.send(frames),
            Self::Express(socket) => socket.send(frames),
        }
    }

    /// Why the wire is gone.
    pub(super) fn gone(&self) -> Broken {
        match self {
            Self::Packet(socket) => socket.gone(),
            Self::Express(socket) => socket.gone(),
        }
    }

    /// Frames that found no room.
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
