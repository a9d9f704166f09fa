//! Slots of the event queue.

use lockgate_scenario::{Scenario, Transport};

use crate::tcp_hosts::TcpHosts;

/// Layout of the event queue's slots, in the order in which ties are settled: links, routers, sources, hosts.
/// Timeline and sampling have no slot: they are rare, and [`simulation`](crate::simulation) tests for them by
/// one comparison an event.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    pub(crate) links: usize,
    pub(crate) routers: usize,
    pub(crate) sources: usize,
    /// Ends of TCP connections.
    pub(crate) hosts: usize,
}

/// Owner of an event.
pub(crate) enum Turn {
    Link(usize),
    Router(usize),
    Source(usize),
    Host(usize),
}

impl Slots {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        Self {
            links: scenario.ports.len(),
            routers: scenario.nodes.iter().filter(|node| node.service.is_some()).count(),
            sources: scenario.flows.iter().filter(|flow| flow.transport == Transport::Udp).count(),
            hosts: TcpHosts::count(scenario),
        }
    }

    pub(crate) fn link(link: usize) -> usize {
        link
    }

    pub(crate) fn router(self, router: usize) -> usize {
        self.links + router
    }

    pub(crate) fn source(self, source: usize) -> usize {
        self.links + self.routers + source
    }

    pub(crate) fn host(self, host: usize) -> usize {
        self.links + self.routers + self.sources + host
    }

    pub(crate) fn count(self) -> usize {
        self.links + self.routers + self.sources + self.hosts
    }

    #[inline(always)]
    pub(crate) fn turn(self, slot: usize) -> Turn {
        if slot < self.links {
            return Turn::Link(slot);
        }
        let index = slot - self.links;
        if index < self.routers {
            return Turn::Router(index);
        }
        let index = index - self.routers;
        if index < self.sources { Turn::Source(index) } else { Turn::Host(index - self.sources) }
    }
}
