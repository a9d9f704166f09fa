//! Parts of a network that are simulated side by side.
//!
//! ```text
//! hosts:    sources, ends of connections, the records of flows        transit: nodes that only forward
//!   link that leaves --departures-->                                    the same link: its packets in flight
//!                    <--departures, losses-- link that leaves
//! ```
//!
//! A link belongs to the part in which it starts: its port, its transmitter, its record. If it ends in the
//! other part, its packets in flight are there, in a link of the same index whose port stays empty. Both
//! parts are the network again when they are [rejoined](NetworkCore::rejoin).

use lockgate_engine::packet::{Packet, Pool};
use lockgate_engine::units::Instant;
use lockgate_measure::recording::{Loss, PortSetup, Recording, Setup};

use super::{NetworkCore, Runtime};
use crate::failure::Failure;
use crate::hops::Hop;
use crate::link::Link;

/// Part of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All nodes at which flows begin or end, and those not in the other part.
    Hosts,
    /// Nodes that only forward.
    Transit,
}

/// Packets that one part hands over to the other.
pub struct Handover {
    departures: Vec<Departure>,
    /// Earliest arrival of a departure; [`Instant::NEVER`] without departures.
    earliest: Instant,
    /// Packets lost in the transit part, to be recorded by the hosts' part.
    losses: Vec<(Packet, Loss)>,
}

impl Default for Handover {
    fn default() -> Self {
        Self { departures: Vec::new(), earliest: Instant::NEVER, losses: Vec::new() }
    }
}

impl Handover {
    /// Returns the earliest arrival of a packet in it; [`Instant::NEVER`] without one.
    pub fn first(&self) -> Instant {
        self.earliest
    }
}

/// A packet in flight on a link that ends in the other part.
struct Departure {
    link: u32,
    hop: Hop,
    arrival: Instant,
    packet: Packet,
}

/// The parts of a network, seen from the network or from one of them.
#[derive(Default)]
pub(super) struct Parts {
    /// By link: the parts in which it starts and ends. Empty if the network is not to be split.
    ends: Box<[[Part; 2]]>,
    /// The part that this is; `None` if it is the whole network.
    part: Option<Part>,
    handover: Handover,
}

impl Parts {
    /// Returns whether a link joins the parts.
    #[inline(always)]
    pub(super) fn joins(&self, link: usize) -> bool {
        self.ends.get(link).is_some_and(|[start, end]| start != end)
    }

    /// Returns whether packets that start on a link leave this part.
    #[inline(always)]
    pub(super) fn is_left_by(&self, link: usize) -> bool {
        self.part.is_some() && self.joins(link)
    }

    /// Returns whether a link belongs to this part.
    #[inline(always)]
    pub(super) fn holds(&self, link: usize) -> bool {
        self.part.is_none_or(|part| self.ends.get(link).is_none_or(|[start, _]| *start == part))
    }

    /// Hands over a packet that starts on a link to the other part.
    #[inline(always)]
    pub(super) fn depart(&mut self, link: usize, arrival: Instant, hop: Hop, packet: Packet) {
        self.handover.earliest = self.handover.earliest.min(arrival);
        self.handover.departures.push(Departure { link: link as u32, hop, arrival, packet });
    }

    /// Hands over a lost packet to the part with the records of flows; returns it if that is this part.
    pub(super) fn lose(&mut self, packet: Packet, why: Loss) -> Option<Packet> {
        if self.part != Some(Part::Transit) {
            return Some(packet);
        }
        self.handover.losses.push((packet, why));
        None
    }
}

impl<R: Runtime> NetworkCore<R> {
    /// Prepares the network for being [split](Self::split_off): `ends` gives the parts in which each link
    /// starts and ends. A prepared network counts its events as its parts do.
    pub fn prepare_parts(&mut self, ends: impl Iterator<Item = [Part; 2]>) {
        self.parts.ends = ends.collect();
    }

    /// Moves the transit part of a prepared network before its first event to a network of its own, which
    /// `runtime` plays. This network is the part with the hosts from then on. Both are advanced on their own
    /// for at most the smallest delay of the links that join them; then each accepts what the other [hands
    /// over](Self::hand_over).
    ///
    /// # Errors
    /// None, unless the default discipline cannot be built.
    pub fn split_off(&mut self, runtime: R) -> Result<Self, Failure> {
        let ends = self.parts.ends.clone();
        let is_moved = |link: usize| ends[link][0] == Part::Transit;
        // Links beyond the last one of that part are not needed there.
        let count =
            (0..ends.len()).rposition(|link| ends[link].contains(&Part::Transit)).map_or(0, |last| last + 1);
        let setup = Setup { ports: vec![PortSetup::default(); count], ..Setup::default() };
        let mut recording = Recording::new(setup);
        let records = core::mem::take(&mut recording.ports);
        let mut links = Vec::with_capacity(count);
        for (index, record) in records.into_iter().enumerate() {
            let mut link =
                Link::receiving(record).map_err(|why| Failure::build(&format!("link {index}"), &why))?;
            if is_moved(index) {
                core::mem::swap(&mut link, &mut self.links[index]);
            }
            links.push(link);
        }
        let parts = |part| Parts { ends: ends.clone(), part: Some(part), handover: Handover::default() };
        self.parts = parts(Part::Hosts);
        Ok(Self {
            links,
            routers: self.routers.iter().map(|(node, router)| (*node, router.renewed())).collect(),
            propagation: Vec::new(),
            pool: Pool::default(),
            observes: false,
            taps: Vec::new(),
            recording,
            at_once: 0,
            runtime,
            parts: parts(Part::Transit),
            seed: self.seed,
            changes: 0,
        })
    }

    /// Takes what this part hands over to the other.
    pub fn hand_over(&mut self) -> Handover {
        core::mem::take(&mut self.parts.handover)
    }

    /// Accepts what the other part handed over. The emptied memory is for what this part hands over next.
    pub fn accept(&mut self, mut handover: Handover) {
        for Departure { link, hop, arrival, packet } in handover.departures.drain(..) {
            let index = link as usize;
            let link = &mut self.links[index];
            let before = link.next();
            link.fly(arrival, hop, packet);
            if link.next() != before {
                let next = link.next();
                self.runtime.set_link(index, next);
            }
        }
        for (packet, why) in handover.losses.drain(..) {
            self.lose(packet, why);
        }
        handover.earliest = Instant::NEVER;
        let outgoing = &mut self.parts.handover;
        if outgoing.departures.is_empty() && outgoing.losses.is_empty() {
            *outgoing = handover;
        }
    }

    /// Makes the parts one network again, with nothing handed over and not accepted. It can be
    /// [closed](Self::close); its events are not set anew.
    pub fn rejoin(&mut self, mut transit: Self) {
        let ends = core::mem::take(&mut self.parts).ends;
        for (index, other) in transit.links.iter_mut().enumerate() {
            if ends[index][0] == Part::Transit {
                core::mem::swap(&mut self.links[index], other);
            }
            if ends[index][0] != ends[index][1] {
                self.links[index].take_flights_of(other);
            }
        }
        self.at_once += transit.at_once;
        for ((_, router), (_, other)) in self.routers.iter_mut().zip(transit.routers) {
            router.join(other);
        }
        self.parts.ends = ends;
    }
}
