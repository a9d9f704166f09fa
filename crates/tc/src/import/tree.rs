//! Translates the disciplines and classes of a kernel to a tree of queues of a scenario.

mod kernel;
mod line;
mod words;

use lockgate_engine::units::{Bytes, Duration};
use lockgate_scenario::reference::{Parameter, Reference, reference};

pub(crate) use line::Line;

use super::Environment;
use super::account::{Account, options_of};
use super::classification::{Classification, Leaf};
use super::conditions::{Headers, Rule};
use super::objects::Objects;
use super::settings::{Parameters, scenario_kind, translate};
use crate::handle::Handle;
use crate::language::{Kind, Version};
use crate::position::Position;
use crate::problem::Problem;
use crate::syntax::{Class, Police, Qdisc};
use crate::value::Value;

/// Limit on the depth of a tree.
const DEEPEST: usize = 16;

/// Packets of the FIFO that a class has by default: as long as a device's queue.
const DEVICE_QUEUE: u64 = 1000;

/// Bytes of a full Ethernet frame.
const FULL_FRAME: u64 = 1514;

/// Protocol number that no packet has (RFC 1700).
const RESERVED: u8 = 255;

/// Picoseconds of a second.
const SECOND: u64 = Duration::from_secs(1).as_picos();

/// Linux's default interval between updates of PIE's probability.
const UPDATE: Duration = Duration::from_millis(15);

/// A queue of a scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    pub name: String,
    pub kind: &'static str,
    /// Names of the parameters of its kind.
    known: Vec<String>,
    /// Its own parameters, and its share of the parent.
    pub parameters: Parameters,
    /// Parameters of its share whose names its own kind has as well.
    pub shares: Parameters,
    pub children: Vec<Queue>,
    /// Rules for its packets; empty: the rest.
    pub rules: Vec<Rule>,
    /// Packets of its class.
    leaf: Option<Leaf>,
    /// Handle of its class, as in `tc`.
    pub class: Option<Handle>,
}

/// Tree of a device, and what belongs to its line.
pub(super) struct Tree {
    pub root: Queue,
    pub left_out: Vec<String>,
    pub line: Option<Line>,
    pub account: Account,
}

/// Input of the translation, and the parts left out.
struct Builder<'a> {
    objects: &'a Objects<'a>,
    hz: u32,
    kernel: Option<Version>,
    left_out: Vec<String>,
    account: Account,
    /// Lines of `netem`, each with its position.
    lines: Vec<(Line, Position)>,
    /// Leaves without `netem`.
    plain_leaves: usize,
}

/// Translates the objects to a tree of queues. Also returns the parts that were left out because they have
/// no effect in a scenario.
///
/// # Errors
/// Returns what a scenario cannot express.
pub(super) fn build(
    objects: &Objects<'_>,
    environment: &Environment<'_>,
    kernel: Option<Version>,
) -> Result<Tree, Problem> {
    let mut builder = Builder {
        objects,
        hz: environment.hz.max(1),
        kernel,
        left_out: objects.left_out.clone(),
        account: objects.account.clone(),
        lines: Vec::new(),
        plain_leaves: 0,
    };
    let flows: Vec<_> = environment.flows.iter().collect();
    let root = builder.below_netem(objects.root);
    let root = match root {
        Some(root) => builder.qdisc(root, "link".to_owned(), 0, &flows)?,
        None => fifo("link".to_owned(), Builder::netem_limit(objects.root)),
    };
    let line = builder.line()?;
    let kind = *objects.root.kind;
    if let Some(stab) = objects.root.stab.filter(|_| !matches!(kind, Kind::Htb | Kind::Tbf)) {
        builder.left_out.push(format!("`{}` of `{kind}`: it counts frames as they are", *stab));
        builder.account.stab(objects.root, stab.at, false);
    }
    let Builder { mut left_out, account, .. } = builder;
    left_out.sort();
    left_out.dedup();
    Ok(Tree { root, left_out, line, account })
}

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

/// Returns a FIFO of this many packets.
fn fifo(name: String, packets: u64) -> Queue {
    Queue {
        name,
        kind: "fifo",
        known: vec!["limit".to_owned(), "overflow".to_owned()],
        parameters: vec![("limit", Value::Packets(packets))],
        ..Queue::default()
    }
}

/// Returns the reference of a kind.
fn reference_of(qdisc: &Qdisc) -> Result<Reference, Problem> {
    let name = scenario_kind(*qdisc.kind);
    reference(name).ok_or_else(|| Problem::new(qdisc.kind.at, format!("kind `{name}` is not known yet")))
}

fn names(parameters: &[Parameter]) -> Vec<String> {
    parameters.iter().map(|parameter| parameter.name.clone()).collect()
}

impl<'a> Builder<'a> {
    fn qdisc(
        &mut self,
        qdisc: &'a Qdisc,
        name: String,
        depth: usize,
        flows: &[&Headers],
    ) -> Result<Queue, Problem> {
        let kind = *qdisc.kind;
        if depth > DEEPEST {
            return Err(Problem::new(qdisc.kind.at, format!("the tree is deeper than {DEEPEST}")));
        }
        if let Some(why) = self.kernel.and_then(|kernel| kind.missing_in(kernel)) {
            return Err(Problem::new(qdisc.kind.at, why));
        }
        if let Some(stab) = qdisc.stab.filter(|_| depth > 0) {
            return Err(Problem::new(stab.at, "`stab` below the root is not understood"));
        }
        if kind.is_of_device()
            && (!self.objects.is_general || !matches!(kind, Kind::CakeMq | Kind::PfifoFast))
        {
            let why = match kind {
                Kind::Mq => {
                    "each transmit queue of the device has a discipline of its own; a port has one: write that of one queue at the root"
                }
                Kind::Noqueue => "it queues nothing",
                _ => "it is not known yet",
            };
            return Err(Problem::new(qdisc.kind.at, format!("kind `{kind}`: {why}")));
        }
        let reference = reference_of(qdisc)?;
        let words = if kind == Kind::CakeMq { Kind::Cake } else { kind };
        if kind == Kind::CakeMq {
            self.left_out.push(
                "the transmit queues of `cake_mq`, each with a `cake`, which share the rate: here they are one"
                    .to_owned(),
            );
        }
        let mut parameters = translate(
            words,
            &qdisc.settings,
            &reference.parameters,
            &mut self.left_out,
            self.objects.is_general,
        )?;
        self.apply_defaults(qdisc, &mut parameters)?;
        let owner = |handle| Owner { qdisc, handle, reference: &reference, depth };
        let mut has_rest = true;
        let children = match kind {
            // Without a handle, nothing leads to its bands but the map of priorities.
            Kind::PfifoFast => {
                let handle = qdisc.handle.as_deref().copied().unwrap_or(Handle { major: 0, minor: 0 });
                self.bands(&owner(handle), flows)?
            }
            Kind::Prio | Kind::Ets => self.bands(&owner(handle_of(qdisc)?), flows)?,
            kind if kind.has_explicit_classes() => {
                let (classes, rest) = self.all_classes(&owner(handle_of(qdisc)?), flows)?;
                has_rest = rest;
                classes
            }
            _ => self.inner(qdisc, depth, flows)?,
        };
        self.account.take(&qdisc.words);
        if let Some(stab) = qdisc.stab.filter(|_| matches!(kind, Kind::Htb | Kind::Tbf)) {
            self.account.stab(qdisc, stab.at, true);
        }
        if kind == Kind::Tbf && depth == 0 {
            self.add_stab(&reference.parameters, &mut parameters)?;
        }
        if kind == Kind::Tbf && !children.is_empty() {
            let is_own = |(name, _): &(&str, Value)| !["limit", "latency"].contains(name);
            let why = "the queue below it, which it sizes, is replaced by another discipline";
            let options = options_of(&qdisc.words, &qdisc.settings);
            for (setting, option) in qdisc.settings.iter().zip(options) {
                if ["limit", "latency"].contains(&*setting.name) {
                    self.account.name_option(&qdisc.words, option);
                    self.left_out.push(format!("`{setting}` of `tbf`: {why}"));
                }
            }
            parameters.retain(is_own);
        }
        self.settings(&qdisc.words, (words, &qdisc.settings), &reference.parameters, &[&parameters]);
        let known = names(&reference.parameters);
        let queue =
            Queue { name, kind: scenario_kind(kind), known, parameters, children, ..Queue::default() };
        Ok(if has_rest { queue } else { self.without_rest(qdisc, queue) })
    }

    /// Returns the tree of a discipline without a class for the packets that no filter takes.
    fn without_rest(&mut self, qdisc: &Qdisc, queue: Queue) -> Queue {
        let kind = *qdisc.kind;
        if kind != Kind::Htb {
            self.left_out.push(format!(
                "the packets that no filter of `{kind}` takes: the kernel drops them; here they go to its last class, counted as unclassified"
            ));
            return queue;
        }
        // `htb` sends such packets directly: unshaped, and before all others.
        let limit = match super::settings::value_of(&qdisc.settings, "direct_qlen") {
            Some(Value::Packets(limit)) => *limit,
            _ => DEVICE_QUEUE,
        };
        let Queue { name, .. } = &queue;
        let mut direct = fifo(format!("{name}-direct"), limit.max(1));
        direct.rules = vec![Rule { preference: 2, ..Rule::default() }];
        let mut shaped = Queue { name: format!("{name}-shaped"), ..queue.clone() };
        let first = |rule: &Rule| Rule { preference: 1, ..rule.clone() };
        shaped.rules = shaped.children.iter().flat_map(|child| child.rules.iter().map(first)).collect();
        self.left_out.push(
            "`default` of `htb`, which is not given: packets that no filter takes pass unshaped before all others, in the queue `direct`"
                .to_owned(),
        );
        Queue { name: name.clone(), kind: "prio", children: vec![direct, shaped], ..Queue::default() }
    }

    /// Adds the parameters whose defaults differ from those of Linux or `tc`.
    fn apply_defaults(&self, qdisc: &Qdisc, parameters: &mut Parameters) -> Result<(), Problem> {
        let kind = *qdisc.kind;
        let missing = |what: &str| Problem::new(qdisc.kind.at, what);
        let size = |parameters: &Parameters, name: &str| match value(parameters, name) {
            Some(Value::Size(Bytes(bytes))) => Some(*bytes),
            _ => None,
        };
        if kind == Kind::PfifoHeadDrop {
            parameters.push(("overflow", Value::Choice("head")));
        }
        if has_flavour(kind) {
            parameters.push(("flavour", Value::Choice("linux")));
        }
        if kind == Kind::Dualpi2 {
            kernel::dualpi2_defaults(&qdisc.settings, parameters);
        }
        // Updates of PIE's probability run on a timer of whole ticks.
        if matches!(kind, Kind::Pie | Kind::FqPie) {
            let tick = SECOND / u64::from(self.hz);
            let update = match value(parameters, "tupdate") {
                Some(Value::Time(update)) => *update,
                _ => UPDATE,
            };
            let ticks = update.as_picos().div_ceil(tick);
            let update = ticks.checked_mul(tick).map(Duration::from_picos);
            let update = update.ok_or_else(|| missing("`tupdate` is out of range"))?;
            parameters.retain(|(name, _)| *name != "tupdate");
            parameters.push(("tupdate", Value::Time(update)));
        }
        match kind {
            // tc-red(8): `max` is a quarter of the limit, `min` a third of `max`.
            Kind::Red => {
                let limit = size(parameters, "limit").ok_or_else(|| missing("`red` has a `limit`"))?;
                let (min, max) = (size(parameters, "min"), size(parameters, "max"));
                let full = max.unwrap_or_else(|| min.map_or(limit / 4, |min| min.saturating_mul(3)));
                for (name, given, default) in [("max", max, full), ("min", min, full / 3)] {
                    if given.is_none() {
                        parameters.push((name, Value::Size(Bytes(default))));
                    }
                }
            }
            Kind::Bfifo if size(parameters, "limit").is_none() && self.objects.is_general => {
                parameters.push(("limit", Value::Size(Bytes(DEVICE_QUEUE * FULL_FRAME))));
            }
            Kind::Pfifo if size_is_absent(parameters) && self.objects.is_general => {
                parameters.push(("limit", Value::Packets(DEVICE_QUEUE)));
            }
            Kind::Bfifo if size(parameters, "limit").is_none() => {
                return Err(missing("`bfifo` without a `limit` depends on the device's queue"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the discipline attached to another one without classes, if any.
    fn inner(&mut self, qdisc: &Qdisc, depth: usize, flows: &[&Headers]) -> Result<Vec<Queue>, Problem> {
        let Some(own) = qdisc.handle else { return Ok(Vec::new()) };
        let is_inner = |other: &&&'a Qdisc| other.parent.is_some_and(|parent| parent.owner() == *own);
        let inner: Vec<_> = self.objects.qdiscs.iter().filter(is_inner).copied().collect();
        inner
            .into_iter()
            .map(|inner| {
                let handle =
                    inner.handle.map_or_else(|| format!("in-{}", *inner.kind), |own| own.to_string());
                self.qdisc(inner, name_of("inner", &handle), depth + 1, flows)
            })
            .collect()
    }

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
            leaf.plain_rules().map_err(|why| self.at_filter(class, why))?
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

    /// Returns the problem of a filter that leads to a class.
    fn at_filter(&self, class: Handle, why: String) -> Problem {
        let mut filters = self.objects.rules.iter().filter(|rule| rule.class == class);
        let filter = filters.find(|rule| rule.conditions.rules().is_err());
        Problem::new(filter.map(|rule| rule.at).unwrap_or_default(), why)
    }

    /// Brings the rules into the kernel's order if the order of the classes does not have it.
    fn arrange(&self, queues: &mut [Queue]) -> Result<(), Problem> {
        let all = leaves(queues);
        let is_broken = all.iter().enumerate().any(|(index, first)| {
            let is_overtaken = all[index + 1..].iter().any(|later| first.is_overtaken_by(later));
            is_overtaken || all.iter().any(|other| first.is_rest_before(other))
        });
        if is_broken {
            for queue in queues {
                self.order(queue)?;
            }
        }
        Ok(())
    }

    /// Gives the rules of a class and those below it the kernel's order.
    fn order(&self, queue: &mut Queue) -> Result<(), Problem> {
        if let Some(leaf) = &queue.leaf {
            let class = queue.class.unwrap_or(Handle { major: 0, minor: 0 });
            let rules = leaf.ordered_rules().map_err(|why| self.at_filter(class, why))?;
            if !rules.is_empty() {
                queue.rules = rules;
            }
            return Ok(());
        }
        for child in &mut queue.children {
            self.order(child)?;
        }
        queue.rules = queue.children.iter().flat_map(|child| child.rules.iter().cloned()).collect();
        Ok(())
    }

    /// Returns the bands of `prio` and `ets`, the first with the highest priority.
    fn bands(&mut self, owner: &Owner<'_>, flows: &[&Headers]) -> Result<Vec<Queue>, Problem> {
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
        let places = objects.qdiscs.iter().filter_map(|qdisc| qdisc.parent);
        let is_absent = |place: Handle| place.owner() == handle && !classification.has(place);
        if let Some(place) = classes.chain(places).find(|place| is_absent(**place)) {
            return Err(Problem::new(place.at, format!("`{}` is not a band of `{handle}`", *place)));
        }
        classification.check(&leaves(&bands))?;
        if objects.is_general {
            self.note(handle, &classification)?;
            self.arrange(&mut bands)?;
        }
        Ok(bands)
    }

    /// Returns the classes of a discipline, those with a filter first, and true if every packet has a class.
    fn all_classes(&mut self, owner: &Owner<'_>, flows: &[&Headers]) -> Result<(Vec<Queue>, bool), Problem> {
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
            let is_alone = class.settings.iter().any(|setting| *setting.name == "rt");
            if is_alone {
                self.left_out
                    .push(format!("`rt` of the class `{}`: only leaves have real-time service", *class.id));
            }
        }
        if self.objects.is_general && kind == Kind::Htb {
            self.as_in_kernel(class, &mut share);
        }
        if kind == Kind::Htb {
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

/// A discipline that has classes.
struct Owner<'a> {
    qdisc: &'a Qdisc,
    handle: Handle,
    reference: &'a Reference,
    depth: usize,
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

fn size_is_absent(parameters: &Parameters) -> bool {
    value(parameters, "limit").is_none()
}

/// Returns true for kinds with variants, one of which is that of Linux.
fn has_flavour(kind: Kind) -> bool {
    matches!(kind, Kind::Cbq | Kind::FqPie | Kind::Pie | Kind::Red)
}

fn value<'a>(parameters: &'a Parameters, name: &str) -> Option<&'a Value> {
    parameters.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
}

fn handle_of(qdisc: &Qdisc) -> Result<Handle, Problem> {
    let message = || format!("`{}` without a handle: nothing can lead to its classes", *qdisc.kind);
    qdisc.handle.as_deref().copied().ok_or_else(|| Problem::new(qdisc.kind.at, message()))
}

/// Returns the classes without subclasses, in the order in which they are tried.
fn leaves(queues: &[Queue]) -> Vec<&Leaf> {
    let mut all = Vec::new();
    for queue in queues {
        match &queue.leaf {
            // Queues below a leaf belong to another discipline.
            Some(leaf) => all.push(leaf),
            None => all.extend(leaves(&queue.children)),
        }
    }
    all
}

/// Sorts siblings by the first filter that selects them or a descendant; those for the rest come last.
fn sort_by_filter(queues: &mut [Queue]) {
    fn rank(queue: &Queue) -> usize {
        let below = queue.children.iter().map(rank).min();
        queue.leaf.as_ref().map(|leaf| leaf.rank).or(below).unwrap_or(usize::MAX)
    }
    // Queues below a leaf belong to another discipline.
    for queue in queues.iter_mut().filter(|queue| queue.leaf.is_none()) {
        sort_by_filter(&mut queue.children);
    }
    queues.sort_by_key(|queue| (queue.rules.is_empty(), rank(queue)));
}

/// Returns a queue's name: a class `1:11` is `class-1-11`.
fn name_of(what: &str, id: &str) -> String {
    let id: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{what}-{}", id.trim_matches('-'))
}

impl Queue {
    /// Adds the parameters of this queue and of all below it to `all`: kind, name and value.
    pub(super) fn add_parameters<'a>(&'a self, all: &mut Vec<(&'static str, &'static str, &'a Value)>) {
        let own = self.parameters.iter().chain(&self.shares);
        all.extend(own.map(|(name, value)| (self.kind, *name, value)));
        self.children.iter().for_each(|child| child.add_parameters(all));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::LANGUAGES;

    #[test]
    fn flavours_and_known_names_are_those_of_the_reference() {
        for language in LANGUAGES.iter().filter(|language| !language.kind.is_of_device()) {
            let reference = reference(scenario_kind(language.kind)).expect("every kind is one of a scenario");
            let flavour = reference.parameters.iter().find(|parameter| parameter.name == "flavour");
            let has_linux =
                flavour.is_some_and(|flavour| flavour.takes.split(" | ").any(|one| one == "linux"));
            assert_eq!(has_flavour(language.kind), has_linux, "{}", language.name);
        }
        assert_eq!(names(&reference("fifo").expect("listed").parameters), ["limit", "mark", "overflow"]);
    }
}
