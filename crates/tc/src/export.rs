//! Export: the port of a scenario as `tc` commands, every unit and default written out.
//!
//! ```text
//! QueueTree --settings--> disciplines and classes with handles
//!           --filters---> rules in their order, as `u32` and `fw`
//! ```
//!
//! A setting that the kernel cannot have is a [comment](Exported::refused) at its place, never left out in
//! silence.

mod classes;
mod disciplines;
mod filters;
mod meters;
mod settings;
mod values;

use core::fmt::Write as _;
use std::collections::{BTreeMap, BTreeSet};

use lockgate_scenario::tree::Queue;
use lockgate_scenario::{QueueTree, Scenario};

use crate::handle::Handle;
use crate::language::Kind;
use crate::syntax::Police;

/// Device that the commands are for.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    /// Name.
    pub name: &'a str,
    /// Device by which what arrives is queued; `None`: what leaves is queued.
    pub ifb: Option<&'a str>,
    /// True if a `cake` at the root is divided among the device's transmit queues (`cake_mq`).
    pub has_queues: bool,
}

/// Commands that set up a port.
#[derive(Clone, Debug, Default)]
pub struct Exported {
    /// Lines of a script: commands, and comments for what the kernel cannot say.
    pub lines: Vec<String>,
    /// Parts that the kernel cannot have, with the reasons.
    pub refused: Vec<String>,
}

impl Exported {
    /// Adds a part that the kernel cannot have, as a comment at the end.
    pub fn refuse(&mut self, why: String) {
        self.lines.push(format!("# not exported: {why}"));
        self.refused.push(why);
    }

    /// Returns the commands as a script.
    pub fn script(&self) -> String {
        let mut text = String::from("#!/bin/sh\n");
        self.lines.iter().for_each(|line| {
            let _ = writeln!(text, "{line}");
        });
        text
    }
}

/// Marks of a port's rules, by queue and index of the rule: `(value, mask)`. A scenario resolves marks to
/// flows; the kernel compares them.
pub type Marks = BTreeMap<(String, usize), (u32, u32)>;

/// Reads the marks of all rules of a port from the text of its file.
pub fn marks(text: &str, port: &str) -> Marks {
    let mut marks = Marks::new();
    let Ok(document) = text.parse::<toml::Table>() else { return marks };
    let names = [port.to_owned(), port.replacen(':', "->", 1)];
    let ports = document.get("port").and_then(toml::Value::as_table);
    let queues = names.iter().find_map(|name| ports?.get(name)?.get("queue")?.as_table());
    for (queue, table) in queues.into_iter().flatten() {
        let rules = table.get("match").and_then(toml::Value::as_array);
        for (index, rule) in rules.into_iter().flatten().enumerate() {
            let mark = rule.get("mark").and_then(|mark| match mark {
                toml::Value::Integer(number) => Some((u32::try_from(*number).ok()?, u32::MAX)),
                toml::Value::String(text) => {
                    crate::parse::masked_of(text).map(|mark| (mark.value, mark.mask))
                }
                _ => None,
            });
            if let Some(mark) = mark {
                marks.insert((queue.clone(), index), mark);
            }
        }
    }
    marks
}

/// Exports a tree of queues. `flows` are those of the scenario, for rules that name them.
pub fn export(tree: &QueueTree, scenario: Option<&Scenario>, marks: &Marks, device: &Device<'_>) -> Exported {
    let (stab, is_framed) = settings::common_framing(tree);
    let mut writer = Writer {
        is_framed,
        tree,
        scenario,
        marks,
        device: *device,
        name: device.ifb.unwrap_or(device.name).to_owned(),
        majors: BTreeSet::new(),
        exported: Exported::default(),
        kinds: BTreeSet::new(),
        filters: Vec::new(),
        owner: None,
        meters: BTreeMap::new(),
        shared: 0,
    };
    if let Some(root) = tree.queues().first() {
        if root.kind == "policer" {
            writer.metered_arrivals(root);
        } else {
            writer.ingress();
            writer.qdisc(root, None, stab);
        }
    }
    let filters = core::mem::take(&mut writer.filters);
    writer.exported.lines.extend(filters);
    let needs = writer.needs();
    writer.exported.lines.insert(0, needs);
    writer.exported
}

struct Writer<'a> {
    tree: &'a QueueTree,
    scenario: Option<&'a Scenario>,
    marks: &'a Marks,
    device: Device<'a>,
    /// Device on which the tree stands.
    name: String,
    /// Handles of disciplines that are taken.
    majors: BTreeSet<u16>,
    exported: Exported,
    kinds: BTreeSet<Kind>,
    /// True if the root says the framing of all classes.
    is_framed: bool,
    /// Commands of filters, after all classes.
    filters: Vec<String>,
    /// Discipline whose classes are written.
    owner: Option<&'a Queue>,
    /// Meters of classes, which stand on the filters that lead to them.
    meters: BTreeMap<Handle, Police>,
    /// Number of meters that several filters share.
    shared: u32,
}

impl<'a> Writer<'a> {
    fn line(&mut self, line: String) {
        self.exported.lines.push(line);
    }

    /// Adds what the kernel cannot say, as a comment at its place.
    fn refuse(&mut self, why: String) {
        self.exported.lines.push(format!("# not exported: {why}"));
        self.exported.refused.push(why);
    }

    fn refuse_all(&mut self, all: Vec<String>) {
        for why in all {
            self.refuse(why);
        }
    }

    /// Adds the redirection of what arrives.
    fn ingress(&mut self) {
        let Some(ifb) = self.device.ifb else { return };
        let dev = self.device.name;
        self.line(format!("ip link add {ifb} type ifb"));
        self.line(format!("ip link set {ifb} up"));
        self.line(format!("tc qdisc add dev {dev} handle ffff: ingress"));
        self.line(format!(
            "tc filter add dev {dev} parent ffff: protocol all prio 10 u32 match u32 0 0 at 0 action mirred egress redirect dev {ifb}"
        ));
    }

    /// Returns a line that says what the commands need.
    fn needs(&self) -> String {
        let first = self.kinds.iter().filter_map(|kind| kind.since()).max();
        let version = first.map_or_else(|| "any".to_owned(), |version| format!("{version} or later"));
        let removed: Vec<String> = self
            .kinds
            .iter()
            .filter_map(|kind| Some(format!("`{kind}` until before {}", kind.until()?)))
            .collect();
        let until = if removed.is_empty() { String::new() } else { format!("; {}", removed.join(", ")) };
        format!(
            "# Written by `lockgate tc export` for Linux: {version}{until}, with the iproute2 of that version."
        )
    }

    /// Returns the children of a queue.
    fn children(&self, queue: &Queue) -> Vec<&'a Queue> {
        queue.children.iter().filter_map(|index| self.tree.queues().get(*index)).collect()
    }
}
