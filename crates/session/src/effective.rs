//! Effective scenario at a time of the run: the text with the changes so far. Knobs show its values, and
//! temporary changes restore them.

use std::collections::{BTreeSet, VecDeque};

use lockgate_engine::units::{Duration, Instant};
use lockgate_engine::{class, port_name};
use lockgate_measure::group::group_of;
use lockgate_scenario::path::join;
use lockgate_scenario::reference::cached;
use lockgate_scenario::{Override, is_dealt};
use serde::Serialize;
use toml::{Table, Value};

use crate::step::Stepped;

/// Value that may be set during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Knob {
    /// Path for `lockgate set`.
    pub path: String,
    /// Last part of the path.
    pub key: String,
    /// Effective value as written; `None` if it is not written and has no default.
    pub value: Option<String>,
    /// True if `value` is the default, because none is written.
    pub is_default: bool,
    /// Type of its values: `rate`, `limit`, `whole number`.
    pub takes: String,
    /// Description.
    pub about: String,
    /// Possible values, if they are a short list.
    pub choices: Vec<String>,
    /// Value one step below; `None` if there is none.
    pub lower: Option<String>,
    /// Value one step above; `None` if there is none.
    pub higher: Option<String>,
}

impl Knob {
    /// Returns the knob with its steps. `default` is its constant default.
    fn with_steps(mut self, default: Option<&str>) -> Self {
        let stepped = Stepped { takes: &self.takes, default, choices: &self.choices };
        [self.lower, self.higher] = stepped.around(self.value.as_deref());
        self
    }
}

/// Effective scenario at one time: the values in force, and the future changes. Its size does not grow with
/// past changes, so that in a session with many settings it is read instead of the whole text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Effective {
    /// Text with past changes applied, without its `[[change]]`s.
    table: Table,
    /// Changes to come, by time, then in the order of the text.
    coming: VecDeque<(Instant, Value)>,
    now: Instant,
}

impl Effective {
    /// Parses `text`, a valid scenario, and applies all changes up to `now`.
    pub(crate) fn at(text: &str, now: Instant) -> Self {
        let mut table: Table = text.parse().unwrap_or_default();
        table.get_mut("port").map(name_ports);
        let changes = table.remove("change");
        let mut effective = Self { table, coming: VecDeque::new(), now };
        effective.add(changes);
        effective.advance(now);
        effective
    }

    /// Adds `[[change]]`s after all others of the text.
    fn add(&mut self, changes: Option<Value>) {
        let Some(Value::Array(changes)) = changes else { return };
        for change in changes {
            let at = change.get("at").and_then(Value::as_str).and_then(|at| at.parse::<Duration>().ok());
            let at = at.map_or(Instant::NEVER, |after| Instant::ZERO + after);
            let index = self.coming.partition_point(|(other, _)| *other <= at);
            self.coming.insert(index, (at, change));
        }
    }

    /// Applies all changes up to `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        while let Some((_, change)) = self.coming.pop_front_if(|(at, _)| *at <= now) {
            for (path, value) in change.get("set").and_then(Value::as_table).into_iter().flatten() {
                let mut value = value.clone();
                if path == "port" {
                    name_ports(&mut value);
                }
                put(&mut self.table, &segments(path), &value);
            }
        }
    }

    /// Returns its time.
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// True if a change up to `now` has not been applied.
    pub(crate) fn is_past(&self, now: Instant) -> bool {
        self.coming.front().is_some_and(|(at, _)| *at <= now)
    }

    /// Returns the state at `at`. If `at` is before the time of `self`, the state is read again from `whole`,
    /// which returns the text with all changes.
    pub(crate) fn later(&self, at: Instant, whole: impl FnOnce() -> String) -> Self {
        if at < self.now {
            return Self::at(&whole(), at);
        }
        let mut later = self.clone();
        later.advance(at);
        later
    }

    /// Adds the `[[change]]`s of `text` after all others.
    pub(crate) fn add_text(&mut self, text: &str) {
        self.add(text.parse::<Table>().unwrap_or_default().remove("change"));
    }

    /// Returns the value written at `path`.
    pub(crate) fn get(&self, path: &[String]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.table.get(first)?, |value, segment| value.get(segment))
    }

    /// Returns the value in force at `path`: the one written there, or the value of the group to which the
    /// member belongs, such as `plan/77`. A column of a table of subscribers has no value here, because the
    /// table is not in the text.
    pub(crate) fn value(&self, path: &[String]) -> Option<&Value> {
        self.get(path).or_else(|| {
            let index = if path.first()? == "port" { 3 } else { 1 };
            let (group, number) = member(path.get(index)?)?;
            let mut of_group = path.to_vec();
            group.clone_into(&mut of_group[index]);
            let value = self.get(&of_group)?;
            let value = match value {
                Value::Array(list) if is_dealt(path.get(index + 1)?) => {
                    list.get((number - 1) % list.len().max(1))?
                }
                other => other,
            };
            (!value.as_str().is_some_and(|text| text.contains('$'))).then_some(value)
        })
    }

    /// Returns the setting that restores the current value at `path`: `PATH=VALUE` of the value in force,
    /// else of the constant default, else `PATH=`, which removes the value.
    pub(crate) fn restoring(&self, path: &[String]) -> String {
        let value = self.value(path).map(as_written).or_else(|| self.default_of(path));
        format!("{}={}", join(path), value.unwrap_or_default())
    }

    /// Returns the constant default of a discipline's parameter or of a link's key.
    fn default_of(&self, path: &[String]) -> Option<String> {
        if let [section, _, key] = path
            && section == "link"
        {
            let known = LINK_KNOBS.iter().find(|(name, ..)| name == key);
            return known.and_then(|(_, _, default, _)| default.map(str::to_owned));
        }
        let [section, port, queue, name, key] = path else { return None };
        if (section.as_str(), queue.as_str()) != ("port", "queue") {
            return None;
        }
        let kind = self.kind(port, name)?;
        let own = cached(&kind)?.parameters.iter().find(|parameter| parameter.name == *key);
        let share = || {
            let shares = &cached(&self.scheduler(port, name)?)?.shares;
            shares.iter().find(|share| share.name == *key)
        };
        own.or_else(share)?.default.clone()
    }

    fn queues(&self, port: &str) -> Option<&Table> {
        self.table.get("port")?.get(port)?.get("queue")?.as_table()
    }

    fn kind(&self, port: &str, queue: &str) -> Option<String> {
        let path = ["port", port, "queue", queue, "kind"].map(str::to_owned);
        Some(self.value(&path)?.as_str()?.to_owned())
    }

    /// Returns the parent of `queue`.
    fn parent(&self, port: &str, queue: &str) -> Option<String> {
        let is_child =
            |table: &Value| children(table).any(|child| child == queue || group_of(queue) == Some(child));
        self.queues(port)?.iter().find(|(_, table)| is_child(table)).map(|(name, _)| name.clone())
    }

    /// Returns the kind of the discipline that has `queue` among its children or the leaves of its classes.
    fn scheduler(&self, port: &str, queue: &str) -> Option<String> {
        let mut above = self.parent(port, queue)?;
        // The loop ends: reading refuses a queue that is its own descendant.
        while self.kind(port, &above)? == class::KIND {
            above = self.parent(port, &above)?;
        }
        self.kind(port, &above)
    }

    /// Returns the knobs of one queue: its kind, its parameters, and its share at its parent.
    pub(crate) fn queue_knobs(&self, port: &str, queue: &str) -> Vec<Knob> {
        let Some(kind) = self.kind(port, queue) else { return Vec::new() };
        let own = cached(&kind).map(|reference| reference.parameters.as_slice()).unwrap_or_default();
        let scheduler = self.scheduler(port, queue).and_then(|kind| cached(&kind));
        let shares = scheduler.map(|reference| reference.shares.as_slice()).unwrap_or_default();
        let knob = |parameter: &lockgate_scenario::reference::Parameter| {
            let path = ["port", port, "queue", queue, &parameter.name].map(str::to_owned);
            let value = self.value(&path).map(as_written);
            let choices: Vec<String> = parameter.takes.split(" | ").map(str::to_owned).collect();
            // `rate | table` are two types, not two values.
            let is_list = choices.len() > 1 && choices.iter().all(|choice| choice != "table");
            let default = &parameter.default;
            let knob = Knob {
                path: join(&path),
                key: parameter.name.clone(),
                is_default: value.is_none(),
                value: value.or_else(|| default.clone()),
                choices: if is_list { choices } else { Vec::new() },
                takes: parameter.takes.clone(),
                about: parameter.doc.clone(),
                ..Knob::default()
            };
            knob.with_steps(default.as_deref())
        };
        shares.iter().chain(own).map(knob).collect()
    }

    /// Returns the knob that selects the tree of a port, if several queues may be the root.
    pub(crate) fn root_knob(&self, port: &str, queues: &[String], root: &str) -> Knob {
        let value = self.get(&["port", port, "root"].map(str::to_owned)).map(as_written);
        let tables = self.queues(port).into_iter().flat_map(Table::values);
        let inner: BTreeSet<&str> = tables.flat_map(children).collect();
        let is_inner =
            |queue: &str| inner.contains(queue) || group_of(queue).is_some_and(|group| inner.contains(group));
        let choices = queues.iter().filter(|queue| !is_inner(queue)).cloned().collect();
        let knob = Knob {
            path: join(&["port", port, "root"].map(str::to_owned)),
            key: "root".to_owned(),
            is_default: value.is_none(),
            value: Some(value.unwrap_or_else(|| root.to_owned())),
            takes: "queue".to_owned(),
            about: "the tree in use; packets that wait move to the new one".to_owned(),
            choices,
            ..Knob::default()
        };
        knob.with_steps(None)
    }

    /// Returns the knobs of a link: rate, delay and loss.
    pub(crate) fn link_knobs(&self, link: &str) -> Vec<Knob> {
        let knob = |(key, takes, default, about): LinkKnob| {
            let path = ["link", link, key].map(str::to_owned);
            let value = self.value(&path).map(as_written);
            let knob = Knob {
                path: join(&path),
                key: key.to_owned(),
                is_default: value.is_none(),
                value: value.or(default.map(str::to_owned)),
                takes: takes.to_owned(),
                about: about.to_owned(),
                ..Knob::default()
            };
            knob.with_steps(default)
        };
        LINK_KNOBS.map(knob).into()
    }
}

/// Key, type, default and description of a link's knob.
type LinkKnob = (&'static str, &'static str, Option<&'static str>, &'static str);

/// Knobs of a link.
const LINK_KNOBS: [LinkKnob; 3] = [
    ("rate", "rate", None, "of both directions"),
    ("delay", "time", Some("0s"), "propagation, each way"),
    ("loss", "probability", Some("0"), "of each packet, each way"),
];

/// Returns the names of a queue's children; `plan` stands for all members of the group of that name.
fn children(queue: &Value) -> impl Iterator<Item = &str> {
    let names = queue.get("children").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(|name| name.strip_suffix("/*").unwrap_or(name))
}

/// Returns the group of a member, and its number from 1: `plan/77` is member 77 of `plan`.
fn member(name: &str) -> Option<(&str, usize)> {
    let group = group_of(name)?;
    Some((group, name[group.len() + 1..].parse().ok().filter(|number| *number > 0)?))
}

/// Rewrites the names of ports with a colon, as in paths.
fn name_ports(ports: &mut Value) {
    if let Value::Table(ports) = ports {
        let named = core::mem::take(ports).into_iter();
        *ports = named.map(|(name, port)| (port_name::canonical(&name).into_owned(), port)).collect();
    }
}

fn segments(path: &str) -> Vec<String> {
    Override::new(path, "").map(|setting| setting.path().to_vec()).unwrap_or_default()
}

fn put(table: &mut Table, path: &[String], value: &Value) {
    let Some((first, rest)) = path.split_first() else { return };
    // `set = { link.wan.rate = ... }` without quotes: follows tables with a single entry.
    if rest.is_empty() {
        match (table.get_mut(first), value) {
            (_, Value::String(text)) if text.is_empty() => {
                table.remove(first);
            }
            (Some(Value::Table(old)), Value::Table(new)) if !new.contains_key("kind") && is_section(old) => {
                for (key, value) in new {
                    put(old, std::slice::from_ref(key), value);
                }
            }
            _ => {
                table.insert(first.clone(), value.clone());
            }
        }
        return;
    }
    let inner = table.entry(first.clone()).or_insert_with(|| Value::Table(Table::new()));
    if let Some(inner) = inner.as_table_mut() {
        put(inner, rest, value);
    }
}

/// True if the entries of a table are named objects, so that the table is not a single value.
fn is_section(table: &Table) -> bool {
    !table.contains_key("distribution")
}

fn as_written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_engine::units::{Duration, Limit, Probability, Rate};

    const TEXT: &str = r#"
[port."a->b".queue.q]
kind = "drr"
children = ["one"]
[port."a->b".queue.one]
kind = "fifo"
limit = "50p"
[link.l]
rate = "1mbit"
[[change]]
at = "2s"
set = { "port.a->b.queue.one.limit" = "20p" }
[[change]]
at = "1s"
set = { "port.a->b.queue.one.limit" = "30p", link.l.rate = "2mbit" }
"#;

    fn at(secs: u64, path: &str) -> String {
        let effective = Effective::at(TEXT, Instant::ZERO + Duration::from_secs(secs));
        effective.restoring(&segments(path)).split_once('=').expect("a setting").1.to_owned()
    }

    #[test]
    fn values_are_those_of_their_time() {
        assert_eq!(at(0, "port.a->b.queue.one.limit"), "50p");
        assert_eq!(at(1, "port.a->b.queue.one.limit"), "30p");
        assert_eq!(at(2, "port.a->b.queue.one.limit"), "20p");
        assert_eq!(at(0, "link.l.rate"), "1mbit");
        assert_eq!(at(5, "link.l.rate"), "2mbit");
        assert_eq!(at(5, "link.l.delay"), "0s");
        assert_eq!(at(0, "port.a->b.queue.q.limit"), "", "not a constant: taken out again");
    }

    const GROUPS: &str = r#"
[port."a:b"]
root = "shaper"
[port."a:b".queue]
shaper = { kind = "htb", children = ["all"] }
all = { kind = "class", rate = "9gbit", children = ["plan"] }
plan = { count = 5, kind = "fq_codel", limit = "1000p", rate = "$rate", ceil = ["50mbit", "100mbit"] }
other = { kind = "fifo" }
[link.access]
count = 5
rate = { up = ["1mbit", "2mbit"], down = "9mbit" }
delay = ["1ms", "2ms", "3ms"]
[[change]]
at = "1s"
set = { "port.a:b.queue.plan/4.ceil" = "7mbit" }
"#;

    #[test]
    fn members_of_a_group_have_the_values_that_it_deals_and_their_own() {
        let (start, later) = (Instant::ZERO, Instant::ZERO + Duration::from_secs(1));
        let value = |at: Instant, path: &str| {
            Effective::at(GROUPS, at).value(&segments(path)).map(as_written).unwrap_or_default()
        };
        for (path, expected) in [
            ("port.a:b.queue.plan/3.ceil", "50mbit"),
            ("port.a:b.queue.plan/4.ceil", "100mbit"),
            ("port.a:b.queue.plan/4.limit", "1000p"),
            ("port.a:b.queue.plan/4.rate", ""),
            ("port.a:b.queue.plan/0.ceil", ""),
            ("link.access/4.rate.up", "2mbit"),
            ("link.access/4.rate.down", "9mbit"),
            ("link.access/4.delay", "1ms"),
        ] {
            assert_eq!(value(start, path), expected, "{path}");
        }
        assert_eq!(value(later, "port.a:b.queue.plan/4.ceil"), "7mbit");
        assert_eq!(value(later, "port.a:b.queue.plan/2.ceil"), "100mbit");
        let back = Effective::at(GROUPS, start).restoring(&segments("port.a:b.queue.plan/4.ceil"));
        assert_eq!(back, "port.a:b.queue.plan/4.ceil=100mbit");

        let effective = Effective::at(GROUPS, later);
        let knobs = effective.queue_knobs("a:b", "plan/4");
        let knob = |key: &str| knobs.iter().find(|knob| knob.key == key).expect("a knob");
        assert_eq!(knob("ceil").value.as_deref(), Some("7mbit"), "a share at its parent");
        assert_eq!((knob("limit").value.as_deref(), knob("limit").is_default), (Some("1000p"), false));
        let queues = ["shaper", "all", "plan/1", "plan/5", "other"].map(str::to_owned);
        assert_eq!(effective.root_knob("a:b", &queues, "shaper").choices, ["shaper", "other"]);
    }

    #[test]
    fn knobs_are_the_parameters_and_the_parents_shares() {
        let knobs = Effective::at(TEXT, Instant::ZERO).queue_knobs("a:b", "one");
        let keys: Vec<&str> = knobs.iter().map(|knob| knob.key.as_str()).collect();
        assert!(keys.contains(&"quantum") && keys.contains(&"limit"), "{keys:?}");
        let limit = knobs.iter().find(|knob| knob.key == "limit").expect("a limit");
        assert_eq!((limit.value.as_deref(), limit.path.as_str()), (Some("50p"), "port.a:b.queue.one.limit"));
    }

    /// Scenario with a queue `q` of `kind`, set up by the example of its reference.
    fn with_kind(kind: &lockgate_scenario::reference::Reference) -> String {
        let children = if kind.children == "none" || kind.children.starts_with("none or") {
            String::new()
        } else {
            let share = kind.share_example;
            format!(
                "children = [\"one\", \"two\"]\n[port.\"a:b\".queue.one]\nkind = \"fifo\"\n{share}\n\
                 match = [{{ protocol = \"udp\" }}]\n[port.\"a:b\".queue.two]\nkind = \"fifo\"\n{share}\n"
            )
        };
        let example = kind.example;
        format!(
            "duration = \"1s\"\nnode.a = {{}}\nnode.b = {{}}\nlink.l = {{ between = [\"a\", \"b\"], rate = \"9mbit\" }}\n\
             flow.f = {{ from = \"a\", to = \"b\", size = \"500B\", gap = \"9ms\" }}\n[port.\"a:b\"]\nroot = \"q\"\n\
             [port.\"a:b\".queue.q]\nkind = \"{}\"\n{example}\n{children}",
            kind.kind
        )
    }

    /// Returns the value in one notation of its unit.
    fn normal(text: &str) -> String {
        let share = || Probability::from_f64(text.parse().ok()?);
        let normal = |limit: Limit| limit.to_string();
        let size = text.parse().map(normal);
        let time = size.or_else(|_| text.parse::<Duration>().map(|time| time.to_string()));
        let rate = time.or_else(|_| text.parse::<Rate>().map(|rate| rate.to_string()));
        rate.ok()
            .or_else(|| Some(text.parse().ok().or_else(share)?.to_string()))
            .unwrap_or_else(|| text.to_owned())
    }

    /// Every step of every knob is a value that the scenario takes, and a step up, then a step down return.
    #[test]
    fn every_step_of_every_knob_is_permitted_and_returns() {
        let files = std::collections::BTreeMap::<String, std::sync::Arc<[u8]>>::new();
        let set = |text: &str, setting: String| {
            let overrides = [Override::parse(&setting).expect("a setting")];
            let set = lockgate_scenario::read(text, "kind", &files, &overrides);
            set.unwrap_or_else(|problems| panic!("{setting}: {problems:?}")).to_toml()
        };
        let knobs = |text: &str| {
            let effective = Effective::at(text, Instant::ZERO);
            let queues = ["q", "one"].into_iter().flat_map(|queue| effective.queue_knobs("a:b", queue));
            queues.chain(effective.link_knobs("l")).collect::<Vec<Knob>>()
        };
        let mut steps = 0;
        for kind in lockgate_scenario::references() {
            let text = with_kind(&kind);
            for knob in knobs(&text).into_iter().filter(|knob| knob.choices.is_empty()) {
                if let Some(lower) = &knob.lower {
                    set(&text, format!("{}={lower}", knob.path));
                    steps += 1;
                }
                let Some(higher) = &knob.higher else { continue };
                let raised = set(&text, format!("{}={higher}", knob.path));
                let again =
                    knobs(&raised).into_iter().find(|again| again.path == knob.path).expect("the knob");
                let (value, back) = (knob.value.expect("a value"), again.lower.expect("a step back"));
                steps += 1;
                // A probability between two of the list becomes one of the list.
                let is_between = knob.takes == "probability" && normal(&back) < normal(&value);
                assert!(
                    is_between || normal(&back) == normal(&value),
                    "{}: {value}, {higher}, {back}",
                    knob.path
                );
            }
        }
        assert!(steps > 200, "{steps}");
    }

    #[test]
    fn no_knob_of_any_kind_jumps_from_zero() {
        let kinds = lockgate_scenario::references();
        let parameters = kinds.iter().flat_map(|kind| kind.parameters.iter().chain(&kind.shares));
        let link = LINK_KNOBS.map(|(_, takes, default, _)| (takes, default));
        let all = parameters.map(|one| (one.takes.as_str(), one.default.as_deref())).chain(link);
        for (takes, default) in all {
            let zeros: &[&str] = match takes {
                "whole number" | "power of two" => &["0"],
                "number of packets" => &["0p"],
                "size" => &["0B", "0kB"],
                _ => &["0", "0.0", "0%", "0s", "0ms", "0p", "0B", "0kB", "0bit", "0gbit"],
            };
            for zero in zeros {
                let stepped = Stepped { takes, default, choices: &[] }.around(Some(*zero));
                assert_eq!(stepped[0], None, "{takes}");
                let small = [None, Some("0.1%"), Some("1ms"), Some("1p"), Some("1"), Some("1B"), Some("1kB")];
                assert!(small.contains(&stepped[1].as_deref()), "{takes} {zero}: {:?}", stepped[1]);
            }
        }
    }
}
