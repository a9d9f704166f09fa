//! Classifier: sorts packets to the children of a classful discipline.
//!
//! A packet goes to the first child with a matching rule. A child without rules takes every packet left; a
//! packet that no child takes is counted as unclassified and goes to the last child. Rules with a
//! `preference` are tried in its order instead, whatever their child. Addresses and ports stay with the
//! driver, and are read through [`Headers`] only if a rule needs them.

mod compiled;
mod step_function;

use core::net::IpAddr;
use core::ops::RangeInclusive;

use crate::packet::{FlowId, Packet, Position};

use compiled::Compiled;

/// Protocol number of a frame without an IP packet (ARP, spanning tree). IANA reserves it, so no packet has
/// it.
pub const PROTOCOL_OTHER: u8 = 255;

/// Addresses and ports of a packet, as far as it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// IP protocol number.
    pub protocol: u8,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source port, 0 if the protocol has none.
    pub source_port: u16,
    /// Destination port, 0 if the protocol has none.
    pub destination_port: u16,
    /// IPv6 flow label, 0 for IPv4.
    pub flow_label: u32,
}

/// Acknowledgement of a TCP segment, as far as a filter of acknowledgements compares it. Such a filter is
/// rare, so it is read from the segment and has no room in the packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Acknowledgement number of the TCP header, which wraps.
    pub number: u32,
    /// True if the segment has no data, no blocks of SACK, and no option but padding and timestamps.
    pub is_bare: bool,
}

/// Kinds of TCP options (RFC 9293 section 3.1, RFC 7323).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const TIMESTAMPS: u8 = 8;

/// Length of a TCP header without options, in bytes.
const TCP_HEADER: usize = 20;

impl Acknowledgement {
    /// Reads the one of a TCP segment, header and data; `None` if the header is damaged. The flag that says
    /// whether the number is valid is the caller's to check.
    pub fn in_segment(segment: &[u8]) -> Option<Self> {
        let number = u32::from_be_bytes(*segment.get(8..)?.first_chunk()?);
        let offset = *segment.get(12)?;
        let header = 4 * usize::from(offset >> 4);
        let options = segment.get(TCP_HEADER..header)?;
        // The other bits are reserved, or a count of congestion marks (RFC 9768).
        let is_plain = offset << 4 == 0;
        Some(Self { number, is_bare: is_plain && segment.len() == header && has_only_timestamps(options) })
    }

    /// Returns whether it acknowledges more than `other` (RFC 9293 section 3.4: numbers are compared modulo
    /// 2^32).
    pub fn is_beyond(self, other: Self) -> bool {
        self.number != other.number && self.number.wrapping_sub(other.number) < 1 << 31
    }
}

/// Returns whether there is no option but padding and timestamps.
fn has_only_timestamps(mut options: &[u8]) -> bool {
    loop {
        match options {
            [] | [END, ..] => return true,
            [NO_OPERATION, rest @ ..] | [TIMESTAMPS, 10, _, _, _, _, _, _, _, _, rest @ ..] => options = rest,
            _ => return false,
        }
    }
}

/// Reader of what a packet's header does not have: the simulator's table of flows, the live frame.
pub trait Headers {
    /// Returns the fields of `packet`; `None` if it carries none.
    fn fields(&self, packet: &Packet) -> Option<Fields>;

    /// Returns the hosts between which `packet` goes, source first, as they are behind the address
    /// translation of this machine; those of its fields where nothing is translated.
    fn hosts(&self, packet: &Packet) -> Option<[IpAddr; 2]> {
        self.fields(packet).map(|fields| [fields.source, fields.destination])
    }

    /// Returns the acknowledgement of `packet`; `None` if it is not a TCP segment with one.
    fn acknowledgement(&self, _: &Packet) -> Option<Acknowledgement> {
        None
    }

    /// Returns the mark of a firewall that `packet` has; 0 if it has none.
    fn mark(&self, _: &Packet) -> u32 {
        0
    }
}

/// [`Headers`] for trees whose rules need no addresses.
pub struct NoHeaders;

impl Headers for NoHeaders {
    fn fields(&self, _: &Packet) -> Option<Fields> {
        None
    }
}

/// Address prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Number of leading bits that count: 0..=32 for IPv4, 0..=128 for IPv6.
    pub bits: u8,
}

impl Prefix {
    /// Returns whether `address` has the prefix. Families do not mix.
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

/// Conditions on a packet; all that are given must hold.
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
    /// TCP flags that must not be set.
    pub tcp_flags_clear: Option<u8>,
    /// Frame length in bytes.
    pub length: Option<RangeInclusive<u32>>,
    /// Flows, any of them.
    pub flows: Option<Vec<FlowId>>,
    /// Rules of all children with lower ones are tried first; those with equal ones in the order of the
    /// children.
    pub preference: u32,
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

    /// Returns whether `packet`, whose addresses are `fields`, meets every condition.
    pub fn matches(&self, packet: &Packet, fields: Option<Fields>) -> bool {
        fn holds<T>(condition: Option<&T>, test: impl FnOnce(&T) -> bool) -> bool {
            condition.is_none_or(test)
        }
        let of_packet = holds(self.dscp.as_ref(), |codes| codes.contains(&packet.dscp()))
            && holds(self.tcp_flags.as_ref(), |flags| packet.tcp_flags & flags == *flags)
            && holds(self.tcp_flags_clear.as_ref(), |flags| packet.tcp_flags & flags == 0)
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

/// Result of a classification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Index of the child.
    pub child: u32,
    /// True if no rule matched.
    pub unclassified: bool,
}

/// Compiled rules of a node's children, in the children's order. One cache line, apart from the tables.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Classifier {
    compiled: Compiled,
    /// Child of unmatched packets; with `maps_rest` an index beyond all children.
    last: u32,
    needs_fields: bool,
    /// True if the discipline itself decides on unmatched packets.
    maps_rest: bool,
}

impl Classifier {
    /// Creates a classifier: one list of rules per child; an empty list matches every packet.
    pub fn new(children: Vec<Vec<Rule>>) -> Self {
        let needs_fields = children.iter().flatten().any(Rule::needs_fields);
        // Children beyond the last index that fits a packet share that index.
        let index_of = |child: usize| Position::clamp(child) as u32;
        let last = index_of(children.len().saturating_sub(1));
        let mut rules = Vec::new();
        for (child, own) in children.into_iter().enumerate() {
            if own.is_empty() {
                // Later children get no packets: this one takes the rest.
                rules.push((index_of(child), Rule { preference: u32::MAX, ..Rule::default() }));
                break;
            }
            rules.extend(own.into_iter().map(|rule| (index_of(child), rule)));
        }
        rules.sort_by_key(|(_, rule)| rule.preference);
        Self { compiled: Compiled::new(&rules), last, needs_fields, maps_rest: false }
    }

    /// Creates a classifier for a discipline that maps unmatched packets itself
    /// ([`maps_rest`](crate::discipline::Discipline::maps_rest)): an empty list matches nothing, and an
    /// unmatched packet gets an index beyond all children.
    pub fn for_mapped_rest(children: Vec<Vec<Rule>>) -> Self {
        let needs_fields = children.iter().flatten().any(Rule::needs_fields);
        let index_of = |child: usize| Position::clamp(child) as u32;
        let mut rules: Vec<_> = children
            .into_iter()
            .enumerate()
            .flat_map(|(child, own)| own.into_iter().map(move |rule| (index_of(child), rule)))
            .collect();
        rules.sort_by_key(|(_, rule)| rule.preference);
        let last = index_of(usize::MAX);
        Self { compiled: Compiled::new(&rules), last, needs_fields, maps_rest: true }
    }

    /// Returns the child that takes `packet`.
    #[inline]
    pub fn classify(&self, packet: &Packet, headers: &dyn Headers) -> Class {
        let fields = if self.needs_fields { headers.fields(packet) } else { None };
        match self.compiled.find(packet, fields) {
            Some(child) => Class { child, unclassified: false },
            None => Class { child: self.last, unclassified: !self.maps_rest },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Header;
    use crate::random::{Random, Seed};

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
    fn an_acknowledgement_is_bare_without_data_and_other_options() {
        let segment = |offset: u8, options: &[u8], data: &[u8]| {
            let mut bytes = vec![0; 20];
            bytes[8..12].copy_from_slice(&[0xff, 0, 0, 7]);
            bytes[12] = offset;
            bytes.extend(options);
            bytes.extend(data);
            Acknowledgement::in_segment(&bytes).map(|read| (read.number, read.is_bare))
        };
        let timestamps = [1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8];
        let sack = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9];
        let number = 0xff00_0007;
        assert_eq!(segment(0x50, &[], &[]), Some((number, true)));
        assert_eq!(segment(0x50, &[], &[0]), Some((number, false)), "data");
        assert_eq!(segment(0x80, &timestamps, &[]), Some((number, true)));
        assert_eq!(segment(0x80, &sack, &[]), Some((number, false)), "blocks");
        assert_eq!(segment(0x60, &[0, 9, 9, 9], &[]), Some((number, true)), "padding");
        assert_eq!(segment(0x60, &[8, 0, 0, 0], &[]), Some((number, false)), "a damaged option");
        assert_eq!(segment(0x51, &[], &[]), Some((number, false)), "a reserved bit");
        assert_eq!(segment(0x40, &[], &[]), None, "a damaged offset");
        assert_eq!(segment(0xf0, &[], &[]), None, "a short segment");
        assert_eq!(Acknowledgement::in_segment(&[0; 12]), None);
    }

    #[test]
    fn acknowledgement_numbers_wrap() {
        let of = |number| Acknowledgement { number, is_bare: true };
        assert!(of(7).is_beyond(of(u32::MAX)) && !of(u32::MAX).is_beyond(of(7)));
        assert!(!of(7).is_beyond(of(7)) && of(8).is_beyond(of(7)));
        assert!(!of(1 << 31).is_beyond(of(0)), "as far as it can be: it may as well be behind");
    }

    #[test]
    fn the_first_child_that_matches_takes_the_packet() {
        let port = |range| Rule { destination_port: Some(range), ..Rule::default() };
        let packet = Packet::new(Header { length: 200, ..Header::default() });
        let to = |children| Classifier::new(children).classify(&packet, &voice());
        let class = |child, unclassified| Class { child, unclassified };
        assert_eq!(to(vec![vec![port(1..=10)], vec![port(5060..=5061)], vec![]]), class(1, false));
        assert_eq!(to(vec![vec![port(1..=10)], vec![]]), class(1, false), "the child without rules");
        assert_eq!(to(vec![vec![port(1..=10)], vec![port(20..=30)]]), class(1, true), "no child takes it");
        let all = Rule { protocol: Some(17), length: Some(1..=100), ..Rule::default() };
        assert_eq!(to(vec![vec![all], vec![]]), class(1, false), "every condition must hold");
    }

    #[test]
    fn rules_of_lower_preference_are_tried_first() {
        let length = |range, preference| Rule { length: Some(range), preference, ..Rule::default() };
        let all = Rule { preference: 9, ..Rule::default() };
        let children = vec![vec![all], vec![length(1..=300, 2)], vec![length(200..=200, 1)], vec![]];
        let classifier = Classifier::new(children);
        let to = |length| {
            classifier.classify(&Packet::new(Header { length, ..Header::default() }), &NoHeaders).child
        };
        assert_eq!((to(200), to(100), to(400)), (2, 1, 0), "not the order of the children");
    }

    #[test]
    fn flags_that_must_be_clear_are_compared() {
        let ack = Rule { tcp_flags: Some(0x10), tcp_flags_clear: Some(0x07), ..Rule::default() };
        let classifier = Classifier::new(vec![vec![ack], vec![]]);
        let to = |tcp_flags| {
            classifier.classify(&Packet::new(Header { tcp_flags, ..Header::default() }), &NoHeaders).child
        };
        assert_eq!((to(0x10), to(0x18), to(0x11), to(0x00)), (0, 0, 1, 1));
    }

    #[test]
    fn unmatched_packets_are_left_to_a_discipline_that_maps_them() {
        let length = |length| Rule { length: Some(length..=length), ..Rule::default() };
        let classifier = Classifier::for_mapped_rest(vec![vec![], vec![length(200)], vec![]]);
        let to = |length| {
            classifier
                .classify(&Packet::new(Header { length, ..Header::default() }), &crate::classify::NoHeaders)
        };
        assert_eq!(to(200), Class { child: 1, unclassified: false });
        let beyond = Position::clamp(usize::MAX) as u32;
        assert_eq!(
            to(201),
            Class { child: beyond, unclassified: false },
            "a child without rules takes nothing"
        );
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

    /// Returns a random number below `bound`.
    fn draw(random: &mut Random, bound: u32) -> u32 {
        random.below(bound)
    }

    fn some<T>(random: &mut Random, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
        (random.below(4) == 0).then(|| make(random))
    }

    fn address(random: &mut Random) -> IpAddr {
        let (near, far) = (random.below(4), random.below(2) * u32::MAX);
        if random.below(2) == 0 {
            IpAddr::V4((far ^ near << (8 * random.below(4))).into())
        } else {
            IpAddr::V6((u128::from(far) << 96 ^ u128::from(near) << (8 * random.below(16))).into())
        }
    }

    fn any_prefix(random: &mut Random) -> Prefix {
        let address = address(random);
        Prefix { address, bits: random.below(if address.is_ipv4() { 34 } else { 130 }) as u8 }
    }

    fn ports(random: &mut Random) -> RangeInclusive<u16> {
        // Empty ranges and one to the end are among them.
        let first = random.below(8) as u16;
        first..=(if random.below(8) == 0 { u16::MAX } else { random.below(8) as u16 })
    }

    fn any_rule(random: &mut Random) -> Rule {
        let numbers = |random: &mut Random, bound: u32| -> Vec<u32> {
            (0..random.below(4)).map(|_| random.below(bound)).collect()
        };
        Rule {
            protocol: some(random, |random| draw(random, 3) as u8),
            source: some(random, any_prefix),
            destination: some(random, any_prefix),
            source_port: some(random, ports),
            destination_port: some(random, ports),
            flow_label: some(random, |random| draw(random, 3)),
            dscp: some(random, |random| numbers(random, 5).into_iter().map(|code| code as u8).collect()),
            tcp_flags: some(random, |random| draw(random, 4) as u8),
            tcp_flags_clear: some(random, |random| draw(random, 4) as u8),
            preference: 0,
            length: some(random, |random| {
                draw(random, 5)..=(random.below(2) * (u32::MAX - 8) + random.below(8))
            }),
            flows: some(random, |random| numbers(random, 6).into_iter().map(FlowId).collect()),
        }
    }

    /// Creates a rule with a condition on the protocol alone, or none.
    fn protocol_rule(random: &mut Random) -> Rule {
        Rule { protocol: (random.below(20) > 0).then(|| random.below(4) as u8), ..Rule::default() }
    }

    /// Creates a rule with a condition on flows alone, or none.
    fn flow_rule(random: &mut Random) -> Rule {
        let flows = (random.below(20) > 0).then(|| vec![FlowId(random.below(30)), FlowId(random.below(30))]);
        Rule { flows, ..Rule::default() }
    }

    /// Creates a rule with a condition on the destination alone, or none.
    fn address_rule(random: &mut Random) -> Rule {
        Rule { destination: (random.below(40) > 0).then(|| any_prefix(random)), ..Rule::default() }
    }

    /// Creates a rule with a condition on an IPv4 destination alone, mostly a whole address, or none.
    fn subscriber_rule(random: &mut Random) -> Rule {
        let bits = if random.below(8) == 0 { random.below(34) as u8 } else { 32 };
        let base = if random.below(4) == 0 { u32::MAX - 40 } else { 0 };
        let address = IpAddr::V4((base + random.below(41)).into());
        Rule { destination: (random.below(40) > 0).then_some(Prefix { address, bits }), ..Rule::default() }
    }

    #[test]
    fn compiled_rules_agree_with_one_comparison_after_another() {
        let mut random = Random::stream(Seed(1), "classify");
        let (mut unclassified, mut beyond) = (0, 0);
        for case in 0..600_u32 {
            let rules = [flow_rule, protocol_rule, any_rule, any_rule, address_rule, subscriber_rule];
            let rule = rules[case as usize % rules.len()];
            let children: Vec<Vec<Rule>> = (0..=random.below(50))
                .map(|_| {
                    (0..u32::from(random.below(60) > 0) * (1 + random.below(4)))
                        .map(|_| rule(&mut random))
                        .collect()
                })
                .collect();
            let classifier = Classifier::new(children.clone());
            for _ in 0..50 {
                let fields = some(&mut random, address).map_or_else(
                    || {
                        Some(Fields {
                            protocol: random.below(3) as u8,
                            source: address(&mut random),
                            destination: address(&mut random),
                            source_port: random.below(9) as u16,
                            destination_port: if random.below(9) == 0 { u16::MAX } else { 3 },
                            flow_label: random.below(3),
                        })
                    },
                    |_| None,
                );
                let packet = Packet::new(Header {
                    flow: FlowId(random.below(40)),
                    length: if random.below(9) == 0 { u32::MAX } else { random.below(9) },
                    traffic_class: random.below(24) as u8,
                    tcp_flags: random.below(5) as u8,
                    ..Header::default()
                });
                let taken = children.iter().position(|rules| {
                    rules.is_empty() || rules.iter().any(|rule| rule.matches(&packet, fields))
                });
                let expected = Class {
                    child: taken.unwrap_or(children.len() - 1) as u32,
                    unclassified: taken.is_none(),
                };
                let found = fields.map_or_else(
                    || classifier.classify(&packet, &crate::classify::NoHeaders),
                    |fields| classifier.classify(&packet, &Fixed(fields)),
                );
                assert_eq!(found, expected, "{packet:?} with {fields:?} among {children:?}");
                unclassified += u32::from(expected.unclassified);
                beyond += u32::from(expected.child > 20 && !expected.unclassified);
            }
        }
        assert!(unclassified > 100 && beyond > 50, "{unclassified} and {beyond} try nothing");
    }
}
