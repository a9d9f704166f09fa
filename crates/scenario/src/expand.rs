//! Expands groups: an entry with `count` becomes its members before anything is checked.
//!
//! ```text
//! [node.sub]                 count = 3                    ->  sub/1, sub/2, sub/3
//! [link.access]              between = ["bng", "sub/*"]   ->  access/1 .. access/3, one for each member
//! rate = ["50mbit", "1gbit"]                              ->  50mbit, 1gbit, 50mbit: dealt in turn
//! match = [{ destination = "sub/$i" }]                    ->  sub/1, sub/2, sub/3
//! queue.plan                 name = "$circuit_id"         ->  plan/C0001, plan/C0007: by a column of the table
//! children = ["site", "plan"]                             ->  of a site those below it, elsewhere those below none
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
pub(crate) use table::{PARENT, Remarks, Rows, Sites};

/// Key of a group of queues that names its members.
const NAME: &str = "name";

/// Bytes of memory that a member takes while it is read, besides its values, for the limit on all members.
const MEMBER: u64 = 2048;

/// Bytes of memory that a value of a member takes while it is read, and a table in addition: in the expanded
/// file, among the values that changes edit, and in the model. A FIFO with one rule takes 3.9 kB in all, one
/// with six more values 5.7 kB.
const VALUE: u64 = 400;
const TABLE: u64 = 1024;

/// Copies of a text of a member while it is read.
const TEXT: u64 = 4;

/// Memory that members may still take: counted while they are made, so that no more than that is ever made.
struct Room {
    /// Bytes left of the limit.
    left: Cell<u64>,
    is_exceeded: Cell<bool>,
}

impl Room {
    fn new(memory: u64) -> Self {
        Self { left: Cell::new(memory), is_exceeded: Cell::new(false) }
    }

    /// Takes `bytes`. Returns false from then on if they are not left.
    fn take(&self, bytes: u64) -> bool {
        match self.left.get().checked_sub(bytes) {
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
    names: Arc<Names>,
    /// Table of subscribers, if each row of it is a member.
    rows: Option<Arc<Rows>>,
    /// Index among the sites of the one that each member is below, if it is of the table of sites, or of the
    /// table of subscribers beside one.
    sites: Option<Arc<[Option<usize>]>>,
}

/// Names of the members of a group, and the number of each, which is looked up for every queue of a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    all: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

/// Tables that a file names.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tables<'t> {
    /// Table of subscribers.
    pub(crate) subscribers: Option<&'t Arc<Rows>>,
    /// Sites that the subscribers are below.
    pub(crate) sites: Option<&'t Sites>,
}

/// Names in `count` of the tables.
const SUBSCRIBERS: &str = "subscribers";
const SITES: &str = "sites";

impl Group {
    /// Returns the name of the member with this number, from 1.
    fn member(&self, number: u32) -> String {
        match self.names.all.get(number as usize - 1) {
            Some(own) => format!("{}/{own}", self.name),
            None => format!("{}/{number}", self.name),
        }
    }
}

/// The groups of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups(Vec<Group>);

impl Groups {
    /// Returns the number within its group of the member called `name`; `None` if it is not a member.
    pub(crate) fn number(&self, section: &str, name: &str) -> Option<u32> {
        let (group, own) = name.split_once('/')?;
        let group = self.group(section, group)?;
        if !group.names.all.is_empty() {
            return group.names.numbers.get(own).copied();
        }
        own.parse().ok().filter(|number| (1..=group.members).contains(number))
    }

    /// Returns the name of the member of a group with this number, from 1.
    pub(crate) fn member(&self, section: &str, group: &str, number: u32) -> String {
        self.group(section, group).map_or_else(|| format!("{group}/{number}"), |group| group.member(number))
    }

    /// Returns the table of subscribers that groups have a member of each row of.
    pub(crate) fn rows(&self) -> Option<&Rows> {
        self.0.iter().find_map(|group| group.rows.as_deref())
    }

    /// Returns the index of the row of that table that a member is for.
    pub(crate) fn row(&self, section: &str, name: &str) -> Option<usize> {
        let group = self.group(section, name.split_once('/')?.0)?;
        let number = self.number(section, name).filter(|_| group.rows.is_some())?;
        Some(number as usize - 1)
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

/// Error of a group that could not be expanded: its `count` is wrong, or exceeds the limit of memory. Already
/// reported; references to its members would be reported as well.
pub(crate) struct Unexpanded;

/// Returns the columns of the table of subscribers whose values alone are the names of queues.
pub(crate) fn naming_columns<'a>(root: &'a DeTable<'_>) -> impl Iterator<Item = &'a str> {
    let ports = table_of(root, "port").into_iter().flat_map(DeTable::values);
    let queues = ports.filter_map(|port| table_of(port.get_ref().as_table()?, "queue"));
    let queues = queues.flat_map(DeTable::values).filter_map(|queue| queue.get_ref().as_table());
    let names =
        queues.filter(|queue| count_of(queue) == Some(SUBSCRIBERS)).filter_map(|queue| queue.get(NAME));
    names.filter_map(|name| {
        let column = name.get_ref().as_str()?.trim().strip_prefix('$')?;
        column.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_').then_some(column)
    })
}

/// Expands the groups of `root`. Returns `None` if it has none. `tables` are those that the file names;
/// `memory` is the limit in bytes on what is read.
pub(crate) fn expand<'i>(
    root: &DeTable<'i>,
    tables: Tables<'_>,
    memory: u64,
    problems: &mut Vec<Problem>,
) -> Result<Option<(DeTable<'i>, Groups)>, Unexpanded> {
    let is_read = [tables.subscribers.is_some(), tables.sites.is_some()];
    let named = [SUBSCRIBERS, SITES].into_iter().zip(is_read);
    let unread = named.filter(|(key, is_read)| !is_read && root.contains_key(*key)).map(|(key, _)| key);
    let mut expansion = Expansion {
        groups: Groups::default(),
        tables,
        unread: unread.collect(),
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
    tables: Tables<'e>,
    /// Tables that the file names and that could not be read, which is reported: by their key.
    unread: Vec<&'static str>,
    /// Limit of memory in bytes, and what is left of it.
    memory: u64,
    room: Room,
    /// True if a group has no members.
    is_incomplete: bool,
    problems: &'e mut Vec<Problem>,
}

impl<'e> Expansion<'e> {
    /// Returns the table whose rows are the members of an entry.
    fn rows(&self, written: &DeTable<'_>) -> Option<&'e Rows> {
        match count_of(written) {
            Some(SITES) => self.tables.sites.map(|sites| &sites.rows),
            _ => self.tables.subscribers.map(Arc::as_ref),
        }
    }

    /// Returns the site that each member of an entry is below, if they have any.
    fn sites(&self, written: &DeTable<'_>) -> Option<Arc<[Option<usize>]>> {
        let sites = self.tables.sites?;
        match count_of(written)? {
            SITES => Some(sites.parents().into()),
            SUBSCRIBERS => Some(sites.of_circuits().into()),
            _ => None,
        }
    }

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
            let names = Arc::new(self.names(section, name, written, members));
            let sites = self.sites(written).filter(|_| section == "queue");
            let is_of_rows = count_of(written) == Some(SUBSCRIBERS);
            let rows = self.tables.subscribers.filter(|_| is_of_rows).cloned();
            let group = Group { section, name: name.to_owned(), members, names, rows, sites };
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
                    // As in a change, an empty text takes the group's value away.
                    if value.get_ref().as_str() == Some("") {
                        member.remove(&**key.get_ref());
                    } else {
                        member.insert(key.clone(), value.clone());
                    }
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
        let Names { all, numbers } = &*group.names;
        if all.is_empty() {
            return;
        }
        for key in entries.keys() {
            let own = key.get_ref().split_once('/').filter(|(of, _)| *of == group.name).map(|(_, own)| own);
            let Some(own) = own.filter(|own| !numbers.contains_key(*own)) else { continue };
            let problem = format!("`{}` has no member called `{}`", group.name, shorten(own));
            let help = suggest(own, all.iter().map(String::as_str));
            self.problems.push(Problem::new(key.span(), problem).help_if(help));
        }
    }

    /// Returns the names of the members of a group of queues that has a key `name`; none without it. A name
    /// that no queue can have, or that two members have, is noted.
    fn names(&mut self, section: &str, group: &str, written: &DeTable<'_>, members: u32) -> Names {
        let Some(value) = written.get(NAME).filter(|_| section == "queue") else { return Names::default() };
        let rows = self.rows(written);
        let mut refuse = |problem: String, help: &str| {
            self.problems.push(Problem::new(value.span(), problem).help(help));
        };
        let Some(text) = value.get_ref().as_str() else {
            refuse(
                "the `name` of members is a text".to_owned(),
                "write a column, such as `name = \"$circuit_id\"`",
            );
            return Names::default();
        };
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut all = Vec::new();
        for number in 1..=members {
            let fill = Fill { number, groups: &self.groups, rows, room: &self.room };
            let name = fill.name(text);
            let is_allowed = |letter: char| letter.is_alphanumeric() || "_-+".contains(letter);
            if name.is_empty() || name.chars().count() > 64 || !name.chars().all(is_allowed) {
                let line =
                    rows.map(|rows| format!(" (line {} of the table)", rows.line(number as usize - 1)));
                let shown = shorten(&name);
                let problem = format!(
                    "`{shown}` cannot be the name of a member of `{group}`{}",
                    line.unwrap_or_default()
                );
                refuse(problem, "it has 1 to 64 letters, digits, `_`, `-` or `+`: use another column");
                return Names::default();
            }
            if let Some(first) = numbers.insert(name.clone(), number) {
                let problem =
                    format!("members {first} and {number} of `{group}` are both called `{}`", shorten(&name));
                refuse(problem, "each needs a name of its own: use a column whose values differ");
                return Names::default();
            }
            all.push(name);
        }
        Names { all, numbers }
    }

    /// Returns the number of members of an entry; `None` if it is not a group, or none that must be expanded.
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
        let span = written.get("count").map_or(header, Spanned::span);
        self.take(members, span)
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
        self.room.take(MEMBER);
        let fill = Fill { number, groups: &self.groups, rows: self.rows(written), room: &self.room };
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
        let membership = Membership::of(queues, &own);
        let mut named: BTreeSet<(&str, Option<usize>)> = BTreeSet::new();
        for (key, queue) in &mut expanded {
            let site = membership.site(key.get_ref());
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
                let members = membership.below(group, site);
                // A queue stands in one place: of a second naming, the first member is enough to say so.
                let is_first = named.insert((group.name.as_str(), site));
                for number in members.into_iter().take(if is_first { usize::MAX } else { 1 }) {
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
        membership.add_rules(&own, &mut expanded, &self.room);
        for group in own.iter().filter(|group| !named.contains(&(group.name.as_str(), None))) {
            let top = membership.at_top(group);
            if let (Some((key, _)), Some(first)) = (queues.get_key_value(group.name.as_str()), top.first()) {
                let count = top.len();
                let wrong = format!(
                    "{count} of `{}` are below no site, such as `{}`",
                    group.name,
                    group.member(*first)
                );
                let help =
                    format!("name `{}` among the children of the queue above the sites too", group.name);
                self.problems.push(Problem::new(key.span(), wrong).help(help));
            }
        }
        Some(expanded)
    }
}

/// Membership of a tree with sites: each member of a group is a child of the queue of the site that it is
/// below.
#[derive(Default)]
struct Membership {
    /// Name of the group of sites.
    of_sites: String,
    /// Site above each.
    parents: Vec<Option<usize>>,
    /// Index of a site by the name of its queue; none if no queue is of a site.
    sites: BTreeMap<String, usize>,
    /// Numbers of the members below each site, by group.
    members: BTreeMap<String, BTreeMap<Option<usize>, Vec<u32>>>,
}

impl Membership {
    /// Returns the membership of `groups`, which are defined by `queues`.
    fn of(queues: &DeTable<'_>, groups: &[Group]) -> Self {
        let is_of_sites = |group: &&Group| {
            table_of(queues, &group.name).and_then(count_of).is_some_and(|count| count == SITES)
        };
        let Some(sites) = groups.iter().find(is_of_sites) else { return Self::default() };
        let parents = sites.sites.as_deref().unwrap_or_default().to_vec();
        let mut membership = Self { of_sites: sites.name.clone(), parents, ..Self::default() };
        membership
            .sites
            .extend((1..=sites.members).map(|number| (sites.member(number), number as usize - 1)));
        for group in groups {
            let Some(of) = &group.sites else { continue };
            let members = membership.members.entry(group.name.clone()).or_default();
            for (number, site) in (1..=group.members).zip(of.iter()) {
                members.entry(*site).or_default().push(number);
            }
        }
        membership
    }

    /// Gives the queue of each site that has no rules those of the members below it, so that their packets
    /// reach them.
    fn add_rules(&self, groups: &[Group], queues: &mut DeTable<'_>, room: &Room) {
        let mut rules: Vec<Vec<Spanned<DeValue<'_>>>> = vec![Vec::new(); self.sites.len()];
        for group in groups.iter().filter(|group| group.name != self.of_sites) {
            for (site, numbers) in self.members.get(&group.name).into_iter().flatten() {
                for number in numbers {
                    let queue = queues.get(group.member(*number).as_str());
                    let own = queue
                        .and_then(|queue| queue.get_ref().as_table()?.get("match")?.get_ref().as_array());
                    let mut at = *site;
                    while let Some(site) = at {
                        for rule in own.into_iter().flatten() {
                            if room.take(TABLE) {
                                rules[site].push(rule.clone());
                            }
                        }
                        at = self.parents[site];
                    }
                }
            }
        }
        for (name, site) in &self.sites {
            let Some(DeValue::Table(queue)) = queues.get_mut(name.as_str()).map(Spanned::get_mut) else {
                continue;
            };
            let rules = core::mem::take(&mut rules[*site]);
            let Some(first) = rules.first().filter(|_| !queue.contains_key("match")) else { continue };
            let span = first.span();
            let key = Spanned::new(span.clone(), Cow::Borrowed("match"));
            queue.insert(key, Spanned::new(span, DeValue::Array(rules.into_iter().collect())));
        }
    }

    /// Returns the site whose queue has this name.
    fn site(&self, queue: &str) -> Option<usize> {
        self.sites.get(queue).copied()
    }

    /// Returns the numbers of the members of a group that are below a site, or below none; all of a group
    /// without sites.
    fn below(&self, group: &Group, site: Option<usize>) -> Vec<u32> {
        match self.members.get(&group.name) {
            Some(members) => members.get(&site).cloned().unwrap_or_default(),
            None => (1..=group.members).collect(),
        }
    }

    /// Returns the numbers of the members of a group with sites that are below none.
    fn at_top(&self, group: &Group) -> Vec<u32> {
        self.members.get(&group.name).and_then(|members| members.get(&None)).cloned().unwrap_or_default()
    }
}

/// Returns the `count` of an entry, if it is a name.
fn count_of<'w>(written: &'w DeTable<'_>) -> Option<&'w str> {
    written.get("count")?.get_ref().as_str().map(str::trim)
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
