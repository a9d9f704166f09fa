//! CAKE: its shaper, tins, flows and hosts.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

use lockgate_engine::classify::{Fields, Headers};
use lockgate_engine::discipline::DropReason;
use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_engine::random::Random;
use lockgate_engine::units::{Duration, Instant, PICOS_PER_SECOND, Rate};
use serde_json::{Value, json};

use crate::aqm::{gauge, port};
use crate::common::kind;
use crate::common::link::{Link, Sent};
use crate::{between, random};

mod queues;
mod shaper;
mod sharing;

/// So fast that packets leave when they are released.
pub(super) const WIRE: Rate = Rate::from_bits(u64::MAX);
/// Bit-picoseconds of a byte.
pub(super) const BYTE: u128 = 8 * PICOS_PER_SECOND as u128;

pub(super) fn packet(flow: u32, length: u64, dscp: u8) -> Header {
    Header { flow: FlowId(flow), length: length as u32, traffic_class: dscp << 2, ..Header::default() }
}

pub(super) fn link(config: &Value, rate: Rate) -> Link {
    Link::new(port("cake", config), rate)
}

/// Flows between hosts: `(source, destination)` of each flow, by its number. Ports tell flows apart.
pub(super) struct Hosts(pub(super) Vec<(u8, u8)>);

impl Headers for Hosts {
    fn fields(&self, packet: &Packet) -> Option<Fields> {
        let (source, destination) = self.0[packet.flow.0 as usize];
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

pub(super) fn reconfigure(link: &mut Link, now: Instant, config: &Value) {
    let headers = &*link.headers;
    let result =
        link.port.with_node("cake", now, headers, &mut |node, cx| kind::reconfigure(node, config, &[], cx));
    result.expect("there is one").expect("valid");
}

/// Serves a backlog that is always there: every flow gets a packet for each that it sends, until `packets` are sent.
pub(super) fn saturate(
    link: &mut Link,
    flows: u32,
    packets: usize,
    length: &mut dyn FnMut(u32) -> u64,
    dscp: impl Fn(u32) -> u8,
) {
    let mut seen = link.sent.len();
    let until = seen + packets;
    for flow in (0..flows).chain(0..flows).chain(0..flows) {
        let now = link.sent.last().map_or(Instant::ZERO, |sent| sent.at);
        link.offer(packet(flow, length(flow), dscp(flow)), now);
    }
    while seen < until {
        let at = link.next_event().expect("backlogged");
        link.step(at);
        while seen < link.sent.len() {
            let flow = link.sent[seen].packet.flow.0;
            seen += 1;
            link.offer(packet(flow, length(flow), dscp(flow)), at);
        }
    }
}

/// The largest spread of `value` along what was sent, each packet changing it.
pub(super) fn spread(sent: &[Sent], mut change: impl FnMut(&Packet) -> f64) -> f64 {
    let (mut value, mut low, mut high) = (0.0_f64, 0.0_f64, 0.0_f64);
    for sent in sent {
        value += change(&sent.packet);
        (low, high) = (low.min(value), high.max(value));
    }
    high - low
}

/// Shares of the link by some key of flows, in a long run.
pub(super) fn shares(sent: &[Sent], key: impl Fn(u32) -> u32) -> BTreeMap<u32, f64> {
    let mut shares = BTreeMap::new();
    let all: f64 = sent.iter().map(|sent| f64::from(sent.packet.length)).sum();
    for sent in sent {
        *shares.entry(key(sent.packet.flow.0)).or_insert(0.0) += f64::from(sent.packet.length) / all;
    }
    shares
}
