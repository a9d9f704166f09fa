//! Trees of the suite: every kind alone, and every pair nested over every leaf.

use lockgate_engine::class;
use lockgate_engine::classify::{Classifier, Rule};
use lockgate_engine::discipline::{Arity, Discipline};
use lockgate_engine::node::Node;
use lockgate_engine::packet::FlowId;
use serde_json::Value;

use crate::common::fickle::Fickle;
use crate::common::kind::{self, Kind, Refusal};

/// Kinds that drop packets of their children.
const EVICTS: [&str; 3] = ["wfq-altq", "tbf", "cbq"];

/// Number of flows that the suite sends.
pub(crate) const FLOWS: u32 = 8;

/// Description of a tree: everything needed to build it, and to predict the path of a packet.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    /// Name of the queue.
    pub name: String,
    pub kind: String,
    pub config: Value,
    /// Share of this queue under its parent.
    pub share: Value,
    pub children: Vec<Topology>,
}

impl Topology {
    /// Creates a queue without children.
    pub(crate) fn leaf(name: &str, kind: &str) -> Self {
        Self::over(name, kind, Vec::new())
    }

    /// Creates a queue over these children, with the kind's example parameters.
    pub(crate) fn over(name: &str, kind: &str, mut children: Vec<Self>) -> Self {
        let declared = kind::kind(kind);
        for child in &mut children {
            child.share = declared.share.clone();
        }
        let share = Value::Object(serde_json::Map::new());
        Self { name: name.into(), kind: kind.into(), config: declared.example.clone(), share, children }
    }

    /// `grandparent > parent > leaf`, with a second child at each level that takes more than one.
    pub(crate) fn stack(grandparent: &str, parent: &str, leaf: &str) -> Self {
        let below = |kind: &str, first: Self, second: &str| match kind::kind(kind).children {
            Arity::Many | Arity::Classes => vec![first, Self::leaf(second, leaf)],
            Arity::None | Arity::Optional => vec![first],
        };
        let middle = Self::over("parent", parent, below(parent, Self::leaf("leaf/0", leaf), "leaf/1"));
        Self::over("root", grandparent, below(grandparent, middle, "leaf/2"))
    }

    /// Creates a tree of a kind that owns classes, with two levels of inner ones: `owner > class > class >
    /// (leaf, leaf)`, and a leaf beside each inner class.
    pub(crate) fn classes(owner: &str, leaf: &str) -> Self {
        let class = |name: &str, children| Self {
            config: Value::Object(serde_json::Map::new()),
            ..Self::inner(name, owner, children)
        };
        let below = class("class/1", vec![Self::leaf("leaf/0", leaf), Self::leaf("leaf/1", leaf)]);
        let above = class("class/0", vec![below, Self::leaf("leaf/2", leaf)]);
        Self::over("root", owner, vec![above, Self::leaf("leaf/3", leaf)])
    }

    /// Creates an inner class of `owner`.
    fn inner(name: &str, owner: &str, children: Vec<Self>) -> Self {
        Self { kind: class::KIND.into(), ..Self::over(name, owner, children) }
    }

    /// Creates a kind by itself, as far as possible.
    pub(crate) fn alone(kind: &str) -> Self {
        match kind::kind(kind).children {
            Arity::Many | Arity::Classes => {
                Self::over("root", kind, vec![Self::leaf("leaf/0", "fifo"), Self::leaf("leaf/1", "fifo")])
            }
            Arity::None | Arity::Optional => Self::leaf("root", kind),
        }
    }

    /// Returns every kind alone, and every pair of kinds that take children, over every leaf and over the
    /// hostile one.
    pub(crate) fn all() -> Vec<Self> {
        let kinds = kind::kinds();
        let takes = |kind: &&&Kind| kind.children != Arity::None;
        let leaves = || {
            kinds
                .iter()
                .filter(|kind| matches!(kind.children, Arity::None | Arity::Optional))
                .map(|kind| kind.name)
                .chain([Fickle::ABOUT.name])
        };
        let mut all: Vec<_> = kinds.iter().map(|kind| Self::alone(kind.name)).collect();
        for grandparent in kinds.iter().filter(takes) {
            for parent in kinds.iter().filter(takes) {
                for leaf in leaves() {
                    all.push(Self::stack(grandparent.name, parent.name, leaf));
                }
            }
        }
        for owner in kinds.iter().filter(|kind| kind.children == Arity::Classes) {
            all.extend(leaves().map(|leaf| Self::classes(owner.name, leaf)));
        }
        all
    }

    /// Builds the tree.
    pub(crate) fn build(&self) -> Result<Node, Refusal> {
        self.build_at(0, &self.kind)
    }

    /// Builds the subtree at this depth; `owner` is the kind that owns it, if it is an inner class.
    fn build_at(&self, depth: u32, owner: &str) -> Result<Node, Refusal> {
        let is_class = kind::is_class(&self.kind);
        let owner = if is_class { owner } else { &self.kind };
        let children = self
            .children
            .iter()
            .map(|child| Ok((child.share.clone(), child.build_at(depth + 1, owner)?)))
            .collect::<Result<Vec<_>, Refusal>>()?;
        let count = children.len();
        let node = if is_class {
            kind::build_class(owner, &self.name, children)?
        } else {
            kind::build(&self.kind, &self.name, &self.config, children)?
        };
        if count < 2 {
            return Ok(node);
        }
        // The last child has no rules: it takes the other packets.
        let rules = (0..count - 1).map(|child| {
            let flows = (0..FLOWS).filter(|flow| turn(*flow, depth, count) == child).map(FlowId).collect();
            vec![Rule { flows: Some(flows), ..Rule::default() }]
        });
        Ok(node.with_classifier(Classifier::new(rules.chain([Vec::new()]).collect())))
    }

    /// Returns all queues, parents first.
    pub(crate) fn queues(&self) -> Vec<&Self> {
        let mut queues = vec![self];
        let mut next = 0;
        while next < queues.len() {
            queues.extend(&queues[next].children);
            next += 1;
        }
        queues
    }

    /// Computes the properties of the tree that the laws need.
    pub(crate) fn shape(&self) -> Shape {
        let kinds: Vec<&Kind> = self.disciplines().collect();
        let mut shape = Shape {
            names: Vec::new(),
            children: Vec::new(),
            depths: Vec::new(),
            flows: Vec::new(),
            by_rules: Vec::new(),
            is_evicted: Vec::new(),
            is_work_conserving: kinds.iter().all(|kind| kind.work_conserving),
            reorders: kinds.iter().any(|kind| kind.reorders),
            gives_code_points: self.gives_code_points(),
            is_hostile: self.is_hostile(),
        };
        let flows: Vec<u32> = (0..FLOWS).collect();
        shape.add(self, 0, &flows, true, false);
        shape
    }

    /// Returns the queues that have a share for this one, in the order of its shares: its children, or, if
    /// it owns classes, all queues below, parents first.
    pub(crate) fn shares(&self) -> Vec<&Self> {
        let mut shares = Vec::new();
        for child in &self.children {
            shares.push(child);
            if kind::is_class(&child.kind) {
                shares.extend(child.shares());
            }
        }
        shares
    }

    /// Returns the queue of this name.
    pub(crate) fn queue_mut(&mut self, name: &str) -> Option<&mut Self> {
        if self.name == name {
            return Some(self);
        }
        self.children.iter_mut().find_map(|child| child.queue_mut(name))
    }

    /// Returns the kinds of its disciplines.
    fn disciplines(&self) -> impl Iterator<Item = &'static Kind> {
        self.queues()
            .into_iter()
            .filter(|queue| !kind::is_class(&queue.kind))
            .map(|queue| kind::kind(&queue.kind))
    }

    /// Returns whether a meter above a `cake` may give packets code points: those of one flow then come to
    /// several tins.
    fn gives_code_points(&self) -> bool {
        let is_above = |queue: &Self| queue.queues().iter().any(|below| below.kind == "cake");
        self.queues().into_iter().any(|queue| queue.kind == "policer" && is_above(queue))
    }

    /// Returns whether it has the hostile leaf.
    pub(crate) fn is_hostile(&self) -> bool {
        self.queues().iter().any(|queue| queue.kind == Fickle::ABOUT.name)
    }

    /// Formats its kinds, as `drr > prio > (fifo, fifo)`.
    pub(crate) fn describe(&self) -> String {
        match &self.children[..] {
            [] => self.kind.clone(),
            [only] => format!("{} > {}", self.kind, only.describe()),
            many => {
                let many: Vec<_> = many.iter().map(Self::describe).collect();
                format!("{} > ({})", self.kind, many.join(", "))
            }
        }
    }
}

/// Properties of a tree that the laws need: its queues by index, each before those below it.
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub(crate) struct Shape {
    pub(crate) names: Vec<String>,
    /// Indices of each queue's children.
    pub(crate) children: Vec<Vec<usize>>,
    /// Number of queues above each.
    pub(crate) depths: Vec<u64>,
    /// Flows whose packets pass each queue by the rules.
    pub(crate) flows: Vec<Vec<u32>>,
    /// Places whose packets depend on rules alone: all except those below a kind that sorts its packets
    /// itself.
    pub(crate) by_rules: Vec<usize>,
    /// True for each queue whose parent drops packets of its children.
    pub(crate) is_evicted: Vec<bool>,
    /// True if every kind is work-conserving.
    pub(crate) is_work_conserving: bool,
    /// True if any kind may reorder a flow.
    pub(crate) reorders: bool,
    /// True if packets of a flow keep their order only among those with the same code point.
    pub(crate) gives_code_points: bool,
    /// True if it has the hostile leaf.
    pub(crate) is_hostile: bool,
}

impl Shape {
    /// Adds a queue and those below it. Returns its index.
    fn add(
        &mut self,
        queue: &Topology,
        depth: u32,
        flows: &[u32],
        by_rules: bool,
        is_evicted: bool,
    ) -> usize {
        let index = self.names.len();
        self.names.push(queue.name.clone());
        self.children.push(Vec::new());
        self.depths.push(u64::from(depth));
        self.flows.push(flows.to_vec());
        self.is_evicted.push(is_evicted);
        if by_rules {
            self.by_rules.push(index);
        }
        let is_class = kind::is_class(&queue.kind);
        let classifies = !is_class && kind::kind(&queue.kind).classifies;
        // What is below an inner class is dropped by the class's owner.
        let evicts = if is_class { is_evicted } else { EVICTS.contains(&queue.kind.as_str()) };
        let count = queue.children.len();
        for (number, child) in queue.children.iter().enumerate() {
            let is_own = |flow: &u32| turn(*flow, depth, count) == number;
            let own: Vec<u32> = flows.iter().copied().filter(is_own).collect();
            let child = self.add(child, depth + 1, &own, by_rules && !classifies, evicts);
            self.children[index].push(child);
        }
        index
    }
}

/// Returns which of `count` children takes `flow` at this depth.
fn turn(flow: u32, depth: u32, count: usize) -> usize {
    (flow >> depth) as usize % count
}
