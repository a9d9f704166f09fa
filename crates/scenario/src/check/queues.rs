//! Checks a port's queues: parents and children, parameters, rules, and that every tree can be built.

mod covered;
mod forest;
mod parameters;

use core::iter::Peekable;
use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::class;
use lockgate_engine::discipline::{Arity, FULL_FRAME, Invalid, PortConditions};
use lockgate_engine::node::Node;
use lockgate_engine::pacing::Pace;
use lockgate_engine::units::{Bytes, Limit, Rate};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Checker;
use super::ports::TreeContext;
use super::rules::Rules;
use crate::diagnostic::{Problem, Span};
use crate::nearest::one_of;
use crate::table_reader::{TableKeys, TableLocation, shorten, split_outside_quotes};
use crate::tree::{Queue, QueueTree, make, maps_rest};

/// Limit on the queues of a port: a packet names its queue in 20 bits.
const MOST_QUEUES: usize = lockgate_engine::port::Queue::MOST - 1;

/// A port's trees.
pub(super) struct Trees {
    pub(super) root: String,
    /// Tree that is active.
    pub(super) tree: QueueTree,
    pub(super) queues: Vec<String>,
    pub(super) roots: Vec<(String, Span)>,
}

/// Properties of a kind that reading its tables needs.
#[derive(Clone)]
struct Kind {
    name: &'static str,
    /// Discipline whose shares its children declare: the kind itself, or for an inner class the discipline
    /// that owns it.
    owner: &'static str,
    arity: Arity,
    /// True if it classifies packets itself, whatever the rules of its children say.
    classifies: bool,
    config: Arc<TableKeys>,
    share: Arc<TableKeys>,
}

/// One table `queue.NAME` of the file.
struct Entry<'a, 'i> {
    name: &'a str,
    what: String,
    key: Span,
    header: Span,
    table: &'a DeTable<'i>,
    kind: Option<Kind>,
    /// Children by index, with the positions of their names; unknown ones are left out.
    children: Vec<(usize, Span)>,
    parent: Option<usize>,
    /// Own parameters, and the share for the parent, as tables; `None` if they have problems.
    config: Option<toml::Table>,
    share: Option<toml::Table>,
    rules: Rules,
}

impl<'i> Entry<'_, 'i> {
    fn location(&self) -> TableLocation<'_, 'i> {
        TableLocation { what: &self.what, table: self.table, header: &self.header }
    }
}

impl Checker<'_> {
    /// Checks the trees of the port at `location`, whose table names `root`.
    pub(super) fn trees(
        &mut self,
        location: TableLocation<'_, '_>,
        root: Option<&str>,
        context: TreeContext<'_>,
    ) -> Option<Trees> {
        let queues = location.table.get("queue");
        let Some(DeValue::Table(tables)) = queues.map(Spanned::get_ref) else {
            if let Some(wrong) = queues {
                let problem = Problem::new(wrong.span(), "`queue` is a table of tables, one for each name");
                self.note(problem.help("write `[port.\"A:B\".queue.NAME]`"));
                return None;
            }
            return self.without_queues(location, root);
        };
        if tables.len() > MOST_QUEUES {
            let problem = Problem::new(
                location.value("queue"),
                format!("{} queues are too many for a port", tables.len()),
            );
            self.note(problem.help(format!("it has at most {MOST_QUEUES}")));
            return None;
        }
        let noted = self.problems.len();
        let mut entries = self.entries(tables);
        let complete = self.link_children(&mut entries);
        let sound = self.check_shape(&entries);
        for index in 0..entries.len() {
            let noted = self.noted();
            self.parameters(index, &mut entries, complete);
            let rules = self.rules(entries[index].location(), context);
            entries[index].rules = rules;
            self.mark_member("queue", entries[index].name, noted);
        }
        self.warn_limits(&entries);
        self.warn_matches(&entries);
        if self.problems.len() == noted {
            self.warn_covered(&entries);
            self.warn_impossible(&entries);
        }
        let roots: Vec<usize> = (0..entries.len()).filter(|index| entries[*index].parent.is_none()).collect();
        let chosen = self.choose_root(location, root, &entries, &roots, sound && complete);
        if !sound {
            return None;
        }
        self.warn_two_shapers(&entries, context.own);
        for &index in &roots {
            // Every tree is built, also those that only a change makes the root.
            let _ = self.build(index, &entries, context.rate);
        }
        if self.problems.len() != noted {
            return None;
        }
        let root = chosen?;
        Some(Trees {
            root: entries[root].name.to_owned(),
            tree: resolve(root, &mut entries),
            queues: entries.iter().map(|entry| entry.name.to_owned()).collect(),
            roots: roots
                .iter()
                .map(|index| (entries[*index].name.to_owned(), entries[*index].key.clone()))
                .collect(),
        })
    }

    fn without_queues(&mut self, location: TableLocation<'_, '_>, root: Option<&str>) -> Option<Trees> {
        if let Some(root) = root.filter(|root| *root != "fifo") {
            let problem = Problem::new(
                location.value("root"),
                format!("{} has no queue called `{}`", location.what, shorten(root)),
            );
            self.note(
                problem.help(format!("write `[port.\"A:B\".queue.{}]` with its `kind`", shorten(root))),
            );
            return None;
        }
        Some(Trees {
            root: "fifo".to_owned(),
            tree: QueueTree::fifo(),
            queues: vec!["fifo".to_owned()],
            roots: vec![("fifo".to_owned(), location.header.clone())],
        })
    }

    /// Reads the queues with their kinds and children.
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
                rules: Rules::default(),
            });
        }
        entries
    }

    /// Warns of queues whose own rate is not below that of the port: it never holds.
    fn warn_two_shapers(&mut self, entries: &[Entry<'_, '_>], port: Pace) {
        let Some(rate) = port.rate else { return };
        // The rates count different overheads: compared by what a full frame takes.
        let of = |rate: Rate, on_link: Bytes| u128::from(rate.as_bits()) * u128::from(on_link.0);
        for entry in entries {
            let Some(queue) = queue_of(entry) else { continue };
            let own = queue.own_pace();
            let Some(limit) = own.rate else { continue };
            if of(limit, port.overhead.on_link(FULL_FRAME)) < of(rate, own.overhead.on_link(FULL_FRAME)) {
                continue;
            }
            let key =
                ["bandwidth", "rate"].into_iter().find(|key| entry.location().has(key)).unwrap_or("kind");
            let wrong = format!(
                "`{key}` of the queue `{}`, {limit}, never holds: the port sends no more than {rate}",
                entry.name
            );
            let help = format!("one shaper is enough: leave out `{key}` here, or `rate` of the port");
            self.warn(Problem::new(entry.location().value(key), wrong).help(help));
        }
    }

    /// Warns of limits in bytes that no full frame fits into.
    fn warn_limits(&mut self, entries: &[Entry<'_, '_>]) {
        for entry in entries {
            let limit = entry.config.as_ref().and_then(|config| config.get("limit")?.as_str()?.parse().ok());
            let Some(Limit::Bytes(limit)) = limit.filter(|_| entry.location().has("limit")) else { continue };
            if limit < FULL_FRAME {
                let wrong = format!("`limit` of the queue `{}` drops each frame of over {limit}", entry.name);
                let help = format!("make it `{}B`, a full frame, or more", FULL_FRAME.0);
                self.warn(Problem::new(entry.location().value("limit"), wrong).help(help));
            }
        }
    }

    fn warn_matches(&mut self, entries: &[Entry<'_, '_>]) {
        for entry in entries {
            if entry.parent.is_none() && entry.table.contains_key("match") {
                let problem = Problem::new(
                    entry.location().key("match"),
                    format!("{} is not a child of any queue: its `match` is ignored", entry.what),
                );
                self.warn(problem.help("leave it out"));
            }
            if entry.kind.as_ref().is_some_and(|kind| kind.classifies) {
                continue;
            }
            if let (Some(kind), Some(config)) = (&entry.kind, &entry.config)
                && maps_rest(kind.name, config)
            {
                self.warn_unmapped(entry, config, entries);
                continue;
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

    /// Warns of the bands of `entry` that neither a rule nor a priority leads to.
    fn warn_unmapped(&mut self, entry: &Entry<'_, '_>, config: &toml::Table, entries: &[Entry<'_, '_>]) {
        let mapped: Vec<_> =
            config.get("priomap").and_then(toml::Value::as_array).into_iter().flatten().collect();
        let Some((_, before_last)) = entry.children.split_last() else { return };
        for (band, (child, span)) in before_last.iter().enumerate() {
            let is_mapped = mapped.iter().any(|mapped| mapped.as_integer() == i64::try_from(band).ok());
            if !is_mapped && !entries[*child].table.contains_key("match") {
                let name = entries[*child].name;
                let why = format!(
                    "`{name}` never gets a packet: it has no `match`, and `priomap` of {} does not name band {band}",
                    entry.what
                );
                self.warn(
                    Problem::new(span.clone(), why)
                        .help(format!("give `{name}` a `match`; what no band takes goes to the last")),
                );
            }
        }
    }

    fn choose_root(
        &mut self,
        location: TableLocation<'_, '_>,
        root: Option<&str>,
        entries: &[Entry<'_, '_>],
        roots: &[usize],
        sound: bool,
    ) -> Option<usize> {
        let Some(root) = root else {
            return if let [only] = roots {
                Some(*only)
            } else {
                if sound && !location.has("root") {
                    let names: Vec<&str> = roots.iter().map(|index| entries[*index].name).collect();
                    let problem = Problem::new(
                        location.header.clone(),
                        format!("{} does not say which queue is its root", location.what),
                    );
                    self.note(
                        problem.help_if(one_of(names).map(|names| format!("add `root = \"…\"`: {names}"))),
                    );
                }
                None
            };
        };
        let Some(index) = entries.iter().position(|entry| entry.name == root) else {
            let names = entries.iter().map(|entry| entry.name);
            let problem =
                Problem::new(location.value("root"), format!("there is no queue called `{}`", shorten(root)));
            let help = self.suggest(root, names);
            self.note(problem.help_if(help));
            return None;
        };
        if let Some(parent) = entries[index].parent.filter(|_| sound) {
            let problem = Problem::new(
                location.value("root"),
                format!("`{root}` is a child of `{}`, so it is not a root", entries[parent].name),
            );
            self.note(problem.help("the root is not a child of any queue"));
            return None;
        }
        Some(index)
    }

    /// Builds the tree below `index` as the run will, noting what disciplines refuse. A FIFO replaces a
    /// subtree that cannot be built, so that its ancestors are checked too; a child whose share has
    /// problems is left out. Inner classes are built with the discipline that owns them. A tree that can be
    /// built may still have doubts, reported as warnings; `link` is the rate of the link, for the tree at
    /// the root.
    fn build(&mut self, index: usize, entries: &[Entry<'_, '_>], link: Option<Rate>) -> Option<Node> {
        let entry = &entries[index];
        let mut below = Below::default();
        self.below(index, entries, &mut below);
        let kind = entry.kind.as_ref()?;
        let Below { present, mut shares, mut leaves } = below;
        if present.is_empty() && kind.arity.needs_children() {
            // Noted already: no children named, or none that could be read.
            return None;
        }
        let mut queue = queue_of(entry)?;
        let noted = self.problems.len();
        let port = match self.poll_interval {
            Some(interval) => PortConditions::polled(link, interval),
            None => PortConditions::exact(link),
        };
        // Each refused value is noted and removed if possible; the rest is tried again.
        for _ in 0..32 {
            let offered = offered(
                index,
                kind.owner,
                entries,
                &mut present.iter().copied().zip(&shares).peekable(),
                &mut leaves,
            )?;
            let invalid = match make(&queue, kind.owner, offered, Vec::new()) {
                Ok(node) if self.problems.len() == noted => {
                    node.doubts(port, &mut |doubt| {
                        let child =
                            doubt.child.and_then(|child| present.get(child)).map(|child| &entries[*child]);
                        self.warn(said(&doubt, kind, entry, child));
                    });
                    return Some(node);
                }
                Ok(_) => return None,
                Err(invalid) => invalid,
            };
            if self.problems.len() > noted && invalid.why.starts_with("missing field") {
                // A required value was removed: no further attempt is possible.
                break;
            }
            let child = invalid.child.and_then(|child| present.get(child)).map(|child| &entries[*child]);
            self.note(said(&invalid, kind, entry, child));
            let removed = match invalid.child {
                None => queue.config.remove(invalid.field),
                Some(child) => shares.get_mut(child).and_then(|share| share.remove(invalid.field)),
            };
            if removed.is_none() {
                break;
            }
        }
        None
    }

    /// Collects the children of a discipline, inner classes expanded in pre-order.
    fn below(&mut self, index: usize, entries: &[Entry<'_, '_>], below: &mut Below) {
        for &(child, _) in &entries[index].children {
            let is_class = entries[child].kind.as_ref().is_some_and(|kind| kind.name == class::KIND);
            if is_class && entries[child].children.is_empty() {
                // Noted already; the rest can be checked without it.
                continue;
            }
            let node = if is_class { None } else { self.build(child, entries, None) };
            let Some(share) = entries[child].share.clone() else { continue };
            below.present.push(child);
            below.shares.push(share);
            below.leaves.extend(node.map(|node| (child, node)));
            if is_class {
                self.below(child, entries, below);
            }
        }
    }
}

/// Children of a discipline, inner classes expanded.
#[derive(Default)]
struct Below {
    /// Children that could be read, parents before children.
    present: Vec<usize>,
    /// Share of each.
    shares: Vec<toml::Table>,
    /// Built nodes of those that are queues.
    leaves: BTreeMap<usize, Node>,
}

/// Returns what a discipline refuses or doubts as a problem, at the value concerned.
fn said(invalid: &Invalid, kind: &Kind, entry: &Entry<'_, '_>, child: Option<&Entry<'_, '_>>) -> Problem {
    let location = child.unwrap_or(entry).location();
    let shared = child.is_some()
        && location.table.get("share").is_some_and(|share| share.get_ref().get(invalid.field).is_some());
    let span = if shared { location.inner("share", invalid.field) } else { location.value(invalid.field) };
    let message =
        format!("`{}` of the queue `{}` {}", invalid.field, child.unwrap_or(entry).name, invalid.why);
    let help = format!("`lockgate list {}` shows what it takes", kind.name);
    match split_outside_quotes(&message) {
        Some((wrong, allowed)) => Problem::new(span, wrong).help(allowed),
        None => Problem::new(span, message).help(help),
    }
}

/// Returns the children of the queue at `index` as `owner` takes them; `present` are the remaining ones in
/// pre-order. A FIFO replaces a queue that is not, or no longer, among `leaves`.
fn offered<'a>(
    index: usize,
    owner: &str,
    entries: &[Entry<'_, '_>],
    present: &mut Peekable<impl Iterator<Item = (usize, &'a toml::Table)>>,
    leaves: &mut BTreeMap<usize, Node>,
) -> Option<Vec<(toml::Table, Node)>> {
    let mut children = Vec::new();
    for &(child, _) in &entries[index].children {
        let Some((_, share)) = present.next_if(|(next, _)| *next == child) else { continue };
        let node = if entries[child].kind.as_ref().is_some_and(|kind| kind.name == class::KIND) {
            let below = offered(child, owner, entries, present, leaves)?;
            make(&queue_of(&entries[child])?, owner, below, Vec::new()).ok()?
        } else {
            leaves.remove(&child).or_else(stand_in)?
        };
        children.push((share.clone(), node));
    }
    Some(children)
}

fn stand_in() -> Option<Node> {
    QueueTree::fifo().build().ok()
}

/// Returns a queue without its rules, of which a queue above ten thousand others has as many, and its
/// children.
fn queue_of(entry: &Entry<'_, '_>) -> Option<Queue> {
    Some(Queue {
        name: entry.name.into(),
        kind: entry.kind.as_ref()?.name,
        config: entry.config.clone()?,
        share: entry.share.clone()?,
        rules: Vec::new(),
        marks: Vec::new(),
        children: Vec::new(),
    })
}

/// Returns the tree below `root`, with the rules of its entries: parents before children, in the order of
/// `children`.
fn resolve(root: usize, entries: &mut [Entry<'_, '_>]) -> QueueTree {
    let mut queues: Vec<Queue> = Vec::new();
    let mut waiting = vec![(root, None)];
    while let Some((index, parent)) = waiting.pop() {
        let Some(mut queue) = queue_of(&entries[index]) else { continue };
        let Rules { all, marks } = core::mem::take(&mut entries[index].rules);
        (queue.rules, queue.marks) = (all, marks);
        let slot = queues.len();
        queues.push(queue);
        if let Some(parent) = parent {
            let parent: &mut Queue = &mut queues[parent];
            parent.children.push(slot);
        }
        waiting.extend(entries[index].children.iter().rev().map(|(child, _)| (*child, Some(slot))));
    }
    QueueTree { queues }
}
