//! Reads a scenario, changes a link during the run, and writes the scenario with the change.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use lockgate_engine::units::{Duration, Instant};
use lockgate_scenario::Override;

const TEXT: &str = r#"
duration = "10s"
[node]
a = {}
b = {}
[link.line]
between = ["a", "b"]
rate = "10mbit" # of both directions
[flow.data]
from = "a"
to = "b"
size = "1500B"
gap = "2ms"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let files = BTreeMap::<String, Arc<[u8]>>::new();
    let mut scenario = lockgate_scenario::read(TEXT, "line.toml", &files, &[])?;
    let slower = Override::parse("link.line.rate=2mbit")?;
    let effects = scenario.change(Instant::ZERO + Duration::from_secs(5), &[slower], &files)?;
    for effect in &effects {
        println!("{}: {} = {}", effect.at, effect.path, effect.value);
    }
    println!("{}", scenario.to_toml());
    Ok(())
}
