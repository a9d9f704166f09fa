//! Runs a scenario step by step, halves the rate of its first link half-way, and prints each flow's p99
//! delay.
//!
//! ```text
//! cargo run --release -p lockgate-sim --example steps -- scenarios/voice-beside-bulk.toml
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::summary::summarise;
use lockgate_scenario::Override;
use lockgate_sim::Simulation;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "scenarios/voice-beside-bulk.toml".to_owned());
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let scenario = lockgate_scenario::read(&std::fs::read_to_string(&file)?, &file, &files, &[])?;
    let half = Instant::ZERO + Duration::from_picos(scenario.duration.as_picos() / 2);

    let mut simulation = Simulation::new(&scenario, Seed(1))?;
    simulation.step_until(half)?;
    let link = &scenario.links[0];
    let slower =
        Override::new(&format!("link.{}.rate", link.name), &format!("{}bit", link.rate.as_bits() / 2))?;
    simulation.set(&[slower], &files)?;
    let outcome = simulation.finish_run()?;

    for (name, flow) in summarise(&[outcome.recording]).flows {
        println!("{name}: p99 {:.2} ms", flow.owd_s.p99.unwrap_or(f64::NAN) * 1e3);
    }
    Ok(())
}
