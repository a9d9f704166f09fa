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

use crate::discipline::{Child, Context, Dequeue, DropReason, Invalid};
use crate::node::{Erased, Node, Peek, Tally};
use crate::packet::Packet;
use crate::queue::tournament;
use crate::units::Instant;

/// How scenarios spell the kind of an inner class.
pub const KIND: &str = "class";

/// The inside of an inner class.
struct Inner<Share> {
    children: Vec<Node>,
    /// What the owner must know of each child, until it takes them.
    shares: Vec<Share>,
}

impl<Share: Send + 'static> Erased for Inner<Share> {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let place = packet.class.place().min(self.children.len() - 1);
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
    fn as_any(&mut self) -> &mut dyn core::any::Any {
        self
    }
    fn classes(&mut self) -> &mut [Node] {
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
        let (shares, children) = children.into_iter().map(|child| (child.share, child.node)).unzip();
        Ok(Self::around(name, KIND, false, Box::new(Inner { children, shares })))
    }
}

/// Where a class stands.
struct Place {
    parent: Option<usize>,
    /// The turns that lead to it from the top: its place among its siblings at each level.
    path: Box<[u32]>,
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
        let mut taken = Taken { places: Vec::new(), shares: Vec::new() };
        let mut tops = Vec::with_capacity(children.len());
        let mut top_places = Vec::with_capacity(children.len());
        for (turn, mut child) in children.into_iter().enumerate() {
            top_places.push(taken.take(&mut child.node, child.share, None, turn)?);
            tops.push(child.node);
        }
        let Taken { mut places, shares } = taken;
        // Children stand after their parents, so that from the back every child comes first.
        for class in (0..places.len()).rev() {
            if let Some(parent) = places[class].parent {
                places[parent].height = places[parent].height.max(places[class].height + 1);
            }
        }
        Ok((Self { tops, top_places, places }, shares))
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
    pub fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) -> (usize, bool) {
        let turn = packet.class.place().min(self.tops.len() - 1);
        enqueue(&mut self.tops[turn], self.top_places[turn], &self.places, packet, cx)
    }

    /// Gives the packet that `leaf` sends next, or says why there is none; and whether the leaf is empty then.
    #[inline]
    pub fn dequeue(&mut self, leaf: usize, cx: &mut Context<'_>) -> (Dequeue, bool) {
        dequeue(&mut self.tops, &self.places[leaf].path, cx)
    }

    /// What the owner may know of the packet that [`dequeue`](Self::dequeue) gives: see [`Node::peek`].
    #[inline]
    pub fn peek(&mut self, leaf: usize, cx: &mut Context<'_>) -> Peek {
        peek(&mut self.tops, &self.places[leaf].path, cx)
    }

    /// Drops the packet that `leaf` would send next: see [`Node::evict`]. Returns whether there was one.
    pub fn evict(&mut self, leaf: usize, cx: &mut Context<'_>, reason: DropReason) -> bool {
        evict(&mut self.tops, &self.places[leaf].path, cx, reason)
    }

    /// What waits in `class` and below.
    #[inline]
    pub fn backlog(&mut self, class: usize) -> Tally {
        let mut nodes = &mut self.tops[..];
        let Some((last, path)) = self.places[class].path.split_last() else { return Tally::default() };
        for turn in path {
            nodes = nodes[*turn as usize].classes();
        }
        nodes[*last as usize].backlog()
    }

    /// Whether nothing waits in `class` and below.
    #[inline]
    pub fn is_empty(&mut self, class: usize) -> bool {
        self.backlog(class).packets == 0
    }

    /// Shows the classes at the top, in the scenario's order, as
    /// [`Discipline::each_child`](crate::discipline::Discipline::each_child) wants it.
    pub fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.tops.iter_mut().for_each(visit);
    }
}

/// Places and shares while trees are taken in.
struct Taken<Share> {
    places: Vec<Place>,
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
        let above = parent.map_or(&[][..], |parent| &self.places[parent].path);
        let path = above.iter().copied().chain([turn as u32]).collect();
        self.places.push(Place { parent, path, children: Vec::new(), height: 0 });
        self.shares.push(share);
        let shares = node.inside::<Inner<Share>>().map(|inner| core::mem::take(&mut inner.shares));
        for (turn, share) in shares.into_iter().flatten().enumerate() {
            let child = self.take(&mut node.classes()[turn], share, Some(place), turn)?;
            self.places[place].children.push(child);
        }
        Ok(place)
    }
}

fn enqueue(
    node: &mut Node,
    class: usize,
    places: &[Place],
    packet: Packet,
    cx: &mut Context<'_>,
) -> (usize, bool) {
    let below = &places[class].children;
    if below.is_empty() {
        node.enqueue(packet, cx);
        return (class, node.is_empty());
    }
    node.enqueue_through(packet, cx, |classes, packet, cx| {
        let turn = packet.class.place().min(below.len() - 1);
        enqueue(&mut classes[turn], below[turn], places, packet, cx)
    })
}

fn dequeue(nodes: &mut [Node], path: &[u32], cx: &mut Context<'_>) -> (Dequeue, bool) {
    match *path {
        [] => (Dequeue::Empty, true),
        [turn] => {
            let node = &mut nodes[turn as usize];
            let dequeued = node.dequeue(cx);
            (dequeued, node.is_empty())
        }
        [turn, ref below @ ..] => {
            nodes[turn as usize].dequeue_through(cx, |classes, cx| dequeue(classes, below, cx))
        }
    }
}

fn peek(nodes: &mut [Node], path: &[u32], cx: &mut Context<'_>) -> Peek {
    match *path {
        [] => Peek::Empty,
        [turn] => nodes[turn as usize].peek(cx),
        [turn, ref below @ ..] => {
            nodes[turn as usize].peek_through(cx, |classes, cx| peek(classes, below, cx))
        }
    }
}

fn evict(nodes: &mut [Node], path: &[u32], cx: &mut Context<'_>, reason: DropReason) -> bool {
    match *path {
        [] => false,
        [turn] => nodes[turn as usize].evict(cx, |_| reason),
        [turn, ref below @ ..] => {
            nodes[turn as usize].peek_through(cx, |classes, cx| evict(classes, below, cx, reason))
        }
    }
}

#[cfg(test)]
mod tests;
