//! C interface of `lockgate-path`: a network between two ends, for tests of transports in C and C++.
//!
//! ```text
//! C program --include/lockgate_path.h--> exports.rs (pointers, all `unsafe` code) --> handle.rs (types) -->
//! Path
//! ```
//!
//! `include/lockgate_path.h` is generated from this crate, and a test compares both. Build the library with
//! `cargo build --release -p lockgate-path-c`: `liblockgate_path_c.a` and `liblockgate_path_c.so`.

pub mod exports;
mod handle;
mod last_error;

pub use exports::{LockgateDelivery, LockgateFate};
pub use handle::{LockgatePath, LockgateSummary};
