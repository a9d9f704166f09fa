//! Echo of datagrams (RFC 862): a host sends back each as it comes, by the socket it came to.
//!
//! ```text
//! request: stamp | ...        answer: stamp of its own | when the request was sent | ...        as long as the request
//! ```
//!
//! Who asked reads off the answer when it had asked, so the round-trip time is one clock's, from the sending of the
//! request to the kernel's stamp of the answer, as in the simulation.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::net::UdpSocket;

use lockgate_engine::clock::Clock;
use lockgate_engine::units::Instant;
use lockgate_measure::histogram::Histogram;
use lockgate_scenario::{Scenario, Transport};

use super::send::set_class;
use super::stamp::Stamp;
use crate::clock::Monotonic;

/// The answers of one flow.
struct Side {
    /// The place of their flow.
    back: u32,
    to: SocketAddr,
    traffic_class: u8,
    /// Answers sent.
    sequence: u32,
}

/// What a host answers.
pub(crate) struct Answers {
    /// By the place of the flow of the requests.
    sides: BTreeMap<u32, Side>,
    /// The class that each socket sends with now.
    classes: Vec<Option<u8>>,
    payload: Vec<u8>,
    /// From a request's arrival to the sending of its answer, in ps.
    pub(crate) slip: Histogram,
    /// Answers that the kernel refused.
    pub(crate) errors: u64,
}

/// Whether the datagrams of the flow at `place` are requests: the place of the answers.
pub(crate) fn answers_of(scenario: &Scenario, place: usize) -> Option<usize> {
    scenario.flows.iter().position(|flow| flow.transport == Transport::UdpReturn { of: place })
}

impl Answers {
    /// What the host at `node` answers, by `sockets` sockets.
    pub(crate) fn of(scenario: &Scenario, node: usize, sockets: usize) -> Self {
        let mut sides = BTreeMap::new();
        for (back, flow) in scenario.flows.iter().enumerate() {
            if let Transport::UdpReturn { of } = flow.transport
                && flow.from == node
            {
                let side = Side {
                    back: back as u32,
                    to: SocketAddr::new(flow.fields.destination, flow.fields.destination_port),
                    traffic_class: flow.traffic_class,
                    sequence: 0,
                };
                sides.insert(of as u32, side);
            }
        }
        Self {
            sides,
            classes: vec![None; sockets],
            payload: vec![0; usize::from(u16::MAX)],
            slip: Histogram::default(),
            errors: 0,
        }
    }

    /// Answers a datagram of `length` bytes that `socket`, the one at `place`, got at `at`, where it is a request.
    pub(crate) fn answer(
        &mut self,
        (place, socket): (usize, &UdpSocket),
        request: Stamp,
        length: usize,
        at: Instant,
        clock: &Monotonic,
    ) {
        let Some(side) = self.sides.get_mut(&request.flow) else { return };
        if self.classes[place] != Some(side.traffic_class) {
            let _ = set_class(socket, side.to.ip(), side.traffic_class);
            self.classes[place] = Some(side.traffic_class);
        }
        let length = length.clamp(Stamp::WITH_ASKED, self.payload.len());
        let now = clock.now();
        let stamp = Stamp { flow: side.back, sequence: side.sequence, sent: now };
        stamp.write_answer(request.sent, &mut self.payload);
        side.sequence = side.sequence.wrapping_add(1);
        self.slip.record(now.since(at).as_picos());
        if socket.send_to(&self.payload[..length], side.to).is_err() {
            self.errors += 1;
        }
    }
}
