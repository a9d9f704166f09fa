//! Runs a scenario with eight seeds on all processors and prints the verdict.
//!
//! ```text
//! cargo run --release -p lockgate --example repeat -- scenarios/voice-beside-bulk.toml
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use lockgate::{Options, Seed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("name a scenario file")?;
    let scenario = lockgate::read(&file, &["duration=10s"])?;
    lockgate::memory::estimate(&scenario, 8)?;

    let options =
        Options { seeds: (1..=8).map(Seed).collect(), memory: Some(scenario.memory), ..Options::default() };
    let runs = lockgate::run(&scenario, &options)?;
    let summary = lockgate::summarise(&scenario, &runs.recordings)?;

    for sentence in lockgate::verdict::sentences(&summary) {
        println!("{sentence}");
    }
    println!("{}", lockgate::verdict::main_finding(&summary));
    Ok(())
}
