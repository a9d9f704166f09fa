//! Echo of datagrams (RFC 862): a host returns each datagram at once, by the socket on which it arrived.
//!
//! ```text
//! request: stamp | ...     answer, as long: stamp of its own | time of the request | ...
//! ```
//!
//! The requester reads the time of its request from the answer, so that a round-trip time is of one clock,
//! from the sending of the request to the kernel's stamp of the answer, as in the simulation.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::net::UdpSocket;

use lockgate_engine::units::Instant;
use lockgate_measure::histogram::Histogram;
use lockgate_scenario::{Scenario, Transport};

use super::send::set_class;
use super::stamp::Stamp;
use crate::clock::MonotonicClock;

/// State of one flow of answers.
struct Side {
    /// Index of that flow.
    back: u32,
    to: SocketAddr,
    traffic_class: u8,
    /// Answers sent.
    sequence: u32,
}

/// Echo server of a host.
pub(crate) struct Answers {
    /// Flows of answers, by the index of their flow of requests.
    sides: BTreeMap<u32, Side>,
    /// DSCP and ECN that each socket currently sends with.
    classes: Vec<Option<u8>>,
    payload: Vec<u8>,
    /// Delay from a request's arrival to the sending of its answer, in ps.
    pub(crate) slip: Histogram,
    /// Answers that the kernel refused.
    pub(crate) errors: u64,
}

/// Returns the index of the flow of answers, if the datagrams of the flow at `index` are requests.
pub(crate) fn answers_of(scenario: &Scenario, index: usize) -> Option<usize> {
    scenario.flows.iter().position(|flow| flow.transport == Transport::UdpReturn { of: index })
}

impl Answers {
    /// Creates the echo server of the host at `node`, for `sockets` sockets.
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

    /// Answers a datagram of `length` bytes that arrived at `at` on `socket`, whose index is `index`, if it
    /// is a request.
    pub(crate) fn answer(
        &mut self,
        (index, socket): (usize, &UdpSocket),
        request: Stamp,
        length: usize,
        at: Instant,
        clock: &MonotonicClock,
    ) {
        let Some(side) = self.sides.get_mut(&request.flow) else { return };
        if self.classes[index] != Some(side.traffic_class) {
            let _ = set_class(socket, side.to.ip(), side.traffic_class);
            self.classes[index] = Some(side.traffic_class);
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
