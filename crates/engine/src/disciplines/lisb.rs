//! Longest in system by buffers: the packet that waited longest in all its queues is served first.
//!
//! Rank: the arrival here minus the waiting carried in from earlier queues. It orders as LIS does
//! without needing clocks that agree: each router adds up its own waiting only.

use crate::discipline::About;
use crate::packet::Header;
use crate::rank::{Rank, Ranked};

/// Longest in system by buffers: the packet that waited longest in all its queues is served first.
pub type Lisb = Ranked<LongestInBuffers>;

/// Rank of [`Lisb`].
pub struct LongestInBuffers;

impl Rank for LongestInBuffers {
    const ABOUT: About = About {
        name: "lisb",
        summary: "longest waiting in the queues of its path first",
        source: "the CAQT policies compared on a Linux 2.6.7 kernel; see papers/caqt",
        reorders: true,
        ..About::DEFAULT
    };

    fn rank(packet: &Header) -> u64 {
        // The difference has 65 bits: waiting may be longer than the clock has run. Shifted up so that it
        // is not negative and halved, it is ordered to two picoseconds over the whole range.
        let (arrived, waited) = (packet.arrived.as_picos(), packet.waited.as_picos());
        ((u128::from(arrived) + (1 << 64) - u128::from(waited)) >> 1) as u64
    }
}
