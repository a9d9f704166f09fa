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

pub mod alerts;
pub mod capture;
pub mod difference;
pub mod directories;
pub mod draft;
pub mod history;
#[cfg(target_os = "linux")]
mod line_log;
pub mod protocol;
#[cfg(target_os = "linux")]
mod rates;
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

#[cfg(target_os = "linux")]
use crate::tap::CaptureReader;
use lockgate_measure::monitor::Sample;
use lockgate_scenario::Policy;

/// Policy that runs, as samples show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotedPolicy {
    /// Its number.
    pub number: u64,
    /// True while it is on trial.
    pub is_on_trial: bool,
    /// Time at which the trial ends without a confirmation.
    pub reverts_at: Option<std::time::Instant>,
    /// Names of the alerts that fire.
    pub alerts: Vec<String>,
}

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

    /// Returns the frames lost outside the queues so far; none, unless the engine knows.
    fn losses(&self) -> Losses {
        Losses::default()
    }

    /// Notes for its samples the policy that runs, and what its readers must know of it.
    fn note_policy(&mut self, _noted: NotedPolicy) {}

    /// Captures the frames of a port that `filter` has, instead of those captured so far.
    ///
    /// # Errors
    /// If there is no such port, or the engine cannot capture.
    #[cfg(target_os = "linux")]
    fn capture(&mut self, _port: &str, _filter: capture::Filter) -> Result<CaptureReader, Misfit> {
        Err(Misfit { problem: "this router captures nothing".to_owned(), help: "use another".to_owned() })
    }

    /// Returns a sentence about the priority of its threads; empty, unless the engine knows.
    fn priority(&self) -> String {
        String::new()
    }

    /// Returns a sentence about the hosts behind address translation; empty if no queue needs them.
    fn hosts(&self) -> String {
        String::new()
    }

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
    /// Faults that go on: frames that pass around the router, or are lost in it, each as a sentence.
    #[serde(default)]
    pub faults: Vec<String>,
}

/// Frames that were lost outside the queues, by cause. Drops by queues are not included: the queues count
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Losses {
    /// Frames that found no slot: the queues held as many as the policy allows.
    pub no_slot: u64,
    /// Frames that were longer than the interface, or a slot.
    pub too_long: u64,
    /// Frames for an interface that was down.
    #[serde(alias = "down")]
    pub interface_down: u64,
    /// Frames that found a receive ring full, of which a super-frame counts as one, or that an interface
    /// dropped after it had taken them.
    pub at_interfaces: u64,
    /// Frames that the router's own interfaces dropped: they arrived faster than the kernel passed them on.
    pub in_pairs: u64,
    /// Frames that an interface still did not take a second after the end.
    pub at_the_end: u64,
}

impl Losses {
    /// Returns each cause with its frames.
    fn causes(&self) -> [(u64, &'static str); 6] {
        [
            (self.no_slot, "the queues held as many as the policy allows (`frames`)"),
            (self.too_long, "longer than the interface"),
            (self.interface_down, "for an interface that was down"),
            (self.at_interfaces, "in full receive rings, or dropped by an interface"),
            (self.in_pairs, "in the router's own interfaces"),
            (self.at_the_end, "at the end"),
        ]
    }

    /// Returns each cause by a name for programs, with its frames.
    pub fn names(&self) -> [(&'static str, u64); 6] {
        [
            ("no_slot", self.no_slot),
            ("too_long", self.too_long),
            ("interface_down", self.interface_down),
            ("at_interfaces", self.at_interfaces),
            ("in_pairs", self.in_pairs),
            ("at_the_end", self.at_the_end),
        ]
    }

    /// Returns these and others.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            no_slot: self.no_slot + other.no_slot,
            too_long: self.too_long + other.too_long,
            interface_down: self.interface_down + other.interface_down,
            at_interfaces: self.at_interfaces + other.at_interfaces,
            in_pairs: self.in_pairs + other.in_pairs,
            at_the_end: self.at_the_end + other.at_the_end,
        }
    }

    /// Returns those since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            no_slot: self.no_slot.saturating_sub(before.no_slot),
            too_long: self.too_long.saturating_sub(before.too_long),
            interface_down: self.interface_down.saturating_sub(before.interface_down),
            at_interfaces: self.at_interfaces.saturating_sub(before.at_interfaces),
            in_pairs: self.in_pairs.saturating_sub(before.in_pairs),
            at_the_end: self.at_the_end.saturating_sub(before.at_the_end),
        }
    }

    /// Returns the sum of all causes.
    pub fn total(&self) -> u64 {
        self.causes().iter().map(|(frames, _)| frames).sum()
    }
}

impl core::fmt::Display for Losses {
    /// Lists the causes that lost frames.
    fn fmt(&self, to: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let causes = self.causes().into_iter().filter(|(frames, _)| *frames > 0);
        let causes: Vec<String> = causes.map(|(frames, why)| format!("{frames} {why}")).collect();
        to.write_str(&causes.join("; "))
    }
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
