//! Tests of disciplines against their theorems, and against reference runs of a kernel.
//!
//! ```text
//! oracles::ALL --hold(kind, trials)--> Finding   (bound, worst measured, ratio, holds)
//! kernel::Reference --scenario text--> sim::run --> results compared with the kernel's
//! ```
//!
//! An [oracle](oracle::Oracle) is one theorem: the kinds to which it applies, and seeded random traffic
//! that tries to break it. The command `lockgate conform` and the tests run the same oracles. Comparisons
//! with a bound are exact, on integers or fractions; floating point is for ratios and statistics.
//!
//! This crate is pure, and no verdict depends on a clock.
//!
//! ```
//! use lockgate_conform::{Kind, Task, tasks};
//!
//! let kind = Kind::named("tbf").expect("a kind of the list");
//! let rows: Vec<_> = tasks(&[kind], 1, Some(1)).iter().map(Task::run).collect();
//! assert!(rows.iter().all(|row| row.holds));
//! ```

#![forbid(unsafe_code)]

pub mod document;
pub mod finding;
mod fixtures;
pub mod kernel;
mod kind;
pub mod oracle;
pub mod oracles;
pub mod page;
mod simulate;
pub mod trials;

pub use document::{Conformance, Row, Task, tasks};
pub use finding::{Finding, Measurement};
pub use kind::Kind;
pub use oracle::{Entry, Oracle};
pub use trials::Trials;
