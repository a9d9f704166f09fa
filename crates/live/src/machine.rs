//! What the driver sees of the machine: frames, reports, sleep. The kernel is one, a simulated one another.

use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::recording::TcpSample;
use lockgate_traffic::Arrivals;

use crate::clock::WallOffset;

/// A datagram as its receiver saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The flow's place in the scenario.
    pub flow: u32,
    /// Its number within the flow.
    pub sequence: u32,
    /// When the receiver's kernel got it.
    pub at: Instant,
    /// When what it answers was sent, where it is the answer to an echo.
    pub asked: Option<Instant>,
}

/// New behaviour of a flow's sender.
#[derive(Debug)]
pub struct Renewal {
    /// The flow's place in the scenario.
    pub flow: usize,
    /// What it sends from now on; `None` where that stays.
    pub arrivals: Option<Arrivals>,
    /// Now.
    pub at: Instant,
    /// When it stops.
    pub stop: Instant,
}

/// Something that happened at an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionEvent {
    /// The flow's place in the scenario.
    pub flow: usize,
    /// When.
    pub at: Instant,
    /// What.
    pub what: Happened,
}

/// What happened at an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The receiving application got so many bytes.
    Delivered(Bytes),
    /// The sender stands like this.
    Sampled(TcpSample),
    /// All has been delivered, this long after the flow's start.
    Completed(Duration),
    /// The application has asked for something.
    Asked,
    /// What it asked at that time has been answered.
    Answered(Instant),
}

/// A wire that no longer exists, or a kernel that no longer works.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Broken {
    /// Which part.
    pub what: String,
    /// What the kernel said.
    pub why: std::io::Error,
}

/// The machine around the network. Wires are numbered as the driver was told: one a host.
pub trait Machine {
    /// The time.
    fn now(&mut self) -> Instant;

    /// How far the wall clock was ahead of this time, lately.
    fn wall(&self) -> WallOffset;

    /// When the next frame on this wire came, if there is one. Not after [`now`](Self::now).
    fn next_frame(&mut self, wire: usize) -> Option<Instant>;

    /// Takes that frame.
    fn take_frame(&mut self, wire: usize, take: &mut dyn FnMut(&[u8]));

    /// Sends frames to a host, in order. Returns how many were taken; the kernel refused the next.
    ///
    /// # Errors
    /// Where the wire is gone.
    fn send(&mut self, wire: usize, frames: &[&[u8]]) -> Result<usize, Broken>;

    /// Hands over what receivers have reported since.
    fn reports(&mut self, take: &mut dyn FnMut(Report));

    /// Hands over what has happened at the ends of connections since.
    fn connections(&mut self, take: &mut dyn FnMut(ConnectionEvent)) {
        let _ = take;
    }

    /// Tells a sender what changes.
    fn renew(&mut self, renewal: Renewal);

    /// Returns when a frame has come or the time is near; at once where it is very near.
    ///
    /// # Errors
    /// Where a wire is gone.
    fn wait(&mut self, until: Instant) -> Result<(), Broken>;

    /// Frames that found no room in the rings of all wires so far.
    fn overruns(&mut self) -> u64;
}
