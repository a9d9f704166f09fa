//! Probe of a line between any two hosts: packets at planned times, one way or the other, and the times at
//! which each of them really left and arrived.
//!
//! ```text
//! client                                           server
//!   TCP  Hello: token            ----------------->  Welcome: its limits
//!   UDP  a greeting of each flow ----------------->  address of each flow, also that behind a NAT
//!   UDP  clock probes            <---------------->  (those of `lockgate send`)
//!   TCP  Arm, then UDP packets   ----------------->  arrivals by kernel time stamps; Collect, Arrivals
//!   TCP  Send                    ----------------->  UDP packets back; Departures
//! ```
//!
//! Whoever receives reports the packets so far four times a second; a sender that hears of no new packet for
//! two seconds stops. A server sends only to addresses whose greeting it has answered, for a client that has
//! its token, never above its own rate and number of bytes. Both ends use the sender's clock discipline of
//! live runs: absolute times, the stamp as late as possible, real-time priority where it is permitted.

mod channel;
mod client;
mod collector;
mod greeting;
mod loopback;
mod server;
mod transmit;
mod wire;

pub use client::Client;
pub use loopback::{Noise, loopback};
pub use server::{Event, Server, serve};

use std::io;

use lockgate_engine::units::Duration;

/// Number of flows: each has ports of its own.
pub const FLOWS: usize = 10;

/// Default port, of TCP and UDP.
pub const PORT: u16 = 5_202;

/// Version of the protocol.
const VERSION: u16 = 2;

/// Most packets of one round: their numbers have sixteen bits.
const MOST_PACKETS: usize = 1 << 16;

/// Time without news of a packet, after which a sender stops.
const SILENCE: Duration = Duration::from_secs(2);

/// Interval of a receiver's reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// Direction of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// A packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Planned time of sending by the client's clock, in picoseconds since it was connected.
    pub at: u64,
    /// Length in bytes of the Ethernet frame.
    pub length: u32,
    /// Flow, less than [`FLOWS`].
    pub flow: u8,
    /// DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: u8,
}

/// Arrival of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time of arrival by the client's clock, in picoseconds; of a server the offset of its clock was
    /// subtracted.
    pub at: i64,
    /// Traffic class on arrival.
    pub traffic_class: u8,
}

/// Packets that a host did not send as planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Packets sent more than ten milliseconds after they might leave.
    pub late: u32,
    /// Packets whose call of the kernel took more than a millisecond: their stamps may be wrong.
    pub slow: u32,
    /// Packets that the kernel refused: the host's own queue was full.
    pub refused: u32,
    /// Packets that the receiving host's socket dropped.
    pub dropped: u32,
}

/// Result of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Time at which each packet left, in picoseconds by the client's clock; `None` if it was refused.
    pub departures: Vec<Option<u64>>,
    /// Arrival of each packet; `None` if it was lost.
    pub arrivals: Vec<Option<Arrival>>,
    /// Packets that were not sent as planned.
    pub lateness: Lateness,
}

/// Reason why a line cannot be probed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused a call.
    #[error("cannot {what}: {why}")]
    Refused {
        /// The call.
        what: String,
        /// The system's error.
        why: io::Error,
    },
    /// The other end did not accept the token.
    #[error("the other end does not accept this token")]
    Token,
    /// The other end speaks another version.
    #[error("the other end is of another version of Lockgate")]
    Version,
    /// The server serves another client.
    #[error("the other end serves another client")]
    Busy,
    /// Greetings were not answered.
    #[error("no UDP packet comes back from there, although TCP connects")]
    Unreachable,
    /// No packet was heard of for two seconds.
    #[error("stopped: nothing was heard of the packets for two seconds")]
    Silence,
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The server's limit of bytes is spent.
    #[error("the other end sends no more bytes: its `--budget` is spent")]
    Spent,
    /// The other end broke the protocol, or the connection.
    #[error("the other end ended the probe")]
    Ended,
}

impl Error {
    fn refused(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |why| Self::Refused { what, why }
    }
}

impl Lateness {
    fn add(&mut self, other: Self) {
        self.late += other.late;
        self.slow += other.slow;
        self.refused += other.refused;
        self.dropped += other.dropped;
    }
}
