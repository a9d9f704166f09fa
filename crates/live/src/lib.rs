//! What touches the real machine: its clock, and on Linux its packets.
//!
//! ```text
//! Scenario -> testbed (namespaces, veths) -> driver { network: Ports, links, routers by the real clock } -> Recording
//!                                              ^ frames   | frames
//!             senders, programs (kernel) ------'          '----> receivers, programs (kernel)
//! ```
//!
//! Start at `run`. What is pure here ([`frame`], [`network`], [`driver`]) is pure so that it can be run
//! under a simulated kernel, too.

pub mod awake;
pub mod between;
pub mod clock;
pub mod driver;
pub mod failure;
pub mod fidelity;
mod flows;
pub mod frame;
pub mod frames;
pub mod machine;
pub mod network;
pub mod suited;
pub mod traffic;
pub mod watch;

#[cfg(target_os = "linux")]
mod dataplane;
#[cfg(target_os = "linux")]
pub mod doctor;
#[cfg(target_os = "linux")]
mod mailbox;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
pub mod testbed;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::watched;
#[cfg(target_os = "linux")]
pub use run::watched;

pub use failure::{Failure, Missing};

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_scenario::Scenario;

/// Runs `scenario` on real packets, with the random draws of `seed`.
///
/// `stop` is asked every few milliseconds, and told the time.
///
/// # Errors
/// See [`Failure`]. Nothing is left behind, whatever happens.
pub fn run(
    scenario: &Scenario,
    seed: Seed,
    stop: &mut (dyn FnMut(Instant) -> bool + Send),
) -> Result<Outcome, Failure> {
    watched(scenario, seed, stop, None)
}

/// Makes live runs possible for this process where that takes a user namespace: for an ordinary user. To be
/// called before any thread is started.
///
/// # Errors
/// Where this host allows it neither to the user nor to users of namespaces of their own.
#[cfg(target_os = "linux")]
pub fn prepare() -> Result<(), Missing> {
    if testbed::may_make_namespaces() { Ok(()) } else { testbed::enter_user_namespace() }
}

/// Live runs need Linux: nothing to prepare.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn prepare() -> Result<(), Missing> {
    Ok(())
}

/// What a live run yields.
#[derive(Debug)]
pub struct Outcome {
    /// What was observed.
    pub recording: lockgate_measure::recording::Recording,
    /// Whether the watcher stopped it before its time.
    pub stopped_early: bool,
    /// Why the run is outside the limits within which its figures can be relied on; empty where it is not.
    pub unfaithful: Vec<String>,
    /// What the programs of its hosts did.
    pub programs: Vec<Ran>,
    /// Why frames came and went by packet sockets; `None` where they did by `AF_XDP`.
    pub no_express: Option<String>,
}

/// What became of a program on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The host's name.
    pub node: String,
    /// The command.
    pub command: String,
    /// How it ended, in words.
    pub ended: String,
    /// Whether it ended by itself, and well.
    pub is_well: bool,
    /// What it said, errors included, as far as it fits a mebibyte.
    pub output: Vec<u8>,
}
