//! Network of a scenario as the calculus sees it: a server for each port and each processor on a path.

use std::collections::BTreeMap;

use lockgate_calculus::{
    Arrival, Exact, Flow, Hop, Kind, Line, Network, NoBound, Node, Server, ratio, seconds,
};
use lockgate_engine::classify::{Fields, Headers};
use lockgate_engine::pacing::SLACK;
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant, Limit};
use lockgate_scenario::{Envelope, PortModel, Scenario, Service, Transport};
use lockgate_traffic::frame::LARGEST_FRAME;

use super::queues::queues;

/// Headers of a TCP segment with all its options, in bytes of a frame.
const TCP_HEADERS: u64 = 14 + 20 + 60;

/// Shortest frame of TCP.
const SHORTEST_TCP: Bytes = Bytes(54);

/// Network with what the calculus does not need.
pub(super) struct Model {
    pub(super) network: Network,
    /// Limit of each queue of each server.
    pub(super) limits: Vec<Vec<Option<Limit>>>,
    pub(super) envelopes: Vec<Result<Envelope, NoBound>>,
}

/// Station that serves packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Station {
    /// The port at this index.
    Port(usize),
    /// The processor of the node at this index.
    Processor(usize),
}

struct Builder<'a> {
    scenario: &'a Scenario,
    /// Reasons why flows, by their index, have no envelope.
    excesses: &'a [Option<String>],
    model: Model,
    servers: BTreeMap<Station, usize>,
    /// Nodes of the queues of each server, by their index in the tree.
    nodes: Vec<Vec<usize>>,
    factors: BTreeMap<(Station, Option<Station>, u64, u64), Factors>,
}

/// Most work of a frame bit, most work of a unit of work at the station before, and most work of a frame.
type Factors = (Exact, Exact, Exact);

/// Returns the network of a scenario.
pub(super) fn model(scenario: &Scenario, excesses: &[Option<String>]) -> Model {
    let model = Model { network: Network::default(), limits: Vec::new(), envelopes: Vec::new() };
    let (servers, nodes, factors) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
    let mut builder = Builder { scenario, excesses, model, servers, nodes, factors };
    for index in 0..scenario.flows.len() {
        builder.flow(index);
    }
    builder.place_packets();
    builder.model
}

/// Returns the stations on the path of a flow, in order.
fn path(scenario: &Scenario, flow: usize) -> Vec<Station> {
    let flow = &scenario.flows[flow];
    let (mut node, mut stations) = (flow.from, Vec::new());
    while let Some(port) = scenario.routes.next(node, flow.to) {
        // A processor serves what arrives by a link and goes on.
        if node != flow.from && scenario.nodes[node].service.is_some() {
            stations.push(Station::Processor(node));
        }
        stations.push(Station::Port(port));
        node = scenario.ports[port].to;
    }
    stations
}

/// Returns the shortest and the longest frame of a flow.
fn lengths(scenario: &Scenario, flow: usize) -> [Bytes; 2] {
    let flow = &scenario.flows[flow];
    match flow.transport {
        Transport::Udp => flow.lengths().unwrap_or([Bytes(1), Bytes(LARGEST_FRAME.into())]),
        Transport::Tcp(model) => [SHORTEST_TCP, Bytes(u64::from(model.mss) + TCP_HEADERS)],
        Transport::UdpReturn { of } | Transport::TcpReturn { of } => lengths(scenario, of),
        Transport::Outside { .. } => [Bytes(1), Bytes(LARGEST_FRAME.into())],
    }
}

fn bits(bytes: Bytes) -> Exact {
    ratio(bytes.0, 1) * ratio(8, 1)
}

impl Builder<'_> {
    fn flow(&mut self, index: usize) {
        let scenario = self.scenario;
        let flow = &scenario.flows[index];
        let [shortest, longest] = lengths(scenario, index);
        let stations = path(scenario, index);
        let mut hops = Vec::with_capacity(stations.len());
        for (position, station) in stations.iter().enumerate() {
            let server = self.server(*station);
            let before = position.checked_sub(1).map(|before| stations[before]);
            hops.push(self.hop(server, *station, before, [shortest, longest]));
        }
        let envelope: Result<Envelope, NoBound> = match flow.transport {
            _ if !scenario.changes.is_empty() => Err("a change during the run".into()),
            Transport::Udp => match self.excesses.get(index).cloned().flatten() {
                Some(excess) => Err(excess.into()),
                None => flow.envelope(scenario.duration).map_err(|why| why.to_string().into()),
            },
            Transport::Tcp(_) | Transport::TcpReturn { .. } => Err("tcp".into()),
            Transport::UdpReturn { .. } => Err("an echo".into()),
            Transport::Outside { .. } => Err("a program outside".into()),
        };
        let line = |bucket: &lockgate_scenario::TokenBucket| Line {
            burst: bits(bucket.burst),
            rate: ratio(bucket.rate.as_bits(), 1),
        };
        // The first flow of the adversary stands for what all of them send together.
        let is_counted = index == scenario.adversary.start || !scenario.adversary.contains(&index);
        let arrival = envelope.as_ref().map_err(Clone::clone).and_then(|envelope| {
            let lines = if is_counted { envelope.buckets.iter().map(line).collect() } else { Vec::new() };
            let none = (!is_counted).then(Arrival::nothing);
            Arrival::new(lines).or(none).ok_or_else(|| "no bucket".into())
        });
        self.model.envelopes.push(envelope);
        let (shortest, longest) = (bits(shortest), bits(longest));
        self.model.network.flows.push(Flow { name: flow.name.clone(), arrival, shortest, longest, hops });
    }

    /// Returns the index of the server of a station, which it adds if it is new.
    fn server(&mut self, station: Station) -> usize {
        if let Some(server) = self.servers.get(&station) {
            return *server;
        }
        let server = self.model.network.servers.len();
        self.servers.insert(station, server);
        match station {
            Station::Port(port) => self.add_port(port),
            Station::Processor(node) => self.add_processor(node),
        }
        server
    }

    fn add_port(&mut self, index: usize) {
        let scenario = self.scenario;
        let port = &scenario.ports[index];
        let link = &scenario.links[port.link];
        let mut queues = queues(port);
        if link.trace[port.direction].is_some() {
            queues.nodes[0].kind = Kind::Unbounded("a recorded trace instead of a rate".into());
        }
        if link.is_conditioned(port.direction) {
            let why = "a line whose delay, losses or slots are random or recorded";
            queues.nodes[0].kind = Kind::Unbounded(why.into());
        }
        if port.autorate.as_ref().is_some_and(|autorate| !autorate.observe_only) {
            queues.nodes[0].kind = Kind::Unbounded("a controller of its rate".into());
        }
        let paced = self.is_paced(port);
        let server = Server {
            name: port.name.clone(),
            rate: if paced { ratio(1, 1) } else { ratio(link.rate(port.direction).as_bits(), 1) },
            propagation: seconds(link.delay(port.direction).as_picos()),
            rounding: seconds(if paced { 2 } else { 1 }),
            // Two packets may also end closer to each other than they begin.
            slack: if paced { self.slack(port) } else { ratio(0, 1) },
            ring: port.ring.map_or(1, |ring| ring.slots.max(1)),
            nodes: queues.nodes,
            even: link.overhead.is_none() && !paced,
        };
        self.model.network.servers.push(server);
        self.model.limits.push(queues.limits);
        self.nodes.push(queues.of);
    }

    fn is_paced(&self, port: &PortModel) -> bool {
        port.pace.rate.is_some_and(|rate| rate < self.scenario.links[port.link].mean_rate(port.direction))
    }

    /// Returns the time that a port with a rate of its own may be ahead of it.
    fn slack(&self, port: &PortModel) -> Exact {
        let flows = 0..self.scenario.flows.len();
        let longest = flows.map(|flow| lengths(self.scenario, flow)[1]).max().unwrap_or(Bytes::ZERO);
        seconds(SLACK.as_picos()) + self.paced_work(port, longest)
    }

    fn add_processor(&mut self, index: usize) {
        let node = &self.scenario.nodes[index];
        self.model.network.servers.push(Server {
            name: node.name.clone(),
            rate: ratio(1, 1),
            propagation: ratio(0, 1),
            rounding: seconds(0),
            slack: ratio(0, 1),
            ring: 1,
            nodes: vec![Node { name: "processor".to_owned(), parent: None, kind: Kind::Fifo }],
            even: false,
        });
        self.model.limits.push(vec![node.service.map(|service| service.limit)]);
        self.nodes.push(vec![0]);
    }

    /// Returns the work of a frame at a station: bits of a line, seconds of a processor or of a port's own
    /// rate.
    fn work(&self, station: Station, frame: Bytes) -> Exact {
        match station {
            Station::Port(port) => {
                let port = &self.scenario.ports[port];
                let link = &self.scenario.links[port.link];
                if self.is_paced(port) {
                    self.paced_work(port, frame)
                } else {
                    bits(link.overhead.on_link(frame))
                }
            }
            Station::Processor(node) => {
                let service = self.scenario.nodes[node].service;
                seconds(service.map_or(0, |service: Service| {
                    let bytes = service.rate.map_or(Duration::ZERO, |rate| rate.time_for(frame));
                    (service.per_packet + bytes).as_picos()
                }))
            }
        }
    }

    fn paced_work(&self, port: &PortModel, frame: Bytes) -> Exact {
        let link = &self.scenario.links[port.link];
        let own =
            port.pace.rate.map_or(Duration::ZERO, |rate| rate.time_for(port.pace.overhead.on_link(frame)));
        let least = link.rate(port.direction).time_for(link.overhead.on_link(frame));
        seconds(own.max(least).as_picos())
    }

    /// Returns whether a station charges frames as they are.
    fn is_even(&self, station: Station) -> bool {
        match station {
            Station::Port(port) => {
                let port = &self.scenario.ports[port];
                self.scenario.links[port.link].overhead.is_none() && !self.is_paced(port)
            }
            Station::Processor(_) => false,
        }
    }

    /// Returns the most work of a frame bit, the most work of a unit of work at the station before, and the
    /// most work of a frame. They are computed once for the same lengths.
    fn factors(
        &mut self,
        station: Station,
        before: Option<Station>,
        [shortest, longest]: [Bytes; 2],
    ) -> Factors {
        let key = (station, before, shortest.0, longest.0);
        if let Some(known) = self.factors.get(&key) {
            return known.clone();
        }
        let is_even = self.is_even(station) && before.is_none_or(|before| self.is_even(before));
        let mut factor = self.work(station, shortest) / bits(shortest);
        let mut from_before = ratio(1, 1);
        let mut most = self.work(station, longest);
        if !is_even {
            // Framing rounds up: each length has its own work.
            from_before = ratio(0, 1);
            for length in shortest.0..=longest.0 {
                let work = self.work(station, Bytes(length));
                if let Some(before) = before {
                    from_before = from_before.max(&work / self.work(before, Bytes(length)));
                }
                factor = factor.max(&work / bits(Bytes(length)));
                most = most.max(work);
            }
        }
        let factors = (factor, from_before, most);
        self.factors.insert(key, factors.clone());
        factors
    }

    fn hop(
        &mut self,
        server: usize,
        station: Station,
        before: Option<Station>,
        [shortest, longest]: [Bytes; 2],
    ) -> Hop {
        let (factor, from_before, most) = self.factors(station, before, [shortest, longest]);
        let quickest = match station {
            Station::Port(port) => {
                let port = &self.scenario.ports[port];
                let link = &self.scenario.links[port.link];
                let time = link.rate(port.direction).time_for(link.overhead.on_link(shortest));
                seconds(time.as_picos().saturating_sub(2))
            }
            Station::Processor(_) => self.work(station, shortest),
        };
        let shortest = self.work(station, shortest);
        Hop { server, node: 0, factor, from_before, shortest, longest: most, quickest: Some(quickest) }
    }

    /// Finds the queue of each flow at each port, by the port's own classifiers.
    fn place_packets(&mut self) {
        let stations: Vec<(Station, usize)> =
            self.servers.iter().map(|(station, server)| (*station, *server)).collect();
        for (station, server) in stations {
            let Station::Port(index) = station else { continue };
            let port = &self.scenario.ports[index];
            let leaf = |scenario: &Scenario, flow: usize| queue_of(scenario, port, flow);
            for flow in 0..self.model.network.flows.len() {
                let Some(hop) =
                    self.model.network.flows[flow].hops.iter().position(|hop| hop.server == server)
                else {
                    continue;
                };
                match leaf(self.scenario, flow) {
                    Ok(queue) => self.model.network.flows[flow].hops[hop].node = self.nodes[server][queue],
                    Err(why) => self.model.network.servers[server].nodes[0].kind = Kind::Unbounded(why),
                }
            }
            // Its flows are one to the calculus.
            let hops =
                self.model.network.flows[self.scenario.adversary.clone()].iter().flat_map(|flow| &flow.hops);
            let mut queues = hops.filter(|hop| hop.server == server).map(|hop| hop.node);
            let first = queues.next();
            if queues.any(|queue| Some(queue) != first) {
                let why = "flows of the adversary go to several queues";
                self.model.network.servers[server].nodes[0].kind = Kind::Unbounded(why.into());
            }
        }
    }
}

/// Headers of the flows of a scenario.
struct FlowHeaders<'a>(&'a Scenario);

impl Headers for FlowHeaders<'_> {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        self.0.flows.get(packet.flow.0 as usize).map(|flow| flow.fields)
    }

    fn mark(&self, packet: &Packet) -> u32 {
        self.0.flows.get(packet.flow.0 as usize).map_or(0, |flow| flow.mark)
    }
}

/// Returns the index in the tree of the queue that takes the packets of a flow at a port.
///
/// # Errors
/// If they are in several, or dropped.
fn queue_of(scenario: &Scenario, port: &PortModel, flow: usize) -> Result<usize, NoBound> {
    let tree = port.tree.queues();
    if tree.len() == 1 {
        return Ok(0);
    }
    let of = &scenario.flows[flow];
    let [shortest, longest] = lengths(scenario, flow);
    let rules = || tree.iter().flat_map(|queue| &queue.rules);
    let several = || NoBound::from(format!("packets of `{}` go to several queues", of.name));
    let is_tcp = matches!(of.transport, Transport::Tcp(_) | Transport::TcpReturn { .. });
    if (shortest != longest && rules().any(|rule| rule.length.is_some()))
        || (is_tcp && rules().any(|rule| rule.tcp_flags.or(rule.tcp_flags_clear).is_some()))
    {
        return Err(several());
    }
    let root = port.tree.build().map_err(|why| NoBound::from(why.to_string()))?;
    let mut built = Port::new(root, Random::stream(Seed::default(), ""));
    let header = Header {
        flow: FlowId(flow as u32),
        length: shortest.0 as u32,
        traffic_class: of.traffic_class,
        ..Header::default()
    };
    built.offer(Packet::new(header), Instant::ZERO, &FlowHeaders(scenario));
    let mut packets = Vec::new();
    built.flush(&mut packets);
    let packet =
        packets.first().ok_or_else(|| NoBound::from(format!("packets of `{}` are dropped", of.name)))?;
    let name = built.queues().get(packet.position.node() as usize).map(|queue| queue.name.clone());
    tree.iter().position(|queue| Some(&queue.name) == name.as_ref()).ok_or_else(several)
}
