//! Policies of a running router: applied, confirmed, taken back.

use lockgate_measure::monitor::Sample;
use lockgate_scenario::Policy;

/// A running router, as its control sees it.
pub trait Engine {
    /// Changes the ports to those of `policy`, which has the mode and the interfaces of the running one.
    /// Queued packets stay, except those that a smaller limit forces out.
    ///
    /// # Errors
    /// Fails, and changes nothing, if the policy does not fit the running router.
    fn apply(&mut self, policy: &Policy) -> Result<Applied, Misfit>;

    /// Returns the newest sample of the ports and queues; `None` before the first.
    fn sample(&mut self) -> Option<Sample>;
}

/// What a change of policy did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Applied {
    /// Packets that moved to a new tree of queues.
    pub moved_packets: u64,
    /// Packets that a smaller limit forced out.
    pub forced_out_packets: u64,
}

/// A policy that does not fit the running router: the reason, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}: {help}")]
pub struct Misfit {
    /// What does not fit.
    pub problem: String,
    /// What to do.
    pub help: String,
}
