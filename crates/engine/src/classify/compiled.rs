//! Compiled rules of a classifier: bit vectors per field instead of one comparison per rule.
//!
//! ```text
//! rules        0 1 2 3 ...                        children   0 0 1 2 ...
//! length 300   1 1 0 1   bit set: the rule's condition on the length holds, or it has none
//! dscp    46   0 1 1 1   the same for the code point
//! and          0 1 0 1   lowest bit left: rule 1, child 0
//! ```
//!
//! After Lakshman and Stiliadis, High-Speed Policy-based Packet Forwarding, SIGCOMM 1998: one search per
//! field, and the results are intersected, in blocks of 64 rules. If all conditions are on one and the same
//! field, the search yields the child itself, whatever the number of rules: one load from a lookup table, of
//! bytes if there are at most 255 children (decision 071: 131 to 125 ns for `hfsc` with 1000 classes).
//!
//! Cost of blocks: a search per used field and 64 rules. A search is one load for a number whose bounds are
//! near each other, else O(log n) comparisons. Decision 015.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::num::NonZeroU32;
use core::ops::RangeInclusive;

use super::step_function::{LookupTable, Span, StepFunction};
use super::{Fields, Prefix, Rule};
use crate::packet::Packet;

/// Rules per block: the bits of a word.
const BLOCK: usize = 64;

/// Numeric field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumericField {
    Flow,
    Length,
    Dscp,
    TcpFlags,
    Protocol,
    SourcePort,
    DestinationPort,
    FlowLabel,
}

impl NumericField {
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

    /// Returns the packet's value; `None` if it has no addresses.
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

    /// Returns the values that meet the rule's condition; `None` if it has none.
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
            Self::TcpFlags => rule.tcp_flags.or(rule.tcp_flags_clear).map(|_| {
                let (set, clear) = (rule.tcp_flags.unwrap_or(0), rule.tcp_flags_clear.unwrap_or(0));
                (0..=u8::MAX)
                    .filter(|flags| flags & set == set && flags & clear == 0)
                    .map(|flags| u32::from(flags)..=u32::from(flags))
                    .collect()
            }),
            Self::Protocol => rule.protocol.map(|protocol| one(u32::from(protocol))),
            Self::SourcePort => rule.source_port.as_ref().map(ports),
            Self::DestinationPort => rule.destination_port.as_ref().map(ports),
            Self::FlowLabel => rule.flow_label.map(one),
        }
    }

    /// Returns the spans of these rules, and the indices of those with a condition on this field.
    fn spans<'a>(self, rules: impl Iterator<Item = &'a Rule>) -> (Vec<Span<u32>>, Vec<usize>) {
        let (mut spans, mut constrained) = (Vec::new(), Vec::new());
        for (number, rule) in rules.enumerate() {
            let Some(ranges) = self.ranges(rule) else { continue };
            constrained.push(number);
            spans.extend(ranges.into_iter().filter(|range| !range.is_empty()).map(|range| Span {
                rule: number,
                first: *range.start(),
                next: range.end().checked_add(1),
            }));
        }
        (spans, constrained)
    }
}

/// Address field of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Address {
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

/// Returns the range of addresses of a prefix. IPv4 addresses sort before IPv6 ones, as [`IpAddr`] orders
/// them.
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

/// Block of up to 64 rules, a bit each.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Child of each rule.
    children: Vec<u32>,
    /// Set of all rules.
    all: u64,
    /// Set of the rules that need addresses.
    addressed: u64,
    numbers: Vec<(NumericField, LookupTable<u64>)>,
    addresses: Vec<(Address, StepFunction<IpAddr, u64>)>,
}

impl Block {
    fn new(rules: &[(u32, Rule)]) -> Self {
        let all = u64::MAX >> (BLOCK - rules.len());
        let bits = |rules: &mut dyn Iterator<Item = usize>| rules.fold(0, |bits, rule| bits | 1_u64 << rule);
        let number = |number: NumericField| {
            let (spans, constrained) = number.spans(rules.iter().map(|(_, rule)| rule));
            let others = all & !bits(&mut constrained.iter().copied());
            (!constrained.is_empty())
                .then(|| (number, StepFunction::new(&spans, |holding| others | bits(holding)).into()))
        };
        let address = |address: Address| {
            let prefixes = rules
                .iter()
                .enumerate()
                .filter_map(|(index, (_, rule))| Some((index, address.prefix(rule)?)));
            let spans: Vec<_> = prefixes.map(|(index, prefix)| span(index, prefix)).collect();
            let others = all & !bits(&mut spans.iter().map(|span| span.rule));
            (!spans.is_empty())
                .then(|| (address, StepFunction::new(&spans, |holding| others | bits(holding))))
        };
        let addressed = rules.iter().enumerate().filter(|(_, (_, rule))| rule.needs_fields());
        Self {
            children: rules.iter().map(|(child, _)| *child).collect(),
            all,
            addressed: bits(&mut addressed.map(|(index, _)| index)),
            numbers: NumericField::ALL.into_iter().filter_map(number).collect(),
            addresses: [Address::Source, Address::Destination].into_iter().filter_map(address).collect(),
        }
    }

    /// Returns the child of the first rule that holds.
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

/// `Option` of a child in 4 bytes: the child's index plus 1, using the niche of `NonZeroU32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OptionalChild(Option<NonZeroU32>);

impl OptionalChild {
    fn new(child: Option<u32>) -> Self {
        Self(child.and_then(|child| NonZeroU32::new(child + 1)))
    }

    #[inline]
    fn child(self) -> Option<u32> {
        self.0.map(|above| above.get() - 1)
    }
}

/// Lookup table from a number to the child that takes it.
#[derive(Clone, Debug)]
pub(super) enum ChildTable {
    /// One-byte entries, used for up to 255 children: the child's index plus 1, 0 for none.
    Bytes(LookupTable<u8>),
    /// Four-byte entries.
    Words(LookupTable<OptionalChild>),
}

impl ChildTable {
    fn new(table: StepFunction<u32, OptionalChild>) -> Self {
        let bytes = table.try_map(|child| u8::try_from(child.0.map_or(0, NonZeroU32::get)).ok());
        bytes.map_or_else(|| Self::Words(table.into()), |bytes| Self::Bytes(bytes.into()))
    }

    #[inline(always)]
    fn at(&self, number: u32) -> Option<u32> {
        match self {
            Self::Bytes(table) => u32::from(table.at(number)).checked_sub(1),
            Self::Words(table) => table.at(number).child(),
        }
    }
}

/// Children by one address.
#[derive(Clone, Debug)]
pub(super) enum AddressTable {
    /// All rules are for IPv4: the address is a number, found by one load if the rules' addresses are near
    /// each other, as those of many subscribers are.
    V4 {
        table: ChildTable,
        /// Child of an IPv6 packet.
        others: OptionalChild,
    },
    /// Rules for any family.
    Any(StepFunction<IpAddr, OptionalChild>),
}

impl AddressTable {
    /// Compiles the rules' prefixes; `child` gives the child from the rules that hold.
    fn new(
        prefixes: &[(usize, Prefix)],
        child: impl Fn(&mut dyn Iterator<Item = usize>) -> OptionalChild,
    ) -> Self {
        if prefixes.iter().any(|(_, prefix)| prefix.address.is_ipv6()) {
            let spans: Vec<_> = prefixes.iter().map(|(rule, prefix)| span(*rule, *prefix)).collect();
            return Self::Any(StepFunction::new(&spans, child));
        }
        let number = |address: IpAddr| match address {
            IpAddr::V4(address) => Some(address.to_bits()),
            IpAddr::V6(_) => None,
        };
        let span_of = |&(rule, prefix): &(usize, Prefix)| {
            let Span { first, next, .. } = span(rule, prefix);
            Some(Span { rule, first: number(first)?, next: next.and_then(number) })
        };
        let spans: Vec<_> = prefixes.iter().filter_map(span_of).collect();
        let others = child(&mut core::iter::empty());
        Self::V4 { table: ChildTable::new(StepFunction::new(&spans, child)), others }
    }

    #[inline]
    fn at(&self, address: IpAddr) -> Option<u32> {
        match (self, address) {
            (Self::V4 { table, .. }, IpAddr::V4(address)) => table.at(address.to_bits()),
            (Self::V4 { others, .. }, IpAddr::V6(_)) => others.child(),
            (Self::Any(table), address) => table.at(address).child(),
        }
    }
}

/// Compiled rules.
#[derive(Clone, Debug)]
pub(super) enum Compiled {
    /// All conditions are on this field.
    SingleField {
        number: NumericField,
        table: ChildTable,
        /// Child of a packet without this field.
        without: OptionalChild,
    },
    /// All conditions are on the destination or on the source: one search, whatever the number of rules.
    /// Boxed, because the classifier is one cache line.
    SingleAddress {
        address: Address,
        table: Box<AddressTable>,
        /// Child of a packet without addresses.
        without: OptionalChild,
    },
    /// Conditions on several fields.
    Blocks(Vec<Block>),
}

impl Compiled {
    /// Compiles the rules, given in order with their children. A rule without conditions matches every
    /// packet.
    pub(super) fn new(rules: &[(u32, Rule)]) -> Self {
        let is_used = |number: &NumericField| rules.iter().any(|(_, rule)| number.ranges(rule).is_some());
        let mut numbers = NumericField::ALL.into_iter().filter(is_used);
        let (first, second) = (numbers.next(), numbers.next());
        let by_address = rules.iter().any(|(_, rule)| rule.source.is_some() || rule.destination.is_some());
        if first.is_none() && by_address && rules.len() > BLOCK {
            for (address, other) in
                [(Address::Source, Address::Destination), (Address::Destination, Address::Source)]
            {
                if rules.iter().all(|(_, rule)| other.prefix(rule).is_none()) {
                    return Self::single_address(address, rules);
                }
            }
        }
        if second.is_some() || by_address {
            return Self::Blocks(rules.chunks(BLOCK).map(Block::new).collect());
        }
        let number = first.unwrap_or(NumericField::Flow);
        let (spans, constrained) = number.spans(rules.iter().map(|(_, rule)| rule));
        // The first rule without a condition precedes all later rules and follows those before it.
        let rest = constrained
            .iter()
            .enumerate()
            .find(|(index, rule)| index != *rule)
            .map_or(constrained.len(), |(index, _)| index);
        let child = |rule: usize| OptionalChild::new(rules.get(rule).map(|(child, _)| *child));
        let table =
            StepFunction::new(&spans, |holding| child(holding.next().map_or(rest, |rule| rule.min(rest))));
        Self::SingleField { number, table: ChildTable::new(table), without: child(rest) }
    }

    /// Compiles rules whose conditions are all on one address.
    fn single_address(address: Address, rules: &[(u32, Rule)]) -> Self {
        let prefixes: Vec<_> = rules
            .iter()
            .enumerate()
            .filter_map(|(number, (_, rule))| Some((number, address.prefix(rule)?)))
            .collect();
        let rest = rules.iter().position(|(_, rule)| address.prefix(rule).is_none()).unwrap_or(rules.len());
        let child = |rule: usize| OptionalChild::new(rules.get(rule).map(|(child, _)| *child));
        let table =
            AddressTable::new(&prefixes, |holding| child(holding.next().map_or(rest, |rule| rule.min(rest))));
        Self::SingleAddress { address, table: Box::new(table), without: child(rest) }
    }

    /// Returns the child of the first rule that holds.
    #[inline(always)]
    pub(super) fn find(&self, packet: &Packet, fields: Option<Fields>) -> Option<u32> {
        match self {
            Self::SingleField { number, table, without } => {
                number.of(packet, fields).map_or_else(|| without.child(), |value| table.at(value))
            }
            Self::SingleAddress { address, table, without } => {
                fields.map_or_else(|| without.child(), |fields| table.at(address.of(fields)))
            }
            Self::Blocks(blocks) => find_in_blocks(blocks, packet, fields),
        }
    }
}

#[inline(never)]
fn find_in_blocks(blocks: &[Block], packet: &Packet, fields: Option<Fields>) -> Option<u32> {
    blocks.iter().find_map(|block| block.find(packet, fields))
}
