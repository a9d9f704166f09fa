//! A discipline on one node beside reference runs of a kernel, where those are at hand.

#![allow(clippy::print_stdout, reason = "the figures are for whoever asks to see them")]

mod common;

#[path = "theorems/kernel.rs"]
mod kernel;
#[path = "theorems/kernel_cbq.rs"]
mod kernel_cbq;

use lockgate_engine::random::{Random, Seed};

/// The test's own random numbers.
fn random(name: &str, trial: u64) -> Random {
    Random::stream(Seed(trial), name)
}

/// Exponential with this mean.
fn exponential(random: &mut Random, mean: f64) -> f64 {
    -mean * (1.0 - random.unit()).ln()
}
