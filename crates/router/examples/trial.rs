//! A trial that is not confirmed, without a clock or a disk: `cargo run -p lockgate-router --example trial`.
#![allow(clippy::print_stdout, reason = "an example")]
use std::time::Duration;

use lockgate_measure::monitor::Sample;
use lockgate_router::control::draft::Draft;
use lockgate_router::control::history::History;
use lockgate_router::control::state::{Change, Control, Stamp};
use lockgate_router::control::store::{Storage, StoreError};
use lockgate_router::control::{Applied, Engine, Misfit};
use lockgate_scenario::{Policy, read_policy};

struct Printer;

impl Engine for Printer {
    fn apply(&mut self, policy: &Policy) -> Result<Applied, Misfit> {
        println!("now runs at {}", policy.ports[0].rate.unwrap_or_default());
        Ok(Applied::default())
    }
    fn sample(&mut self) -> Option<Sample> {
        None
    }
}
impl Storage for Printer {
    fn save(&mut self, _: &History) -> Result<(), StoreError> {
        Ok(())
    }
}
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let first =
        "router = { mode = \"egress\", interfaces = { wan = \"eth0\" } }\nport.wan.rate = \"10mbit\"\n";
    let second = first.replace("10mbit", "12mbit");
    let start = ("house.toml", first, read_policy(first, "house.toml")?);
    let stamp = Stamp { now: Duration::from_secs(5), at: "2026-01-01T00:00:00Z", by: "alice" };
    let mut control = Control::start(Printer, Printer, History::default(), start, stamp)?;
    let confirm_within = Some(Duration::from_mins(2));
    let change = Change { draft: &Draft::read("new.toml", &second)?, confirm_within, revert_if: None };
    println!("{}", control.apply(change, stamp)?.difference);
    println!("after two minutes: {:?}", control.tick(Duration::from_secs(125)));
    Ok(())
}
