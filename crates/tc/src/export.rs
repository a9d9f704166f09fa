//! Export: the port of a scenario as `tc` commands, every unit and default written out.
//!
//! ```text
//! QueueTree --settings--> disciplines and classes with handles
//!           --filters---> rules in their order, as `u32` and `fw`
//! ```
//!
//! A setting that the kernel cannot have is a [comment](Exported::refused) at its place, never left out in
//! silence.

mod filters;
mod meters;
mod settings;

use core::fmt::Write as _;
use std::collections::{BTreeMap, BTreeSet};

use lockgate_scenario::tree::Queue;
use lockgate_scenario::{QueueTree, Scenario};

use crate::handle::Handle;
use crate::language::Kind;
use crate::syntax::{Police, Stab};

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
        r2q: settings::R2Q,
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
    /// `r2q` of the `htb` whose classes are written.
    r2q: u64,
    /// Meters of classes, which stand on the filters that lead to them.
    meters: BTreeMap<Handle, Police>,
    /// Number of meters that several filters share.
    shared: u32,
}

/// Returns the number in a name such as `class-1-1a`, which the import gives.
fn number_in(name: &str) -> Option<u16> {
    let minor = name.strip_prefix("class-")?.split_once('-')?.1;
    u16::from_str_radix(minor, 16).ok().filter(|minor| *minor > 0)
}

/// Returns the kind of `tc` for a queue.
fn kind_of(queue: &Queue) -> Option<Kind> {
    match queue.kind {
        "fifo" => Some(Kind::Pfifo),
        name => Kind::of(name).filter(|kind| !kind.is_of_device()),
    }
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

    /// Returns a free handle of a discipline, `wanted` if it is free.
    fn major(&mut self, wanted: u16) -> u16 {
        let free = (wanted..0xfff0).chain(1..wanted).find(|major| !self.majors.contains(major));
        let major = free.unwrap_or(0xfff0);
        self.majors.insert(major);
        major
    }

    /// Returns the children of a queue.
    fn children(&self, queue: &Queue) -> Vec<&'a Queue> {
        queue.children.iter().filter_map(|index| self.tree.queues().get(*index)).collect()
    }

    /// Adds a discipline at a place, and all below it.
    fn qdisc(&mut self, queue: &'a Queue, parent: Option<Handle>, stab: Option<Stab>) {
        if let Some(shaped) = self.direct(queue) {
            return self.qdisc(shaped, parent, stab);
        }
        if let ("policer", Some(class)) = (queue.kind, parent) {
            return self.metered(queue, class);
        }
        let Some(kind) = kind_of(queue) else {
            return self.refuse(format!("queue `{}`: Linux has no discipline `{}`", queue.name, queue.kind));
        };
        let is_bytes = kind == Kind::Pfifo
            && queue
                .config
                .get("limit")
                .and_then(toml::Value::as_str)
                .is_some_and(|limit| !limit.ends_with('p'));
        let drops_head = queue.kind == "fifo" && settings::drops_head(queue);
        let kind = match (is_bytes, drops_head) {
            (true, true) => {
                return self.refuse(format!(
                    "queue `{}`: Linux drops the oldest packet of FIFOs by packets only",
                    queue.name
                ));
            }
            (true, false) => Kind::Bfifo,
            (false, true) => Kind::PfifoHeadDrop,
            (false, false) => kind,
        };
        let is_divided = self.device.has_queues && parent.is_none();
        if is_divided && kind != Kind::Cake {
            self.refuse(format!(
                "queue `{}`: only a `cake` at the root is divided among transmit queues, not `{kind}`",
                queue.name
            ));
        }
        let kind = if is_divided && kind == Kind::Cake { Kind::CakeMq } else { kind };
        self.kinds.insert(kind);
        let wanted = match parent {
            None => 1,
            Some(parent) if parent.minor > 1 => parent.minor.min(0xff00),
            Some(parent) => 16 * parent.major.min(0xfff),
        };
        let handle = Handle { major: self.major(wanted), minor: 0 };
        let children = self.children(queue);
        let (mut words, refused) = settings::of_qdisc(
            queue,
            if kind == Kind::CakeMq { Kind::Cake } else { kind },
            children.len(),
            self.is_framed && parent.is_none(),
        );
        self.refuse_all(refused);
        if matches!(kind, Kind::Red | Kind::Choke) && words.is_empty() {
            return;
        }
        if self.device.ifb.is_some() && words.iter().any(|word| word == "fwmark") {
            self.refuse(format!(
                "queue `{}`: `fwmark` of what arrives, which comes to the queues before a firewall has marked it",
                queue.name
            ));
        }
        let rest = Self::rest_of(&children);
        words.extend(self.classification(queue, kind, handle, &children, rest));
        let place = parent.map_or_else(|| "root".to_owned(), |parent| format!("parent {parent}"));
        let table = stab.map_or_else(String::new, |stab| format!("{stab} "));
        let words: String = words.iter().flat_map(|word| [" ", word]).collect();
        // It has a discipline for each transmit queue, and takes no handle.
        let handle_of = if kind == Kind::CakeMq { String::new() } else { format!(" handle {handle}") };
        self.line(format!("tc qdisc add dev {} {place}{handle_of} {table}{kind}{words}", self.name));
        if kind.has_explicit_classes() {
            let ids = self.class_ids(queue, handle);
            let r2q = core::mem::replace(&mut self.r2q, settings::r2q(queue));
            self.classes(queue, handle, kind, &ids);
            self.r2q = r2q;
            self.filters_of(queue, handle, kind, &ids);
            self.share_meters(handle);
        } else if matches!(kind, Kind::Prio | Kind::Ets) {
            let ids: BTreeMap<&str, Handle> = children
                .iter()
                .enumerate()
                .map(|(band, child)| (&*child.name, Handle { minor: band as u16 + 1, ..handle }))
                .collect();
            self.refuse_unmetered(queue, &children);
            for child in &children {
                let id = ids[&*child.name];
                let (share, refused) = settings::of_class(child, kind, self.is_framed, self.r2q);
                self.refuse_all(refused);
                if !share.is_empty() {
                    self.line(format!(
                        "tc class change dev {} classid {id} {kind} {}",
                        self.name,
                        share.join(" ")
                    ));
                }
                self.qdisc(child, Some(id), None);
            }
            self.filters_of(queue, handle, kind, &ids);
            self.share_meters(handle);
        } else if let Some(child) = children.first() {
            self.qdisc(child, Some(Handle { minor: 1, ..handle }), None);
        }
    }

    /// Refuses meters of bands that get packets by the map of priorities: meters stand on filters.
    fn refuse_unmetered(&mut self, queue: &Queue, children: &[&Queue]) {
        let map = queue.config.get("priomap").and_then(toml::Value::as_array);
        let bands: Vec<usize> =
            map.into_iter().flatten().filter_map(|band| band.as_integer()?.try_into().ok()).collect();
        for (band, child) in children.iter().enumerate() {
            if child.kind == "policer" && bands.contains(&band) {
                let name = &child.name;
                self.refuse(format!(
                    "queue `{name}`: packets that the map of priorities gives it pass no meter in Linux"
                ));
            }
        }
    }

    /// Returns the `htb` of a `prio` whose first band takes what no filter of it takes: `htb` without
    /// `default`.
    fn direct(&self, queue: &Queue) -> Option<&'a Queue> {
        let children = self.children(queue);
        let [direct, shaped] = children.as_slice() else { return None };
        let is_all = |queue: &Queue| matches!(queue.rules.as_slice(), [rule] if filters::is_everything(rule));
        let is_direct =
            queue.kind == "prio" && direct.kind == "fifo" && is_all(direct) && shaped.kind == "htb";
        let limit = direct.config.get("limit").and_then(toml::Value::as_str);
        (is_direct && limit == Some("1000p") && !shaped.rules.is_empty()).then_some(*shaped)
    }

    /// Returns the index of the child that takes the rest.
    fn rest_of(children: &[&Queue]) -> usize {
        let rest = children
            .iter()
            .position(|child| child.rules.is_empty() || child.rules.iter().any(filters::is_everything));
        rest.unwrap_or(children.len().saturating_sub(1))
    }

    /// Returns the words by which a discipline sorts packets itself.
    fn classification(
        &mut self,
        queue: &'a Queue,
        kind: Kind,
        handle: Handle,
        children: &[&'a Queue],
        rest: usize,
    ) -> Vec<String> {
        match kind {
            Kind::Htb | Kind::Hfsc if !self.is_without_rest(queue) => {
                let ids = self.class_ids(queue, handle);
                let leaf = self.rest_leaf(queue);
                let id = leaf.and_then(|leaf| ids.get(&*leaf.name));
                id.map(|id| vec!["default".to_owned(), format!("{:#x}", id.minor)]).unwrap_or_default()
            }
            Kind::Prio | Kind::Ets => {
                let map =
                    queue.config.get("priomap").and_then(toml::Value::as_array).filter(|map| !map.is_empty());
                let bands: Vec<String> = match map {
                    Some(map) => {
                        let last = i64::try_from(children.len().saturating_sub(1)).unwrap_or(0);
                        let band =
                            |index: usize| map.get(index).and_then(toml::Value::as_integer).unwrap_or(last);
                        (0..16).map(|priority| band(priority).to_string()).collect()
                    }
                    None => vec![rest.to_string(); 16],
                };
                let mut words =
                    vec!["bands".to_owned(), children.len().max(2).to_string(), "priomap".to_owned()];
                if kind == Kind::Ets {
                    words[1] = children.len().to_string();
                }
                words.extend(bands);
                words
            }
            _ => Vec::new(),
        }
    }

    /// Returns true for an `htb` that stands in [`direct`](Self::direct).
    fn is_without_rest(&self, queue: &Queue) -> bool {
        self.tree
            .queues()
            .iter()
            .any(|parent| self.direct(parent).is_some_and(|shaped| shaped.name == queue.name))
    }

    /// Returns the leaf that takes what no rule of the tree takes.
    fn rest_leaf(&self, queue: &Queue) -> Option<&'a Queue> {
        let children = self.children(queue);
        let child = *children.get(Self::rest_of(&children))?;
        if child.is_class() { self.rest_leaf(child) } else { Some(child) }
    }

    /// Returns the handles of all classes below a discipline.
    fn class_ids(&self, queue: &Queue, handle: Handle) -> BTreeMap<&'a str, Handle> {
        let mut all = Vec::new();
        self.all_classes(queue, &mut all);
        let mut taken: BTreeSet<u16> = all.iter().filter_map(|class| number_in(&class.name)).collect();
        let mut ids = BTreeMap::new();
        let mut used = BTreeSet::new();
        let mut next = 0x10_u16;
        for class in all {
            let own = number_in(&class.name).filter(|minor| used.insert(*minor));
            let minor = own.unwrap_or_else(|| {
                while taken.contains(&next) {
                    next += 1;
                }
                taken.insert(next);
                next
            });
            ids.insert(&*class.name, Handle { minor, ..handle });
        }
        ids
    }

    fn all_classes(&self, queue: &Queue, all: &mut Vec<&'a Queue>) {
        for child in self.children(queue) {
            all.push(child);
            if child.is_class() {
                self.all_classes(child, all);
            }
        }
    }

    /// Adds the classes below a discipline or class, and the disciplines in them.
    fn classes(&mut self, queue: &Queue, parent: Handle, kind: Kind, ids: &BTreeMap<&'a str, Handle>) {
        for child in self.children(queue) {
            let id = ids[&*child.name];
            let (words, refused) = settings::of_class(child, kind, self.is_framed, self.r2q);
            self.refuse_all(refused);
            let words: String = words.iter().flat_map(|word| [" ", word]).collect();
            self.line(format!("tc class add dev {} parent {parent} classid {id} {kind}{words}", self.name));
            if child.is_class() {
                self.classes(child, id, kind, ids);
            } else {
                self.qdisc(child, Some(id), None);
            }
        }
    }
}
