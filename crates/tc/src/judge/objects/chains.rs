//! Filters of a device in the kernel: chains by preference, hash tables of `u32`, handles.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Refusal, Verb, kernel};
use super::{Device, NOTHING, ROOT, minor, written};
use crate::position::{Located, Position};

/// Protocol of filters for all packets.
pub(in crate::judge) const ALL: u16 = 3;

/// Preference from which the kernel counts down if none is given.
const FIRST: u32 = 0xc000;

/// A filter in a command.
#[derive(Debug)]
pub(in crate::judge) struct Request {
    pub verb: Verb,
    pub at: Position,
    /// Discipline, class or hook; 0 for the root discipline.
    pub parent: u32,
    pub preference: u32,
    pub protocol: Option<u16>,
    pub chain: u32,
    pub kind: Option<Located<String>>,
    pub handle: u32,
    pub class: Option<u32>,
    pub detail: Detail,
    /// Reason for which the kernel refuses its words, whatever the state is.
    pub refused: Option<(Position, String)>,
}

/// Words that the kernel compares with what is there.
#[derive(Debug, Default, PartialEq)]
pub(in crate::judge) enum Detail {
    #[default]
    Plain,
    /// Divisor, table, link, and true for a selector.
    U32 { divisor: u32, table: u32, link: u32 },
    /// Mask; `None` for all bits.
    Fw { mask: Option<u32> },
    /// Conditions, in order.
    Flower(Vec<String>),
}

/// Filters of one preference.
#[derive(Clone, Debug)]
struct Chain {
    kind: String,
    protocol: u16,
    /// Handles, each with the class that it leads to, if the class was there.
    handles: BTreeMap<u32, Option<u32>>,
    /// Root table of `u32`.
    table: u32,
    mask: Option<u32>,
    keys: Vec<(u32, Vec<String>)>,
}

/// Chains of a discipline, a class or a hook.
#[derive(Clone, Debug, Default)]
pub(in crate::judge) struct Chains {
    /// By chain and preference.
    filters: BTreeMap<(u32, u32), Chain>,
    /// Tables of `u32`: divisor, and true for the root of a preference.
    tables: BTreeMap<u32, (u32, bool)>,
    /// Handles of the filters of `u32`, of all preferences.
    nodes: BTreeSet<u32>,
}

impl Device {
    /// Returns the filters of a chain.
    fn chains(&mut self, parent: u32, at: Position) -> Result<&mut Chains, Refusal> {
        // A discipline with this handle has no hook beside it.
        let is_hook = parent >> 16 == 0xffff && parent != ROOT;
        if is_hook && (minor(parent) >= 0xfff2 || !self.qdiscs.contains_key(&0xffff)) {
            let kind = self.hook.as_deref().unwrap_or_default();
            let hook = match (kind, minor(parent)) {
                ("ingress", _) => 0xfff2,
                ("clsact", hook @ (0xfff2 | 0xfff3)) => hook,
                _ => {
                    return Err(kernel(at, "there is no `ingress` or `clsact` for this filter")
                        .help("add it before: `tc qdisc add dev DEV clsact`"));
                }
            };
            return Ok(self.hooks.entry(hook).or_default());
        }
        let key = if parent == 0 { self.root } else { Some(parent >> 16).filter(|_| parent != ROOT) };
        let Some(qdisc) = key.and_then(|key| self.qdiscs.get_mut(&key)) else {
            let message = if parent == 0 {
                "there is no discipline at the root".to_owned()
            } else {
                format!("a filter stands in `{}`, which is not a discipline", written(parent))
            };
            return Err(kernel(at, message).help("set the discipline up on a line before"));
        };
        if !TAKES.contains(&qdisc.kind.as_str()) {
            return Err(kernel(at, format!("a `{}` takes no filters", qdisc.kind)));
        }
        let class = minor(parent);
        if class == 0 {
            return Ok(&mut qdisc.chains);
        }
        if !qdisc.has_class(class) {
            return Err(kernel(at, format!("a filter stands in `{}`, which is not there", written(parent))));
        }
        if !["htb", "hfsc", "cbq"].contains(&qdisc.kind.as_str()) {
            return Err(kernel(at, format!("a filter in a class of `{}`", qdisc.kind))
                .help(format!("write it in `{}`", written(parent & 0xffff_0000))));
        }
        qdisc
            .classes
            .get_mut(&class)
            .map(|class| &mut class.chains)
            .ok_or_else(|| kernel(at, "no such class"))
    }

    /// Does a command on a filter.
    pub(in crate::judge) fn filter(&mut self, request: &Request) -> Result<(), Refusal> {
        let own = if request.parent == 0 { self.root.unwrap_or(0) } else { request.parent >> 16 };
        let is_bound = request.class.is_some_and(|class| {
            let id = class >> 16;
            let qdisc = self.qdiscs.get(&own).filter(|_| id == own || id == 0);
            qdisc.is_some_and(|qdisc| qdisc.classes.contains_key(&minor(class)))
        });
        let class = request.class.filter(|_| is_bound).map(|class| class & 0xffff);
        let chains = self.chains(request.parent, request.at)?;
        let freed = if request.verb == Verb::Delete {
            chains.delete(request)?
        } else {
            chains.set(request, class)?
        };
        let Some(qdisc) = self.qdiscs.get_mut(&own) else { return Ok(()) };
        for class in freed {
            if let Some(class) = qdisc.classes.get_mut(&minor(class)) {
                class.filters = class.filters.saturating_sub(1);
            }
        }
        if let Some(class) = class.and_then(|class| qdisc.classes.get_mut(&minor(class))) {
            class.filters += usize::from(request.verb != Verb::Delete);
        }
        Ok(())
    }
}

/// Disciplines that take filters.
const TAKES: [&str; 14] = [
    "htb", "hfsc", "cbq", "drr", "qfq", "prio", "multiq", "ets", "sfq", "fq_codel", "fq_pie", "cake", "sfb",
    "dualpi2",
];

/// Returns the number of a filter within its bucket; 0 for a table or a bucket.
fn node_of(handle: u32) -> u32 {
    handle & 0xfff
}

impl Chains {
    /// Adds, replaces or changes a filter; returns the classes to which filters that went led.
    fn set(&mut self, request: &Request, class: Option<u32>) -> Result<Vec<u32>, Refusal> {
        let at = request.kind.as_ref().map_or(request.at, |kind| kind.at);
        let protocol = request.protocol.unwrap_or(ALL);
        let creates = request.verb.creates();
        if request.preference == 0 && !creates {
            return Err(kernel(at, "a filter is changed by its `prio`"));
        }
        let key = (request.chain, self.rank(request));
        let kind = request.kind.as_ref().map_or("", |kind| kind.value.as_str());
        self.check_chain(key, kind, request, at)?;
        if kind.is_empty() {
            return Err(kernel(at, "a filter has a kind"));
        }
        let is_new = !self.filters.contains_key(&key);
        let found = self.existing(key, request);
        match (found, request.verb) {
            (Some(_), Verb::Add) => {
                return Err(kernel(at, "a filter of this handle is there already")
                    .help("write another handle, or `replace` instead of `add`"));
            }
            (None, verb) if !verb.creates() => {
                return Err(kernel(at, "there is no such filter to change").help("write `add` or `replace`"));
            }
            _ => {}
        }
        if let Some((at, message)) = &request.refused {
            return Err(kernel(*at, message.clone()));
        }
        let root = self.root_table(is_new, key);
        let added = self.added(key, request, found, root, at)?;
        let chain = self.filters.entry(key).or_insert_with(|| Chain {
            kind: kind.to_owned(),
            protocol,
            handles: BTreeMap::new(),
            table: root,
            mask: None,
            keys: Vec::new(),
        });
        if kind == "u32" && is_new {
            self.tables.insert(root, (1, true));
        }
        match (&request.detail, added) {
            (Detail::U32 { divisor, .. }, handle) if *divisor > 0 => {
                self.tables.insert(handle >> 20, (*divisor, false));
            }
            (Detail::Fw { mask }, _) => chain.mask = *mask,
            (Detail::Flower(keys), handle) => {
                chain.keys.retain(|(old, _)| *old != handle);
                chain.keys.push((handle, keys.clone()));
            }
            _ => {}
        }
        if matches!(request.detail, Detail::U32 { divisor: 0, .. }) {
            self.nodes.insert(added);
        }
        let old = chain.handles.insert(added, class);
        Ok(old.flatten().into_iter().collect())
    }

    /// Returns the preference of a filter: without its own, the one before all others.
    fn rank(&self, request: &Request) -> u32 {
        let least = self.filters.range((request.chain, 0)..=(request.chain, u32::MAX)).next();
        match request.preference {
            0 => least.map_or(FIRST, |((_, least), _)| least.saturating_sub(1)),
            rank => rank,
        }
    }

    /// Checks that the filters of a preference have the protocol and the kind of another one.
    fn check_chain(
        &self,
        key: (u32, u32),
        kind: &str,
        request: &Request,
        at: Position,
    ) -> Result<(), Refusal> {
        let (protocol, rank) = (request.protocol.unwrap_or(ALL), key.1);
        match self.filters.get(&key).filter(|_| request.preference > 0) {
            Some(chain) if chain.protocol != protocol => {
                let message =
                    format!("the filters of `prio {rank}` here are for another protocol: one `prio` has one");
                return Err(kernel(at, message).help("give the filter a `prio` of its own"));
            }
            Some(chain) if chain.kind != kind => {
                let message = format!(
                    "the filters of `prio {rank}` here are of kind `{}`: one `prio` has one",
                    chain.kind
                );
                return Err(kernel(at, message).help("give the filter a `prio` of its own"));
            }
            None if !request.verb.creates() => {
                return Err(kernel(at, "there is no such filter to change").help("write `add` or `replace`"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the handle of the root table that a preference has or gets.
    fn root_table(&self, is_new: bool, key: (u32, u32)) -> u32 {
        if let Some(chain) = self.filters.get(&key).filter(|_| !is_new) {
            return chain.table;
        }
        let last = self.tables.range(0x800..0x1000).next_back();
        last.map_or(0x800, |(table, _)| (table + 1).min(0xfff))
    }

    /// Returns the filter that a command names, if it is there.
    fn existing(&self, key: (u32, u32), request: &Request) -> Option<u32> {
        let chain = self.filters.get(&key)?;
        let mut handle = request.handle;
        if chain.kind == "u32" && handle != 0 {
            let table = handle >> 20;
            if node_of(handle) == 0 {
                let is_table = self.tables.contains_key(&table) || table == 0;
                return is_table.then_some(handle).filter(|_| table != 0);
            }
            if table == 0 || table == 0x800 {
                handle = chain.table << 20 | handle & 0xf_ffff;
            }
        }
        (handle != 0 && chain.handles.contains_key(&handle)).then_some(handle)
    }

    /// Returns the handle of the filter that is added or changed.
    fn added(
        &self,
        key: (u32, u32),
        request: &Request,
        found: Option<u32>,
        root: u32,
        at: Position,
    ) -> Result<u32, Refusal> {
        let chain = self.filters.get(&key);
        let last = || chain.and_then(|chain| chain.handles.last_key_value()).map_or(0, |(handle, _)| *handle);
        let free = || if request.handle > 0 { request.handle } else { last().saturating_add(1) };
        if let Some(found) = found {
            return Ok(found);
        }
        match (&request.detail, request.kind.as_ref().map_or("", |kind| kind.value.as_str())) {
            (Detail::U32 { divisor, table, link }, _) => {
                self.table_entry(request, (*divisor, *table, *link), root, at)
            }
            (Detail::Fw { mask }, _) => {
                if request.handle == 0 {
                    return Err(kernel(at, "a filter `fw` has the mark as its `handle`")
                        .help("write `handle MARK fw`"));
                }
                match chain {
                    Some(chain) if chain.mask != *mask => {
                        Err(kernel(at, "the filters `fw` of this `prio` have another mask"))
                    }
                    _ => Ok(request.handle),
                }
            }
            (Detail::Flower(keys), _) => {
                let same = chain.is_some_and(|chain| chain.keys.iter().any(|(_, old)| old == keys));
                if same {
                    return Err(kernel(
                        at,
                        "a filter `flower` of the same conditions and `prio` is there already",
                    ));
                }
                Ok(free())
            }
            (_, "matchall") if chain.is_some() => {
                Err(kernel(at, "`matchall` of this `prio` is there already")
                    .help("give the filter a `prio` of its own"))
            }
            _ => Ok(free()),
        }
    }

    fn table_entry(
        &self,
        request: &Request,
        (divisor, table, link): (u32, u32, u32),
        root: u32,
        at: Position,
    ) -> Result<u32, Refusal> {
        let handle = request.handle;
        if divisor > 0 {
            return self.new_table(handle, at);
        }
        let wanted = table >> 20;
        let mut key = root << 20;
        if table & 0xfff0_0000 != 0 {
            let is_root = wanted == root || wanted == 0x800 && self.tables.is_empty();
            match self.tables.get(&wanted) {
                None if is_root => {}
                None => {
                    return Err(kernel(at, format!("there is no hash table `{wanted:x}:`"))
                        .help(format!("create it with `handle {wanted:x}: ... u32 divisor 256`")));
                }
                Some((divisor, _)) if table >> 12 & 0xff >= (*divisor).max(1) && table >> 12 & 0xff > 0 => {
                    return Err(kernel(at, format!("the hash table `{wanted:x}:` has {divisor} buckets")));
                }
                Some(_) => {}
            }
            key = table & 0xffff_f000;
        }
        let node = handle & 0xfff;
        if handle != 0 {
            if handle >> 20 != 0 && handle >> 20 != key >> 20 {
                return Err(kernel(at, "the filter's handle is of another hash table than its `ht`"));
            }
            let whole = key | node;
            if node != 0 && self.nodes.contains(&whole) {
                return Err(kernel(at, "a filter of this handle is there already"));
            }
        }
        if link != 0 {
            match self.tables.get(&(link >> 20)) {
                None => {
                    return Err(kernel(at, format!("`link {:x}:` leads to no hash table", link >> 20))
                        .help(format!("create it with `handle {:x}: ... u32 divisor 256`", link >> 20)));
                }
                Some((_, true)) => return Err(kernel(at, "`link` leads to the root of a preference")),
                Some(_) => {}
            }
        }
        if node != 0 {
            return Ok(key | node);
        }
        let taken = self.nodes.range(key | 0x800..=key | 0xfff);
        let free = taken.clone().next_back().map_or(0x800, |last| node_of(*last) + 1);
        let is_free = |node: &u32| !self.nodes.contains(&(key | node));
        let free = if free < 0x1000 { free } else { (0x800..0x1000).find(is_free).unwrap_or(0xfff) };
        Ok(key | free)
    }

    /// Returns the handle of a new hash table.
    fn new_table(&self, handle: u32, at: Position) -> Result<u32, Refusal> {
        if handle & 0xf_ffff != 0 {
            return Err(kernel(at, "`divisor` makes a table, whose handle is as `2:`"));
        }
        match handle >> 20 {
            0 => {
                let free = (1..0x800).rev().find(|table| !self.tables.contains_key(table)).unwrap_or(1);
                Ok(free << 20)
            }
            own if self.tables.contains_key(&own) => {
                Err(kernel(at, format!("the hash table `{own:x}:` is there already")))
            }
            own => Ok(own << 20),
        }
    }

    /// Deletes filters; returns the classes that they led to.
    fn delete(&mut self, request: &Request) -> Result<Vec<u32>, Refusal> {
        let at = request.at;
        if request.preference == 0 {
            if request.protocol.is_some() || request.handle != 0 || request.kind.is_some() {
                return Err(kernel(at, "filters are deleted by their `prio`, or all at once"));
            }
            let all = core::mem::take(&mut self.filters);
            self.tables.clear();
            self.nodes.clear();
            return Ok(all.into_values().flat_map(|chain| chain.handles.into_values().flatten()).collect());
        }
        let key = (request.chain, request.preference);
        let Some(chain) = self.filters.get(&key) else { return Err(kernel(at, NOTHING)) };
        if request.protocol.is_some_and(|protocol| protocol != chain.protocol) {
            return Err(kernel(at, "the filters of this `prio` are for another protocol"));
        }
        if request.kind.as_ref().is_some_and(|kind| kind.value != chain.kind) {
            return Err(kernel(at, format!("the filters of this `prio` are of kind `{}`", chain.kind)));
        }
        if request.handle == 0 {
            let chain = self.filters.remove(&key);
            let Some(chain) = chain else { return Ok(Vec::new()) };
            self.tables.remove(&chain.table);
            if chain.kind == "u32" {
                self.nodes.retain(|node| !chain.handles.contains_key(node));
            }
            if !self.filters.values().any(|chain| chain.kind == "u32") {
                self.tables.clear();
            }
            return Ok(chain.handles.into_values().flatten().collect());
        }
        let found = self.existing(key, request);
        let Some(found) = found else { return Err(kernel(at, NOTHING)) };
        if chain.kind == "u32" && node_of(found) == 0 {
            let table = found >> 20;
            let is_used = self
                .filters
                .values()
                .any(|chain| chain.handles.keys().any(|handle| handle >> 20 == table && handle & 0xfff != 0));
            if is_used || table >= 0x800 {
                return Err(kernel(at, "the hash table is in use"));
            }
            self.tables.remove(&table);
        }
        let Some(chain) = self.filters.get_mut(&key) else { return Ok(Vec::new()) };
        let class = chain.handles.remove(&found).flatten();
        self.nodes.remove(&found);
        chain.keys.retain(|(handle, _)| *handle != found);
        if chain.handles.is_empty() && chain.kind != "u32" {
            self.filters.remove(&key);
        }
        Ok(class.into_iter().collect())
    }
}
