//! Recordings of runs, the definition of every metric, and the results computed from them.
//!
//! ```text
//! driver --hot calls--> Recording --summarise--> Summary --> summary.json, expectations
//!                           |--> report data --> the page
//!                           |--> Monitor --> samples of the running run
//!                           '--> Parquet, pcapng
//! ```
//!
//! This crate is pure: it performs no I/O (exports write to the writer they are given) and reads no clock.

pub mod emodel;
#[cfg(test)]
mod example;
pub mod export;
pub mod fairness;
pub mod histogram;
pub mod intervals;
pub mod metric;
pub mod monitor;
pub mod recording;
pub mod report;
pub mod series;
pub mod sharing;
pub mod summary;
pub mod twin;
pub mod warmup;

pub use recording::Recording;
pub use summary::{Summary, summarise};
