//! Traffic offered to a network: random laws, arrival processes, named profiles, replayed captures.
//!
//! This crate is pure: it performs no I/O, starts no threads and reads no clock. Its inputs are files as
//! bytes, and randomness as named streams of a seed.
//!
//! ```text
//! TrafficConfig --(files)--> LoadedFiles
//!       '-----------------------+--> Arrivals --fill--> [Emission { at, length }, ...] --> driver
//! ```
//!
//! Every number drawn is the same on every machine: the generator is `ChaCha8` and all functions are those of
//! the `libm` crate, never the platform's.
//!
//! Read in this order: [`laws`] (the list), [`law`], [`config`], [`arrivals`], [`profile`], [`replay`].

pub mod arrivals;
pub mod config;
pub mod files;
pub mod invalid;
pub mod law;
pub mod laws;
pub mod profile;
pub mod quantity;
pub mod replay;
mod ziggurat;

pub use arrivals::{Arrivals, Emission};
pub use config::TrafficConfig;
pub use files::{Captures, LoadedFiles};
pub use invalid::Invalid;
pub use law::{Law, LawConfig};
pub use quantity::Quantity;
pub use replay::{Replay, ReplayError};
