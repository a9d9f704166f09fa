//! Prints the first packets that the datagram flows of a scenario offer, in the order of their times.
//!
//! ```text
//! cargo run --release -p lockgate-network --example offered -- scenarios/voice-beside-bulk.toml
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_network::{build_sources, propagation};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "scenarios/voice-beside-bulk.toml".to_owned());
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let scenario = lockgate_scenario::read(&std::fs::read_to_string(&file)?, &file, &files, &[])?;
    let delays = propagation(&scenario, |port| scenario.links[scenario.ports[port].link].delay);
    let mut sources = build_sources(&scenario, Seed(1))?;
    for _ in 0..20 {
        let Some(source) = sources.iter_mut().min_by_key(|source| source.next()) else { break };
        let now = source.next();
        if now == Instant::NEVER {
            break;
        }
        let packet = source.send(now);
        let flow = packet.flow.0 as usize;
        let ms = now.as_picos() as f64 * 1e-9;
        let name = &scenario.flows[flow].name;
        println!(
            "{ms:9.3} ms  {name}: {} bytes, {} us away",
            packet.length,
            delays[flow].as_picos() / 1_000_000
        );
    }
    Ok(())
}
