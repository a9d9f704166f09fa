//! Recordings of runs, the definition of every metric, and the results computed from them.
//!
//! ```text
//! driver --hot calls--> Recording --summarise--> Summary --> summary.json, expectations
//!                           |--> report data --> the page
//!                           '--> Monitor --> samples of the running run
//! ```
//!
//! It has two rooms, and the first does not use the second: what observes and summarises, in numbers; and
//! what tells of it, in sentences and in data of pages (`verdict`, `report`, `monitor`, `fidelity`).
//!
//! This crate is pure: it performs no I/O and reads no clock.
//!
//! ```
//! use lockgate_measure::metric::{Names, Unit, check_path};
//!
//! let flows = ["voice".to_owned()];
//! let names = Names { flows: &flows, ports: &[] };
//! assert_eq!(check_path("flow.voice.owd.p99", &names), Ok(Unit::Seconds));
//! let wrong = check_path("flow.voice.thruput", &names).expect_err("no such metric");
//! assert!(wrong.help().ends_with("did you mean `throughput`?"));
//! ```

#![forbid(unsafe_code)]

pub mod bufferbloat;
pub mod comparison;
mod delta_rows;
pub mod emodel;
#[cfg(any(test, feature = "example"))]
pub mod example;
pub mod fairness;
pub mod fidelity;
pub mod figures;
pub mod group;
pub mod histogram;
pub mod intervals;
pub mod lazy;
pub mod metric;
pub mod monitor;
pub mod recording;
#[cfg(feature = "page")]
pub mod report;
pub mod series;
pub mod sharing;
pub mod summary;
pub mod twin;
mod vectors;
pub mod verdict;
pub mod warmup;

pub use recording::Recording;
pub use summary::{Summary, summarise};
