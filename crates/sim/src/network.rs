//! Network of a simulation: the network core played by an event queue, with the hosts around it.

use std::sync::Arc;

use lockgate_engine::classify::{Acknowledgement, Fields, Headers};
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::units::{Bytes, Instant};
use lockgate_measure::recording::{Recording, SegmentFields};
use lockgate_network::{
    Arrival, Failure, Hop, Hops, NetworkCore, NextHop, Passage, Renewal, Runtime, Source,
};
use lockgate_scenario::Scenario;
use lockgate_scenario::change::Prepared;

use crate::echoes::Echoes;
use crate::events::Events;
use crate::outside::Outside;
use crate::slots::{Slots, Turn};
use crate::tcp_hosts::{TcpArrival, TcpHosts};

/// Header fields of each flow's packets.
#[derive(Clone)]
pub(crate) struct FlowTable {
    fields: Arc<[Fields]>,
    /// Marks of a firewall; empty if no flow has one.
    marks: Arc<[u32]>,
}

impl FlowTable {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let has_marks = scenario.flows.iter().any(|flow| flow.mark != 0);
        let marked = if has_marks { &scenario.flows[..] } else { &[] };
        Self {
            fields: scenario.flows.iter().map(|flow| flow.fields).collect(),
            marks: marked.iter().map(|flow| flow.mark).collect(),
        }
    }
}

/// Runtime of a simulated network: the event queue, and the data of the packets.
pub(crate) struct Schedule {
    pub(crate) events: Events,
    pub(crate) slots: Slots,
    pub(crate) flows: FlowTable,
    /// Ends of TCP connections, which hold the segments of the packets.
    pub(crate) hosts: TcpHosts,
    /// Hosts of a program outside, which hold the contents of their packets.
    pub(crate) outside: Outside,
    /// Time before which only events in `events` happen: an arrival that would be the first can be handled at
    /// once. Zero if rows of packets are kept, which are written while the packet is on a link.
    pub(crate) quiet_until: Instant,
}

impl Headers for Schedule {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        if !self.outside.is_empty()
            && let Some(fields) = self.outside.fields(packet)
        {
            return Some(fields);
        }
        self.flows.fields.get(packet.flow.0 as usize).copied()
    }

    fn acknowledgement(&self, packet: &Packet) -> Option<Acknowledgement> {
        if self.is_outside(packet) {
            return self.outside.acknowledgement(packet);
        }
        self.hosts.acknowledgement(packet)
    }

    fn mark(&self, packet: &Packet) -> u32 {
        self.flows.marks.get(packet.flow.0 as usize).copied().unwrap_or(0)
    }
}

impl Schedule {
    /// True if the packet is one of a program outside.
    #[inline(always)]
    fn is_outside(&self, packet: &Packet) -> bool {
        !self.outside.is_empty() && self.outside.has(packet)
    }
}

impl Runtime for Schedule {
    type Headers = Self;

    #[inline(always)]
    fn headers(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn set_link(&mut self, link: usize, at: Instant) {
        self.events.set(Slots::link(link), at);
    }

    #[inline(always)]
    fn set_router(&mut self, router: usize, at: Instant) {
        self.events.set(self.slots.router(router), at);
    }

    #[inline(always)]
    fn is_first(&self, link: usize, arrival: Instant) -> bool {
        arrival < self.quiet_until && self.events.would_be_first(Slots::link(link), arrival)
    }

    #[inline(always)]
    fn record_of(&self, flow: FlowId) -> usize {
        flow.0 as usize
    }

    fn segment(&self, packet: &Packet) -> Option<SegmentFields> {
        if self.is_outside(packet) {
            return self.outside.segment(packet);
        }
        self.hosts.segment_fields(packet)
    }

    fn passage(&self, packet: &Packet) -> Option<Passage> {
        // Segments of a program outside are not read: its transport may be any.
        if self.is_outside(packet) {
            return None;
        }
        self.hosts.passage(packet)
    }

    fn copy_payload(&mut self, packet: &Packet) -> Option<u64> {
        if self.is_outside(packet) {
            return self.outside.copy_payload(packet);
        }
        if packet.tcp_flags != 0 { self.hosts.copy_payload(packet) } else { Some(packet.payload) }
    }

    #[inline(always)]
    fn release(&mut self, packet: &Packet) {
        if self.is_outside(packet) {
            self.outside.release(packet);
            return;
        }
        self.hosts.forget(packet);
    }
}

/// State of a simulated network.
pub(crate) struct Network {
    pub(crate) core: NetworkCore<Schedule>,
    /// Sources of the flows of datagrams, in the order of their flows.
    pub(crate) sources: Vec<Source>,
    pub(crate) echoes: Echoes,
    /// Next hops at each node, after its router, if any.
    pub(crate) hops: Vec<Hops>,
}

impl Network {
    /// Returns the time of the next event and its slot.
    #[inline(always)]
    pub(crate) fn first(&self) -> (Instant, usize) {
        self.core.runtime.events.first()
    }

    /// Allows arrivals before `until` to be handled at once: only events of the network happen before it.
    pub(crate) fn allow_until(&mut self, until: Instant) {
        self.core.runtime.quiet_until = if self.core.observes() { Instant::ZERO } else { until };
    }

    /// Handles the event of a slot, and the arrivals that follow from it with no event before them.
    #[inline(always)]
    pub(crate) fn turn(&mut self, slot: usize, now: Instant) {
        let mut arrival = match self.core.runtime.slots.turn(slot) {
            Turn::Link(link) => self.core.link_turn(link, now),
            Turn::Source(source) => self.source_turn(source, now),
            Turn::Router(router) => self.router_turn(router, now),
            Turn::Host(host) => {
                self.host_turn(host, now);
                None
            }
        };
        while let Some(arrived) = arrival {
            arrival = self.arrive(arrived);
        }
    }

    /// Handles a router's event: a packet has been served.
    #[inline(never)]
    fn router_turn(&mut self, index: usize, now: Instant) -> Option<Arrival> {
        let (packet, node) = self.core.router_turn(index, now)?;
        self.forward(packet, node, now)
    }

    /// Handles a source's event: it sends a packet.
    #[inline(always)]
    fn source_turn(&mut self, index: usize, now: Instant) -> Option<Arrival> {
        let source = &mut self.sources[index];
        let packet = self.core.pool.take(source.send(now));
        let (node, flow) = (source.node, source.flow);
        let slot = self.core.runtime.slots.source(index);
        self.core.runtime.events.set(slot, source.next());
        self.core.recording.flow(flow).on_sent(now, packet.bytes());
        self.forward(packet, node, now)
    }

    /// Handles an end's timer.
    fn host_turn(&mut self, end: usize, now: Instant) {
        self.core.runtime.hosts.on_timer(end, now);
        self.send_from(end, now);
        self.after_sending(end, false, now);
    }

    /// Handles an arrival at the far end of a link. Returns the packet's next arrival, if no event precedes
    /// it.
    #[inline(always)]
    fn arrive(&mut self, arrival: Arrival) -> Option<Arrival> {
        let Arrival { mut packet, hop, now } = arrival;
        if hop.has_arrived() {
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
        match hop.next() {
            NextHop::Link(index) => return self.core.offer(packet, index, now),
            NextHop::Home => self.deliver(packet, now),
            NextHop::Router(index) => self.core.offer_to_router(packet, index, now),
        }
        None
    }

    #[inline(always)]
    fn forward(&mut self, packet: Packet, node: usize, now: Instant) -> Option<Arrival> {
        let hop = self.hops[node].of(packet.flow);
        self.go(packet, hop, now)
    }

    /// Sends a packet from `node`, without handling its arrival at once, because other packets may follow at
    /// the same instant.
    fn forward_one_of_many(&mut self, packet: Packet, node: usize, now: Instant) {
        let quiet_until = core::mem::replace(&mut self.core.runtime.quiet_until, Instant::ZERO);
        let arrival = self.forward(packet, node, now);
        debug_assert!(arrival.is_none(), "no arrival is before the start of time");
        self.core.runtime.quiet_until = quiet_until;
    }

    #[inline(always)]
    fn deliver(&mut self, packet: Packet, now: Instant) {
        self.core.record_delivery(&packet, now);
        if packet.tcp_flags != 0 {
            self.host_arrival(packet, now);
            return;
        }
        if !(self.echoes.is_empty() & self.core.runtime.outside.is_empty()) {
            self.datagram_arrival(packet, now);
            return;
        }
        self.core.pool.recycle(packet);
    }

    /// Handles a datagram's arrival at its host, in a network with echo flows or with hosts outside.
    #[inline(never)]
    fn datagram_arrival(&mut self, packet: Packet, now: Instant) {
        if self.core.runtime.is_outside(&packet) {
            self.core.runtime.outside.arrive(packet, now);
            return;
        }
        if !self.echoes.is_empty() {
            self.echo(&packet, now);
        }
        self.core.pool.recycle(packet);
    }

    /// Sends a packet of a host outside.
    pub(crate) fn send_outside(&mut self, header: Header, node: usize, now: Instant) {
        let packet = self.core.pool.take(header);
        self.core.recording.flow(packet.flow).on_sent(now, packet.bytes());
        self.forward_one_of_many(packet, node, now);
    }

    /// Handles a datagram's arrival at its host, in a network with echo flows.
    #[inline(never)]
    fn echo(&mut self, packet: &Packet, now: Instant) {
        let flows = &mut self.core.recording.flows;
        let Some((header, node)) = self.echoes.on_datagram(packet, now, flows) else { return };
        let answer = self.core.pool.take(header);
        self.core.recording.flow(answer.flow).on_sent(now, answer.bytes());
        self.forward_one_of_many(answer, node, now);
    }

    /// Handles a TCP packet's arrival at its host.
    fn host_arrival(&mut self, packet: Packet, now: Instant) {
        if self.core.runtime.is_outside(&packet) {
            self.core.runtime.outside.arrive(packet, now);
            return;
        }
        let flow = packet.flow;
        let (payload, marked) = (packet.payload, packet.is_marked());
        self.core.pool.recycle(packet);
        let arrival = self.core.runtime.hosts.on_packet(flow.0 as usize, payload, marked, now);
        let Some(TcpArrival { end, arrived, completed, ended }) = arrival else { return };
        let record = self.core.recording.flow(flow);
        if arrived > 0 {
            record.on_payload(now, Bytes(arrived));
        }
        if let Some(after) = completed {
            record.on_complete(after);
        }
        self.send_from(end, now);
        self.after_sending(end, ended, now);
    }

    /// Records the requests of an end, or passes events and orders between the linked ends of its host;
    /// `ended` if the peer's data are complete.
    #[inline(always)]
    fn after_sending(&mut self, end: usize, ended: bool, now: Instant) {
        let hosts = &mut self.core.runtime.hosts;
        if hosts.sends_requests(end) {
            hosts.record_requests(end, &mut self.core.recording.flows, now);
        } else if hosts.is_linked(end) {
            self.exchange(end, ended, now);
        }
    }

    /// Passes events and orders between the linked ends of a host.
    #[cold]
    fn exchange(&mut self, end: usize, ended: bool, now: Instant) {
        if let Some(led) = self.core.runtime.hosts.execute_order(end, now) {
            self.send_from(led, now);
        }
        let events = self.core.runtime.hosts.events_for_leader(end, ended);
        let Some((leader, events)) = events else { return };
        for what in events.into_iter().flatten() {
            self.core.runtime.hosts.on_led(leader, what, now);
            self.send_from(leader, now);
            self.exchange(leader, false, now);
        }
    }

    /// Sends all that an end can send now, and sets its slot.
    fn send_from(&mut self, end: usize, now: Instant) {
        while let Some((header, node)) = self.core.runtime.hosts.next_packet(end, now) {
            let packet = self.core.pool.take(header);
            self.core.recording.flow(packet.flow).on_sent(now, packet.bytes());
            self.forward_one_of_many(packet, node, now);
        }
        let Schedule { hosts, events, slots, .. } = &mut self.core.runtime;
        if let Some(next) = hosts.rearm(end, now) {
            events.set(slots.host(end), next);
        }
    }

    /// Records a sample of everything that has changed.
    pub(crate) fn sample(&mut self, now: Instant) {
        self.sample_hosts(now, false);
        self.core.sample_changed(now);
    }

    /// Takes the last samples at the `end` of the run, counts the packets inside, and checks that every
    /// packet is accounted for.
    pub(crate) fn close(mut self, end: Instant) -> Result<Recording, Failure> {
        self.sample_hosts(end, true);
        self.core.close(end, Vec::new())?;
        debug_assert!(self.core.runtime.hosts.is_clear(), "a packet has gone without its segment");
        debug_assert!(self.core.runtime.outside.is_clear(), "a packet has gone without its contents");
        let mut recording = self.core.recording;
        recording.finish();
        recording.balance()?;
        Ok(recording)
    }

    /// Applies a change of the timeline now.
    ///
    /// # Errors
    /// If a discipline or traffic refuses.
    pub(crate) fn apply(
        &mut self,
        scenario: &Scenario,
        change: &mut Prepared,
        now: Instant,
    ) -> Result<(), Failure> {
        for Renewal { flow, arrivals, at, stop } in self.core.apply(scenario, change, now)? {
            if let Some(end) = self.core.runtime.hosts.stop(flow, stop) {
                self.send_from(end, now);
                continue;
            }
            let Ok(index) = self.sources.binary_search_by_key(&flow, |source| source.flow.0 as usize) else {
                continue;
            };
            let source = &mut self.sources[index];
            source.renew(arrivals, at, stop);
            let slot = self.core.runtime.slots.source(index);
            self.core.runtime.events.set(slot, source.next());
        }
        Ok(())
    }

    /// Records the current state of the senders that have changed, or of `all`. Must precede the sampling of
    /// the core at this instant.
    fn sample_hosts(&mut self, now: Instant, all: bool) {
        let (flows, earlier) = self.core.recording.flows_and_samplings();
        self.core.runtime.hosts.sample(flows, earlier, now, all);
    }
}
