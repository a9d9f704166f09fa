//! Nearest from source: the packet that passed fewest routers is served first.
//!
//! Rank: the hops done. All packets of one distance tie, and ties are served in arrival order.
//!
//! In the adversarial queueing model it is universally stable (Andrews et al.), which is a statement on
//! networks; no oracle holds it here.

use crate::discipline::About;
use crate::packet::Header;
use crate::rank::{Rank, Ranked};

/// Nearest from source: the packet that passed fewest routers is served first.
pub type Nfs = Ranked<NearestFromSource>;

/// Rank of [`Nfs`].
pub struct NearestFromSource;

impl Rank for NearestFromSource {
    const ABOUT: About = About {
        name: "nfs",
        summary: "nearest to its source first, by the hops it has done",
        source: "Andrews et al., Universal-stability results for greedy contention-resolution protocols, JACM 48 (2001)",
        ..About::DEFAULT
    };

    fn rank(packet: &Header) -> u64 {
        u64::from(packet.hops)
    }
}
