//! Headers of packets: read for classification, and rewritten where a queue marked the packet.

use core::net::IpAddr;

use lockgate_engine::classify::{Acknowledgement, Fields, PROTOCOL_OTHER};
use lockgate_sim::OutsideSegment;

use crate::error::Error;

const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_LITE: u8 = 136;
const SCTP: u8 = 132;
/// TCP flag that says that the acknowledgement number is valid.
const ACK: u8 = 0x10;
/// Types of Ethernet frames.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const VLANS: [u16; 2] = [0x8100, 0x88A8];
/// Extension headers of IPv6 that carry another header behind them, all of one form (RFC 8200 section 4).
const EXTENSIONS: [u8; 3] = [0, 43, 60];
const FRAGMENT: u8 = 44;

/// Headers of an IP packet.
pub(crate) struct Read {
    pub(crate) traffic_class: u8,
    pub(crate) fields: Fields,
    pub(crate) segment: Option<OutsideSegment>,
}

/// Returns the fields of a frame without an IP packet.
pub(crate) fn without_ip() -> Fields {
    let nowhere = IpAddr::from([0, 0, 0, 0]);
    Fields {
        protocol: PROTOCOL_OTHER,
        source: nowhere,
        destination: nowhere,
        source_port: 0,
        destination_port: 0,
        flow_label: 0,
    }
}

/// Returns the position of the IP header in an Ethernet frame; `None` if it carries something else.
pub(crate) fn ethernet(frame: &[u8]) -> Result<Option<u8>, Error> {
    let mut at = 12;
    loop {
        let kind = word(frame, at).ok_or(Error::Malformed("an Ethernet header has 14 bytes"))?;
        at += 2;
        match kind {
            IPV4 | IPV6 => return Ok(Some(at as u8)),
            // At most two tags.
            kind if VLANS.contains(&kind) && at < 22 => at += 2,
            _ => return Ok(None),
        }
    }
}

/// Reads the headers of an IP packet.
pub(crate) fn ip(packet: &[u8]) -> Result<Read, Error> {
    match packet.first().map(|first| first >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => ipv6(packet),
        Some(_) => Err(Error::Malformed("the version of IP is neither 4 nor 6")),
        None => Err(Error::Malformed("it is empty")),
    }
}

fn ipv4(packet: &[u8]) -> Result<Read, Error> {
    const SHORT: Error = Error::Malformed("an IPv4 header has 20 bytes");
    let header = packet.first_chunk::<20>().ok_or(SHORT)?;
    let length = 4 * usize::from(header[0] & 0xF);
    if length < 20 || packet.len() < length {
        return Err(Error::Malformed("the length of the IPv4 header is wrong"));
    }
    let address = |at: usize| IpAddr::from([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    // Later fragments have no ports.
    let is_first = u16::from_be_bytes([header[6], header[7]]) << 3 == 0;
    let behind = if is_first { &packet[length..] } else { &[] };
    Ok(read(header[1], header[9], [address(12), address(16)], 0, behind))
}

fn ipv6(packet: &[u8]) -> Result<Read, Error> {
    let header = packet.first_chunk::<40>().ok_or(Error::Malformed("an IPv6 header has 40 bytes"))?;
    let address = |at: usize| {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&header[at..at + 16]);
        IpAddr::from(bytes)
    };
    let first = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
    let (mut protocol, mut behind) = (header[6], &packet[40..]);
    loop {
        match (protocol, behind) {
            (kind, [next, units, ..]) if EXTENSIONS.contains(&kind) => {
                protocol = *next;
                behind = behind.get(8 + 8 * usize::from(*units)..).unwrap_or_default();
            }
            (FRAGMENT, [next, _, offset, low, ..]) => {
                let is_first = u16::from_be_bytes([*offset, *low]) >> 3 == 0;
                protocol = *next;
                behind = if is_first { behind.get(8..).unwrap_or_default() } else { &[] };
                if !is_first {
                    break;
                }
            }
            _ => break,
        }
    }
    Ok(read((first >> 20) as u8, protocol, [address(8), address(24)], first & 0xF_FFFF, behind))
}

/// Returns what the IP header says, with ports and TCP fields from the header behind it.
fn read(
    traffic_class: u8,
    protocol: u8,
    [source, destination]: [IpAddr; 2],
    flow_label: u32,
    behind: &[u8],
) -> Read {
    let has_ports = [TCP, UDP, UDP_LITE, SCTP].contains(&protocol);
    let port = |at| word(behind, at).filter(|_| has_ports).unwrap_or(0);
    let segment = match behind.first_chunk::<20>() {
        Some(header) if protocol == TCP => Some(OutsideSegment {
            flags: header[13],
            sequence: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
            acknowledgement: Acknowledgement::in_segment(behind).filter(|_| header[13] & ACK != 0),
        }),
        _ => None,
    };
    let fields =
        Fields { protocol, source, destination, source_port: port(0), destination_port: port(2), flow_label };
    Read { traffic_class, fields, segment }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Writes DSCP and ECN into the IP header at `at` of a packet, with its checksum.
pub(crate) fn set_traffic_class(bytes: &mut [u8], at: usize, traffic_class: u8) {
    let Some(header) = bytes.get_mut(at..) else { return };
    match header.first().map(|first| first >> 4) {
        Some(4) if header.len() >= 12 && header[1] != traffic_class => {
            let old = u16::from_be_bytes([header[0], header[1]]);
            header[1] = traffic_class;
            let new = u16::from_be_bytes([header[0], header[1]]);
            //= https://www.rfc-editor.org/rfc/rfc1624#section-3
            //# HC' = ~(~HC + ~m + m')
            let sum =
                u32::from(!u16::from_be_bytes([header[10], header[11]])) + u32::from(!old) + u32::from(new);
            let folded = (sum & 0xFFFF) + (sum >> 16);
            let folded = (folded & 0xFFFF) + (folded >> 16);
            header[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        }
        Some(6) if header.len() >= 2 => {
            header[0] = header[0] & 0xF0 | traffic_class >> 4;
            header[1] = header[1] & 0x0F | traffic_class << 4;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sum over an IPv4 header, which is 0xFFFF if its checksum is right.
    fn sum(header: &[u8]) -> u32 {
        let mut sum: u32 =
            header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum
    }

    fn segment() -> Vec<u8> {
        let mut packet = vec![0x45, 0xB8, 0, 40, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let checksum = !(sum(&packet) as u16);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend([0x13, 0x88, 0, 80, 0, 0, 0, 9, 0, 0, 0, 5, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
        packet
    }

    #[test]
    fn headers_of_a_segment_are_read() {
        let read = ip(&segment()).expect("a packet");
        assert_eq!((read.traffic_class, read.fields.protocol), (0xB8, 6));
        assert_eq!((read.fields.source_port, read.fields.destination_port), (5000, 80));
        let acknowledgement = Some(Acknowledgement { number: 5, is_bare: true });
        assert_eq!(read.segment, Some(OutsideSegment { flags: 0x10, sequence: 9, acknowledgement }));
        let mut later = segment();
        later[7] = 1;
        assert_eq!(ip(&later).expect("a fragment").fields.source_port, 0, "a later fragment has no ports");
    }

    #[test]
    fn extension_headers_are_passed() {
        let mut packet = vec![0x6B, 0x80, 0, 0x2A, 0, 16, 0, 64];
        packet.extend([0; 31]);
        packet.push(1);
        packet.extend([17, 0, 1, 2, 0, 0, 0, 0]);
        packet.extend([0, 53, 0x10, 0, 0, 8, 0, 0]);
        let read = ip(&packet).expect("a packet");
        assert_eq!((read.traffic_class, read.fields.protocol, read.fields.flow_label), (0xB8, 17, 0x2A));
        assert_eq!((read.fields.source_port, read.fields.destination_port), (53, 4096));
    }

    #[test]
    fn a_mark_is_written_with_its_checksum() {
        for class in 0..=255 {
            let mut packet = segment();
            assert_eq!(sum(&packet[..20]), 0xFFFF);
            set_traffic_class(&mut packet, 0, class);
            assert_eq!((packet[1], sum(&packet[..20])), (class, 0xFFFF));
        }
        let mut packet = vec![0x6B, 0x8F, 1, 2];
        set_traffic_class(&mut packet, 0, 0x47);
        assert_eq!(packet, [0x64, 0x7F, 1, 2]);
    }

    #[test]
    fn frames_with_tags_and_without_ip_are_told_apart() {
        let frame = |kinds: &[u16]| {
            let mut frame = vec![0; 12];
            for kind in kinds {
                frame.extend(kind.to_be_bytes());
                frame.extend([0, 1].iter().filter(|_| VLANS.contains(kind)));
            }
            frame
        };
        let at = |kinds: &[u16]| ethernet(&frame(kinds)).expect("a frame");
        assert_eq!(at(&[IPV4]), Some(14));
        assert_eq!(at(&[0x88A8, 0x8100, IPV6]), Some(22));
        assert_eq!(at(&[0x0806]), None);
        assert!(ethernet(&[0; 13]).is_err());
    }

    #[test]
    fn no_bytes_panic() {
        for length in 0..64 {
            for first in [0x00, 0x45, 0x4F, 0x41, 0x60, 0xFF] {
                for protocol in [0, 6, 17, 43, 44, 60] {
                    let mut packet = vec![0xFF; length];
                    for (at, byte) in [(0, first), (6, protocol), (9, protocol)] {
                        if let Some(field) = packet.get_mut(at) {
                            *field = byte;
                        }
                    }
                    let _ = ip(&packet);
                    set_traffic_class(&mut packet, length / 2, 3);
                    let _ = ethernet(&packet);
                }
            }
        }
    }
}
