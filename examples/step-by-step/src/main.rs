//! Runs a scenario step by step, halves the rate of its first link half-way, and prints each flow's p99
//! delay.
//!
//! ```text
//! cargo run --release -- ../../scenarios/voice-beside-bulk.toml
//! ```

use lockgate::units::{Duration, Instant};
use lockgate::{Override, Seed, Simulation};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("name a scenario file")?;
    let scenario = lockgate::read(&file, &["duration=10s"])?;
    let half = Instant::ZERO + Duration::from_picos(scenario.duration.as_picos() / 2);

    let mut simulation = Simulation::new(&scenario, Seed(1))?;
    simulation.step_until(half)?;
    let link = &scenario.links[0];
    let slower = format!("{}bit", link.rate.as_bits() / 2);
    let slower = Override::new(&format!("link.{}.rate", link.name), &slower)?;
    simulation.set(&[slower], &lockgate::no_files())?;
    let outcome = simulation.finish_run()?;

    let summary = lockgate::summarise(&scenario, &[outcome.recording])?;
    for (name, flow) in &summary.flows {
        println!("{name}: p99 {}", lockgate::figures::seconds(flow.owd_s.p99));
    }
    Ok(())
}
