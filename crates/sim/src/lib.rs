//! Discrete-event simulation: a scenario and a seed become a recording, in exact time.
//!
//! ```text
//! source -> [router] -> Port -> link -> [router] -> Port -> ... -> host       drops -> Recording
//! ```
//!
//! Pure: no I/O, no thread, no clock. The same scenario and seed give the same recording, byte for byte, on
//! any machine. Links, routers and sources are those of `lockgate_network`. Start at [`run()`];
//! [`run_side_by_side()`] lets the caller's threads advance the halves of a large network.

#![forbid(unsafe_code)]

mod build;
mod cut;
mod echoes;
mod event_loop;
mod events;
pub mod journey;
pub mod memory;
mod network;
pub mod outside;
pub mod run;
pub mod side_by_side;
pub mod simulation;
mod slots;
pub mod stepper;
mod tcp_hosts;

pub use event_loop::EVENTS_BETWEEN_STOPS;
pub use journey::{Journey, Sought, Stay, journeys};
pub use lockgate_network::Failure;
pub use memory::Estimate;
pub use outside::{Incoming, Outgoing, OutsideCallError, OutsideSegment};
pub use run::{Command, Observer, run, watched};
pub use side_by_side::{Half, InTurn, Worker, can_split, run_side_by_side};
pub use simulation::{Control, Outcome, Progress, RunView, Simulation};
pub use stepper::{Step, StepEvent, StepPacket, Stepper, Waiting};
