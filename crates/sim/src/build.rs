//! The network of a scenario, as it is before the first event.

use std::sync::Arc;

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_measure::recording::Mode;
use lockgate_network::{Failure, Hops, NetworkCore, NextHop, build_routers, build_sources, flow_setups};
use lockgate_scenario::model::{Scenario, Transport};

use crate::cut::Cut;
use crate::echoes::Echoes;
use crate::events::Events;
use crate::network::{FlowTable, Network, Schedule};
use crate::outside::Outside;
use crate::slots::Slots;
use crate::tcp_hosts::TcpHosts;

pub(crate) fn build(scenario: &Scenario, seed: Seed) -> Result<Network, Failure> {
    let (routers, router_of) = build_routers(scenario);
    // Flows over TCP and answers are sent by hosts: their sources would only take memory.
    let mut sources = build_sources(scenario, seed)?;
    sources.retain(|source| scenario.flows[source.flow.0 as usize].transport == Transport::Udp);
    sources.shrink_to_fit();
    let slots = Slots::of(scenario);
    let mut events = Events::new(slots.count(), scenario.end());
    for (index, source) in sources.iter().enumerate() {
        events.set(slots.source(index), source.next());
    }
    let mut hosts = TcpHosts::build(scenario, seed)?;
    for (host, time) in hosts.pending() {
        events.set(slots.host(host), time);
    }
    let outside = Outside::of(scenario, slots);
    let schedule = Schedule {
        events,
        slots,
        flows: FlowTable::of(scenario),
        hosts,
        outside,
        quiet_until: Instant::ZERO,
    };
    let setups = |propagation: &[_]| flow_setups(scenario, propagation);
    let destinations: Arc<[u32]> = scenario.flows.iter().map(|flow| flow.to as u32).collect();
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
    Ok(Network { core, sources, echoes: Echoes::of(scenario), hops: at })
}

/// Moves the transit part of a network that can be cut, before its first event, to a network of its own.
/// `hosts` is the part with the hosts from then on.
pub(crate) fn build_transit(scenario: &Scenario, hosts: &mut Network) -> Result<Network, Failure> {
    let whole = &hosts.core.runtime;
    let runtime = Schedule {
        events: Events::new(0, Instant::ZERO),
        slots: Slots { sources: 0, hosts: 0, ..whole.slots },
        flows: whole.flows.clone(),
        hosts: TcpHosts::default(),
        outside: Outside::default(),
        quiet_until: Instant::ZERO,
    };
    let mut core = hosts.core.split_off(runtime)?;
    let slots = Slots { links: core.links.len(), ..core.runtime.slots };
    core.runtime.slots = slots;
    core.runtime.events = Events::new(slots.count(), scenario.end());
    Ok(Network { core, sources: Vec::new(), echoes: Echoes::default(), hops: hosts.hops.clone() })
}

/// Returns the next hops at a node: its router's processor first, if `router` is given. `destinations` is
/// that of each flow.
fn hops(scenario: &Scenario, node: usize, router: Option<usize>, destinations: &Arc<[u32]>) -> Hops {
    let next = |port| router.map_or(NextHop::Link(port), NextHop::Router);
    if let Some(uplink) = scenario.routes.uplink(node) {
        let destinations = destinations.clone();
        return Hops::Leaf { destinations, node: node as u32, next: next(uplink).into() };
    }
    scenario
        .flows
        .iter()
        .map(|flow| scenario.routes.next(node, flow.to).map_or(NextHop::Home, next))
        .collect()
}
