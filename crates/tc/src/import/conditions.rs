//! Conditions of a filter, as bits of an IPv4 header and of the transport header after it.

mod covers;
mod inexpressible;

use core::net::Ipv4Addr;

pub(crate) use self::inexpressible::Inexpressible;
use crate::parse::masked_of;
use crate::problem::Problem;
use crate::syntax::{Classifier, End, Filter, Key, Masked, Offset, Prefix, Selector};

/// Bytes supported: an IPv4 header and a TCP header, both without options.
const BYTES: usize = 40;

/// Bytes of a frame before the IPv4 header.
const ETHERNET: u32 = 14;

/// Bytes of an IPv4 header without options: offset of the transport header.
const TRANSPORT: usize = 20;

/// Mask of the code point in a TOS byte; the other two bits are ECN.
const CODE_POINT: u8 = 0xfc;

/// Names of the TCP flags, from the lowest bit (RFC 9293, section 3.1).
pub(super) const FLAGS: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];

/// Required bits, and ranges of ports. The default matches every packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conditions {
    values: [u8; BYTES],
    masks: [u8; BYTES],
    /// Ranges of source and destination port.
    ports: [(u16, u16); 2],
    /// Mark, compared where the mask has ones.
    mark: Masked,
    /// True if two conditions contradict each other.
    is_contradiction: bool,
}

/// Limit on the rules of one filter, after masks with gaps are expanded.
const MOST_RULES: usize = 256;

impl Default for Conditions {
    fn default() -> Self {
        let (values, masks) = ([0; BYTES], [0; BYTES]);
        Self {
            values,
            masks,
            ports: [(0, u16::MAX); 2],
            mark: Masked { value: 0, mask: 0 },
            is_contradiction: false,
        }
    }
}

/// Headers of a flow's packets.
#[derive(Clone, Debug)]
pub struct Headers {
    /// Name of the flow.
    pub name: String,
    /// Protocol of its IP packets.
    pub protocol: u8,
    /// Addresses of sender and receiver, if known.
    pub addresses: Option<[Ipv4Addr; 2]>,
    /// Source port, if known.
    pub source_port: Option<u16>,
    /// Destination port.
    pub destination_port: u16,
    /// TOS byte.
    pub tos: u8,
    /// True if the ECN bits of every packet are those of `tos`.
    pub has_fixed_ecn: bool,
    /// Bytes of a frame, if all have the same length.
    pub length: Option<u32>,
}

/// A rule of a scenario's `match`; `None` and empty lists compare nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    pub protocol: Option<u8>,
    /// Address and length of its prefix.
    pub source: Option<(Ipv4Addr, u32)>,
    pub destination: Option<(Ipv4Addr, u32)>,
    /// Lowest and highest port.
    pub source_port: Option<(u16, u16)>,
    pub destination_port: Option<(u16, u16)>,
    pub code_points: Vec<u8>,
    pub tcp_flags: Vec<&'static str>,
    pub tcp_flags_clear: Vec<&'static str>,
    /// Mark and its mask.
    pub mark: Option<(u32, u32)>,
    /// Order among the rules of all classes; 0 if the order of the classes decides.
    pub preference: u32,
    /// Lowest and highest length of a frame in bytes.
    pub length: Option<(u32, u32)>,
}

/// Returns the number of leading ones of a mask that has no others; `None` for other masks.
fn leading(mask: u32, width: u32) -> Option<u32> {
    let ones = (mask << (32 - width)).leading_ones();
    (mask.count_ones() == ones).then_some(ones)
}

impl Conditions {
    /// Returns the conditions of a filter, for a comparison with a kernel: only those that are compared
    /// exactly.
    ///
    /// # Errors
    /// Returns the first condition that a scenario cannot express, or that no packet satisfies.
    pub(super) fn of(filter: &Filter) -> Result<Self, Problem> {
        let classifier = &filter.classifier;
        if let Some(hash) = &filter.hash {
            return Err(Problem::new(hash.at, "hash tables (`ht`, `divisor`, `link`) are not understood"));
        }
        if let Some(action) = filter.actions.first() {
            return Err(Problem::new(action.at, "the `action` of a filter is not understood"));
        }
        let marked = match &classifier.value {
            Classifier::U32(selectors) => {
                let mark = selectors.iter().find(|selector| matches!(selector.value, Selector::Mark(_)));
                mark.map(|mark| (mark.at, "`match mark` is"))
            }
            Classifier::Fw => Some((classifier.at, "filters of kind `fw` are")),
            Classifier::Flower(_) | Classifier::Matchall => None,
        };
        if let Some((at, what)) = marked {
            let why = format!("{what} not understood: packets of a scenario have no mark");
            return Err(Problem::new(at, why));
        }
        let conditions = Self::of_filter(filter)?;
        conditions.check().map_err(|why| why.at(classifier.at))?;
        Ok(conditions)
    }

    /// Returns the conditions of any filter; masks may have gaps, and marks are compared.
    ///
    /// # Errors
    /// Returns the first condition that a scenario cannot express.
    pub(super) fn of_filter(filter: &Filter) -> Result<Self, Problem> {
        let mut conditions = Self::default();
        let at = filter.classifier.at;
        match &filter.classifier.value {
            Classifier::U32(selectors) => {
                for selector in selectors {
                    conditions.selector(selector).map_err(|why| why.at(selector.at))?;
                }
            }
            Classifier::Flower(keys) => {
                for key in keys {
                    conditions.key(key).map_err(|why| why.at(key.at))?;
                }
            }
            Classifier::Fw => {
                let handle = filter.handle.as_ref();
                let mark = handle.and_then(|handle| masked_of(handle));
                let mark = mark.ok_or_else(|| {
                    let why = "`fw` without a mark as its `handle` is not understood: it takes the mark for the class";
                    Problem::new(at, why).help("write `handle MARK fw classid CLASS`")
                })?;
                conditions.add_mark(mark);
            }
            Classifier::Matchall => {}
        }
        Ok(conditions)
    }

    /// Requires a mark.
    fn add_mark(&mut self, mark: Masked) {
        self.is_contradiction |= (self.mark.value ^ mark.value) & self.mark.mask & mark.mask != 0;
        self.mark.value |= mark.value & mark.mask;
        self.mark.mask |= mark.mask;
    }

    /// Requires the bits of a hash table's bucket: `key & mask`, shifted to its lowest bit, is the bucket.
    ///
    /// # Errors
    /// If the key is outside the headers.
    pub(super) fn add_bucket(
        &mut self,
        key: (u32, Offset),
        bucket: u16,
        divisor: u32,
    ) -> Result<(), Inexpressible> {
        let (mask, offset) = key;
        let shift = mask.trailing_zeros().min(31);
        let mask = mask & (divisor.saturating_sub(1) << shift);
        let bits = Masked { value: u32::from(bucket) << shift, mask };
        if bits.value & !mask != 0 {
            self.is_contradiction = true;
        }
        self.selector(&Selector::Bits { size: 4, bits, at: Some(offset) })
    }

    /// Adds all conditions of another filter.
    pub(super) fn add(&mut self, other: &Self) {
        self.is_contradiction |= other.is_contradiction;
        for at in 0..BYTES {
            let common = self.masks[at] & other.masks[at];
            self.is_contradiction |= (self.values[at] ^ other.values[at]) & common != 0;
            self.values[at] |= other.values[at] & other.masks[at];
            self.masks[at] |= other.masks[at];
        }
        for (own, other) in self.ports.iter_mut().zip(other.ports) {
            *own = (own.0.max(other.0), own.1.min(other.1));
            self.is_contradiction |= own.0 > own.1;
        }
        self.add_mark(other.mark);
    }

    /// Returns true if no packet satisfies the conditions.
    pub(super) fn is_empty(&self) -> bool {
        // Version and header length of a packet without options.
        self.is_contradiction || (0x45 ^ self.values[0]) & self.masks[0] != 0
    }

    /// Returns true unless it is certain that no packet satisfies both.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let mut both = self.clone();
        both.add(other);
        let apart = |at: usize, size: usize| {
            let range =
                |of: &Self| leading(word(&of.masks, at, size), 8 * size as u32).map(|_| of.range(at, size));
            range(self).zip(range(other)).is_some_and(|(a, b)| a.1 < b.0 || b.1 < a.0)
        };
        let ports = |end: usize| {
            let (own, theirs) = (self.port_range_if_plain(end), other.port_range_if_plain(end));
            own.zip(theirs).is_some_and(|(a, b)| a.1 < b.0 || b.1 < a.0)
        };
        !both.is_empty() && !apart(2, 2) && !ports(0) && !ports(1)
    }

    fn port_range_if_plain(&self, end: usize) -> Option<(u16, u16)> {
        leading(word(&self.masks, 20 + 2 * end, 2), 16)?;
        self.port_range(end)
    }

    /// Returns the rules of a scenario that take the same packets; the bits of ECN in a TOS byte are not
    /// compared.
    ///
    /// # Errors
    /// Returns a condition that a scenario cannot express.
    pub(super) fn rules(&self) -> Result<Vec<Rule>, Inexpressible> {
        self.check_bytes()?;
        if self.masks[32] & 0x0f != 0 {
            return Err(Inexpressible::ReservedFlags);
        }
        if leading(word(&self.masks, 2, 2), 16).is_none() {
            return Err(Inexpressible::LengthMask);
        }
        if self.masks[33] != 0 && self.protocol() != Some(6) {
            return Err(Inexpressible::FlagsWithoutTcp);
        }
        let flags = |bits: u8| (0..8).filter(|bit| bits >> bit & 1 == 1).map(|bit| FLAGS[bit]).collect();
        let plain = Rule {
            protocol: self.protocol(),
            code_points: if self.masks[1] & CODE_POINT == 0 { Vec::new() } else { self.code_points() },
            tcp_flags: flags(self.masks[33] & self.values[33]),
            tcp_flags_clear: flags(self.masks[33] & !self.values[33]),
            length: (self.masks[2..4] != [0, 0]).then(|| self.lengths()),
            mark: (self.mark.mask != 0).then_some((self.mark.value, self.mark.mask)),
            ..Rule::default()
        };
        let mut rules = vec![plain];
        for end in 0..2 {
            let ranges = self.expanded(20 + 2 * end, 2)?;
            let own = self.ports[end];
            let ranges = ranges.into_iter().filter_map(|(low, high)| {
                let (low, high) = ((low as u16).max(own.0), (high as u16).min(own.1));
                (low <= high).then_some((low, high))
            });
            let ranges: Vec<_> = ranges.collect();
            if ranges != [(0, u16::MAX)] {
                rules = product(&rules, &ranges, |rule, range| {
                    *(if end == 0 { &mut rule.source_port } else { &mut rule.destination_port }) =
                        Some(*range);
                })?;
            }
        }
        for end in 0..2 {
            let ranges = self.expanded(12 + 4 * end, 4)?;
            if ranges != [(0, u32::MAX)] {
                rules = product(&rules, &ranges, |rule, (low, high)| {
                    let prefix = (Ipv4Addr::from_bits(*low), (low ^ high).leading_zeros());
                    *(if end == 0 { &mut rule.source } else { &mut rule.destination }) = Some(prefix);
                })?;
            }
        }
        if rules.is_empty() {
            return Err(Inexpressible::NoPacket);
        }
        Ok(rules)
    }

    /// Returns the ranges of a field whose mask may have gaps.
    fn expanded(&self, at: usize, size: usize) -> Result<Vec<(u32, u32)>, Inexpressible> {
        let full = u32::MAX >> (32 - 8 * size);
        let (value, mask) = (word(&self.values, at, size), word(&self.masks, at, size));
        ranges(value, mask, full).ok_or(Inexpressible::Ranges(mask))
    }

    /// Returns true if it compares the two bits of ECN in the TOS byte.
    pub(super) fn compares_ecn(&self) -> bool {
        self.masks[1] & !CODE_POINT != 0
    }

    /// Adds a condition of `u32`.
    fn selector(&mut self, selector: &Selector) -> Result<(), Inexpressible> {
        match *selector {
            Selector::Address(end, prefix) => self.address(end, prefix),
            Selector::Protocol(bits) => self.bytes(9, 1, bits),
            Selector::Dsfield(bits) => self.bytes(1, 1, bits),
            Selector::Port(end, bits) => self.bytes(port_offset(end), 2, bits),
            Selector::Mark(mark) => {
                self.add_mark(mark);
                Ok(())
            }
            Selector::Bits { at: None, .. } => Ok(()),
            Selector::Bits { size, bits, at: Some(offset) } => {
                let (from, at) = match offset {
                    Offset::Ip(at) => (0, at),
                    Offset::NextHeader(at) => (TRANSPORT, at),
                };
                self.bytes(from.saturating_add(at as usize), size, bits)
            }
        }
    }

    /// Adds a condition of `flower`.
    fn key(&mut self, key: &Key) -> Result<(), Inexpressible> {
        match *key {
            // All packets of a run are IPv4.
            Key::Ip => Ok(()),
            Key::Protocol(number) => self.bytes(9, 1, Masked { value: number.into(), mask: 0xff }),
            Key::Address(end, prefix) => self.address(end, prefix),
            Key::Port(end, bits) => self.bytes(port_offset(end), 2, bits),
            Key::Ports(end, low, high) => {
                let own = &mut self.ports[usize::from(end == End::Destination)];
                *own = (own.0.max(low), own.1.min(high));
                self.is_contradiction |= own.0 > own.1;
                Ok(())
            }
            Key::Tos(bits) => self.bytes(1, 1, bits),
            Key::TcpFlags(bits) => self.bytes(TRANSPORT + 12, 2, bits),
        }
    }

    /// Requires `size` bytes from `at` on.
    fn bytes(&mut self, at: usize, size: usize, bits: Masked) -> Result<(), Inexpressible> {
        for index in 0..size {
            let shift = 8 * (size - 1 - index);
            let (value, mask) = ((bits.value >> shift) as u8, (bits.mask >> shift) as u8);
            if mask == 0 {
                continue;
            }
            let at = at.saturating_add(index);
            if at >= BYTES {
                return Err(Inexpressible::Byte(at));
            }
            self.is_contradiction |= (self.values[at] ^ value) & self.masks[at] & mask != 0;
            self.values[at] |= value & mask;
            self.masks[at] |= mask;
        }
        Ok(())
    }

    /// Requires an address.
    fn address(&mut self, end: End, Prefix { address, mask }: Prefix) -> Result<(), Inexpressible> {
        let at = if end == End::Source { 12 } else { 16 };
        self.bytes(at, 4, Masked { value: address.to_bits(), mask: mask.to_bits() })
    }

    /// Checks that some packet may satisfy the conditions, and that they compare only bytes that are
    /// supported.
    fn check_bytes(&self) -> Result<(), Inexpressible> {
        if self.is_empty() {
            return Err(Inexpressible::NoPacket);
        }
        let understood =
            |at: usize| matches!(at, 0..=3 | 9 | 12..=23 | 33) || (at == 32 && self.masks[32] & 0xf0 == 0);
        if let Some(at) = (0..BYTES).find(|at| self.masks[*at] != 0 && !understood(*at)) {
            return Err(Inexpressible::Byte(at));
        }
        if !matches!(self.masks[9], 0 | 0xff) {
            return Err(Inexpressible::ProtocolMask);
        }
        Ok(())
    }

    /// Checks that the conditions are supported, and that packets can satisfy them.
    fn check(&self) -> Result<(), Inexpressible> {
        self.check_bytes()?;
        let (clear, unnamed) = (self.masks[33] & !self.values[33], self.masks[32]);
        if clear | unnamed != 0 {
            return Err(Inexpressible::ClearFlags);
        }
        if self.masks[33] != 0 && self.protocol() != Some(6) {
            return Err(Inexpressible::FlagsWithoutTcp);
        }
        for (at, size) in [(2, 2), (12, 4), (16, 4), (20, 2), (22, 2)] {
            let mask = word(&self.masks, at, size);
            if leading(mask, 8 * size as u32).is_none() {
                return Err(Inexpressible::Mask(mask));
            }
        }
        if (0..2).any(|end| self.port_range(end).is_none()) || self.lengths().1 < self.lengths().0 {
            return Err(Inexpressible::NoPacket);
        }
        Ok(())
    }

    /// Returns true if it matches every packet.
    pub(super) fn is_everything(&self) -> bool {
        self.masks[1..].iter().all(|mask| *mask == 0)
            && self.ports == [(0, u16::MAX); 2]
            && self.mark.mask == 0
    }

    /// Returns true if it has conditions on addresses.
    pub(super) fn has_addresses(&self) -> bool {
        self.masks[12..20].iter().any(|mask| *mask != 0)
    }

    /// Returns the lowest and the highest value of a field whose mask is a prefix.
    fn range(&self, at: usize, size: usize) -> (u32, u32) {
        let full = u32::MAX >> (32 - 8 * size);
        let (value, mask) = (word(&self.values, at, size), word(&self.masks, at, size));
        (value & mask, value & mask | (full & !mask))
    }

    fn protocol(&self) -> Option<u8> {
        (self.masks[9] != 0).then_some(self.values[9])
    }

    /// Returns the range of source (0) or destination (1) ports; `None` if it is empty.
    fn port_range(&self, end: usize) -> Option<(u16, u16)> {
        let (low, high) = self.range(20 + 2 * end, 2);
        let own = self.ports[end];
        let (low, high) = ((low as u16).max(own.0), (high as u16).min(own.1));
        (low <= high).then_some((low, high))
    }

    /// Returns the range of frame lengths in bytes.
    fn lengths(&self) -> (u32, u32) {
        let (low, high) = self.range(2, 2);
        (low + ETHERNET, high + ETHERNET)
    }

    /// Returns the code points that it matches; [`takes`](Self::takes) checks the ECN bits.
    fn code_points(&self) -> Vec<u8> {
        let asked = self.masks[1] & CODE_POINT;
        (0..64).filter(|code| ((code << 2) ^ self.values[1]) & asked == 0).collect()
    }

    /// Returns a rule for a scenario's `match`.
    pub(super) fn rule(&self) -> Rule {
        let prefix = |at: usize| {
            let mask = word(&self.masks, at, 4);
            let address = Ipv4Addr::from_bits(word(&self.values, at, 4) & mask);
            (mask != 0).then(|| (address, mask.leading_ones()))
        };
        let ports = |end: usize| self.port_range(end).filter(|range| *range != (0, u16::MAX));
        let flags = (0..8).filter(|bit| self.masks[33] != 0 && self.values[33] >> bit & 1 == 1);
        Rule {
            protocol: self.protocol(),
            source: prefix(12),
            destination: prefix(16),
            source_port: ports(0),
            destination_port: ports(1),
            code_points: if self.masks[1] & CODE_POINT == 0 { Vec::new() } else { self.code_points() },
            tcp_flags: flags.map(|bit| FLAGS[bit]).collect(),
            length: (self.masks[2..4] != [0, 0]).then(|| self.lengths()),
            ..Rule::default()
        }
    }

    /// Returns true if it matches all packets of this flow, false if none, `None` if some.
    /// `is_ours`: ignores ECN bits, as scenario rules do.
    ///
    /// # Errors
    /// Fails if a property of the flow that is compared is unknown.
    pub(super) fn takes(&self, flow: &Headers, is_ours: bool) -> Result<Option<bool>, Inexpressible> {
        let within = |(low, high): (u16, u16), port: u16| (low..=high).contains(&port);
        let asked = if is_ours { self.masks[1] & CODE_POINT } else { self.masks[1] };
        let ecn = asked & !CODE_POINT;
        let certain = if flow.has_fixed_ecn { 0xff } else { CODE_POINT };
        if self.protocol().is_some_and(|protocol| protocol != flow.protocol)
            || self.port_range(1).is_none_or(|range| !within(range, flow.destination_port))
            || (flow.tos ^ self.values[1]) & asked & certain != 0
        {
            return Ok(Some(false));
        }
        let unsaid = |what| Inexpressible::Unknown { what, flow: flow.name.clone() };
        if self.has_addresses() {
            let addresses = flow.addresses.ok_or_else(|| unsaid("addresses"))?;
            for (address, at) in addresses.into_iter().zip([12, 16]) {
                let mask = word(&self.masks, at, 4);
                if (address.to_bits() ^ word(&self.values, at, 4)) & mask != 0 {
                    return Ok(Some(false));
                }
            }
        }
        let ports = self.port_range(0).unwrap_or((1, 0));
        if ports != (0, u16::MAX) {
            let port = flow.source_port.ok_or_else(|| unsaid("a source port"))?;
            if !within(ports, port) {
                return Ok(Some(false));
            }
        }
        let mut is_certain = self.masks[33] == 0 && (ecn == 0 || flow.has_fixed_ecn);
        if self.masks[2..4] != [0, 0] {
            let (low, high) = self.lengths();
            match flow.length {
                Some(length) if !(low..=high).contains(&length) => return Ok(Some(false)),
                Some(_) => {}
                None => is_certain = false,
            }
        }
        Ok(is_certain.then_some(true))
    }
}

/// Returns the ranges of numbers up to `full` that equal `value` where `mask` has ones; `None` if there are
/// too many.
pub(crate) fn ranges(value: u32, mask: u32, full: u32) -> Option<Vec<(u32, u32)>> {
    let low = if mask == 0 { full } else { mask & mask.wrapping_neg() }.wrapping_sub(u32::from(mask != 0));
    let gaps = full & !mask & !low;
    if gaps.count_ones() > MOST_RULES.trailing_zeros() {
        return None;
    }
    let mut ranges = Vec::new();
    let mut part = 0_u32;
    loop {
        let first = value & mask | part;
        ranges.push((first, first | low));
        // The next subset of the gaps' bits.
        part = part.wrapping_sub(gaps) & gaps;
        if part == 0 {
            return Some(ranges);
        }
    }
}

/// Joins rules after one another that differ in one range only, where the ranges adjoin, or in their code
/// points: a range takes several filters of `u32`.
pub(super) fn merged(rules: Vec<Rule>) -> Vec<Rule> {
    let mut merged: Vec<Rule> = Vec::new();
    for rule in rules {
        let joined = merged.last().and_then(|last| joined(last, &rule));
        match (joined, merged.last_mut()) {
            (Some(joined), Some(last)) => *last = joined,
            _ => merged.push(rule),
        }
    }
    merged
}

/// Returns the rule that takes what either takes; `None` if no single rule does.
fn joined(one: &Rule, other: &Rule) -> Option<Rule> {
    fn adjoined<T: Copy + Into<u32>>(one: Option<(T, T)>, other: Option<(T, T)>) -> Option<(T, T)> {
        let ((low, end), (start, high)) = one.zip(other)?;
        (end.into().checked_add(1)? == start.into()).then_some((low, high))
    }
    let codes = || {
        let is_both = !one.code_points.is_empty() && !other.code_points.is_empty();
        is_both.then(|| [&one.code_points[..], &other.code_points].concat())
    };
    // Each candidate, and the other rule with the field that is joined as the first has it: the rest must be
    // the same.
    let (first, second) = (|| one.clone(), || other.clone());
    let source_port = adjoined(one.source_port, other.source_port).map(|range| {
        let joined = Rule { source_port: Some(range), ..first() };
        (joined, Rule { source_port: one.source_port, ..second() })
    });
    let destination_port = adjoined(one.destination_port, other.destination_port).map(|range| {
        let joined = Rule { destination_port: Some(range), ..first() };
        (joined, Rule { destination_port: one.destination_port, ..second() })
    });
    let length = adjoined(one.length, other.length)
        .map(|range| (Rule { length: Some(range), ..first() }, Rule { length: one.length, ..second() }));
    let code_points = codes().map(|code_points| {
        (Rule { code_points, ..first() }, Rule { code_points: one.code_points.clone(), ..second() })
    });
    let mut candidates = [source_port, destination_port, length, code_points].into_iter().flatten();
    candidates.find_map(|(joined, back)| (back == *one).then_some(joined))
}

/// Returns each rule with each value set.
fn product<T>(rules: &[Rule], values: &[T], set: impl Fn(&mut Rule, &T)) -> Result<Vec<Rule>, Inexpressible> {
    if rules.len() * values.len() > MOST_RULES {
        return Err(Inexpressible::Rules);
    }
    let with = |rule: &Rule, value: &T| {
        let mut rule = rule.clone();
        set(&mut rule, value);
        rule
    };
    Ok(rules.iter().flat_map(|rule| values.iter().map(move |value| with(rule, value))).collect())
}

/// Returns the offset of a port.
fn port_offset(end: End) -> usize {
    if end == End::Source { TRANSPORT } else { TRANSPORT + 2 }
}

/// Returns the big-endian number in `size` bytes from `at` on.
fn word(bytes: &[u8; BYTES], at: usize, size: usize) -> u32 {
    bytes[at..at + size].iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests;
