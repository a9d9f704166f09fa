//! Effective scenario at a time of the run: the text with the changes so far. Knobs show its values, and
//! temporary changes restore them.

use std::collections::VecDeque;

use lockgate_engine::port_name;
use lockgate_engine::units::{Duration, Instant};
use lockgate_scenario::path::join;
use lockgate_scenario::{Override, reference};
use serde::Serialize;
use toml::{Table, Value};

/// Value that may be set during a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
}

/// Effective scenario at one time: the values in force, and the changes to come. Its size does not grow with
/// past changes, so that a session with many settings reads this instead of its whole text.
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
            let place = self.coming.partition_point(|(other, _)| *other <= at);
            self.coming.insert(place, (at, change));
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

    /// True if a change up to `now` has not been applied.
    pub(crate) fn is_past(&self, now: Instant) -> bool {
        self.coming.front().is_some_and(|(at, _)| *at <= now)
    }

    /// Returns the state at `at`. `whole` returns the text with all changes, which is read again if `at` is
    /// before the time of `self`.
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

    /// Returns the setting that restores the current value at `path`: `PATH=VALUE` of the written value, else
    /// of the constant default, else `PATH=`, which removes the value.
    pub(crate) fn restoring(&self, path: &[String]) -> String {
        let value = self.get(path).map(as_written).or_else(|| self.default_of(path));
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
        let own = reference(&kind)?.parameters.into_iter().find(|parameter| parameter.name == *key);
        let share = || {
            let parent = self.parent(port, name)?;
            reference(&self.kind(port, &parent)?)?.shares.into_iter().find(|share| share.name == *key)
        };
        own.or_else(share)?.default
    }

    fn queues(&self, port: &str) -> Option<&Table> {
        self.table.get("port")?.get(port)?.get("queue")?.as_table()
    }

    fn kind(&self, port: &str, queue: &str) -> Option<String> {
        Some(self.queues(port)?.get(queue)?.get("kind")?.as_str()?.to_owned())
    }

    /// Returns the parent of `queue`.
    fn parent(&self, port: &str, queue: &str) -> Option<String> {
        let is_child = |table: &Value| {
            let children = table.get("children").and_then(Value::as_array);
            children.is_some_and(|children| children.iter().any(|child| child.as_str() == Some(queue)))
        };
        self.queues(port)?.iter().find(|(_, table)| is_child(table)).map(|(name, _)| name.clone())
    }

    /// Returns the knobs of one queue: its kind, its parameters, and its share at its parent.
    pub(crate) fn queue_knobs(&self, port: &str, queue: &str) -> Vec<Knob> {
        let Some(kind) = self.kind(port, queue) else { return Vec::new() };
        let parent = self.parent(port, queue).and_then(|parent| self.kind(port, &parent));
        let own = reference(&kind).map(|reference| reference.parameters).unwrap_or_default();
        let shares =
            parent.and_then(|kind| reference(&kind)).map(|reference| reference.shares).unwrap_or_default();
        let knob = |parameter: lockgate_scenario::reference::Parameter| {
            let path = ["port", port, "queue", queue, &parameter.name].map(str::to_owned);
            let value = self.get(&path).map(as_written);
            let choices: Vec<String> = parameter.takes.split(" | ").map(str::to_owned).collect();
            Knob {
                path: join(&path),
                key: parameter.name,
                is_default: value.is_none(),
                value: value.or(parameter.default),
                choices: if choices.len() > 1 { choices } else { Vec::new() },
                takes: parameter.takes,
                about: parameter.doc,
            }
        };
        shares.into_iter().chain(own).map(knob).collect()
    }

    /// Returns the knob that selects the tree of a port, if several queues may be the root.
    pub(crate) fn root_knob(&self, port: &str, queues: &[String], root: &str) -> Knob {
        let value = self.get(&["port", port, "root"].map(str::to_owned)).map(as_written);
        let choices = queues.iter().filter(|queue| self.parent(port, queue).is_none()).cloned().collect();
        Knob {
            path: join(&["port", port, "root"].map(str::to_owned)),
            key: "root".to_owned(),
            is_default: value.is_none(),
            value: Some(value.unwrap_or_else(|| root.to_owned())),
            takes: "queue".to_owned(),
            about: "the tree in use; packets that wait move to the new one".to_owned(),
            choices,
        }
    }

    /// Returns the knobs of a link: rate, delay and loss.
    pub(crate) fn link_knobs(&self, link: &str) -> Vec<Knob> {
        let knob = |(key, takes, default, about): LinkKnob| {
            let path = ["link", link, key].map(str::to_owned);
            let value = self.get(&path).map(as_written);
            Knob {
                path: join(&path),
                key: key.to_owned(),
                is_default: value.is_none(),
                value: value.or(default.map(str::to_owned)),
                takes: takes.to_owned(),
                about: about.to_owned(),
                choices: Vec::new(),
            }
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
    // `set = { link.wan.rate = ... }` without quotes: a table with only one way on.
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

/// True if a table's entries are told apart by name, so that it is not one value.
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
    use lockgate_engine::units::Duration;

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

    #[test]
    fn knobs_are_the_parameters_and_the_parents_shares() {
        let knobs = Effective::at(TEXT, Instant::ZERO).queue_knobs("a:b", "one");
        let keys: Vec<&str> = knobs.iter().map(|knob| knob.key.as_str()).collect();
        assert!(keys.contains(&"quantum") && keys.contains(&"limit"), "{keys:?}");
        let limit = knobs.iter().find(|knob| knob.key == "limit").expect("a limit");
        assert_eq!((limit.value.as_deref(), limit.path.as_str()), (Some("50p"), "port.a:b.queue.one.limit"));
    }
}
