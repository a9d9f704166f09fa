//! Tree of classes that a hierarchical discipline (CBQ, HTB, H-FSC) owns.
//!
//! ```text
//! htb                       index (pre-order)   children   path (child indices from the top)
//!  |- campus  (class)       0 campus   inner    1 2        0
//!  |   |- voice   fifo      1 voice    leaf                0 0
//!  |   '- bulk    fq_codel  2 bulk     leaf                0 1
//!  '- guests  fifo          3 guests   leaf                1
//! ```
//!
//! An inner class is a [`Node`] like any other: named, counted, with the rules that sort packets to its
//! children. It has no discipline; its owner decides which leaf sends. The owner identifies every class by
//! its index in pre-order.
//!
//! # Data structure and cost
//!
//! The nodes own each other as in every tree. Beside them [`Classes`] keeps one `Path` per class in a
//! flat table: the child indices from the top to the class, so that a leaf at depth `d` is reached by `d`
//! indexed loads, in a loop without virtual calls (decision 070: `htb` with 1000 classes at three levels
//! went from 207 ns to 157 ns together with five other changes).
//!
//! A path also has the prefetch targets of its leaf (`class/prefetch.rs`). Up to four levels a path is one
//! cache line.
//!
//! # Accounting
//!
//! Since the owner walks the path itself, the inner classes are accounted for by `account_enqueue`,
//! `account_dequeue` and `account_drops_below` of [`Node`] instead of `enqueue` and `dequeue`; the head of
//! [`node`](crate::node) has the comparison.
//!
//! ```text
//!            ancestors, top down    leaf             ancestors, if drops or a peak   ancestors, if a packet
//! enqueue    account_enqueue        Node::enqueue    account_drops_below
//! dequeue                           Node::dequeue    account_drops_below             account_dequeue
//! ```
//!
//! Invariant: outside a call, the backlog of an inner class is the sum of its children's.

mod prefetch;

use crate::discipline::{Child, Context, Dequeue, DropReason, Invalid, NoShare};
use crate::explanation::stand_in::Part;
use crate::explanation::{Explanation, Foresight, Row};
use crate::node::{Contents, InnerClass, Node, Peek, Tally};
use crate::packet::Packet;
use crate::prefetch::CACHED_CHILDREN;
use crate::queue::key_tree;
use prefetch::{ParentTarget, Path};

/// Kind of an inner class in scenarios.
pub const KIND: &str = "class";

impl Node {
    /// Creates an inner class called `name` with these children, for an owner whose shares are of type
    /// `Share`.
    ///
    /// # Errors
    /// Field `children` if there are none.
    pub fn class<Share: Send + 'static>(name: &str, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names none: an inner class has at least one"));
        }
        let (shares, children): (Vec<Share>, _) =
            children.into_iter().map(|child| (child.share, child.node)).unzip();
        Ok(Self::wrap(name, KIND, false, Contents::Class(InnerClass::new(children, shares))))
    }
}

/// Position of a class in the tree.
struct Position {
    parent: Option<usize>,
    /// Indices of the children; empty for a leaf.
    children: Vec<usize>,
    height: usize,
}

/// Classes of a hierarchical discipline. A class is identified by its index in pre-order: parents before
/// their children, children in the order of the scenario.
pub struct Classes {
    tops: Vec<Node>,
    /// Indices of `tops`.
    top_indices: Vec<usize>,
    positions: Vec<Position>,
    paths: Vec<Path>,
}

impl Classes {
    /// Maximum number of classes: owners order classes by a winner tree, which has at most that many slots.
    pub const MAX_CLASSES: usize = key_tree::MAX_SLOTS;

    /// Takes over these trees. Returns the classes and their shares, both in pre-order.
    ///
    /// # Errors
    /// Field `children` if there are none or more than [`MAX_CLASSES`](Self::MAX_CLASSES).
    pub fn new<Share: Send + 'static>(children: Vec<Child<Share>>) -> Result<(Self, Vec<Share>), Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names none: at least one class is needed"));
        }
        let mut walk = PreOrder { positions: Vec::new(), paths: Vec::new(), shares: Vec::new() };
        let mut tops = Vec::with_capacity(children.len());
        let mut top_indices = Vec::with_capacity(children.len());
        for (child_index, mut child) in children.into_iter().enumerate() {
            top_indices.push(walk.add(&mut child.node, child.share, None, child_index)?);
            tops.push(child.node);
        }
        let PreOrder { mut positions, paths, shares } = walk;
        // In reverse pre-order every child comes before its parent.
        for class in (0..positions.len()).rev() {
            if let Some(parent) = positions[class].parent {
                positions[parent].height = positions[parent].height.max(positions[class].height + 1);
            }
        }
        Ok((Self { tops, top_indices, positions, paths }, shares))
    }

    /// Returns the number of classes, at least one.
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns the classes at the top, in the order of the scenario.
    pub fn tops(&self) -> &[usize] {
        &self.top_indices
    }

    /// Returns the parent of `class`; `None` at the top.
    #[inline]
    pub fn parent(&self, class: usize) -> Option<usize> {
        self.positions[class].parent
    }

    /// Returns the children of `class`, in the order of the scenario; empty for a leaf.
    #[inline]
    pub fn children(&self, class: usize) -> &[usize] {
        &self.positions[class].children
    }

    /// Returns whether `class` is a leaf, that is, holds packets itself.
    #[inline]
    pub fn is_leaf(&self, class: usize) -> bool {
        self.positions[class].children.is_empty()
    }

    /// Returns the longest distance from `class` to a leaf below it: 0 for a leaf.
    #[inline]
    pub fn height(&self, class: usize) -> usize {
        self.positions[class].height
    }

    /// Passes a packet down to a leaf. The owner's rules have chosen the class at the top
    /// ([`Header::position`]); the rules of each inner class choose its child. Returns the leaf, and true if
    /// the leaf is empty afterwards because it dropped the packet.
    ///
    /// [`Header::position`]: crate::packet::Header::position
    #[inline]
    pub fn enqueue(&mut self, mut packet: Packet, cx: &mut Context<'_>) -> (usize, bool) {
        let before = cx.drops.account();
        let (mut nodes, mut child_index) = (&mut self.tops[..], packet.position.child());
        let (mut is_peak, mut parent) = (false, ParentTarget::UNKNOWN);
        let (leaf, is_empty) = loop {
            let last = nodes.len() - 1;
            let node = &mut nodes[child_index.min(last)];
            if !node.is_class() {
                node.enqueue(packet, cx);
                let leaf = node.class_index as usize;
                let has_many = self.paths.len() > CACHED_CHILDREN;
                self.paths[leaf].record_enqueue(node, parent, has_many);
                let is_empty = node.is_empty();
                break (leaf, is_empty);
            }
            is_peak |= node.account_enqueue(&mut packet, cx);
            child_index = packet.position.child();
            parent.record(node);
            nodes = node.classes();
        };
        if is_peak || cx.drops.account() != before {
            self.account_drops_on_path(leaf, before, cx);
        }
        (leaf, is_empty)
    }

    /// Returns the packet that `leaf` sends next, or the reason for none, and true if the leaf is empty
    /// afterwards.
    #[inline]
    pub fn dequeue(&mut self, leaf: usize, cx: &mut Context<'_>) -> (Dequeue, bool) {
        let before = cx.drops.account();
        let Self { paths, tops, .. } = self;
        let has_many = paths.len() > CACHED_CHILDREN;
        let Some(node) = node(paths, tops, leaf) else { return (Dequeue::Empty, true) };
        let dequeued = node.dequeue(cx);
        let is_empty = node.is_empty();
        paths[leaf].record(node, has_many);
        if cx.drops.account() != before {
            self.account_drops_on_path(leaf, before, cx);
        }
        if let Dequeue::Packet(packet) = &dequeued {
            let bytes = packet.bytes();
            self.each_ancestor(leaf, |node| node.account_dequeue(bytes));
        }
        (dequeued, is_empty)
    }

    /// Returns the length of the packet that [`dequeue`](Self::dequeue) gives next: see [`Node::peek`].
    #[inline]
    pub fn peek(&mut self, leaf: usize, cx: &mut Context<'_>) -> Peek {
        let before = cx.drops.account();
        let peeked = self.node(leaf).map_or(Peek::Empty, |node| node.peek(cx));
        if cx.drops.account() != before {
            self.account_drops_on_path(leaf, before, cx);
        }
        peeked
    }

    /// Drops the packet that `leaf` would send next: see [`Node::evict`]. Returns whether there was one.
    pub fn evict(&mut self, leaf: usize, cx: &mut Context<'_>, reason: DropReason) -> bool {
        let before = cx.drops.account();
        let is_done = self.node(leaf).is_some_and(|node| node.evict(cx, |_| reason));
        self.account_drops_on_path(leaf, before, cx);
        is_done
    }

    /// Accounts, at each ancestor of `leaf`, for the packets dropped or marked since the drop account was
    /// `before`.
    #[cold]
    #[inline(never)]
    fn account_drops_on_path(&mut self, leaf: usize, before: u64, cx: &Context<'_>) {
        self.each_ancestor(leaf, |node| node.account_drops_below(before, cx));
    }

    /// Calls `visit` with each ancestor of `class`, from the top down.
    #[inline(always)]
    fn each_ancestor(&mut self, class: usize, mut visit: impl FnMut(&mut Node)) {
        let Some((_, ancestors)) = self.paths[class].indices.split_last() else { return };
        let mut nodes = &mut self.tops[..];
        for child_index in ancestors {
            let node = &mut nodes[*child_index as usize];
            visit(node);
            nodes = node.classes();
        }
    }

    #[inline(always)]
    fn node(&mut self, class: usize) -> Option<&mut Node> {
        node(&self.paths, &mut self.tops, class)
    }

    /// Returns the node of `class`, to read it.
    pub(crate) fn node_ref(&self, class: usize) -> Option<&Node> {
        let (last, ancestors) = self.paths[class].indices.split_last()?;
        let mut nodes = &self.tops[..];
        for child_index in ancestors {
            nodes = nodes[*child_index as usize].classes_ref();
        }
        nodes.get(*last as usize)
    }

    /// Returns the explanations of the leaves, by class, and adds a row for each class.
    pub(crate) fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) -> Vec<Option<Explanation>> {
        to.row_noun = "class";
        let mut nexts = Vec::with_capacity(self.len());
        for class in 0..self.len() {
            let Some(node) = self.node_ref(class) else { continue };
            let next = self.is_leaf(class).then(|| node.explain(cx));
            let mut row = match &next {
                Some(next) => Row::of(node, next),
                None => Row::named(node.name()).with("packets", node.backlog().packets).with("next", ""),
            };
            row.depth = core::iter::successors(self.parent(class), |at| self.parent(*at)).count();
            to.row(row);
            nexts.push(next);
        }
        nexts
    }

    /// Returns the classes as parts of a rehearsal.
    pub(crate) fn parts<'a>(&'a self, nexts: &'a [Option<Explanation>]) -> Vec<Part<'a>> {
        let part = |(class, next): (usize, &'a Option<Explanation>)| {
            Some(Part { node: self.node_ref(class)?, next: next.as_ref() })
        };
        nexts.iter().enumerate().filter_map(part).collect()
    }

    /// Creates classes without a hierarchy, for a rehearsal, in which every class has its index.
    pub(crate) fn flat(nodes: Vec<Node>) -> Option<Self> {
        let child = |node| Child { share: NoShare {}, node };
        Self::new(nodes.into_iter().map(child).collect()).ok().map(|(classes, _)| classes)
    }

    /// Returns the number and bytes of the packets queued in `class` and below.
    #[inline]
    pub fn backlog(&mut self, class: usize) -> Tally {
        self.node(class).map_or_else(Tally::default, |node| node.backlog())
    }

    /// Returns whether no packet is queued in any class.
    pub(crate) fn are_empty(&self) -> bool {
        self.tops.iter().all(Node::is_empty)
    }

    /// Returns whether no packet is queued in `class` and below.
    #[inline]
    pub fn is_empty(&mut self, class: usize) -> bool {
        self.backlog(class).packets == 0
    }

    /// Calls `visit` with each class at the top, in the order of the scenario, as
    /// [`Discipline::each_child`](crate::discipline::Discipline::each_child) requires.
    pub fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.tops.iter_mut().for_each(visit);
    }
}

/// Follows the path of `class` to its node.
#[inline(always)]
fn node<'a>(paths: &[Path], tops: &'a mut [Node], class: usize) -> Option<&'a mut Node> {
    let (last, ancestors) = paths[class].indices.split_last()?;
    let mut nodes = tops;
    for child_index in ancestors {
        nodes = nodes[*child_index as usize].classes();
    }
    nodes.get_mut(*last as usize)
}

/// Pre-order walk that collects positions, paths and shares.
struct PreOrder<Share> {
    positions: Vec<Position>,
    paths: Vec<Path>,
    shares: Vec<Share>,
}

impl<Share: Send + 'static> PreOrder<Share> {
    /// Adds `node` and everything below it; returns its index.
    fn add(
        &mut self,
        node: &mut Node,
        share: Share,
        parent: Option<usize>,
        child_index: usize,
    ) -> Result<usize, Invalid> {
        let index = self.positions.len();
        if index == Classes::MAX_CLASSES {
            let why = format!("names too many: there are at most {} classes in all", Classes::MAX_CLASSES);
            return Err(Invalid::new("children", why));
        }
        node.class_index = index as u32;
        let path = Path::new(parent.map(|parent| &self.paths[parent]), child_index);
        self.paths.push(path);
        self.positions.push(Position { parent, children: Vec::new(), height: 0 });
        self.shares.push(share);
        let Some(inner) = node.downcast::<InnerClass>() else { return Ok(index) };
        let Some(shares) = inner.take_shares::<Share>() else {
            return Err(Invalid::new("children", "has an inner class that is another discipline's"));
        };
        for (child_index, share) in shares.into_iter().enumerate() {
            let child = self.add(&mut node.classes()[child_index], share, Some(index), child_index)?;
            self.positions[index].children.push(child);
        }
        Ok(index)
    }
}

#[cfg(test)]
mod tests;
