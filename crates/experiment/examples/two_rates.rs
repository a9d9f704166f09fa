//! Compares the p99 delay of a flow at two rates of a link, over four seeds.
//!
//! ```text
//! cargo run --release -p lockgate-experiment --example two_rates
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_experiment::{Error, Plan, Row, Task, compare, row, run_tasks};
use lockgate_measure::summary::summarise;
use lockgate_scenario::{Override, Vary};
use lockgate_sim::Control;

const TEXT: &str = r#"
title = "a line"
duration = "2s"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1mbit" }
flow.f = { from = "a", to = "b", size = "500B", gap = { distribution = "exponential", mean = "5ms" } }
"#;

fn main() -> Result<(), Error> {
    let vary = vec![Vary::parse("link.line.rate=1mbit,2mbit")?];
    let metrics = vec!["flow.f.owd.p99".to_owned()];
    let plan = Plan { text: TEXT.into(), vary, seeds: (1..=4).collect(), metrics, ..Plan::default() };
    let rows = run_tasks(&plan.tasks()?, |task| run(task, &plan.metrics))?;
    println!("{:#?}", compare(&plan, &rows, None)[0].differences);
    Ok(())
}

fn run(task: &Task, metrics: &[String]) -> Result<Row, Error> {
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let settings: Result<Vec<_>, _> = task.settings.iter().map(|text| Override::parse(text)).collect();
    let scenario = lockgate_scenario::read(TEXT, "line", &files, &settings.map_err(Error::runner)?);
    let scenario = scenario.map_err(|problems| Error::Scenario(Box::new(problems)))?;
    let outcome = lockgate_sim::run(&scenario, Seed(task.seed), &mut |_| Control::Continue);
    row(&summarise(&[outcome.map_err(Error::runner)?.recording]), metrics).map_err(Error::runner)
}
