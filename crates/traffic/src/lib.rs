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
//!
//! ```
//! use lockgate_engine::random::Seed;
//! use lockgate_traffic::{Arrivals, LoadedFiles, TrafficConfig};
//!
//! let config: TrafficConfig = toml::from_str("gap = '20ms'\nsize = '200B'").expect("a configuration");
//! let mut arrivals = Arrivals::new(&config, Seed(1), "voice", &LoadedFiles::none()).expect("a flow's traffic");
//! let mut packets = Vec::new();
//! arrivals.fill(&mut packets);
//! assert_eq!((packets[1].at.as_picos(), packets[1].length), (40_000_000_000, 200));
//! assert_eq!(arrivals.mean_rate(), Some(80_000.0));
//! ```

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod config;
pub mod files;
pub mod frame;
pub mod invalid;
pub mod law;
pub mod laws;
pub mod quantity;
#[cfg_attr(not(feature = "captures"), allow(dead_code, reason = "nothing reads captures"))]
pub mod replay;
mod ziggurat;

pub use arrivals::{Arrivals, Emission};
pub use config::{BurstsConfig, ReplayConfig, TrafficConfig, profile};
pub use files::{Captures, LoadedFiles};
pub use invalid::Invalid;
pub use law::{Law, LawConfig};
pub use quantity::Quantity;
pub use replay::{CapturedPacket, Replay, ReplayError};
