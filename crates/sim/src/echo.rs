//! Echo of datagrams (RFC 862): a host returns each datagram at once.
//!
//! ```text
//! flow f  --request, sent at t-->  far end  --answer that carries t-->  round-trip time is now - t
//! ```

use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::units::Instant;
use lockgate_scenario::{Scenario, Transport};

use crate::events::Entry;
use crate::network::Network;
use crate::source::HostClock;

/// Role of a flow's datagrams at the receiving host.
#[derive(Clone, Copy)]
enum Role {
    /// No echo.
    Plain,
    /// Requests; holds the index of the flow of answers.
    Request(usize),
    /// Answers; holds the index of the flow of requests.
    Answer(usize),
}

/// Answering side of a flow.
struct Side {
    node: usize,
    clock: HostClock,
    traffic_class: u8,
    /// Number of answers sent.
    sequence: u32,
}

/// Echo flows of a scenario.
#[derive(Default)]
pub(crate) struct Echoes {
    /// Per flow; empty if no flow is an echo.
    roles: Vec<Role>,
    /// Per flow; `Some` for flows of answers.
    sides: Vec<Option<Side>>,
}

impl Echoes {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let mut echoes = Self::default();
        for (back, flow) in scenario.flows.iter().enumerate() {
            let Transport::UdpReturn { of } = flow.transport else { continue };
            if echoes.roles.is_empty() {
                echoes.roles = vec![Role::Plain; scenario.flows.len()];
                echoes.sides = scenario.flows.iter().map(|_| None).collect();
            }
            echoes.roles[of] = Role::Request(back);
            echoes.roles[back] = Role::Answer(of);
            let host = &scenario.nodes[flow.from];
            echoes.sides[back] = Some(Side {
                node: flow.from,
                clock: HostClock { offset_ps: host.clock_offset_ps, drift_ppb: host.clock_drift_ppb },
                traffic_class: flow.traffic_class,
                sequence: 0,
            });
        }
        echoes
    }

    /// True if no flow is an echo.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }
}

impl<E: Entry> Network<E> {
    /// Handles a datagram's arrival at its host, in a network with echo flows.
    #[inline(never)]
    pub(crate) fn echo(&mut self, packet: &Packet, now: Instant) {
        match self.echoes.roles[packet.flow.0 as usize] {
            Role::Plain => {}
            Role::Request(back) => {
                let Some(side) = &mut self.echoes.sides[back] else { return };
                let header = Header {
                    payload: packet.sent.as_picos(),
                    sent: now,
                    stamp: side.clock.read(now),
                    flow: FlowId(back as u32),
                    sequence: side.sequence,
                    length: packet.length,
                    traffic_class: side.traffic_class,
                    ..Header::default()
                };
                side.sequence = side.sequence.wrapping_add(1);
                let node = side.node;
                let answer = self.pool.take(header);
                self.recording.flows[back].on_sent(now, answer.bytes());
                self.forward_one_of_many(answer, node, now);
            }
            Role::Answer(of) => {
                let asked = Instant::from_picos(packet.payload);
                if let Some(requests) = &mut self.recording.flows[of].requests {
                    requests.on_answered(asked, now);
                }
            }
        }
    }
}
