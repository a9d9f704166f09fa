//! A classifier's rules made ready for the packets: what all of them say of a field is looked up once.
//!
//! ```text
//! rules        0 1 2 3 ...                        children   0 0 1 2 ...
//! length 300   1 1 0 1   bits of the rules whose condition on the length holds, or that have none
//! dscp    46   0 1 1 1   the same of the code point
//! and          0 1 0 1   the lowest bit left: rule 1, child 0
//! ```
//!
//! After Lakshman and Stiliadis, High-Speed Policy-based Packet Forwarding, SIGCOMM 1998: a search in each field
//! instead of one comparison a rule, in blocks of 64 rules. Where no rule has a condition on more than one and the
//! same field, the search finds the child itself, however many there are.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::num::NonZeroU32;
use core::ops::RangeInclusive;

use super::steps::{Span, Steps, Table};
use super::{Fields, Prefix, Rule};
use crate::packet::Packet;

/// Rules of a block: the bits of a word.
const BLOCK: usize = 64;

/// A field that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Flow,
    Length,
    Dscp,
    TcpFlags,
    Protocol,
    SourcePort,
    DestinationPort,
    FlowLabel,
}

impl Number {
    const ALL: [Self; 8] = [
        Self::Flow,
        Self::Length,
        Self::Dscp,
        Self::TcpFlags,
        Self::Protocol,
        Self::SourcePort,
        Self::DestinationPort,
        Self::FlowLabel,
    ];

    /// What the packet has there; `None` where it has no addresses.
    #[inline]
    fn of(self, packet: &Packet, fields: Option<Fields>) -> Option<u32> {
        Some(match self {
            Self::Flow => packet.flow.0,
            Self::Length => packet.length,
            Self::Dscp => u32::from(packet.dscp()),
            Self::TcpFlags => u32::from(packet.tcp_flags),
            Self::Protocol => u32::from(fields?.protocol),
            Self::SourcePort => u32::from(fields?.source_port),
            Self::DestinationPort => u32::from(fields?.destination_port),
            Self::FlowLabel => fields?.flow_label,
        })
    }

    /// The values that meet the rule's condition; `None` where it has none.
    fn ranges(self, rule: &Rule) -> Option<Vec<RangeInclusive<u32>>> {
        let one = |value: u32| vec![value..=value];
        let ports = |ports: &RangeInclusive<u16>| vec![u32::from(*ports.start())..=u32::from(*ports.end())];
        match self {
            Self::Flow => rule.flows.as_ref().map(|flows| flows.iter().map(|flow| flow.0..=flow.0).collect()),
            Self::Length => rule.length.clone().map(|lengths| vec![lengths]),
            Self::Dscp => rule
                .dscp
                .as_ref()
                .map(|codes| codes.iter().map(|code| u32::from(*code)..=u32::from(*code)).collect()),
            Self::TcpFlags => rule.tcp_flags.map(|flags| {
                (0..=u8::MAX)
                    .filter(|of| of & flags == flags)
                    .map(|of| u32::from(of)..=u32::from(of))
                    .collect()
            }),
            Self::Protocol => rule.protocol.map(|protocol| one(u32::from(protocol))),
            Self::SourcePort => rule.source_port.as_ref().map(ports),
            Self::DestinationPort => rule.destination_port.as_ref().map(ports),
            Self::FlowLabel => rule.flow_label.map(one),
        }
    }

    /// The spans of these rules, and which of them have a condition on this field.
    fn spans<'a>(self, rules: impl Iterator<Item = &'a Rule>) -> (Vec<Span<u32>>, Vec<usize>) {
        let (mut spans, mut asking) = (Vec::new(), Vec::new());
        for (number, rule) in rules.enumerate() {
            let Some(ranges) = self.ranges(rule) else { continue };
            asking.push(number);
            spans.extend(ranges.into_iter().filter(|range| !range.is_empty()).map(|range| Span {
                rule: number,
                first: *range.start(),
                next: range.end().checked_add(1),
            }));
        }
        (spans, asking)
    }
}

/// Which of the two addresses.
#[derive(Clone, Copy, Debug)]
enum Address {
    Source,
    Destination,
}

impl Address {
    #[inline]
    fn of(self, fields: Fields) -> IpAddr {
        match self {
            Self::Source => fields.source,
            Self::Destination => fields.destination,
        }
    }

    fn prefix(self, rule: &Rule) -> Option<Prefix> {
        match self {
            Self::Source => rule.source,
            Self::Destination => rule.destination,
        }
    }
}

/// The addresses of a prefix. Those of IPv4 stand before those of IPv6, as [`IpAddr`] orders them.
fn span(rule: usize, prefix: Prefix) -> Span<IpAddr> {
    let bits = u32::from(prefix.bits);
    match prefix.address {
        IpAddr::V4(address) => {
            let host = u32::MAX.checked_shr(bits).unwrap_or(0);
            let first = address.to_bits() & !host;
            let next = (first | host).checked_add(1).map(|next| IpAddr::V4(Ipv4Addr::from_bits(next)));
            let next = next.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
            Span { rule, first: IpAddr::V4(Ipv4Addr::from_bits(first)), next: Some(next) }
        }
        IpAddr::V6(address) => {
            let host = u128::MAX.checked_shr(bits).unwrap_or(0);
            let first = address.to_bits() & !host;
            let next = (first | host).checked_add(1).map(|next| IpAddr::V6(Ipv6Addr::from_bits(next)));
            Span { rule, first: IpAddr::V6(Ipv6Addr::from_bits(first)), next }
        }
    }
}

/// Up to 64 rules, a bit each.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The child of each.
    children: Vec<u32>,
    /// A bit for each.
    all: u64,
    /// Those that need addresses.
    addressed: u64,
    numbers: Vec<(Number, Table<u64>)>,
    addresses: Vec<(Address, Steps<IpAddr, u64>)>,
}

impl Block {
    fn new(rules: &[(u32, Rule)]) -> Self {
        let all = u64::MAX >> (BLOCK - rules.len());
        let bits = |rules: &mut dyn Iterator<Item = usize>| rules.fold(0, |bits, rule| bits | 1_u64 << rule);
        let number = |number: Number| {
            let (spans, asking) = number.spans(rules.iter().map(|(_, rule)| rule));
            let others = all & !bits(&mut asking.iter().copied());
            (!asking.is_empty())
                .then(|| (number, Steps::new(&spans, |holding| others | bits(holding)).into()))
        };
        let address = |address: Address| {
            let prefixes = rules
                .iter()
                .enumerate()
                .filter_map(|(place, (_, rule))| Some((place, address.prefix(rule)?)));
            let spans: Vec<_> = prefixes.map(|(place, prefix)| span(place, prefix)).collect();
            let others = all & !bits(&mut spans.iter().map(|span| span.rule));
            (!spans.is_empty()).then(|| (address, Steps::new(&spans, |holding| others | bits(holding))))
        };
        let addressed = rules.iter().enumerate().filter(|(_, (_, rule))| rule.needs_fields());
        Self {
            children: rules.iter().map(|(child, _)| *child).collect(),
            all,
            addressed: bits(&mut addressed.map(|(place, _)| place)),
            numbers: Number::ALL.into_iter().filter_map(number).collect(),
            addresses: [Address::Source, Address::Destination].into_iter().filter_map(address).collect(),
        }
    }

    /// The child whose rule holds first.
    #[inline]
    fn find(&self, packet: &Packet, fields: Option<Fields>) -> Option<u32> {
        let mut holding = if fields.is_some() { self.all } else { self.all & !self.addressed };
        for (number, steps) in &self.numbers {
            if let Some(value) = number.of(packet, fields) {
                holding &= steps.at(value);
            }
        }
        if let Some(fields) = fields {
            for (address, steps) in &self.addresses {
                holding &= steps.at(address.of(fields));
            }
        }
        (holding != 0).then(|| self.children[holding.trailing_zeros() as usize])
    }
}

/// The child that takes a packet, if any does: one more than its number, in half of what an option of it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taker(Option<NonZeroU32>);

impl Taker {
    fn new(child: Option<u32>) -> Self {
        Self(child.and_then(|child| NonZeroU32::new(child + 1)))
    }

    #[inline]
    fn child(self) -> Option<u32> {
        self.0.map(|taker| taker.get() - 1)
    }
}

/// Who takes the packets of each number.
#[derive(Clone, Debug)]
pub(super) enum Takers {
    /// Of so few children that a byte names one: as above, 0 is nobody.
    Few(Table<u8>),
    /// Of more.
    Many(Table<Taker>),
}

impl Takers {
    fn new(takers: Steps<u32, Taker>) -> Self {
        let few = takers.try_map(|taker| u8::try_from(taker.0.map_or(0, NonZeroU32::get)).ok());
        few.map_or_else(|| Self::Many(takers.into()), |few| Self::Few(few.into()))
    }

    #[inline(always)]
    fn at(&self, number: u32) -> Option<u32> {
        match self {
            Self::Few(takers) => u32::from(takers.at(number)).checked_sub(1),
            Self::Many(takers) => takers.at(number).child(),
        }
    }
}

/// All rules.
#[derive(Clone, Debug)]
pub(super) enum Compiled {
    /// No rule asks for another field than this.
    Line {
        number: Number,
        takers: Takers,
        /// Who takes a packet that does not have it.
        without: Taker,
    },
    /// Rules with several conditions.
    Blocks(Vec<Block>),
}

impl Compiled {
    /// The rules with their children, in order; a rule without conditions takes whatever comes.
    pub(super) fn new(rules: &[(u32, Rule)]) -> Self {
        let asked = |number: &Number| rules.iter().any(|(_, rule)| number.ranges(rule).is_some());
        let mut numbers = Number::ALL.into_iter().filter(asked);
        let (first, second) = (numbers.next(), numbers.next());
        let by_address = rules.iter().any(|(_, rule)| rule.source.is_some() || rule.destination.is_some());
        if second.is_some() || by_address {
            return Self::Blocks(rules.chunks(BLOCK).map(Block::new).collect());
        }
        let number = first.unwrap_or(Number::Flow);
        let (spans, asking) = number.spans(rules.iter().map(|(_, rule)| rule));
        // The first that asks for nothing stands behind those before it and before all others.
        let rest = asking
            .iter()
            .enumerate()
            .find(|(place, rule)| place != *rule)
            .map_or(asking.len(), |(place, _)| place);
        let child = |rule: usize| Taker::new(rules.get(rule).map(|(child, _)| *child));
        let takers = Steps::new(&spans, |holding| child(holding.next().map_or(rest, |rule| rule.min(rest))));
        Self::Line { number, takers: Takers::new(takers), without: child(rest) }
    }

    /// The child whose rule holds first.
    #[inline(always)]
    pub(super) fn find(&self, packet: &Packet, fields: Option<Fields>) -> Option<u32> {
        match self {
            Self::Line { number, takers, without } => {
                number.of(packet, fields).map_or_else(|| without.child(), |value| takers.at(value))
            }
            Self::Blocks(blocks) => find_in_blocks(blocks, packet, fields),
        }
    }
}

#[inline(never)]
fn find_in_blocks(blocks: &[Block], packet: &Packet, fields: Option<Fields>) -> Option<u32> {
    blocks.iter().find_map(|block| block.find(packet, fields))
}
