//! Observations of a flow by phase: the parts of the window between the changes of a run.
//!
//! A packet belongs to the phase in which it was sent, and bytes received to the phase in which they arrive.
//! So a change is not blamed for packets that waited before it. A run without changes has no phases and pays
//! for none.

use lockgate_engine::node::Tally;
use lockgate_engine::units::{Bytes, Duration, Instant};

use crate::histogram::Histogram;
use crate::lazy::Lazy;

/// Largest number of phases; later changes are part of the last.
pub const MOST_PHASES: usize = 8;

/// Observations of a flow in one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowPhase {
    /// Start: the end of the warm-up, or a change.
    pub start: Instant,
    /// One-way delays in ps of the packets sent in it.
    pub owd: Lazy<Histogram>,
    /// Parts of them spent waiting in queues.
    pub queueing: Lazy<Histogram>,
    /// Packets sent in it that were lost.
    pub lost_packets: u64,
    /// Packets that the source had sent by its start, since the start of the run.
    pub sent_before: Tally,
    /// Packets that had been received by its start.
    pub received_before: Tally,
    /// Payload that had arrived by its start, counted by the driver; `None` if it counts none.
    pub payload_before: Option<Bytes>,
}

/// Returns the phase to which something of this time belongs.
pub(super) fn phase_at(phases: &mut [FlowPhase], time: Instant) -> Option<&mut FlowPhase> {
    let after = phases.partition_point(|phase| phase.start <= time);
    phases.get_mut(after.checked_sub(1)?)
}

/// Observations of a flow's requests in one phase: those sent in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestPhase {
    /// Start.
    pub start: Instant,
    /// Requests sent.
    pub asked: u64,
    /// Requests answered.
    pub answered: u64,
    /// Times from a request to its answer, in ps.
    pub times: Histogram,
}

impl RequestPhase {
    /// Records the answer to a request of this phase.
    pub(super) fn on_answered(&mut self, after: Duration) {
        self.answered += 1;
        self.times.record(after.as_picos());
    }
}
