//! The scenario as it stands at some time of the run: the text with the changes so far. What a knob shows and
//! what a temporary change goes back to.

use lockgate_engine::units::Instant;
use lockgate_scenario::{Override, Scenario, reference};
use serde::Serialize;
use toml::{Table, Value};

/// A value that may be set while the run goes on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Knob {
    /// Its path, as `lockgate set` takes it.
    pub(crate) path: String,
    /// The key alone.
    pub(crate) key: String,
    /// What holds now, as written; `None` where it is not written and has no default.
    pub(crate) value: Option<String>,
    /// Whether `value` is the default, because nothing is written.
    pub(crate) is_default: bool,
    /// What it takes: `rate`, `limit`, `whole number`.
    pub(crate) takes: String,
    /// What it does.
    pub(crate) about: String,
    /// What it may be, where that is a short list.
    pub(crate) choices: Vec<String>,
}

/// The text at one time.
#[derive(Clone)]
pub(crate) struct Effective(Table);

/// What holds at some time, and for how long that is known. A session that sets much reads its text once for each
/// change, not once more for each look at it.
pub(crate) struct Current {
    pub(crate) effective: Effective,
    from: Instant,
    /// When something changes next.
    until: Instant,
}

impl Current {
    /// What holds at `now`.
    pub(crate) fn at(scenario: &Scenario, now: Instant) -> Self {
        Self { effective: Effective::at(&scenario.text, now), from: now, until: next_change(scenario, now) }
    }

    /// Whether something has changed by `now`.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now >= self.until
    }

    /// What held at `at`, before anything was set then.
    pub(crate) fn effective_at(&self, scenario: &Scenario, at: Instant) -> Effective {
        if (self.from..self.until).contains(&at) {
            self.effective.clone()
        } else {
            Effective::at(&scenario.text, at)
        }
    }

    /// What holds from `at` on, where `changed` is `scenario` with changes more at its end, the first of them at
    /// `at`, over `before`.
    pub(crate) fn after(before: Effective, scenario: &Scenario, changed: &Scenario, at: Instant) -> Self {
        let more = changed.text.get(scenario.text.trim_end().len()..).unwrap_or_default();
        let mut effective = before;
        effective.change(&more.parse().unwrap_or_default(), at);
        Self { effective, from: at, until: next_change(changed, at) }
    }
}

fn next_change(scenario: &Scenario, after: Instant) -> Instant {
    let next = scenario.changes.partition_point(|change| change.at <= after);
    scenario.changes.get(next).map_or(Instant::NEVER, |change| change.at)
}

impl Effective {
    /// `text`, which is a valid scenario, as it stands after all its changes up to `now`.
    pub(crate) fn at(text: &str, now: Instant) -> Self {
        let table: Table = text.parse().unwrap_or_default();
        let mut effective = Self(table.clone());
        effective.change(&table, now);
        effective
    }

    /// Makes the changes that `table` has up to `now`.
    fn change(&mut self, table: &Table, now: Instant) {
        let mut due: Vec<(Instant, &Table)> = Vec::new();
        for change in table.get("change").and_then(Value::as_array).into_iter().flatten() {
            let at = change.get("at").and_then(Value::as_str).and_then(|at| at.parse().ok());
            let at =
                at.map_or(Instant::NEVER, |after: lockgate_engine::units::Duration| Instant::ZERO + after);
            if at <= now
                && let Some(set) = change.get("set").and_then(Value::as_table)
            {
                due.push((at, set));
            }
        }
        due.sort_by_key(|(at, _)| *at);
        for (_, set) in due {
            for (path, value) in set {
                put(&mut self.0, &segments(path), value);
            }
        }
    }

    /// The value written at `path`.
    pub(crate) fn get(&self, path: &[String]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.0.get(first)?, |value, segment| value.get(segment))
    }

    /// What `path` holds, as it would be set again: the written value, else the default of its discipline's
    /// parameter.
    pub(crate) fn written(&self, path: &[String]) -> Option<String> {
        if let Some(value) = self.get(path) {
            return Some(as_written(value));
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
        self.0.get("port")?.get(port)?.get("queue")?.as_table()
    }

    fn kind(&self, port: &str, queue: &str) -> Option<String> {
        Some(self.queues(port)?.get(queue)?.get("kind")?.as_str()?.to_owned())
    }

    /// The queue that has `queue` among its children.
    fn parent(&self, port: &str, queue: &str) -> Option<String> {
        let is_child = |table: &Value| {
            let children = table.get("children").and_then(Value::as_array);
            children.is_some_and(|children| children.iter().any(|child| child.as_str() == Some(queue)))
        };
        self.queues(port)?.iter().find(|(_, table)| is_child(table)).map(|(name, _)| name.clone())
    }

    /// The knobs of one queue: its kind, its parameters, and what its parent knows of it.
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

    /// The knob that says which tree of a port is in use, where there are several queues that may be the root.
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

    /// Rate, delay and loss of a link.
    pub(crate) fn link_knobs(&self, link: &str) -> Vec<Knob> {
        let knob = |(key, takes, default, about): (&str, &str, Option<&str>, &str)| {
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
        [
            ("rate", "rate", None, "of both directions"),
            ("delay", "time", Some("0s"), "propagation, each way"),
            ("loss", "probability", Some("0"), "of each packet, each way"),
        ]
        .map(knob)
        .into()
    }
}

fn segments(path: &str) -> Vec<String> {
    Override::new(path, "").map(|setting| setting.path().to_vec()).unwrap_or_default()
}

fn put(table: &mut Table, path: &[String], value: &Value) {
    let Some((first, rest)) = path.split_first() else { return };
    // `set = { link.wan.rate = ... }` without quotes: a table that only leads on.
    if rest.is_empty() {
        match (table.get_mut(first), value) {
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

/// Whether a table holds entries that are told apart by name, rather than being one value.
fn is_section(table: &Table) -> bool {
    !table.contains_key("distribution")
}

fn as_written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Segments as a path, quoted where they must be.
pub(crate) fn join(segments: &[String]) -> String {
    let quoted = |segment: &String| {
        if segment.contains(['.', '"', '\'']) { format!("\"{segment}\"") } else { segment.clone() }
    };
    segments.iter().map(quoted).collect::<Vec<_>>().join(".")
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

    fn at(secs: u64, path: &str) -> Option<String> {
        Effective::at(TEXT, Instant::ZERO + Duration::from_secs(secs)).written(&segments(path))
    }

    #[test]
    fn values_are_those_of_their_time() {
        assert_eq!(at(0, "port.a->b.queue.one.limit").as_deref(), Some("50p"));
        assert_eq!(at(1, "port.a->b.queue.one.limit").as_deref(), Some("30p"));
        assert_eq!(at(2, "port.a->b.queue.one.limit").as_deref(), Some("20p"));
        assert_eq!(at(0, "link.l.rate").as_deref(), Some("1mbit"));
        assert_eq!(at(5, "link.l.rate").as_deref(), Some("2mbit"));
        assert_eq!(at(5, "link.l.delay"), None);
    }

    #[test]
    fn knobs_are_the_parameters_and_the_parents_shares() {
        let knobs = Effective::at(TEXT, Instant::ZERO).queue_knobs("a->b", "one");
        let keys: Vec<&str> = knobs.iter().map(|knob| knob.key.as_str()).collect();
        assert!(keys.contains(&"quantum") && keys.contains(&"limit"), "{keys:?}");
        let limit = knobs.iter().find(|knob| knob.key == "limit").expect("a limit");
        assert_eq!((limit.value.as_deref(), limit.path.as_str()), (Some("50p"), "port.a->b.queue.one.limit"));
    }

    /// What is kept from change to change is what reading the whole text again would give.
    #[test]
    fn what_is_kept_is_what_is_read() {
        let text = "duration = \"9s\"\n[node]\na = {}\nb = {}\n[link.l]\nbetween = [\"a\", \"b\"]\nrate = \"1mbit\"\n\
                    [flow.f]\nfrom = \"a\"\nto = \"b\"\nsize = \"100B\"\ngap = \"1s\"\n\
                    [[change]]\nat = \"3s\"\nset = { link.l.rate = \"2mbit\" }\n";
        let files = std::collections::BTreeMap::<String, std::sync::Arc<[u8]>>::new();
        let mut scenario = lockgate_scenario::read(text, "text", &files, &[]).expect("a scenario");
        let mut current = Current::at(&scenario, Instant::ZERO);
        let asked = [
            (1, "link.l.rate=7mbit"),
            (2, "link.l.delay=1ms"),
            (4, "link.l.loss=0.1"),
            (4, "link.l.rate=5mbit"),
        ];
        for (second, setting) in asked {
            let at = Instant::ZERO + Duration::from_secs(second);
            let setting = Override::parse(setting).expect("a setting");
            let (changed, _) = scenario.with_change(at, &[setting], &files).expect("a change");
            current = Current::after(current.effective_at(&scenario, at), &scenario, &changed, at);
            scenario = changed;
            let read = Effective::at(&scenario.text, at);
            assert_eq!(current.effective.0.get("link"), read.0.get("link"), "{second}");
            assert_eq!(current.is_over(Instant::ZERO + Duration::from_secs(3)), second < 3, "{second}");
        }
    }
}
