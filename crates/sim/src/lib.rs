//! Scenario and seed become a recording, in exact time.
//!
//! ```text
//! source -> [router] -> Port -> link -> [router] -> Port -> ... -> host       drops -> Recording
//! ```
//!
//! Pure: no I/O, no thread, no clock. The same scenario and seed give the same recording, byte for byte,
//! on any machine. Start at [`run::run`].

mod events;
mod hosts;
mod link;
mod network;
mod router;
pub mod run;
mod source;
pub mod tcp;

pub use run::{Control, Failure, Outcome, run};
