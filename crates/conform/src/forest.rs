//! Fixture of the oracles on trees of classes: a tree, a link over it, and leaves that always have packets.

use lockgate_engine::classify::{Classifier, Rule};
use lockgate_engine::node::Node;
use lockgate_engine::packet::{FlowId, Header};
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Instant, Rate};
use serde_json::{Value, json};

use crate::kind;
use crate::link::Link;
use crate::trials::between;

/// Infinite rate: packets leave when they are released, so that the classes alone decide.
pub const WIRE: Rate = Rate::from_bits(u64::MAX);

/// A class under test: its parameters and the oracle's knowledge of it.
#[derive(Clone, Debug)]
pub struct Class<Facts> {
    /// Knowledge of the oracle.
    pub facts: Facts,
    /// Index of the parent; `None` at the top.
    pub parent: Option<usize>,
    /// Indices of the children; empty for a leaf.
    pub children: Vec<usize>,
}

/// Classes by index, parents before their children. The flow of a leaf has the leaf's index.
#[derive(Clone, Debug)]
pub struct Forest<Facts> {
    /// The classes.
    pub classes: Vec<Class<Facts>>,
}

impl<Facts> Default for Forest<Facts> {
    fn default() -> Self {
        Self { classes: Vec::new() }
    }
}

impl<Facts> Forest<Facts> {
    /// Adds a class below `parent`; returns its index.
    pub fn add(&mut self, parent: Option<usize>, facts: Facts) -> usize {
        let number = self.classes.len();
        self.classes.push(Class { facts, parent, children: Vec::new() });
        if let Some(parent) = parent {
            self.classes[parent].children.push(number);
        }
        number
    }

    /// Returns the leaves, the classes in which packets wait.
    pub fn leaves(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.classes.len()).filter(|class| self.classes[*class].children.is_empty())
    }

    /// Returns the classes at the top.
    pub fn tops(&self) -> Vec<usize> {
        (0..self.classes.len()).filter(|class| self.classes[*class].parent.is_none()).collect()
    }

    /// Returns `class` and its ancestors, the nearest first.
    pub fn above(&self, class: usize) -> impl Iterator<Item = usize> + '_ {
        core::iter::successors(Some(class), |class| self.classes[*class].parent)
    }

    /// Returns the leaves of `class`; `class` itself if it is a leaf.
    pub fn leaves_of(&self, class: usize) -> Vec<usize> {
        self.leaves().filter(|leaf| self.above(*leaf).any(|above| above == class)).collect()
    }

    /// Returns the depth of `class`; 0 at the top.
    pub fn depth(&self, class: usize) -> usize {
        self.above(class).count() - 1
    }

    /// Creates a link of this rate over a discipline that owns these classes; each leaf is an unlimited
    /// queue.
    pub fn link(&self, owner: &str, config: &Value, rate: Rate, share: &dyn Fn(&Facts) -> Value) -> Link {
        Link::new(self.port(owner, config, "1000000p", share), rate)
    }

    /// Creates a port of a discipline that owns these classes; each leaf is a queue of `limit`.
    pub fn port(&self, owner: &str, config: &Value, limit: &str, share: &dyn Fn(&Facts) -> Value) -> Port {
        let children = self.nodes(owner, &self.tops(), limit, share);
        let root = kind::build(owner, "root", config, children).with_classifier(self.sorter(&self.tops()));
        Port::new(root, Random::stream(Seed(1), "port"))
    }

    fn nodes(
        &self,
        owner: &str,
        classes: &[usize],
        limit: &str,
        share: &dyn Fn(&Facts) -> Value,
    ) -> Vec<(Value, Node)> {
        let node = |class: &usize| {
            let place = format!("class/{class}");
            let Class { facts, children, .. } = &self.classes[*class];
            let node = if children.is_empty() {
                kind::build("fifo", &place, &json!({ "limit": limit }), Vec::new())
            } else {
                kind::build_class(owner, &place, self.nodes(owner, children, limit, share))
                    .with_classifier(self.sorter(children))
            };
            (share(facts), node)
        };
        classes.iter().map(node).collect()
    }

    /// Returns a classifier from the flows of leaves to these classes.
    fn sorter(&self, classes: &[usize]) -> Classifier {
        let rule = |class: &usize| {
            let flows = self.leaves_of(*class).into_iter().map(|leaf| FlowId(leaf as u32)).collect();
            vec![Rule { flows: Some(flows), ..Rule::default() }]
        };
        Classifier::new(classes.iter().map(rule).collect())
    }
}

/// Creates the header of a packet for a leaf.
pub fn header(leaf: usize, length: u64) -> Header {
    Header { flow: FlowId(leaf as u32), length: length as u32, ..Header::default() }
}

/// Runs `link` until `until`; each of `leaves` always has packets, of lengths in the range `lengths`.
pub fn saturate(link: &mut Link, leaves: &[usize], lengths: (u32, u32), until: Instant, random: &mut Random) {
    let mut draw = || between(random, lengths.0, lengths.1);
    for leaf in leaves {
        for _ in 0..3 {
            link.offer(header(*leaf, draw()), Instant::ZERO);
        }
    }
    let mut seen = 0;
    loop {
        while seen < link.sent.len() {
            let (at, leaf) = (link.sent[seen].at, link.sent[seen].packet.flow.0 as usize);
            link.offer(header(leaf, draw()), at);
            seen += 1;
        }
        if link.next_event().is_none_or(|at| at > until) || link.advance().is_none() {
            break;
        }
    }
}
