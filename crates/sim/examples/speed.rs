//! Runs a scenario and prints its packet-hops, how many of them a second of processor time, and the memory taken.
//!
//! ```text
//! cargo run --release -p lockgate-sim --example speed -- scenarios/isp.toml node.sub.count=2000 record.detail=groups
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use lockgate_engine::random::Seed;
use lockgate_scenario::Override;
use lockgate_sim::Simulation;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_else(|| "scenarios/voice-beside-bulk.toml".to_owned());
    let settings = arguments
        .filter_map(|setting| setting.split_once('=').map(|(path, value)| Override::new(path, value)))
        .collect::<Result<Vec<_>, _>>()?;
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let scenario = lockgate_scenario::read(&std::fs::read_to_string(&file)?, &file, &files, &settings)?;

    let start = Instant::now();
    let simulation = Simulation::new(&scenario, Seed(1))?;
    let built = start.elapsed();
    let outcome = simulation.finish_run()?;
    let ran = start.elapsed().saturating_sub(built);

    let hops: u64 = outcome.recording.ports.iter().map(|port| port.transmitted().packets).sum();
    let speed = hops as f64 / ran.as_secs_f64() / 1e6;
    println!("built in {built:.2?}, ran in {ran:.2?}: {hops} packet-hops, {speed:.2} M/s");
    for line in std::fs::read_to_string("/proc/self/status")?.lines().filter(|line| line.starts_with("VmHWM"))
    {
        println!("{line}");
    }
    Ok(())
}
