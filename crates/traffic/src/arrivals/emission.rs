//! Emission: a packet offered by a flow.

use lockgate_engine::units::Duration;

/// One packet offered by a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Emission {
    /// Time since the flow's start.
    pub at: Duration,
    /// Frame length in bytes, as charged by the link.
    pub length: u32,
}

/// Limit on the emissions appended by one call of [`Arrivals::fill`](super::Arrivals::fill).
pub const BATCH: usize = 32;
