//! Sides of a difference: the ports of a policy or of a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::units::Rate;
use lockgate_headers::{Field, Marks, Names, Region, Space, Spans};
use lockgate_scenario::{Policy, Queue, QueueTree, Scenario};

/// Side of a difference.
#[derive(Debug)]
pub struct Side {
    /// Name of its file.
    pub name: String,
    pub(super) ports: Vec<SidePort>,
    /// Names of its flows, by their numbers.
    flows: Vec<String>,
    /// Its file, if other keys of it are compared.
    pub(super) keys: Option<toml::Table>,
    /// Lines of its file that are not understood, and so not compared.
    left_out: Vec<String>,
    pub(super) form: Form,
}

/// Form of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Policy,
    Scenario,
    /// Converted from `tc`.
    Commands,
}

/// Port of a side.
#[derive(Debug)]
pub(super) struct SidePort {
    pub(super) name: String,
    /// Rate of its own.
    pub(super) rate: Option<Rate>,
    /// True if it is converted from `tc`, whose bursts the kernel rounds.
    pub(super) is_of_kernel: bool,
    pub(super) tree: Arc<QueueTree>,
}

impl Side {
    /// Returns a policy as a side; `text` is its file.
    pub fn of_policy(name: impl Into<String>, policy: &Policy, text: &str) -> Self {
        let ports = policy.ports.iter().map(|port| SidePort {
            name: port.name.clone(),
            rate: port.rate,
            is_of_kernel: false,
            tree: Arc::clone(&port.tree),
        });
        let keys = toml::from_str(text).ok();
        Self {
            name: name.into(),
            ports: ports.collect(),
            flows: Vec::new(),
            keys,
            left_out: Vec::new(),
            form: Form::Policy,
        }
    }

    /// Returns a scenario as a side. Ports whose queue is the default are left out.
    pub fn of_scenario(name: impl Into<String>, scenario: &Scenario) -> Self {
        let keys = toml::from_str(&scenario.to_toml()).ok();
        Self { keys, ..Self::of_ports(name.into(), scenario, Form::Scenario) }
    }

    /// Returns commands of `tc`, converted to a scenario, as a side: only their ports are compared, the line
    /// of their `netem`, and the lines that the conversion left out.
    pub fn of_commands(name: impl Into<String>, scenario: &Scenario, left_out: &[&str]) -> Self {
        let words = |line: &&str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut left_out: Vec<String> = left_out.iter().map(words).collect();
        left_out.sort();
        let keys = Some(line_of_netem(&scenario.to_toml()));
        Self { keys, left_out, ..Self::of_ports(name.into(), scenario, Form::Commands) }
    }

    fn of_ports(name: String, scenario: &Scenario, form: Form) -> Self {
        let default = QueueTree::fifo();
        let written = scenario.ports.iter().filter(|port| *port.tree != default || port.pace.rate.is_some());
        let ports = written.map(|port| SidePort {
            name: port.name.clone(),
            rate: port.pace.rate,
            is_of_kernel: form == Form::Commands,
            tree: Arc::clone(&port.tree),
        });
        let flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        Self { name, ports: ports.collect(), flows, keys: None, left_out: Vec::new(), form }
    }

    /// Returns the packets that it sorts: rules that are converted from `tc` are about IPv4.
    pub(super) fn space(&self) -> Space {
        if self.form == Form::Commands { Space::ipv4() } else { Space::packets() }
    }

    /// Returns the packets that a rule of a queue takes, with the numbers of `names`.
    pub(super) fn region(&self, queue: &Queue, rule: usize, names: &Numbered) -> Region {
        let region = Region::of_rule(&queue.rules[rule]);
        let all = || Spans::up_to(Field::Flow.most());
        if let Some((_, [value, mask])) = queue.marks.iter().find(|(index, _)| *index == rule) {
            return region.with(Field::Flow, all()).with(Field::Mark, names.names.marks.of(*value, *mask));
        }
        let Some(flows) = &queue.rules[rule].flows else { return region };
        let number = |index: u32| names.flows.get(self.flows.get(index as usize)?).copied();
        let numbers = flows.iter().filter_map(|flow| number(flow.0));
        region.with(Field::Flow, Spans::of(numbers.map(|number| (number, number))))
    }

    /// Returns the lines that only one of two sides has of those that are not compared, in words, and the
    /// number of those that both have.
    pub(super) fn not_compared(&self, new: &Self) -> (Vec<String>, usize) {
        let (mut only_old, mut only_new) = (Vec::new(), new.left_out.clone());
        for line in &self.left_out {
            match only_new.iter().position(|other| other == line) {
                Some(index) => _ = only_new.remove(index),
                None => only_old.push(line.clone()),
            }
        }
        let common = self.left_out.len() - only_old.len();
        let of = |side: &Self, lines: Vec<String>| -> Vec<String> {
            let line = |line| format!("not compared, only in `{}`: `{line}`", side.name);
            lines.into_iter().map(line).collect()
        };
        ([of(self, only_old), of(new, only_new)].concat(), common)
    }

    fn marks(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let queues = self.ports.iter().flat_map(|port| port.tree.queues());
        queues.flat_map(|queue| &queue.marks).map(|(_, [value, mask])| (*value, *mask))
    }
}

/// Returns the keys of the line of a conversion, without a rate that the conversion has chosen: that has its
/// reason behind it.
fn line_of_netem(text: &str) -> toml::Table {
    let keep = |key: &str, value: &toml::Value| {
        let is_chosen = || text.lines().any(|line| line.starts_with("rate = ") && line.contains(" # "));
        key != "between" && !(key == "rate" && value.is_str() && is_chosen())
    };
    let mut keys = toml::from_str::<toml::Table>(text).unwrap_or_default();
    keys.retain(|name, _| name == "link");
    let links = keys.get_mut("link").and_then(toml::Value::as_table_mut);
    if let Some(links) = links {
        links.retain(|name, _| name == "line");
        if let Some(line) = links.get_mut("line").and_then(toml::Value::as_table_mut) {
            line.retain(|key, value| keep(key, value));
        }
    }
    keys
}

/// Names of what both sides have by number, and the numbers of flows.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    pub(super) names: Names,
    flows: BTreeMap<String, u128>,
}

/// Returns the names of both sides; `None` if too many marks are compared.
pub(super) fn names(old: &Side, new: &Side, pairs: &[(&SidePort, &SidePort)]) -> Option<Numbered> {
    let marks = Marks::new(old.marks().chain(new.marks()))?;
    let names_flows = |port: &SidePort| {
        port.tree.queues().iter().any(|queue| queue.rules.iter().any(|rule| rule.flows.is_some()))
    };
    let mut numbered = Numbered { names: Names { marks, flows: Vec::new() }, flows: BTreeMap::new() };
    if pairs.iter().any(|(before, after)| names_flows(before) || names_flows(after)) {
        for name in old.flows.iter().chain(&new.flows) {
            if !numbered.flows.contains_key(name) {
                numbered.names.flows.push(name.clone());
                numbered.flows.insert(name.clone(), numbered.names.flows.len() as u128);
            }
        }
    }
    Some(numbered)
}

/// Returns the ports of both sides that are compared, and those that only one has, in words. Ports of one
/// name belong together; of sides of two forms, those left over in their order.
pub(super) fn pairs<'s>(old: &'s Side, new: &'s Side) -> (Vec<(&'s SidePort, &'s SidePort)>, Vec<String>) {
    let mut pairs = Vec::new();
    let mut after: Vec<&SidePort> = new.ports.iter().collect();
    let mut before = Vec::new();
    for port in &old.ports {
        match after.iter().position(|other| other.name == port.name) {
            Some(index) => pairs.push((port, after.remove(index))),
            None => before.push(port),
        }
    }
    if old.form != new.form || before.len() == 1 && after.len() == 1 {
        let count = before.len().min(after.len());
        pairs.extend(before.drain(..count).zip(after.drain(..count)));
    }
    let unpaired = |ports: &[&SidePort], side: &Side| -> Vec<String> {
        let line = |port: &&SidePort| format!("the port `{}` is only in `{}`", port.name, side.name);
        ports.iter().map(line).collect()
    };
    let lines = [unpaired(&before, old), unpaired(&after, new)].concat();
    (pairs, lines)
}
