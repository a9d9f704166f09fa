//! Memory estimate of a run, computed from its scenario before anything is built.
//!
//! ```text
//! flows       their records and ends of connections     ports     their queues and records
//! routes      next hop of each flow at each position      packets   those in queues or in flight at once
//! series      a row an interval, flow and queue         rows      a row a packet and port, if kept
//! parts       a record a part of the run (`@ 1s..2s`), and flow and queue that is observed in it
//! changes     the trees of ports and the texts of the timeline
//! captures    those that are replayed
//! ```
//!
//! It is high rather than low: flows send at their mean rates, connections at the rate of the slowest link or
//! shaper of their path, and queues fill up to their limits as far as these rates let them. What changes of
//! the timeline do to rates is left out.

use std::collections::BTreeSet;

use lockgate_engine::packet::Header;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Instant, Limit};
use lockgate_measure::recording::{BriefSample, Detail, MOST_PHASES, Packets, Part, TcpSample};
use lockgate_measure::series::{brief, default_interval};
use lockgate_network::{observed_parts, path};
use lockgate_scenario::Action;
use lockgate_scenario::change::EFFECT_BYTES;
use lockgate_scenario::model::{Flow, PortModel, Scenario, Transport};
use lockgate_scenario::tcp::Application;
use lockgate_scenario::tree::QueueTree;

/// Bytes of a flow's record with its histograms: 5 of them, of a dozen octaves each. Measured: 80 KiB for a
/// flow of a million packets.
const FLOW: u64 = 84 << 10;
/// Bytes of the record of a flow of so few packets that histograms store the values themselves.
const SMALL_FLOW: u64 = 14 << 10;
const SMALL_FLOW_PACKETS: u64 = 128;
/// Bytes of a flow that is recorded briefly, as a member of a group, with its part of the scenario: of
/// datagrams and of one direction of a connection, under `groups` and under `totals`. Measured by
/// `tests/connection_memory.rs`: 6.9 and 3.6 KB a flow of datagrams; 7.8 and 6.1 KB a connection with both
/// its flows and ends.
const BRIEF_DATAGRAMS: [u64; 2] = [8 << 10, 4 << 10];
const BRIEF_OF_CONNECTION: [u64; 2] = [4 << 10, 3 << 10];
/// Bytes of a queue that is recorded briefly. Measured by the difference of runs with 2000 and 8000 members:
/// 8.2 KiB a queue of an access link, 5.7 KiB an `fq_codel` without packets.
const BRIEF_QUEUE: u64 = 9 << 10;
/// Bytes of both ends of a connection, without their segments.
const CONNECTION: u64 = 4 << 10;
/// Bytes of a queue with its record, its results and its parsed parameters. Measured: 4096 of `sfq`,
/// `fq_codel` or `cake` took 120 MiB to check and 510 MiB to run.
const QUEUE: u64 = 36 << 10;
/// Bytes of the record of a flow or queue that is not observed, of which there is one while a part is judged.
const EMPTY: u64 = 2 << 10;
/// Bytes of a packet in flight and its entry in a queue.
const PACKET: u64 = size_of::<Header>() as u64 + 24;
/// Packets of a connection at a port that is not a bottleneck.
const IN_PASSING: f64 = 128.0;
/// Bytes of a change of a port, and of a queue of the tree that it leaves. Measured: 5 KiB a change of a port
/// with one queue.
const CHANGE: u64 = 4 << 10;
const CHANGED_QUEUE: u64 = 1 << 10;
/// Bytes of a row of a packet at a port, with its index in the order of a capture, and of an interval of a
/// flow and of a queue, with its part of the report. Columns grow by doubling.
const ROW: u64 = 2 * Packets::ROW as u64 + size_of::<usize>() as u64;
const SEGMENT_ROW: u64 = 2 * Packets::SEGMENT as u64;
const FLOW_INTERVAL: u64 = 2 * 80 + 60;
const QUEUE_INTERVAL: u64 = 2 * 88 + 60;
const TCP_INTERVAL: u64 = 2 * (size_of::<TcpSample>() as u64 + 8);
/// Assumed shortest frame and largest segment, in bytes, if flows do not say.
const SHORTEST_FRAME_BYTES: f64 = 64.0;
const SEGMENT: f64 = 1514.0;

/// Bytes of memory by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Records of flows, and ends of connections.
    pub flows: u64,
    /// Queues and their records.
    pub queues: u64,
    /// Next hops of each flow at each node and port.
    pub routes: u64,
    /// Series: a row an interval.
    pub series: u64,
    /// Records of parts of the run.
    pub parts_of_run: u64,
    /// Packets inside at once.
    pub packets: u64,
    /// Rows of packets, if they are kept.
    pub rows: u64,
    /// Changes of the timeline.
    pub changes: u64,
    /// Replayed captures.
    pub captures: u64,
}

impl Estimate {
    /// Estimates one run of `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        let rates = shaped_rates(scenario);
        let offered: Vec<Offered> =
            (0..scenario.flows.len()).map(|flow| Offered::of(scenario, flow, &rates)).collect();
        let detail = scenario.detail();
        let flows = scenario.flows.len() as u64;
        let [queues, brief] = queues(scenario, detail);
        // A leaf has no table of its own.
        let inner = (0..scenario.nodes.len()).filter(|node| scenario.routes.uplink(*node).is_none());
        let positions = 2 * inner.count() as u64 + 1;
        let of_flows: Vec<u64> = offered
            .iter()
            .zip(&scenario.flows)
            .map(|(offered, flow)| of_flow(offered, flow, detail))
            .collect();
        Self {
            parts_of_run: parts_of_run(scenario, &of_flows, detail),
            flows: of_flows.iter().sum(),
            queues: queues * QUEUE + brief * BRIEF_QUEUE,
            routes: positions.saturating_mul(flows) * 4,
            series: series(scenario, queues),
            packets: bytes(packets(scenario, &offered, &rates), PACKET),
            rows: rows(scenario, &offered),
            changes: changes(scenario),
            captures: captures(scenario),
        }
    }

    /// Returns each part: its name, its bytes, and the advice that makes it smaller.
    pub fn parts(&self) -> [(&'static str, u64, &'static str); 9] {
        [
            ("flows", self.flows, "have fewer flows (`count`)"),
            ("queues", self.queues, "have fewer queues"),
            ("routes", self.routes, "have fewer flows or fewer nodes"),
            ("series", self.series, "make `record.interval` longer"),
            (
                "parts of the run",
                self.parts_of_run,
                "have fewer `[[expect]]` of parts (`@ 1s..2s`), or of fewer flows and queues",
            ),
            ("packets on their way", self.packets, "set smaller limits of queues, or send less"),
            ("rows of packets", self.rows, "keep no packets, or let the run be shorter"),
            ("changes", self.changes, "have fewer changes, or of fewer queues"),
            ("captures", self.captures, "replay smaller captures"),
        ]
    }

    /// Returns the bytes that remain after the run.
    pub fn kept(&self) -> u64 {
        [self.queues, self.series, self.parts_of_run, self.rows]
            .into_iter()
            .fold(self.flows, u64::saturating_add)
    }

    /// Returns the total in bytes.
    pub fn total(&self) -> u64 {
        self.parts().iter().fold(0, |sum, (_, bytes, _)| sum.saturating_add(*bytes))
    }

    /// Estimates `runs` runs of the scenario, `together` of them in parallel. All records are kept.
    pub fn of_runs(&self, runs: u64, together: u64) -> u64 {
        // All runs have one scenario.
        let shared = self.captures.saturating_add(self.changes);
        let running = self.total() - self.kept() - shared;
        let together = runs.min(together).max(1);
        self.kept()
            .saturating_mul(runs)
            .saturating_add(running.saturating_mul(together))
            .saturating_add(shared)
    }
}

/// Offered load of a flow, as far as it is known in advance.
struct Offered {
    /// Packets in the whole run.
    packets: f64,
    /// Frame bits per second while it sends.
    rate: f64,
    /// Mean frame length in bytes.
    size: f64,
    /// Sending time in seconds.
    time: f64,
    /// Rate of the slowest port of its path, if it adapts to the network: a connection, or its other
    /// direction.
    slowest: Option<f64>,
    /// Packets inside at once at most: those of a connection fit into its receive window.
    inside: f64,
}

impl Offered {
    /// `rates`: those of the ports, shapers included.
    fn of(scenario: &Scenario, index: usize, rates: &[f64]) -> Self {
        let flow = &scenario.flows[index];
        let end = flow.stop.map_or(scenario.duration, |stop| stop.min(scenario.duration));
        let time = end.saturating_sub(flow.start).as_secs_f64();
        let offered = match flow.transport {
            // Of packets from outside, the program decides.
            Transport::Udp | Transport::Outside { .. } => Self::datagrams(flow, time),
            Transport::UdpReturn { of } => Self::datagrams(&scenario.flows[of], time),
            Transport::Tcp(_) | Transport::TcpReturn { .. } => Self::segments(scenario, index, time, rates),
        };
        let packets = flow.packets.map_or(offered.packets, |most| offered.packets.min(most as f64));
        let packets = flow.bytes.map_or(packets, |most| packets.min(most.0 as f64 / offered.size + 1.0));
        Self { packets, ..offered }
    }

    fn datagrams(flow: &Flow, time: f64) -> Self {
        let arrivals = flow.traffic.arrivals(Seed(0), &flow.name).ok();
        let rate = arrivals.as_ref().and_then(lockgate_traffic::Arrivals::mean_rate).unwrap_or(0.0);
        let packets_s = arrivals.as_ref().and_then(lockgate_traffic::Arrivals::packet_rate).unwrap_or(0.0);
        let size = if packets_s > 0.0 { (rate / 8.0 / packets_s).max(1.0) } else { SEGMENT };
        let mut packets = packets_s * time;
        if let Some(replay) = flow.traffic.config.replay.as_ref().filter(|replay| !replay.repeat) {
            let capture = flow.traffic.files.replays.get(&replay.file);
            packets = packets.min(capture.map_or(0.0, |capture| capture.packets.len() as f64));
        }
        Self { packets, rate, size, time, slowest: None, inside: f64::MAX }
    }

    /// Estimates a connection: as many segments as the slowest link of the path carries, or as its file has.
    fn segments(scenario: &Scenario, index: usize, time: f64, rates: &[f64]) -> Self {
        let model = match scenario.flows[index].transport {
            Transport::Tcp(model) => Some(model),
            Transport::TcpReturn { of } => match scenario.flows[of].transport {
                Transport::Tcp(model) => Some(model),
                _ => None,
            },
            _ => None,
        };
        let slowest_of = |flow| path(scenario, flow).map(|port| rates[port]).fold(f64::MAX, f64::min);
        let slowest = slowest_of(index);
        // There are no more acknowledgements than segments.
        let rate = match scenario.flows[index].transport {
            Transport::TcpReturn { of } => slowest.min(slowest_of(of)),
            _ => slowest,
        };
        let rate = if rate < f64::MAX { rate } else { 0.0 };
        let delay = |port: usize| {
            let PortModel { link, direction, .. } = scenario.ports[port];
            scenario.links[link].delay(direction).as_secs_f64()
        };
        let delay_s: f64 = path(scenario, index).map(delay).sum();
        // A window a round trip, which is longer than the way there.
        let window = model.map(|model| f64::from(model.receive_window) * 8.0 / delay_s);
        let is_lasting = scenario.changes.is_empty() && delay_s > 0.0;
        let rate = window.filter(|_| is_lasting).map_or(rate, |window| rate.min(window));
        let (size, file) = model.map_or((SEGMENT, None), |model| {
            let file = match model.application {
                Application::File(bytes) => Some(bytes.0 as f64 / f64::from(model.mss.max(1))),
                _ => None,
            };
            (f64::from(model.mss) + 66.0, file)
        });
        let most = rate / 8.0 / size * time;
        // Adds the handshake, the end, and retransmissions.
        let packets = file.map_or(most, |segments| most.min(1.2 * segments + 10.0));
        // Twice: what is retransmitted may be inside as well.
        let inside = model.map_or(f64::MAX, |model| {
            2.0 * f64::from(model.receive_window) / f64::from(model.mss.max(1)) + 10.0
        });
        Self { packets, rate: 0.0, size, time, slowest: Some(slowest), inside }
    }
}

fn rate_of(scenario: &Scenario, port: &PortModel) -> f64 {
    scenario.links[port.link].mean_rate(port.direction).as_bits() as f64
}

/// Returns the rate of each port: that of its link, or of the shapers of its tree if no change touches them.
fn shaped_rates(scenario: &Scenario) -> Vec<f64> {
    let mut rates: Vec<f64> = scenario.ports.iter().map(|port| rate_of(scenario, port)).collect();
    let changed: BTreeSet<usize> = scenario
        .changes
        .iter()
        .filter_map(|change| match change.action {
            Action::Port { port, .. } => Some(port),
            _ => None,
        })
        .collect();
    for (index, port) in scenario.ports.iter().enumerate().filter(|(index, _)| !changed.contains(index)) {
        if let Some(rate) = port.tree.rate() {
            rates[index] = rates[index].min(rate.as_bits() as f64);
        }
    }
    rates
}

/// Returns the bytes of `count` items of `size` bytes.
fn bytes(count: f64, size: u64) -> u64 {
    (count * size as f64) as u64
}

fn of_flow(offered: &Offered, flow: &Flow, detail: Detail) -> u64 {
    let is_connection = matches!(flow.transport, Transport::Tcp(_) | Transport::TcpReturn { .. });
    let record = if detail.is_brief(&flow.name) {
        let brief = if is_connection { BRIEF_OF_CONNECTION } else { BRIEF_DATAGRAMS };
        brief[usize::from(detail == Detail::Totals)]
    } else if offered.packets <= SMALL_FLOW_PACKETS as f64 {
        SMALL_FLOW
    } else {
        FLOW
    };
    record + if matches!(flow.transport, Transport::Tcp(_)) { CONNECTION } else { 0 }
}

/// Returns the numbers of queues that are recorded in full, and briefly.
fn queues(scenario: &Scenario, detail: Detail) -> [u64; 2] {
    let mut numbers = [0; 2];
    for port in &scenario.ports {
        let is_member = port.name.split([':', '@']).any(|name| detail.is_brief(name));
        for queue in &port.queues {
            numbers[usize::from(is_member || detail.is_brief(queue))] += 1;
        }
    }
    numbers
}

/// Returns the bytes of records of parts: of each flow and queue that is observed in one, a record as of the
/// run; and of all others an empty one, while a part is judged. And of each flow in full a record for each
/// phase between changes. `flows`: the bytes of each flow's record.
fn parts_of_run(scenario: &Scenario, flows: &[u64], detail: Detail) -> u64 {
    let of_port = |port: &PortModel| {
        let is_member = port.name.split([':', '@']).any(|name| detail.is_brief(name));
        let of_queue = |queue: &String| if is_member || detail.is_brief(queue) { BRIEF_QUEUE } else { QUEUE };
        port.queues.iter().map(of_queue).sum::<u64>()
    };
    let bytes_of = |part: &Part| {
        let flows = scenario.flows.iter().zip(flows).filter(|(flow, _)| part.has_flow(&flow.name));
        let ports = scenario.ports.iter().filter(|port| part.has_port(&port.name)).map(of_port);
        flows.map(|(_, bytes)| *bytes).chain(ports).fold(0, u64::saturating_add)
    };
    let parts = observed_parts(scenario);
    let empty = if parts.is_empty() { 0 } else { scenario.recorded() as u64 * EMPTY };
    let warmup = Instant::ZERO + scenario.warmup;
    let changes: BTreeSet<Instant> =
        scenario.changes.iter().map(|change| change.at).filter(|at| *at > warmup).collect();
    let phases = if changes.is_empty() { 0 } else { (changes.len() + 1).min(MOST_PHASES) as u64 };
    let in_full = scenario.flows.iter().zip(flows).filter(|(flow, _)| !detail.is_brief(&flow.name));
    let of_phases = in_full.map(|(_, bytes)| bytes.saturating_mul(phases)).fold(0, u64::saturating_add);
    parts.iter().map(bytes_of).fold(empty.saturating_add(of_phases), u64::saturating_add)
}

fn series(scenario: &Scenario, queues: u64) -> u64 {
    let detail = scenario.detail();
    let length = if detail == Detail::All { scenario.duration } else { brief(scenario.duration) };
    let interval = scenario.record.interval.unwrap_or_else(|| default_interval(length));
    let rows = scenario.duration.as_picos() / interval.as_picos().max(1) + 2;
    let tcp = scenario.flows.iter().filter(|flow| matches!(flow.transport, Transport::Tcp(_))).count() as u64;
    let full = scenario.flows.iter().filter(|flow| !detail.is_brief(&flow.name)).count() as u64;
    let row = (full * FLOW_INTERVAL)
        .saturating_add((scenario.flows.len() as u64 - full) * 2 * size_of::<BriefSample>() as u64)
        .saturating_add(queues * QUEUE_INTERVAL)
        .saturating_add(tcp * TCP_INTERVAL);
    rows.saturating_mul(row)
}

fn rows(scenario: &Scenario, offered: &[Offered]) -> u64 {
    if !scenario.record.packets && !scenario.record.capture {
        return 0;
    }
    let of = |(flow, offered): (usize, &Offered)| {
        let is_tcp =
            matches!(scenario.flows[flow].transport, Transport::Tcp(_) | Transport::TcpReturn { .. });
        let row = ROW + if is_tcp { SEGMENT_ROW } else { 0 };
        offered.packets * path(scenario, flow).count() as f64 * row as f64
    };
    bytes(offered.iter().enumerate().map(of).sum(), 1)
}

fn changes(scenario: &Scenario) -> u64 {
    let of = |change: &lockgate_scenario::Change| {
        let own = match &change.action {
            Action::Port { tree, .. } => CHANGE + tree.queues().len() as u64 * CHANGED_QUEUE,
            Action::Link { .. } | Action::Flow { .. } => EFFECT_BYTES,
        };
        own + (change.path.len() + change.value.len()) as u64
    };
    scenario.changes.iter().map(of).sum()
}

/// Returns the maximum of packets inside at once: at most all that are sent; port by port those that its
/// queues hold, or those that arrive and cannot leave.
fn packets(scenario: &Scenario, offered: &[Offered], rates: &[f64]) -> f64 {
    let sent: f64 = offered.iter().map(|offered| offered.packets).sum();
    let mut through = vec![Load::default(); scenario.ports.len()];
    for (flow, offered) in offered.iter().enumerate() {
        for port in path(scenario, flow) {
            through[port].add(offered, offered.slowest.map(|slowest| rates[port] <= slowest));
        }
    }
    let inside: f64 =
        scenario.ports.iter().zip(&through).map(|(port, load)| load.inside(scenario, port)).sum();
    let routers: f64 = scenario
        .nodes
        .iter()
        .filter_map(|node| node.service.as_ref())
        .map(|service| packets_of(service.limit))
        .sum();
    sent.min(inside + routers)
}

/// Offered load of a port.
#[derive(Clone, Copy, Default)]
struct Load {
    packets: f64,
    rate: f64,
    time: f64,
    bits: f64,
    /// Packets of flows that fill any queue.
    elastic: f64,
}

impl Load {
    /// Adds the load of a flow. `is_bottleneck`: whether a connection fills the port's queue; `None` if it is
    /// no connection.
    fn add(&mut self, offered: &Offered, is_bottleneck: Option<bool>) {
        self.packets += offered.packets;
        self.rate += offered.rate;
        self.time = self.time.max(offered.time);
        self.bits += offered.packets * offered.size * 8.0;
        if let Some(is_bottleneck) = is_bottleneck {
            let most = if is_bottleneck { offered.inside } else { offered.inside.min(IN_PASSING) };
            self.elastic += offered.packets.min(most);
        }
    }

    /// Returns the maximum of packets that wait at the port or are in flight on its link at once.
    fn inside(&self, scenario: &Scenario, port: &PortModel) -> f64 {
        if self.packets <= 0.0 {
            return 0.0;
        }
        let size = (self.bits / self.packets / 8.0).max(1.0);
        let rate = rate_of(scenario, port);
        let excess = ((self.rate - rate).max(0.0) * self.time / 8.0 / size)
            .max(self.rate.min(rate) / 8.0 / size * 1e-3);
        let waiting = (excess + self.elastic).min(limit_of(&port.tree)).min(self.packets);
        let delay = scenario.links[port.link].delay(port.direction).min(scenario.duration).as_secs_f64();
        let flying = (rate * delay / 8.0 / size).min(self.packets);
        waiting + flying
    }
}

fn packets_of(limit: Limit) -> f64 {
    match limit {
        Limit::Packets(packets) => packets.0 as f64,
        Limit::Bytes(bytes) => bytes.0 as f64 / SHORTEST_FRAME_BYTES,
    }
}

/// Returns the sum of the `limit`s of a tree's leaves in packets; infinite if a leaf has none.
fn limit_of(tree: &QueueTree) -> f64 {
    let leaves = tree.queues().iter().filter(|queue| queue.children.is_empty());
    leaves.map(|leaf| leaf.limit().map_or(f64::MAX, packets_of)).sum()
}

fn captures(scenario: &Scenario) -> u64 {
    let mut seen = std::collections::BTreeMap::new();
    for flow in &scenario.flows {
        for replay in flow.traffic.files.replays.values() {
            seen.insert(std::sync::Arc::as_ptr(replay).addr(), replay.memory());
        }
    }
    seen.into_values().sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;

    fn estimate(text: &str) -> Estimate {
        let files = BTreeMap::<String, Arc<[u8]>>::new();
        Estimate::of(&lockgate_scenario::read(text, "memory", &files, &[]).expect("a scenario"))
    }

    const CONNECTION_BY_A_SHAPER: &str = r#"
duration = "30s"
record.packets = true
node = { a = {}, r = {}, b = {} }
link.access = { between = ["a", "r"], rate = "100gbit", delay = "20ms" }
link.line = { between = ["r", "b"], rate = "100gbit" }
[port."r:b".queue]
shaper = { kind = "htb", children = ["all"] }
all = { kind = "fifo", rate = "10mbit" }
[flow.data]
from = "a"
to = "b"
transport = "tcp"
bytes = "unlimited"
"#;

    /// A connection sends no more than the shaper of its path lets through, nor more than a window a round
    /// trip.
    #[test]
    fn rows_of_a_connection_are_those_that_a_shaper_lets_through() {
        // 10 Mbit/s for 30 s are some 25 000 segments, at 4 ports with their acknowledgements.
        let packets = 10e6 / 8.0 / 1514.0 * 30.0;
        let rows = |text: &str| estimate(text).rows as f64 / (ROW + SEGMENT_ROW) as f64;
        let shaped = rows(CONNECTION_BY_A_SHAPER);
        assert!((3.9 * packets..6.0 * packets).contains(&shaped), "{shaped} rows");
        let unshaped = rows(&CONNECTION_BY_A_SHAPER.replace("rate = \"10mbit\"", "rate = \"100gbit\""));
        // 3 MiB a delay of 20 ms.
        assert!((3.5..6.0).contains(&(unshaped * 1514.0 / (3.0 * 1_048_576.0) / 1500.0)), "{unshaped} rows");
        let changed = format!(
            "{CONNECTION_BY_A_SHAPER}[[change]]\nat = \"1s\"\nset = {{ \"port.r:b.queue.all.rate\" = \"1gbit\" }}\n"
        );
        assert!(rows(&changed) > 100.0 * shaped, "a change may end the shaping");
    }

    #[test]
    fn changes_are_counted() {
        let change = |at: u32| {
            format!("[[change]]\nat = \"{at}ms\"\nset = {{ \"port.r:b.queue.all.limit\" = \"{at}p\" }}\n")
        };
        let text = CONNECTION_BY_A_SHAPER.to_owned() + &(1..=1000).map(change).collect::<String>();
        let [without, with] = [CONNECTION_BY_A_SHAPER, &text].map(|text| estimate(text).changes);
        assert_eq!(without, 0);
        // 5 KiB of a change of a port with one queue were measured.
        assert!((4_000_000..12_000_000).contains(&with), "{with}");
    }
}
