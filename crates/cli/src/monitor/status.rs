//! Status of a session: the part that changes rarely.

use std::sync::{Arc, Mutex};

use lockgate_scenario::Scenario;
use serde::Serialize;

use super::effective::{Effective, Knob};
use crate::results;

/// Rarely changing state: the network, its knobs, and the progress of the session.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Status {
    /// Title of the scenario.
    pub(crate) title: String,
    /// `sim` or `live`.
    pub(crate) mode: &'static str,
    /// Seed of the random draws.
    pub(crate) seed: u64,
    /// Length of the run in seconds.
    pub(crate) duration_s: f64,
    /// Pace as a multiple of real time; 0 for as fast as possible.
    pub(crate) pace: f64,
    /// Seconds between samples.
    pub(crate) every_s: f64,
    /// True while the run is paused.
    pub(crate) held: bool,
    /// True once the run has ended.
    pub(crate) ended: bool,
    /// Number of settings so far.
    pub(crate) version: u64,
    /// Names of the nodes.
    pub(crate) nodes: Vec<String>,
    /// Links.
    pub(crate) links: Vec<LinkStatus>,
    /// Ports.
    pub(crate) ports: Vec<PortStatus>,
    /// Names of the flows.
    pub(crate) flows: Vec<String>,
    /// Scenario with all settings, which replays the session.
    #[serde(skip)]
    pub(crate) scenario: String,
    /// Marks, each with its time.
    #[serde(skip)]
    pub(crate) marks: Vec<String>,
}

/// Link and its knobs.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct LinkStatus {
    pub(crate) name: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) rate_bps: f64,
    pub(crate) delay_s: f64,
    pub(crate) knobs: Vec<Knob>,
}

/// Port and the knobs of its queues.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PortStatus {
    pub(crate) name: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) link: String,
    /// Knob that selects the tree.
    pub(crate) root: Option<Knob>,
    /// Knobs by queue.
    pub(crate) queues: Vec<(String, Vec<Knob>)>,
}

/// Shared location of a session's current status.
pub(crate) type Board = Arc<Mutex<Arc<Status>>>;

impl Status {
    /// Copies the parts of the scenario that the status shows, with the values of `effective`.
    pub(crate) fn describe(&mut self, scenario: &Scenario, effective: &Effective) {
        let name = |node: usize| scenario.nodes[node].name.clone();
        self.title.clone_from(&scenario.title);
        self.duration_s = scenario.duration.as_secs_f64();
        self.nodes = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        self.flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        self.links = scenario
            .links
            .iter()
            .map(|link| {
                let knobs = effective.link_knobs(&link.name);
                let rate = knobs[0].value.as_ref().and_then(|rate| rate.parse().ok()).unwrap_or(link.rate);
                LinkStatus {
                    name: link.name.clone(),
                    from: name(link.ends[0]),
                    to: name(link.ends[1]),
                    rate_bps: rate.as_bits() as f64,
                    delay_s: link.delay.as_secs_f64(),
                    knobs,
                }
            })
            .collect();
        self.ports = scenario
            .ports
            .iter()
            .map(|port| PortStatus {
                name: port.name.clone(),
                from: name(port.from),
                to: name(port.to),
                link: scenario.links[port.link].name.clone(),
                root: (!port.queues.is_empty())
                    .then(|| effective.root_knob(&port.name, &port.queues, &port.root)),
                queues: port
                    .queues
                    .iter()
                    .map(|queue| (queue.clone(), effective.queue_knobs(&port.name, queue)))
                    .collect(),
            })
            .collect();
        self.scenario.clone_from(&scenario.text);
    }
}

/// First line of every saved session.
pub(crate) const SAVED_HEAD: &str = "# What was set while this ran,";

/// Returns the scenario's text as a file that names its origin.
pub(crate) fn saved(status: &Status) -> String {
    let marks = status.marks.iter().fold(String::new(), |text, mark| text + "# Noted at " + mark + "\n");
    format!("{SAVED_HEAD} as it was on {}; seed {}.\n{marks}{}", results::now(), status.seed, status.scenario)
}
