//! Network core: the links and routers between the hosts, and the account of the packets inside.
//!
//! ```text
//! run -- offer --> Port -> link -> arrival --> run decides the next hop: offer, offer_to_router, or its host
//!                   '-- drops, losses --> Recording
//! ```
//!
//! A simulation and a live run play the same core at different clocks. What differs is behind [`Runtime`]:
//! where the next events are kept, how packets are classified, and what a packet's payload refers to.

mod account;
mod changes;
mod parts;
mod taps;

use lockgate_engine::classify::Headers;
use lockgate_engine::packet::{FlowId, Packet, Pool};
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_measure::recording::{FlowSetup, Loss, Mode, Received, Recording, SegmentFields};
use lockgate_scenario::model::{Scenario, Transport};

use crate::build::build_link;
use crate::failure::Failure;
use crate::files::record_files;
use crate::hops::{Hop, Hops, NextHop};
use crate::link::Link;
use crate::paths::propagation;
use crate::router::Router;
use crate::run_setup::run_setup;

pub use changes::Renewal;
use parts::Parts;
pub use parts::{Handover, Part};
pub use taps::{Passage, Tap};

/// The run that plays a network core: its event schedule, and the data of its packets.
pub trait Runtime {
    /// Source of the packets' header fields, for classification.
    type Headers: Headers;

    /// Returns the source of the packets' header fields.
    fn headers(&self) -> &Self::Headers;

    /// Sets the time of a link's next event.
    fn set_link(&mut self, link: usize, at: Instant);

    /// Sets the time of a router's next event.
    fn set_router(&mut self, router: usize, at: Instant);

    /// True if a packet that enters the idle link `link` may be passed on at once, before its arrival at
    /// `arrival` is an event: no other event precedes it.
    fn is_first(&self, link: usize, arrival: Instant) -> bool;

    /// Returns the index of a flow's record.
    fn record_of(&self, flow: FlowId) -> usize;

    /// Returns the fields of the TCP segment of a packet, for its row; `None` if it has none.
    fn segment(&self, packet: &Packet) -> Option<SegmentFields>;

    /// Returns what a router reads of a packet's TCP segment; `None` if it has none.
    fn passage(&self, _: &Packet) -> Option<Passage> {
        None
    }

    /// Returns the reference of a copy of a packet's payload, for a link that delivers a packet twice; `None`
    /// if there can be no copy.
    fn copy_payload(&mut self, _: &Packet) -> Option<u64> {
        None
    }

    /// Frees the data that a packet's payload refers to. The packet has left the network.
    fn release(&mut self, packet: &Packet);
}

/// Links and routers of a network, with the recording of a run.
pub struct NetworkCore<R: Runtime> {
    /// Links, in the order of the scenario's ports.
    pub links: Vec<Link>,
    /// Routers of the nodes with a service time, with the node's index.
    pub routers: Vec<(usize, Router)>,
    /// Propagation delay of each flow's whole path.
    pub propagation: Vec<Duration>,
    /// Headers of packets that have left.
    pub pool: Pool,
    /// Observed data. Records of ports are with the links until [`close`](Self::close).
    pub recording: Recording,
    /// Number of arrivals without an event of their own: passed on at once ([`Runtime::is_first`]), or in the
    /// event of a poll of the same link, if that joins the [parts](Self::prepare_parts) of the network.
    pub at_once: u64,
    /// The run that plays it.
    pub runtime: R,
    /// True if the start of each transmission is observed: rows are kept, or there are taps.
    observes: bool,
    taps: Vec<Tap>,
    parts: Parts,
    seed: Seed,
    /// Number of changes so far.
    changes: usize,
}

/// A packet that arrives at the far end of a link.
pub struct Arrival {
    /// The packet.
    pub packet: Packet,
    /// Its next hop at the far end.
    pub hop: Hop,
    /// Time of the arrival.
    pub now: Instant,
}

/// Returns the recording of a run of `scenario` before its first event, with the flows of `setups`.
fn empty_recording(
    scenario: &Scenario,
    seed: Seed,
    mode: Mode,
    setups: Vec<FlowSetup>,
) -> Result<Recording, Failure> {
    let mut recording = Recording::new(run_setup(scenario, mode, seed, setups));
    record_files(scenario, seed, &mut recording)?;
    for (flow, record) in scenario.flows.iter().zip(&mut recording.flows) {
        if matches!(flow.transport, Transport::Tcp(_) | Transport::TcpReturn { .. }) {
            // Goodput counts data, not frames less their headers.
            record.on_payload(Instant::ZERO, Bytes::ZERO);
        }
    }
    Ok(recording)
}

impl<R: Runtime> NetworkCore<R> {
    /// Builds the links of `scenario` around its `routers`. `setups` gives the recorded flows by the
    /// propagation delays of the scenario's; `far` gives the next hops at the far end of each port's link.
    ///
    /// # Errors
    /// If a port or a file's law cannot be built. Reading the scenario normally finds this first.
    pub fn new(
        scenario: &Scenario,
        seed: Seed,
        mode: Mode,
        routers: Vec<(usize, Router)>,
        setups: impl FnOnce(&[Duration]) -> Vec<FlowSetup>,
        far: impl Fn(usize) -> Hops,
        runtime: R,
    ) -> Result<Self, Failure> {
        let propagation = propagation(scenario, |port| {
            let port = &scenario.ports[port];
            scenario.links[port.link].delay(port.direction)
        });
        let mut recording = empty_recording(scenario, seed, mode, setups(&propagation))?;
        let records = core::mem::take(&mut recording.ports);
        // Collected as results, they would be moved from vector to vector while their number grows.
        let mut links = Vec::with_capacity(records.len());
        for (index, (port, record)) in scenario.ports.iter().zip(records).enumerate() {
            links.push(build_link(scenario, port, far(index), record, seed)?);
        }
        Ok(Self {
            links,
            routers,
            propagation,
            pool: Pool::default(),
            observes: recording.packets.is_some(),
            taps: Vec::new(),
            recording,
            at_once: 0,
            runtime,
            parts: Parts::default(),
            seed,
            changes: 0,
        })
    }

    /// True if the start of each transmission is observed: no arrival is handled ahead of its event.
    pub fn observes(&self) -> bool {
        self.observes
    }

    /// Handles a link's event: a packet arrives at its far end, or its port must be polled, or both.
    #[inline(always)]
    pub fn link_turn(&mut self, index: usize, now: Instant) -> Option<Arrival> {
        let link = &mut self.links[index];
        let hop = link.next_hop();
        let arrived = link.arrive(now);
        let ahead = link.hop_ahead();
        let (mut started, mut unrecorded) = (false, false);
        // Nothing is dropped or lost without a poll: the account is in cache lines that an arrival does not
        // need.
        if link.is_due(now) {
            let flying;
            (started, flying) = link.serve(now, self.runtime.headers());
            unrecorded = link.has_unrecorded();
            // In two parts of the network these are two events.
            self.at_once += u64::from(arrived.is_some() && self.parts.joins(index));
            if let Some((arrival, packet)) = flying {
                let hop = link.far.of(packet.flow);
                Self::fly(&mut self.parts, (index, link), arrival, hop, packet);
            }
        }
        debug_assert!(unrecorded || !link.has_unrecorded(), "drops are recorded when they occur");
        let next = link.next();
        self.runtime.set_link(index, next);
        if unrecorded | self.observes {
            self.record_link(index, started, now);
        }
        if let Some(NextHop::Link(next)) = ahead.map(Hop::next) {
            self.links[next].prefetch();
        }
        arrived.map(|packet| Arrival { packet, hop, now })
    }

    /// Handles a router's event: a packet has been served. Returns it with the index of the router's node.
    #[inline(always)]
    pub fn router_turn(&mut self, index: usize, now: Instant) -> Option<(Packet, usize)> {
        let (node, router) = &mut self.routers[index];
        let (node, served) = (*node, router.serve(now));
        self.runtime.set_router(index, router.next());
        served.map(|packet| (packet, node))
    }

    /// Offers a packet to a router with a service time.
    #[inline(never)]
    pub fn offer_to_router(&mut self, packet: Packet, index: usize, now: Instant) {
        let (_, router) = &mut self.routers[index];
        let refused = router.offer(packet, now);
        self.runtime.set_router(index, router.next());
        if let Some(packet) = refused {
            self.lose(packet, Loss::Router);
        }
    }

    /// Offers a packet to a port. Returns its arrival at the far end of the link, if no event precedes it.
    #[inline(always)]
    pub fn offer(&mut self, packet: Packet, index: usize, now: Instant) -> Option<Arrival> {
        let link = &mut self.links[index];
        if link.is_busy(now) {
            let earlier = link.wait(packet, now, self.runtime.headers());
            let (next, has_drops) = (link.next(), link.port.has_drops());
            if earlier {
                self.runtime.set_link(index, next);
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
        let (started, flying) = link.offer_idle(packet, now, self.runtime.headers());
        if let Some((arrival, packet)) = flying {
            let hop = link.far.of(packet.flow);
            if before == Instant::NEVER
                && !link.is_waiting()
                && self.runtime.is_first(index, arrival)
                && !link.has_unrecorded()
            {
                self.at_once += 1;
                return Some(Arrival { packet, hop, now: arrival });
            }
            Self::fly(&mut self.parts, (index, link), arrival, hop, packet);
        }
        self.on_changed(index, before, started, now);
        None
    }

    /// Puts a started packet in flight to `hop` on a link, given with its index, or hands it over if the link
    /// ends in another part of the network.
    #[inline(always)]
    fn fly(parts: &mut Parts, (index, link): (usize, &mut Link), arrival: Instant, hop: Hop, packet: Packet) {
        if parts.is_left_by(index) {
            parts.depart(index, arrival, hop, packet);
        } else {
            link.fly(arrival, hop, packet);
        }
    }

    /// Records a packet's arrival at its host.
    #[inline(always)]
    pub fn record_delivery(&mut self, packet: &Packet, now: Instant) {
        let flow = packet.flow;
        let record = self.runtime.record_of(flow);
        self.recording.flow(FlowId(record as u32)).on_received(&Received {
            now,
            sent: packet.sent,
            waited: packet.waited,
            propagation: self.propagation[flow.0 as usize],
            bytes: packet.bytes(),
            sequence: packet.sequence,
        });
    }

    /// Sets the time of a link whose next event was at `before`.
    #[inline(always)]
    fn on_changed(&mut self, index: usize, before: Instant, started: bool, now: Instant) {
        let link = &self.links[index];
        let (after, unrecorded) = (link.next(), link.has_unrecorded());
        if after != before {
            self.runtime.set_link(index, after);
        }
        if unrecorded | self.observes {
            self.record_link(index, started, now);
        }
    }

    /// Offers a packet to a port with a poll due at the same instant: the poll comes first.
    #[inline(never)]
    fn offer_late(&mut self, packet: Packet, index: usize, now: Instant) {
        let link = &mut self.links[index];
        let (started, flying) = link.serve(now, self.runtime.headers());
        let unrecorded = link.has_unrecorded();
        self.fly_if_started(index, flying);
        if unrecorded | self.observes {
            self.record_link(index, started, now);
        }
        let link = &mut self.links[index];
        let (started, flying) = if link.is_busy(now) {
            let _ = link.wait(packet, now, self.runtime.headers());
            (false, None)
        } else {
            link.offer_idle(packet, now, self.runtime.headers())
        };
        let unrecorded = link.has_unrecorded();
        self.fly_if_started(index, flying);
        self.runtime.set_link(index, self.links[index].next());
        if unrecorded | self.observes {
            self.record_link(index, started, now);
        }
    }

    /// Puts a started packet, if any, in flight.
    fn fly_if_started(&mut self, index: usize, started: Option<(Instant, Packet)>) {
        let Some((arrival, packet)) = started else { return };
        let link = &mut self.links[index];
        let hop = link.far.of(packet.flow);
        Self::fly(&mut self.parts, (index, link), arrival, hop, packet);
    }
}
