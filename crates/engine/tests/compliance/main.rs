//! Compliance suite: laws that every kind of the registry keeps, alone and nested with every other; golden
//! vectors and fingerprints of each kind.
//!
//! `LOCKGATE_OPERATIONS` is the number of random operations (a million by default). A failure prints the
//! seed of its run; `LOCKGATE_SEED` repeats that run alone.

#[path = "../common/mod.rs"]
mod common;

mod account;
mod declarations;
mod equivalences;
mod explanations;
mod extremes;
mod fingerprints;
mod parameters;
mod patterns;
mod storm;
mod topology;
mod vectors;

use core::ops::Range;

use lockgate_engine::units::{Duration, Instant};

use crate::storm::Storm;
use crate::topology::Topology;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("`{variable}` is a number, not `{text}`")))
}

/// Runs these seeds, or the one to repeat; run `n` uses tree `n` modulo their number.
fn storms(seeds: Range<u64>, operations: u64, start: Instant) {
    let topologies = Topology::all();
    let seeds = number("LOCKGATE_SEED").map_or(seeds, |seed| seed..seed + 1);
    for seed in seeds {
        let topology = &topologies[seed as usize % topologies.len()];
        Storm::new(topology, &topologies, seed, start).run(operations);
    }
}

#[test]
fn every_pair_of_kinds_keeps_the_laws_under_random_operations() {
    const RUN: u64 = 2_500;
    let operations = number("LOCKGATE_OPERATIONS").unwrap_or(1_000_000);
    let runs = (operations / RUN).max(Topology::all().len() as u64);
    storms(0..runs, (operations / runs).clamp(1, RUN), Instant::ZERO);
}

#[test]
fn the_laws_hold_ten_seconds_before_the_end_of_time() {
    let start = Instant::NEVER - Duration::from_secs(10);
    storms(0..Topology::all().len() as u64, 300, start);
}
