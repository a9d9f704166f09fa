//! Checks the shape of the trees: a forest of known kinds, of bounded depth.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_engine::class;
use lockgate_engine::discipline::{Arity, Discipline, NoShare};
use lockgate_engine::disciplines::{self, KINDS, Visitor};

use super::super::Checker;
use super::{Entry, Kind};
use crate::diagnostic::{Problem, Span};
use crate::file::QueueTable;
use crate::nearest::{nearest, one_of};
use crate::table_reader::{TableKeysCache, TableLocation, read_valid_table, shorten};

/// Limit on the levels of a tree: deeper ones are mistakes, and every level costs time for each packet.
const DEEPEST: usize = 16;

impl Checker<'_> {
    /// Reads kinds and joins parents and children, each child to at most one parent. Returns true if every
    /// parentless queue is really a root: no parent was unreadable or named an unknown child.
    pub(super) fn link_children(&mut self, entries: &mut [Entry<'_, '_>]) -> bool {
        let mut complete = true;
        let names: BTreeMap<&str, usize> =
            entries.iter().enumerate().map(|(index, entry)| (entry.name, index)).collect();
        let keys = self.cache.table_keys.of::<QueueTable>();
        let mut named_by: BTreeMap<usize, (usize, Span)> = BTreeMap::new();
        let mut written = Vec::with_capacity(entries.len());
        for index in 0..entries.len() {
            let noted = self.problems.len();
            let Some(table) =
                read_valid_table::<QueueTable>(entries[index].location(), &keys, &mut self.problems)
            else {
                if self.problems.len() == noted {
                    self.note_misspelt_kind(entries[index].location());
                }
                complete = false;
                continue;
            };
            let kind = self.kind(&table.kind, entries[index].location());
            let mut children = Vec::new();
            for (nth, child) in table.children.iter().enumerate() {
                let span = entries[index].location().element("children", nth);
                let Some(&child_index) = names.get(child.as_str()) else {
                    let problem = self.no_such("queue", child, span, names.keys().copied());
                    self.note(problem);
                    complete = false;
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
            written.push((index, table.children.len()));
            entries[index].kind = kind;
            entries[index].children = children;
        }
        for (child, (parent, _)) in named_by {
            entries[child].parent = Some(parent);
        }
        self.find_owners(entries, complete);
        for (index, children) in written {
            if let Some(kind) = &entries[index].kind {
                self.check_arity(kind, children, entries[index].location());
            }
        }
        complete
    }

    /// Notes that the key `kind` is misspelt: without its kind, no other check knows the keys of a queue.
    fn note_misspelt_kind(&mut self, location: TableLocation<'_, '_>) {
        let mut keys = location.table.keys();
        let misspelt = keys.find(|key| nearest(key.get_ref(), ["kind"]).is_some());
        let (span, name) = misspelt.map_or((location.header.clone(), ""), |key| (key.span(), key.get_ref()));
        let problem = Problem::new(span, format!("{} has no key `{}`", location.what, shorten(name)));
        self.note(problem.help("did you mean `kind`?"));
    }

    /// Returns the properties of `kind`. Those of an inner class depend on its owner: see
    /// [`find_owners`](Self::find_owners).
    fn kind(&mut self, kind: &str, location: TableLocation<'_, '_>) -> Option<Kind> {
        if kind == class::KIND {
            let none = self.cache.table_keys.of::<NoShare>();
            let (name, arity) = (class::KIND, Arity::Classes);
            return Some(Kind {
                name,
                owner: name,
                arity,
                classifies: false,
                config: none.clone(),
                share: none,
            });
        }
        let found = disciplines::visit(kind, Describe(&mut self.cache.table_keys));
        if found.is_none() {
            let known = KINDS.iter().copied().chain([class::KIND]);
            let problem =
                Problem::new(location.value("kind"), format!("there is no discipline `{}`", shorten(kind)));
            self.note(match nearest(kind, known.clone()) {
                Some(near) => problem.help(format!("did you mean `{near}`? `lockgate list` shows them all")),
                None => problem.help_if(one_of(known)),
            });
        }
        found
    }

    /// Finds the discipline that owns each inner class: the nearest ancestor that is not a class. `complete`:
    /// every parentless queue is really a root.
    fn find_owners(&mut self, entries: &mut [Entry<'_, '_>], complete: bool) {
        let is_class = |kind: &Kind| kind.name == class::KIND;
        for index in 0..entries.len() {
            if !entries[index].kind.as_ref().is_some_and(is_class) {
                continue;
            }
            // At most as many steps as there are queues: cycles are noted by `check_shape`.
            let above = |index: &usize| entries[*index].parent;
            let mut line = core::iter::successors(above(&index), above).take(entries.len());
            let owner = line.find(|index| !entries[*index].kind.as_ref().is_some_and(is_class));
            let kind = match owner.map(|owner| entries[owner].kind.as_ref()) {
                Some(Some(owner)) if owner.arity == Arity::Classes => Some(Kind {
                    name: class::KIND,
                    config: self.cache.table_keys.of::<NoShare>(),
                    ..owner.clone()
                }),
                // The ancestor could not be read: the kind of this one is unknown too.
                Some(None) => None,
                None if !complete => None,
                Some(Some(_)) | None => {
                    let owners: Vec<&str> = kinds_that(|arity| arity == Arity::Classes).collect();
                    let problem = Problem::new(
                        entries[index].location().value("kind"),
                        "no discipline above this queue owns classes",
                    );
                    self.note(problem.help(format!(
                        "an inner class stands below one that does: `{}`; or give the queue a kind of its own",
                        owners.join("`, `")
                    )));
                    None
                }
            };
            entries[index].kind = kind;
        }
    }

    fn check_arity(&mut self, kind: &Kind, written: usize, location: TableLocation<'_, '_>) {
        let span = location.value("children");
        match kind.arity {
            Arity::None if written > 0 => {
                let parents: Vec<&str> = kinds_that(Arity::needs_children).collect();
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
            Arity::Many | Arity::Classes if written == 0 => {
                let problem = Problem::new(span, format!("`{}` needs children", kind.name));
                self.note(problem.help("add `children = [\"…\"]` with at least one queue"));
            }
            _ => {}
        }
    }

    /// Notes cycles and trees that are too deep. Iterative, because both may be as long as the file.
    pub(super) fn check_shape(&mut self, entries: &[Entry<'_, '_>]) -> bool {
        let mut sound = true;
        let mut depth: Vec<Option<usize>> = vec![None; entries.len()];
        let mut waiting: Vec<usize> =
            (0..entries.len()).filter(|index| entries[*index].parent.is_none()).collect();
        for root in &waiting {
            depth[*root] = Some(1);
        }
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
        // Queues that no root leads to lie on or below cycles: every queue has at most one parent.
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
}

fn cycle(round: &[usize], entries: &[Entry<'_, '_>]) -> Problem {
    const SHOWN: usize = 8;
    // The cycle was walked from child to parent; it is shown from parent to child.
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

struct Describe<'a>(&'a mut TableKeysCache);

impl Visitor for Describe<'_> {
    type Output = Kind;
    fn visit<D: Discipline>(self) -> Kind {
        Kind {
            name: D::ABOUT.name,
            owner: D::ABOUT.name,
            arity: D::ABOUT.children,
            classifies: D::ABOUT.classifies,
            config: self.0.of::<D::Config>(),
            share: self.0.of::<D::Share>(),
        }
    }
}

/// Returns the kinds whose arity satisfies `is_so`.
fn kinds_that(is_so: fn(Arity) -> bool) -> impl Iterator<Item = &'static str> {
    struct ArityOf;
    impl Visitor for ArityOf {
        type Output = Arity;
        fn visit<D: Discipline>(self) -> Arity {
            D::ABOUT.children
        }
    }
    KINDS.iter().copied().filter(move |kind| disciplines::visit(kind, ArityOf).is_some_and(is_so))
}
