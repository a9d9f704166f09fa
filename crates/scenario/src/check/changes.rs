//! Checks changes. A change is an edit of the file's values: only the edited port, link or flow is read
//! again, by the functions that read the file, and compared with its state before (decision 089).
//!
//! ```text
//! `Base`: values of the file       .
//!                                   >--settings--> edited table --read--> object, its new state
//! `State`: objects changed so far  '                                        '-- differs? --> `Change`
//! ```
//!
//! Values keep their positions in the `[[change]]`, so that problems point there. A change costs the reading
//! and building of the objects that it names; all changes together build at most [`MOST_BUILT`] queues.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockgate_engine::overhead;
use lockgate_engine::pacing::Pace;
use lockgate_engine::port_name;
use lockgate_engine::units::Instant;
use lockgate_traffic::TrafficConfig;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Checker;
use super::flows::Flows;
use super::network::Network;
use super::ports::{Ports, TreeContext};
use crate::change::{Action, Change, EFFECT_BYTES};
use crate::diagnostic::{MOST_PROBLEMS, Problem, Span};
use crate::document::{self, Table, Value};
use crate::expand::Groups;
use crate::file::{ChangeTable, SECTIONS};
use crate::model::Link;
use crate::nearest::{one_of, suggest};
use crate::path;
use crate::table_reader::{TableLocation, shorten};
use crate::tree::QueueTree;

/// Limit on the queues built for all changes together: bounds the cost of checking a timeline.
pub(crate) const MOST_BUILT: usize = 200_000;

/// Keys of a port, besides those of its overhead, and of a link that can change. Of a flow, its traffic and
/// `stop` can.
const PORT_KEYS: [&str; 3] = ["root", "queue", "rate"];
const LINK_KEYS: [&str; 3] = ["rate", "delay", "loss"];

/// Effects of changes, as far as they could be read.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) effects: Vec<Change>,
    /// Queues that become the root of a port, by index of the port.
    pub(super) roots: BTreeSet<(usize, String)>,
    /// Queues of the ports that were built again.
    pub(crate) built: usize,
}

/// One `[[change]]` as written.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) at: Instant,
    settings: Vec<Setting>,
}

/// One value of one `set`.
#[derive(Clone, Debug)]
struct Setting {
    path: Vec<String>,
    key: Span,
    value: Value,
    /// The value as written, without quotes.
    written: String,
}

impl Setting {
    fn span(&self) -> Span {
        let value = self.value.span();
        self.key.start.min(value.start)..self.key.end.max(value.end)
    }
}

/// State of the file at one time of the run: only the objects that have changed. A copy is cheap.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    tables: BTreeMap<(String, String), Arc<Table>>,
    trees: BTreeMap<usize, Arc<QueueTree>>,
    paces: BTreeMap<usize, Pace>,
    links: BTreeMap<usize, Link>,
}

/// The file that changes edit, and what it was read to.
pub(crate) struct Base {
    /// Values of the file, without the sections that cannot change.
    sections: Table,
    network: Network,
    flows: Flows,
    ports: Ports,
    groups: Groups,
    /// End of the run, if known.
    end: Option<Instant>,
    /// Indices of the tables written in the file, by section and name; of ports, with and without the link.
    written: BTreeMap<(&'static str, String), usize>,
    /// Indices of the ports and of the links that could be read, by name.
    port_indices: BTreeMap<String, usize>,
    link_indices: BTreeMap<String, usize>,
    /// The links that could be read.
    links: Vec<Link>,
}

/// Sections that changes edit.
const SECTIONS_THAT_CHANGE: [&str; 3] = ["port", "link", "flow"];

impl Base {
    pub(super) fn new(
        root: &DeTable<'_>,
        network: Network,
        (flows, ports): (Flows, Ports),
        groups: Groups,
        end: Option<Instant>,
    ) -> Self {
        let sections = root.iter().filter(|(key, _)| SECTIONS_THAT_CHANGE.contains(&key.get_ref().as_ref()));
        let sections: Table = sections
            .map(|(key, value)| (key.get_ref().to_string(), key.span(), Value::new(value, 0)))
            .collect();
        let mut written = BTreeMap::new();
        for section in SECTIONS_THAT_CHANGE {
            let entries = document::get(&sections, section).and_then(Value::as_table);
            for (index, (name, ..)) in entries.into_iter().flatten().enumerate() {
                if section != "port" {
                    written.insert((section, name.clone()), index);
                    continue;
                }
                let name = port_name::canonical(name).into_owned();
                if let Some((pair, _)) = name.split_once('@') {
                    written.entry((section, pair.to_owned())).or_insert(index);
                }
                written.entry((section, name)).or_insert(index);
            }
        }
        let ports_by_name = ports.models.iter().enumerate().map(|(index, port)| (port.name.clone(), index));
        let port_indices = ports_by_name.collect();
        let links: Vec<Link> = network.links.iter().flatten().cloned().collect();
        let link_indices = links.iter().enumerate().map(|(index, link)| (link.name.clone(), index)).collect();
        Self { sections, network, flows, ports, groups, end, written, port_indices, link_indices, links }
    }

    /// Returns the table of an object as written in the file, if it is.
    fn written(&self, section: &str, name: &str) -> Option<&Value> {
        let section = SECTIONS_THAT_CHANGE.into_iter().find(|known| *known == section)?;
        let index = *self.written.get(&(section, name.to_owned()))?;
        document::get(&self.sections, section)?.as_table()?.get(index).map(|(.., value)| value)
    }

    /// Returns the groups of the file.
    pub(crate) fn groups(&self) -> &Groups {
        &self.groups
    }

    pub(super) fn parts(&self) -> (&Network, &Flows, &Ports) {
        (&self.network, &self.flows, &self.ports)
    }

    /// Returns a setting for each member if its path names a group, else the setting itself.
    fn for_members(&self, setting: &Setting) -> Vec<Setting> {
        let (section, index) = match setting.path.as_slice() {
            [port, _, queue, _, ..] if port == "port" && queue == "queue" => ("queue", 3),
            [section, _, ..] => (section.as_str(), 1),
            _ => return vec![setting.clone()],
        };
        let Some(members) = self.groups.members(section, &setting.path[index]) else {
            return vec![setting.clone()];
        };
        let member = |number| {
            let mut own = setting.clone();
            own.path[index] = self.groups.member(section, &setting.path[index], number);
            own
        };
        (1..=members).map(member).collect()
    }

    fn context(&self) -> TreeContext<'_> {
        TreeContext { network: &self.network, flows: &self.flows, rate: None, own: Pace::default() }
    }
}

impl Checker<'_> {
    /// Reads the entries of the timeline, sorted by time, then in the order of the file. `offset`: position
    /// of `text` among the positions of the file.
    pub(crate) fn change_entries(
        &mut self,
        root: &DeTable<'_>,
        text: &str,
        offset: usize,
        end: Option<Instant>,
    ) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (table, header) in self.list(root, "change") {
            let location = TableLocation { what: "this `change`", table, header: &header };
            let noted = self.problems.len();
            let change = self.whole::<ChangeTable>(location);
            let Some(change) = change.filter(|_| self.problems.len() == noted) else { continue };
            if end.is_some_and(|end| change.at > end) {
                let problem = Problem::new(location.value("at"), "this change comes after the run has ended");
                self.warn(problem.help("let it come earlier, or the run last longer"));
            }
            let mut settings = Vec::new();
            if let Some(set) = table.get("set").and_then(|set| set.get_ref().as_table()) {
                self.settings(&[], set, (text, offset), &mut settings);
                if set.is_empty() {
                    let problem = Problem::new(location.value("set"), "this `change` sets nothing");
                    self.note(problem.help("write `set = { \"link.wan.rate\" = \"2mbit\" }`"));
                }
            }
            entries.push(Entry { at: change.at, settings });
        }
        entries.sort_by_key(|entry| entry.at);
        entries
    }

    /// Collects the values of a `set`. Tables that only lead on (`link.wan.rate = …` without quotes) are
    /// descended into.
    fn settings(
        &mut self,
        above: &[String],
        set: &DeTable<'_>,
        (text, offset): (&str, usize),
        out: &mut Vec<Setting>,
    ) {
        for (key, value) in set {
            let mut segments = above.to_vec();
            match path::parse(key.get_ref()) {
                Ok(more) => {
                    segments.extend(more);
                    path::canonical(&mut segments);
                }
                Err(error) => {
                    let said = error.to_string();
                    let (wrong, allowed) =
                        said.split_once(": ").unwrap_or((&said, "a path is written `link.wan.rate`"));
                    self.note(Problem::new(key.span(), wrong).help(allowed));
                    continue;
                }
            }
            match value.get_ref() {
                DeValue::Table(inner) if leads_on(&segments, inner) => {
                    self.settings(&segments, inner, (text, offset), out);
                }
                _ => out.push(Setting {
                    path: segments,
                    key: key.span().start + offset..key.span().end + offset,
                    value: Value::new(value, offset),
                    written: written(value, text),
                }),
            }
        }
    }

    /// Checks that the effects of all entries are within the memory that is allowed, before any of them is
    /// made. Those of ports are bounded by [`MOST_BUILT`].
    pub(super) fn allows_effects(&mut self, entries: &[Entry], base: &Base) -> bool {
        let (mut count, most) = (0, self.memory / EFFECT_BYTES);
        for entry in entries {
            let mut objects = BTreeSet::new();
            for Setting { path, key, .. } in &entry.settings {
                let [section, name, _, ..] = path.as_slice() else { continue };
                if section == "port" || !objects.insert((section, name)) {
                    continue;
                }
                count += u64::from(base.groups.members(section, name).unwrap_or(1));
                if count > most {
                    let wrong = format!(
                        "the changes up to this one are {count} of single links and flows, which take more than \
                         the {} MiB that are allowed",
                        self.memory >> 20
                    );
                    let help = "have fewer changes, or of smaller groups, or allow more memory: `--memory`";
                    self.note(Problem::new(key.clone(), wrong).help(help));
                    return false;
                }
            }
        }
        true
    }

    /// Checks one entry against the `state` at its time, and updates the state.
    pub(crate) fn change(&mut self, entry: &Entry, base: &Base, state: &mut State, changes: &mut Changes) {
        let at = entry.at;
        let mut objects: Vec<((String, String), Vec<Setting>)> = Vec::new();
        let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
        for setting in entry.settings.iter().flat_map(|setting| base.for_members(setting)) {
            let [section, name, _, ..] = setting.path.as_slice() else {
                self.note(incomplete(&setting));
                continue;
            };
            let object = (section.clone(), name.clone());
            let index = *known.entry(object.clone()).or_insert(objects.len());
            match objects.get_mut(index) {
                Some((_, settings)) => settings.push(setting),
                None => objects.push((object, vec![setting])),
            }
        }
        for ((section, name), settings) in objects {
            let name = name.as_str();
            let action = match section.as_str() {
                "port" => self.change_port(name, &settings, base, state, changes),
                "link" => self.change_link(name, &settings, base, state),
                "flow" => self.change_flow(name, at, &settings, base, state),
                _ => {
                    for setting in &settings {
                        self.note(incomplete(setting));
                    }
                    None
                }
            };
            let Some(action) = action else { continue };
            let joined =
                |each: &dyn Fn(&Setting) -> String| settings.iter().map(each).collect::<Vec<_>>().join(", ");
            changes.effects.push(Change {
                at,
                path: joined(&|setting| path::join(&setting.path)),
                value: joined(&|setting| setting.written.clone()),
                action,
            });
        }
    }

    /// Returns the table of an object with these settings applied. Settings that are impossible are noted
    /// and left out.
    fn edited<'s>(
        &mut self,
        object: (&str, &str),
        keys: &[&str],
        settings: &'s [Setting],
        base: &'s Base,
        before: Option<&'s Table>,
    ) -> (DeTable<'s>, Span) {
        let (section, name) = object;
        let written = base.written(section, name);
        let header = written.map_or_else(|| settings[0].span(), Value::span);
        let mut table = before
            .or_else(|| written.and_then(Value::as_table))
            .map_or_else(DeTable::new, |table| document::parsed(table));
        for setting in settings {
            let first = setting.path[2].as_str();
            if !keys.contains(&first) {
                let path = path::join(&setting.path);
                let problem = Problem::new(
                    setting.key.clone(),
                    format!("`{}` cannot change during a run", shorten(&path)),
                );
                let near = crate::nearest::nearest(first, keys.iter().copied())
                    .map(|near| format!("did you mean `{near}`?"));
                let can = one_of(keys.iter().copied())
                    .map(|can| can.replace("it is", &format!("what can change of a {section} is")));
                self.note(problem.help_if(can).help_if(near));
                continue;
            }
            if section == "port" && first == "queue" && !table.contains_key("queue") {
                add_default_queue(&mut table, &setting.key);
            }
            let is_shown = self.problems.len() <= MOST_PROBLEMS;
            if let Err(problem) = insert(&mut table, &setting.path, 2, setting, is_shown) {
                self.note(*problem);
            }
        }
        (table, header)
    }

    /// Reads an edited object again by `read` and attributes its problems to the settings. Returns `None`
    /// if there are more than `since` problems.
    fn reread<T>(
        &mut self,
        settings: &[Setting],
        since: usize,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let (noted, warned) = (self.problems.len(), self.warnings.len());
        let value = read(self);
        self.warnings.truncate(warned);
        for problem in self.problems.split_off(noted) {
            let own = problem.span();
            // The object's own problem, which was noted when the file was read.
            let is_known = |known: &Problem| known.span() == own && known.message() == problem.message();
            if self.problems.iter().take(MOST_PROBLEMS).any(is_known) {
                continue;
            }
            let within = |setting: &&Setting| {
                let outer = setting.span();
                own.as_ref().is_some_and(|own| outer.start <= own.start && own.end <= outer.end)
            };
            let cause = settings.iter().find(within).unwrap_or(&settings[0]);
            self.note(problem.because_of(&cause.span()));
        }
        value.filter(|_| self.problems.len() == since)
    }

    fn change_port(
        &mut self,
        name: &str,
        settings: &[Setting],
        base: &Base,
        state: &mut State,
        changes: &mut Changes,
    ) -> Option<Action> {
        let Some(index) = base.port_indices.get(name).copied() else {
            if base.network.complete {
                let known = base.ports.models.iter().map(|port| port.name.as_str());
                let problem = self.no_such("port", name, settings[0].key.clone(), known);
                self.note(problem);
            }
            return None;
        };
        for setting in settings.iter().filter(|setting| setting.path[2..] == ["root"]) {
            changes.roots.extend(setting.value.as_str().map(|root| (index, root.to_owned())));
        }
        // The port's own problems are noted already.
        if base.ports.read.get(&index).is_some_and(Option::is_none) {
            return None;
        }
        changes.built += base.ports.models[index].queues.len();
        if changes.built > MOST_BUILT {
            let problem =
                Problem::new(settings[0].key.clone(), "too many changes for ports with so many queues");
            self.note(problem.help(format!("changes times queues is at most {MOST_BUILT}")));
            return None;
        }
        let noted = self.problems.len();
        let key = ("port".to_owned(), name.to_owned());
        let written = state.tables.get(&key).cloned();
        let port_keys = [&PORT_KEYS[..], &overhead::KEYS].concat();
        let (table, header) = self.edited(("port", name), &port_keys, settings, base, written.as_deref());
        let what = format!("`port.{name}`");
        let edited = TableLocation { what: &what, table: &table, header: &header };
        let read = self.reread(settings, noted, |checker| checker.port(edited, base.context()))?;
        let before = state.trees.get(&index).unwrap_or(&base.ports.models[index].tree).clone();
        let (own, tree) = (read.pace(), read.tree);
        let known = state.paces.get(&index).unwrap_or(&base.ports.models[index].pace);
        let new_pace = Some(own).filter(|own| own != known);
        let action = Action::Port { port: index, before, tree: tree.clone(), pace: new_pace };
        state.paces.insert(index, own);
        state.trees.insert(index, tree);
        state.tables.insert(key, Arc::new(document::table(&table, 0)));
        Some(action)
    }

    fn change_link(
        &mut self,
        name: &str,
        settings: &[Setting],
        base: &Base,
        state: &mut State,
    ) -> Option<Action> {
        let network = &base.network;
        let Some(index) = base.link_indices.get(name).copied() else {
            let known = network.link_names.iter().map(String::as_str);
            // The problems of a link that could not be read are noted already.
            if known.clone().all(|known| known != name) {
                let problem = self.no_such("link", name, settings[0].key.clone(), known);
                self.note(problem);
            }
            return None;
        };
        let before = state.links.get(&index).or_else(|| base.links.get(index)).cloned()?;
        let noted = self.problems.len();
        let key = ("link".to_owned(), name.to_owned());
        let written = state.tables.get(&key).cloned();
        let (table, header) = self.edited(("link", name), &LINK_KEYS, settings, base, written.as_deref());
        let what = format!("`link.{name}`");
        let edited = TableLocation { what: &what, table: &table, header: &header };
        let link = self.reread(settings, noted, |checker| checker.link(name, edited, network))?;
        let action = Action::Link {
            link: index,
            rate: differing(&link, &before, Link::rate),
            delay: differing(&link, &before, Link::delay),
            loss: differing(&link, &before, Link::loss),
        };
        state.links.insert(index, link);
        state.tables.insert(key, Arc::new(document::table(&table, 0)));
        Some(action)
    }

    fn change_flow(
        &mut self,
        name: &str,
        at: Instant,
        settings: &[Setting],
        base: &Base,
        state: &mut State,
    ) -> Option<Action> {
        let flows = &base.flows;
        let Some(index) = flows.indices.get(name).copied() else {
            let problem = self.no_such("flow", name, settings[0].key.clone(), flows.names());
            self.note(problem);
            return None;
        };
        let group = &flows.groups[index];
        group.flow.as_ref()?;
        let traffic_keys = self.cache.table_keys.of::<TrafficConfig>();
        let keys: Vec<&str> = traffic_keys.names().chain(["stop"]).collect();
        let noted = self.problems.len();
        let key = ("flow".to_owned(), name.to_owned());
        let written = state.tables.get(&key).cloned();
        let (table, header) = self.edited(("flow", name), &keys, settings, base, written.as_deref());
        let what = format!("`flow.{name}`");
        let edited = TableLocation { what: &what, table: &table, header: &header };
        let flow = self.reread(settings, noted, |checker| checker.flow(name, edited, &base.network).flow)?;
        let traffic = settings.iter().any(|setting| setting.path[2] != "stop");
        if traffic && let Some(end) = base.end {
            let span = settings[0].span();
            self.doubt_packets(&flow, group.members.len(), (at, end), span.clone());
            self.doubt_capture(&flow, (at, end), &span);
        }
        let action = Action::Flow {
            flows: group.members.clone(),
            traffic: traffic.then(|| Box::new(flow.traffic.clone())),
            stop: flow.stop,
        };
        state.tables.insert(key, Arc::new(document::table(&table, 0)));
        Some(action)
    }
}

/// Returns a property of both directions of a link, if it differs from that in `before`.
fn differing<T: PartialEq>(link: &Link, before: &Link, property: fn(&Link, usize) -> T) -> Option<[T; 2]> {
    let both = |link| [0, 1].map(|direction| property(link, direction));
    Some(both(link)).filter(|values| *values != both(before))
}

/// Returns a value of `text` as written, without quotes.
fn written(value: &Spanned<DeValue<'_>>, text: &str) -> String {
    match value.get_ref() {
        DeValue::String(removal) if removal.is_empty() => "default".to_owned(),
        DeValue::String(text) => text.to_string(),
        _ => text.get(value.span()).unwrap_or_default().to_owned(),
    }
}

/// Returns true if a `set` removes a value from the file, so that its default holds. No key accepts an
/// empty text as its value.
fn is_removal(value: &Value) -> bool {
    value.as_str() == Some("")
}

/// Returns true if a table only leads on to the values to be set.
fn leads_on(path: &[String], table: &DeTable<'_>) -> bool {
    let queues = path.first().is_some_and(|section| section == "port")
        && path.get(2).is_some_and(|key| key == "queue");
    match path.len() {
        0..=2 => true,
        3 => queues,
        4 => queues && !table.contains_key("kind"),
        _ => false,
    }
}

/// Returns the problem of a path that leads to no value that can change.
fn incomplete(setting: &Setting) -> Problem {
    const TOP: [&str; 3] = ["title", "duration", "warmup"];
    const CAN: [&str; 3] = ["port", "link", "flow"];
    let path = path::join(&setting.path);
    let first = setting.path.first().map_or("", String::as_str);
    if CAN.contains(&first) {
        return Problem::new(setting.key.clone(), format!("`{}` names no value", shorten(&path)))
            .help("a path goes on to a value, such as `link.wan.rate`");
    }
    let known = SECTIONS.contains(&first) || TOP.contains(&first);
    let problem = Problem::new(
        setting.key.clone(),
        if known {
            format!("`{}` cannot change during a run", shorten(&path))
        } else {
            format!("`{}` names nothing in the file", shorten(&path))
        },
    );
    let can = "ports' queues, links and flows can: such as `link.wan.rate`".to_owned();
    problem.help(can).help_if(suggest(first, CAN).filter(|help| !known && help.starts_with("did")))
}

/// Sets a value in the table of its object. `is_shown`: a problem with it would be shown.
fn insert<'s>(
    table: &mut DeTable<'s>,
    path: &'s [String],
    walked: usize,
    setting: &'s Setting,
    is_shown: bool,
) -> Result<(), Box<Problem>> {
    let segment = path[walked].as_str();
    if walked + 1 == path.len() && is_removal(&setting.value) {
        table.remove(segment);
        return Ok(());
    }
    if walked + 1 == path.len() {
        table.insert(Spanned::new(setting.key.clone(), Cow::Borrowed(segment)), setting.value.parsed());
        return Ok(());
    }
    if !table.contains_key(segment) {
        let problem = Problem::new(
            setting.key.clone(),
            format!("`{}` has no `{}`", shorten(&path::join(&path[..walked])), shorten(segment)),
        );
        let names: Vec<&str> =
            if is_shown { table.keys().map(|key| key.get_ref().as_ref()).collect() } else { Vec::new() };
        let near = suggest(segment, names);
        return Err(Box::new(problem.help_if(near)));
    }
    let Some(DeValue::Table(inner)) = table.get_mut(segment).map(Spanned::get_mut) else {
        let problem = Problem::new(
            setting.key.clone(),
            format!("`{}` is not a table", shorten(&path::join(&path[..=walked]))),
        );
        return Err(Box::new(problem.help("the path may end there")));
    };
    insert(inner, path, walked + 1, setting, is_shown)
}

/// Adds the default queue of a port that names none: a FIFO called `fifo`.
fn add_default_queue<'i>(table: &mut DeTable<'i>, span: &Span) {
    let key = |name: &'static str| Spanned::new(span.clone(), Cow::Borrowed(name));
    let value = |value: DeValue<'i>| Spanned::new(span.clone(), value);
    let mut fifo = DeTable::new();
    fifo.insert(key("kind"), value(DeValue::String(Cow::Borrowed("fifo"))));
    let mut queues = DeTable::new();
    queues.insert(key("fifo"), value(DeValue::Table(fifo)));
    table.insert(key("queue"), value(DeValue::Table(queues)));
}
