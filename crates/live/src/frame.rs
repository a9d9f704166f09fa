//! Parser and in-place editor of Ethernet frames. Input is untrusted: no frame makes it panic.
//!
//! ```text
//! Ethernet | IPv4 or IPv6 | UDP, TCP, ICMP      -> ParsedFrame::Ip: fields for classifiers and measurements
//!          | ARP, neighbour solicitation        -> ParsedFrame::WhoHas: answered instead of a router
//! ```
//!
//! `etherparse` parses. Fields that a router changes (hop limit, mark, time stamps, addresses) are written in
//! place, with incremental checksums (RFC 1624).

pub mod answer;
pub mod timestamp;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{EtherType, NetSlice, SlicedPacket, TransportSlice};
use lockgate_engine::classify::{Acknowledgement, Fields};

use timestamp::Timestamp;

/// Ethernet address.
pub type Mac = [u8; 6];

/// Length of the Ethernet header in bytes: Lockgate's own networks have no VLAN tags.
pub const ETHERNET_HEADER: usize = 14;

/// Result of parsing a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedFrame {
    /// An IP packet.
    Ip(Ip),
    /// An address resolution request (ARP or neighbour solicitation).
    WhoHas {
        /// Requested address.
        target: IpAddr,
    },
    /// Anything else, damaged frames included.
    Other,
}

/// The fields of an IP packet that Lockgate needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Addresses, ports and flow label. Ports are 0 in later fragments.
    pub fields: Fields,
    /// DSCP and ECN bits.
    pub traffic_class: u8,
    /// TTL or hop limit.
    pub hop_limit: u8,
    /// Time stamp option, if any.
    pub timestamp: Option<Timestamp>,
    /// TCP sequence number; 0 for other protocols.
    pub tcp_sequence: u32,
    /// TCP flags as in the header; 0 for other protocols.
    pub tcp_flags: u8,
    /// Offset in the frame of the payload above UDP or TCP; the frame's end if there is none.
    pub payload: usize,
    /// Bytes of TCP or UDP payload.
    pub payload_length: usize,
}

impl ParsedFrame {
    /// Parses a frame.
    pub fn in_frame(frame: &[u8]) -> Self {
        let Ok(sliced) = SlicedPacket::from_ethernet(frame) else { return Self::Other };
        if !sliced.link_exts.is_empty() {
            return Self::Other;
        }
        match &sliced.net {
            Some(NetSlice::Arp(arp)) => Self::in_arp(arp.slice()),
            Some(NetSlice::Ipv4(ip)) => {
                let header = ip.header();
                let fields = Fields {
                    protocol: ip.payload_ip_number().0,
                    source: IpAddr::V4(header.source_addr()),
                    destination: IpAddr::V4(header.destination_addr()),
                    source_port: 0,
                    destination_port: 0,
                    flow_label: 0,
                };
                let ip = Ip::alone(frame, fields, header.slice()[1], header.ttl());
                let ip = Ip { timestamp: Timestamp::find(frame), ..ip };
                Self::Ip(ip.with_transport(frame, sliced.transport.as_ref()))
            }
            Some(NetSlice::Ipv6(ip)) => {
                let header = ip.header();
                let fields = Fields {
                    protocol: ip.payload().ip_number.0,
                    source: IpAddr::V6(header.source_addr()),
                    destination: IpAddr::V6(header.destination_addr()),
                    source_port: 0,
                    destination_port: 0,
                    flow_label: header.flow_label().value(),
                };
                if let Some(target) = solicited(sliced.transport.as_ref()) {
                    return Self::WhoHas { target };
                }
                let ip = Ip::alone(frame, fields, header.traffic_class(), header.hop_limit());
                Self::Ip(ip.with_transport(frame, sliced.transport.as_ref()))
            }
            None => Self::Other,
        }
    }

    /// Parses an ARP request for an IPv4 address over Ethernet (RFC 826).
    fn in_arp(arp: &[u8]) -> Self {
        const REQUEST: [u8; 8] = [0, 1, 8, 0, 6, 4, 0, 1];
        match (arp.starts_with(&REQUEST), arp.get(24..28)) {
            (true, Some(&[a, b, c, d])) => Self::WhoHas { target: IpAddr::V4(Ipv4Addr::new(a, b, c, d)) },
            _ => Self::Other,
        }
    }
}

/// Returns the target of a neighbour solicitation (RFC 4861 section 4.3).
fn solicited(transport: Option<&TransportSlice<'_>>) -> Option<IpAddr> {
    let Some(TransportSlice::Icmpv6(icmp)) = transport else { return None };
    let bytes = icmp.slice();
    if bytes.first() != Some(&135) {
        return None;
    }
    let target: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
    Some(IpAddr::V6(Ipv6Addr::from(target)))
}

impl Ip {
    /// Creates one from the IP header alone.
    fn alone(frame: &[u8], fields: Fields, traffic_class: u8, hop_limit: u8) -> Self {
        Self {
            fields,
            traffic_class,
            hop_limit,
            timestamp: None,
            tcp_sequence: 0,
            tcp_flags: 0,
            payload: frame.len(),
            payload_length: 0,
        }
    }

    fn with_transport(mut self, frame: &[u8], transport: Option<&TransportSlice<'_>>) -> Self {
        let payload: &[u8] = match transport {
            Some(TransportSlice::Udp(udp)) => {
                self.fields.source_port = udp.source_port();
                self.fields.destination_port = udp.destination_port();
                udp.payload()
            }
            Some(TransportSlice::Tcp(tcp)) => {
                self.fields.source_port = tcp.source_port();
                self.fields.destination_port = tcp.destination_port();
                self.tcp_sequence = tcp.sequence_number();
                self.tcp_flags = tcp.header_slice()[13];
                tcp.payload()
            }
            _ => return self,
        };
        self.payload = (payload.as_ptr() as usize).saturating_sub(frame.as_ptr() as usize).min(frame.len());
        self.payload_length = payload.len();
        self
    }
}

/// Returns the acknowledgement of the frame's TCP segment; `None` if it has none.
pub fn acknowledgement(frame: &[u8]) -> Option<Acknowledgement> {
    match SlicedPacket::from_ethernet(frame).ok()?.transport? {
        TransportSlice::Tcp(tcp) => Acknowledgement::in_segment(tcp.slice()),
        _ => None,
    }
}

/// Returns the IP version of the frame; `None` if it has no IP packet.
fn version(frame: &[u8]) -> Option<EtherType> {
    match frame.get(12..14)? {
        [0x08, 0x00] => Some(EtherType::IPV4),
        [0x86, 0xdd] => Some(EtherType::IPV6),
        _ => None,
    }
}

/// Decrements the hop limit of an IP frame. Returns false, and changes nothing, if it must not be forwarded
/// further.
pub fn take_hop(frame: &mut [u8]) -> bool {
    let version = version(frame);
    let at = match version {
        Some(EtherType::IPV4) => 22,
        Some(EtherType::IPV6) => 21,
        _ => return false,
    };
    let Some(left) = frame.get(at).and_then(|hops| hops.checked_sub(1)).filter(|left| *left > 0) else {
        return false;
    };
    if version == Some(EtherType::IPV4) {
        change(frame, at, &[left]);
    } else {
        frame[at] = left;
    }
    true
}

/// Writes DSCP and ECN: the mark set by a queue.
pub fn set_traffic_class(frame: &mut [u8], class: u8) {
    match version(frame) {
        Some(EtherType::IPV4) => change(frame, 15, &[class]),
        Some(EtherType::IPV6) if frame.len() >= 54 => {
            frame[14] = (frame[14] & 0xf0) | (class >> 4);
            frame[15] = (frame[15] & 0x0f) | (class << 4);
        }
        _ => {}
    }
}

/// Writes the Ethernet addresses.
pub fn set_addresses(frame: &mut [u8], destination: Mac, source: Mac) {
    if frame.len() >= ETHERNET_HEADER {
        frame[..6].copy_from_slice(&destination);
        frame[6..12].copy_from_slice(&source);
    }
}

/// Offset of an IPv4 header's checksum in the frame.
const CHECKSUM: usize = 24;

/// Writes bytes into an IPv4 header, its checksum by difference.
//= https://www.rfc-editor.org/rfc/rfc1624#section-3
fn change(frame: &mut [u8], at: usize, bytes: &[u8]) {
    let word =
        |frame: &[u8], at: usize| frame.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    for (at, byte) in (at..).zip(bytes) {
        let (Some(old), Some(sum)) = (word(frame, at & !1), word(frame, CHECKSUM)) else { return };
        frame[at] = *byte;
        let new = word(frame, at & !1).unwrap_or(old);
        let sum = u32::from(!sum) + u32::from(!old) + u32::from(new);
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
