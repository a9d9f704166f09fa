//! One hop of a packet (forward, router service, port, delivery), and the packets that routers originate.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lockgate_engine::packet::{FlowId, Header, Packet};
use lockgate_measure::recording::Loss;

use super::{Entered, Leaving, MOST_ANSWERS, Network};
use crate::frame::answer::{Why, echo, error};
use crate::frame::timestamp::{Timestamp, Wrong};
use crate::frame::{ParsedFrame, set_traffic_class, take_hop};
use crate::frames::FrameMetadata;

/// Default gateway of every host.
pub const GATEWAY_4: Ipv4Addr = Ipv4Addr::new(169, 254, 0, 1);
/// Default gateway of every IPv6 host.
pub const GATEWAY_6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Time in which a token for an originated packet is earned, in ps.
const EARNING: u64 = 1_000_000_000;

impl Network<'_> {
    /// Handles a packet's arrival at `node` from a link.
    pub(super) fn arrive(&mut self, mut packet: Packet, node: usize) {
        packet.hops = packet.hops.saturating_add(1);
        let metadata = self.core.runtime.frames.metadata(packet.payload);
        let is_there = metadata.to as usize == node;
        if let Some(option) = metadata.timestamp
            && let Err(wrong) = self.stamp(&packet, option, node)
        {
            return self.refuse(packet, node, Why::Wrong(wrong));
        }
        if is_there {
            return self.deliver(packet, node);
        }
        if !take_hop(self.core.runtime.frames.bytes_mut(packet.payload)) {
            return self.refuse(packet, node, Why::Hops);
        }
        match self.router_of[node] {
            Some(index) => self.core.offer_to_router(packet, index as usize, self.now),
            None => self.forward(packet, node),
        }
    }

    /// Forwards a packet from `node`: delivers it or offers it to a port.
    pub(super) fn forward(&mut self, packet: Packet, node: usize) {
        let to = self.core.runtime.frames.metadata(packet.payload).to as usize;
        if to == node {
            return self.deliver(packet, node);
        }
        if let Some(port) = self.routes.next(node, to) {
            let arrival = self.core.offer(packet, port, self.now);
            debug_assert!(arrival.is_none(), "an arrival waits for its time");
            return;
        }
        self.refuse(packet, node, Why::NoRoute);
    }

    /// Drops a packet at `node`, which sends an ICMP error.
    fn refuse(&mut self, packet: Packet, node: usize, why: Why) {
        let frame = self.core.runtime.frames.bytes(packet.payload).to_vec();
        self.core.lose(packet, Loss::Hops);
        self.say(node, &frame, why);
    }

    /// Updates a packet's time stamp option: the accumulated delay, and the time of the node. The kernel of
    /// the destination's host adds the latter itself.
    fn stamp(&mut self, packet: &Packet, option: Timestamp, node: usize) -> Result<(), Wrong> {
        let metadata = self.core.runtime.frames.metadata(packet.payload);
        let (carries, is_left_to_host) =
            (metadata.carried.is_some(), metadata.to as usize == node && self.is_host[node]);
        let frame = self.core.runtime.frames.bytes_mut(packet.payload);
        if carries {
            option.set_waited(frame, packet.waited);
        }
        match self.scenario.nodes[node].address {
            IpAddr::V4(address) if !is_left_to_host => {
                let time = self.wall.millis_of_day(self.clocks[node].read(self.now));
                option.stamp(frame, address, time)
            }
            _ => Ok(()),
        }
    }

    fn deliver(&mut self, packet: Packet, node: usize) {
        if self.is_host[node] {
            if packet.is_marked() {
                set_traffic_class(self.core.runtime.frames.bytes_mut(packet.payload), packet.traffic_class);
            }
            self.leaving.push(Leaving { node, at: self.now, packet });
            return;
        }
        let frame = self.core.runtime.frames.bytes(packet.payload).to_vec();
        self.count_received(&packet, self.now);
        self.core.recycle(packet);
        self.answer(node, &frame);
    }

    /// Answers a packet for a router without a host: echo replies, otherwise an ICMP error.
    fn answer(&mut self, node: usize, frame: &[u8]) {
        let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(frame) else { return };
        if let Some(reply) = echo(frame, &ip) {
            return self.emit(node, &reply);
        }
        match ip.fields.protocol {
            UDP => self.say(node, frame, Why::NoPort),
            TCP => {}
            _ => self.say(node, frame, Why::NoProtocol),
        }
    }

    /// Sends an ICMP error for a packet whose destination does not exist, from the nearest router.
    pub(super) fn say_no_route(&mut self, node: usize, frame: &[u8]) {
        let near = self.scenario.ports.iter().find(|port| port.from == node).map_or(node, |port| port.to);
        self.say(near, frame, Why::NoRoute);
    }

    fn say(&mut self, node: usize, metadata: &[u8], why: Why) {
        let earned = self.now.since(self.answers_since).as_picos() / EARNING;
        if earned > 0 {
            let earned = earned.min(u64::from(MOST_ANSWERS)) as u32;
            self.answers = (self.answers + earned).min(MOST_ANSWERS);
            self.answers_since = self.now;
        }
        if self.answers == 0 {
            return;
        }
        self.answers -= 1;
        if let Some(report) = error(metadata, self.scenario.nodes[node].address, why) {
            self.emit(node, &report);
        }
    }

    /// Enters a packet that a router originated.
    fn emit(&mut self, node: usize, frame: &[u8]) {
        let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(frame) else { return };
        let Some(to) = self.by_address.get(&ip.fields.destination).copied() else { return };
        let metadata = FrameMetadata {
            fields: ip.fields,
            mark: 0,
            from: node as u32,
            to,
            reported: false,
            timestamp: ip.timestamp,
            carried: None,
        };
        let Some(slot) = self.core.runtime.frames.keep(frame, metadata) else { return };
        let flow = self.flows.of(&ip.fields);
        let header = Header {
            payload: slot,
            sent: self.now,
            stamp: self.clocks[node].read(self.now),
            flow,
            sequence: self.next_sequence(flow),
            length: frame.len() as u32,
            traffic_class: ip.traffic_class,
            ..Header::default()
        };
        let record = self.record_of(flow);
        self.core.recording.flows[record].on_sent(self.now, header.bytes());
        let packet = self.core.pool.take(header);
        self.forward(packet, node);
    }

    /// Decides whether an address resolution request of the host at `node` is answered: for addresses of
    /// other nodes and for the gateway's.
    pub(super) fn who_has(&self, node: usize, target: IpAddr) -> Entered {
        let other = self.by_address.get(&target).is_some_and(|owner| *owner as usize != node);
        if other || target == IpAddr::V4(GATEWAY_4) || target == IpAddr::V6(GATEWAY_6) {
            Entered::Question
        } else {
            Entered::Ignored
        }
    }

    pub(super) fn next_sequence(&mut self, flow: FlowId) -> u32 {
        let record = self.record_of(flow);
        let sequence = self.sequences[record];
        self.sequences[record] = sequence.wrapping_add(1);
        sequence
    }
}
