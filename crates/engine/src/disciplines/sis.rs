//! Shortest in system: the packet that was injected last is served first.
//!
//! Rank: minus the injection time, as the source stamped it. With push-out, old packets are dropped and the
//! delays of the rest are short: judge it by loss as well as by delay.
//!
//! In the adversarial queueing model it is universally stable (Andrews et al.), which is a statement on
//! networks; no oracle holds it here.

use crate::discipline::About;
use crate::packet::Header;
use crate::rank::{Rank, Ranked};

/// Shortest in system: the packet that was injected last is served first.
pub type Sis = Ranked<ShortestInSystem>;

/// Rank of [`Sis`].
pub struct ShortestInSystem;

impl Rank for ShortestInSystem {
    const ABOUT: About = About {
        name: "sis",
        summary: "shortest in system first, by the time stamp of the source",
        source: "Andrews et al., Universal-stability results for greedy contention-resolution protocols, JACM 48 (2001)",
        reorders: true,
        ..About::DEFAULT
    };

    fn rank(packet: &Header) -> u64 {
        u64::MAX - packet.stamp.as_picos()
    }
}
