//! Classes of a policy's port as a laboratory reaches them: the queues to which rules lead, and packets
//! that the rules take.

use core::net::IpAddr;
use core::ops::RangeInclusive;
use std::collections::{BTreeMap, BTreeSet};

use lockgate_engine::classify::{Classifier, Fields, Headers, Prefix, Rule};
use lockgate_engine::disciplines::{Family, Kind};
use lockgate_engine::packet::{Header, Packet};

use crate::tree::{Queue, QueueTree, maps_rest};

/// Protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Lengths of the frames of flows.
const SHORTEST_FRAME: u32 = 64;
const LONGEST_FRAME: u32 = 1514;

/// Port of flows that no rule names: discard, as that of flows without one.
const DISCARD: u16 = 9;

/// Limit on the combinations of rules, from the root to a queue, that are tried.
const MOST_RULES: usize = 32;

/// Packet of a flow, as the rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) fields: Fields,
    pub(super) dscp: u8,
    pub(super) length: u32,
}

impl Headers for Sample {
    fn fields(&self, _: &Packet) -> Option<Fields> {
        Some(self.fields)
    }
}

impl Sample {
    /// Returns a packet of TCP with a full frame, or a small one of UDP.
    pub(super) fn new(ends: [IpAddr; 2], is_tcp: bool, dscp: u8) -> Self {
        let [source, destination] = ends;
        let fields = Fields {
            protocol: if is_tcp { TCP } else { UDP },
            source,
            destination,
            source_port: 50_000,
            destination_port: DISCARD,
            flow_label: 0,
        };
        Self { fields, dscp, length: if is_tcp { LONGEST_FRAME } else { 200 } }
    }

    pub(super) fn is_tcp(&self) -> bool {
        self.fields.protocol == TCP
    }
}

/// Tree of a port with its classifiers.
pub(super) struct Classes<'t> {
    tree: &'t QueueTree,
    parents: Vec<Option<usize>>,
    classifiers: BTreeMap<usize, Classifier>,
    /// Leaves that have a flow.
    pub(super) reached: BTreeSet<usize>,
}

impl<'t> Classes<'t> {
    pub(super) fn new(tree: &'t QueueTree) -> Self {
        let queues = tree.queues();
        let mut parents = vec![None; queues.len()];
        let mut classifiers = BTreeMap::new();
        for (index, queue) in queues.iter().enumerate() {
            queue.children.iter().for_each(|child| parents[*child] = Some(index));
            if queue.children.len() > 1 {
                let rules = queue.children.iter().map(|child| queues[*child].rules.clone()).collect();
                let sort = if maps_rest(queue.kind, &queue.config) {
                    Classifier::for_mapped_rest
                } else {
                    Classifier::new
                };
                classifiers.insert(index, sort(rules));
            }
        }
        Self { tree, parents, classifiers, reached: BTreeSet::new() }
    }

    pub(super) fn queue(&self, index: usize) -> &'t Queue {
        &self.tree.queues()[index]
    }

    /// Returns the indices of the leaves that are not the root.
    pub(super) fn leaves(&self) -> Vec<usize> {
        let all = 0..self.parents.len();
        all.filter(|index| self.queue(*index).children.is_empty() && self.parents[*index].is_some()).collect()
    }

    /// Returns the queues above a queue, the nearest first.
    pub(super) fn above(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        core::iter::successors(self.parents[index], |above| self.parents[*above])
    }

    /// Returns the leaf that a packet reaches; `None` if a discipline decides itself.
    pub(super) fn leaf(&self, sample: &Sample) -> Option<usize> {
        let Sample { dscp, length, .. } = *sample;
        let packet = Packet::new(Header { length, traffic_class: dscp << 2, ..Header::default() });
        let mut at = 0;
        loop {
            let queue = self.queue(at);
            let next = match queue.children.as_slice() {
                [] => return Some(at),
                [only] => *only,
                children => {
                    if Kind::named(queue.kind).is_some_and(|kind| kind.classifies) {
                        return None;
                    }
                    *children.get(self.classifiers.get(&at)?.classify(&packet, sample).child as usize)?
                }
            };
            at = next;
        }
    }

    /// Returns true if others go before the packets of a queue, or it before others, whatever they have.
    pub(super) fn is_urgent(&self, index: usize) -> bool {
        core::iter::once(index).chain(self.above(index)).any(|queue| {
            let Some(parent) = self.parents[queue].map(|parent| self.queue(parent)) else { return false };
            let is_strict = Kind::named(parent.kind).is_some_and(|kind| kind.family == Family::Priority);
            is_strict && parent.children.last() != Some(&queue)
        })
    }

    /// Returns rules that packets of a leaf keep all the way from the root, the leaf's own first.
    pub(super) fn rules(&self, leaf: usize) -> Vec<Rule> {
        let mut all = own_rules(self.queue(leaf));
        for above in self.above(leaf) {
            let rules = own_rules(self.queue(above));
            let both = all.iter().flat_map(|one| rules.iter().filter_map(|rule| both(one, rule)));
            all = both.take(MOST_RULES).collect();
        }
        all
    }
}

/// Returns the rules of a queue; one that takes all if it has none.
fn own_rules(queue: &Queue) -> Vec<Rule> {
    if queue.rules.is_empty() {
        return vec![Rule::default()];
    }
    queue.rules.clone()
}

/// Conditions that no packet meets together.
struct Disjoint;

/// Returns the rule of the packets that both rules take; `None` if there are none.
fn both(one: &Rule, other: &Rule) -> Option<Rule> {
    fn equal<T: Clone + PartialEq>(one: Option<&T>, other: Option<&T>) -> Result<Option<T>, Disjoint> {
        match (one, other) {
            (Some(one), Some(other)) if one != other => Err(Disjoint),
            _ => Ok(one.or(other).cloned()),
        }
    }
    fn range<T: Copy + Ord>(
        one: Option<&RangeInclusive<T>>,
        other: Option<&RangeInclusive<T>>,
    ) -> Result<Option<RangeInclusive<T>>, Disjoint> {
        let (Some(one), Some(other)) = (one, other) else { return Ok(one.or(other).cloned()) };
        let (start, end) = (*one.start().max(other.start()), *one.end().min(other.end()));
        if start <= end { Ok(Some(start..=end)) } else { Err(Disjoint) }
    }
    fn prefix(one: Option<Prefix>, other: Option<Prefix>) -> Result<Option<Prefix>, Disjoint> {
        let (Some(one), Some(other)) = (one, other) else { return Ok(one.or(other)) };
        let (wide, narrow) = if one.bits <= other.bits { (one, other) } else { (other, one) };
        if wide.contains(narrow.address) { Ok(Some(narrow)) } else { Err(Disjoint) }
    }
    let codes = match (&one.dscp, &other.dscp) {
        (Some(one), Some(other)) => {
            Some(one.iter().copied().filter(|code| other.contains(code)).collect::<Vec<u8>>())
        }
        (one, other) => one.clone().or_else(|| other.clone()),
    };
    if codes.as_ref().is_some_and(Vec::is_empty) {
        return None;
    }
    Some(Rule {
        protocol: equal(one.protocol.as_ref(), other.protocol.as_ref()).ok()?,
        source: prefix(one.source, other.source).ok()?,
        destination: prefix(one.destination, other.destination).ok()?,
        source_port: range(one.source_port.as_ref(), other.source_port.as_ref()).ok()?,
        destination_port: range(one.destination_port.as_ref(), other.destination_port.as_ref()).ok()?,
        flow_label: equal(one.flow_label.as_ref(), other.flow_label.as_ref()).ok()?,
        dscp: codes,
        tcp_flags: equal(one.tcp_flags.as_ref(), other.tcp_flags.as_ref()).ok()?,
        tcp_flags_clear: equal(one.tcp_flags_clear.as_ref(), other.tcp_flags_clear.as_ref()).ok()?,
        length: range(one.length.as_ref(), other.length.as_ref()).ok()?,
        flows: equal(one.flows.as_ref(), other.flows.as_ref()).ok()?,
        preference: 0,
    })
}

/// Returns a packet that a rule takes, between these hosts.
///
/// # Errors
/// The condition that no flow of a scenario meets, in words.
pub(super) fn sample(rule: &Rule, ends: [IpAddr; 2]) -> Result<Sample, String> {
    let lengths = rule.length.clone().unwrap_or(SHORTEST_FRAME..=LONGEST_FRAME);
    let holds_full = lengths.contains(&LONGEST_FRAME);
    let is_tcp = match rule.protocol {
        None => holds_full,
        Some(TCP) => true,
        Some(UDP) => false,
        Some(number) => return Err(format!("protocol {number}")),
    };
    if is_tcp && !holds_full {
        return Err("TCP without full frames".to_owned());
    }
    if rule.tcp_flags.is_some() || rule.tcp_flags_clear.is_some() {
        return Err("flags of TCP".to_owned());
    }
    if rule.flows.is_some() {
        return Err("a mark".to_owned());
    }
    if *lengths.end() < SHORTEST_FRAME || *lengths.start() > LONGEST_FRAME {
        return Err(format!("frames of {} to {} bytes", lengths.start(), lengths.end()));
    }
    let mut sample = Sample::new(ends, is_tcp, 0);
    let Fields { source_port, destination_port, flow_label, .. } = &mut sample.fields;
    let port = |range: &Option<RangeInclusive<u16>>, usual: u16| match range {
        Some(range) if !range.contains(&usual) => *range.start().max(&1),
        _ => usual,
    };
    *source_port = port(&rule.source_port, *source_port);
    *destination_port = port(&rule.destination_port, *destination_port);
    *flow_label = rule.flow_label.unwrap_or(0);
    sample.dscp = rule.dscp.as_ref().and_then(|codes| codes.first().copied()).unwrap_or(0);
    if !is_tcp {
        let most = LONGEST_FRAME.min(*lengths.end());
        sample.length = sample.length.clamp(SHORTEST_FRAME.max(*lengths.start()), most);
    }
    Ok(sample)
}

/// Returns the first host of a prefix: the address itself if it is one of a host.
pub(super) fn first_host(prefix: Prefix) -> IpAddr {
    let Prefix { address, bits } = prefix;
    match address {
        IpAddr::V4(own) if bits < 31 && own.to_bits() & (u32::MAX >> bits.min(31)) == 0 => {
            IpAddr::from((own.to_bits() + 1).to_be_bytes())
        }
        IpAddr::V6(own) if bits < 127 && own.to_bits() & (u128::MAX >> bits.min(127)) == 0 => {
            IpAddr::from((own.to_bits() + 1).to_be_bytes())
        }
        address => address,
    }
}
