//! The network of a scenario: links with their ports, routers, sources and hosts, as they are before the first event.

use lockgate_engine::discipline::Invalid;
use lockgate_engine::packet::{FlowId, Pool};
use lockgate_engine::port::Port;
use lockgate_engine::port_name;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::recording::{Mode, PortRecord, Recording};
use lockgate_scenario::model::{PortModel, Scenario, Transport};

use crate::echo::Echoes;
use crate::events::{Entry, Events};
use crate::files::note_files;
use crate::hops::{Hops, Way};
use crate::hosts::Hosts;
use crate::link::{Link, LinkSetup, TraceCursor, Transmitter};
use crate::network::{FlowTable, Network, Slots};
use crate::router::Router;
use crate::run::Failure;
use crate::setups::{flow_setups, run_setup};
use crate::source::{HostClock, Source, SourceSetup};

pub(crate) fn build_failure(place: &str, why: &impl ToString) -> Failure {
    Failure::Build { place: place.to_owned(), why: why.to_string() }
}

pub(crate) fn build<E: Entry>(scenario: &Scenario, seed: Seed) -> Result<Network<E>, Failure> {
    let mut router_of = vec![None; scenario.nodes.len()];
    let mut routers = Vec::new();
    for (index, node) in scenario.nodes.iter().enumerate() {
        if let Some(service) = node.service {
            router_of[index] = Some(routers.len());
            routers.push((index, Router::new(service)));
        }
    }
    let sources = build_sources(scenario, seed)?;
    let slots = Slots::of(scenario);
    let mut events = Events::new(slots.count(), slots.links + slots.routers);
    for (index, source) in sources.iter().enumerate() {
        events.set(slots.source(index), source.next());
    }
    let mut hosts = Hosts::build(scenario, seed)?;
    for (host, time) in hosts.pending() {
        events.set(slots.host(host), time);
    }
    let propagation = propagation(scenario, |port| scenario.links[scenario.ports[port].link].delay);
    let flows = flow_setups(scenario, &propagation);
    let mut recording = Recording::new(run_setup(scenario, Mode::Sim, seed, flows));
    note_files(scenario, seed, &mut recording)?;
    for (flow, record) in scenario.flows.iter().zip(&mut recording.flows) {
        if matches!(flow.transport, Transport::Tcp(_) | Transport::TcpReturn { .. }) {
            // Goodput counts what applications get.
            record.on_delivered(Instant::ZERO, Bytes::ZERO);
        }
    }
    let mut links = Vec::with_capacity(scenario.ports.len());
    for (port, record) in scenario.ports.iter().zip(core::mem::take(&mut recording.ports)) {
        links.push(build_link(scenario, port, hops(scenario, port.to, router_of[port.to]), record, seed)?);
    }
    Ok(Network {
        links,
        routers,
        sources,
        hosts,
        echoes: Echoes::of(scenario),
        flows: FlowTable(scenario.flows.iter().map(|flow| flow.fields).collect()),
        hops: (0..scenario.nodes.len()).map(|node| hops(scenario, node, None)).collect(),
        propagation,
        slots,
        events,
        pool: Pool::default(),
        keeps_rows: recording.packets.is_some(),
        quiet_until: Instant::ZERO,
        at_once: 0,
        recording,
    })
}

/// Builds one direction of a link of `scenario`, with its port, its random streams and its record; `far`
/// holds the next hops at its far end.
///
/// # Errors
/// If the port cannot be built. Reading the scenario normally finds this first.
pub fn build_link(
    scenario: &Scenario,
    model: &PortModel,
    far: Hops,
    record: PortRecord,
    seed: Seed,
) -> Result<Link, Failure> {
    let link = &scenario.links[model.link];
    let failed = |why: Invalid| build_failure(&model.name, &why);
    let root = model.tree.build().map_err(failed)?;
    let mut port =
        Port::new(root, Random::stream(seed, &format!("port/{}", port_name::with_arrow(&model.name))));
    if let Some(clock) = model.clock {
        port = port.with_clock(clock).map_err(failed)?;
    }
    if let Some(ring) = model.ring {
        port = port.with_ring(ring).map_err(failed)?;
    }
    let transmitter = match &link.trace[model.direction] {
        Some(trace) => Transmitter::Trace(TraceCursor::new(trace.clone())),
        None => Transmitter::Rate(link.rate),
    };
    let setup = LinkSetup {
        transmitter,
        delay: link.delay,
        overhead: i64::from(link.overhead),
        mpu: u64::from(link.mpu),
        loss: link.loss,
    };
    let random = Random::stream(seed, &format!("link/{}/{}/loss", link.name, model.direction));
    Ok(Link::new(port, setup, far, random, record))
}

/// Builds the sources of all flows, in their order.
///
/// # Errors
/// If traffic cannot be built. Reading the scenario normally finds this first.
pub fn build_sources(scenario: &Scenario, seed: Seed) -> Result<Vec<Source>, Failure> {
    let build = |(index, flow): (usize, &lockgate_scenario::model::Flow)| {
        let arrivals = (flow.transport == Transport::Udp)
            .then(|| flow.traffic.arrivals(seed, &flow.name))
            .transpose()
            .map_err(|why| Failure::Build { place: flow.name.clone(), why: why.to_string() })?;
        let host = &scenario.nodes[flow.from];
        Ok(Source::new(SourceSetup {
            flow: FlowId(index as u32),
            node: flow.from,
            arrivals,
            clock: HostClock { offset_ps: host.clock_offset_ps, drift_ppb: host.clock_drift_ppb },
            traffic_class: flow.traffic_class,
            start: Instant::ZERO + flow.start,
            stop: flow.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop),
            packets: flow.packets.unwrap_or(u64::MAX),
            bytes: flow.bytes.map_or(u64::MAX, |bytes| bytes.0),
        }))
    };
    scenario.flows.iter().enumerate().map(build).collect()
}

/// Returns the next hops at a node: its router's processor first, if `router` is given.
fn hops(scenario: &Scenario, node: usize, router: Option<usize>) -> Hops {
    let way = |port| router.map_or(Way::Link(port), Way::Router);
    scenario.flows.iter().map(|flow| scenario.routes.next(node, flow.to).map_or(Way::Home, way)).collect()
}

/// Returns the ports on a flow's path, in order.
pub(crate) fn path(scenario: &Scenario, flow: usize) -> impl Iterator<Item = usize> + '_ {
    let flow = &scenario.flows[flow];
    let mut node = flow.from;
    core::iter::from_fn(move || {
        let port = scenario.routes.next(node, flow.to)?;
        node = scenario.ports[port].to;
        Some(port)
    })
}

/// Returns the propagation delay of each flow's whole path, given each link's current `delay`.
pub fn propagation(scenario: &Scenario, delay: impl Fn(usize) -> Duration) -> Vec<Duration> {
    (0..scenario.flows.len())
        .map(|flow| path(scenario, flow).fold(Duration::ZERO, |sum, port| sum + delay(port)))
        .collect()
}
