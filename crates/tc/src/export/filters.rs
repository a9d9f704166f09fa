//! Rules of queues as filters: `u32`, and `fw` for marks, in the order in which the scenario tries them.

use core::net::IpAddr;
use std::collections::BTreeMap;

use lockgate_engine::classify::{Fields, Prefix, Rule};
use lockgate_scenario::tree::Queue;

use super::Writer;
use crate::handle::Handle;
use crate::language::Kind;

/// Limit on the filters of one rule.
const MOST_FILTERS: usize = 256;

/// Bytes of Ethernet before a packet.
const ETHERNET: u32 = 14;

/// Returns true if a rule takes every packet.
pub(super) fn is_everything(rule: &Rule) -> bool {
    Rule { preference: 0, ..rule.clone() } == Rule::default()
}

/// Protocol number that no packet has (RFC 1700).
const RESERVED: u8 = 255;

/// Returns true for the rule that takes no packet.
fn is_nothing(rule: &Rule) -> bool {
    Rule { preference: 0, ..rule.clone() } == Rule { protocol: Some(RESERVED), ..Rule::default() }
}

/// A rule with what the kernel compares for its flows.
#[derive(Clone, Debug)]
struct Condition {
    rule: Rule,
    mark: Option<(u32, u32)>,
}

impl<'a> Writer<'a> {
    /// Adds the filters of a discipline's classes.
    pub(super) fn filters_of(
        &mut self,
        queue: &Queue,
        handle: Handle,
        kind: Kind,
        ids: &BTreeMap<&'a str, Handle>,
    ) {
        let mut all: Vec<(u32, Condition, Handle)> = Vec::new();
        self.collect(queue, &[], ids, &mut all);
        all.sort_by_key(|(preference, ..)| *preference);
        let has_default = matches!(kind, Kind::Htb | Kind::Hfsc | Kind::Prio | Kind::Ets);
        let mut number = 0;
        for (_, condition, class) in all {
            // The import gives it to classes that no filter leads to.
            if condition.mark.is_none() && is_nothing(&condition.rule) {
                continue;
            }
            if is_everything(&condition.rule) && condition.mark.is_none() {
                if has_default && !self.meters.contains_key(&class) {
                    // What comes after it gets no packets.
                    break;
                }
                number += 1;
                self.filter(number, handle, "u32 match u32 0 0 at 0", class);
                return;
            }
            number += 1;
            match self.matches(&condition) {
                Ok(filters) => {
                    for words in filters {
                        self.filter(number, handle, &words, class);
                    }
                }
                Err(why) => self.refuse(format!("a rule of the class `{class}`: {why}")),
            }
        }
        if !has_default && let Some(leaf) = self.rest_leaf(queue) {
            self.filters.push(format!(
                "# The next filter takes the packets that no rule takes, as the scenario does; without it `{kind}` drops them."
            ));
            self.filter(number + 1, handle, "u32 match u32 0 0 at 0", ids[&*leaf.name]);
        }
    }

    fn filter(&mut self, number: usize, parent: Handle, words: &str, class: Handle) {
        let (protocol, target) = if words.starts_with("handle ") {
            ("all", "classid")
        } else if words.contains("ip6") {
            ("ipv6", "flowid")
        } else if words == "u32 match u32 0 0 at 0" {
            ("all", "flowid")
        } else {
            ("ip", "flowid")
        };
        let meter = self.meters.get(&class).map_or_else(String::new, |meter| format!(" {meter}"));
        let line = format!(
            "tc filter add dev {} parent {parent} protocol {protocol} prio {number} {words}{meter} {target} {class}",
            self.name
        );
        self.filters.push(line);
    }

    /// Collects the conditions of all leaves, with those of the classes above them.
    fn collect(
        &self,
        queue: &Queue,
        above: &[Condition],
        ids: &BTreeMap<&'a str, Handle>,
        all: &mut Vec<(u32, Condition, Handle)>,
    ) {
        for child in self.children(queue) {
            let own = self.conditions(child);
            let joined: Vec<Condition> = match (above.is_empty(), own.is_empty()) {
                (true, _) => own.clone(),
                (_, true) => above.to_vec(),
                _ => own.iter().flat_map(|own| below(above, own)).collect(),
            };
            if child.is_class() {
                self.collect(child, &joined, ids, all);
            } else if let Some(class) = ids.get(&*child.name) {
                let joined = if joined.is_empty() {
                    vec![Condition { rule: Rule::default(), mark: None }]
                } else {
                    joined
                };
                all.extend(
                    joined.into_iter().map(|condition| (condition.rule.preference, condition, *class)),
                );
            }
        }
    }

    fn conditions(&self, queue: &Queue) -> Vec<Condition> {
        let with_mark = |(index, rule): (usize, &Rule)| {
            let mark = self.marks.get(&(queue.name.to_string(), index)).copied();
            // The flows of a mark are those that the mark names.
            let flows = rule.flows.clone().filter(|_| mark.is_none());
            Condition { rule: Rule { flows, ..rule.clone() }, mark }
        };
        queue.rules.iter().enumerate().map(with_mark).collect()
    }

    /// Returns the words of the filters for a condition.
    fn matches(&self, condition: &Condition) -> Result<Vec<String>, String> {
        let Condition { rule, mark } = condition;
        if mark.is_some() && self.device.ifb.is_some() {
            return Err("what arrives has no mark yet when it is queued; match what the packets carry, or restore the mark by `action connmark` yourself".to_owned());
        }
        if let Some((value, mask)) = mark
            && is_everything(&Rule { flows: None, ..rule.clone() })
        {
            let mask = if *mask == u32::MAX { String::new() } else { format!("/{mask:#x}") };
            return Ok(vec![format!("handle {value:#x}{mask} fw")]);
        }
        let mut filters = vec![Vec::<String>::new()];
        if let Some(flows) = &rule.flows {
            filters = self.of_flows(flows)?;
        }
        if rule.flow_label.is_some() {
            return Err("`u32` does not compare the flow label".to_owned());
        }
        if let Some((value, mask)) = mark {
            append(&mut filters, &[format!("match mark {value:#x} {mask:#x}")])?;
        }
        if let Some(protocol) = rule.protocol {
            append(&mut filters, &[format!("match ip protocol {protocol} 0xff")])?;
        }
        for (name, prefix) in [("src", rule.source), ("dst", rule.destination)] {
            if let Some(prefix) = prefix {
                append(&mut filters, &[address(name, prefix)])?;
            }
        }
        for (name, ports) in [("sport", &rule.source_port), ("dport", &rule.destination_port)] {
            if let Some(ports) = ports {
                let blocks = blocks(u32::from(*ports.start()), u32::from(*ports.end()), 16);
                let words: Vec<_> =
                    blocks.iter().map(|(value, mask)| format!("match ip {name} {value} {mask:#x}")).collect();
                append(&mut filters, &words)?;
            }
        }
        if let Some(codes) = &rule.dscp {
            let words: Vec<_> =
                codes.iter().map(|code| format!("match ip dsfield {:#x} 0xfc", code << 2)).collect();
            append(&mut filters, &words)?;
        }
        let (set, clear) = (rule.tcp_flags.unwrap_or(0), rule.tcp_flags_clear.unwrap_or(0));
        if set | clear != 0 {
            let mut words = vec![
                "match u8 0x5 0xf at 0".to_owned(),
                format!("match u8 {set:#x} {:#x} at 33", set | clear),
            ];
            if rule.protocol.is_none() {
                words.push("match ip protocol 6 0xff".to_owned());
            }
            append(&mut filters, &[words.join(" ")])?;
        }
        if let Some(lengths) = &rule.length {
            let (low, high) = (
                lengths.start().saturating_sub(ETHERNET),
                lengths.end().saturating_sub(ETHERNET).min(0xffff),
            );
            let blocks = blocks(low.min(0xffff), high, 16);
            let words: Vec<_> =
                blocks.iter().map(|(value, mask)| format!("match u16 {value:#x} {mask:#x} at 2")).collect();
            append(&mut filters, &words)?;
        }
        Ok(filters.into_iter().map(|words| format!("u32 {}", words.join(" "))).collect())
    }

    /// Returns the words that compare the addresses and ports of flows.
    fn of_flows(&self, flows: &[lockgate_engine::packet::FlowId]) -> Result<Vec<Vec<String>>, String> {
        let scenario = self.scenario.ok_or("it names flows of a scenario")?;
        if flows.len() > MOST_FILTERS {
            return Err(format!("it names more than {MOST_FILTERS} flows; give them a mark or a code point"));
        }
        let words = |fields: &Fields| {
            vec![
                format!("match ip protocol {} 0xff", fields.protocol),
                address("src", host(fields.source)),
                address("dst", host(fields.destination)),
                format!("match ip sport {} 0xffff", fields.source_port),
                format!("match ip dport {} 0xffff", fields.destination_port),
            ]
        };
        let of = |id: &lockgate_engine::packet::FlowId| {
            scenario.flows.get(id.0 as usize).map(|flow| words(&flow.fields))
        };
        flows
            .iter()
            .map(of)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| "it names a flow that is not there".to_owned())
    }
}

fn host(address: IpAddr) -> Prefix {
    Prefix { address, bits: if address.is_ipv4() { 32 } else { 128 } }
}

fn address(name: &str, prefix: Prefix) -> String {
    let family = if prefix.address.is_ipv4() { "ip" } else { "ip6" };
    format!("match {family} {name} {}/{}", prefix.address, prefix.bits)
}

/// Adds each of the alternatives to each filter.
fn append(filters: &mut Vec<Vec<String>>, alternatives: &[String]) -> Result<(), String> {
    if filters.len() * alternatives.len() > MOST_FILTERS {
        return Err(format!("it takes more than {MOST_FILTERS} filters"));
    }
    let with = |filter: &Vec<String>| {
        let filter = filter.clone();
        alternatives
            .iter()
            .map(move |words| filter.iter().cloned().chain([words.clone()]).collect())
            .collect::<Vec<Vec<String>>>()
    };
    *filters = filters.iter().flat_map(with).collect();
    Ok(())
}

/// Returns the values and masks of the aligned blocks that a range consists of.
fn blocks(low: u32, high: u32, bits: u32) -> Vec<(u32, u32)> {
    let mut all = Vec::new();
    let mut low = u64::from(low);
    let end = u64::from(high) + 1;
    while low < end {
        let aligned = if low == 0 { 1 << bits } else { 1_u64 << low.trailing_zeros() };
        let mut size = aligned.min(1 << bits);
        while low + size > end {
            size /= 2;
        }
        let mask = ((1_u64 << bits) - size) as u32;
        all.push((low as u32, mask));
        low += size;
    }
    all
}

/// Returns a condition of a class together with those of the class above it. One that the class above has,
/// too, adds nothing to it: an import gives each class the conditions of all below it.
fn below(above: &[Condition], own: &Condition) -> Vec<Condition> {
    let preference = own.rule.preference;
    let is_same =
        |above: &Condition| above.mark == own.mark && Rule { preference, ..above.rule.clone() } == own.rule;
    if above.iter().any(is_same) {
        return vec![own.clone()];
    }
    above.iter().filter_map(|above| both(above, own)).collect()
}

/// Returns the conditions of two rules together; `None` if no packet meets both, or it cannot be said.
fn both(one: &Condition, other: &Condition) -> Option<Condition> {
    let (a, b) = (&one.rule, &other.rule);
    let ports =
        |a: &Option<core::ops::RangeInclusive<u16>>, b: &Option<core::ops::RangeInclusive<u16>>| match (a, b)
        {
            (Some(a), Some(b)) => {
                let (low, high) = ((*a.start()).max(*b.start()), (*a.end()).min(*b.end()));
                (low <= high).then_some(Some(low..=high))
            }
            (a, b) => Some(a.clone().or_else(|| b.clone())),
        };
    let prefix = |a: Option<Prefix>, b: Option<Prefix>| match (a, b) {
        (Some(a), Some(b)) if a.bits <= b.bits => a.contains(b.address).then_some(Some(b)),
        (Some(a), Some(b)) => b.contains(a.address).then_some(Some(a)),
        (a, b) => Some(a.or(b)),
    };
    let same = |a: Option<u32>, b: Option<u32>| {
        if a.is_some() && b.is_some() && a != b { None } else { Some(a.or(b)) }
    };
    let codes = match (&a.dscp, &b.dscp) {
        (Some(a), Some(b)) => Some(a.iter().copied().filter(|code| b.contains(code)).collect::<Vec<_>>()),
        (a, b) => a.clone().or_else(|| b.clone()),
    };
    if codes.as_ref().is_some_and(Vec::is_empty) {
        return None;
    }
    let length = match (&a.length, &b.length) {
        (Some(a), Some(b)) => {
            let (low, high) = ((*a.start()).max(*b.start()), (*a.end()).min(*b.end()));
            if low > high {
                return None;
            }
            Some(low..=high)
        }
        (a, b) => a.clone().or_else(|| b.clone()),
    };
    let flags = |a: Option<u8>, b: Option<u8>| a.or(b).map(|_| a.unwrap_or(0) | b.unwrap_or(0));
    let flows = match (&a.flows, &b.flows) {
        (Some(a), Some(b)) => Some(a.iter().copied().filter(|flow| b.contains(flow)).collect::<Vec<_>>()),
        (a, b) => a.clone().or_else(|| b.clone()),
    };
    let mark = match (one.mark, other.mark) {
        (Some(a), Some(b)) if (a.0 ^ b.0) & a.1 & b.1 != 0 => return None,
        (Some(a), Some(b)) => Some((a.0 | b.0, a.1 | b.1)),
        (a, b) => a.or(b),
    };
    let rule = Rule {
        protocol: same(a.protocol.map(u32::from), b.protocol.map(u32::from))?.map(|protocol| protocol as u8),
        source: prefix(a.source, b.source)?,
        destination: prefix(a.destination, b.destination)?,
        source_port: ports(&a.source_port, &b.source_port)?,
        destination_port: ports(&a.destination_port, &b.destination_port)?,
        flow_label: same(a.flow_label, b.flow_label)?,
        dscp: codes,
        tcp_flags: flags(a.tcp_flags, b.tcp_flags),
        tcp_flags_clear: flags(a.tcp_flags_clear, b.tcp_flags_clear),
        length,
        flows,
        preference: b.preference,
    };
    Some(Condition { rule, mark })
}
