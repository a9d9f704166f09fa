//! Disciplines and classes of a device, and what the kernel does with commands on them.

pub(super) mod chains;

use std::collections::BTreeMap;

use super::options::Values;
use super::{Effect, Refusal, Request, Verb, kernel, limits};
use crate::handle::Handle;
use crate::language::{Attachment, Classes, Language};
use crate::position::{Located, Position};

use chains::Chains;

/// Parent of the root discipline.
pub(super) const ROOT: u32 = u32::MAX;

/// Parent of the hook of what arrives.
pub(super) const INGRESS: u32 = 0xffff_fff1;

/// Handle of the hooks.
pub(super) const HOOK: u32 = 0xffff_0000;

/// First key of disciplines to which the kernel gives a handle: no command can name them.
const UNNAMED: u32 = 1 << 16;

/// Kinds with a class for each transmit queue of the device.
const OF_QUEUES: [&str; 2] = ["mq", "multiq"];

/// Depth of a tree of `htb`.
const HTB_DEPTH: usize = 8;

/// Queueing discipline.
#[derive(Clone, Debug, Default)]
pub(super) struct Qdisc {
    pub kind: String,
    /// Discipline and class above; `None` at the root.
    parent: Option<(u32, u16)>,
    /// Classes that commands made.
    pub classes: BTreeMap<u16, Class>,
    /// Disciplines below, by the class.
    below: BTreeMap<u16, u32>,
    /// Number of bands; of transmit queues, if it is known.
    bands: Option<u16>,
    /// True for a `netem` that sends packets twice.
    duplicates: bool,
    /// Filters of the discipline.
    pub chains: Chains,
}

/// Class that a command made.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    /// Class above; `None` below the discipline.
    parent: Option<u16>,
    /// Filters of the class.
    pub chains: Chains,
    /// Filters that lead to it.
    pub filters: usize,
}

/// A device.
#[derive(Clone, Debug, Default)]
pub(super) struct Device {
    pub qdiscs: BTreeMap<u32, Qdisc>,
    pub root: Option<u32>,
    /// Number of transmit queues; `None` if the script does not make the device.
    pub queues: Option<u16>,
    /// `ingress` or `clsact`.
    pub hook: Option<String>,
    /// Filters of the hooks, by minor number.
    pub hooks: BTreeMap<u16, Chains>,
    unnamed: u32,
    /// True once a command has set something up.
    is_touched: bool,
    /// Effects of the last command besides what it says.
    pub effects: Vec<Effect>,
}

fn major(id: u32) -> u32 {
    id >> 16
}

pub(super) fn minor(id: u32) -> u16 {
    (id & 0xffff) as u16
}

/// Returns a handle as commands write it.
pub(super) fn written(id: u32) -> String {
    match minor(id) {
        0 => format!("{:x}:", major(id)),
        minor => format!("{:x}:{minor:x}", major(id)),
    }
}

impl Qdisc {
    fn kind_of_classes(&self) -> Classes {
        Language::of(&self.kind).map_or(Classes::None, |language| language.classes)
    }

    /// Returns true if its classes are made by commands.
    pub(super) fn has_own_classes(&self) -> bool {
        self.kind_of_classes() == Classes::ByCommands
    }

    /// Returns true if it has a class of this number.
    pub(super) fn has_class(&self, minor: u16) -> bool {
        match self.kind_of_classes() {
            // The root class of `hfsc` is the discipline itself.
            Classes::ByCommands => self.classes.contains_key(&minor) || minor == 0 && self.kind == "hfsc",
            Classes::Bands | Classes::Any => (1..=self.bands.unwrap_or(u16::MAX)).contains(&minor),
            Classes::UpTo(most) => (1..=most).contains(&minor),
            Classes::One => true,
            Classes::None => false,
        }
    }

    /// Returns true if the class has others below it.
    fn is_inner(&self, minor: u16) -> bool {
        self.classes.values().any(|class| class.parent == Some(minor))
            || minor == 0 && self.kind == "hfsc" && !self.classes.is_empty()
    }

    /// Returns the key under which the discipline below a class is kept.
    fn position(&self, minor: u16) -> u16 {
        if self.kind_of_classes() == Classes::One { 1 } else { minor }
    }

    fn depth(&self, minor: u16) -> usize {
        let mut depth = 1;
        let mut at = minor;
        while let Some(parent) = self.classes.get(&at).and_then(|class| class.parent) {
            depth += 1;
            at = parent;
            if depth > self.classes.len() {
                break;
            }
        }
        depth
    }
}

impl Device {
    pub(super) fn is_untouched(&self) -> bool {
        !self.is_touched
    }

    fn find(&self, id: u32) -> Option<u32> {
        Some(major(id)).filter(|key| self.qdiscs.contains_key(key))
    }

    /// Returns the discipline below a parent, if a command made it.
    fn at_place(&self, parent: u32, at: Position) -> Result<Option<u32>, Refusal> {
        if parent == ROOT {
            return Ok(self.root);
        }
        let owner = self.find(parent).ok_or_else(|| {
            kernel(at, format!("there is no discipline `{}`", written(parent & HOOK))).help(format!(
                "set it up on a line before: `tc qdisc add ... handle {} ...`",
                written(parent & HOOK)
            ))
        })?;
        let owner = &self.qdiscs[&owner];
        Ok(owner.below.get(&owner.position(minor(parent))).copied())
    }

    /// Adds, replaces or changes a discipline.
    pub(super) fn qdisc(&mut self, request: &Request) -> Result<(), Refusal> {
        self.effects.clear();
        let Request { verb, at, parent, handle, kind, .. } = request;
        let is_hook = *parent == INGRESS;
        if is_hook {
            return self.hook(request);
        }
        let position = if let Some(kind) = kind { kind.at } else { *at };
        let found = if *parent == 0 {
            if *handle == 0 {
                return Err(kernel(position, "a discipline is at the `root`, or has a `parent`"));
            }
            self.find(*handle)
        } else {
            let there = self.at_place(*parent, *at)?;
            let is_it = |there: u32| *handle == 0 || there == major(*handle);
            match there {
                Some(there) if is_it(there) => {
                    let differs = kind.as_ref().is_some_and(|kind| kind.value != self.qdiscs[&there].kind);
                    // Another kind takes the place of the old one, whatever the verb.
                    if *handle == 0 && differs && *verb != Verb::Link {
                        return self.create(request, true);
                    }
                    Some(there)
                }
                there => {
                    if there.is_some() && !matches!(verb, Verb::Replace | Verb::Link) {
                        return Err(kernel(position, "another discipline is at this place")
                            .help("delete it first, or write `replace` instead of `add`"));
                    }
                    match self.find(*handle).filter(|_| *handle != 0) {
                        None => return self.create(request, false),
                        Some(_) if *verb == Verb::Add => {
                            return Err(kernel(
                                position,
                                format!("the handle `{}` is another discipline's", written(*handle)),
                            )
                            .help("write another number before the colon"));
                        }
                        Some(_) => {
                            return Err(kernel(
                                position,
                                format!(
                                    "the discipline `{}` stands elsewhere, and cannot move",
                                    written(*handle)
                                ),
                            ));
                        }
                    }
                }
            }
        };
        match found {
            Some(key) => self.change_qdisc(key, request, position),
            None => Err(kernel(position, "there is no such discipline to change")),
        }
    }

    fn change_qdisc(&mut self, key: u32, request: &Request, position: Position) -> Result<(), Refusal> {
        let Request { verb, kind, .. } = request;
        if *verb == Verb::Add {
            return Err(kernel(position, "a discipline is there already")
                .help("delete it first, or write `replace` instead of `add`"));
        }
        let old = &self.qdiscs[&key];
        if kind.as_ref().is_some_and(|kind| kind.value != old.kind) {
            return Err(kernel(position, format!("the discipline there is a `{}`", old.kind))
                .help("the kind of a discipline cannot change: give the new one another handle"));
        }
        // Of a plain `sfq`, `tc` sends no settings: nothing changes.
        let is_plain = old.kind == "sfq" && request.values.is_empty();
        if kind.is_some() && !is_plain && Language::of(&old.kind).is_some_and(|language| language.is_fixed) {
            return Err(kernel(position, format!("a `{}` cannot be changed once it is there", old.kind))
                .help("delete it first: `tc qdisc del dev DEV root`"));
        }
        limits::check(request, false, true)?;
        let bands = limits::bands(request);
        if let Some(qdisc) = self.qdiscs.get_mut(&key).filter(|_| bands > 0) {
            qdisc.bands = Some(bands);
            let gone: Vec<u32> = qdisc.below.split_off(&(bands + 1)).into_values().collect();
            for key in gone {
                self.forget(key);
            }
        }
        Ok(())
    }

    fn create(&mut self, request: &Request, is_instead: bool) -> Result<(), Refusal> {
        let Request { verb, at, parent, handle, kind, .. } = request;
        let Some(kind) = kind else { return Err(kernel(*at, "a discipline has a kind")) };
        if kind.as_str() == "help" {
            return Ok(());
        }
        if !verb.creates() && !is_instead {
            return Err(kernel(kind.at, "there is no discipline to change").help("write `add` or `replace`"));
        }
        let Some(language) = Language::of(kind).filter(|language| language.is_in_kernel()) else {
            let refusal = kernel(kind.at, format!("kind `{}` is not known", kind.value));
            return Err(refusal.maybe(Located::new(kind.as_str(), kind.at)));
        };
        let is_below = *parent != ROOT;
        if is_below && language.attachment == Attachment::Root {
            return Err(kernel(kind.at, format!("`{}` stands at the root only", kind.value)));
        }
        if language.attachment == Attachment::Hook {
            return Err(kernel(kind.at, format!("`{}` is a hook, not a queue", kind.value)));
        }
        if let Some(at) = request.stab.filter(|_| is_below) {
            return Err(kernel(at, "a `stab` stands at the root only"));
        }
        limits::check(request, false, false)?;
        let duplicates = self.check_device(kind, request)?;
        if let Some(offload) = Some(request.values.at("offload", kind.at))
            .filter(|_| kind.as_str() == "htb" && is_below && request.values.has("offload"))
        {
            return Err(kernel(offload, "`offload` of `htb` needs the root"));
        }
        if is_below {
            self.check_parent(*parent, kind.at)?;
        }
        if *handle == HOOK && self.hook.is_some() {
            return Err(
                kernel(kind.at, "the handle `ffff:` is that of the hook").help("write another number")
            );
        }
        let key = if *handle == 0 {
            self.unnamed += 1;
            UNNAMED + self.unnamed
        } else {
            major(*handle)
        };
        let has_queues = OF_QUEUES.contains(&kind.as_str());
        let bands = match (limits::bands(request), language.classes) {
            (0, Classes::Bands) => Some(3),
            (0, _) => self.queues.filter(|_| has_queues),
            (bands, _) => Some(bands),
        };
        if is_instead {
            self.effects.push(Effect::Replaced);
        }
        let qdisc = Qdisc { kind: kind.value.clone(), bands, duplicates, ..Qdisc::default() };
        self.is_touched = true;
        self.qdiscs.insert(key, qdisc);
        self.graft(key, request)
    }

    /// Checks what a new discipline needs of its device; returns true for a `netem` that sends packets twice.
    fn check_device(&self, kind: &Located<String>, request: &Request) -> Result<bool, Refusal> {
        if OF_QUEUES.contains(&kind.as_str()) && self.queues == Some(1) {
            let message = format!("the device has one transmit queue, and `{}` needs several", kind.value);
            return Err(kernel(kind.at, message)
                .help("make it with more, by `ip link add NAME numtxqueues NUMBER type ...`"));
        }
        let duplicates =
            kind.as_str() == "netem" && request.values.get("duplicate").is_some_and(|share| share > 0.0);
        let mut others = self.qdiscs.values().filter(|other| other.kind == "netem");
        if kind.as_str() == "netem" && others.any(|other| duplicates || other.duplicates) {
            return Err(kernel(kind.at, "a `netem` with `duplicate` stands beside no other `netem`"));
        }
        Ok(duplicates)
    }

    /// Checks that a discipline may stand in a class.
    fn check_parent(&self, parent: u32, at: Position) -> Result<(), Refusal> {
        let Some(owner) = self.find(parent).map(|key| &self.qdiscs[&key]) else { return Ok(()) };
        if !owner.has_class(minor(parent)) {
            let message = if owner.has_own_classes() {
                format!("the class `{}` is not there", written(parent))
            } else {
                format!("the `{}` has no class `{}`", owner.kind, written(parent))
            };
            return Err(kernel(at, message));
        }
        if owner.has_own_classes() && owner.is_inner(minor(parent)) {
            return Err(kernel(
                at,
                format!("the class `{}` has classes below it, and no queue", written(parent)),
            )
            .help("put the discipline into one of the classes below"));
        }
        Ok(())
    }

    /// Puts a discipline below its parent; what was there is gone.
    fn graft(&mut self, key: u32, request: &Request) -> Result<(), Refusal> {
        let position = if request.parent == ROOT {
            None
        } else {
            self.check_parent(request.parent, request.at)?;
            self.find(request.parent)
                .map(|owner| (owner, self.qdiscs[&owner].position(minor(request.parent))))
        };
        let old = match position {
            None => self.root.replace(key),
            Some((owner, minor)) => {
                self.qdiscs.get_mut(&owner).and_then(|owner| owner.below.insert(minor, key))
            }
        };
        if let Some(old) = old.filter(|old| *old != key) {
            self.forget(old);
        }
        if let Some(qdisc) = self.qdiscs.get_mut(&key) {
            qdisc.parent = position;
        }
        Ok(())
    }

    /// Forgets a discipline and all below it.
    fn forget(&mut self, key: u32) {
        let Some(qdisc) = self.qdiscs.remove(&key) else { return };
        for below in qdisc.below.into_values() {
            self.forget(below);
        }
    }

    fn hook(&mut self, request: &Request) -> Result<(), Refusal> {
        let position = request.kind.as_ref().map_or(request.at, |kind| kind.at);
        let kind = request.kind.as_ref().map_or("", |kind| kind.value.as_str());
        match (&self.hook, request.verb) {
            (Some(there), Verb::Add) => {
                let message = format!("a `{there}` is there already");
                Err(kernel(position, message).help("delete it first, or leave the line out"))
            }
            (Some(there), _) if there == kind => Ok(()),
            (Some(there), _) => {
                Err(kernel(position, format!("a `{there}` is there already")).help("delete it first"))
            }
            (None, verb) if verb.creates() && self.qdiscs.contains_key(&major(HOOK)) => {
                Err(kernel(position, "another discipline has the handle `ffff:` of this hook")
                    .help("give that one another handle, such as `1:`"))
            }
            (None, verb) if verb.creates() && ["ingress", "clsact"].contains(&kind) => {
                self.hook = Some(kind.to_owned());
                self.is_touched = true;
                Ok(())
            }
            (None, verb) if verb.creates() => Err(kernel(position, format!("`{kind}` is no hook"))),
            _ => Err(kernel(position, "there is no discipline to change")),
        }
    }

    /// Deletes a discipline.
    pub(super) fn delete_qdisc(&mut self, request: &Request) -> Result<(), Refusal> {
        let Request { at, parent, handle, kind, .. } = request;
        if *parent == INGRESS {
            let found = self.hook.as_deref();
            let differs = |there: &str| kind.as_ref().is_some_and(|kind| kind.value != there);
            if found.is_none_or(differs) {
                return Err(kernel(*at, NOTHING));
            }
            self.hook = None;
            self.hooks.clear();
            return Ok(());
        }
        let key = if *parent == 0 { self.find(*handle) } else { self.at_place(*parent, *at)? };
        let Some(key) = key else { return Err(kernel(*at, NOTHING)) };
        if *handle != 0 && key != major(*handle) {
            return Err(kernel(
                *at,
                format!("the discipline there has not the handle `{}`", written(*handle)),
            ));
        }
        if kind.as_ref().is_some_and(|kind| kind.value != self.qdiscs[&key].kind) {
            return Err(kernel(*at, format!("the discipline there is a `{}`", self.qdiscs[&key].kind)));
        }
        if *parent == 0 {
            return Err(kernel(
                *at,
                "a discipline is deleted by its `root` or `parent`, not by its handle alone",
            ));
        }
        match self.qdiscs[&key].parent {
            None => self.root = None,
            Some((owner, minor)) => {
                self.qdiscs.get_mut(&owner).and_then(|owner| owner.below.remove(&minor));
            }
        }
        self.forget(key);
        Ok(())
    }

    /// Does a command on a class.
    pub(super) fn class(&mut self, request: &Request) -> Result<(), Refusal> {
        let Request { verb, at, parent, handle, kind, .. } = request;
        let position = kind.as_ref().map_or(*at, |kind| kind.at);
        let own = major(*handle);
        let of = if *parent == ROOT { 0 } else { major(*parent) };
        if own != 0 && of != 0 && own != of {
            return Err(kernel(position, "class and parent are of two disciplines")
                .help("a class has the number before the colon of its parent"));
        }
        let owner = match [own, of].into_iter().find(|major| *major != 0) {
            Some(major) => Some(major),
            None => self.root,
        };
        let Some(key) = owner.filter(|key| self.qdiscs.contains_key(key)) else {
            let what = owner.map_or_else(|| "of this class".to_owned(), |key| format!("`{key:x}:`"));
            return Err(
                kernel(position, format!("there is no discipline {what}")).help("set it up on a line before")
            );
        };
        let id = minor(*handle);
        let up = if *parent == ROOT { None } else { Some(minor(*parent)) };
        let qdisc = &self.qdiscs[&key];
        let is_there = qdisc.has_class(id) && (*handle != 0 || qdisc.kind == "hfsc");
        if *verb == Verb::Delete {
            return self.delete_class(key, id, is_there, *at);
        }
        match (is_there, verb) {
            (true, Verb::Add) => {
                return Err(kernel(position, format!("the class `{}` is there already", written(*handle)))
                    .help("write another number, or `replace` instead of `add`"));
            }
            (false, verb) if !verb.creates() => {
                return Err(
                    kernel(position, "there is no such class to change").help("write `add` or `replace`")
                );
            }
            _ => {}
        }
        if *handle == 0 && !is_there && qdisc.kind == "htb" {
            return Err(kernel(position, "a class has a `classid`"));
        }
        // Bands of `ets` are there with it, and have a quantum that can change.
        if !(qdisc.has_own_classes() || qdisc.kind == "ets" && is_there) {
            return Err(kernel(
                position,
                format!("the discipline is a `{}`: its classes are not set by commands", qdisc.kind),
            ));
        }
        let Some(kind) = kind else { return Err(kernel(position, "a class has a kind")) };
        if kind.value != qdisc.kind && !fits(&qdisc.kind, kind, &request.values) {
            return Err(kernel(
                kind.at,
                format!("the discipline is a `{}`, not a `{}`", qdisc.kind, kind.value),
            ));
        }
        limits::check(request, true, is_there)?;
        if is_there {
            self.change_class(key, id, up, position)
        } else {
            self.add_class(key, id, up, position)
        }
    }

    fn change_class(&self, key: u32, id: u16, up: Option<u16>, at: Position) -> Result<(), Refusal> {
        let qdisc = &self.qdiscs[&key];
        let old = qdisc.classes.get(&id).and_then(|class| class.parent).unwrap_or(0);
        if qdisc.kind == "hfsc" && up.is_some_and(|up| up != old) {
            return Err(kernel(at, "a class of `hfsc` keeps its parent"));
        }
        Ok(())
    }

    fn add_class(&mut self, key: u32, id: u16, up: Option<u16>, at: Position) -> Result<(), Refusal> {
        let qdisc = &self.qdiscs[&key];
        let is_tree = qdisc.kind == "htb" || qdisc.kind == "hfsc";
        // A parent that is not there: `htb` makes the class at its root.
        let parent = up.filter(|up| *up != 0 && is_tree && qdisc.classes.contains_key(up));
        match (qdisc.kind.as_str(), up) {
            ("hfsc", Some(up)) if up != 0 && parent.is_none() => {
                return Err(kernel(
                    at,
                    format!("the parent `{}` is not there", written(key << 16 | u32::from(up))),
                ));
            }
            ("hfsc", None) => {
                return Err(kernel(at, "a class of `hfsc` has a parent, and `root` is none")
                    .help(format!("write `parent {:x}:`", key & 0xffff)));
            }
            ("htb", _) if parent.is_some_and(|parent| qdisc.depth(parent) >= HTB_DEPTH) => {
                return Err(kernel(at, format!("the tree of `htb` has at most {HTB_DEPTH} levels")));
            }
            _ => {}
        }
        let Some(qdisc) = self.qdiscs.get_mut(&key) else { return Ok(()) };
        qdisc.classes.insert(id, Class { parent, ..Class::default() });
        // The queue of a class goes when it gets classes below it.
        let gone = parent.and_then(|parent| qdisc.below.remove(&parent));
        let handle = |minor: u16| Handle { major: (key & 0xffff) as u16, minor };
        if let Some(gone) = gone {
            self.forget(gone);
            self.effects.push(Effect::LeafGone(handle(parent.unwrap_or(0))));
        }
        if let Some(up) = up.filter(|up| *up != 0 && is_tree && parent.is_none()) {
            self.effects.push(Effect::AtRoot(handle(up)));
        }
        Ok(())
    }

    fn delete_class(&mut self, key: u32, id: u16, is_there: bool, at: Position) -> Result<(), Refusal> {
        let qdisc = &self.qdiscs[&key];
        if !is_there {
            return Err(kernel(at, NOTHING));
        }
        if !qdisc.has_own_classes() {
            return Err(kernel(at, format!("classes of `{}` are not deleted by commands", qdisc.kind)));
        }
        if qdisc.is_inner(id) || id == 0 {
            return Err(kernel(at, "the class has classes below it").help("delete those first"));
        }
        if qdisc.classes.get(&id).is_some_and(|class| class.filters > 0) {
            return Err(kernel(at, "filters lead to the class").help("delete the filters first"));
        }
        let Some(qdisc) = self.qdiscs.get_mut(&key) else { return Ok(()) };
        qdisc.classes.remove(&id);
        if let Some(gone) = qdisc.below.remove(&id) {
            self.forget(gone);
        }
        Ok(())
    }
}

/// Returns true if the kernel reads words of a class of another kind as its own: it does not compare kinds.
fn fits(own: &str, other: &str, values: &Values) -> bool {
    let value = |name| values.get(name).unwrap_or(0.0);
    match (own, other) {
        ("drr", _) | ("hfsc", "htb") | ("qfq", "ets") => true,
        // The quantum is read as the weight.
        ("qfq", "drr") => !values.has("quantum") || (1.0..=1024.0).contains(&value("quantum")),
        // The weight is what begins the description of the rate: step of its table, link layer, overhead.
        ("qfq", "htb") => value("overhead") == 0.0,
        _ => false,
    }
}

/// Reason why a deletion is refused.
pub(crate) const NOTHING: &str = "there is nothing like that to delete";
