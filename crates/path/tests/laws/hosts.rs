//! Hosts of a scenario at the ends of a path: the `tcp` and the sources of the simulator, outside it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_network::{Connection, Source, build_sources, connection, endpoint, first_sequence};
use lockgate_network::{network_headers, random_files};
use lockgate_path::{Acknowledgement, Delivery, Dscp, Ecn, End, Fate, Frame, Instant, Path, PathBuilder};
use lockgate_path::{Finished, Segment};
use lockgate_scenario::tcp::Application as Task;
use lockgate_scenario::{Scenario, Transport};
use lockgate_tcp::endpoint::Endpoint;
use lockgate_tcp::segment::Segments;

/// An end of a connection, as the simulator's hosts have it.
struct Tcp {
    endpoint: Endpoint,
    headers: u32,
    first_sequence: u32,
    traffic_class: u8,
    armed: Instant,
}

enum Host {
    Tcp(Box<Tcp>),
    Source(Box<Source>),
    /// Returns each datagram.
    Echo(u8),
    Sink,
}

/// Flows to take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Connections,
    Datagrams,
    All,
}

/// Returns the flows of `scenario` that a program can take over.
fn taken(scenario: &Scenario, which: Taken) -> Vec<usize> {
    let is_taken = |flow: &lockgate_scenario::Flow| match flow.transport {
        Transport::Udp => which != Taken::Connections,
        Transport::Tcp(model) => {
            let is_bound = matches!(model.application, Task::Control { .. } | Task::Drawn);
            which != Taken::Datagrams && !is_bound && flow.ftp.is_none()
        }
        _ => false,
    };
    (0..scenario.flows.len()).filter(|flow| is_taken(&scenario.flows[*flow])).collect()
}

fn tcp(scenario: &Scenario, of: usize, flow: usize, start: &Connection, active: bool, seed: Seed) -> Tcp {
    let own = &scenario.flows[flow];
    let endpoint = endpoint(scenario, (of, flow), start, active, seed).expect("an endpoint");
    let armed = endpoint.next(Instant::ZERO);
    Tcp {
        endpoint,
        headers: network_headers(own),
        first_sequence: first_sequence(own, &start.model, seed),
        traffic_class: own.traffic_class & !0b11,
        armed,
    }
}

/// Returns the time of a host's timer.
fn timer(host: &Host) -> Instant {
    match host {
        Host::Tcp(tcp) => tcp.armed,
        Host::Source(source) => source.next(),
        Host::Echo(_) | Host::Sink => Instant::NEVER,
    }
}

/// All hosts of the flows that were taken over, by the number of their end.
pub(crate) struct Hosts {
    all: Vec<Host>,
    /// By host: its order among those that act at one instant, sources first.
    ranks: Vec<usize>,
    /// Times of the hosts' timers, with their ranks and indices.
    timers: BTreeSet<(Instant, usize, usize)>,
    segments: Segments,
}

impl Hosts {
    fn of(scenario: &Scenario, flows: &[usize], seed: Seed) -> Self {
        let files = random_files(scenario, seed).expect("files");
        let mut sources: BTreeMap<usize, Source> = build_sources(scenario, seed)
            .expect("sources")
            .into_iter()
            .map(|source| (source.flow.0 as usize, source))
            .collect();
        let mut hosts = Vec::new();
        for &flow in flows {
            let is_reverse = |other: &lockgate_scenario::Flow| match other.transport {
                Transport::TcpReturn { of } | Transport::UdpReturn { of } => of == flow,
                _ => false,
            };
            let back = scenario.flows.iter().position(is_reverse);
            if let Some(start) = connection(scenario, flow, &files) {
                let back = back.expect("a connection has a reverse direction");
                hosts.push(Host::Tcp(Box::new(tcp(scenario, flow, flow, &start, true, seed))));
                hosts.push(Host::Tcp(Box::new(tcp(scenario, flow, back, &start, false, seed))));
            } else {
                hosts.push(Host::Source(Box::new(sources.remove(&flow).expect("a source"))));
                let echo = |back: usize| Host::Echo(scenario.flows[back].traffic_class);
                hosts.push(back.map_or(Host::Sink, echo));
            }
        }
        let is_no_source = |index: &usize| !matches!(hosts[*index], Host::Source(_));
        let mut order: Vec<usize> = (0..hosts.len()).collect();
        order.sort_by_key(is_no_source);
        let mut ranks = vec![0; hosts.len()];
        order.iter().enumerate().for_each(|(rank, index)| ranks[*index] = rank);
        let timers = (0..hosts.len()).map(|index| (timer(&hosts[index]), ranks[index], index)).collect();
        Self { all: hosts, ranks, timers, segments: Segments::default() }
    }

    fn next(&self) -> Instant {
        self.timers.first().map_or(Instant::NEVER, |(at, _, _)| *at)
    }

    /// Sends all that an end can send now, as the simulator's hosts do.
    fn send_from(&mut self, path: &mut Path, index: usize, now: Instant) {
        let Self { all, segments, timers, ranks } = self;
        let Host::Tcp(tcp) = &mut all[index] else { return };
        while let Some(departure) = tcp.endpoint.poll(now) {
            let segment = departure.segment;
            let number = segments.keep(segment);
            let length = tcp.headers + segment.header_bytes() + segment.length;
            let class = tcp.traffic_class | departure.ecn;
            let bytes = number.to_le_bytes();
            let frame = Frame::new(&bytes)
                .header_bytes(length - bytes.len() as u32)
                .ecn(Ecn::from_bits(class))
                .dscp(Dscp::from_bits(class >> 2))
                .segment(Segment {
                    flags: segment.flags,
                    sequence: tcp.first_sequence.wrapping_add(segment.sequence as u32),
                    acknowledgement: Some(Acknowledgement {
                        number: segment.acknowledgment as u32,
                        is_bare: segment.length == 0 && segment.sack_count == 0,
                    }),
                });
            path.send_frame(now, End::at(index as u32), frame).expect("it can send");
        }
        while tcp.endpoint.take_request_event().is_some() {}
        let next = tcp.endpoint.next(now);
        if next < tcp.armed || tcp.armed <= now {
            timers.remove(&(tcp.armed, ranks[index], index));
            tcp.armed = next;
            timers.insert((next, ranks[index], index));
        }
    }

    /// Lets the host act whose timer is due first.
    fn on_timer(&mut self, path: &mut Path, now: Instant) {
        let Some((at, rank, index)) = self.timers.first().copied().filter(|(at, _, _)| *at <= now) else {
            return;
        };
        match &mut self.all[index] {
            Host::Tcp(tcp) => {
                tcp.endpoint.on_timer(now);
                self.send_from(path, index, now);
            }
            Host::Source(source) => {
                let header = source.send(now);
                let class = header.traffic_class;
                let frame = Frame::new(header.length as usize).header_bytes(0);
                let frame = frame.ecn(Ecn::from_bits(class)).dscp(Dscp::from_bits(class >> 2));
                path.send_frame(now, End::at(index as u32), frame).expect("it can send");
                self.timers.remove(&(at, rank, index));
                self.timers.insert((source.next(), rank, index));
            }
            Host::Echo(_) | Host::Sink => {}
        }
    }

    fn on_delivery(&mut self, path: &mut Path, delivery: &Delivery) {
        let index = delivery.end.index();
        match &mut self.all[index] {
            Host::Tcp(tcp) => {
                let number = u64::from_le_bytes(delivery.bytes[..].try_into().expect("a number"));
                let segment = self.segments.take(number);
                tcp.endpoint.on_segment(&segment, delivery.ecn.is_marked(), delivery.at);
                self.send_from(path, index, delivery.at);
            }
            Host::Echo(class) => {
                let frame = Frame::new(delivery.length as usize).header_bytes(0);
                let frame = frame.ecn(Ecn::from_bits(*class)).dscp(Dscp::from_bits(*class >> 2));
                let fate = path.send_frame(delivery.at, delivery.end, frame);
                assert!(matches!(fate, Ok(Fate::Sent | Fate::Dropped)));
            }
            Host::Source(_) | Host::Sink => {}
        }
    }
}

/// Runs a scenario as a path with the simulator's hosts outside. Returns its end, and the packets that were
/// taken over.
pub(crate) fn run_outside(
    text: &str,
    settings: &[(&str, &str)],
    files: &Files,
    (which, rows): (Taken, bool),
    seed: u64,
) -> Option<Finished> {
    let overrides: Vec<_> = settings
        .iter()
        .map(|(path, value)| lockgate_scenario::Override::new(path, value).expect("a setting"))
        .collect();
    let scenario = lockgate_scenario::read(text, "scenario", files, &overrides).expect("a scenario");
    let scenario = scenario.with_starts(Seed(seed)).into_owned();
    let flows = taken(&scenario, which);
    if flows.is_empty() {
        return None;
    }
    let mut builder: PathBuilder = Path::from_scenario(text, seed).files(files.clone());
    if rows {
        builder = builder.keep_packets();
    }
    for (path, value) in settings {
        builder = builder.set(path, value);
    }
    for flow in &flows {
        builder = builder.take_over(&scenario.flows[*flow].name);
    }
    let mut path = builder.build().expect("a path");
    let mut hosts = Hosts::of(&scenario, &flows, Seed(seed));
    let end = scenario.end();
    loop {
        let until = hosts.next().min(end);
        match path.receive(until).expect("time goes forwards") {
            Some(delivery) => hosts.on_delivery(&mut path, &delivery),
            None if until >= end => break,
            None => hosts.on_timer(&mut path, until),
        }
    }
    Some(path.finish().expect("the account balances"))
}

/// Files by their names.
pub(crate) type Files = BTreeMap<String, Arc<[u8]>>;
