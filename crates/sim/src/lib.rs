//! Discrete-event simulation: a scenario and a seed become a recording, in exact time.
//!
//! ```text
//! source -> [router] -> Port -> link -> [router] -> Port -> ... -> host       drops -> Recording
//! ```
//!
//! Pure: no I/O, no thread, no clock. The same scenario and seed give the same recording, byte for byte, on
//! any machine. Start at [`run::run`].

mod applications;
mod build;
mod echo;
mod events;
mod files;
mod hops;
mod hosts;
mod link;
pub mod memory;
mod network;
mod router;
pub mod run;
mod setups;
mod simulation;
mod source;

/// Parts shared with the live driver: the same links, routers and sources, built by the same functions.
pub mod parts {
    pub use crate::applications::{Planned, application, drawn_files, first_sequence, planned};
    pub use crate::build::{build_link, build_sources, propagation};
    pub use crate::files::note_files;
    pub use crate::hops::Hops;
    pub use crate::link::Link;
    pub use crate::router::Router;
    pub use crate::setups::{flow_setups, run_setup};
    pub use crate::source::{HostClock, Source};
}

pub use memory::Estimate;
pub use run::{Command, Control, Failure, Observer, Outcome, RunView, run, watched};
pub use simulation::{Progress, Simulation};
