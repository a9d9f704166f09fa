//! Longest in system: the packet that was injected first is served first.
//!
//! Rank: the injection time, as the source stamped it. Needs clocks that agree: an offset between two
//! sources is an advantage for one of them.
//!
//! In the adversarial queueing model it is universally stable (Andrews et al.), which is a statement on
//! networks; no oracle holds it here.

use crate::discipline::About;
use crate::packet::Header;
use crate::rank::{Rank, Ranked};

/// Longest in system: the packet that was injected first is served first.
pub type Lis = Ranked<LongestInSystem>;

/// Rank of [`Lis`].
pub struct LongestInSystem;

impl Rank for LongestInSystem {
    const ABOUT: About = About {
        name: "lis",
        summary: "longest in system first, by the time stamp of the source",
        source: "Andrews et al., Universal-stability results for greedy contention-resolution protocols, JACM 48 (2001)",
        ..About::DEFAULT
    };

    fn rank(packet: &Header) -> u64 {
        packet.stamp.as_picos()
    }
}
