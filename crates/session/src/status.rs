//! Status of a session: the part that changes rarely.

use std::borrow::Cow;

use lockgate_scenario::Scenario;
use serde::Serialize;

use crate::effective::{Effective, Knob};
use crate::history::History;

/// Rarely changing state: the network, its knobs, and the progress of the session.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Status {
    /// Title of the scenario.
    pub title: String,
    /// `sim` or `live`.
    pub mode: &'static str,
    /// Seed of the random draws.
    pub seed: u64,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Pace as a multiple of real time; 0 for as fast as possible.
    pub pace: f64,
    /// Seconds between samples.
    pub every_s: f64,
    /// True while the run is paused.
    pub held: bool,
    /// True once the run has ended.
    pub ended: bool,
    /// Number of settings so far.
    pub version: u64,
    /// True if nodes, links, ports and flows are left out, because they are many. Knobs are then asked for by
    /// queue ([`Status::of_queue`]).
    pub is_large: bool,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Links.
    pub links: Vec<LinkStatus>,
    /// Ports.
    pub ports: Vec<PortStatus>,
    /// Names of the flows.
    pub flows: Vec<String>,
    /// Scenario and all settings, which replay the session.
    #[serde(skip)]
    pub history: History,
    /// Marks, each with its time.
    #[serde(skip)]
    pub marks: Vec<String>,
}

/// Link and its knobs.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LinkStatus {
    /// Name.
    pub name: String,
    /// Name of one end.
    pub from: String,
    /// Name of the other end.
    pub to: String,
    /// Rate of each direction, in bits per second.
    pub rate_bps: f64,
    /// Propagation delay, in seconds, as the scenario states it.
    pub delay_s: f64,
    /// Rate, delay and loss.
    pub knobs: Vec<Knob>,
}

/// Port and the knobs of its queues.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PortStatus {
    /// Name.
    pub name: String,
    /// Node whose port it is.
    pub from: String,
    /// Node at the other end of the link.
    pub to: String,
    /// Name of the link.
    pub link: String,
    /// Knob that selects the tree.
    pub root: Option<Knob>,
    /// Knobs by queue.
    pub queues: Vec<(String, Vec<Knob>)>,
}

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
    }
}

/// Queues, nodes and flows up to which readers get all of a status.
const LARGE: usize = 400;

impl Status {
    /// Returns the part that readers get at each change: of a large network none of its parts.
    pub fn for_readers(&self) -> Cow<'_, Self> {
        let queues: usize = self.ports.iter().map(|port| port.queues.len().max(1)).sum();
        if queues.max(self.nodes.len()).max(self.flows.len()) <= LARGE {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self {
            title: self.title.clone(),
            mode: self.mode,
            seed: self.seed,
            duration_s: self.duration_s,
            pace: self.pace,
            every_s: self.every_s,
            held: self.held,
            ended: self.ended,
            version: self.version,
            is_large: true,
            ..Self::default()
        })
    }

    /// Returns the port of this name with the knobs of one queue, and its link; `None` if there is no such port.
    pub fn of_queue(&self, port: &str, queue: &str) -> Option<(PortStatus, &LinkStatus)> {
        let port = self.ports.iter().find(|known| known.name == port)?;
        let link = self.links.iter().find(|link| link.name == port.link)?;
        let queues = port.queues.iter().filter(|(name, _)| name == queue).cloned().collect();
        let PortStatus { name, from, to, link: of, root, .. } = port;
        let [name, from, to, of] = [name, from, to, of].map(String::clone);
        Some((PortStatus { name, from, to, link: of, root: root.clone(), queues }, link))
    }
}

/// First line of every saved session.
pub const SAVED_HEAD: &str = "# What was set while this ran,";

/// Returns the text of the saved session: the scenario that replays it, with its seed, its marks, and `date`,
/// the time of saving.
pub fn saved(status: &Status, date: &str) -> String {
    let marks = status.marks.iter().fold(String::new(), |text, mark| text + "# Noted at " + mark + "\n");
    let (seed, text) = (status.seed, status.history.text());
    format!("{SAVED_HEAD} as it was on {date}; seed {seed}.\n{marks}{text}")
}
