//! A port's tree of queues: checked and resolved, can be built into engine nodes any number of times.

use std::borrow::Cow;
use std::sync::Arc;

use lockgate_engine::class;
use lockgate_engine::classify::{Classifier, Rule};
use lockgate_engine::discipline::{Child, Discipline, Invalid};
use lockgate_engine::disciplines::{self, Kind, Visitor, htb};
use lockgate_engine::node::Node;
use lockgate_engine::overhead::LinkHeader;
use lockgate_engine::pacing::Pace;
use lockgate_engine::port::{Parameters, PortChange, QueueChange};
use lockgate_engine::units::{Limit, Rate};
use lockgate_headers::{Class, Region};
use serde::de::DeserializeOwned;

use crate::value_reader;

/// A tree of queues. The first is the root; every child comes after its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueTree {
    pub(crate) queues: Vec<Queue>,
}

/// One queue of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Name in the scenario.
    pub name: Arc<str>,
    /// Discipline, or `class` for an inner class.
    pub kind: &'static str,
    /// Parameters of the discipline itself, as written.
    pub config: toml::Table,
    /// Share: the parameters that its parent needs, as written.
    pub share: toml::Table,
    /// Rules for the packets it takes; empty: packets that no earlier sibling takes.
    pub rules: Vec<Rule>,
    /// Marks that rules compare, as value and mask, by the index of the rule: its flows are those that have
    /// such a mark.
    pub marks: Vec<(usize, [u32; 2])>,
    /// Indices of its children in the tree, in their order.
    pub children: Vec<usize>,
}

impl Queue {
    /// Returns the rate that its share guarantees it, if it does.
    pub fn guarantee(&self) -> Option<Rate> {
        ["rate", "rt", "sc"].into_iter().find_map(|key| self.share.get(key)?.as_str()?.parse().ok())
    }

    /// Returns the most that it may send by its own parameters and its share: `ceil`, `bandwidth` or `rate`.
    pub fn own_rate(&self) -> Option<Rate> {
        let read = |table: &toml::Table, key: &str| table.get(key)?.as_str()?.parse::<Rate>().ok();
        let keys = ["ceil", "bandwidth", "rate"];
        let found = |table| keys.into_iter().find_map(|key| read(table, key));
        found(&self.share).or_else(|| found(&self.config))
    }
}

impl QueueTree {
    /// Returns the default tree of a port: a FIFO called `fifo` with its defaults.
    pub fn fifo() -> Self {
        Self {
            queues: vec![Queue {
                name: "fifo".into(),
                kind: "fifo",
                config: toml::Table::new(),
                share: toml::Table::new(),
                rules: Vec::new(),
                marks: Vec::new(),
                children: Vec::new(),
            }],
        }
    }

    /// Returns the queues, the root first, parents before children.
    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// Returns the tree as classes that sort packets, in the order of its queues. `region` gives the packets
    /// of a queue's rule, by its index.
    pub fn classes(&self, region: &dyn Fn(&Queue, usize) -> Region) -> Vec<Class> {
        let class = |queue: &Queue| {
            let has_choice = queue.children.len() > 1;
            let rules = queue.rules.iter().enumerate();
            Class {
                rules: rules.map(|(index, rule)| (region(queue, index), rule.preference)).collect(),
                children: queue.children.clone(),
                maps_rest: has_choice && maps_rest(queue.kind, &queue.config),
                classifies: has_choice && Kind::named(queue.kind).is_some_and(|kind| kind.classifies),
            }
        };
        self.queues.iter().map(class).collect()
    }

    /// Returns the rate that the shapers of the tree let through at most; `None` if they do not bound it.
    pub fn rate(&self) -> Option<Rate> {
        self.pace().rate
    }

    /// Returns the rate that the shapers of the tree let through at most, and the overhead of a frame.
    pub fn pace(&self) -> Pace {
        self.queues.first().map_or_else(Pace::default, |root| self.pace_at(root, root.kind))
    }

    /// Returns the tree on an interface whose frames have this link header: itself on Ethernet.
    pub fn on(&self, header: LinkHeader) -> Cow<'_, Self> {
        let mut tree = Cow::Borrowed(self);
        if header == LinkHeader::Absent {
            // The whole frame is the packet.
            for queue in &mut tree.to_mut().queues {
                if let Some(name) = Kind::named(queue.kind).and_then(|kind| kind.raw_parameter) {
                    queue.config.insert(name.to_owned(), true.into());
                }
            }
        }
        tree
    }

    /// Returns true if a queue needs to know the hosts behind address translation.
    pub fn needs_hosts(&self) -> bool {
        let needs = |queue: &Queue| {
            let parameter = Kind::named(queue.kind).and_then(|kind| kind.hosts_parameter);
            parameter.and_then(|name| queue.config.get(name)?.as_bool()) == Some(true)
        };
        self.queues.iter().any(needs)
    }

    /// Returns the pace of `queue`; `owner` owns it if it is an inner class.
    fn pace_at(&self, queue: &Queue, owner: &'static str) -> Pace {
        let owner = if queue.is_class() { owner } else { queue.kind };
        let child = |index: &usize| {
            let child = &self.queues[*index];
            let share = disciplines::visit(owner, PaceOfChild(&child.share)).unwrap_or_default();
            lower(share, self.pace_at(child, owner))
        };
        // A child without bound leaves the sum without one.
        let add = |sum: Pace, next: Pace| {
            let rate = sum.rate?.as_bits().saturating_add(next.rate?.as_bits());
            Some(Pace { rate: Some(Rate::from_bits(rate)), overhead: next.overhead })
        };
        let none = Pace { rate: Some(Rate::from_bits(0)), ..Pace::default() };
        let below = queue.children.iter().map(child).try_fold(none, add);
        lower(queue.own_pace(), below.filter(|_| !queue.children.is_empty()).unwrap_or_default())
    }

    /// Returns the most that its parent lets each queue send, with the name of the queue, for those with such
    /// a ceiling.
    pub fn ceilings(&self) -> Vec<(&str, Rate)> {
        let mut found = Vec::new();
        if let Some(root) = self.queues.first() {
            self.ceilings_at(root, root.kind, &mut found);
        }
        found
    }

    fn ceilings_at<'a>(&'a self, queue: &Queue, owner: &'static str, found: &mut Vec<(&'a str, Rate)>) {
        let owner = if queue.is_class() { owner } else { queue.kind };
        for child in queue.children.iter().map(|index| &self.queues[*index]) {
            let share = disciplines::visit(owner, PaceOfChild(&child.share)).unwrap_or_default();
            found.extend(share.rate.map(|rate| (&*child.name, rate)));
            self.ceilings_at(child, owner, found);
        }
    }

    /// Builds the tree for the engine.
    ///
    /// # Errors
    /// Returns the discipline's error. Never fails for a tree from [`read`](crate::read), which built it
    /// once already.
    pub fn build(&self) -> Result<Node, Invalid> {
        let root = self.queues.first().ok_or_else(|| Invalid::new("root", "names no queue"))?;
        self.build_at(root, root.kind)
    }

    /// Builds the node of `queue`; `owner` owns it if it is an inner class.
    fn build_at(&self, queue: &Queue, owner: &'static str) -> Result<Node, Invalid> {
        let owner = if queue.is_class() { owner } else { queue.kind };
        let mut children = Vec::with_capacity(queue.children.len());
        for &child in &queue.children {
            let child = &self.queues[child];
            children.push((child.share.clone(), self.build_at(child, owner)?));
        }
        let rules = queue.children.iter().map(|&child| self.queues[child].rules.clone()).collect();
        make(queue, owner, children, rules)
    }

    /// Returns the indices of the queues whose shares `queue` takes, in its order: its children, with inner
    /// classes expanded, parents first.
    fn shares_of(&self, queue: &Queue) -> Vec<usize> {
        let mut all = Vec::new();
        for &child in &queue.children {
            all.push(child);
            if self.queues[child].is_class() {
                all.extend(self.shares_of(&self.queues[child]));
            }
        }
        all
    }

    /// Builds the change of a port from tree `before` to this one: of the parameters that differ, or of the
    /// whole tree if the shape does.
    ///
    /// # Errors
    /// The discipline's error. Never fails for trees from [`read`](crate::read).
    pub fn change_from(&self, before: &Self) -> Result<PortChange, Invalid> {
        let Some(queues) = self.differs_in(before) else { return Ok(PortChange::of_tree(self.build()?)) };
        let change =
            |name: &String| Ok(QueueChange { new: self.parameters(name)?, old: before.parameters(name)? });
        Ok(PortChange::of_queues(queues.iter().map(change).collect::<Result<_, Invalid>>()?))
    }

    /// Reads the parameters of the queue `name` and the shares of its children.
    fn parameters(&self, name: &str) -> Result<Parameters, Invalid> {
        let Some(queue) = self.queues.iter().find(|queue| &*queue.name == name) else {
            return Err(Invalid::new("queue", format!("`{name}` is not in the tree")));
        };
        let shares: Vec<&toml::Table> =
            self.shares_of(queue).into_iter().map(|class| &self.queues[class].share).collect();
        let read = disciplines::visit(queue.kind, ReadParameters { queue, shares });
        read.unwrap_or_else(|| Err(unknown(queue.kind)))
    }

    /// Returns the queues whose own parameters or children's shares differ from those in `before`. Returns
    /// `None` if the shape differs (names, kinds, children, matches, and which queue decides on unmatched
    /// packets): the tree must be replaced.
    pub fn differs_in(&self, before: &Self) -> Option<Vec<String>> {
        if self.queues.len() != before.queues.len() {
            return None;
        }
        let mut differing = Vec::new();
        for (new, old) in self.queues.iter().zip(&before.queues) {
            if (&new.name, new.kind, &new.children, &new.rules)
                != (&old.name, old.kind, &old.children, &old.rules)
                || (new.config != old.config
                    && maps_rest(new.kind, &new.config) != maps_rest(old.kind, &old.config))
            {
                return None;
            }
            // The share of a class is a parameter of its owner.
            let shares = !new.is_class()
                && self
                    .shares_of(new)
                    .iter()
                    .any(|&child| self.queues[child].share != before.queues[child].share);
            if new.config != old.config || shares {
                differing.push(new.name.to_string());
            }
        }
        Some(differing)
    }
}

/// Returns the lower of two bounds.
pub(crate) fn lower(one: Pace, other: Pace) -> Pace {
    match (one.rate, other.rate) {
        (Some(own), Some(rate)) if rate < own => other,
        (None, Some(_)) => other,
        _ => one,
    }
}

struct PaceOf<'a>(&'a toml::Table);

impl Visitor for PaceOf<'_> {
    type Output = Pace;
    fn visit<D: Discipline>(self) -> Pace {
        typed(self.0).map_or_else(|_| Pace::default(), |config| D::pace(&config))
    }
}

struct PaceOfChild<'a>(&'a toml::Table);

impl Visitor for PaceOfChild<'_> {
    type Output = Pace;
    fn visit<D: Discipline>(self) -> Pace {
        typed(self.0).map_or_else(|_| Pace::default(), |share| D::pace_of_child(&share))
    }
}

impl Queue {
    /// Returns the rate that its parameters let it send at most, whatever its children have.
    pub(crate) fn own_pace(&self) -> Pace {
        disciplines::visit(self.kind, PaceOf(&self.config)).unwrap_or_default()
    }

    /// Adds what a class of this `htb` derives from its rate to its share, unless the share states it.
    pub fn derive_share(&self, share: &mut toml::Table) {
        let Some(rate) = share.get("rate").cloned() else { return };
        let config: htb::Config = typed(&self.config).unwrap_or_default();
        if let Some(bits) = rate.as_str().and_then(|rate| rate.parse().ok()) {
            let quantum = config.quantum(bits);
            share.entry("quantum").or_insert_with(|| toml::Value::String(format!("{}B", quantum.0)));
        }
        share.entry("ceil").or_insert(rate);
    }

    /// Returns the limit on its backlog: its parameter `limit` or the default; `None` if its kind has no
    /// such parameter.
    pub fn limit(&self) -> Option<Limit> {
        disciplines::visit(self.kind, LimitOf(self)).flatten()
    }

    /// Returns true if it is an inner class, which belongs to a discipline above it.
    pub fn is_class(&self) -> bool {
        self.kind == class::KIND
    }
}

/// Builds the node of `queue` over its children, each with its share; `rules` has one entry per child.
/// `owner` is the kind that defines the type of the shares: the queue's own, or that above an inner class.
pub(crate) fn make(
    queue: &Queue,
    owner: &str,
    children: Vec<(toml::Table, Node)>,
    rules: Vec<Vec<Rule>>,
) -> Result<Node, Invalid> {
    disciplines::visit(owner, Make { queue, children, rules }).unwrap_or_else(|| Err(unknown(owner)))
}

fn unknown(kind: &str) -> Invalid {
    Invalid::new("kind", format!("`{kind}` is not known"))
}

/// Converts a checked table to its type.
fn typed<T: DeserializeOwned>(table: &toml::Table) -> Result<T, Invalid> {
    value_reader::read_plain(table).map_err(|error| Invalid::new("kind", error.message))
}

struct LimitOf<'a>(&'a Queue);

impl Visitor for LimitOf<'_> {
    type Output = Option<Limit>;

    fn visit<D: Discipline>(self) -> Self::Output {
        let config: D::Config = typed(&self.0.config).ok()?;
        let written = toml::Table::try_from(&config).ok()?;
        value_reader::read_plain_value(written.get("limit")?).ok()
    }
}

struct Make<'a> {
    queue: &'a Queue,
    children: Vec<(toml::Table, Node)>,
    rules: Vec<Vec<Rule>>,
}

impl Visitor for Make<'_> {
    type Output = Result<Node, Invalid>;

    fn visit<D: Discipline>(self) -> Self::Output {
        let mut children: Vec<Child<D::Share>> = Vec::with_capacity(self.children.len());
        for (index, (share, node)) in self.children.into_iter().enumerate() {
            children.push(Child { share: typed(&share).map_err(|invalid| invalid.on_child(index))?, node });
        }
        let node = if self.queue.is_class() {
            Node::class(&self.queue.name, children)?
        } else {
            Node::new::<D>(&self.queue.name, typed(&self.queue.config)?, children)?
        };
        if self.rules.is_empty() {
            return Ok(node);
        }
        let maps_rest = typed(&self.queue.config).is_ok_and(|config| D::maps_rest(&config));
        let sort = if maps_rest { Classifier::for_mapped_rest } else { Classifier::new };
        Ok(node.with_classifier(sort(self.rules)))
    }
}

/// Returns true if a discipline of this kind with these parameters itself classifies packets that no
/// child's rules take.
pub(crate) fn maps_rest(kind: &str, config: &toml::Table) -> bool {
    struct MapsRest<'a>(&'a toml::Table);
    impl Visitor for MapsRest<'_> {
        type Output = bool;
        fn visit<D: Discipline>(self) -> bool {
            typed(self.0).is_ok_and(|config| D::maps_rest(&config))
        }
    }
    disciplines::visit(kind, MapsRest(config)).unwrap_or(false)
}

struct ReadParameters<'a> {
    queue: &'a Queue,
    shares: Vec<&'a toml::Table>,
}

impl Visitor for ReadParameters<'_> {
    type Output = Result<Parameters, Invalid>;

    fn visit<D: Discipline>(self) -> Self::Output {
        let shares = self.shares.into_iter().map(typed).collect::<Result<_, _>>()?;
        Ok(Parameters::new::<D>(self.queue.name.clone(), typed(&self.queue.config)?, shares))
    }
}
