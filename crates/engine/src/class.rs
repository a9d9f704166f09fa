//! The tree of classes that a hierarchical discipline (CBQ, HTB, H-FSC) owns.
//!
//! ```text
//! htb                       classes in pre-order:   0 campus   inner
//!  |- campus  (class)                               1 voice    leaf
//!  |   |- voice   fifo                              2 bulk     leaf
//!  |   '- bulk    fq_codel                          3 guests   leaf
//!  '- guests  fifo
//! ```
//!
//! An inner class is a [`Node`] like any other: named, counted, with the rules that sort packets to its
//! children. What it lacks is a will of its own: which leaf sends is the owner's to say, who knows every
//! class by its place in pre-order. Packets pass the inner classes on their way in and out, so the account
//! of each level holds by the same code as everywhere.

use core::any::Any;

use smallvec::SmallVec;

use crate::discipline::{Child, Context, Dequeue, DropReason, Invalid};
use crate::node::{Erased, Node, Peek, Tally};
use crate::packet::{Header, Packet};
use crate::prefetch::PrefetchTarget;
use crate::queue::tournament;
use crate::units::Instant;

/// How scenarios spell the kind of an inner class.
pub const KIND: &str = "class";

/// The inside of an inner class.
#[derive(Default)]
pub(crate) struct Inner {
    children: Vec<Node>,
    /// What the owner must know of each child, until it takes them: a vector of its shares.
    shares: Option<Box<dyn Any + Send>>,
}

impl Erased for Inner {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let place = packet.class.index().min(self.children.len() - 1);
        self.children[place].enqueue(packet, cx);
    }
    /// Its owner alone decides which of its leaves sends.
    fn dequeue(&mut self, _: &mut Context<'_>) -> Dequeue {
        Dequeue::Empty
    }
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        self.enqueue(packet, cx);
        Dequeue::Empty
    }
    fn flush(&mut self, _: &mut Vec<Packet>) {}
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.children.iter_mut().for_each(visit);
    }
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    fn on_timer(&mut self, _: &mut Context<'_>) {}
    fn gauges(&self, _: &mut dyn FnMut(&'static str, f64)) {}
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl Inner {
    /// The classes right below.
    #[inline]
    pub(crate) fn classes(&mut self) -> &mut [Node] {
        &mut self.children
    }
}

impl Node {
    /// An inner class called `name` over these classes, to stand below a discipline whose share is `Share`.
    ///
    /// # Errors
    /// Where it has no children: the field `children`.
    pub fn class<Share: Send + 'static>(name: &str, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names none: an inner class has at least one"));
        }
        let (shares, children): (Vec<Share>, _) =
            children.into_iter().map(|child| (child.share, child.node)).unzip();
        Ok(Self::around(name, KIND, false, Box::new(Inner { children, shares: Some(Box::new(shares)) })))
    }
}

/// Where a class stands.
struct Place {
    parent: Option<usize>,
    /// The places of its children; empty for a leaf.
    children: Vec<usize>,
    height: usize,
}

/// A hierarchical discipline's classes. Each is known by its place in pre-order: parents before their
/// children, children in the scenario's order.
pub struct Classes {
    tops: Vec<Node>,
    /// The places of `tops`.
    top_places: Vec<usize>,
    places: Vec<Place>,
    ways: Vec<Way>,
}

/// The way to a class from the top, and what lay there when it was last looked at. A cache line, where there are no more than
/// eight levels.
#[repr(align(64))]
struct Way {
    /// Its ancestors' places among their siblings, and its own.
    turns: SmallVec<[u32; 8]>,
    parent: PrefetchTarget<Node>,
    class: PrefetchTarget<Node>,
    /// The packet that it sends next.
    packet: PrefetchTarget<Header>,
}

impl Way {
    /// The way to the class that stands at `turn` below where `above` leads.
    fn new(above: Option<&Self>, turn: usize) -> Self {
        let mut turns = above.map_or_else(SmallVec::new, |above| above.turns.clone());
        turns.push(turn as u32);
        Self {
            turns,
            parent: PrefetchTarget::UNKNOWN,
            class: PrefetchTarget::UNKNOWN,
            packet: PrefetchTarget::UNKNOWN,
        }
    }

    /// It leads here.
    #[inline(always)]
    fn note(&mut self, class: &Node) {
        self.class.record(class);
        if let Some(packet) = class.front() {
            self.packet.record(packet);
        }
    }
}

impl Classes {
    /// The most there can be: owners keep them in the order of something by a tournament.
    pub const MOST: usize = tournament::SLOTS;

    /// The classes of these trees, and what each says to the owner, in pre-order.
    ///
    /// # Errors
    /// Where there is none, the field `children`; where there are more than [`MOST`](Self::MOST), too.
    pub fn new<Share: Send + 'static>(children: Vec<Child<Share>>) -> Result<(Self, Vec<Share>), Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names none: at least one class is needed"));
        }
        let mut taken = Taken { places: Vec::new(), ways: Vec::new(), shares: Vec::new() };
        let mut tops = Vec::with_capacity(children.len());
        let mut top_places = Vec::with_capacity(children.len());
        for (turn, mut child) in children.into_iter().enumerate() {
            top_places.push(taken.take(&mut child.node, child.share, None, turn)?);
            tops.push(child.node);
        }
        let Taken { mut places, ways, shares } = taken;
        // Children stand after their parents, so that from the back every child comes first.
        for class in (0..places.len()).rev() {
            if let Some(parent) = places[class].parent {
                places[parent].height = places[parent].height.max(places[class].height + 1);
            }
        }
        Ok((Self { tops, top_places, places, ways }, shares))
    }

    /// How many there are, at least one.
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The classes at the top, in the scenario's order.
    pub fn tops(&self) -> &[usize] {
        &self.top_places
    }

    /// The inner class above `class`; `None` at the top.
    #[inline]
    pub fn parent(&self, class: usize) -> Option<usize> {
        self.places[class].parent
    }

    /// The classes right below `class`, in the scenario's order; none for a leaf.
    #[inline]
    pub fn children(&self, class: usize) -> &[usize] {
        &self.places[class].children
    }

    /// Whether packets wait in `class` itself.
    #[inline]
    pub fn is_leaf(&self, class: usize) -> bool {
        self.places[class].children.is_empty()
    }

    /// The longest way from `class` down to a leaf: 0 for a leaf.
    #[inline]
    pub fn height(&self, class: usize) -> usize {
        self.places[class].height
    }

    /// Takes a packet in: the owner's rules chose the class at the top ([`Header::class`]), those of the
    /// inner classes choose below. Returns the leaf that was given it, and whether that is empty all the same.
    ///
    /// [`Header::class`]: crate::packet::Header::class
    #[inline]
    pub fn enqueue(&mut self, mut packet: Packet, cx: &mut Context<'_>) -> (usize, bool) {
        let before = cx.drops.account();
        let (mut nodes, mut turn) = (&mut self.tops[..], packet.class.index());
        let (mut is_most, mut parent) = (false, PrefetchTarget::UNKNOWN);
        let (leaf, is_empty) = loop {
            let last = nodes.len() - 1;
            let node = &mut nodes[turn.min(last)];
            if !node.is_class() {
                node.enqueue(packet, cx);
                let leaf = node.class_number as usize;
                let way = &mut self.ways[leaf];
                way.note(node);
                way.parent = parent;
                break (leaf, node.is_empty());
            }
            is_most |= node.let_in(&mut packet, cx);
            turn = packet.class.index();
            parent.record(node);
            nodes = node.classes();
        };
        if is_most || cx.drops.account() != before {
            self.settle_above(leaf, before, cx);
        }
        (leaf, is_empty)
    }

    /// Gives the packet that `leaf` sends next, or says why there is none; and whether the leaf is empty then.
    #[inline]
    pub fn dequeue(&mut self, leaf: usize, cx: &mut Context<'_>) -> (Dequeue, bool) {
        let before = cx.drops.account();
        let Self { ways, tops, .. } = self;
        let Some(node) = node(ways, tops, leaf) else { return (Dequeue::Empty, true) };
        let dequeued = node.dequeue(cx);
        let is_empty = node.is_empty();
        ways[leaf].note(node);
        if cx.drops.account() != before {
            self.settle_above(leaf, before, cx);
        }
        if let Dequeue::Packet(packet) = &dequeued {
            let bytes = packet.bytes();
            self.each_above(leaf, |node| node.let_out(bytes));
        }
        (dequeued, is_empty)
    }

    /// What the owner may know of the packet that [`dequeue`](Self::dequeue) gives: see [`Node::peek`].
    #[inline]
    pub fn peek(&mut self, leaf: usize, cx: &mut Context<'_>) -> Peek {
        let before = cx.drops.account();
        let peeked = self.node(leaf).map_or(Peek::Empty, |node| node.peek(cx));
        if cx.drops.account() != before {
            self.settle_above(leaf, before, cx);
        }
        peeked
    }

    /// Drops the packet that `leaf` would send next: see [`Node::evict`]. Returns whether there was one.
    pub fn evict(&mut self, leaf: usize, cx: &mut Context<'_>, reason: DropReason) -> bool {
        let before = cx.drops.account();
        let is_done = self.node(leaf).is_some_and(|node| node.evict(cx, |_| reason));
        self.settle_above(leaf, before, cx);
        is_done
    }

    /// Counts, at each class above `leaf`, what was dropped or marked since the account stood at `before`.
    #[cold]
    #[inline(never)]
    fn settle_above(&mut self, leaf: usize, before: u64, cx: &Context<'_>) {
        self.each_above(leaf, |node| node.settle_through(before, cx));
    }

    /// Shows the classes above `class`, from the top down.
    #[inline(always)]
    fn each_above(&mut self, class: usize, mut visit: impl FnMut(&mut Node)) {
        let Some((_, path)) = self.ways[class].turns.split_last() else { return };
        let mut nodes = &mut self.tops[..];
        for turn in path {
            let node = &mut nodes[*turn as usize];
            visit(node);
            nodes = node.classes();
        }
    }

    #[inline(always)]
    fn node(&mut self, class: usize) -> Option<&mut Node> {
        node(&self.ways, &mut self.tops, class)
    }

    /// What waits in `class` and below.
    #[inline]
    pub fn backlog(&mut self, class: usize) -> Tally {
        self.node(class).map_or_else(Tally::default, |node| node.backlog())
    }

    /// Whether nothing waits in `class` and below.
    #[inline]
    pub fn is_empty(&mut self, class: usize) -> bool {
        self.backlog(class).packets == 0
    }

    /// Prefetches the node, the next packet and the parent of `leaf`, from the addresses last seen.
    #[inline(always)]
    pub(crate) fn prefetch(&self, leaf: usize) {
        let Way { parent, class, packet, .. } = &self.ways[leaf];
        class.prefetch();
        packet.prefetch();
        parent.prefetch();
    }

    /// Shows the classes at the top, in the scenario's order, as
    /// [`Discipline::each_child`](crate::discipline::Discipline::each_child) wants it.
    pub fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.tops.iter_mut().for_each(visit);
    }
}

/// The node of `class`, at the end of its way from the top.
#[inline(always)]
fn node<'a>(ways: &[Way], tops: &'a mut [Node], class: usize) -> Option<&'a mut Node> {
    let (last, path) = ways[class].turns.split_last()?;
    let mut nodes = tops;
    for turn in path {
        nodes = nodes[*turn as usize].classes();
    }
    nodes.get_mut(*last as usize)
}

/// Places and shares while trees are taken in.
struct Taken<Share> {
    places: Vec<Place>,
    ways: Vec<Way>,
    shares: Vec<Share>,
}

impl<Share: Send + 'static> Taken<Share> {
    /// Notes `node` and everything below; returns its place.
    fn take(
        &mut self,
        node: &mut Node,
        share: Share,
        parent: Option<usize>,
        turn: usize,
    ) -> Result<usize, Invalid> {
        let place = self.places.len();
        if place == Classes::MOST {
            let why = format!("names too many: there are at most {} classes in all", Classes::MOST);
            return Err(Invalid::new("children", why));
        }
        node.class_number = place as u32;
        let way = Way::new(parent.map(|parent| &self.ways[parent]), turn);
        self.ways.push(way);
        self.places.push(Place { parent, children: Vec::new(), height: 0 });
        self.shares.push(share);
        let Some(inner) = node.inside::<Inner>() else { return Ok(place) };
        let Some(shares) = inner.shares.take().and_then(|shares| shares.downcast::<Vec<Share>>().ok()) else {
            return Err(Invalid::new("children", "has an inner class that is another discipline's"));
        };
        for (turn, share) in shares.into_iter().enumerate() {
            let child = self.take(&mut node.classes()[turn], share, Some(place), turn)?;
            self.places[place].children.push(child);
        }
        Ok(place)
    }
}

#[cfg(test)]
mod tests;
