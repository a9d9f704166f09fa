//! A port's queues: which are whose children, what each is told, and that every tree can be built.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use lockgate_engine::classify::Rule;
use lockgate_engine::discipline::{Arity, Discipline, Invalid};
use lockgate_engine::disciplines::{self, KINDS, Visitor};
use lockgate_engine::node::Node;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::Checker;
use super::ports::World;
use crate::diagnostic::{Problem, Span};
use crate::file::QueueTable;
use crate::nearest::{nearest, one_of, suggest};
use crate::shape::{Place, Shape, Shapes, shorten, sound, split_outside_quotes, unknown_key};
use crate::tree::{Queue, QueueTree, make};

/// Levels a tree has at most: deeper ones are mistakes, and every level costs each packet.
const DEEPEST: usize = 16;

/// Queues a port has at most.
const MOST_QUEUES: usize = 4096;

/// An inner class of a discipline that owns its whole tree of classes.
const CLASS: &str = "class";

/// Keys of a queue that are neither its discipline's nor its parent's, beside `kind` and `children`.
const OWN_KEYS: [&str; 2] = ["match", "share"];

/// A port's trees.
pub(super) struct Trees {
    pub(super) root: String,
    /// The one that is active.
    pub(super) tree: QueueTree,
    pub(super) queues: Vec<String>,
    pub(super) roots: Vec<(String, Span)>,
}

/// What a kind is, as far as reading needs to know.
struct Kind {
    name: &'static str,
    arity: Arity,
    config: Rc<Shape>,
    share: Rc<Shape>,
}

/// A queue of the file.
struct Entry<'a, 'i> {
    name: &'a str,
    what: String,
    key: Span,
    header: Span,
    table: &'a DeTable<'i>,
    kind: Option<Kind>,
    /// Children by place, with the place of the name that names them; unknown ones are left out.
    children: Vec<(usize, Span)>,
    parent: Option<usize>,
    /// Its own parameters and its parent's share as tables; `None` where they have problems.
    config: Option<toml::Table>,
    share: Option<toml::Table>,
    rules: Vec<Rule>,
}

impl<'i> Entry<'_, 'i> {
    fn place(&self) -> Place<'_, 'i> {
        Place { what: &self.what, table: self.table, header: &self.header }
    }
}

impl Checker<'_> {
    /// The trees of the port at `place`, whose file names `root`.
    pub(super) fn trees(
        &mut self,
        place: Place<'_, '_>,
        root: Option<&str>,
        world: World<'_>,
    ) -> Option<Trees> {
        let queues = place.table.get("queue");
        let Some(DeValue::Table(tables)) = queues.map(Spanned::get_ref) else {
            if let Some(wrong) = queues {
                let problem = Problem::new(wrong.span(), "`queue` is a table of tables, one for each name");
                self.note(problem.help("write `[port.\"A->B\".queue.NAME]`"));
                return None;
            }
            return self.without_queues(place, root);
        };
        if tables.len() > MOST_QUEUES {
            let problem = Problem::new(
                place.value("queue"),
                format!("{} queues are too many for a port", tables.len()),
            );
            self.note(problem.help(format!("it has at most {MOST_QUEUES}")));
            return None;
        }
        let noted = self.problems.len();
        let mut entries = self.entries(tables);
        self.link_children(&mut entries);
        let sound = self.check_shape(&entries);
        for index in 0..entries.len() {
            self.parameters(index, &mut entries);
            let rules = self.rules(entries[index].place(), world);
            entries[index].rules = rules;
        }
        self.warn_matches(&entries);
        let roots: Vec<usize> = (0..entries.len()).filter(|index| entries[*index].parent.is_none()).collect();
        let chosen = self.choose_root(place, root, &entries, &roots, sound);
        if !sound {
            return None;
        }
        for &index in &roots {
            // Every tree is built, also those that wait for a change to make them the root.
            let _ = self.build(index, &entries);
        }
        if self.problems.len() != noted {
            return None;
        }
        let root = chosen?;
        Some(Trees {
            root: entries[root].name.to_owned(),
            tree: resolve(root, &entries),
            queues: entries.iter().map(|entry| entry.name.to_owned()).collect(),
            roots: roots
                .iter()
                .map(|index| (entries[*index].name.to_owned(), entries[*index].key.clone()))
                .collect(),
        })
    }

    fn without_queues(&mut self, place: Place<'_, '_>, root: Option<&str>) -> Option<Trees> {
        if let Some(root) = root.filter(|root| *root != "fifo") {
            let problem = Problem::new(
                place.value("root"),
                format!("{} has no queue called `{}`", place.what, shorten(root)),
            );
            self.note(
                problem.help(format!("write `[port.\"A->B\".queue.{}]` with its `kind`", shorten(root))),
            );
            return None;
        }
        Some(Trees {
            root: "fifo".to_owned(),
            tree: QueueTree::fifo(),
            queues: vec!["fifo".to_owned()],
            roots: vec![("fifo".to_owned(), place.header.clone())],
        })
    }

    /// The queues with their kinds and children's names.
    fn entries<'a, 'i>(&mut self, tables: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
        let mut entries = Vec::new();
        for (key, value) in tables {
            let name: &str = key.get_ref();
            self.check_name("queue", name, key.span());
            let what = format!("the queue `{}`", shorten(name));
            let DeValue::Table(table) = value.get_ref() else {
                let problem = Problem::new(value.span(), format!("{what} is a table"));
                self.note(problem.help(format!("write `{} = {{ kind = \"fifo\" }}`", shorten(name))));
                continue;
            };
            entries.push(Entry {
                name,
                what,
                key: key.span(),
                header: value.span(),
                table,
                kind: None,
                children: Vec::new(),
                parent: None,
                config: None,
                share: None,
                rules: Vec::new(),
            });
        }
        entries
    }

    /// Reads kinds and joins parents and children, each child to one parent at most.
    fn link_children(&mut self, entries: &mut [Entry<'_, '_>]) {
        let names: BTreeMap<&str, usize> =
            entries.iter().enumerate().map(|(index, entry)| (entry.name, index)).collect();
        let shape = self.shapes.of::<QueueTable>();
        let mut named_by: BTreeMap<usize, (usize, Span)> = BTreeMap::new();
        for index in 0..entries.len() {
            let Some(table) = sound::<QueueTable>(entries[index].place(), &shape, &mut self.problems) else {
                continue;
            };
            let kind = self.kind(&table.kind, entries[index].place());
            let mut children = Vec::new();
            for (nth, child) in table.children.iter().enumerate() {
                let span = entries[index].place().element("children", nth);
                let Some(&child_index) = names.get(child.as_str()) else {
                    self.note(Self::no_such("queue", child, span, names.keys().copied()));
                    continue;
                };
                if let Some((parent, first)) = named_by.get(&child_index) {
                    let parent = entries[*parent].name;
                    let problem =
                        Problem::new(span, format!("the queue `{child}` is a child of `{parent}` already"));
                    self.note(
                        problem
                            .see(first.clone(), "first here")
                            .help("a queue stands in one place: give each parent its own"),
                    );
                    continue;
                }
                named_by.insert(child_index, (index, span.clone()));
                children.push((child_index, span));
            }
            if let Some(kind) = &kind {
                self.check_arity(kind, table.children.len(), entries[index].place());
            }
            entries[index].kind = kind;
            entries[index].children = children;
        }
        for (child, (parent, _)) in named_by {
            entries[child].parent = Some(parent);
        }
    }

    fn kind(&mut self, kind: &str, place: Place<'_, '_>) -> Option<Kind> {
        let found = disciplines::visit(kind, Describe(&mut self.shapes));
        if found.is_none() {
            let problem = if kind == CLASS {
                Problem::new(place.value("kind"), "no discipline above this queue owns classes")
                    .help("an inner class stands only below a discipline that owns its whole tree of classes; here it is one of these kinds: "
                        .to_owned() + &KINDS.join(", "))
            } else {
                let known = KINDS.iter().copied();
                let problem =
                    Problem::new(place.value("kind"), format!("there is no discipline `{}`", shorten(kind)));
                match nearest(kind, known.clone()) {
                    Some(near) => {
                        problem.help(format!("did you mean `{near}`? `lockgate list` shows them all"))
                    }
                    None => problem.help_if(one_of(known)),
                }
            };
            self.note(problem);
        }
        found
    }

    fn check_arity(&mut self, kind: &Kind, written: usize, place: Place<'_, '_>) {
        let span = place.value("children");
        match kind.arity {
            Arity::None if written > 0 => {
                let parents: Vec<&str> = KINDS
                    .iter()
                    .copied()
                    .filter(|kind| disciplines::visit(kind, TakesMany) == Some(true))
                    .collect();
                let problem = Problem::new(span, format!("`{}` is a leaf: it takes no children", kind.name));
                self.note(problem.help(format!(
                    "leave `children` out, or use a kind that has them: `{}`",
                    parents.join("`, `")
                )));
            }
            Arity::Optional if written > 1 => {
                let problem = Problem::new(span, format!("`{}` takes one child, not {written}", kind.name));
                self.note(problem.help("name one, and give that one the others as children"));
            }
            Arity::Many if written == 0 => {
                let problem = Problem::new(span, format!("`{}` needs children", kind.name));
                self.note(problem.help("add `children = [\"…\"]` with at least one queue"));
            }
            _ => {}
        }
    }

    /// Notes cycles and trees that are too deep; without recursion, as both may be as long as the file.
    fn check_shape(&mut self, entries: &[Entry<'_, '_>]) -> bool {
        let mut sound = true;
        let mut depth: Vec<Option<usize>> = vec![None; entries.len()];
        let mut waiting: Vec<usize> =
            (0..entries.len()).filter(|index| entries[*index].parent.is_none()).collect();
        waiting.iter().for_each(|root| depth[*root] = Some(1));
        let mut too_deep = false;
        while let Some(index) = waiting.pop() {
            let level = depth[index].unwrap_or(1) + 1;
            for (child, span) in &entries[index].children {
                depth[*child] = Some(level);
                waiting.push(*child);
                if level == DEEPEST + 1 && !too_deep {
                    too_deep = true;
                    let problem = Problem::new(
                        span.clone(),
                        format!("the queue `{}` is on level {level}", entries[*child].name),
                    );
                    self.note(problem.help(format!("a tree has at most {DEEPEST} levels")));
                }
            }
        }
        sound &= !too_deep;
        // What no root leads to goes round in circles: every queue has one parent at most.
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        for start in (0..entries.len()).filter(|index| depth[*index].is_none()) {
            let mut round = Vec::new();
            let mut index = start;
            while seen.insert(index) {
                round.push(index);
                match entries[index].parent {
                    Some(parent) => index = parent,
                    None => break,
                }
            }
            if let Some(from) = round.iter().position(|member| *member == index) {
                self.note(cycle(&round[from..], entries));
                sound = false;
            }
        }
        sound
    }

    /// Reads a queue's own parameters, and what its parent must know of it.
    fn parameters(&mut self, index: usize, entries: &mut [Entry<'_, '_>]) {
        let entry = &entries[index];
        let Some(kind) = &entry.kind else { return };
        let parent = entry.parent.map(|parent| &entries[parent]);
        let parent_kind = parent.and_then(|parent| parent.kind.as_ref());
        let place = entry.place();
        let own = self.shapes.of::<QueueTable>();
        let no_share = Rc::new(Shape::default());
        let share = parent_kind.map_or(&no_share, |kind| &kind.share);
        for (key, _) in place.entries() {
            let name: &str = key.get_ref();
            let known = own.has(name) || OWN_KEYS.contains(&name) || kind.config.has(name) || share.has(name);
            // A parent that is not known may know what this one does not.
            if !known && (parent.is_none() || parent_kind.is_some()) {
                let all: Vec<&str> =
                    kind.config.names().chain(share.names()).chain(own.names()).chain(OWN_KEYS).collect();
                let who = match parent_kind {
                    Some(parent) => format!("neither `{}` nor its parent `{}`", kind.name, parent.name),
                    None => format!("`{}`", kind.name),
                };
                let problem = unknown_key(&who, name, key.span(), all);
                self.note(if parent_kind.is_some() {
                    problem.replace_message(format!("{who} has a key `{}`", shorten(name)))
                } else {
                    problem
                });
            }
        }
        let config = self.parameters_of_kind(kind, place);
        let share = match parent_kind {
            Some(parent) => self.share(kind, parent, place),
            None => {
                if place.has("share") {
                    let problem = Problem::new(
                        place.key("share"),
                        format!("{} has no parent to share anything of", place.what),
                    );
                    self.note(problem.help("leave `share` out"));
                }
                Some(toml::Table::new())
            }
        };
        entries[index].config = config;
        entries[index].share = share;
    }

    fn parameters_of_kind(&mut self, kind: &Kind, place: Place<'_, '_>) -> Option<toml::Table> {
        let sound = disciplines::visit(kind.name, ReadConfig(place, &kind.config, &mut self.problems))
            .unwrap_or(false);
        sound.then(|| plain(place.only(&kind.config), place, &mut self.problems)).flatten()
    }

    /// What the parent must know: keys beside the child's own, and those under `share`.
    fn share(&mut self, kind: &Kind, parent: &Kind, place: Place<'_, '_>) -> Option<toml::Table> {
        let noted = self.problems.len();
        let mut table = DeTable::new();
        for (key, value) in place.entries() {
            let name: &str = key.get_ref();
            if parent.share.has(name) && !kind.config.has(name) {
                table.insert(key.clone(), value.clone());
            }
        }
        if let Some(value) = place.table.get("share") {
            let DeValue::Table(inner) = value.get_ref() else {
                let problem = Problem::new(value.span(), "`share` is a table");
                self.note(
                    problem.help(format!("write `share = {{ … }}` with what `{}` must know", parent.name)),
                );
                return None;
            };
            for (key, _) in inner.iter().filter(|(key, _)| !parent.share.has(key.get_ref())) {
                let problem = Problem::new(
                    key.span(),
                    format!(
                        "`{}` must know nothing called `{}` of its children",
                        parent.name,
                        shorten(key.get_ref())
                    ),
                );
                let known = suggest(key.get_ref(), parent.share.names());
                self.note(problem.help("leave `share` out: there is nothing it must know").help_if(known));
            }
            for (key, value) in inner {
                if let Some((first, _)) = table.get_key_value(&**key.get_ref()) {
                    let problem = Problem::new(key.span(), format!("`{}` is given twice", key.get_ref()));
                    self.note(problem.see(first.span(), "given here too").help("give it once"));
                }
                table.insert(key.clone(), value.clone());
            }
        }
        for key in parent
            .share
            .required()
            .filter(|key| kind.config.has(&key.name) && !table.contains_key(key.name.as_str()))
        {
            let problem = if place.has(&key.name) {
                Problem::new(
                    place.key(&key.name),
                    format!(
                        "this `{}` is `{}`'s own: its parent `{}` needs one too",
                        key.name, kind.name, parent.name
                    ),
                )
            } else {
                Problem::new(
                    place.header.clone(),
                    format!("{} needs `{}` for its parent `{}`", place.what, key.name, parent.name),
                )
            };
            self.note(
                problem.help(format!(
                    "both have a `{0}`: write the parent's as `share = {{ {0} = … }}`",
                    key.name
                )),
            );
        }
        if self.problems.len() != noted {
            return None;
        }
        let what = format!("{}, a child of `{}`,", place.what, parent.name);
        let shared = Place { what: &what, table: &table, header: place.header };
        let sound = disciplines::visit(parent.name, ReadShare(shared, &parent.share, &mut self.problems))
            .unwrap_or(false);
        sound.then(|| plain(table.clone(), shared, &mut self.problems)).flatten()
    }

    fn warn_matches(&mut self, entries: &[Entry<'_, '_>]) {
        for entry in entries {
            if entry.parent.is_none() && entry.table.contains_key("match") {
                let problem = Problem::new(
                    entry.place().key("match"),
                    format!("{} is nobody's child: its `match` is never asked", entry.what),
                );
                self.warn(problem.help("leave it out"));
            }
            let all = |(child, _): &&(usize, Span)| !entries[*child].table.contains_key("match");
            let Some(first) = entry.children.iter().position(|child| all(&child)) else { continue };
            if let Some((starved, span)) = entry.children.get(first + 1) {
                let (taker, _) = &entry.children[first];
                let problem = Problem::new(
                    span.clone(),
                    format!(
                        "`{}` never gets a packet: `{}` before it takes all that comes",
                        entries[*starved].name, entries[*taker].name
                    ),
                );
                self.warn(problem.help(format!("give `{}` a `match`, or put it last", entries[*taker].name)));
            }
        }
    }

    fn choose_root(
        &mut self,
        place: Place<'_, '_>,
        root: Option<&str>,
        entries: &[Entry<'_, '_>],
        roots: &[usize],
        sound: bool,
    ) -> Option<usize> {
        let Some(root) = root else {
            return match roots {
                [only] => Some(*only),
                _ => {
                    if sound && !place.has("root") {
                        let names: Vec<&str> = roots.iter().map(|index| entries[*index].name).collect();
                        let problem = Problem::new(
                            place.header.clone(),
                            format!("{} does not say which queue is its root", place.what),
                        );
                        self.note(
                            problem
                                .help_if(one_of(names).map(|names| format!("add `root = \"…\"`: {names}"))),
                        );
                    }
                    None
                }
            };
        };
        let Some(index) = entries.iter().position(|entry| entry.name == root) else {
            let names = entries.iter().map(|entry| entry.name);
            let problem =
                Problem::new(place.value("root"), format!("there is no queue called `{}`", shorten(root)));
            self.note(problem.help_if(suggest(root, names)));
            return None;
        };
        if let Some(parent) = entries[index].parent.filter(|_| sound) {
            let problem = Problem::new(
                place.value("root"),
                format!("`{root}` is a child of `{}`, so it is no root", entries[parent].name),
            );
            self.note(problem.help("the root is nobody's child"));
            return None;
        }
        Some(index)
    }

    /// Builds the tree below `index` as the run will, noting what disciplines refuse. Where one cannot be
    /// built, a FIFO stands in for it, so that those above it are looked at too; a child whose share has
    /// problems is left out.
    fn build(&mut self, index: usize, entries: &[Entry<'_, '_>]) -> Option<Node> {
        let entry = &entries[index];
        let mut children: Vec<Node> = Vec::new();
        let mut shares: Vec<toml::Table> = Vec::new();
        let mut present: Vec<usize> = Vec::new();
        for (child, _) in &entry.children {
            let node = self.build(*child, entries).or_else(stand_in);
            if let (Some(node), Some(share)) = (node, entries[*child].share.clone()) {
                children.push(node);
                shares.push(share);
                present.push(*child);
            }
        }
        let kind = entry.kind.as_ref()?;
        if present.is_empty() && kind.arity == Arity::Many {
            // Said already: it names none, or none that could be read.
            return None;
        }
        let mut queue = queue_of(entry)?;
        let noted = self.problems.len();
        // What is refused is noted, taken out where it can be, and the rest tried again.
        for _ in 0..32 {
            let offered = shares.iter().cloned().zip(core::mem::take(&mut children)).collect();
            let invalid = match make(&queue, offered, Vec::new()) {
                Ok(node) => return (self.problems.len() == noted).then_some(node),
                Err(invalid) => invalid,
            };
            if self.problems.len() > noted && invalid.why.starts_with("missing field") {
                // What was taken out cannot be left out.
                break;
            }
            let child = invalid.child.and_then(|child| present.get(child)).map(|child| &entries[*child]);
            self.note(refused(&invalid, kind, entry, child));
            let removed = match invalid.child {
                None => queue.config.remove(invalid.field),
                Some(child) => shares.get_mut(child).and_then(|share| share.remove(invalid.field)),
            };
            if removed.is_none() {
                break;
            }
            children = present.iter().filter_map(|_| stand_in()).collect();
        }
        None
    }
}

/// What a discipline refuses, at the place it speaks of.
fn refused(invalid: &Invalid, kind: &Kind, entry: &Entry<'_, '_>, child: Option<&Entry<'_, '_>>) -> Problem {
    let place = child.unwrap_or(entry).place();
    let shared = child.is_some()
        && place.table.get("share").is_some_and(|share| share.get_ref().get(invalid.field).is_some());
    let span = if shared { place.inner("share", invalid.field) } else { place.value(invalid.field) };
    let message =
        format!("`{}` of the queue `{}` {}", invalid.field, child.unwrap_or(entry).name, invalid.why);
    let help = format!("`lockgate list {}` shows what it takes", kind.name);
    match split_outside_quotes(&message) {
        Some((wrong, allowed)) => Problem::new(span, wrong).help(allowed),
        None => Problem::new(span, message).help(help),
    }
}

fn stand_in() -> Option<Node> {
    QueueTree::fifo().build().ok()
}

fn queue_of(entry: &Entry<'_, '_>) -> Option<Queue> {
    Some(Queue {
        name: entry.name.into(),
        kind: entry.kind.as_ref()?.name,
        config: entry.config.clone()?,
        share: entry.share.clone()?,
        rules: entry.rules.clone(),
        children: Vec::new(),
    })
}

/// The tree below `root`, parents before children, in the order of `children`.
fn resolve(root: usize, entries: &[Entry<'_, '_>]) -> QueueTree {
    let mut queues: Vec<Queue> = Vec::new();
    let mut waiting = vec![(root, None)];
    while let Some((index, parent)) = waiting.pop() {
        let Some(queue) = queue_of(&entries[index]) else { continue };
        let place = queues.len();
        queues.push(queue);
        if let Some(parent) = parent {
            let parent: &mut Queue = &mut queues[parent];
            parent.children.push(place);
        }
        waiting.extend(entries[index].children.iter().rev().map(|(child, _)| (*child, Some(place))));
    }
    QueueTree { queues }
}

fn cycle(round: &[usize], entries: &[Entry<'_, '_>]) -> Problem {
    const SHOWN: usize = 8;
    // The round was walked from child to parent; it reads from parent to child.
    let mut members: Vec<usize> = round.iter().rev().copied().collect();
    let first = members.iter().enumerate().min_by_key(|(_, index)| **index).map_or(0, |(at, _)| at);
    members.rotate_left(first);
    let mut names: Vec<String> =
        members.iter().take(SHOWN).map(|index| format!("`{}`", entries[*index].name)).collect();
    if members.len() > SHOWN {
        names.push("…".to_owned());
    }
    names.push(format!("`{}`", entries[members[0]].name));
    let last = members.last().copied().unwrap_or(members[0]);
    let back = entries[last].children.iter().find(|(child, _)| *child == members[0]);
    let span = back.map_or_else(|| entries[last].header.clone(), |(_, span)| span.clone());
    Problem::new(span, format!("the children go round in a circle: {}", names.join(" → ")))
        .label("here it comes back")
        .help("a queue cannot stand below itself: take one of these out of `children`")
}

/// A checked table without its places.
fn plain(table: DeTable<'_>, place: Place<'_, '_>, problems: &mut Vec<Problem>) -> Option<toml::Table> {
    let whole = Spanned::new(place.header.clone(), DeValue::Table(table));
    toml::Table::deserialize(ValueDeserializer::from(whole))
        .map_err(|error| {
            let span = error.span().unwrap_or_else(|| place.header.clone());
            problems.push(
                Problem::new(span, "a number too large for the file")
                    .help("it is at most 9223372036854775807"),
            );
        })
        .ok()
}

struct Describe<'a>(&'a mut Shapes);

impl Visitor for Describe<'_> {
    type Output = Kind;
    fn visit<D: Discipline>(self) -> Kind {
        Kind {
            name: D::KIND,
            arity: D::CHILDREN,
            config: self.0.of::<D::Config>(),
            share: self.0.of::<D::Share>(),
        }
    }
}

struct TakesMany;

impl Visitor for TakesMany {
    type Output = bool;
    fn visit<D: Discipline>(self) -> bool {
        D::CHILDREN == Arity::Many
    }
}

struct ReadConfig<'a, 'i>(Place<'a, 'i>, &'a Shape, &'a mut Vec<Problem>);

impl Visitor for ReadConfig<'_, '_> {
    type Output = bool;
    fn visit<D: Discipline>(self) -> bool {
        sound::<D::Config>(self.0, self.1, self.2).is_some()
    }
}

struct ReadShare<'a, 'i>(Place<'a, 'i>, &'a Shape, &'a mut Vec<Problem>);

impl Visitor for ReadShare<'_, '_> {
    type Output = bool;
    fn visit<D: Discipline>(self) -> bool {
        sound::<D::Share>(self.0, self.1, self.2).is_some()
    }
}
