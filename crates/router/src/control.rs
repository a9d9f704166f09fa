//! Policies of a running router: applied, confirmed, taken back.
//!
//! ```text
//! lockgate apply, confirm, rollback, status --socket--> Server --> Control --> Engine
//!                                                                     '--> Store: the confirmed policy, the last ten
//! ```
//!
//! [`Control`](state::Control) is a state machine with time as an argument: a policy runs confirmed or on
//! trial, and a trial that ends without a confirmation is reverted to the last confirmed policy. The timer is
//! the router's, so a trial ends in time although the command, its shell or its connection has died.
//! [`Store`](store::Store) marks a policy as confirmed only once it is, so a router that dies during a trial
//! starts again without the policy on trial.

pub mod condition;
pub mod difference;
pub mod directories;
pub mod draft;
pub mod history;
pub mod protocol;
pub mod state;
pub mod store;

#[cfg(target_os = "linux")]
pub mod claim;
#[cfg(target_os = "linux")]
pub mod client;
#[cfg(target_os = "linux")]
pub mod notify;
#[cfg(target_os = "linux")]
mod peer;
#[cfg(target_os = "linux")]
pub mod server;

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

    /// Returns which frames have bypassed the router; none, unless the engine knows.
    fn bypass(&self) -> Bypass {
        Bypass::default()
    }
}

/// Frames of the router's interfaces that took the kernel's way past it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Bypass {
    /// Their number since the start.
    pub frames: u64,
    /// Reason why frames take it now; empty: they do not.
    pub why: String,
}

/// Effect of a change of policy.
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
    /// Part that does not fit.
    pub problem: String,
    /// Remedy.
    pub help: String,
}
