//! Disciplines held against their theorems, and against reference runs of a kernel.
//!
//! ```text
//! oracles::ALL --hold(kind, trials)--> Finding   (bound, worst measured, ratio, holds)
//! kernel::Reference --scenario text--> sim::run --> what was received beside what the kernel received
//! ```
//!
//! An [oracle](oracle::Oracle) is one theorem: the kinds it is about, and seeded random traffic that tries to
//! break it. The command `lockgate conform` and the tests run the same ones. Comparisons with a bound are made
//! on whole numbers or fractions; floating point is for ratios and for statistics.
//!
//! This crate is pure, and nothing in it judges by a clock.

pub mod borrowing;
pub mod document;
pub mod finding;
pub mod forest;
pub mod hosts;
pub mod kernel;
pub mod kind;
pub mod link;
pub mod managed;
pub mod oracle;
pub mod oracles;
pub mod page;
pub mod service;
pub mod simulate;
pub mod spread;
pub mod stream;
pub mod trials;
pub mod twin;
pub mod weighted;

pub use document::{Conformance, Row, Task, tasks};
pub use finding::{Finding, Worst};
pub use kind::Kind;
pub use oracle::{Entry, Oracle};
pub use trials::Trials;
