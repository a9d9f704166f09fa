//! Access to the real machine: its clock, and on Linux its packets.
//!
//! ```text
//! Scenario -> testbed (namespaces, veths) -> driver { network: Ports, links, routers } -> Recording
//!                                              ^ frames   | frames
//!             senders, programs (kernel) ------'          '----> receivers, programs (kernel)
//! ```
//!
//! Start at `run`. [`frame`], [`network`] and [`driver`] are pure, so that they also run under a simulated
//! kernel. Sockets, namespaces, netlink and clocks are `lockgate_dataplane`'s.
//!
//! ```
//! // A kernel chooses no broadcast address for a host: the check before a run says so, on any platform.
//! let text = r#"
//! node.a = { address = "255.255.255.255" }
//! node.b = {}
//! link.l = { between = ["a", "b"], rate = "1mbit" }
//! flow.f = { from = "a", to = "b", transport = "udp", profile = "g711" }
//! duration = "1s"
//! "#;
//! let files = std::collections::BTreeMap::<String, std::sync::Arc<[u8]>>::new();
//! let scenario = lockgate_scenario::read(text, "example", &files, &[])?;
//! assert!(lockgate_live::preflight::check(&scenario).is_err());
//! # Ok::<(), lockgate_scenario::Problems>(())
//! ```
#![forbid(unsafe_code)]

pub mod control_channel;
pub mod driver;
pub mod failure;
mod flows;
pub mod frame;
pub mod frames;
pub mod generator;
pub mod kernel_settings;
#[cfg(target_os = "linux")]
pub mod line_probe;
pub mod machine;
pub mod network;
pub mod preflight;
pub mod traffic;

#[cfg(target_os = "linux")]
pub mod doctor;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
pub mod testbed;

#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(target_os = "linux")]
pub use run::{beside, watched};
#[cfg(not(target_os = "linux"))]
pub use unsupported::watched;

pub use failure::{Failure, Missing};
pub use lockgate_dataplane::{clock, cpu_latency};

#[cfg(target_os = "linux")]
use lockgate_dataplane::namespace;
use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_scenario::Scenario;

/// Runs `scenario` on real packets, with the random draws of `seed`.
///
/// `stop` is called every few milliseconds with the current time; the run ends when it returns true.
///
/// # Errors
/// See [`Failure`]. No namespace or interface remains in any case.
pub fn run(
    scenario: &Scenario,
    seed: Seed,
    stop: &mut (dyn FnMut(Instant) -> bool + Send),
) -> Result<Outcome, Failure> {
    watched(scenario, seed, stop, None)
}

/// Enters a user namespace if this process needs one for live runs (an ordinary user). Must be called before
/// any thread is started.
///
/// # Errors
/// If this host permits network namespaces neither to the user nor in a user namespace.
#[cfg(target_os = "linux")]
pub fn prepare() -> Result<(), Missing> {
    if namespace::may_make_namespaces() { Ok(()) } else { Ok(namespace::enter_user_namespace()?) }
}

/// Does nothing: live runs need Linux.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn prepare() -> Result<(), Missing> {
    Ok(())
}

/// Result of a live run.
#[derive(Debug)]
pub struct Outcome {
    /// Observed data.
    pub recording: lockgate_measure::recording::Recording,
    /// True if `stop` ended the run before its time.
    pub stopped_early: bool,
    /// Reasons why the run is outside its fidelity limits, so that its figures are unreliable; empty if it is
    /// within.
    pub unfaithful: Vec<String>,
    /// Results of the hosts' programs.
    pub programs: Vec<ProgramResult>,
    /// Reason why packet sockets were used; `None` if `AF_XDP` was.
    pub packet_socket_reason: Option<String>,
}

/// Result of a program on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramResult {
    /// The host's name.
    pub node: String,
    /// The command.
    pub command: String,
    /// End of the program, in words.
    pub ended: String,
    /// True if it ended by itself, and successfully.
    pub is_well: bool,
    /// Standard output and standard error, up to one mebibyte.
    pub output: Vec<u8>,
}
