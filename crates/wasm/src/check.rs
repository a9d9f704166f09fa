//! Check of a scenario: every problem, as `lockgate check` finds them.

use std::sync::Arc;

use lockgate::{Scenario, memory, plans};
use lockgate_scenario::{is_policy, policy_text};
use serde::Serialize;

use crate::answer::{ProblemData, Wrong};
use crate::message::{Message, Value};
use crate::scenario::{Opened, ScenarioRequest};

/// Result of a check.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Checked {
    /// Errors and warnings, in the order of the text.
    pub problems: Vec<ProblemData>,
    /// Size of the scenario; `null` if it cannot be run, or is a policy.
    pub size: Option<ScenarioSize>,
}

/// Numbers of a scenario's parts.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ScenarioSize {
    /// Its title.
    pub title: String,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of links.
    pub links: usize,
    /// Number of flows.
    pub flows: usize,
    /// Number of changes.
    pub changes: usize,
    /// Number of expectations.
    pub expectations: usize,
    /// Number of combinations of the values that it varies; 0 if it varies nothing.
    pub variants: usize,
    /// Estimate of the memory of a run, in bytes.
    pub memory_bytes: u64,
}

/// Checks a scenario, or a policy without its host.
///
/// # Errors
/// If the request is malformed: problems of the scenario are part of the answer.
pub fn check(message: &Message<'_>) -> Result<Value<Checked>, Wrong> {
    let request: ScenarioRequest = message.head()?;
    let checked =
        if is_policy(&request.text) { policy(&request, message) } else { scenario(request, message) };
    Ok(checked.unwrap_or_else(|wrong| Checked { problems: wrong.into_problems(), size: None }).into())
}

fn policy(request: &ScenarioRequest, message: &Message<'_>) -> Result<Checked, Wrong> {
    let files = message.files(&request.files)?;
    let text = lockgate_scenario::embed_tables(&request.text, &files)
        .map_err(|error| Wrong::new(error.to_string()))?;
    let settings = lockgate::parse_settings(&request.settings)?;
    let policy = policy_text::read_with(&text, &request.name, &settings)?;
    Ok(Checked { problems: policy.warnings.iter().map(ProblemData::from).collect(), size: None })
}

fn scenario(request: ScenarioRequest, message: &Message<'_>) -> Result<Checked, Wrong> {
    let opened = Opened::new(request, message)?;
    let scenario = opened.read()?;
    let memory_bytes = memory::estimate(&scenario, 1)?;
    plans::check_values(&opened.name, Arc::clone(&opened.files), &opened.settings, &scenario)?;
    let problems = scenario.warnings.iter().map(ProblemData::from).collect();
    Ok(Checked { problems, size: Some(size(&scenario, memory_bytes)?) })
}

fn size(scenario: &Scenario, memory_bytes: u64) -> Result<ScenarioSize, Wrong> {
    let plan = lockgate_experiment::Plan {
        text: scenario.to_toml(),
        vary: scenario.vary.clone(),
        ..lockgate_experiment::Plan::default()
    };
    Ok(ScenarioSize {
        title: scenario.title.clone(),
        duration_s: scenario.duration.as_secs_f64(),
        nodes: scenario.nodes.len(),
        links: scenario.links.len(),
        flows: scenario.flows.len(),
        changes: scenario.changes.len(),
        expectations: scenario.expects.len(),
        variants: if scenario.vary.is_empty() { 0 } else { plan.variant_count()? },
        memory_bytes,
    })
}
