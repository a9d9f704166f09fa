//! Traffic of a laboratory: a flow for every class to which rules lead, and what it must get.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use lockgate_engine::classify::Prefix;
use lockgate_engine::units::{Bytes, Rate};

use super::classes::{Sample, sample};
use super::hosts::{Hosts, Side};
use super::{Way, quoted};
use crate::values::Dscp;

/// Members of a group of queues, such as subscribers, that have traffic at least and at most.
const FEWEST_ACTIVE: usize = 12;
const MOST_ACTIVE: usize = 40;

/// Payload of a full frame, in bytes.
pub(super) const PAYLOAD: u64 = 1448;

/// Share of a guarantee that a transfer must get: the rest is what TCP needs to find it.
const KEPT_SHARE: f64 = 0.7;

/// Field of a packet's header.
type Number = fn(&Sample) -> u32;

/// Flows that were chosen, as text.
#[derive(Default)]
pub(super) struct Traffic {
    /// Lines of the table of flows.
    pub(super) flows: String,
    /// Expectations.
    pub(super) expects: String,
    /// Comments: what no flow reaches.
    pub(super) missing: String,
    /// Names of flows that are taken.
    pub(super) names: Vec<String>,
    /// Members with traffic, by their group.
    members: BTreeMap<String, Vec<String>>,
    /// Members of all groups, whether they have traffic or not.
    all_members: usize,
}

/// One flow to a class.
struct ClassFlow {
    leaf: usize,
    hosts: [usize; 2],
    sample: Sample,
}

impl Traffic {
    /// Returns a free name of a flow.
    fn name(&mut self, wanted: &str) -> String {
        let mut name: String = wanted.replace(['/', '.'], "-").chars().take(50).collect();
        let base = name.clone();
        let mut number = 2;
        while self.names.contains(&name) {
            name = format!("{base}-{number}");
            number += 1;
        }
        self.names.push(name.clone());
        name
    }

    /// Returns true if only some members of groups have traffic, with both numbers.
    pub(super) fn active(&self) -> Option<(usize, usize)> {
        let active = self.members.values().map(Vec::len).sum();
        (active < self.all_members).then_some((active, self.all_members))
    }

    /// Adds flows for the classes of a way that `usual` packets do not reach.
    pub(super) fn add_classes(&mut self, way: &mut Way<'_>, hosts: &mut Hosts, usual: &[Sample]) {
        for sample in usual {
            way.classes.reached.extend(way.classes.leaf(sample));
        }
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut single = Vec::new();
        for leaf in way.classes.leaves() {
            match way.classes.queue(leaf).name.split_once('/') {
                Some((group, _)) => groups.entry(group.to_owned()).or_default().push(leaf),
                None => single.push(leaf),
            }
        }
        for leaf in single.into_iter().filter(|leaf| !way.classes.reached.contains(leaf)).collect::<Vec<_>>()
        {
            match find(way, hosts, leaf) {
                Ok(found) => self.add_single(way, hosts, &found),
                Err(why) => {
                    let (name, port) = (&way.classes.queue(leaf).name, &way.port.name);
                    let _ =
                        writeln!(self.missing, "# No flow reaches the queue `{name}` of `{port}`: {why}.");
                }
            }
        }
        for (group, leaves) in groups {
            self.add_group(way, hosts, &group, &leaves);
        }
    }

    /// Adds a flow to one class: a transfer, or a few small packets where it goes before others.
    fn add_single(&mut self, way: &mut Way<'_>, hosts: &Hosts, found: &ClassFlow) {
        let ClassFlow { leaf, sample, .. } = found;
        let queue = way.classes.queue(*leaf);
        let is_light = way.classes.is_urgent(*leaf) || is_urgent(sample.dscp) || !sample.is_tcp();
        let name = self.name(&format!("{}-{}", queue.name, way.end()));
        let [from, to] = found.hosts.map(|host| hosts.get(host).name.clone());
        let traffic = if is_light {
            let rate = Rate::from_bits((way.line.as_bits() / 100).clamp(8_000, 200_000));
            let (transport, size) = if sample.is_tcp() { ("tcp", 1000) } else { ("udp", sample.length) };
            format!("transport = \"{transport}\", size = \"{}\", rate = \"{rate}\"", Bytes(u64::from(size)))
        } else {
            "transport = \"tcp\", bytes = \"unlimited\"".to_owned()
        };
        let _ = writeln!(
            self.flows,
            "{name} = {{ from = {}, to = {}, {traffic}{} }}",
            quoted(&from),
            quoted(&to),
            header(&[*sample])
        );
        way.classes.reached.insert(*leaf);
        let guarantee = queue.guarantee().filter(|_| !is_light);
        self.expect_guarantee(way, &[*leaf], guarantee, &format!("flow.{name}.goodput"), &queue.name);
    }

    /// Adds flows to members of a group, a few of each plan, and round trips of their hosts.
    fn add_group(&mut self, way: &mut Way<'_>, hosts: &mut Hosts, group: &str, leaves: &[usize]) {
        let chosen = self.choose(way, group, leaves);
        let mut plans: BTreeMap<(Option<Rate>, Option<Rate>), Vec<ClassFlow>> = BTreeMap::new();
        for leaf in chosen {
            match find(way, hosts, leaf) {
                Ok(found) => {
                    let queue = way.classes.queue(leaf);
                    plans.entry((queue.own_rate(), queue.guarantee())).or_default().push(found);
                }
                Err(why) => {
                    let (name, port) = (&way.classes.queue(leaf).name, &way.port.name);
                    let _ =
                        writeln!(self.missing, "# No flow reaches the queue `{name}` of `{port}`: {why}.");
                }
            }
        }
        let all: Vec<usize> = plans.values().flatten().map(|one| one.leaf).collect();
        let mut users: Vec<usize> = Vec::new();
        for ((rate, guarantee), flows) in plans.into_iter().rev() {
            let plan = rate.map_or_else(String::new, |rate| format!("-{rate}"));
            let name = self.name(&format!("{group}{plan}-{}", way.end()));
            let side = |end: usize| -> String {
                let names: Vec<String> =
                    flows.iter().map(|one| quoted(&hosts.get(one.hosts[end]).name)).collect();
                one_or_list(&names)
            };
            let _ = writeln!(
                self.flows,
                "{name} = {{ from = {}, to = {}, transport = \"tcp\", bytes = \"unlimited\"{}{} }}",
                side(0),
                side(1),
                count(flows.len()),
                header(&flows.iter().map(|one| one.sample).collect::<Vec<_>>())
            );
            let each = if flows.len() > 1 { "/*" } else { "" };
            let of = format!("the guarantee of {} of {name}", guarantee.unwrap_or(Rate::from_bits(0)));
            self.expect_guarantee(way, &all, guarantee, &format!("flow.{name}{each}.goodput"), &of);
            users.extend(flows.iter().map(|one| one.hosts[usize::from(!way.is_up)]));
            way.classes.reached.extend(flows.iter().map(|one| one.leaf));
        }
        users.retain(|host| hosts.get(*host).name != "users" && hosts.get(*host).address.is_ipv4());
        self.add_pings(hosts, group, &users);
    }

    /// Adds round trips of the members' own hosts, once for both directions.
    fn add_pings(&mut self, hosts: &Hosts, group: &str, users: &[usize]) {
        let wanted = format!("{group}-ping");
        if users.is_empty() || self.names.contains(&wanted) {
            return;
        }
        let name = self.name(&wanted);
        let names: Vec<String> = users.iter().map(|user| quoted(&hosts.get(*user).name)).collect();
        let _ = writeln!(
            self.flows,
            "{name} = {{ from = {}, to = \"server\", transport = \"udp\", size = \"98B\", gap = \"100ms\", echo = true{} }}",
            one_or_list(&names),
            count(names.len())
        );
        let each = if names.len() > 1 { "/*" } else { "" };
        let _ = write!(
            self.expects,
            "[[expect]]\nname = \"no {group} waits for its own transfers\"\nthat = \"flow.{name}{each}.rtt.p95\"\nbelow = \"150ms\"\n"
        );
    }

    /// Returns the members of a group that have traffic: those of the other direction, or one of each plan in
    /// turn, until their ceilings fill the line.
    fn choose(&mut self, way: &Way<'_>, group: &str, leaves: &[usize]) -> Vec<usize> {
        let name = |leaf: &usize| way.classes.queue(*leaf).name.to_string();
        if let Some(known) = self.members.get(group) {
            return leaves.iter().copied().filter(|leaf| known.contains(&name(leaf))).collect();
        }
        self.all_members += leaves.len();
        let mut plans: BTreeMap<Option<Rate>, Vec<usize>> = BTreeMap::new();
        for leaf in leaves {
            plans.entry(way.classes.queue(*leaf).own_rate()).or_default().push(*leaf);
        }
        let (mut chosen, mut sum) = (Vec::new(), 0_u64);
        let longest = plans.values().map(Vec::len).max().unwrap_or(0);
        'all: for round in 0..longest {
            for (rate, members) in plans.iter().rev() {
                let enough = chosen.len() >= FEWEST_ACTIVE && sum >= way.line.as_bits() / 2 * 3;
                if enough || chosen.len() >= MOST_ACTIVE {
                    break 'all;
                }
                if let Some(leaf) = members.get(round) {
                    chosen.push(*leaf);
                    sum = sum.saturating_add(rate.unwrap_or(way.line).as_bits());
                }
            }
        }
        self.members.insert(group.to_owned(), chosen.iter().map(name).collect());
        chosen
    }

    /// Adds the expectation that transfers get their guarantee, unless those of `active` are more than a
    /// queue above them has.
    fn expect_guarantee(
        &mut self,
        way: &Way<'_>,
        active: &[usize],
        guarantee: Option<Rate>,
        that: &str,
        what: &str,
    ) {
        let Some(rate) = guarantee else { return };
        let mut promised: BTreeMap<usize, u64> = BTreeMap::new();
        for leaf in active {
            let own = way.classes.queue(*leaf).guarantee().map_or(0, Rate::as_bits);
            way.classes.above(*leaf).for_each(|above| *promised.entry(above).or_default() += own);
        }
        let is_kept = |(queue, promised): (&usize, &u64)| {
            way.classes.queue(*queue).own_rate().is_none_or(|rate| rate.as_bits() >= *promised)
        };
        let all: u64 =
            active.iter().filter_map(|leaf| way.classes.queue(*leaf).guarantee()).map(Rate::as_bits).sum();
        if !promised.iter().all(is_kept) || all > way.pace.rate.unwrap_or(way.line).as_bits() {
            return;
        }
        let goodput = rate.as_bits() as f64 * way.efficiency() * KEPT_SHARE;
        let goodput = Rate::from_bits(goodput as u64 / 1000 * 1000);
        if goodput.is_zero() {
            return;
        }
        let _ = write!(
            self.expects,
            "[[expect]]\nname = {}\nthat = {}\nat_least = \"{goodput}\"\n",
            quoted(&format!("{what} is kept, {}", if way.is_up { "upwards" } else { "downwards" })),
            quoted(that)
        );
    }
}

/// Returns a flow that reaches a leaf.
///
/// # Errors
/// The reason, in words, if none does.
fn find(way: &Way<'_>, hosts: &mut Hosts, leaf: usize) -> Result<ClassFlow, String> {
    let mut why = "rules before its own take their packets".to_owned();
    let sides = if way.is_up { [Side::Users, Side::Far] } else { [Side::Far, Side::Users] };
    for rule in way.classes.rules(leaf) {
        let ends = [rule.source, rule.destination];
        let is_v6 = ends.iter().flatten().any(|prefix| prefix.address.is_ipv6()) || rule.flow_label.is_some();
        if let Err(what) = sample(&rule, [IpAddr::from([0, 0, 0, 0]); 2]) {
            why = format!("no flow of a laboratory has {what}");
            continue;
        }
        let [from, to] = [0, 1].map(|end| hosts.addresses(sides[end], usable(ends[end]), is_v6));
        for source in from {
            for destination in to.iter().filter(|address| **address != source) {
                let found = sample(&rule, [source, *destination])?;
                if way.classes.leaf(&found) == Some(leaf) {
                    let name = &way.classes.queue(leaf).name;
                    let wanted = name.rsplit_once('/').map_or(&**name, |(_, own)| own);
                    let hosts = [(0, source), (1, *destination)]
                        .map(|(end, address)| hosts.index_of(sides[end], address, wanted));
                    return Ok(ClassFlow { leaf, hosts, sample: found });
                }
            }
        }
    }
    Err(why)
}

/// Returns the prefix of an end, unless it is that of all addresses.
fn usable(prefix: Option<Prefix>) -> Option<Prefix> {
    prefix.filter(|prefix| prefix.bits > 0)
}

/// Returns true if a code point is that of calls and of control, of which there is little.
fn is_urgent(dscp: u8) -> bool {
    const CS5: u8 = 40;
    const CS7: u8 = 56;
    (CS5..=CS7).contains(&dscp)
}

/// Returns the value that all have, or the list of them.
fn one_or_list(values: &[String]) -> String {
    let is_same = values.iter().all(|value| *value == values[0]);
    if is_same { values[0].clone() } else { format!("[{}]", values.join(", ")) }
}

/// Returns the key of a group with this number of members.
fn count(members: usize) -> String {
    if members > 1 { format!(", count = {members}") } else { String::new() }
}

/// Returns the keys of the headers of a group's members that differ from those of other flows.
fn header(samples: &[Sample]) -> String {
    let first = samples[0];
    let usual = Sample::new([first.fields.source, first.fields.destination], first.is_tcp(), 0);
    let each = |value: Number| {
        let values: Vec<String> = samples.iter().map(|sample| value(sample).to_string()).collect();
        one_or_list(&values)
    };
    let mut keys = String::new();
    if first.dscp != 0 {
        let _ = write!(keys, ", dscp = {}", quoted(&Dscp(first.dscp).name()));
    }
    let numbers: [(&str, Number); 3] = [
        ("source_port", |sample| u32::from(sample.fields.source_port)),
        ("destination_port", |sample| u32::from(sample.fields.destination_port)),
        ("flow_label", |sample| sample.fields.flow_label),
    ];
    for (key, value) in numbers {
        let own = each(value);
        if own != value(&usual).to_string() {
            let _ = write!(keys, ", {key} = {own}");
        }
    }
    keys
}
