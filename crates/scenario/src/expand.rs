//! Expands groups: an entry with `count` becomes its members before anything is checked.
//!
//! ```text
//! [node.sub]                 count = 3                    ->  sub/1, sub/2, sub/3
//! [link.access]              between = ["bng", "sub/*"]   ->  access/1 .. access/3, one for each member
//! rate = ["50mbit", "1gbit"]                              ->  50mbit, 1gbit, 50mbit: dealt in turn
//! match = [{ destination = "sub/$i" }]                    ->  sub/1, sub/2, sub/3
//! queue.plan                 name = "$circuit_id"         ->  plan/C0001, plan/C0007: by a column of the table
//! ```
//!
//! Members keep the positions of the entry that defines them, so that a problem of any member points to the
//! one line written. Decision 099.

mod count;
mod fill;
mod table;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Problem, Span};
use crate::nearest::suggest;
use crate::table_reader::shorten;
use fill::Fill;
pub use fill::is_dealt;
pub(crate) use fill::variables;
pub(crate) use table::Rows;

/// Key of a group of queues that names its members.
const NAME: &str = "name";

/// Bytes of memory that a member takes at least while it is read, for the limit on all members.
const MEMBER: u64 = 2048;

/// Bytes of memory that a value of a member takes while it is read, and a table in addition: in the expanded
/// file, among the values that changes edit, and in the model.
const VALUE: u64 = 256;
const TABLE: u64 = 1024;

/// Copies of a text of a member while it is read.
const TEXT: u64 = 4;

/// Memory that members may still take: counted while they are made, so that no more than that is ever made.
struct Room {
    /// Bytes left of the limit.
    left: Cell<u64>,
    /// Bytes already taken for the present member.
    reserved: Cell<u64>,
    is_exceeded: Cell<bool>,
}

impl Room {
    fn new(memory: u64) -> Self {
        Self { left: Cell::new(memory), reserved: Cell::new(0), is_exceeded: Cell::new(false) }
    }

    /// Takes `bytes`. Returns false from then on if they are not left.
    fn take(&self, bytes: u64) -> bool {
        let reserved = self.reserved.get();
        let beyond = bytes.saturating_sub(reserved);
        self.reserved.set(reserved - (bytes - beyond));
        match self.left.get().checked_sub(beyond) {
            Some(left) => self.left.set(left),
            None => self.is_exceeded.set(true),
        }
        !self.is_exceeded.get()
    }
}

/// A group of members: entries of one section that one entry with `count` defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Section of its members: `node`, `link`, `queue` or `flow`.
    pub(crate) section: &'static str,
    /// Name; the members are `name/1`, `name/2` and so on.
    pub(crate) name: String,
    /// Number of members.
    pub(crate) members: u32,
    /// Names of the members below that of the group; empty: they are numbered from 1.
    names: Arc<[String]>,
}

impl Group {
    /// Returns the name of the member with this number, from 1.
    fn member(&self, number: u32) -> String {
        match self.names.get(number as usize - 1) {
            Some(own) => format!("{}/{own}", self.name),
            None => format!("{}/{number}", self.name),
        }
    }
}

/// The groups of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups(Vec<Group>);

impl Groups {
    /// Returns the number within its group of the member called `name`; `None` if it is no member.
    pub(crate) fn number(&self, section: &str, name: &str) -> Option<u32> {
        let (group, own) = name.split_once('/')?;
        let group = self.group(section, group)?;
        if !group.names.is_empty() {
            let at = group.names.iter().position(|name| name == own)?;
            return u32::try_from(at + 1).ok();
        }
        own.parse().ok().filter(|number| (1..=group.members).contains(number))
    }

    /// Returns the name of the member of a group with this number, from 1.
    pub(crate) fn member(&self, section: &str, group: &str, number: u32) -> String {
        self.group(section, group).map_or_else(|| format!("{group}/{number}"), |group| group.member(number))
    }

    fn group(&self, section: &str, name: &str) -> Option<&Group> {
        self.0.iter().find(|group| group.section == section && group.name == name)
    }

    /// Returns the number of members of a group; `None` if there is no such group.
    pub(crate) fn members(&self, section: &str, name: &str) -> Option<u32> {
        self.group(section, name).map(|group| group.members)
    }

    /// Returns true if there are no groups.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names<'a>(&'a self, section: &'a str) -> impl Iterator<Item = &'a str> + Clone {
        self.0.iter().filter(move |group| group.section == section).map(|group| group.name.as_str())
    }
}

/// Error of a group that could not be expanded: its `count` is wrong, or exceeds the limit of memory. Already reported;
/// references to its members would be reported as well.
pub(crate) struct Unexpanded;

/// Expands the groups of `root`. Returns `None` if it has none. `rows` is the table of subscribers, if the
/// file names one; `memory` is the limit in bytes on what is read.
pub(crate) fn expand<'i>(
    root: &DeTable<'i>,
    rows: Option<&Rows>,
    memory: u64,
    problems: &mut Vec<Problem>,
) -> Result<Option<(DeTable<'i>, Groups)>, Unexpanded> {
    let mut expansion = Expansion {
        groups: Groups::default(),
        rows,
        memory,
        room: Room::new(memory),
        is_incomplete: false,
        problems,
    };
    let mut expanded = DeTable::new();
    let mut done: BTreeMap<&str, DeTable<'i>> = BTreeMap::new();
    // Nodes first: the others follow their number.
    for section in ["node", "link", "flow"] {
        if let Some(entries) = table_of(root, section) {
            done.extend(expansion.section(section, entries).map(|entries| (section, entries)));
        }
        if expansion.is_incomplete {
            return Err(Unexpanded);
        }
    }
    if let Some(ports) = table_of(root, "port") {
        done.extend(expansion.ports(ports).map(|ports| ("port", ports)));
    }
    if expansion.is_incomplete {
        return Err(Unexpanded);
    }
    if done.is_empty() {
        return Ok(None);
    }
    for (key, value) in root {
        let value = match done.remove(key.get_ref().as_ref()) {
            Some(entries) => Spanned::new(value.span(), DeValue::Table(entries)),
            None => value.clone(),
        };
        expanded.insert(key.clone(), value);
    }
    Ok(Some((expanded, expansion.groups)))
}

fn table_of<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a DeTable<'i>> {
    table.get(key)?.get_ref().as_table()
}

/// State of the expansion of one file.
struct Expansion<'e> {
    groups: Groups,
    rows: Option<&'e Rows>,
    /// Limit of memory in bytes, and what is left of it.
    memory: u64,
    room: Room,
    /// True if a group has no members.
    is_incomplete: bool,
    problems: &'e mut Vec<Problem>,
}

impl Expansion<'_> {
    /// Expands the entries of a section; `None` if no entry is a group.
    fn section<'i>(&mut self, section: &'static str, entries: &DeTable<'i>) -> Option<DeTable<'i>> {
        let mut expanded = DeTable::new();
        let mut found = false;
        for (key, value) in entries {
            let name: &str = key.get_ref();
            let written = match value.get_ref() {
                DeValue::Table(table) if !is_member(entries, name) => table,
                // Its entries are merged into the member of its group.
                DeValue::Table(_) => continue,
                _ => {
                    expanded.insert(key.clone(), value.clone());
                    continue;
                }
            };
            let Some(members) = self.size(section, name, (written, value.span()), entries) else {
                expanded.insert(key.clone(), value.clone());
                continue;
            };
            found = true;
            let names = self.names(section, name, written, members).into();
            let group = Group { section, name: name.to_owned(), members, names };
            self.refuse_unknown(&group, entries);
            for number in 1..=members {
                let mut member = self.member(written, number);
                if section == "queue" {
                    member.remove(NAME);
                }
                if self.is_full(name, value.span()) {
                    return None;
                }
                let own = group.member(number);
                for (key, value) in table_of(entries, &own).into_iter().flatten() {
                    member.insert(key.clone(), value.clone());
                }
                let key = Spanned::new(key.span(), Cow::Owned(own));
                expanded.insert(key, Spanned::new(value.span(), DeValue::Table(member)));
            }
            self.groups.0.push(group);
        }
        found.then_some(expanded)
    }

    /// Notes the entries that would change a member that the group does not have.
    fn refuse_unknown(&mut self, group: &Group, entries: &DeTable<'_>) {
        if group.names.is_empty() {
            return;
        }
        for key in entries.keys() {
            let own = key.get_ref().split_once('/').filter(|(of, _)| *of == group.name).map(|(_, own)| own);
            let Some(own) = own.filter(|own| !group.names.iter().any(|name| name == own)) else { continue };
            let problem = format!("`{}` has no member called `{}`", group.name, shorten(own));
            let help = suggest(own, group.names.iter().map(String::as_str));
            self.problems.push(Problem::new(key.span(), problem).help_if(help));
        }
    }

    /// Returns the names of the members of a group of queues that has a key `name`; none without it. A name that no
    /// queue can have, or that two members have, is noted.
    fn names(&mut self, section: &str, group: &str, written: &DeTable<'_>, members: u32) -> Vec<String> {
        let Some(value) = written.get(NAME).filter(|_| section == "queue") else { return Vec::new() };
        let mut refuse = |problem: String, help: &str| {
            self.problems.push(Problem::new(value.span(), problem).help(help));
        };
        let Some(text) = value.get_ref().as_str() else {
            refuse(
                "the `name` of members is a text".to_owned(),
                "write a column, such as `name = \"$circuit_id\"`",
            );
            return Vec::new();
        };
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut names = Vec::new();
        for number in 1..=members {
            let fill = Fill { number, groups: &self.groups, rows: self.rows, room: &self.room };
            let name = fill.name(text);
            let is_allowed = |letter: char| letter.is_alphanumeric() || "_-+".contains(letter);
            if name.is_empty() || name.chars().count() > 64 || !name.chars().all(is_allowed) {
                let line =
                    self.rows.map(|rows| format!(" (line {} of the table)", rows.line(number as usize - 1)));
                let shown = shorten(&name);
                let problem = format!(
                    "`{shown}` cannot be the name of a member of `{group}`{}",
                    line.unwrap_or_default()
                );
                refuse(problem, "it has 1 to 64 letters, digits, `_`, `-` or `+`: use another column");
                return Vec::new();
            }
            if let Some(first) = numbers.insert(name.clone(), number) {
                let problem =
                    format!("members {first} and {number} of `{group}` are both called `{}`", shorten(&name));
                refuse(problem, "each needs a name of its own: use a column whose values differ");
                return Vec::new();
            }
            names.push(name);
        }
        names
    }

    /// Returns the number of members of an entry; `None` if it is no group, or none that must be expanded.
    fn size(
        &mut self,
        section: &str,
        name: &str,
        (written, header): (&DeTable<'_>, Span),
        entries: &DeTable<'_>,
    ) -> Option<u32> {
        let followed = fill::followed(written).and_then(|group| self.groups.members("node", group));
        let has_members = || {
            entries.keys().any(|key| key.get_ref().split_once('/').is_some_and(|(group, _)| group == name))
        };
        let members = match written.get("count") {
            None => followed?,
            // Checked once as a whole; its members are made from the checked flow.
            Some(count)
                if section == "flow"
                    && count.get_ref().as_str().is_none()
                    && !fill::differs(written)
                    && !has_members() =>
            {
                return None;
            }
            Some(count) => {
                let members = self.count(count);
                self.is_incomplete |= members.is_none();
                members?
            }
        };
        for key in ["every", "files"].into_iter().filter(|_| section == "flow") {
            if let Some((key, _)) = written.get_key_value(key) {
                let wrong = format!("`{}` goes with a group whose members are the same", key.get_ref());
                let help =
                    "leave it out, or give the members one `from`, `to` and traffic; `start` may be a law";
                self.problems.push(Problem::new(key.span(), wrong).help(help));
            }
        }
        let place = written.get("count").map_or(header, Spanned::span);
        self.take(members, place)
    }

    /// Returns the number of `members` if the least memory that they take is allowed.
    fn take(&mut self, members: u32, span: Span) -> Option<u32> {
        if u64::from(members) * MEMBER <= self.room.left.get() {
            return Some(members);
        }
        self.is_incomplete = true;
        let wrong = format!(
            "{members} members take about {} MiB to read, more than is allowed",
            (u64::from(members) * MEMBER) >> 20
        );
        self.problems.push(Problem::new(span, wrong).help("have fewer, or allow more memory: `--memory`"));
        None
    }

    /// Notes that the members of an entry take more memory than is allowed, if they do.
    fn is_full(&mut self, name: &str, span: Span) -> bool {
        if !self.room.is_exceeded.get() {
            return false;
        }
        self.is_incomplete = true;
        let wrong = format!(
            "the members of `{}` take more than {} MiB to read, which is not allowed",
            shorten(name),
            self.memory >> 20
        );
        let help = "have fewer, or fewer and shorter values in each, or allow more memory: `--memory`";
        self.problems.push(Problem::new(span, wrong).help(help));
        true
    }

    /// Returns the table of a member.
    fn member<'i>(&self, written: &DeTable<'i>, number: u32) -> DeTable<'i> {
        self.room.reserved.set(0);
        self.room.take(MEMBER);
        self.room.reserved.set(MEMBER);
        let fill = Fill { number, groups: &self.groups, rows: self.rows, room: &self.room };
        let mut member = DeTable::new();
        for (key, value) in written.iter().filter(|(key, _)| key.get_ref() != "count") {
            let value = match key.get_ref().as_ref() {
                "match" => fill.rules(value),
                key => fill.value(value, is_dealt(key)),
            };
            member.insert(key.clone(), value);
        }
        member
    }

    /// Expands the queues of each port, and ports of every member of a group of nodes (`"sub/*:bng"`).
    fn ports<'i>(&mut self, ports: &DeTable<'i>) -> Option<DeTable<'i>> {
        let mut expanded = DeTable::new();
        let mut found = false;
        for (key, value) in ports {
            let group = key.get_ref().split([':', '>']).find_map(|node| node.strip_suffix("/*"));
            let group = group.and_then(|name| Some((name, self.groups.members("node", name)?)));
            let DeValue::Table(port) = value.get_ref() else {
                expanded.insert(key.clone(), value.clone());
                continue;
            };
            if let Some((group, members)) = group {
                found = true;
                let Some(members) = self.take(members, key.span()) else { continue };
                for number in 1..=members {
                    let name = key.get_ref().replace(&format!("{group}/*"), &format!("{group}/{number}"));
                    let key = Spanned::new(key.span(), Cow::Owned(name));
                    let member = self.member(port, number);
                    if self.is_full(group, value.span()) {
                        return None;
                    }
                    expanded.insert(key, Spanned::new(value.span(), DeValue::Table(member)));
                }
                continue;
            }
            let queues = table_of(port, "queue").and_then(|queues| self.queues(queues));
            if self.is_incomplete {
                return None;
            }
            found |= queues.is_some();
            let port = match queues {
                None => value.clone(),
                Some(queues) => {
                    let mut port = port.clone();
                    if let Some(own) = port.get_mut("queue") {
                        *own.get_mut() = DeValue::Table(queues);
                    }
                    Spanned::new(value.span(), DeValue::Table(port))
                }
            };
            expanded.insert(key.clone(), port);
        }
        found.then_some(expanded)
    }

    /// Expands the queues of one port: groups, and their names among `children`.
    fn queues<'i>(&mut self, queues: &DeTable<'i>) -> Option<DeTable<'i>> {
        let known = self.groups.0.len();
        let mut expanded = self.section("queue", queues)?;
        let own = self.groups.0[known..].to_vec();
        let mut named: BTreeSet<&str> = BTreeSet::new();
        self.room.reserved.set(0);
        for (_, queue) in &mut expanded {
            let DeValue::Table(queue) = queue.get_mut() else { continue };
            let Some(children) = queue.get_mut("children") else { continue };
            let span = children.span();
            let DeValue::Array(children) = children.get_mut() else { continue };
            let mut all = Vec::new();
            for child in children.iter() {
                let name = child.get_ref().as_str().map(|name| name.strip_suffix("/*").unwrap_or(name));
                let Some(group) = own.iter().find(|group| Some(group.name.as_str()) == name) else {
                    all.push(child.clone());
                    continue;
                };
                // A queue stands in one place: of a second naming, the first member is enough to say so.
                let members = if named.insert(group.name.as_str()) { group.members } else { 1 };
                for number in 1..=members {
                    let name = group.member(number);
                    if !self.room.take(VALUE + TEXT * name.len() as u64)
                        && self.is_full(&group.name, span.clone())
                    {
                        return None;
                    }
                    all.push(Spanned::new(child.span(), DeValue::String(Cow::Owned(name))));
                }
            }
            *children = all.into_iter().collect();
        }
        Some(expanded)
    }
}

/// Returns true if `name` is that of a member of a group among `entries`, such as `sub/3`.
fn is_member(entries: &DeTable<'_>, name: &str) -> bool {
    let Some((group, own)) = name.split_once('/') else { return false };
    let Some(table) = table_of(entries, group) else { return false };
    let is_group = table.contains_key("count") || fill::followed(table).is_some();
    is_group && (own.parse::<u32>().is_ok() || table.contains_key(NAME))
}

#[cfg(test)]
mod tests;
