//! Says whether a scenario can run on real packets, and if not, why.
//!
//! ```text
//! cargo run -p lockgate-live --example preflight -- scenarios/voice-beside-bulk.toml
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use lockgate_live::preflight;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("name a scenario file")?;
    // Files that the scenario names (captures, traces) would be handed in here.
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let scenario = lockgate_scenario::read(&std::fs::read_to_string(&file)?, &file, &files, &[])?;
    match preflight::check(&scenario) {
        Ok(()) => println!("{file}: nothing in it speaks against a live run"),
        Err(why) => println!("{file}: {why}"),
    }
    Ok(())
}
