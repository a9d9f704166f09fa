//! Sample: what a shaper has seen since the last step.

use lockgate_engine::units::{Bytes, Duration, Rate};

/// Limit on the probed addresses of one line.
pub const MOST_PROBES: usize = 8;

/// Round trip of each probed address, if it answered. The length is written out: rustc 1.95 fails on a
/// closure that captures an array whose length is a constant.
pub type Probes = [Option<Duration>; 8];

/// Observations of one direction of a line since the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Bytes that the shaper sent.
    pub sent: Bytes,
    /// Those of them whose delivery can be read: of flows with acknowledgements.
    pub tracked: Bytes,
    /// Bytes of such flows that were delivered, as acknowledgements say; `None` if none are read.
    pub delivered: Option<Bytes>,
    /// Smallest round trip of a packet acknowledged since the last step, from its departure at the shaper.
    pub rtt: Option<Duration>,
    /// Time for which the next packet to be acknowledged has been on its way; `None` if none is.
    pub oldest: Option<Duration>,
    /// Round trip of each probe that was answered, by address.
    pub probes: Probes,
    /// True if packets wait at the shaper: its rate is what limits.
    pub is_backlogged: bool,
    /// Rate of the line, for [`oracle`](crate::laws) in simulations; `None` elsewhere.
    pub capacity: Option<Rate>,
}

impl Sample {
    /// Returns whether anything came back over the line.
    pub fn has_return(&self) -> bool {
        self.delivered.is_some_and(|bytes| bytes > Bytes::ZERO)
            || self.rtt.is_some()
            || self.probes.iter().any(Option::is_some)
    }
}
