//! Memory that a run will take, reckoned from its scenario before anything is built.
//!
//! ```text
//! flows       their records and ends of connections     ports     their queues and records
//! routes      where each flow goes from each place      packets   those that wait or are on their way at once
//! series      a row an interval, flow and queue         rows      a row a packet and port, where they are kept
//! captures    those that are replayed
//! ```
//!
//! An estimate, on the high side where a run decides: what flows send is taken at their mean rates, queues fill as far
//! as their limits and the rates of the links let them. What a change of the timeline brings is left out.

use lockgate_engine::packet::Header;
use lockgate_engine::random::Seed;
use lockgate_engine::units::Limit;
use lockgate_measure::recording::TcpSample;
use lockgate_measure::series::default_interval;
use lockgate_scenario::model::{Flow, PortModel, Scenario, Transport};
use lockgate_scenario::tcp::Application;
use lockgate_scenario::tree::QueueTree;

use crate::run::path;

/// A flow's record with its histograms: 5 of them, of a dozen octaves each. Measured: 80 KiB a flow of a million packets.
const FLOW: u64 = 84 << 10;
/// The same of a flow of so few packets that histograms keep the values themselves.
const SMALL_FLOW: u64 = 14 << 10;
const FEW: u64 = 128;
/// Both ends of a connection.
const CONNECTION: u64 = 24 << 10;
/// A queue with its record, its results and the parameters it was read with. Measured: 4096 of `sfq`, `fq_codel` or `cake`
/// took 120 MiB to check and 510 MiB to run.
const QUEUE: u64 = 36 << 10;
/// A packet that is on its way, and its place in a queue.
const PACKET: u64 = size_of::<Header>() as u64 + 24;
/// A row of a packet at a port, and of an interval of a flow and of a queue, with its part of the report. Columns grow
/// by doubling.
const ROW: u64 = 2 * 35;
const FLOW_INTERVAL: u64 = 2 * 80 + 60;
const QUEUE_INTERVAL: u64 = 2 * 88 + 60;
const TCP_INTERVAL: u64 = 2 * (size_of::<TcpSample>() as u64 + 8);
/// Shortest frame and largest segment that a link is taken to carry where flows do not say.
const SHORTEST: f64 = 64.0;
const SEGMENT: f64 = 1514.0;

/// What a run's memory goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Records of flows, and ends of connections.
    pub flows: u64,
    /// Queues and their records.
    pub queues: u64,
    /// Where each flow goes from each node and port.
    pub routes: u64,
    /// Series, a row an interval.
    pub series: u64,
    /// Packets that are on their way at once.
    pub packets: u64,
    /// Rows of packets, where they are kept.
    pub rows: u64,
    /// Captures that are replayed.
    pub captures: u64,
}

impl Estimate {
    /// What a run of `scenario` takes.
    pub fn of(scenario: &Scenario) -> Self {
        let offered: Vec<Offered> =
            (0..scenario.flows.len()).map(|flow| Offered::of(scenario, flow)).collect();
        let (flows, queues) = (scenario.flows.len() as u64, queues(scenario));
        let places = (scenario.nodes.len() + scenario.ports.len()) as u64;
        Self {
            flows: offered.iter().zip(&scenario.flows).map(|(offered, flow)| of_flow(offered, flow)).sum(),
            queues: queues * QUEUE,
            routes: places.saturating_mul(flows) * 4,
            series: series(scenario, queues),
            packets: bytes(packets(scenario, &offered), PACKET),
            rows: rows(scenario, &offered),
            captures: captures(scenario),
        }
    }

    /// Its parts, by what they are for and what makes them smaller.
    pub fn parts(&self) -> [(&'static str, u64, &'static str); 7] {
        [
            ("flows", self.flows, "have fewer flows (`count`)"),
            ("queues", self.queues, "have fewer queues"),
            ("routes", self.routes, "have fewer flows or fewer nodes"),
            ("series", self.series, "make `record.interval` longer"),
            ("packets on their way", self.packets, "set smaller limits of queues, or send less"),
            ("rows of packets", self.rows, "keep no packets, or let the run be shorter"),
            ("captures", self.captures, "replay smaller captures"),
        ]
    }

    /// What stays of a run when it has ended.
    pub fn kept(&self) -> u64 {
        self.flows.saturating_add(self.queues).saturating_add(self.series).saturating_add(self.rows)
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.parts().iter().fold(0, |sum, (_, bytes, _)| sum.saturating_add(*bytes))
    }

    /// What `runs` of the scenario take, `together` of which run at a time: records of all are kept.
    pub fn of_runs(&self, runs: u64, together: u64) -> u64 {
        let shared = self.captures;
        let running = self.total() - self.kept() - shared;
        let together = runs.min(together).max(1);
        self.kept()
            .saturating_mul(runs)
            .saturating_add(running.saturating_mul(together))
            .saturating_add(shared)
    }
}

/// What a flow offers, as far as that is known before.
struct Offered {
    /// Packets in the whole run.
    packets: f64,
    /// Frame bits a second while it sends.
    rate: f64,
    /// Frame bytes of a packet, mean.
    size: f64,
    /// How long it sends, in seconds.
    time: f64,
    /// Whether it follows what the network takes: a connection, or its other direction.
    is_elastic: bool,
}

impl Offered {
    fn of(scenario: &Scenario, place: usize) -> Self {
        let flow = &scenario.flows[place];
        let end = flow.stop.map_or(scenario.duration, |stop| stop.min(scenario.duration));
        let time = end.saturating_sub(flow.start).as_secs_f64();
        let offered = match flow.transport {
            Transport::Udp => Self::datagrams(flow, time),
            Transport::UdpReturn { of } => Self::datagrams(&scenario.flows[of], time),
            Transport::Tcp(_) | Transport::TcpReturn { .. } => Self::segments(scenario, place, time),
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
        Self { packets, rate, size, time, is_elastic: false }
    }

    /// As many segments as the slowest link on the way takes, or as its file has.
    fn segments(scenario: &Scenario, place: usize, time: f64) -> Self {
        let model = match scenario.flows[place].transport {
            Transport::Tcp(model) => Some(model),
            Transport::TcpReturn { of } => match scenario.flows[of].transport {
                Transport::Tcp(model) => Some(model),
                _ => None,
            },
            _ => None,
        };
        let rate = path(scenario, place)
            .map(|port| rate_of(scenario, &scenario.ports[port]))
            .fold(f64::MAX, f64::min);
        let rate = if rate < f64::MAX { rate } else { 0.0 };
        let (size, file) = model.map_or((SEGMENT, None), |model| {
            let file = match model.application {
                Application::File(bytes) => Some(bytes.0 as f64 / f64::from(model.mss.max(1))),
                _ => None,
            };
            (f64::from(model.mss) + 66.0, file)
        });
        let most = rate / 8.0 / size * time;
        // Handshake, end and what is sent again.
        let packets = file.map_or(most, |segments| most.min(1.2 * segments + 10.0));
        Self { packets, rate: 0.0, size, time, is_elastic: true }
    }
}

fn rate_of(scenario: &Scenario, port: &PortModel) -> f64 {
    let link = &scenario.links[port.link];
    link.trace[port.direction].as_ref().map_or(link.rate, |trace| trace.mean_rate()).as_bits() as f64
}

/// A number of things of this size, in bytes.
fn bytes(count: f64, size: u64) -> u64 {
    (count * size as f64) as u64
}

fn of_flow(offered: &Offered, flow: &Flow) -> u64 {
    let record = if offered.packets <= FEW as f64 { SMALL_FLOW } else { FLOW };
    record + if matches!(flow.transport, Transport::Tcp(_)) { CONNECTION } else { 0 }
}

fn queues(scenario: &Scenario) -> u64 {
    scenario.ports.iter().map(|port| port.queues.len() as u64).sum()
}

fn series(scenario: &Scenario, queues: u64) -> u64 {
    let interval = scenario.record.interval.unwrap_or_else(|| default_interval(scenario.duration));
    let rows = scenario.duration.as_picos() / interval.as_picos().max(1) + 2;
    let tcp = scenario.flows.iter().filter(|flow| matches!(flow.transport, Transport::Tcp(_))).count() as u64;
    let row = (scenario.flows.len() as u64 * FLOW_INTERVAL)
        .saturating_add(queues * QUEUE_INTERVAL)
        .saturating_add(tcp * TCP_INTERVAL);
    rows.saturating_mul(row)
}

fn rows(scenario: &Scenario, offered: &[Offered]) -> u64 {
    if !scenario.record.packets && !scenario.record.capture {
        return 0;
    }
    let of = |(flow, offered): (usize, &Offered)| offered.packets * path(scenario, flow).count() as f64;
    bytes(offered.iter().enumerate().map(of).sum(), ROW)
}

/// Packets on their way at once, at most: those that are sent at all; and port by port, those that its queues take, or
/// that come and cannot leave.
fn packets(scenario: &Scenario, offered: &[Offered]) -> f64 {
    let sent: f64 = offered.iter().map(|offered| offered.packets).sum();
    let mut through = vec![Load::default(); scenario.ports.len()];
    for (flow, offered) in offered.iter().enumerate() {
        for port in path(scenario, flow) {
            through[port].add(offered);
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

/// What comes to a port.
#[derive(Clone, Copy, Default)]
struct Load {
    packets: f64,
    rate: f64,
    time: f64,
    bits: f64,
    /// Packets of flows that fill whatever queue there is.
    elastic: f64,
}

impl Load {
    fn add(&mut self, offered: &Offered) {
        self.packets += offered.packets;
        self.rate += offered.rate;
        self.time = self.time.max(offered.time);
        self.bits += offered.packets * offered.size * 8.0;
        if offered.is_elastic {
            self.elastic += offered.packets;
        }
    }

    /// Packets that wait at the port or fly along its link at once, at most.
    fn inside(&self, scenario: &Scenario, port: &PortModel) -> f64 {
        if self.packets <= 0.0 {
            return 0.0;
        }
        let size = (self.bits / self.packets / 8.0).max(1.0);
        let rate = rate_of(scenario, port);
        let excess = ((self.rate - rate).max(0.0) * self.time / 8.0 / size)
            .max(self.rate.min(rate) / 8.0 / size * 1e-3);
        let waiting = (excess + self.elastic).min(limit_of(&port.tree)).min(self.packets);
        let delay = scenario.links[port.link].delay.min(scenario.duration).as_secs_f64();
        let flying = (rate * delay / 8.0 / size).min(self.packets);
        waiting + flying
    }
}

fn packets_of(limit: Limit) -> f64 {
    match limit {
        Limit::Packets(packets) => packets.0 as f64,
        Limit::Bytes(bytes) => bytes.0 as f64 / SHORTEST,
    }
}

/// Packets that a tree's leaves let in: by their `limit`, where they have one.
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
