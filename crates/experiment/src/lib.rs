//! Experiments: many runs of scenarios, and statements about their results.
//!
//! ```text
//! Plan { scenario, settings, variations, seeds } -> tasks -> run_tasks -> results, in the order of the tasks
//! claims.toml -> plans, formulas -> observations -> runs that are needed -> values -> verdicts
//! ```
//!
//! An experiment knows a run only as a function from settings to a recording and its summary: the caller gives
//! it ([`run_tasks`], [`Runner`]). Nothing here opens files, prints, or simulates.
//!
//! ```
//! use lockgate_experiment::{Plan, Scalar, Variations, run_tasks};
//!
//! let plan = Plan {
//!     name: "$rate/$seed".to_owned(),
//!     scenario: "line.toml".to_owned(),
//!     settings: vec!["link.line.rate=$rate".to_owned()],
//!     variations: Variations::each([("rate", ["1mbit", "2mbit"].map(Scalar::from))]),
//!     seeds: vec![1, 2],
//! };
//! let tasks = plan.tasks()?;
//! assert_eq!(tasks[3].key, "2mbit/2");
//! assert_eq!(tasks[3].settings, ["link.line.rate=2mbit"]);
//! // Here a run is only its settings; otherwise it calls a simulator.
//! let results = run_tasks(&tasks, |task| Ok::<_, lockgate_experiment::Error>(task.settings.join(" ")))?;
//! assert_eq!(results[0], "link.line.rate=1mbit");
//! # Ok::<(), lockgate_experiment::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod claims;
mod error;
mod matrix;
mod plan;
mod runner;

pub use error::Error;
pub use matrix::{Each, Rows, Scalar, Variables, Variations};
pub use plan::{Plan, Task};
pub use runner::{Run, Runner, run_tasks};
