//! What of a session changes rarely: the network, its knobs, how it goes.

use std::sync::{Arc, Mutex};

use lockgate_scenario::Scenario;
use serde::Serialize;

use super::effective::{Effective, Knob};
use crate::results;

/// What changes rarely: the network, the knobs, how the session goes.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Status {
    /// The scenario's title.
    pub(crate) title: String,
    /// `sim` or `live`.
    pub(crate) mode: &'static str,
    /// What the random draws started from.
    pub(crate) seed: u64,
    /// How long the run lasts, in seconds.
    pub(crate) duration_s: f64,
    /// Times the clock; 0 where as fast as can be.
    pub(crate) pace: f64,
    /// Seconds between samples.
    pub(crate) every_s: f64,
    /// Whether the run waits.
    pub(crate) held: bool,
    /// Whether the run has ended.
    pub(crate) ended: bool,
    /// How often something was set.
    pub(crate) version: u64,
    /// The network.
    pub(crate) nodes: Vec<String>,
    /// The links.
    pub(crate) links: Vec<LinkStatus>,
    /// The ports.
    pub(crate) ports: Vec<PortStatus>,
    /// The names of the flows.
    pub(crate) flows: Vec<String>,
    /// The scenario with all that was set: what replays the session.
    #[serde(skip)]
    pub(crate) scenario: String,
    /// What was noted, each with its time.
    #[serde(skip)]
    pub(crate) marks: Vec<String>,
}

/// A link and its knobs.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct LinkStatus {
    pub(crate) name: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) rate_bps: f64,
    pub(crate) delay_s: f64,
    pub(crate) knobs: Vec<Knob>,
}

/// A port and the knobs of its queues.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct PortStatus {
    pub(crate) name: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) link: String,
    /// Which tree is in use.
    pub(crate) root: Option<Knob>,
    /// By queue.
    pub(crate) queues: Vec<(String, Vec<Knob>)>,
}

/// Where the status of a session is left for whoever asks.
pub(crate) type Board = Arc<Mutex<Arc<Status>>>;

impl Status {
    /// Takes what of the scenario the status shows, as `effective` has it.
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

/// What every saved session begins with.
pub(crate) const SAVED_HEAD: &str = "# What was set while this ran,";

/// The scenario's text as a file that says where it comes from.
pub(crate) fn saved(status: &Status) -> String {
    let marks = status.marks.iter().fold(String::new(), |text, mark| text + "# Noted at " + mark + "\n");
    format!("{SAVED_HEAD} as it was on {}; seed {}.\n{marks}{}", results::now(), status.seed, status.scenario)
}
