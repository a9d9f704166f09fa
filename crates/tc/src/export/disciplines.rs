//! Disciplines below their parents, and all below them.

use lockgate_scenario::tree::Queue;

use super::{Writer, filters, settings};
use crate::handle::Handle;
use crate::language::Kind;
use crate::syntax::Stab;

/// Returns a parameter's text.
fn text<'a>(queue: &'a Queue, name: &str) -> Option<&'a str> {
    queue.config.get(name).and_then(toml::Value::as_str)
}

/// Returns the kind of `tc` for a queue.
///
/// # Errors
/// Returns why Linux has none.
fn kind_of(queue: &Queue) -> Result<Kind, String> {
    if queue.kind != "fifo" {
        let kind = Kind::of(queue.kind).filter(|kind| !kind.is_of_device());
        return kind.ok_or_else(|| format!("Linux has no discipline `{}`", queue.kind));
    }
    let is_bytes = text(queue, "limit").is_some_and(|limit| !limit.ends_with('p'));
    match (is_bytes, text(queue, "overflow") == Some("head")) {
        (true, true) => Err("Linux drops the oldest packet of FIFOs by packets only".to_owned()),
        (true, false) => Ok(Kind::Bfifo),
        (false, true) => Ok(Kind::PfifoHeadDrop),
        (false, false) => Ok(Kind::Pfifo),
    }
}

impl<'a> Writer<'a> {
    /// Adds a discipline below its parent, and all below it.
    pub(super) fn qdisc(&mut self, queue: &'a Queue, parent: Option<Handle>, stab: Option<Stab>) {
        if let Some(shaped) = self.direct(queue) {
            return self.qdisc(shaped, parent, stab);
        }
        if let ("policer", Some(class)) = (queue.kind, parent) {
            return self.metered(queue, class);
        }
        let kind = match kind_of(queue) {
            Ok(kind) => self.divided(queue, kind, parent),
            Err(why) => return self.refuse(format!("queue `{}`: {why}", queue.name)),
        };
        self.kinds.insert(kind);
        let handle = self.handle(parent);
        let children = self.children(queue);
        let is_framed = self.is_framed && parent.is_none();
        let (words, refused) = settings::of_qdisc(queue, kind, children.len(), is_framed);
        self.refuse_all(refused);
        let Some(mut words) = words else { return };
        if self.device.ifb.is_some() && words.iter().any(|word| word == "fwmark") {
            self.refuse(format!(
                "queue `{}`: `fwmark` of what arrives, which comes to the queues before a firewall has marked it",
                queue.name
            ));
        }
        words.extend(self.classification(queue, kind, handle, &children));
        let parent_words = parent.map_or_else(|| "root".to_owned(), |parent| format!("parent {parent}"));
        let table = stab.map_or_else(String::new, |stab| format!("{stab} "));
        let words: String = words.iter().flat_map(|word| [" ", word]).collect();
        // It has a discipline for each transmit queue, and takes no handle.
        let handle_of = if kind == Kind::CakeMq { String::new() } else { format!(" handle {handle}") };
        self.line(format!("tc qdisc add dev {} {parent_words}{handle_of} {table}{kind}{words}", self.name));
        self.below(queue, kind, handle);
    }

    /// Returns the kind of a discipline on a device whose transmit queues have one each.
    fn divided(&mut self, queue: &Queue, kind: Kind, parent: Option<Handle>) -> Kind {
        match (self.device.has_queues && parent.is_none(), kind) {
            (true, Kind::Cake) => Kind::CakeMq,
            (true, _) => {
                self.refuse(format!(
                    "queue `{}`: only a `cake` at the root is divided among transmit queues, not `{kind}`",
                    queue.name
                ));
                kind
            }
            (false, _) => kind,
        }
    }

    /// Returns a free handle for the discipline in a class, near to that of the class.
    fn handle(&mut self, parent: Option<Handle>) -> Handle {
        let wanted = match parent {
            None => 1,
            Some(parent) if parent.minor > 1 => parent.minor.min(0xff00),
            Some(parent) => 16 * parent.major.min(0xfff),
        };
        Handle { major: self.major(wanted), minor: 0 }
    }

    /// Returns a free number of a discipline, `wanted` if it is free.
    pub(super) fn major(&mut self, wanted: u16) -> u16 {
        let free = (wanted..0xfff0).chain(1..wanted).find(|major| !self.majors.contains(major));
        let major = free.unwrap_or(0xfff0);
        self.majors.insert(major);
        major
    }

    /// Adds what stands below a discipline: classes, bands, or one discipline.
    fn below(&mut self, queue: &'a Queue, kind: Kind, handle: Handle) {
        let children = self.children(queue);
        let owner = self.owner.replace(queue);
        if kind.has_explicit_classes() {
            let ids = self.class_ids(queue, handle);
            self.classes(queue, handle, kind, &ids);
            self.filters_of(queue, handle, kind, &ids);
            self.share_meters(handle);
        } else if matches!(kind, Kind::Prio | Kind::Ets) {
            self.bands(queue, kind, handle, &children);
        } else if let Some(child) = children.first() {
            self.qdisc(child, Some(Handle { minor: 1, ..handle }), None);
        }
        self.owner = owner;
    }

    /// Returns the `htb` of a `prio` whose first band takes what no filter of it takes: `htb` without
    /// `default`.
    fn direct(&self, queue: &Queue) -> Option<&'a Queue> {
        let children = self.children(queue);
        let [direct, shaped] = children.as_slice() else { return None };
        let is_all = |queue: &Queue| matches!(queue.rules.as_slice(), [rule] if filters::is_everything(rule));
        let is_direct =
            queue.kind == "prio" && direct.kind == "fifo" && is_all(direct) && shaped.kind == "htb";
        let limit = direct.config.get("limit").and_then(toml::Value::as_str);
        (is_direct && limit == Some("1000p") && !shaped.rules.is_empty()).then_some(*shaped)
    }

    /// Returns true for an `htb` that stands in [`direct`](Self::direct).
    pub(super) fn is_without_rest(&self, queue: &Queue) -> bool {
        self.tree
            .queues()
            .iter()
            .any(|parent| self.direct(parent).is_some_and(|shaped| shaped.name == queue.name))
    }
}
