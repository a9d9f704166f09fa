//! The network of a scenario, as it is before the first event.

use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_measure::recording::Mode;
use lockgate_network::{
    Destination, Failure, Hops, NetworkCore, NextHop, build_routers, build_sources, flow_setups, path,
};
use lockgate_scenario::model::{Flow, Scenario, Transport};

use crate::cut::Cut;
use crate::echoes::Echoes;
use crate::events::{Entry, Events, Layout};
use crate::network::{FlowTable, Network, Schedule, Slots};
use crate::tcp_hosts::TcpHosts;

pub(crate) fn build<E: Entry>(scenario: &Scenario, seed: Seed) -> Result<Network<E>, Failure> {
    let (routers, router_of) = build_routers(scenario);
    let sources = build_sources(scenario, seed)?;
    let slots = Slots::of(scenario);
    let flows = flows_by_port(scenario);
    let mut events = Events::new(&Layout::new(slots.count(), slots.links + slots.routers, &flows));
    for (index, source) in sources.iter().enumerate() {
        events.set(slots.source(index), source.next());
    }
    let mut hosts = TcpHosts::build(scenario, seed)?;
    for (host, time) in hosts.pending() {
        events.set(slots.host(host), time);
    }
    let schedule = Schedule {
        events,
        slots,
        flows: FlowTable(scenario.flows.iter().map(|flow| flow.fields).collect()),
        hosts,
        quiet_until: Instant::ZERO,
        ahead_until: Instant::ZERO,
        delivered_until: Instant::ZERO,
    };
    let setups = |propagation: &[_]| flow_setups(scenario, propagation);
    let echoes = Echoes::of(scenario);
    let is_sink =
        |index, flow: &Flow| E::MAY_BE_LARGE && flow.transport == Transport::Udp && !echoes.takes_part(index);
    let destination = |(index, flow): (usize, &Flow)| Destination::new(flow.to, is_sink(index, flow));
    let destinations: Arc<[Destination]> = scenario.flows.iter().enumerate().map(destination).collect();
    let at: Vec<Hops> =
        (0..scenario.nodes.len()).map(|node| hops(scenario, node, None, &destinations)).collect();
    let arriving = |(node, router): (usize, &Option<u32>)| {
        let through = |router| hops(scenario, node, Some(router as usize), &destinations);
        router.map_or_else(|| at[node].clone(), through)
    };
    let arriving: Vec<Hops> = router_of.iter().enumerate().map(arriving).collect();
    let far = |port: usize| arriving[scenario.ports[port].to].clone();
    let mut core = NetworkCore::new(scenario, seed, Mode::Sim, routers, setups, far, schedule)?;
    if let Some(cut) = Cut::of(scenario) {
        core.prepare_parts(cut.ends(scenario));
    }
    Ok(Network { core, sources, echoes, hops: at })
}

/// Moves the transit part of a network that can be cut, before its first event, to a network of its own. `hosts` is the
/// part with the hosts from then on.
pub(crate) fn build_transit<E: Entry>(
    scenario: &Scenario,
    hosts: &mut Network<E>,
) -> Result<Network<E>, Failure> {
    let whole = &hosts.core.runtime;
    let runtime = Schedule {
        events: Events::new(&Layout::new(0, 0, &[])),
        slots: Slots { sources: 0, hosts: 0, ..whole.slots },
        flows: whole.flows.clone(),
        hosts: TcpHosts::default(),
        quiet_until: Instant::ZERO,
        ahead_until: Instant::ZERO,
        delivered_until: Instant::ZERO,
    };
    let mut core = hosts.core.split_off(runtime)?;
    let slots = Slots { links: core.links.len(), ..core.runtime.slots };
    core.runtime.slots = slots;
    let mut flows = flows_by_port(scenario);
    flows.truncate(slots.links);
    core.runtime.events =
        Events::new(&Layout::new(slots.count(), slots.links + slots.routers, &flows).of_large());
    Ok(Network { core, sources: Vec::new(), echoes: Echoes::default(), hops: hosts.hops.clone() })
}

/// Returns the number of flows through each port.
fn flows_by_port(scenario: &Scenario) -> Vec<u32> {
    let mut flows = vec![0; scenario.ports.len()];
    for port in (0..scenario.flows.len()).flat_map(|flow| path(scenario, flow)) {
        flows[port] += 1;
    }
    flows
}

/// Returns the next hops at a node: its router's processor first, if `router` is given. `destinations` is
/// that of each flow.
fn hops(scenario: &Scenario, node: usize, router: Option<usize>, destinations: &Arc<[Destination]>) -> Hops {
    let next = |port| router.map_or(NextHop::Link(port), NextHop::Router);
    if let Some(uplink) = scenario.routes.uplink(node) {
        let destinations = destinations.clone();
        return Hops::Leaf { destinations, node: node as u32, next: next(uplink).into() };
    }
    let flows = scenario.flows.iter().zip(&**destinations);
    flows
        .map(|(flow, destination)| scenario.routes.next(node, flow.to).map_or(destination.hop(), next))
        .collect()
}
