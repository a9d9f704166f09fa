//! Runs a scenario and prints its packet-hops, how many of them a second of processor time, and the memory
//! taken. With `halves` among the arguments the run is split, and both halves are advanced by this thread.
//!
//! ```text
//! cargo run --release -p lockgate-sim --example speed -- scenarios/isp.toml node.sub.count=2000 record.detail=groups
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use lockgate_dataplane::clock::cpu_time;
use lockgate_engine::random::Seed;
use lockgate_scenario::Override;
use lockgate_sim::{Control, InTurn, Simulation, run_side_by_side};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let is_split = std::env::args().any(|argument| argument == "halves");
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "halves");
    let file = arguments.next().unwrap_or_else(|| "scenarios/voice-beside-bulk.toml".to_owned());
    let settings = arguments
        .filter_map(|setting| setting.split_once('=').map(|(path, value)| Override::new(path, value)))
        .collect::<Result<Vec<_>, _>>()?;
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let scenario = lockgate_scenario::read(&std::fs::read_to_string(&file)?, &file, &files, &settings)?;

    let start = cpu_time().as_secs_f64();
    let outcome = if is_split {
        run_side_by_side(&scenario, Seed(1), &mut InTurn::default(), &mut |_| Control::Continue)?
    } else {
        Simulation::new(&scenario, Seed(1))?.finish_run()?
    };
    let ran = cpu_time().as_secs_f64() - start;

    let hops: u64 = outcome.recording.ports.iter().map(|port| port.transmitted().packets).sum();
    let speed = hops as f64 / ran / 1e6;
    println!("ran in {ran:.2} s: {hops} packet-hops, {speed:.2} M/s");
    for line in std::fs::read_to_string("/proc/self/status")?.lines().filter(|line| line.starts_with("VmHWM"))
    {
        println!("{line}");
    }
    Ok(())
}
