//! What the disciplines provably guarantee, held against random traffic on one node.
//!
//! Each test prints how near its worst case came to the bound (`cargo test -- --nocapture`): a ratio far
//! below one would mean that the traffic does not try the theorem.

#![allow(clippy::print_stdout, reason = "the ratios are for whoever asks to see them")]

mod common;

#[path = "theorems/ages.rs"]
mod ages;
#[path = "theorems/aqm.rs"]
mod aqm;
#[path = "theorems/buffer.rs"]
mod buffer;
#[path = "theorems/cobalt.rs"]
mod cobalt;
#[path = "theorems/codel.rs"]
mod codel;
#[path = "theorems/conservation.rs"]
mod conservation;
#[path = "theorems/deadlines.rs"]
mod deadlines;
#[path = "theorems/fairness.rs"]
mod fairness;
#[path = "theorems/fluid.rs"]
mod fluid;
#[path = "theorems/fq_codel.rs"]
mod fq_codel;
#[path = "theorems/guard.rs"]
mod guard;
#[path = "theorems/kernel.rs"]
mod kernel;
#[path = "theorems/pie.rs"]
mod pie;
#[path = "theorems/queueing.rs"]
mod queueing;
#[path = "theorems/red.rs"]
mod red;
#[path = "theorems/rounds.rs"]
mod rounds;
#[path = "theorems/shaping.rs"]
mod shaping;
#[path = "theorems/virtual_time.rs"]
mod virtual_time;
#[path = "theorems/weighted.rs"]
mod weighted;

use lockgate_engine::random::{Random, Seed};

/// The test's own random numbers.
fn random(name: &str, trial: u64) -> Random {
    Random::stream(Seed(trial), name)
}

/// Uniform on `from..=to`.
fn between(random: &mut Random, from: u32, to: u32) -> u64 {
    u64::from(from + random.below(to - from + 1))
}

/// Exponential with this mean.
fn exponential(random: &mut Random, mean: f64) -> f64 {
    -mean * (1.0 - random.unit()).ln()
}
