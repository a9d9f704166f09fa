//! Fixture of the oracles on `cake`: permanently backlogged flows between hosts.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

use lockgate_engine::classify::{Fields, Headers};
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::units::{Instant, Rate};
use serde_json::Value;

use crate::link::{Link, Sent};
use crate::managed::port;

/// Infinite rate: packets leave when they are released.
pub const WIRE: Rate = Rate::from_bits(u64::MAX);

/// Creates the header of a packet of this flow and code point.
pub fn packet(flow: u32, length: u64, dscp: u8) -> Header {
    Header { flow: FlowId(flow), length: length as u32, traffic_class: dscp << 2, ..Header::default() }
}

/// Creates a `cake` with these parameters before a link of this rate.
pub fn cake(config: &Value, rate: Rate) -> Link {
    Link::new(port("cake", config), rate)
}

/// Flows between hosts: source and destination of each, by index. Flows have different ports.
#[derive(Clone, Debug)]
pub struct Hosts(pub Vec<(u8, u8)>);

impl Headers for Hosts {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        let (source, destination) = *self.0.get(packet.flow.0 as usize)?;
        Some(Fields {
            protocol: 17,
            source: IpAddr::V4(Ipv4Addr::new(10, 0, 0, source)),
            destination: IpAddr::V4(Ipv4Addr::new(10, 0, 1, destination)),
            source_port: packet.flow.0 as u16,
            destination_port: 9,
            flow_label: 0,
        })
    }
}

/// Serves a permanent backlog until `packets` are sent: every packet sent is replaced by the next of its
/// flow, from `draw`.
pub fn saturate(link: &mut Link, flows: u32, packets: usize, draw: &mut dyn FnMut(u32) -> Header) {
    let mut seen = link.sent.len();
    let until = seen + packets;
    for flow in (0..flows).chain(0..flows).chain(0..flows) {
        let now = link.sent.last().map_or(Instant::ZERO, |sent| sent.at);
        link.offer(draw(flow), now);
    }
    while seen < until {
        let Some(at) = link.advance() else { break };
        while seen < link.sent.len() {
            let flow = link.sent[seen].packet.flow.0;
            seen += 1;
            link.offer(draw(flow), at);
        }
    }
}

/// Returns the largest change, over any interval, of the sum of `change` over the packets sent.
pub fn widest(sent: &[Sent], mut change: impl FnMut(&Packet) -> i128) -> i128 {
    let (mut value, mut low, mut high) = (0_i128, 0, 0);
    for sent in sent {
        value += change(&sent.packet);
        (low, high) = (low.min(value), high.max(value));
    }
    high - low
}

/// Returns the largest `S_first - S_second` over any interval, in magnitude, for bytes summed by a key of
/// flows.
pub fn apart(sent: &[Sent], first: u32, second: u32, key: impl Fn(u32) -> u32) -> i128 {
    widest(sent, |packet| match key(packet.flow.0) {
        which if which == first => i128::from(packet.length),
        which if which == second => -i128::from(packet.length),
        _ => 0,
    })
}

/// Returns the fractions of all bytes, by a key of flows.
pub fn shares(sent: &[Sent], key: impl Fn(u32) -> u32) -> BTreeMap<u32, f64> {
    let mut bytes = BTreeMap::<u32, u64>::new();
    for sent in sent {
        *bytes.entry(key(sent.packet.flow.0)).or_default() += u64::from(sent.packet.length);
    }
    let all = bytes.values().sum::<u64>() as f64;
    bytes.into_iter().map(|(key, bytes)| (key, bytes as f64 / all)).collect()
}
