//! Echo of datagrams (RFC 862): a host returns each datagram at once.
//!
//! ```text
//! flow f  --request, sent at t-->  far end  --answer that carries t-->  round-trip time is now - t
//! ```

use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::units::Instant;
use lockgate_measure::recording::FlowRecord;
use lockgate_network::HostClock;
use lockgate_scenario::{Scenario, Transport};

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
    /// Returns the echo flows of `scenario`.
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
            echoes.sides[back] = Some(Side {
                node: flow.from,
                clock: HostClock::of(&scenario.nodes[flow.from]),
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

    /// Handles a datagram's arrival at its host, in a network with echo flows: records the round trip of an
    /// answer in `flows`; returns the header of the answer to a request, and the index of its node.
    #[inline(never)]
    pub(crate) fn on_datagram(
        &mut self,
        packet: &Packet,
        now: Instant,
        flows: &mut [FlowRecord],
    ) -> Option<(Header, usize)> {
        match self.roles[packet.flow.0 as usize] {
            Role::Plain => None,
            Role::Request(back) => {
                let side = self.sides[back].as_mut()?;
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
                Some((header, side.node))
            }
            Role::Answer(of) => {
                let asked = Instant::from_picos(packet.payload);
                flows[of].on_answered(asked, now);
                None
            }
        }
    }
}
