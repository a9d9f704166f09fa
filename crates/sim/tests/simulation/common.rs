//! Scenarios as text, run in one call.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::print_stdout, reason = "the figures are wanted")]

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_measure::recording::Recording;
use lockgate_measure::summary::summarise;
use lockgate_scenario::Scenario;
use lockgate_sim::{Control, run};

/// The scenario that `text` is.
///
/// # Panics
/// With the rendered problems where it is none.
pub(crate) fn scenario(text: &str) -> Scenario {
    scenario_with(text, &[])
}

/// The scenario that `text` is, beside these files.
///
/// # Panics
/// With the rendered problems where it is none.
pub(crate) fn scenario_with(text: &str, files: &[(&str, &str)]) -> Scenario {
    let file = |(name, text): &(&str, &str)| ((*name).to_owned(), Arc::from(text.as_bytes()));
    let files: BTreeMap<String, Arc<[u8]>> = files.iter().map(file).collect();
    match lockgate_scenario::read(text, "test.toml", &files, &[]) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{problems:?}\n{text}"),
    }
}

/// Runs the scenario `text` with `seed`.
///
/// # Panics
/// With the rendered problems where the text is not a valid scenario, or where the run fails.
pub(crate) fn simulate(text: &str, seed: u64) -> Recording {
    run(&scenario(text), Seed(seed), &mut |_| Control::Continue).expect("the run succeeds").recording
}

/// Runs the scenario `text`, which names these files, with `seed`.
///
/// # Panics
/// As [`simulate`].
pub(crate) fn simulate_with(text: &str, files: &[(&str, &str)], seed: u64) -> Recording {
    let scenario = scenario_with(text, files);
    run(&scenario, Seed(seed), &mut |_| Control::Continue).expect("the run succeeds").recording
}

/// One link from `a` to `b` at `rate` whose port has these queues (`root` the first), and these flows.
pub(crate) fn one_link(duration: &str, rate: &str, port: &str, flows: &str) -> String {
    format!(
        r#"
title = "test"
duration = "{duration}"
node.a = {{}}
node.b = {{}}
link.line = {{ between = ["a", "b"], rate = "{rate}" }}
[port."a->b"]
{port}
{flows}
"#
    )
}

/// Both recordings say the same of all flows, ports, queues and events.
///
/// # Panics
/// Where they differ.
#[track_caller]
pub(crate) fn assert_same(one: &Recording, other: &Recording) {
    let text = |recording: &Recording| {
        let summary = summarise(std::slice::from_ref(recording));
        format!("{summary:?}")
    };
    assert_eq!(text(one), text(other));
    assert_eq!(one.events, other.events);
    assert_eq!(one.engine.events, other.engine.events);
    for (one, other) in one.flows.iter().zip(&other.flows) {
        assert_eq!(one.delays(), other.delays());
        assert_eq!(one.series(), other.series());
    }
    for (one, other) in one.ports.iter().zip(&other.ports) {
        assert_eq!(one.queues(), other.queues());
        assert_eq!(one.ends(), other.ends());
        for queue in 0..one.queues().len() as u32 {
            assert_eq!(one.sojourn(queue), other.sojourn(queue));
            assert_eq!(one.drops_by(queue), other.drops_by(queue));
        }
    }
}

/// `value` is within `tolerance` (relative) of `expected`.
#[track_caller]
pub(crate) fn assert_near(what: &str, value: f64, expected: f64, tolerance: f64) {
    let error = value / expected - 1.0;
    println!("{what}: {value:.6}, expected {expected:.6}, off by {:+.3} %", error * 100.0);
    assert!(error.abs() <= tolerance, "{what}: {value} is not within {tolerance} of {expected}");
}
