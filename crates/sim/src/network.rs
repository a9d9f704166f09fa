//! Network of a simulation: packets from sources through routers, ports and links to hosts.

use lockgate_engine::classify::{Fields, Headers};
use lockgate_engine::packet::{Packet, Pool};
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::{Loss, PacketRow, Received, Recording};
use lockgate_scenario::Scenario;

use crate::echo::Echoes;
use crate::events::{Entry, Events};
use crate::hops::{Hop, Hops, Way};
use crate::hosts::Hosts;
use crate::link::Link;
use crate::router::Router;
use crate::source::Source;

/// Header fields of each flow's packets.
pub(crate) struct FlowTable(pub(crate) Vec<Fields>);

impl Headers for FlowTable {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        self.0.get(packet.flow.0 as usize).copied()
    }
}

/// Layout of the event queue's slots, in the order in which ties are settled: links, routers, sources, hosts.
/// Timeline and sampling have no slot: they are rare, and [`run`](crate::run) tests for them by one
/// comparison an event.
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
            sources: scenario.flows.len(),
            hosts: Hosts::count(scenario),
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

/// State of a simulated network.
pub(crate) struct Network<E: Entry> {
    pub(crate) links: Vec<Link>,
    /// Routers of the nodes with a service time, with the node's index.
    pub(crate) routers: Vec<(usize, Router)>,
    pub(crate) sources: Vec<Source>,
    pub(crate) hosts: Hosts,
    pub(crate) echoes: Echoes,
    pub(crate) flows: FlowTable,
    /// Next hops at each node, after its router, if any.
    pub(crate) hops: Vec<Hops>,
    /// Propagation delay of each flow's whole path.
    pub(crate) propagation: Vec<Duration>,
    pub(crate) slots: Slots,
    pub(crate) events: Events<E>,
    pub(crate) pool: Pool,
    /// Observed data. Records of ports are with the links until the run closes.
    pub(crate) recording: Recording,
    pub(crate) keeps_rows: bool,
    /// Time before which only events in `events` happen: an arrival that would be the first can be handled at
    /// once. Zero if rows of packets are kept, which are written while the packet is on a link.
    pub(crate) quiet_until: Instant,
    /// Number of arrivals handled at once.
    pub(crate) at_once: u64,
}

/// A packet that arrives at the far end of a link now.
pub(crate) struct Arrival {
    packet: Packet,
    hop: Hop,
    now: Instant,
}

impl<E: Entry> Network<E> {
    /// Handles a link's event: a packet arrives at its far end, or its port must be polled, or both.
    #[inline(always)]
    pub(crate) fn link_turn(&mut self, index: usize, now: Instant) -> Option<Arrival> {
        let link = &mut self.links[index];
        let hop = link.next_hop();
        let arrived = link.arrive(now);
        let mut started = false;
        if link.is_due(now) {
            started = link.serve(now, &self.flows);
        }
        let (next, has_news) = (link.next(), link.has_news());
        self.events.set(Slots::link(index), next);
        if has_news | self.keeps_rows {
            self.note(index, started, now);
        }
        arrived.map(|packet| Arrival { packet, hop, now })
    }

    /// Handles a router's event: a packet has been served.
    #[inline(never)]
    pub(crate) fn router_turn(&mut self, index: usize, now: Instant) -> Option<Arrival> {
        let (node, router) = &mut self.routers[index];
        let (node, served) = (*node, router.serve(now));
        self.events.set(self.slots.router(index), router.next());
        self.forward(served?, node, now)
    }

    /// Handles a source's event: it sends a packet.
    #[inline(always)]
    pub(crate) fn source_turn(&mut self, index: usize, now: Instant) -> Option<Arrival> {
        let source = &mut self.sources[index];
        let packet = self.pool.take(source.send(now));
        let (node, flow) = (source.node, source.flow);
        self.events.set(self.slots.source(index), source.next());
        self.recording.flows[flow.0 as usize].on_sent(now, packet.bytes());
        self.forward(packet, node, now)
    }

    /// Handles an arrival at the far end of a link. Returns the packet's next arrival, if no event precedes
    /// it.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, arrival: Arrival) -> Option<Arrival> {
        let Arrival { mut packet, hop, now } = arrival;
        if hop == Hop::HOME {
            self.deliver(packet, now);
            return None;
        }
        let hops = packet.hops.wrapping_add(1);
        if hops > 0 {
            packet.hops = hops;
        }
        self.go(packet, hop, now)
    }

    #[inline(always)]
    fn go(&mut self, packet: Packet, hop: Hop, now: Instant) -> Option<Arrival> {
        match hop.way() {
            Way::Link(index) => return self.offer(packet, index, now),
            Way::Home => self.deliver(packet, now),
            Way::Router(index) => self.serve(packet, index, now),
        }
        None
    }

    /// Offers a packet to a router with a service time.
    #[inline(never)]
    fn serve(&mut self, packet: Packet, index: usize, now: Instant) {
        let (_, router) = &mut self.routers[index];
        let refused = router.offer(packet, now);
        self.events.set(self.slots.router(index), router.next());
        if let Some(packet) = refused {
            self.lose(packet, Loss::Router);
        }
    }

    #[inline(always)]
    fn forward(&mut self, packet: Packet, node: usize, now: Instant) -> Option<Arrival> {
        let hop = self.hops[node].of(packet.flow);
        self.go(packet, hop, now)
    }

    /// Sends a packet from `node`, without handling its arrival at once, because other packets may follow at
    /// the same instant.
    pub(crate) fn forward_one_of_many(&mut self, packet: Packet, node: usize, now: Instant) {
        let quiet_until = core::mem::replace(&mut self.quiet_until, Instant::ZERO);
        let arrival = self.forward(packet, node, now);
        debug_assert!(arrival.is_none(), "no arrival is before the start of time");
        self.quiet_until = quiet_until;
    }

    /// Offers a packet to a port. Returns its arrival at the far end of the link, if no event precedes it.
    #[inline(always)]
    fn offer(&mut self, packet: Packet, index: usize, now: Instant) -> Option<Arrival> {
        let link = &mut self.links[index];
        if link.is_busy(now) {
            let earlier = link.wait(packet, now, &self.flows);
            let (next, has_drops) = (link.next(), link.port.has_drops());
            if earlier {
                self.events.set(Slots::link(index), next);
            }
            if has_drops {
                self.collect_drops(index, now);
            }
            return None;
        }
        if link.is_due(now) {
            self.offer_late(packet, index, now);
            return None;
        }
        let before = link.next();
        let (started, flying) = link.offer_idle(packet, now, &self.flows);
        if let Some((arrival, packet)) = flying {
            let slot = Slots::link(index);
            if before == Instant::NEVER
                && !link.is_waiting()
                && arrival < self.quiet_until
                && self.events.would_be_first(slot, arrival)
                && !link.has_news()
            {
                self.at_once += 1;
                let hop = link.far.of(packet.flow);
                return Some(Arrival { packet, hop, now: arrival });
            }
            link.fly(arrival, packet);
        }
        self.on_changed(index, before, started, now);
        None
    }

    /// Updates the slot of a link whose next event was at `before`.
    #[inline(always)]
    fn on_changed(&mut self, index: usize, before: Instant, started: bool, now: Instant) {
        let link = &self.links[index];
        let (after, has_news) = (link.next(), link.has_news());
        if after != before {
            self.events.set(Slots::link(index), after);
        }
        if has_news | self.keeps_rows {
            self.note(index, started, now);
        }
    }

    /// Offers a packet to a port with a poll due at the same instant: the poll comes first.
    #[inline(never)]
    fn offer_late(&mut self, packet: Packet, index: usize, now: Instant) {
        let link = &mut self.links[index];
        let started = link.serve(now, &self.flows);
        if link.has_news() | self.keeps_rows {
            self.note(index, started, now);
        }
        let link = &mut self.links[index];
        let started = link.offer(packet, now, &self.flows);
        let (next, has_news) = (link.next(), link.has_news());
        self.events.set(Slots::link(index), next);
        if has_news | self.keeps_rows {
            self.note(index, started, now);
        }
    }

    /// Records the link's drops, a lost packet, and the row of a packet whose transmission started.
    #[cold]
    #[inline(never)]
    fn note(&mut self, index: usize, started: bool, now: Instant) {
        self.collect_drops(index, now);
        let lost = self.links[index].lost.take();
        if let Some(rows) = &mut self.recording.packets
            && started
            && let Some(packet) = lost.as_ref().or_else(|| self.links[index].newest())
        {
            rows.push(&row(packet, index, Some(now), lost.as_ref().map(|_| Loss::Link)));
        }
        if let Some(packet) = lost {
            self.lose(packet, Loss::Link);
        }
    }

    /// Records the port's drops. Returns their number.
    #[cold]
    #[inline(never)]
    pub(crate) fn collect_drops(&mut self, index: usize, now: Instant) -> u64 {
        let mut dropped = 0;
        let link = &mut self.links[index];
        for (packet, reason) in link.port.take_drops() {
            let why = Loss::Queue(reason);
            self.recording.flows[packet.flow.0 as usize].on_lost(packet.sent, packet.bytes(), why);
            link.record.on_drop(packet.node, reason, now);
            if let Some(rows) = &mut self.recording.packets {
                rows.push(&row(&packet, index, None, Some(why)));
            }
            self.hosts.forget(&packet);
            self.pool.recycle(packet);
            dropped += 1;
        }
        dropped
    }

    #[cold]
    fn lose(&mut self, packet: Packet, why: Loss) {
        self.recording.flows[packet.flow.0 as usize].on_lost(packet.sent, packet.bytes(), why);
        self.hosts.forget(&packet);
        self.pool.recycle(packet);
    }

    #[inline(always)]
    fn deliver(&mut self, packet: Packet, now: Instant) {
        let flow = packet.flow.0 as usize;
        self.recording.flows[flow].on_received(&Received {
            now,
            sent: packet.sent,
            waited: packet.waited,
            propagation: self.propagation[flow],
            bytes: packet.bytes(),
            sequence: packet.sequence,
        });
        if packet.tcp_flags != 0 {
            self.host_arrival(packet, now);
            return;
        }
        if !self.echoes.is_empty() {
            self.echo(&packet, now);
        }
        self.pool.recycle(packet);
    }

    /// Removes every packet from the network, for the final account. A packet that waits in a port leaves a
    /// row.
    pub(crate) fn drain(&mut self) {
        let mut left = Vec::new();
        for (_, router) in &mut self.routers {
            router.flush(&mut left);
        }
        for (index, link) in self.links.iter_mut().enumerate() {
            let mut waiting = Vec::new();
            link.flush(&mut waiting, &mut left);
            if let Some(rows) = &mut self.recording.packets {
                for packet in &waiting {
                    rows.push(&row(packet, index, None, None));
                }
            }
            left.append(&mut waiting);
        }
        for packet in left {
            self.recording.flows[packet.flow.0 as usize].on_inside(packet.sent, packet.bytes());
            self.hosts.forget(&packet);
        }
    }
}

/// Creates the row of a packet that left, was lost or waits at a port.
fn row(packet: &Packet, port: usize, departed: Option<Instant>, drop: Option<Loss>) -> PacketRow {
    PacketRow {
        flow: packet.flow,
        sequence: packet.sequence,
        port: port as u32,
        place: packet.node,
        length: packet.length,
        tcp: (packet.tcp_flags, packet.tcp_sequence),
        arrived: packet.arrived,
        departed,
        drop,
    }
}
