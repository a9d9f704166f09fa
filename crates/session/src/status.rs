//! Status of a session: the part that changes rarely.

use std::borrow::Cow;
use std::collections::BTreeMap;

use lockgate_engine::units::{Duration, Rate};
use lockgate_measure::monitor::{Limits, Sample, mark};
use lockgate_measure::verdict::RunVerdict;
use lockgate_scenario::{Action, Link, Scenario};
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
    /// Time at the start that statistics and expectations leave out, in seconds.
    pub warmup_s: f64,
    /// Number of expectations.
    pub expectations: usize,
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
    /// Verdict, once the run has ended and is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
    /// Directory of its results; empty if none are written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub results: String,
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
    /// Rates in force, in bits per second, `from` to `to` and back: the means of traces; `None` if unlimited.
    pub rate_bps: [Option<f64>; 2],
    /// Propagation delays in force, in seconds, `from` to `to` and back.
    pub delay_s: [f64; 2],
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
    /// True if it sends from the link's `to` to its `from`, or into its only interface.
    #[serde(skip)]
    pub is_back: bool,
    /// Knob that selects the tree.
    pub root: Option<Knob>,
    /// Knobs by queue.
    pub queues: Vec<(String, Vec<Knob>)>,
    /// Most that its parent lets a queue send, in bits per second, by its name.
    #[serde(skip)]
    pub ceilings: BTreeMap<String, f64>,
}

impl PortStatus {
    /// Sets the ceilings by the knobs of the queues: `ceil`, which is `rate` if it is not set.
    fn with_ceilings(self) -> Self {
        let ceiling = |(name, knobs): &(String, Vec<Knob>)| {
            let value = |key: &str| knobs.iter().find(|knob| knob.key == key)?.value.as_deref();
            // A queue whose share has none is not shaped by its parent.
            knobs.iter().find(|knob| knob.key == "ceil")?;
            let read = |text: &str| text.parse::<Rate>().ok();
            let rate = value("ceil").and_then(read).or_else(|| value("rate").and_then(read))?;
            Some((name.clone(), rate.as_bits() as f64))
        };
        Self { ceilings: self.queues.iter().filter_map(ceiling).collect(), ..self }
    }
}

impl Status {
    /// Copies the parts of the scenario that the status shows, with the values of `effective`.
    pub(crate) fn describe(&mut self, scenario: &Scenario, effective: &Effective) {
        let name = |node: usize| scenario.nodes[node].name.clone();
        self.title.clone_from(&scenario.title);
        self.duration_s = scenario.duration.as_secs_f64();
        self.warmup_s = scenario.warmup.as_secs_f64();
        self.expectations = scenario.expects.len();
        self.nodes = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        self.flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        let link = |link: &Link| LinkStatus {
            name: link.name.clone(),
            from: name(link.ends[0]),
            to: name(link.ends[1]),
            rate_bps: [0, 1].map(|direction| Some(link.mean_rate(direction).as_bits() as f64)),
            delay_s: [0, 1].map(|direction| link.delay(direction).as_secs_f64()),
            knobs: effective.link_knobs(&link.name),
        };
        self.links = scenario.links.iter().map(link).collect();
        for change in scenario.changes.iter().take_while(|change| change.at <= effective.now()) {
            if let Action::Link { link, rate, delay, .. } = &change.action {
                let link = &mut self.links[*link];
                link.rate_bps = rate.map_or(link.rate_bps, |rates| rates.map(|r| Some(r.as_bits() as f64)));
                link.delay_s = delay.map_or(link.delay_s, |delays| delays.map(Duration::as_secs_f64));
            }
        }
        self.ports = scenario
            .ports
            .iter()
            .map(|port| PortStatus {
                is_back: scenario.links[port.link].ends[0] != port.from,
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
                ceilings: BTreeMap::new(),
            })
            .map(PortStatus::with_ceilings)
            .collect();
    }
}

impl Status {
    /// Marks in a sample what hurts and which links are full: by the rates of the links that it has.
    pub fn mark(&self, sample: &mut Sample, limits: &Limits) {
        let rates: BTreeMap<&str, &LinkStatus> =
            self.links.iter().map(|link| (link.name.as_str(), link)).collect();
        for shown in &mut sample.ports {
            let Some(port) = self.ports.get(shown.index) else { continue };
            if !port.ceilings.is_empty() {
                for queue in &mut shown.queues {
                    queue.ceil_bps = port.ceilings.get(&queue.name).copied().or(queue.ceil_bps);
                }
            }
            let Some(link) = rates.get(port.link.as_str()) else { continue };
            let known = link.rate_bps[usize::from(port.is_back)];
            // A rate that is stepped is in the sample itself.
            shown.rate_bps = shown.rate_bps.or(known);
        }
        mark(sample, limits);
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
            warmup_s: self.warmup_s,
            expectations: self.expectations,
            pace: self.pace,
            every_s: self.every_s,
            held: self.held,
            ended: self.ended,
            version: self.version,
            is_large: true,
            verdict: self.verdict.clone(),
            results: self.results.clone(),
            ..Self::default()
        })
    }

    /// Returns the port of this name with the knobs of one queue, and its link; `None` if there is no such
    /// port.
    pub fn of_queue(&self, port: &str, queue: &str) -> Option<(PortStatus, &LinkStatus)> {
        let port = self.ports.iter().find(|known| known.name == port)?;
        let link = self.links.iter().find(|link| link.name == port.link)?;
        let queues = port.queues.iter().filter(|(name, _)| name == queue).cloned().collect();
        let PortStatus { name, from, to, link: of, root, .. } = port;
        let [name, from, to, of] = [name, from, to, of].map(String::clone);
        let (root, is_back) = (root.clone(), port.is_back);
        Some((PortStatus { name, from, to, link: of, root, is_back, queues, ..PortStatus::default() }, link))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lockgate_engine::units::Instant;

    use super::*;
    use crate::{Session, Start};

    const TEXT: &str = r#"
duration = "9s"
[node]
a = {}
b = {}
c = {}
[link.line]
between = ["a", "b"]
rate = { up = "10mbit", down = "100mbit" }
delay = { up = "8ms", down = "2ms" }
[link.core]
between = ["b", "c"]
rate = "1gbit"
[flow.one]
from = "a"
to = "c"
size = "1000B"
gap = "10ms"
[[change]]
at = "5s"
set = { "link.line.rate.down" = "20mbit", "link.line.delay" = "3ms" }
"#;

    #[test]
    fn each_direction_of_a_link_has_the_rate_and_delay_in_force() {
        let files = BTreeMap::<String, Arc<[u8]>>::new();
        let scenario = lockgate_scenario::read(TEXT, "text", &files, &[]).expect("a scenario");
        let start = Start { mode: "sim", seed: 1, pace: 1.0, every: Duration::from_millis(100) };
        let mut session = Session::new(&scenario, start);
        let shown = |session: &Session| {
            let links = &session.status().links;
            assert_eq!((links[1].rate_bps, links[1].delay_s), ([Some(1e9); 2], [0.0; 2]));
            (links[0].rate_bps.map(|rate| rate.expect("a rate") / 1e6), links[0].delay_s)
        };
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        assert_eq!(shown(&session), ([10.0, 100.0], [0.008, 0.002]));
        let change = session.prepare(&["link.line.rate.up=5mbit".to_owned()], None, at(1), &files);
        session.accept(change.expect("a change"));
        assert_eq!(shown(&session), ([5.0, 100.0], [0.008, 0.002]));
        assert!(session.advance(at(5)));
        assert_eq!(shown(&session), ([5.0, 20.0], [0.003, 0.003]));
    }
}
