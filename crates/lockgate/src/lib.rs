//! Lockgate as a library: everything that the command `lockgate` does, without printing.
//!
//! ```text
//! read -> Scenario -> run (simulated) or run_live -> Runs -> summarise -> Summary -> verdict, results::write
//!                  '-> Simulation: in steps, observed and changed in between
//! ```
//!
//! Nothing here prints, draws progress, handles signals or ends the process: callers give callbacks
//! ([`Options`]) and get errors ([`Error`]).
//!
//! ```
//! use lockgate::{Options, Seed};
//!
//! let text = r#"
//! title = "half of a link"
//! duration = "1s"
//! node.a = {}
//! node.b = {}
//! link.line = { between = ["a", "b"], rate = "2mbit" }
//! flow.f = { from = "a", to = "b", transport = "udp", size = "1250B", rate = "1mbit" }
//! [[expect]]
//! that = "flow.f.loss"
//! at_most = 0.0
//! "#;
//! let scenario = lockgate::read_text(text, "half", &lockgate::no_files(), &[])?;
//! let runs = lockgate::run(&scenario, &Options { seeds: vec![Seed(1), Seed(2)], ..Options::default() })?;
//! let summary = lockgate::summarise(&scenario, &runs.recordings)?;
//! assert_eq!(summary.flows["f"].sent_packets, 100);
//! assert_eq!(lockgate::verdict::line(&summary, &runs), "✓ the expectation holds: flow.f.loss is 0 %, expected at most 0 %, held by 2 of 2");
//! # Ok::<(), lockgate::Error>(())
//! ```
//!
//! Features: `results` (default) writes directories of results; `compare` compares variants, `plans` makes
//! many runs, with a store; `diff` compares policies and scenarios; `threads` makes runs on several threads;
//! `live` makes runs on real packets; `text` makes digests and tables for terminals. Without `results`,
//! `threads`, `plans` and `live` nothing needs a thread, a clock or a file, as in a browser.
#![forbid(unsafe_code)]

#[cfg(feature = "threads")]
pub mod attack;
mod cost;
mod counterfactual;
#[cfg(feature = "diff")]
pub mod diff;
mod error;
pub mod files;
#[cfg(feature = "threads")]
mod helper_thread;
pub mod io_error;
mod judge;
#[cfg(feature = "live")]
mod live;
pub mod memory;
#[cfg(feature = "compare")]
pub mod plans;
pub mod proof;
mod read;
pub mod report;
#[cfg(feature = "results")]
pub mod results;
mod run;
pub mod shell;
pub mod step;
#[cfg(feature = "text")]
pub mod text;
mod ties;
pub mod twin;
pub mod verdict;
mod worst;

pub use counterfactual::{Life, LifeOutcome, OtherLives, Told, add_effects, other_lives};
pub use error::Error;
pub use judge::{judge, summarise};
#[cfg(feature = "live")]
pub use live::{prepare_live, run_live};
pub use read::{no_files, parse_settings, read, read_text, read_within};
pub use run::{Advance, Options, ProgramOutput, Runs, run};
pub use worst::{judged_flows, worst_packets};

pub use lockgate_engine::random::Seed;
pub use lockgate_engine::units;
pub use lockgate_measure::figures;
pub use lockgate_measure::recording::{Detail, Recording};
pub use lockgate_measure::summary::Summary;
pub use lockgate_scenario::{Files, Override, Problem, Problems, Scenario};
pub use lockgate_sim::{Command, Control, Observer, Outcome, Progress, RunView, Simulation};
pub use lockgate_sim::{Step, StepEvent, Stepper};
