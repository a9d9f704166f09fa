//! Probe: the packets that were really sent, in rounds, and what was observed of each.

use lockgate_engine::units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Length in bytes of a full probe packet, as a layer-2 frame.
pub const FULL: u32 = 1442;

/// Length in bytes of a small probe packet.
pub const SMALL: u32 = 142;

/// Traffic class of a packet: DSCP in the upper six bits, ECN in the lower two.
pub mod class {
    /// Best effort, without ECN.
    pub const PLAIN: u8 = 0;
    /// ECN-capable transport, ECT(0).
    pub const ECT0: u8 = 0b10;
    /// ECN-capable transport, ECT(1): the identifier of L4S.
    pub const ECT1: u8 = 0b01;
    /// Congestion experienced.
    pub const CE: u8 = 0b11;
    /// Expedited forwarding, DSCP 46.
    pub const EF: u8 = 46 << 2;
    /// Class selector 1, DSCP 8: less than best effort.
    pub const CS1: u8 = 8 << 2;
}

/// A packet as it was really sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Time of sending by the sender's clock, in picoseconds since the start of the probe.
    pub at: u64,
    /// Length in bytes of the layer-2 frame.
    pub length: u32,
    /// Flow: packets of one flow have the same ports.
    pub flow: u8,
    /// DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: u8,
}

impl Sent {
    /// Returns the time of sending.
    pub fn instant(&self) -> Instant {
        Instant::from_picos(self.at)
    }
}

/// Arrival of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// Time of arrival by the receiver's clock, in picoseconds since the start of the probe by that clock.
    /// The clock may be ahead or behind, so the time may be negative.
    pub at: i64,
    /// Traffic class on arrival.
    pub traffic_class: u8,
}

/// Purpose of a round, which decides its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// One step of a rising rate.
    Ramp,
    /// Packets back to back into an idle queue.
    Train,
    /// A flow above the rate, and small packets beside it.
    Excess,
    /// A flow a little above the rate: time for a control law to act.
    Gentle,
    /// A flow so far above the rate that others have a small part of it, for a line on which nothing waits.
    Flood,
    /// A flow far above the rate, for a queue that the others did not fill.
    Deep,
    /// Two flows of unequal rates.
    Share,
    /// Flows with ECT(0), ECT(1) and without ECN.
    Ecn,
    /// Flows of three classes of service.
    Classes,
}

impl Purpose {
    /// Returns the name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ramp => "ramp",
            Self::Train => "train",
            Self::Excess => "excess",
            Self::Gentle => "gentle",
            Self::Deep => "deep",
            Self::Flood => "flood",
            Self::Share => "share",
            Self::Ecn => "ecn",
            Self::Classes => "classes",
        }
    }
}

/// One round of a probe: a pattern into an idle line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Purpose.
    pub purpose: Purpose,
    /// Why it was sent, in words.
    pub reason: String,
    /// Packets in the order of sending.
    pub packets: Vec<Sent>,
    /// Time at which it was planned by the sender's clock, in picoseconds; zero where no time passes between
    /// rounds.
    #[serde(default)]
    pub planned: u64,
}

impl Round {
    /// Returns the bytes of all its packets.
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| u64::from(packet.length)).sum()
    }
}

/// Rounds that were sent, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The rounds.
    pub rounds: Vec<Round>,
}

impl Probe {
    /// Returns all packets in the order of sending.
    pub fn packets(&self) -> impl Iterator<Item = &Sent> {
        self.rounds.iter().flat_map(|round| &round.packets)
    }

    /// Returns the number of bytes sent.
    pub fn bytes(&self) -> u64 {
        self.rounds.iter().map(Round::bytes).sum()
    }

    /// Returns the time from the start to the last packet.
    pub fn span(&self) -> Duration {
        Duration::from_picos(self.packets().map(|packet| packet.at).max().unwrap_or(0))
    }
}

/// Observation of a probe: for each round and packet its arrival, or `None` if it was lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Arrivals by round, in the order of the packets sent.
    pub rounds: Vec<Vec<Option<Arrival>>>,
}

impl Observation {
    /// Returns the arrivals of all packets in the order of sending.
    pub fn arrivals(&self) -> impl Iterator<Item = &Option<Arrival>> {
        self.rounds.iter().flatten()
    }
}
