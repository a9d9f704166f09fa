//! Conditions of one direction of a link: its effects on packets besides their transmission.

use lockgate_engine::units::{Bytes, Duration, Probability};
use lockgate_traffic::Law;

/// Losses, jitter, duplicates, reordering and slots of one direction of a link.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Losses in bursts.
    pub bursts: Option<LossBursts>,
    /// Delay of each packet besides that of the link.
    pub jitter: Option<Law<Duration>>,
    /// True if no packet overtakes another by its jitter.
    pub keeps_order: bool,
    /// Probability that a packet arrives twice.
    pub duplicate: Probability,
    /// Probability that a packet skips the delay, and overtakes those on their way.
    pub reorder: Probability,
    /// Slots in which packets may start.
    pub slots: Option<Slots>,
}

/// Losses in bursts: probabilities at each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossBursts {
    /// That a good line becomes bad.
    pub begin: Probability,
    /// That a bad line becomes good.
    pub end: Probability,
    /// That a bad line loses the packet.
    pub bad: Probability,
    /// That a good line loses it.
    pub good: Probability,
}

/// Slots of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Shortest and longest time from the start of a slot to that of the next, at least a microsecond.
    pub every: [Duration; 2],
    /// Time at its start in which no packet starts; less than the shortest.
    pub gap: Duration,
    /// Packets and bytes that may start in a slot, at least one.
    pub most: [u64; 2],
    /// Largest additional delay of a slot.
    pub delay: Duration,
}

impl Slots {
    /// Returns the limits of a slot: packets and bytes.
    pub(crate) fn limits(packets: Option<u64>, bytes: Option<Bytes>) -> [u64; 2] {
        [packets.unwrap_or(u64::MAX), bytes.map_or(u64::MAX, |bytes| bytes.0)]
    }
}
