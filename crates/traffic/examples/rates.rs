//! Prints the packets and the bit rate that each traffic profile offers in its first seconds.
//!
//! ```text
//! cargo run --release -p lockgate-traffic --example rates -- 10
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use lockgate_engine::random::Seed;
use lockgate_engine::units::Duration;
use lockgate_traffic::{Arrivals, LoadedFiles, TrafficConfig, profile};

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(10), |text| text.parse())?;
    for description in profile::descriptions() {
        let rate = if description.needs_rate { "\nrate = '2mbit'" } else { "" };
        let config: TrafficConfig = toml::from_str(&format!("profile = '{}'{rate}", description.name))?;
        let mut arrivals = Arrivals::new(&config, Seed(1), "flow", &LoadedFiles::none())?;
        let (mut packets, mut bytes, mut batch) = (0, 0, Vec::new());
        while batch
            .last()
            .is_none_or(|last: &lockgate_traffic::Emission| last.at < Duration::from_secs(seconds))
        {
            batch.clear();
            arrivals.fill(&mut batch);
            if batch.is_empty() {
                break;
            }
            packets += batch.len();
            bytes += batch.iter().map(|emission| u64::from(emission.length)).sum::<u64>();
        }
        println!("{}: {packets} packets, {} kbit/s", description.name, bytes * 8 / seconds.max(1) / 1000);
    }
    Ok(())
}
