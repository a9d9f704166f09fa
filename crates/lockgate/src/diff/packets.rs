//! Packets that two ports treat differently.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_engine::disciplines::{Family, Kind};
use lockgate_engine::units::Rate;
use lockgate_headers::{Field, Packet, Part, Region, Space, TooMany, decisions, difference, joined};
use lockgate_scenario::QueueTree;
use lockgate_scenario::reference::cached;
use serde::{Serialize, Serializer};
use toml::Value;

use super::side::{Numbered, Side, SidePort};
use super::tree::{Matching, owners};
use super::values::default_value;

/// Sets of packets of a change that are listed.
const MOST_SETS: usize = 1000;

/// Keys of parameters by which a discipline serves a class before others.
const PRIORITY: [&str; 2] = ["prio", "priority"];

/// Keys of parameters that change the code point of packets.
const MARKS: [&str; 4] = ["green_dscp", "yellow_dscp", "red_dscp", "wash"];

/// Treatment of a packet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Treatment {
    /// Path of its class.
    pub class: String,
    /// Rate that the class is guaranteed, in bits per second.
    pub rate_bps: Option<u64>,
    /// Rate that it may have at most, in bits per second.
    pub ceil_bps: Option<u64>,
    /// Priorities on the way to the class: lower is served first.
    pub priority: Vec<i64>,
    /// Code points that packets get on the way.
    pub mark: Vec<String>,
}

/// Property that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Class.
    Class,
    /// Guaranteed rate.
    Rate,
    /// Highest rate.
    Ceil,
    /// Priority.
    Priority,
    /// Mark.
    Mark,
}

/// Packets that are treated differently, all in the same way.
#[derive(Clone, Debug, Serialize)]
pub struct PacketChange {
    /// Old treatment.
    pub old: Treatment,
    /// New treatment.
    pub new: Treatment,
    /// Properties that change.
    pub changes: Vec<Change>,
    /// Sets of these packets, at most 1000.
    pub sets: Vec<PacketSet>,
    /// Number of sets.
    pub sets_total: usize,
    /// The smallest of these packets.
    pub witness: Witness,
    /// Packets of a capture among them.
    pub capture: Option<Touched>,
    #[serde(skip)]
    pub(super) regions: Vec<Region>,
}

/// Set of packets: all whose fields meet the conditions.
#[derive(Clone, Debug, Serialize)]
pub struct PacketSet {
    /// The conditions in a line.
    pub words: String,
    /// Conditions in words, by the key of their field.
    pub conditions: BTreeMap<&'static str, String>,
    /// All values that the packets have, by the key of their field.
    pub values: BTreeMap<&'static str, Vec<String>>,
}

/// Packet that shows a change.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The packet in words.
    pub words: String,
    packet: Packet,
    mark: u32,
    /// Name of its flow; `none` without.
    flow: String,
}

impl Serialize for Witness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = |field: Field| self.packet.number(field);
        let [source, destination] = self.packet.addresses().map_or([None, None], |ends| ends.map(Some));
        serde_json::json!({
            "words": self.words,
            "version": number(Field::Version) as u64,
            "source": source,
            "destination": destination,
            "protocol": number(Field::Protocol) as u64,
            "source_port": number(Field::SourcePort) as u64,
            "destination_port": number(Field::DestinationPort) as u64,
            "dscp": number(Field::Dscp) as u64,
            "flow_label": number(Field::FlowLabel) as u64,
            "tcp_flags": number(Field::TcpFlags) as u64,
            "length": number(Field::Length) as u64,
            "mark": self.mark,
            "flow": self.flow,
        })
        .serialize(serializer)
    }
}

/// Packets of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Touched {
    /// Number of packets.
    pub packets: u64,
    /// Their bytes, as on Ethernet.
    pub bytes: u64,
}

/// Treatments by number: equal ones have one, whatever the class is called.
#[derive(Default)]
struct Treatments {
    /// Key of the class, and the treatment without its name.
    known: BTreeMap<(usize, Treatment), u32>,
    keys: Vec<usize>,
}

impl Treatments {
    fn number(&mut self, key: usize, treatment: &Treatment) -> u32 {
        let unnamed = Treatment { class: String::new(), ..treatment.clone() };
        let next = self.keys.len() as u32;
        let number = *self.known.entry((key, unnamed)).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        number
    }
}

/// Decisions of a port: boxes, and the class at which the way of their packets ends.
fn list(side: &Side, port: &SidePort, names: &Numbered) -> Vec<(Region, u32)> {
    decisions(&port.tree.classes(&|queue, rule| side.region(queue, rule, names)))
}

/// Returns the packets that both sides sort.
fn space(sides: [&Side; 2]) -> Space {
    let [old, new] = sides.map(Side::space);
    if old.parts().len() < new.parts().len() { old } else { new }
}

/// Returns the classes without a counterpart that take exactly the same packets: an old and a new one each.
pub(super) fn same_packets(
    sides: [&Side; 2],
    [before, after]: [&SidePort; 2],
    matching: &Matching,
    names: &Numbered,
) -> Result<Vec<(usize, usize)>, TooMany> {
    let count = after.tree.queues().len() as u32;
    let key = |class: u32| matching.new_of_old[class as usize].map_or(count + class, |new| new as u32);
    let old: Vec<(Region, u32)> =
        list(sides[0], before, names).into_iter().map(|(region, class)| (region, key(class))).collect();
    let parts = difference(&old, &list(sides[1], after, names), &space(sides))?;
    // All packets of a class without a counterpart are among the parts.
    let (mut to, mut from): (BTreeMap<u32, BTreeSet<u32>>, BTreeMap<u32, BTreeSet<u32>>) = Default::default();
    for part in parts {
        to.entry(part.old).or_default().insert(part.new);
        from.entry(part.new).or_default().insert(part.old);
    }
    let only = |set: &BTreeSet<u32>| set.first().copied().filter(|_| set.len() == 1);
    let pair = |(old, news): (&u32, &BTreeSet<u32>)| {
        let (new, index) = (only(news)?, old.checked_sub(count)?);
        let is_mutual = from.get(&new).and_then(only) == Some(*old);
        let (index, new) = (index as usize, new as usize);
        (is_mutual && matching.are_open(index, new)).then_some((index, new))
    };
    Ok(to.iter().filter_map(pair).collect())
}

/// Returns the packets that two ports treat differently.
pub(super) fn changes(
    sides: [&Side; 2],
    [before, after]: [&SidePort; 2],
    matching: &Matching,
    names: &Numbered,
) -> Result<Vec<PacketChange>, TooMany> {
    let mut numbers = Treatments::default();
    let count = after.tree.queues().len();
    // Classes that belong together have one key.
    let key_of_old = |index: usize| matching.new_of_old[index].unwrap_or(count + index);
    let mut shown: [BTreeMap<u32, Treatment>; 2] = [BTreeMap::new(), BTreeMap::new()];
    let mut numbered = |side: usize, port: &SidePort| {
        let treatments = treatments(port, &matching.paths[side]);
        let number = |(region, class): (Region, u32)| {
            let class = class as usize;
            let key = if side == 0 { key_of_old(class) } else { class };
            let number = numbers.number(key, &treatments[class]);
            shown[side].entry(number).or_insert_with(|| treatments[class].clone());
            (region, number)
        };
        list(sides[side], port, names).into_iter().map(number).collect::<Vec<_>>()
    };
    let (old, new) = (numbered(0, before), numbered(1, after));
    let space = space(sides);
    let parts = difference(&old, &new, &space)?;
    let mut groups: BTreeMap<(u32, u32), Vec<Part>> = BTreeMap::new();
    for part in parts {
        groups.entry((part.old, part.new)).or_default().push(part);
    }
    let change = |((old, new), parts): ((u32, u32), Vec<Part>)| {
        let is_class = numbers.keys[old as usize] != numbers.keys[new as usize];
        PacketChange::new([&shown[0][&old], &shown[1][&new]], is_class, joined(parts), names, &space)
    };
    Ok(groups.into_iter().filter_map(change).collect())
}

impl PacketChange {
    fn new(
        [old, new]: [&Treatment; 2],
        is_class: bool,
        parts: Vec<Part>,
        names: &Numbered,
        space: &Space,
    ) -> Option<Self> {
        let regions: Vec<Region> = parts.into_iter().map(|part| part.region).collect();
        let names = &names.names;
        let smallest = regions.iter().filter_map(|region| Some((Packet::smallest(region, space)?, region)));
        let (packet, region) = smallest.min_by_key(|(packet, _)| {
            let number = |field: Field| packet.number(field);
            (number(Field::Version) == 0, number(Field::Version), number(Field::Length), packet.numbers())
        })?;
        let set = |region: &Region| PacketSet {
            words: names.region(region),
            conditions: by_key(names.conditions(region)),
            values: by_key(names.exact(region)),
        };
        let (mark, flow) = names.mark_and_flow(&packet);
        let changes = [
            (is_class, Change::Class),
            (old.rate_bps != new.rate_bps, Change::Rate),
            (old.ceil_bps != new.ceil_bps, Change::Ceil),
            (old.priority != new.priority, Change::Priority),
            (old.mark != new.mark, Change::Mark),
        ];
        Some(Self {
            old: old.clone(),
            new: new.clone(),
            changes: changes.into_iter().filter(|(differs, _)| *differs).map(|(_, change)| change).collect(),
            sets: regions.iter().take(MOST_SETS).map(set).collect(),
            sets_total: regions.len(),
            witness: Witness { words: names.packet(&packet, region), packet, mark, flow },
            capture: None,
            regions,
        })
    }
}

fn by_key<T>(of_fields: Vec<(Field, T)>) -> BTreeMap<&'static str, T> {
    of_fields.into_iter().map(|(field, value)| (field.key(), value)).collect()
}

/// Returns the priority of a class of this discipline that gives none, if it has one.
fn usual_priority(kind: &str) -> Option<i64> {
    let shares = &cached(kind)?.shares;
    let named = shares.iter().find(|share| PRIORITY.contains(&share.name.as_str()))?;
    default_value(named.default.as_deref()?).as_integer()
}

/// Returns the treatment of the packets whose way ends at each class.
fn treatments(port: &SidePort, paths: &[String]) -> Vec<Treatment> {
    let tree: &QueueTree = &port.tree;
    let queues = tree.queues();
    let root = Treatment {
        class: String::new(),
        rate_bps: None,
        ceil_bps: port.rate.map(Rate::as_bits),
        priority: Vec::new(),
        mark: Vec::new(),
    };
    let mut all: Vec<Treatment> = vec![root; queues.len()];
    let owners = owners(queues);
    let mut usual: BTreeMap<&str, Option<i64>> = BTreeMap::new();
    for index in 0..queues.len() {
        let queue = &queues[index];
        let own = &mut all[index];
        own.class.clone_from(&paths[index]);
        own.rate_bps = queue.guarantee().map(Rate::as_bits).or(own.rate_bps);
        let ceil = queue.own_rate().map(Rate::as_bits);
        own.ceil_bps = own.ceil_bps.into_iter().chain(ceil).min();
        let given = PRIORITY.iter().find_map(|key| queue.share.get(*key)?.as_integer());
        let owner = owners[index].map(|owner| queues[owner].kind);
        let default = owner.and_then(|owner| *usual.entry(owner).or_insert_with(|| usual_priority(owner)));
        // Only leaves borrow, so that an inner class of `htb` has none.
        own.priority.extend(given.or(default.filter(|_| !queue.is_class())));
        let marks = MARKS.iter().filter_map(|key| {
            let value = queue.config.get(*key).filter(|value| **value != Value::Boolean(false))?;
            Some(format!("{key} {value}"))
        });
        own.mark.extend(marks);
        let is_strict = Kind::named(queue.kind).is_some_and(|kind| kind.family == Family::Priority);
        let below = all[index].clone();
        for (index, child) in queue.children.iter().enumerate() {
            let mut inherited = below.clone();
            inherited.priority.extend(i64::try_from(index).ok().filter(|_| is_strict));
            all[*child] = inherited;
        }
    }
    all
}
