//! Interface between driver and machine: frames, reports, time and sleep. Implemented by the kernel and by a
//! simulated one.

use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::recording::TcpSample;
pub use lockgate_network::Renewal;

use crate::clock::WallOffset;

/// Receiver's report of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Index of its flow in the scenario.
    pub flow: u32,
    /// Sequence number within the flow.
    pub sequence: u32,
    /// Arrival time at the receiver's kernel.
    pub at: Instant,
    /// Time at which its request was sent, if it is the answer to an echo.
    pub asked: Option<Instant>,
}

/// Event at one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionEvent {
    /// Index of the flow in the scenario.
    pub flow: usize,
    /// Time of the event.
    pub at: Instant,
    /// The event.
    pub what: Happened,
}

/// Kind of an event at one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The receiving application got this many bytes.
    Delivered(Bytes),
    /// State of the sender's connection.
    Sampled(TcpSample),
    /// The transfer completed; time since the flow's start.
    Completed(Duration),
    /// The application sent a request.
    Asked,
    /// The request sent at this time was answered.
    Answered(Instant),
}

/// A wire that no longer exists, or a failing kernel call.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Broken {
    /// Part that failed.
    pub what: String,
    /// The kernel's error.
    pub why: std::io::Error,
}

/// The machine around the network. A wire is named by its index in the driver's slice: one a host.
pub trait Machine {
    /// Returns the time of the run.
    fn now(&mut self) -> Instant;

    /// Returns a recent offset of the wall clock from this time.
    fn wall(&self) -> WallOffset;

    /// Returns the arrival time of the next frame on this wire; `None` if there is no frame. Not after
    /// [`now`](Self::now).
    fn next_frame(&mut self, wire: usize) -> Option<Instant>;

    /// Passes that frame to `take` and removes it.
    fn take_frame(&mut self, wire: usize, take: &mut dyn FnMut(&[u8]));

    /// Sends frames to a host, in order. Returns how many were taken; if fewer than given, the kernel refused
    /// the next one.
    ///
    /// # Errors
    /// If the wire is gone.
    fn send(&mut self, wire: usize, frames: &[&[u8]]) -> Result<usize, Broken>;

    /// Passes the receivers' reports since the last call to `take`.
    fn reports(&mut self, take: &mut dyn FnMut(Report));

    /// Passes the connections' events since the last call to `take`.
    fn connections(&mut self, take: &mut dyn FnMut(ConnectionEvent)) {
        let _ = take;
    }

    /// Sends a change to the flow's sender.
    fn renew(&mut self, renewal: Renewal);

    /// Returns when a frame has arrived or `until` is near; at once if it is very near. The caller repeats
    /// it.
    ///
    /// # Errors
    /// If a wire is gone.
    fn wait(&mut self, until: Instant) -> Result<(), Broken>;

    /// Returns the frames lost so far because the rings of the wires were full.
    fn overruns(&mut self) -> u64;
}
