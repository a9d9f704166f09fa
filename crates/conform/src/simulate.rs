//! Simulates a scenario given as text in one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_measure::recording::Recording;
use lockgate_sim::{Control, run};

/// Files of a scenario, by name.
pub(crate) type Files = BTreeMap<String, Arc<[u8]>>;

/// Runs the scenario `text`, which names no files, with `seed`.
///
/// # Errors
/// Returns every problem of the scenario, one per line, or why the run failed.
pub(crate) fn simulate(text: &str, seed: u64) -> Result<Recording, String> {
    simulate_with(&Files::new(), text, seed)
}

/// Runs the scenario `text`, which names some of `files`, with `seed`.
///
/// # Errors
/// As those of [`simulate`].
pub(crate) fn simulate_with(files: &Files, text: &str, seed: u64) -> Result<Recording, String> {
    let scenario = lockgate_scenario::read(text, "scenario", files, &[]).map_err(|problems| {
        let mut lines: Vec<_> = problems.into_iter().map(|problem| problem.to_string()).collect();
        lines.dedup();
        lines.join("; ")
    })?;
    let outcome = run(&scenario, Seed(seed), &mut |_| Control::Continue);
    outcome.map(|outcome| outcome.recording).map_err(|failure| failure.to_string())
}

/// Returns a scenario with one link from `a` to `b` at `rate`, a port with these queues, and these flows.
pub(crate) fn one_link(duration: &str, rate: &str, port: &str, flows: &str) -> String {
    format!(
        r#"title = "conform"
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
