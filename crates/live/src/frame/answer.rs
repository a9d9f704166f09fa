//! Packets that a router originates: address resolution, echo replies, ICMP errors.

use core::net::IpAddr;

use etherparse::icmpv4::{DestUnreachableHeader, ParameterProblemHeader, TimeExceededCode as TimeExceeded4};
use etherparse::icmpv6::{
    DestUnreachableCode, NeighborAdvertisementHeader, TimeExceededCode as TimeExceeded6,
};
use etherparse::{
    ArpEthIpv4Packet, ArpOperation, Icmpv4Type, Icmpv6Type, IpHeaders, Ipv4Extensions, Ipv4Header,
    Ipv4Options, NetSlice, PacketBuilder, PacketBuilderStep, SlicedPacket, TransportSlice,
};

use super::timestamp::Wrong;
use super::{ETHERNET_HEADER, Ip, Mac, ParsedFrame};

/// Hop limit of packets that a router originates.
const HOP_LIMIT: u8 = 64;

/// Minimum MTU of an IPv6 link, which an `ICMPv6` error must fit (RFC 4443 section 2.4 (c)).
const LEAST_MTU_6: usize = 1280;

/// Bytes of the offending packet that an `ICMPv4` error carries: as much as fits 576 (RFC 1812 section
/// 4.3.2.3).
const QUOTED_4: usize = 576 - 20 - 8;

/// Reason why a packet was not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Hop limit reached.
    Hops,
    /// No route to the destination.
    NoRoute,
    /// Destination port closed.
    NoPort,
    /// Protocol not supported.
    NoProtocol,
    /// Header wrong at this octet.
    Wrong(Wrong),
}

/// Returns the answer to an address resolution request (ARP, neighbour solicitation): the requested address
/// belongs to `mac`.
pub fn has(question: &[u8], mac: Mac) -> Option<Vec<u8>> {
    let asker: Mac = question.get(6..12)?.try_into().ok()?;
    let sliced = SlicedPacket::from_ethernet(question).ok()?;
    let mut out = Vec::new();
    match &sliced.net {
        Some(NetSlice::Arp(arp)) => {
            let arp = arp.slice();
            let reply = ArpEthIpv4Packet {
                operation: ArpOperation::REPLY,
                sender_mac: mac,
                sender_ipv4: arp.get(24..28)?.try_into().ok()?,
                target_mac: arp.get(8..14)?.try_into().ok()?,
                target_ipv4: arp.get(14..18)?.try_into().ok()?,
            };
            PacketBuilder::ethernet2(mac, asker).arp(reply.into()).write(&mut out).ok()?;
        }
        Some(NetSlice::Ipv6(ip)) => {
            let Some(TransportSlice::Icmpv6(icmp)) = &sliced.transport else { return None };
            let target: [u8; 16] = icmp.slice().get(8..24)?.try_into().ok()?;
            let solicited = !ip.header().source_addr().is_unspecified();
            let to = if solicited { ip.header().source() } else { ALL_NODES };
            let header = NeighborAdvertisementHeader { router: true, solicited, r#override: true };
            // The target's address, then its link-layer address as an option (RFC 4861 section 4.4).
            let mut payload = target.to_vec();
            payload.extend([2, 1]);
            payload.extend(mac);
            PacketBuilder::ethernet2(mac, asker)
                .ipv6(target, to, 255)
                .icmpv6(Icmpv6Type::NeighborAdvertisement(header))
                .write(&mut out, &payload)
                .ok()?;
        }
        _ => return None,
    }
    Some(out)
}

/// `ff02::1`.
const ALL_NODES: [u8; 16] = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// Returns the answer to an echo request; `None` if `request` is not one.
pub fn echo(request: &[u8], ip: &Ip) -> Option<Vec<u8>> {
    let sliced = SlicedPacket::from_ethernet(request).ok()?;
    let mut out = Vec::new();
    let (from, to) = (ip.fields.destination, ip.fields.source);
    match sliced.transport? {
        TransportSlice::Icmpv4(icmp) => {
            let Icmpv4Type::EchoRequest(echo) = icmp.icmp_type() else { return None };
            let reply = Icmpv4Type::EchoReply(echo);
            builder(from, to, options(request, ip))?.icmpv4(reply).write(&mut out, icmp.payload()).ok()?;
        }
        TransportSlice::Icmpv6(icmp) => {
            let Icmpv6Type::EchoRequest(echo) = icmp.icmp_type() else { return None };
            let reply = Icmpv6Type::EchoReply(echo);
            builder(from, to, Ipv4Options::new())?.icmpv6(reply).write(&mut out, icmp.payload()).ok()?;
        }
        _ => return None,
    }
    Some(out)
}

/// Returns the ICMP error that `from` sends about the packet in `frame`. `None` if none may be sent (RFC 1812
/// section 4.3.2.7, RFC 4443 section 2.4 (e)): about ICMP errors, multicasts, unspecified sources and later
/// fragments.
pub fn error(frame: &[u8], from: IpAddr, why: Why) -> Option<Vec<u8>> {
    let ParsedFrame::Ip(ip) = ParsedFrame::in_frame(frame) else { return None };
    let sliced = SlicedPacket::from_ethernet(frame).ok()?;
    let silent = is_error(&sliced) || is_later_fragment(&sliced) || is_many(ip.fields.destination);
    if silent || is_many(ip.fields.source) || ip.fields.source.is_unspecified() {
        return None;
    }
    let quoted = frame.get(ETHERNET_HEADER..)?;
    let mut out = Vec::new();
    let step = builder(from, ip.fields.source, Ipv4Options::new())?;
    if ip.fields.source.is_ipv4() {
        let kind = match why {
            Why::Hops => Icmpv4Type::TimeExceeded(TimeExceeded4::TtlExceededInTransit),
            Why::NoRoute => Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::Network),
            Why::NoPort => Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::Port),
            Why::NoProtocol => Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::Protocol),
            Why::Wrong(Wrong(octet)) => {
                Icmpv4Type::ParameterProblem(ParameterProblemHeader::PointerIndicatesError(octet))
            }
        };
        step.icmpv4(kind).write(&mut out, &quoted[..quoted.len().min(QUOTED_4)]).ok()?;
    } else {
        let kind = match why {
            Why::Hops => Icmpv6Type::TimeExceeded(TimeExceeded6::HopLimitExceeded),
            Why::NoRoute => Icmpv6Type::DestinationUnreachable(DestUnreachableCode::NoRoute),
            Why::NoPort | Why::NoProtocol => Icmpv6Type::DestinationUnreachable(DestUnreachableCode::Port),
            Why::Wrong(_) => return None,
        };
        step.icmpv6(kind).write(&mut out, &quoted[..quoted.len().min(LEAST_MTU_6 - 48)]).ok()?;
    }
    Some(out)
}

/// Returns the options of an echo reply: the request's time stamps are returned whole (RFC 1122 section
/// 3.2.2.6).
fn options(request: &[u8], ip: &Ip) -> Ipv4Options {
    let stamps = ip.timestamp.map(|option| option.bytes(request)).unwrap_or_default();
    let mut padded = [0; Ipv4Options::MAX_LEN as usize];
    padded[..stamps.len()].copy_from_slice(stamps);
    Ipv4Options::try_from(&padded[..stamps.len().next_multiple_of(4)]).unwrap_or_default()
}

fn builder(from: IpAddr, to: IpAddr, options: Ipv4Options) -> Option<PacketBuilderStep<IpHeaders>> {
    // Ethernet addresses are written on delivery.
    let step = PacketBuilder::ethernet2([0; 6], [0; 6]);
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let header = Ipv4Header {
                source: from.octets(),
                destination: to.octets(),
                time_to_live: HOP_LIMIT,
                options,
                ..Ipv4Header::default()
            };
            Some(step.ip(IpHeaders::Ipv4(header, Ipv4Extensions::default())))
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => Some(step.ipv6(from.octets(), to.octets(), HOP_LIMIT)),
        _ => None,
    }
}

fn is_error(sliced: &SlicedPacket<'_>) -> bool {
    match &sliced.transport {
        Some(TransportSlice::Icmpv4(icmp)) => {
            !matches!(icmp.icmp_type(), Icmpv4Type::EchoRequest(_) | Icmpv4Type::EchoReply(_))
        }
        Some(TransportSlice::Icmpv6(icmp)) => icmp.slice().first().is_none_or(|kind| *kind < 128),
        _ => false,
    }
}

fn is_later_fragment(sliced: &SlicedPacket<'_>) -> bool {
    match &sliced.net {
        Some(NetSlice::Ipv4(ip)) => ip.header().fragments_offset().value() != 0,
        Some(NetSlice::Ipv6(ip)) => ip.is_payload_fragmented() && sliced.transport.is_none(),
        _ => true,
    }
}

fn is_many(address: IpAddr) -> bool {
    address.is_multicast() || matches!(address, IpAddr::V4(address) if address.is_broadcast())
}
