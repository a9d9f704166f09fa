//! Which child of a classful discipline a packet goes to.
//!
//! A packet goes to the first child with a rule that matches. A child without rules takes the rest; a
//! packet that no child takes is counted as unclassified and goes to the last. Addresses and ports stay
//! with the driver: it is asked for them ([`Headers`]) only where a rule needs them.

use core::net::IpAddr;
use core::ops::RangeInclusive;

use crate::packet::{FlowId, Packet};

/// Addresses and ports of a packet, as far as it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// IP protocol number.
    pub protocol: u8,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source port, 0 where the protocol has none.
    pub source_port: u16,
    /// Destination port, 0 where the protocol has none.
    pub destination_port: u16,
    /// IPv6 flow label, 0 for IPv4.
    pub flow_label: u32,
}

/// Whoever can read a packet's addresses and ports: the simulator's table of flows, the live frame.
pub trait Headers {
    /// The fields of `packet`; `None` where it carries none.
    fn fields(&self, packet: &Packet) -> Option<Fields>;
}

/// For trees whose rules need no addresses.
pub struct NoHeaders;

impl Headers for NoHeaders {
    fn fields(&self, _: &Packet) -> Option<Fields> {
        None
    }
}

/// An address and how many of its leading bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// 0..=32 for IPv4, 0..=128 for IPv6.
    pub bits: u8,
}

impl Prefix {
    /// Whether `address` lies within. Families do not mix.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (own, other, width) = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(own.to_bits()), u128::from(other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        let ignored = width - u32::from(self.bits).min(width);
        own.checked_shr(ignored) == other.checked_shr(ignored)
    }
}

/// Conditions on a packet; those that are given must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// IP protocol number.
    pub protocol: Option<u8>,
    /// Source address.
    pub source: Option<Prefix>,
    /// Destination address.
    pub destination: Option<Prefix>,
    /// Source port.
    pub source_port: Option<RangeInclusive<u16>>,
    /// Destination port.
    pub destination_port: Option<RangeInclusive<u16>>,
    /// IPv6 flow label.
    pub flow_label: Option<u32>,
    /// Differentiated services code points, any of them.
    pub dscp: Option<Vec<u8>>,
    /// TCP flags that must be set.
    pub tcp_flags: Option<u8>,
    /// Frame length in bytes.
    pub length: Option<RangeInclusive<u32>>,
    /// Flows, any of them.
    pub flows: Option<Vec<FlowId>>,
}

impl Rule {
    fn needs_fields(&self) -> bool {
        self.protocol.is_some()
            || self.source.is_some()
            || self.destination.is_some()
            || self.source_port.is_some()
            || self.destination_port.is_some()
            || self.flow_label.is_some()
    }

    /// Whether `packet`, whose addresses are `fields`, meets every condition.
    pub fn matches(&self, packet: &Packet, fields: Option<Fields>) -> bool {
        fn holds<T>(condition: Option<&T>, test: impl FnOnce(&T) -> bool) -> bool {
            condition.is_none_or(test)
        }
        let of_packet = holds(self.dscp.as_ref(), |codes| codes.contains(&packet.dscp()))
            && holds(self.tcp_flags.as_ref(), |flags| packet.tcp_flags & flags == *flags)
            && holds(self.length.as_ref(), |range| range.contains(&packet.length))
            && holds(self.flows.as_ref(), |flows| flows.contains(&packet.flow));
        if !of_packet || !self.needs_fields() {
            return of_packet;
        }
        fields.is_some_and(|fields| {
            holds(self.protocol.as_ref(), |protocol| *protocol == fields.protocol)
                && holds(self.source.as_ref(), |prefix| prefix.contains(fields.source))
                && holds(self.destination.as_ref(), |prefix| prefix.contains(fields.destination))
                && holds(self.source_port.as_ref(), |range| range.contains(&fields.source_port))
                && holds(self.destination_port.as_ref(), |range| range.contains(&fields.destination_port))
                && holds(self.flow_label.as_ref(), |label| *label == fields.flow_label)
        })
    }
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The child's place.
    pub child: u16,
    /// Whether no child took it.
    pub unclassified: bool,
}

/// The rules of a node's children, in the children's order.
#[derive(Clone, Debug, Default)]
pub struct Classifier {
    /// One entry a child; an empty one takes whatever comes.
    children: Vec<Vec<Rule>>,
    needs_fields: bool,
}

impl Classifier {
    /// A classifier for children with these rules.
    pub fn new(children: Vec<Vec<Rule>>) -> Self {
        let needs_fields = children.iter().flatten().any(Rule::needs_fields);
        Self { children, needs_fields }
    }

    /// The child that takes `packet`.
    pub fn classify(&self, packet: &Packet, headers: &dyn Headers) -> Class {
        let fields = if self.needs_fields { headers.fields(packet) } else { None };
        let taken = self
            .children
            .iter()
            .position(|rules| rules.is_empty() || rules.iter().any(|rule| rule.matches(packet, fields)));
        let child = taken.unwrap_or(self.children.len().saturating_sub(1));
        Class {
            // A packet names no child beyond these: the last that can be named stands in for them.
            child: u16::try_from(child).unwrap_or(u16::MAX),
            unclassified: taken.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;

    struct Fixed(Fields);
    impl Headers for Fixed {
        fn fields(&self, _: &Packet) -> Option<Fields> {
            Some(self.0)
        }
    }

    fn voice() -> Fixed {
        Fixed(Fields {
            protocol: 17,
            source: "10.0.0.1".parse().expect("address"),
            destination: "10.0.9.2".parse().expect("address"),
            source_port: 4000,
            destination_port: 5060,
            flow_label: 0,
        })
    }

    #[test]
    fn the_first_child_that_matches_takes_the_packet() {
        let port = |range| Rule { destination_port: Some(range), ..Rule::default() };
        let packet = Packet::new(Header { length: 200, ..Header::default() });
        let to = |children| Classifier::new(children).classify(&packet, &voice());
        let class = |child, unclassified| Class { child, unclassified };
        assert_eq!(to(vec![vec![port(1..=10)], vec![port(5060..=5061)], vec![]]), class(1, false));
        assert_eq!(to(vec![vec![port(1..=10)], vec![]]), class(1, false), "the child without rules");
        assert_eq!(to(vec![vec![port(1..=10)], vec![port(20..=30)]]), class(1, true), "nobody's packet");
        let all = Rule { protocol: Some(17), length: Some(1..=100), ..Rule::default() };
        assert_eq!(to(vec![vec![all], vec![]]), class(1, false), "every condition must hold");
    }

    #[test]
    fn prefixes_hold_their_leading_bits() {
        let prefix = |text: &str, bits| Prefix { address: text.parse().expect("address"), bits };
        let v4 = "10.0.9.2".parse().expect("address");
        assert!(prefix("10.0.0.0", 16).contains(v4));
        assert!(!prefix("10.1.0.0", 16).contains(v4));
        assert!(prefix("1.2.3.4", 0).contains(v4));
        assert!(!prefix("::", 0).contains(v4), "families do not mix");
        assert!(prefix("::", 0).contains("fe80::1".parse().expect("address")));
        assert!(!prefix("10.0.9.3", 32).contains(v4));
    }
}
