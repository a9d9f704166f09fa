//! Farthest from source: the packet that passed most routers is served first.
//!
//! Rank: minus the hops done. All packets of one distance tie, and ties are served in arrival order.

use crate::packet::Header;
use crate::rank::{Rank, Ranked};

/// Farthest from source: the packet that passed most routers is served first.
pub type Ffs = Ranked<FarthestFromSource>;

/// Rank of [`Ffs`].
pub struct FarthestFromSource;

impl Rank for FarthestFromSource {
    const KIND: &'static str = "ffs";
    const SUMMARY: &'static str = "farthest from its source first, by the hops it has done";
    const SOURCE: &'static str = "Andrews et al., Universal-stability results for greedy contention-resolution protocols, JACM 48 (2001)";
    const GUARANTEES: &'static [&'static str] =
        &["conservation law: with equal sizes and no loss, the mean sojourn of FIFO on the same arrivals"];
    const REORDERS: bool = false;

    fn rank(packet: &Header) -> u64 {
        u64::from(u8::MAX - packet.hops)
    }
}
