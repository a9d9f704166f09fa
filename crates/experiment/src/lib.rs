//! Experiments: many runs of scenarios, and statements about their results.
//!
//! ```text
//! Plan { text, settings, variations, seeds } -> tasks -> run_tasks -> rows, in the order of the tasks -> compare
//! claims.toml -> definitions, formulas -> observations -> runs that are needed -> values -> verdicts
//! ```
//!
//! Here a run is only a function from settings to a recording and its summary, given by the caller
//! ([`run_tasks`], [`Runner`]). Nothing here prints or simulates; only a [`store`] opens files.
//!
//! ```
//! use lockgate_experiment::{Plan, run_tasks};
//! use lockgate_scenario::Vary;
//!
//! let plan = Plan {
//!     vary: vec![Vary::parse("link.line.rate=1mbit,2mbit")?],
//!     seeds: vec![1, 2],
//!     ..Plan::default()
//! };
//! let tasks = plan.tasks()?;
//! assert_eq!((tasks[3].variant, tasks[3].seed), (1, 2));
//! // Here a run is only its settings; otherwise it calls a simulator.
//! let results = run_tasks(&tasks, |task| Ok::<_, lockgate_experiment::Error>(task.settings.join(" ")))?;
//! assert_eq!(results[0], "link.line.rate=1mbit");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod claims;
mod columns;
mod compare;
mod error;
mod matrix;
mod plan;
mod runner;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "search")]
pub mod tune;
mod variants;

pub use columns::numbers;
pub use compare::{compare, row};
pub use error::{ClaimsError, Error};
pub use plan::{MOST_TASKS, Plan, Row, Task, Variant, digest};
pub use runner::{Run, Runner, run_tasks};
#[cfg(feature = "store")]
pub use store::Store;
pub use variants::{report_variants, shown};
