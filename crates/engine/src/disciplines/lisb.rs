//! Longest in system by buffers: the packet that waited longest in all its queues is served first.
//!
//! Rank: the arrival here minus the waiting carried in from earlier queues. It orders as LIS does
//! without needing clocks that agree: each router adds up its own waiting only.

use crate::packet::Header;
use crate::rank::{Rank, Ranked};

/// Longest in system by buffers: the packet that waited longest in all its queues is served first.
pub type Lisb = Ranked<LongestInBuffers>;

/// The order of [`Lisb`].
pub struct LongestInBuffers;

impl Rank for LongestInBuffers {
    const KIND: &'static str = "lisb";
    const SUMMARY: &'static str = "longest waiting in the queues of its path first";
    const SOURCE: &'static str = "the CAQT policies compared on a Linux 2.6.7 kernel; see papers/caqt";
    const GUARANTEES: &'static [&'static str] = &[
        "conservation law: with equal sizes and no loss, the mean sojourn of FIFO on the same arrivals",
    ];
    const REORDERS: bool = true;

    fn rank(packet: &Header) -> u64 {
        // Shifted by 53 days, so that waiting longer than the clock has run stays in order.
        packet.arrived.as_picos().saturating_add(1 << 62).saturating_sub(packet.waited.as_picos())
    }
}
