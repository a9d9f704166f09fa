//! Outside hosts: the ends of flows whose packets a program outside the run sends and receives.
//!
//! ```text
//! program --send--> [ slab: data ] --slot in Header::payload--> network --> [ arrivals ] --receive--> program
//!                     '-- a packet that is lost, or received, frees its slot
//! ```
//!
//! An outside host acts where the host or the source acts whose place it takes: at one instant after links
//! and routers, in the order of the flows (`network.rs`). It answers an arrival at once,
//! before any other event, if the program sends at the instant of the arrival that it has just received. So a
//! program that does what a simulated host does sends the same packets at the same times, and the run has the
//! same events in the same order.

use std::collections::VecDeque;

use lockgate_engine::classify::{Acknowledgement, Fields};
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::SegmentFields;
use lockgate_network::{Failure, HostClock};
use lockgate_scenario::{Scenario, Transport};

use crate::slots::Slots;

/// TCP fields of a packet of a program outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideSegment {
    /// Flags as in the TCP header.
    pub flags: u8,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement, for filters of acknowledgements; `None` if it carries none.
    pub acknowledgement: Option<Acknowledgement>,
}

/// A packet that a program outside sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// Frame length in bytes.
    pub length: u32,
    /// DSCP (upper six bits) and ECN (lower two).
    pub traffic_class: u8,
    /// Header fields, for classification; `None`: those of the flow.
    pub fields: Option<Fields>,
    /// TCP fields; `None` if it is no TCP segment.
    pub segment: Option<OutsideSegment>,
    /// Number of the program's own, which the network does not read.
    pub tag: u64,
    /// Contents, which the network does not read.
    pub data: Vec<u8>,
}

/// A packet that arrived at a program outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Index of its flow in the scenario.
    pub flow: usize,
    /// Time of the arrival of its last bit.
    pub at: Instant,
    /// Time at which it was sent.
    pub sent: Instant,
    /// Time spent waiting in queues.
    pub waited: Duration,
    /// Number within the flow, from 0.
    pub sequence: u32,
    /// Frame length in bytes.
    pub length: u32,
    /// DSCP and ECN as they arrived.
    pub traffic_class: u8,
    /// Number given with it.
    pub tag: u64,
    /// Contents.
    pub data: Vec<u8>,
}

/// Error of a call by a program outside.
#[derive(Debug, thiserror::Error)]
pub enum OutsideCallError {
    /// The flow is not one of a program outside.
    #[error("flow {0} is not one of a program outside")]
    NoFlow(usize),
    /// The time is before the time reached.
    #[error("the time {0:?} is in the past: the run has reached {1:?}")]
    Backwards(Instant, Instant),
    /// The run has ended.
    #[error("the run has ended at {0:?}")]
    Ended(Instant),
    /// The run failed, which is a fault of Lockgate.
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// A flow of a program outside.
pub(crate) struct OutsideHost {
    node: usize,
    clock: HostClock,
    /// Slot before which all events of its instant happen.
    pub(crate) rank: usize,
    /// Flow by which its receiver answers.
    pub(crate) partner: Option<usize>,
    /// Number of packets sent.
    sequence: u32,
}

/// Contents of a packet in the network, or of an arrival.
#[derive(Default)]
struct Carried {
    tag: u64,
    data: Vec<u8>,
}

/// Header fields given with a packet.
#[derive(Clone, Copy, Default)]
struct Given {
    fields: Option<Fields>,
    acknowledgement: Option<Acknowledgement>,
}

/// Hosts outside, with the contents of their packets.
#[derive(Default)]
pub(crate) struct Outside {
    /// By flow; empty if the scenario has no outside flow.
    pub(crate) hosts: Vec<Option<OutsideHost>>,
    slab: Vec<Carried>,
    /// By slot, up to the highest one of a packet with any: most programs give none, and copy none.
    given: Vec<Given>,
    free: Vec<u32>,
    /// Packets that the program has not received, with the times of their arrivals.
    arrivals: VecDeque<(Instant, Packet)>,
    /// Slot of the latest packet that was lost.
    pub(crate) lost: Option<u64>,
    /// Flow of the host whose turn it is, and the instant: what it sends then enters the network at once.
    pub(crate) turn: Option<(usize, Instant)>,
}

impl Outside {
    /// Returns the hosts of the outside flows of `scenario`.
    pub(crate) fn of(scenario: &Scenario, slots: Slots) -> Self {
        let is_outside = |transport: &Transport| matches!(transport, Transport::Outside { .. });
        if !scenario.flows.iter().any(|flow| is_outside(&flow.transport)) {
            return Self::default();
        }
        let mut outside = Self { hosts: scenario.flows.iter().map(|_| None).collect(), ..Self::default() };
        let (mut sources, mut connections) = (0, 0);
        for (index, flow) in scenario.flows.iter().enumerate() {
            match flow.transport {
                Transport::Udp => sources += 1,
                Transport::TcpReturn { .. } => connections += 1,
                Transport::Outside { of, is_connection } => {
                    // Both ends of a connection act where its reverse direction stands.
                    let rank =
                        if is_connection { slots.host(2 * connections) } else { slots.source(sources) };
                    let host = |flow: &lockgate_scenario::Flow| OutsideHost {
                        node: flow.from,
                        clock: HostClock::of(&scenario.nodes[flow.from]),
                        rank,
                        partner: of,
                        sequence: 0,
                    };
                    outside.hosts[index] = Some(host(flow));
                    if let Some(forth) = of.and_then(|of| outside.hosts[of].as_mut()) {
                        forth.partner = Some(index);
                        forth.rank = if is_connection { rank } else { forth.rank };
                    }
                }
                Transport::Tcp(_) | Transport::UdpReturn { .. } => {}
            }
        }
        outside
    }

    /// True if the scenario has no outside flow.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    pub(crate) fn host(&self, flow: usize) -> Option<&OutsideHost> {
        self.hosts.get(flow)?.as_ref()
    }

    /// True if the packet is one of a program outside.
    pub(crate) fn has(&self, packet: &Packet) -> bool {
        self.host(packet.flow.0 as usize).is_some()
    }

    fn given(&self, packet: &Packet) -> Option<&Given> {
        self.host(packet.flow.0 as usize)?;
        self.given.get(packet.payload as usize)
    }

    /// Returns the header fields given with a packet, if any.
    pub(crate) fn fields(&self, packet: &Packet) -> Option<Fields> {
        self.given(packet)?.fields
    }

    /// Returns the acknowledgement given with a packet, if any.
    pub(crate) fn acknowledgement(&self, packet: &Packet) -> Option<Acknowledgement> {
        self.given(packet)?.acknowledgement
    }

    /// Returns the fields of a packet's TCP segment, for its row.
    #[cold]
    pub(crate) fn segment(&self, packet: &Packet) -> Option<SegmentFields> {
        let acknowledgement = self.acknowledgement(packet)?.number;
        Some(SegmentFields { acknowledgement, window: u32::MAX, ..SegmentFields::default() })
    }

    /// Keeps a copy of a packet's contents. Returns its slot.
    #[cold]
    pub(crate) fn copy_payload(&mut self, packet: &Packet) -> Option<u64> {
        self.host(packet.flow.0 as usize)?;
        let Carried { tag, data } = self.slab.get(packet.payload as usize)?;
        let copy = Carried { tag: *tag, data: data.clone() };
        let given = self.given(packet).copied().unwrap_or_default();
        Some(self.keep(copy, given))
    }

    /// Frees the contents of a lost packet.
    pub(crate) fn release(&mut self, packet: &Packet) {
        self.lost = Some(packet.payload);
        self.take(packet.payload);
    }

    #[inline]
    fn take(&mut self, slot: u64) -> Carried {
        let Some(carried) = self.slab.get_mut(slot as usize) else { return Carried::default() };
        self.free.push(slot as u32);
        core::mem::take(carried)
    }

    #[inline]
    fn keep(&mut self, carried: Carried, given: Given) -> u64 {
        let slot = if let Some(slot) = self.free.pop() {
            self.slab[slot as usize] = carried;
            slot as usize
        } else {
            self.slab.push(carried);
            self.slab.len() - 1
        };
        if let Some(place) = self.given.get_mut(slot) {
            *place = given;
        } else if given.fields.is_some() || given.acknowledgement.is_some() {
            self.given.resize(slot, Given::default());
            self.given.push(given);
        }
        slot as u64
    }

    /// Keeps an arrival for the program.
    #[inline]
    pub(crate) fn arrive(&mut self, packet: Packet, now: Instant) {
        self.arrivals.push_back((now, packet));
    }

    /// Returns the time of the first arrival that the program has not received.
    #[inline(always)]
    pub(crate) fn first_arrival(&self) -> Option<Instant> {
        self.arrivals.front().map(|(at, _)| *at)
    }

    /// Removes the first arrival. Returns it with its packet, whose contents it has.
    #[inline]
    pub(crate) fn receive(&mut self) -> Option<(Incoming, Packet)> {
        let (at, packet) = self.arrivals.pop_front()?;
        let Carried { tag, data } = self.take(packet.payload);
        let incoming = Incoming {
            flow: packet.flow.0 as usize,
            at,
            sent: packet.sent,
            waited: packet.waited,
            sequence: packet.sequence,
            length: packet.length,
            traffic_class: packet.traffic_class,
            tag,
            data,
        };
        Some((incoming, packet))
    }

    /// Returns the header of a packet that flow `flow` sends now, and its node.
    #[inline]
    pub(crate) fn header(
        &mut self,
        flow: usize,
        outgoing: Outgoing,
        now: Instant,
    ) -> Option<(Header, usize)> {
        let Outgoing { length, traffic_class, fields, segment, tag, data } = outgoing;
        let acknowledgement = segment.and_then(|segment| segment.acknowledgement);
        let payload = self.keep(Carried { tag, data }, Given { fields, acknowledgement });
        let host = self.hosts.get_mut(flow)?.as_mut()?;
        let sequence = host.sequence;
        host.sequence = sequence.wrapping_add(1);
        let header = Header {
            payload,
            sent: now,
            stamp: host.clock.read(now),
            flow: FlowId(flow as u32),
            sequence,
            tcp_sequence: segment.map_or(0, |segment| segment.sequence),
            tcp_flags: segment.map_or(0, |segment| segment.flags),
            length,
            traffic_class,
            ..Header::default()
        };
        Some((header, host.node))
    }

    /// Returns the number of packets whose contents it holds: in the network, or not yet received.
    pub(crate) fn packets(&self) -> usize {
        self.slab.len() - self.free.len()
    }

    /// True if the network holds no packet of a program.
    pub(crate) fn is_clear(&self) -> bool {
        self.packets() == self.arrivals.len()
    }
}
