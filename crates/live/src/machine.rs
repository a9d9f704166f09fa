//! Interface between the driver and the machine: the dataplane (frames, time, sleep), and the messages
//! between the driver and the hosts' threads (reports, connection events, changes). The kernel and a
//! simulated kernel implement it.

use lockgate_dataplane::dataplane::Dataplane;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::recording::TcpSample;
pub use lockgate_network::Renewal;

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
    pub what: ConnectionEventKind,
}

/// Kind of an event at one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEventKind {
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

/// The machine around the network.
pub trait Machine {
    /// Frame I/O on the hosts' wires, with the clock of the run.
    type Dataplane: Dataplane;

    /// Returns the dataplane. An interface is named by its index in the driver's slice of wires: one a host.
    fn dataplane(&mut self) -> &mut Self::Dataplane;

    /// Passes the receivers' reports since the last call to `take`. Called once a round.
    fn reports(&mut self, take: &mut dyn FnMut(Report));

    /// Passes the connections' events since the last call to `take`.
    fn connections(&mut self, take: &mut dyn FnMut(ConnectionEvent)) {
        let _ = take;
    }

    /// Sends a change to the flow's sender. Non-blocking.
    fn renew(&mut self, renewal: Renewal);
}
