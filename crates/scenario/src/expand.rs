//! Expands groups: an entry with `count` becomes its members before anything is checked.
//!
//! ```text
//! [node.sub]                 count = 3                    ->  sub/1, sub/2, sub/3
//! [link.access]              between = ["bng", "sub/*"]   ->  access/1 .. access/3, one for each member
//! rate = ["50mbit", "1gbit"]                              ->  50mbit, 1gbit, 50mbit: dealt in turn
//! match = [{ destination = "sub/$i" }]                    ->  sub/1, sub/2, sub/3
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

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Problem, Span};
use crate::nearest::suggest;
use crate::table_reader::shorten;
use fill::Fill;
pub use fill::is_dealt;
pub(crate) use fill::variables;
pub(crate) use table::Rows;

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
}

/// The groups of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups(Vec<Group>);

impl Groups {
    /// Returns the number within its group of the member called `name`; `None` if it is no member.
    pub(crate) fn number(&self, section: &str, name: &str) -> Option<u32> {
        let (group, number) = name.split_once('/')?;
        let members = self.members(section, group)?;
        number.parse().ok().filter(|number| (1..=members).contains(number))
    }

    /// Returns the number of members of a group; `None` if there is no such group.
    pub(crate) fn members(&self, section: &str, name: &str) -> Option<u32> {
        self.0.iter().find(|group| group.section == section && group.name == name).map(|group| group.members)
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
            for number in 1..=members {
                let mut member = self.member(written, number);
                if self.is_full(name, value.span()) {
                    return None;
                }
                let own = format!("{name}/{number}");
                for (key, value) in table_of(entries, &own).into_iter().flatten() {
                    member.insert(key.clone(), value.clone());
                }
                let key = Spanned::new(key.span(), Cow::Owned(own));
                expanded.insert(key, Spanned::new(value.span(), DeValue::Table(member)));
            }
            self.groups.0.push(Group { section, name: name.to_owned(), members });
        }
        found.then_some(expanded)
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
                    let name = format!("{}/{number}", group.name);
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
    let group = name.split_once('/').filter(|(_, number)| number.parse::<u32>().is_ok());
    let table = group.and_then(|(group, _)| table_of(entries, group));
    table.is_some_and(|table| table.contains_key("count") || fill::followed(table).is_some())
}

#[cfg(test)]
mod tests;
