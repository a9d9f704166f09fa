//! Parser of a frame: finds the IP packet behind any encapsulations, and reads the fields that queues use.
//!
//! ```text
//! Ethernet | VLAN tags | PPPoE | MPLS labels | IPv4 or IPv6 | extension headers | TCP, UDP
//!           '------------- skipped ---------' '------ read: Fields, DSCP and ECN ---------'
//! ```
//!
//! Input is untrusted: any bytes give an answer, and none causes a panic. A frame is changed only in the DSCP
//! and ECN bits of its IP packet ([`set_traffic_class`]).

use core::net::IpAddr;

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use lockgate_engine::classify::{Acknowledgement, Fields};

/// Length of the two Ethernet addresses, in bytes. The Ethernet type follows them.
const ADDRESSES: usize = 12;

/// Ethernet types.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
const PPPOE_SESSION: u16 = 0x8864;
const MPLS: [u16; 2] = [0x8847, 0x8848];

/// Protocols of PPP for IPv4 and IPv6.
const PPP_IP: [u16; 2] = [0x0021, 0x0057];

/// Tags and labels skipped at most.
const MOST_TAGS: usize = 16;

/// Fields of a frame with an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Offset of the IP header in the frame, in bytes.
    pub offset: u16,
    /// Protocol, addresses, ports and flow label. Ports are 0 in fragments.
    pub fields: Fields,
    /// DSCP and ECN bits.
    pub traffic_class: u8,
    /// TCP sequence number; 0 for other protocols.
    pub tcp_sequence: u32,
    /// TCP flags as in the header; 0 for other protocols.
    pub tcp_flags: u8,
}

impl IpHeader {
    /// Reads a frame. Returns `None` if it has no IP packet, or one whose header is damaged.
    pub fn read(frame: &[u8]) -> Option<Self> {
        Self::at(frame, ip_offset(frame)?)
    }

    /// Reads the IP packet at `offset` of a frame; at 0, a packet without a frame around it. Returns `None`
    /// if its header is damaged.
    pub fn at(frame: &[u8], offset: usize) -> Option<Self> {
        let packet = LaxSlicedPacket::from_ip(frame.get(offset..)?).ok()?;
        let (protocol, source, destination, flow_label, traffic_class) = match packet.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                let [source, destination] = [header.source_addr(), header.destination_addr()].map(IpAddr::V4);
                (ip.payload().ip_number, source, destination, 0, header.slice()[1])
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let [source, destination] = [header.source_addr(), header.destination_addr()].map(IpAddr::V6);
                let label = header.flow_label().value();
                (ip.payload().ip_number, source, destination, label, header.traffic_class())
            }
            LaxNetSlice::Arp(_) => return None,
        };
        let (source_port, destination_port, tcp_sequence, tcp_flags) = match &packet.transport {
            Some(TransportSlice::Udp(udp)) => (udp.source_port(), udp.destination_port(), 0, 0),
            Some(TransportSlice::Tcp(tcp)) => (
                tcp.source_port(),
                tcp.destination_port(),
                tcp.sequence_number(),
                tcp.header_slice().get(13).copied().unwrap_or(0),
            ),
            _ => (0, 0, 0, 0),
        };
        let protocol = protocol.0;
        let fields = Fields { protocol, source, destination, source_port, destination_port, flow_label };
        Some(Self { offset: offset as u16, fields, traffic_class, tcp_sequence, tcp_flags })
    }
}

/// TCP segment, as far as a reader of round trips needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of its first byte of data.
    pub sequence: u32,
    /// Bytes of data.
    pub payload: u32,
    /// Acknowledgement number; `None` without the flag.
    pub acknowledgement: Option<u32>,
    /// Blocks of SACK: start, and the number after the end.
    pub blocks: [(u32, u32); 3],
    /// Number of blocks.
    pub block_count: u8,
    /// Time stamps: of the sender, and the one that it echoes.
    pub stamps: Option<[u32; 2]>,
    /// True if it resets the connection.
    pub is_reset: bool,
}

/// Kinds of TCP options (RFC 9293, 2018, 7323).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const BLOCKS: u8 = 5;
const STAMPS: u8 = 8;

/// Flag of TCP for a valid acknowledgement number.
const ACK: u8 = 0x10;

/// Flag of TCP that resets the connection.
const RESET: u8 = 0x04;

impl Segment {
    /// Reads the segment in the IP packet at `offset`; `None` if it has none. Of a frame that is cut,
    /// `payload` is what is left.
    pub fn read(frame: &[u8], offset: u16) -> Option<Self> {
        let packet = LaxSlicedPacket::from_ip(frame.get(usize::from(offset)..)?).ok()?;
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else { return None };
        let flags = tcp.header_slice().get(13).copied().unwrap_or(0);
        let mut segment = Self {
            sequence: tcp.sequence_number(),
            payload: tcp.payload().len() as u32,
            acknowledgement: (flags & ACK != 0).then(|| tcp.acknowledgment_number()),
            is_reset: flags & RESET != 0,
            ..Self::default()
        };
        segment.read_options(tcp.options());
        Some(segment)
    }

    fn read_options(&mut self, mut options: &[u8]) {
        let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |word| u32::from_be_bytes(*word));
        while let [kind, rest @ ..] = options {
            match *kind {
                END => return,
                NO_OPERATION => options = rest,
                kind => {
                    // The length counts the kind and itself.
                    let length = rest.first().map_or(0, |length| usize::from(*length));
                    let Some(data) = options.get(2..length) else { return };
                    if kind == STAMPS && data.len() == 8 {
                        self.stamps = Some([word(data), word(&data[4..])]);
                    } else if kind == BLOCKS {
                        for (block, bytes) in self.blocks.iter_mut().zip(data.chunks_exact(8)) {
                            *block = (word(bytes), word(&bytes[4..]));
                            self.block_count += 1;
                        }
                    }
                    options = &options[length..];
                }
            }
        }
    }
}

/// Returns the acknowledgement of the TCP segment in the IP packet at `offset`; `None` if it has none.
pub fn acknowledgement(frame: &[u8], offset: u16) -> Option<Acknowledgement> {
    let packet = LaxSlicedPacket::from_ip(frame.get(usize::from(offset)..)?).ok()?;
    match packet.transport? {
        TransportSlice::Tcp(tcp) => Acknowledgement::in_segment(tcp.slice()),
        _ => None,
    }
}

/// Returns the offset of the IP header; `None` if the frame has none.
fn ip_offset(frame: &[u8]) -> Option<usize> {
    let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut at = ADDRESSES;
    for _ in 0..MOST_TAGS {
        let kind = word(at)?;
        at += 2;
        match kind {
            IPV4 | IPV6 => return ip_version(frame, at).map(|_| at),
            kind if VLAN.contains(&kind) => at += 2,
            PPPOE_SESSION => {
                // Version, code, session and length, then PPP's protocol.
                at += 6;
                return PPP_IP.contains(&word(at)?).then_some(at + 2);
            }
            kind if MPLS.contains(&kind) => return below_labels(frame, at),
            _ => return None,
        }
    }
    None
}

/// Returns the offset behind the MPLS labels at `at`, if an IP packet seems to begin there: labels do not
/// state the protocol of their payload.
fn below_labels(frame: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..MOST_TAGS {
        let is_last = *frame.get(at + 2)? & 1 == 1;
        at += 4;
        if is_last {
            return ip_version(frame, at).map(|_| at);
        }
    }
    None
}

fn ip_version(frame: &[u8], at: usize) -> Option<u8> {
    let version = frame.get(at)? >> 4;
    [4, 6].contains(&version).then_some(version)
}

/// Writes DSCP and ECN bits into the IP packet at `offset`, with the checksum of an IPv4 header.
//= https://www.rfc-editor.org/rfc/rfc1624#section-3
pub fn set_traffic_class(frame: &mut [u8], offset: u16, class: u8) {
    let Some(packet) = frame.get_mut(usize::from(offset)..).filter(|packet| packet.len() >= 20) else {
        return;
    };
    if packet[0] >> 4 == 6 {
        packet[0] = packet[0] & 0xf0 | class >> 4;
        packet[1] = packet[1] & 0x0f | class << 4;
        return;
    }
    let old = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] = class;
    let new = u16::from_be_bytes([packet[0], class]);
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests;
