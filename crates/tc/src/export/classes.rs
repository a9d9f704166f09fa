//! Classes and bands of disciplines, their handles, and the words by which a discipline sorts packets itself.

use std::collections::{BTreeMap, BTreeSet};

use lockgate_scenario::tree::Queue;

use super::{Writer, filters, settings};
use crate::handle::Handle;
use crate::language::Kind;

/// Returns the number in a name such as `class-1-1a`, which the import gives.
fn number_in(name: &str) -> Option<u16> {
    let minor = name.strip_prefix("class-")?.split_once('-')?.1;
    u16::from_str_radix(minor, 16).ok().filter(|minor| *minor > 0)
}

impl<'a> Writer<'a> {
    /// Returns the handles of all classes below a discipline.
    pub(super) fn class_ids(&self, queue: &Queue, handle: Handle) -> BTreeMap<&'a str, Handle> {
        let mut all = Vec::new();
        self.all_classes(queue, &mut all);
        let mut taken: BTreeSet<u16> = all.iter().filter_map(|class| number_in(&class.name)).collect();
        let mut ids = BTreeMap::new();
        let mut used = BTreeSet::new();
        let mut next = 0x10_u16;
        for class in all {
            let own = number_in(&class.name).filter(|minor| used.insert(*minor));
            let minor = own.unwrap_or_else(|| {
                while taken.contains(&next) {
                    next += 1;
                }
                taken.insert(next);
                next
            });
            ids.insert(&*class.name, Handle { minor, ..handle });
        }
        ids
    }

    fn all_classes(&self, queue: &Queue, all: &mut Vec<&'a Queue>) {
        for child in self.children(queue) {
            all.push(child);
            if child.is_class() {
                self.all_classes(child, all);
            }
        }
    }

    /// Returns the words of a class, and refuses what `tc` does not take; `None` if nothing of it is taken.
    fn class_words(&mut self, class: &Queue, kind: Kind) -> Option<String> {
        let (words, refused) = settings::of_class(class, kind, self.owner, self.is_framed);
        self.refuse_all(refused);
        Some(words?.iter().flat_map(|word| [" ", word]).collect())
    }

    /// Adds the classes below a discipline or class, and the disciplines in them.
    pub(super) fn classes(
        &mut self,
        queue: &'a Queue,
        parent: Handle,
        kind: Kind,
        ids: &BTreeMap<&'a str, Handle>,
    ) {
        for child in self.children(queue) {
            let id = ids[&*child.name];
            let Some(words) = self.class_words(child, kind) else { continue };
            self.line(format!("tc class add dev {} parent {parent} classid {id} {kind}{words}", self.name));
            if child.is_class() {
                self.classes(child, id, kind, ids);
            } else {
                self.qdisc(child, Some(id), None);
            }
        }
    }

    /// Adds the bands of a discipline, and the disciplines in them.
    pub(super) fn bands(&mut self, queue: &'a Queue, kind: Kind, handle: Handle, children: &[&'a Queue]) {
        let id = |band: usize| Handle { minor: band as u16 + 1, ..handle };
        let ids = children.iter().enumerate().map(|(band, child)| (&*child.name, id(band))).collect();
        self.refuse_unmetered(queue, children);
        for (band, child) in children.iter().enumerate() {
            if let Some(words) = self.class_words(child, kind).filter(|words| !words.is_empty()) {
                self.line(format!("tc class change dev {} classid {} {kind}{words}", self.name, id(band)));
            }
            self.qdisc(child, Some(id(band)), None);
        }
        self.filters_of(queue, handle, kind, &ids);
        self.share_meters(handle);
    }

    /// Refuses meters of bands that get packets by the map of priorities: meters stand on filters.
    fn refuse_unmetered(&mut self, queue: &Queue, children: &[&Queue]) {
        let map = queue.config.get("priomap").and_then(toml::Value::as_array);
        let bands: Vec<usize> =
            map.into_iter().flatten().filter_map(|band| band.as_integer()?.try_into().ok()).collect();
        for (band, child) in children.iter().enumerate() {
            if child.kind == "policer" && bands.contains(&band) {
                let name = &child.name;
                self.refuse(format!(
                    "queue `{name}`: packets that the map of priorities gives it pass no meter in Linux"
                ));
            }
        }
    }

    /// Returns the index of the child that takes the rest.
    fn rest_of(children: &[&Queue]) -> usize {
        let rest = children
            .iter()
            .position(|child| child.rules.is_empty() || child.rules.iter().any(filters::is_everything));
        rest.unwrap_or(children.len().saturating_sub(1))
    }

    /// Returns the leaf that takes what no rule of the tree takes.
    pub(super) fn rest_leaf(&self, queue: &Queue) -> Option<&'a Queue> {
        let children = self.children(queue);
        let child = *children.get(Self::rest_of(&children))?;
        if child.is_class() { self.rest_leaf(child) } else { Some(child) }
    }

    /// Returns the words by which a discipline sorts packets itself.
    pub(super) fn classification(
        &mut self,
        queue: &'a Queue,
        kind: Kind,
        handle: Handle,
        children: &[&'a Queue],
    ) -> Vec<String> {
        match kind {
            Kind::Htb | Kind::Hfsc if !self.is_without_rest(queue) => {
                let ids = self.class_ids(queue, handle);
                let leaf = self.rest_leaf(queue);
                let id = leaf.and_then(|leaf| ids.get(&*leaf.name));
                id.map(|id| vec!["default".to_owned(), format!("{:#x}", id.minor)]).unwrap_or_default()
            }
            Kind::Prio | Kind::Ets => {
                let map =
                    queue.config.get("priomap").and_then(toml::Value::as_array).filter(|map| !map.is_empty());
                let bands: Vec<String> = match map {
                    Some(map) => {
                        let last = i64::try_from(children.len().saturating_sub(1)).unwrap_or(0);
                        let band =
                            |index: usize| map.get(index).and_then(toml::Value::as_integer).unwrap_or(last);
                        (0..16).map(|priority| band(priority).to_string()).collect()
                    }
                    None => vec![Self::rest_of(children).to_string(); 16],
                };
                let mut words =
                    vec!["bands".to_owned(), children.len().max(2).to_string(), "priomap".to_owned()];
                if kind == Kind::Ets {
                    words[1] = children.len().to_string();
                }
                words.extend(bands);
                words
            }
            _ => Vec::new(),
        }
    }
}
