//! Fields of a packet that rules compare, as numbers.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lockgate_engine::classify::{PROTOCOL_OTHER, Prefix};

use crate::spans::{Span, Spans};

/// Field of a packet. The order is that in which differences are taken: fields by which many rules select
/// stand first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// 4, 6, or 0 for a frame without an IP packet.
    Version,
    /// Destination address.
    Destination,
    /// Source address.
    Source,
    /// Protocol of the IP packet; 255 for a frame without one.
    Protocol,
    /// Destination port; 0 if the protocol has none.
    DestinationPort,
    /// Source port; 0 if the protocol has none.
    SourcePort,
    /// Differentiated services code point.
    Dscp,
    /// Flow label of IPv6; 0 otherwise.
    FlowLabel,
    /// Flags of TCP; 0 for other protocols.
    TcpFlags,
    /// Frame length in bytes.
    Length,
    /// Index of a class of marks ([`Marks`](crate::Marks)).
    Mark,
    /// Index of a flow of a scenario.
    Flow,
}

impl Field {
    /// Number of fields.
    pub const COUNT: usize = 12;

    /// All fields, in their order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Version,
        Self::Destination,
        Self::Source,
        Self::Protocol,
        Self::DestinationPort,
        Self::SourcePort,
        Self::Dscp,
        Self::FlowLabel,
        Self::TcpFlags,
        Self::Length,
        Self::Mark,
        Self::Flow,
    ];

    /// Returns the highest number that it has.
    pub const fn most(self) -> u128 {
        match self {
            Self::Version => 6,
            Self::Destination | Self::Source => u128::MAX,
            Self::Protocol | Self::TcpFlags => 0xff,
            Self::DestinationPort | Self::SourcePort => 0xffff,
            Self::Dscp => 63,
            Self::FlowLabel => 0xf_ffff,
            Self::Length | Self::Mark | Self::Flow => u32::MAX as u128,
        }
    }

    /// Returns the name in documents: the key of a `match`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Destination => "destination",
            Self::Source => "source",
            Self::Protocol => "protocol",
            Self::DestinationPort => "destination_port",
            Self::SourcePort => "source_port",
            Self::Dscp => "dscp",
            Self::FlowLabel => "flow_label",
            Self::TcpFlags => "tcp_flags",
            Self::Length => "length",
            Self::Mark => "mark",
            Self::Flow => "flow",
        }
    }
}

/// Version number of an address.
pub(crate) fn version(address: IpAddr) -> u128 {
    if address.is_ipv4() { 4 } else { 6 }
}

/// Returns an address as a number.
pub(crate) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Returns the lowest and the highest address of a prefix.
pub(crate) fn span(prefix: Prefix) -> Span {
    let width: u32 = if prefix.address.is_ipv4() { 32 } else { 128 };
    let free = width - u32::from(prefix.bits).min(width);
    let mask = 1_u128.checked_shl(free).map_or(u128::MAX, |above| above - 1);
    let low = number(prefix.address) & !mask;
    (low, low | mask)
}

/// Returns the address of a number.
pub(crate) fn address(version: u128, number: u128) -> IpAddr {
    match (version, u32::try_from(number)) {
        (6, _) | (_, Err(_)) => IpAddr::V6(Ipv6Addr::from_bits(number)),
        (_, Ok(number)) => IpAddr::V4(Ipv4Addr::from_bits(number)),
    }
}

/// Protocols whose headers begin with two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
pub(crate) const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// Protocol number of TCP.
pub(crate) const TCP: u8 = 6;

/// Returns the protocols with ports besides TCP.
pub(crate) fn other_ports() -> Spans {
    Spans::of(WITH_PORTS.into_iter().filter(|one| *one != TCP).map(|one| (one.into(), one.into())))
}

/// Returns the protocols of IP packets without ports.
pub(crate) fn without_ports() -> Spans {
    let ports = Spans::of(WITH_PORTS.map(|one| (one.into(), one.into())));
    Spans::up_to(u128::from(PROTOCOL_OTHER) - 1).without(&ports)
}
