//! Farthest from source: the packet that passed most routers is served first.
//!
//! Rank: minus the hops done. All packets of one distance tie, and ties are served in arrival order.

use crate::discipline::About;
use crate::packet::Header;
use crate::rank::{Rank, Ranked};

/// Farthest from source: the packet that passed most routers is served first.
pub type Ffs = Ranked<FarthestFromSource>;

/// Rank of [`Ffs`].
pub struct FarthestFromSource;

impl Rank for FarthestFromSource {
    const ABOUT: About = About {
        name: "ffs",
        summary: "farthest from its source first, by the hops it has done",
        source: "Andrews et al., Universal-stability results for greedy contention-resolution protocols, JACM 48 (2001)",
        ..About::DEFAULT
    };

    fn rank(packet: &Header) -> u64 {
        u64::from(u8::MAX - packet.hops)
    }
}
