//! Runs a plan of eight tasks on all processors and prints each flow's p99 delay, in the order of the tasks.
//!
//! ```text
//! cargo run --release -p lockgate-experiment --example rates
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_experiment::{Error, Plan, Scalar, Task, Variations, run_tasks};
use lockgate_measure::summary::summarise;
use lockgate_scenario::Override;
use lockgate_sim::Control;

const TEXT: &str = r#"
title = "a line"
duration = "2s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "1mbit" }
flow.f = { from = "a", to = "b", transport = "udp", size = "500B", gap = { exponential = "5ms" } }
"#;

fn p99(task: &Task) -> Result<f64, Error> {
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let settings: Result<Vec<_>, _> = task.settings.iter().map(|text| Override::parse(text)).collect();
    let scenario = lockgate_scenario::read(TEXT, "line", &files, &settings.map_err(Error::runner)?);
    let scenario = scenario.map_err(Error::runner)?;
    let outcome = lockgate_sim::run(&scenario, Seed(task.seed), &mut |_| Control::Continue);
    let summary = summarise(&[outcome.map_err(Error::runner)?.recording]);
    Ok(summary.flows["f"].owd_s.p99.unwrap_or(f64::NAN))
}

fn main() -> Result<(), Error> {
    let variations = Variations::each([("rate", ["1mbit", "2mbit"].map(Scalar::from))]);
    let settings = vec!["link.line.rate=$rate".to_owned()];
    let plan = Plan {
        name: "$rate, seed $seed".into(),
        settings,
        variations,
        seeds: (1..=4).collect(),
        ..Plan::default()
    };
    let tasks = plan.tasks()?;
    for (task, p99) in tasks.iter().zip(run_tasks(&tasks, p99)?) {
        println!("{}: p99 {:.2} ms", task.key, p99 * 1e3);
    }
    Ok(())
}
