//! Parts of a scenario's network, as they are before the first event: links with their ports, routers,
//! sources.

use lockgate_engine::discipline::Invalid;
use lockgate_engine::packet::FlowId;
use lockgate_engine::port::Port;
use lockgate_engine::port_name;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::Instant;
use lockgate_measure::recording::PortRecord;
use lockgate_scenario::model::{Flow, PortModel, Scenario, Transport};

use crate::failure::Failure;
use crate::hops::Hops;
use crate::link::{LineState, Link, LinkSetup, TraceCursor, Transmitter};
use crate::router::Router;
use crate::source::{HostClock, Source, SourceSetup};

/// Builds one direction of a link of `scenario`, with its port, its random streams and its record; `far`
/// holds the next hops at its far end.
///
/// # Errors
/// If the port cannot be built. Reading the scenario normally finds this first.
pub(crate) fn build_link(
    scenario: &Scenario,
    model: &PortModel,
    far: Hops,
    record: PortRecord,
    seed: Seed,
) -> Result<Link, Failure> {
    let link = &scenario.links[model.link];
    let failed = |why: Invalid| Failure::build(&model.name, &why);
    let root = model.tree.build().map_err(failed)?;
    let mut port =
        Port::new(root, Random::stream(seed, &format!("port/{}", port_name::with_arrow(&model.name))));
    if let Some(clock) = model.clock {
        port = port.with_clock(clock).map_err(failed)?;
    }
    if let Some(ring) = model.ring {
        port = port.with_ring(ring).map_err(failed)?;
    }
    port = port.with_pace(model.pace);
    let transmitter = match &link.trace[model.direction] {
        Some(trace) => Transmitter::Trace(TraceCursor::new(trace.clone())),
        None => Transmitter::Rate(link.rate(model.direction)),
    };
    let setup = LinkSetup {
        transmitter,
        delay: link.delay(model.direction),
        overhead: link.overhead,
        loss: link.loss(model.direction),
        line: LineState::new(
            link.path[model.direction].clone(),
            link.conditions[model.direction].clone(),
            seed,
            &format!("{}/{}", link.name, model.direction),
        ),
    };
    let random = Random::stream(seed, &format!("link/{}/{}/loss", link.name, model.direction));
    Ok(Link::new(port, setup, far, random, record))
}

/// Builds the routers of the nodes with a service time, with their nodes' indices. Returns also each node's
/// router, if it has one.
pub fn build_routers(scenario: &Scenario) -> (Vec<(usize, Router)>, Vec<Option<u32>>) {
    let mut router_of = vec![None; scenario.nodes.len()];
    let mut routers = Vec::new();
    for (node, model) in scenario.nodes.iter().enumerate() {
        if let Some(service) = model.service {
            router_of[node] = Some(routers.len() as u32);
            routers.push((node, Router::new(service)));
        }
    }
    (routers, router_of)
}

/// Builds the sources of all flows, in their order.
///
/// # Errors
/// If traffic cannot be built. Reading the scenario normally finds this first.
pub fn build_sources(scenario: &Scenario, seed: Seed) -> Result<Vec<Source>, Failure> {
    let build = |(index, flow): (usize, &Flow)| {
        let arrivals = (flow.transport == Transport::Udp)
            .then(|| flow.traffic.arrivals(seed, &flow.name))
            .transpose()
            .map_err(|why| Failure::build(&flow.name, &why))?;
        Ok(Source::new(SourceSetup {
            flow: FlowId(index as u32),
            node: flow.from,
            arrivals,
            clock: HostClock::of(&scenario.nodes[flow.from]),
            traffic_class: flow.traffic_class,
            start: Instant::ZERO + flow.start,
            stop: flow.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop),
            packets: flow.packets.unwrap_or(u64::MAX),
            bytes: flow.bytes.map_or(u64::MAX, |bytes| bytes.0),
        }))
    };
    scenario.flows.iter().enumerate().map(build).collect()
}
