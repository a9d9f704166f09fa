//! Packets on their way: from sources through routers, ports and links to hosts.

use lockgate_engine::classify::{Fields, Headers};
use lockgate_engine::packet::{Packet, Pool};
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::{Loss, PacketRow, Received, Recording};

use crate::events::Events;
use crate::link::Link;
use crate::router::Router;
use crate::source::Source;

/// In [`Network::next_hop`]: the packet has arrived.
pub(crate) const DELIVER: u32 = u32::MAX;

/// What every packet of a flow has in its headers.
pub(crate) struct FlowTable(pub(crate) Vec<Fields>);

impl Headers for FlowTable {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        self.0.get(packet.flow.0 as usize).copied()
    }
}

/// Which slot of the tournament belongs to whom, in the order in which ties are settled: the timeline
/// first, so that a change holds for what happens at its time; then links, routers and sources; the
/// sampling last, so that it sees all that happened.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    pub(crate) links: usize,
    pub(crate) routers: usize,
    pub(crate) sources: usize,
}

/// Whose turn it is.
pub(crate) enum Turn {
    Timeline,
    Link(usize),
    Router(usize),
    Source(usize),
    Sampling,
}

impl Slots {
    pub(crate) const TIMELINE: usize = 0;

    pub(crate) fn link(link: usize) -> usize {
        1 + link
    }

    pub(crate) fn router(self, router: usize) -> usize {
        1 + self.links + router
    }

    pub(crate) fn source(self, source: usize) -> usize {
        1 + self.links + self.routers + source
    }

    pub(crate) fn sampling(self) -> usize {
        1 + self.links + self.routers + self.sources
    }

    #[inline(always)]
    pub(crate) fn turn(self, slot: usize) -> Turn {
        if slot == Self::TIMELINE {
            return Turn::Timeline;
        }
        let index = slot - 1;
        if index < self.links {
            return Turn::Link(index);
        }
        let index = index - self.links;
        if index < self.routers {
            return Turn::Router(index);
        }
        let index = index - self.routers;
        if index < self.sources { Turn::Source(index) } else { Turn::Sampling }
    }
}

/// All that moves.
pub(crate) struct Network {
    pub(crate) links: Vec<Link>,
    /// One a node that has a service time, with the node's place.
    pub(crate) routers: Vec<(usize, Router)>,
    pub(crate) sources: Vec<Source>,
    pub(crate) flows: FlowTable,
    /// `next_hop[node * flows + flow]`: the link a packet of the flow leaves that node by, or [`DELIVER`].
    pub(crate) next_hop: Vec<u32>,
    /// `router_of[node]`: its place in `routers`.
    pub(crate) router_of: Vec<Option<usize>>,
    /// Propagation over each flow's whole path.
    pub(crate) propagation: Vec<Duration>,
    pub(crate) slots: Slots,
    pub(crate) events: Events,
    pub(crate) pool: Pool,
    pub(crate) recording: Recording,
}

impl Network {
    /// A link's event: a packet arrives at its far end, or its port is to be polled, or both.
    #[inline]
    pub(crate) fn link_turn(&mut self, index: usize, now: Instant) {
        let link = &mut self.links[index];
        let arrived = link.arrive(now);
        if link.is_due(now) {
            let started = link.serve(now, &self.flows, &mut self.recording.ports[index]);
            self.note(index, started, now);
        }
        let link = &self.links[index];
        let node = link.to;
        self.events.set(Slots::link(index), link.next());
        if let Some(packet) = arrived {
            self.arrive(packet, node, now);
        }
    }

    /// A router's event: a packet has been served.
    pub(crate) fn router_turn(&mut self, index: usize, now: Instant) {
        let (node, router) = &mut self.routers[index];
        let (node, served) = (*node, router.serve(now));
        self.events.set(self.slots.router(index), router.next());
        if let Some(packet) = served {
            self.forward(packet, node, now);
        }
    }

    /// A source's event: it sends a packet.
    #[inline]
    pub(crate) fn source_turn(&mut self, index: usize, now: Instant) {
        let source = &mut self.sources[index];
        let header = source.send(now);
        let node = source.node;
        self.events.set(self.slots.source(index), source.next());
        let packet = self.pool.take(header);
        self.recording.flows[packet.flow.0 as usize].on_sent(now, packet.bytes());
        self.forward(packet, node, now);
    }

    /// A packet arrives at a node.
    #[inline]
    fn arrive(&mut self, mut packet: Packet, node: usize, now: Instant) {
        packet.hops = packet.hops.saturating_add(1);
        if let Some(index) = self.router_of[node]
            && self.hop(&packet, node) != DELIVER
        {
            let (_, router) = &mut self.routers[index];
            let refused = router.offer(packet, now);
            self.events.set(self.slots.router(index), router.next());
            if let Some(packet) = refused {
                self.lose(packet, Loss::Router);
            }
            return;
        }
        self.forward(packet, node, now);
    }

    #[inline(always)]
    fn hop(&self, packet: &Packet, node: usize) -> u32 {
        self.next_hop[node * self.flows.0.len() + packet.flow.0 as usize]
    }

    #[inline]
    fn forward(&mut self, packet: Packet, node: usize, now: Instant) {
        match self.hop(&packet, node) {
            DELIVER => self.deliver(packet, now),
            link => self.offer(packet, link as usize, now),
        }
    }

    #[inline]
    fn offer(&mut self, packet: Packet, index: usize, now: Instant) {
        let link = &mut self.links[index];
        let before = link.next();
        if link.is_due(now) {
            let started = link.serve(now, &self.flows, &mut self.recording.ports[index]);
            self.note(index, started, now);
        }
        let link = &mut self.links[index];
        let started = link.offer(packet, now, &self.flows, &mut self.recording.ports[index]);
        self.note(index, started, now);
        let after = self.links[index].next();
        if after != before {
            self.events.set(Slots::link(index), after);
        }
    }

    /// Puts on record what is not: drops, what the link lost, and the row of a packet it has started.
    #[inline(always)]
    fn note(&mut self, index: usize, started: bool, now: Instant) {
        let link = &self.links[index];
        if link.port.has_drops() || !link.lost.is_empty() || self.recording.packets.is_some() {
            self.note_more(index, started, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_more(&mut self, index: usize, started: bool, now: Instant) {
        self.collect_drops(index, now);
        let lost = self.links[index].lost.pop();
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

    #[cold]
    #[inline(never)]
    /// Puts the port's drops on record. Returns how many there were.
    pub(crate) fn collect_drops(&mut self, index: usize, now: Instant) -> u64 {
        let mut dropped = 0;
        for (packet, reason) in self.links[index].port.take_drops() {
            let why = Loss::Queue(reason);
            self.recording.flows[packet.flow.0 as usize].on_lost(packet.sent, packet.bytes(), why);
            self.recording.ports[index].on_drop(packet.node, reason, now);
            if let Some(rows) = &mut self.recording.packets {
                rows.push(&row(&packet, index, None, Some(why)));
            }
            self.pool.recycle(packet);
            dropped += 1;
        }
        dropped
    }

    #[cold]
    fn lose(&mut self, packet: Packet, why: Loss) {
        self.recording.flows[packet.flow.0 as usize].on_lost(packet.sent, packet.bytes(), why);
        self.pool.recycle(packet);
    }

    #[inline]
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
        self.pool.recycle(packet);
    }

    /// Takes every packet out of the network, for the last account.
    pub(crate) fn drain(&mut self) {
        let mut left = Vec::new();
        for (_, router) in &mut self.routers {
            router.flush(&mut left);
        }
        for link in &mut self.links {
            link.flush(&mut left);
        }
        for packet in left {
            self.recording.flows[packet.flow.0 as usize].on_inside(packet.sent, packet.bytes());
        }
    }
}

/// What is kept of a packet that left or was lost at a port.
fn row(packet: &Packet, port: usize, departed: Option<Instant>, drop: Option<Loss>) -> PacketRow {
    PacketRow {
        flow: packet.flow,
        sequence: packet.sequence,
        port: port as u32,
        place: packet.node,
        length: packet.length,
        arrived: packet.arrived,
        departed,
        drop,
    }
}
