//! Classes and bands, their queues and their shares.

use lockgate_scenario::reference::reference;

use super::order::{leaves, sort_by_filter};
use super::{Builder, DEEPEST, DEVICE_QUEUE, Owner, Queue, fifo, name_of, names, value};
use crate::handle::Handle;
use crate::import::classification::Classification;
use crate::import::conditions::{Headers, Rule};
use crate::import::settings::translate;
use crate::language::Kind;
use crate::problem::Problem;
use crate::syntax::{Class, Police, Setting};
use crate::value::Value;

/// Protocol number that no packet has (RFC 1700).
const RESERVED: u8 = 255;

/// Returns a queue behind a meter.
fn metered(queue: Queue, police: &Police) -> Queue {
    let name = queue.name.clone();
    let mut parameters = vec![
        ("rate", Value::Rate(police.rate)),
        ("burst", Value::Size(police.burst)),
        ("red", Value::Choice(police.exceed.verdict())),
    ];
    if let Some(peak) = police.peak_rate {
        let burst = Value::Size(police.mtu);
        parameters.extend([
            ("peakrate", Value::Rate(peak)),
            ("peakburst", burst),
            ("yellow", Value::Choice("drop")),
        ]);
    } else if police.mtu.0 > 0 {
        parameters.push(("mtu", Value::Size(police.mtu)));
    }
    let known = reference("policer").map_or_else(Vec::new, |reference| names(&reference.parameters));
    let rules = queue.rules.clone();
    let inner = Queue { name: format!("{name}-queue"), rules: Vec::new(), ..queue };
    Queue { name, kind: "policer", known, parameters, children: vec![inner], rules, ..Queue::default() }
}

/// Returns the queue of a class with others below it.
fn inner_class(id: Handle, children: Vec<Queue>) -> Queue {
    let takes_rest = children.iter().any(|child| child.rules.is_empty());
    let rules = if takes_rest {
        // Its rest is the rest of the discipline.
        Vec::new()
    } else {
        children.iter().flat_map(|child| child.rules.iter().cloned()).collect()
    };
    Queue { name: name_of("class", &id.to_string()), kind: "class", children, rules, ..Queue::default() }
}

impl Builder<'_> {
    /// Returns the queue of a class: the discipline attached to it, or the default one.
    fn leaf(
        &mut self,
        class: Handle,
        owner: &Owner<'_>,
        classification: &Classification,
    ) -> Result<Queue, Problem> {
        let name = name_of("class", &class.to_string());
        let attached = self.objects.attached(class);
        let lines = self.lines.len();
        let below = attached.and_then(|qdisc| self.below_netem(qdisc));
        let mut queue = match (attached, below) {
            (_, Some(qdisc)) => self.qdisc(qdisc, name, owner.depth + 1, &classification.flows(class))?,
            (Some(netem), None) => fifo(name, Self::netem_limit(netem)),
            (None, None) => fifo(name, DEVICE_QUEUE),
        };
        let leaf = classification.leaf(class);
        self.plain_leaves += usize::from(self.lines.len() == lines);
        queue.rules = if self.objects.is_general {
            leaf.plain_rules().map_err(|why| self.at_filter(class, &why))?
        } else {
            leaf.rules()
        };
        if self.objects.is_general && queue.rules.is_empty() && !leaf.is_rest() {
            queue.rules = vec![Rule { protocol: Some(RESERVED), ..Rule::default() }];
        }
        if let Some(police) = classification.police_of(class).filter(|_| reference("policer").is_some()) {
            queue = metered(queue, &police);
        }
        queue.leaf = Some(leaf);
        queue.class = Some(class);
        Ok(queue)
    }

    /// Returns the bands of `prio` and `ets`, the first with the highest priority.
    pub(super) fn bands(&mut self, owner: &Owner<'_>, flows: &[&Headers]) -> Result<Vec<Queue>, Problem> {
        let (objects, handle) = (self.objects, owner.handle);
        let classification = Classification::of_bands(objects, handle, owner.qdisc, flows)?;
        let classes = classification.classes();
        let mut bands = Vec::new();
        for (index, class) in classes.iter().copied().enumerate() {
            let mut queue = self.leaf(class, owner, &classification)?;
            if queue.rules.is_empty() && index + 1 < classes.len() {
                // This rule matches nothing; without a rule the band would take the rest.
                queue.rules = vec![Rule { protocol: Some(RESERVED), ..Rule::default() }];
            }
            for own in objects.classes.iter().filter(|own| *own.id == class) {
                self.set_share(&mut queue, owner, own)?;
            }
            bands.push(queue);
        }
        let classes = objects.classes.iter().map(|class| class.id);
        let parents = objects.qdiscs.iter().filter_map(|qdisc| qdisc.parent);
        let is_absent = |parent: Handle| parent.owner() == handle && !classification.has(parent);
        if let Some(parent) = classes.chain(parents).find(|parent| is_absent(**parent)) {
            return Err(Problem::new(parent.at, format!("`{}` is not a band of `{handle}`", *parent)));
        }
        classification.check(&leaves(&bands))?;
        if objects.is_general {
            self.note(handle, &classification)?;
            self.arrange(&mut bands)?;
        }
        Ok(bands)
    }

    /// Returns the classes of a discipline, those with a filter first, and true if every packet has a class.
    pub(super) fn all_classes(
        &mut self,
        owner: &Owner<'_>,
        flows: &[&Headers],
    ) -> Result<(Vec<Queue>, bool), Problem> {
        let handle = owner.handle;
        let classification = Classification::of_classes(self.objects, handle, owner.qdisc, flows)?;
        let mut classes = self.classes(handle, owner, &classification, owner.depth)?;
        if classes.is_empty() {
            let kind = *owner.qdisc.kind;
            if !self.objects.classes.iter().any(|class| class.id.owner() == handle) {
                let what =
                    if kind == Kind::Htb { "sends every packet out unshaped" } else { "drops every packet" };
                let problem = Problem::new(owner.qdisc.kind.at, format!("`{kind}` without classes {what}"));
                return Err(
                    problem.help(format!("add classes: `tc class add ... parent {handle} classid ...`"))
                );
            }
            let message = format!("nothing is sent to any class of `{handle}`");
            let problem = Problem::new(owner.qdisc.kind.at, message);
            return Err(problem.help(
                "add filters or a `default`; classes that a firewall selects by priority need a `match`",
            ));
        }
        if self.objects.is_general {
            self.note(handle, &classification)?;
            sort_by_filter(&mut classes);
            self.arrange(&mut classes)?;
        } else if classification.check(&leaves(&classes)).is_err() {
            // For overlapping conditions, sorts the classes by filter: the first matching filter decides,
            // as in a kernel.
            sort_by_filter(&mut classes);
            classification.check(&leaves(&classes))?;
        }
        Ok((classes, classification.has_rest))
    }

    /// Returns the children of `parent` that receive packets, those with a filter first.
    fn classes(
        &mut self,
        parent: Handle,
        owner: &Owner<'_>,
        classification: &Classification,
        depth: usize,
    ) -> Result<Vec<Queue>, Problem> {
        if depth > DEEPEST {
            let message = format!("the tree is deeper than {DEEPEST}");
            return Err(Problem::new(owner.qdisc.kind.at, message));
        }
        let mut queues = Vec::new();
        let objects = self.objects;
        for class in objects.classes.iter().filter(|class| *class.parent == parent) {
            let id = *class.id;
            let is_inner = objects.classes.iter().any(|other| *other.parent == id);
            let mut queue = if is_inner {
                if let Some(qdisc) = objects.attached(id).filter(|_| !objects.is_general) {
                    let message = format!("a discipline stands in `{id}`, which has classes below it");
                    return Err(Problem::new(qdisc.kind.at, message));
                }
                let children = self.classes(id, owner, classification, depth + 1)?;
                if children.is_empty() {
                    continue;
                }
                inner_class(id, children)
            } else if classification.is_used(id) {
                self.leaf(id, owner, classification)?
            } else if objects.is_general {
                self.left_out.push(format!("packets for the class `{id}`: no filter leads to it"));
                self.leaf(id, owner, classification)?
            } else {
                self.left_out.push(format!("the class `{id}`: no filter leads to it"));
                continue;
            };
            self.set_share(&mut queue, owner, class)?;
            queues.push(queue);
        }
        // A class that takes the rest comes last: children are tried in order.
        queues.sort_by_key(|queue| queue.rules.is_empty());
        Ok(queues)
    }

    /// Sets the share of a class: beside the queue's own parameters, or under `share` for names that both
    /// have.
    fn set_share(&mut self, queue: &mut Queue, owner: &Owner<'_>, class: &Class) -> Result<(), Problem> {
        let kind = *owner.qdisc.kind;
        let mut share = translate(
            kind,
            &class.settings,
            &owner.reference.shares,
            &mut self.left_out,
            self.objects.is_general,
        )?;
        if self.objects.is_general && kind == Kind::Hfsc && queue.kind == "class" {
            // `sc` of an inner class sets it too. A class with `rt` alone gets it as `ls` when classes are
            // added below.
            let curve = share.iter().find(|(name, _)| *name == "rt").map(|(_, curve)| curve.clone());
            share.retain(|(name, _)| *name != "rt");
            if let Some(curve) = curve.filter(|_| value(&share, "ls").is_none()) {
                share.push(("ls", curve));
            }
            let is_real_time = |setting: &&Setting| ["rt", "sc"].contains(&*setting.name);
            if let Some(setting) = class.settings.iter().find(is_real_time) {
                let part = if *setting.name == "sc" { "the guarantee of `sc`" } else { "`rt`" };
                self.left_out
                    .push(format!("{part} of the class `{}`: only leaves have real-time service", *class.id));
            }
        }
        if self.objects.is_general && kind == Kind::Htb {
            self.as_in_kernel(class, &mut share);
        }
        if kind == Kind::Htb {
            self.add_bursts(class, &mut share);
            self.add_stab(&owner.reference.shares, &mut share)?;
        }
        self.account.take(&class.words);
        self.settings(&class.words, (kind, &class.settings), &owner.reference.shares, &[&share]);
        let is_both = |(name, _): &(&'static str, Value)| queue.known.iter().any(|known| known == name);
        let (apart, beside): (Vec<_>, Vec<_>) = share.into_iter().partition(is_both);
        queue.shares = apart;
        queue.parameters.extend(beside);
        Ok(())
    }
}
