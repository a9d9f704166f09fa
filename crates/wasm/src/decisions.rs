//! Steps of a port: what its scheduler decides, packet by packet, and why.

use lockgate::step::{self, QueueDocument, Selection, StepDocument, Until};
use lockgate::units::{Duration, Instant};
use lockgate::{Scenario, Seed};
use serde::{Deserialize, Serialize};

use crate::answer::Wrong;
use crate::message::{Message, Value};
use crate::scenario::{Opened, ScenarioRequest};

/// Largest number of steps of an answer.
const MOST_STEPS: u16 = 2000;

/// Request for steps of a port.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct DecisionsRequest {
    /// The scenario.
    pub scenario: ScenarioRequest,
    /// Seed; 1 by default.
    #[serde(default = "default_seed")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<u64>"))]
    pub seed: u64,
    /// Name of the port; by default the one before which most packets wait.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub port: Option<String>,
    /// Time of the first step, such as `2.5s`; the start by default.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub from: Option<String>,
    /// Last step: `drop`, `mark`, `late`, or a time; by default the number of steps decides.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub until: Option<String>,
    /// Sojourn beyond which a packet is late, such as `20ms`.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub late: Option<String>,
    /// Number of steps, at most 2000: the first ones, or with `until` the last ones.
    pub count: u16,
}

fn default_seed() -> u64 {
    1
}

/// Steps of a port.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Decisions {
    /// Name of the port.
    pub port: String,
    /// Names of all ports.
    pub ports: Vec<String>,
    /// Queues of the port, parents before their children.
    pub tree: Vec<QueueDocument>,
    /// End of the run in seconds.
    pub end: f64,
    /// True if what `until` names has happened, or if it names nothing.
    pub reached: bool,
    /// Decisions and drops, in the order of time.
    pub steps: Vec<StepDocument>,
}

/// Returns steps of a port.
///
/// # Errors
/// If the scenario has problems, a time is malformed, there is no such port, or the run fails.
pub fn decisions(message: &Message<'_>) -> Result<Value<Decisions>, Wrong> {
    let request: DecisionsRequest = message.head()?;
    let until = until(&request)?;
    let from = request.from.as_deref().map_or(Ok(Duration::ZERO), |text| time("from", text))?;
    let count = usize::from(request.count.clamp(1, MOST_STEPS));
    let seed = Seed(request.seed);
    let scenario = Opened::new(request.scenario, message)?.read()?;
    let port = port(&scenario, request.port.as_deref(), seed, until)?;
    let selection = Selection { port, from: Instant::ZERO + from, until, count };
    let found = step::steps(&scenario, seed, selection)?;
    let ports: Vec<String> = scenario.ports.iter().map(|port| port.name.clone()).collect();
    Ok(Decisions {
        port: ports.get(port).cloned().unwrap_or_default(),
        ports,
        tree: step::tree(&scenario, port),
        end: scenario.end().as_secs_f64(),
        reached: found.is_reached,
        steps: found.steps.iter().map(step::document).collect(),
    }
    .into())
}

fn time(name: &str, text: &str) -> Result<Duration, Wrong> {
    text.parse().map_err(|error| Wrong::new(format!("`{name}`: {error}")))
}

/// Returns the event of the last step.
fn until(request: &DecisionsRequest) -> Result<Until, Wrong> {
    Ok(match request.until.as_deref() {
        None => Until::Count,
        Some("drop") => Until::Drop,
        Some("mark") => Until::Mark,
        Some("late") => Until::Late(time("late", request.late.as_deref().unwrap_or("20ms"))?),
        Some(text) => Until::Time(Instant::ZERO + time("until", text)?),
    })
}

/// Returns the index of the port of this name, or of the one with most waiting.
fn port(scenario: &Scenario, name: Option<&str>, seed: Seed, until: Until) -> Result<usize, Wrong> {
    let Some(name) = name else {
        let end = if let Until::Time(time) = until { time } else { Instant::NEVER };
        return Ok(step::busiest_port(scenario, seed, end)?);
    };
    scenario.port(name).ok_or_else(|| Wrong::new(format!("the scenario has no port `{name}`")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{answer, decisions};

    const TEXT: &str = r#"
duration = "100ms"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1mbit" }
[port."a:b".queue]
q = { kind = "prio", children = ["v", "w"] }
v = { kind = "fifo", match = [{ flow = "f" }] }
w = { kind = "fifo", limit = "3p" }
[flow]
f = { from = "a", to = "b", transport = "udp", size = "200B", rate = "400kbit" }
g = { from = "a", to = "b", transport = "udp", size = "1000B", rate = "2mbit" }
"#;

    fn asked(more: &Value) -> Value {
        let mut head = json!({ "scenario": { "text": TEXT }, "count": 5 });
        for (key, value) in more.as_object().expect("an object") {
            head[key] = value.clone();
        }
        let head = head.to_string();
        let bytes = [&(head.len() as u32).to_le_bytes(), head.as_bytes()].concat();
        let answered = answer(&bytes, decisions);
        serde_json::from_slice(&answered[4..]).expect("JSON")
    }

    #[test]
    fn steps_are_found_by_number_time_and_event() {
        let first = asked(&json!({}))["value"].take();
        assert_eq!((&first["port"], first["ports"].as_array().map(Vec::len)), (&json!("a:b"), Some(2)));
        assert_eq!(first["tree"][2], json!({ "name": "w", "kind": "fifo", "depth": 1, "is_leaf": true }));
        let steps = first["steps"].as_array().expect("steps");
        assert_eq!(steps.len(), 5);
        assert!(steps.iter().any(|step| step["decision"][0]["sentence"] != ""), "{steps:?}");
        let drop = asked(&json!({ "until": "drop", "count": 1 }))["value"].take();
        assert_eq!((&drop["reached"], &drop["steps"][0]["step"]["event"]), (&json!(true), &json!("drop")));
        let late = asked(&json!({ "from": "50ms", "port": "a:b" }))["value"].take();
        assert!(late["steps"][0]["at"].as_f64().is_some_and(|at| at >= 0.05), "{late}");
        for wrong in [json!({ "port": "a:c" }), json!({ "from": "soon" }), json!({ "until": "never" })] {
            assert!(asked(&wrong)["wrong"]["message"].is_string(), "{wrong}");
        }
    }
}
