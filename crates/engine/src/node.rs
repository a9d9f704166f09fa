//! Node of the queue tree: a discipline together with the accounting that all disciplines need.
//!
//! ```text
//! parent or port                     Node                          discipline, children
//!  enqueue(packet) ----> classify, offered += 1, backlog += 1 ----> enqueue
//!  dequeue()       ----> backlog -= 1                        <---- packet, not before t, or empty
//!                        dropped, backlog: from the difference <----- drops in Context
//!                        of the drop account over the call
//! ```
//!
//! Every call passes through a [`Node`], which compares the account of drops before and after it. A drop
//! three levels down therefore corrects the backlog of every ancestor, and no discipline counts anything.
//! At every level, `offered + moved_in = sent + dropped + moved_out + backlog`.
//!
//! `sent` is not stored but computed from that equation, so the equation alone proves nothing: the
//! simulator and the compliance tests compare it with the packets that they really received, and a lost
//! packet shows as a backlog that a flush cannot empty.
//!
//! # The ways into and out of a node
//!
//! All ways leave the same counters. The first is the definition; the others do its parts, or fewer of them
//! where nothing can be dropped.
//!
//! ```text
//! way             used for                             enqueue                        dequeue
//! call            every node                           enqueue: classify, offered +,  dequeue: drops below,
//!                                                      backlog +, drops below, peak   backlog -
//! pass            a packet through an empty node       pass: both at once; the backlog stays zero
//! loop            inner classes on the path to a       account_enqueue; then, after   account_dequeue; after drops
//!                 leaf (Classes, decision 070)         drops or a peak,               account_drops_below
//!                                                      account_drops_below
//! FIFO at a root  a FIFO that has room, without        enqueue_in_fifo, pass_fifo     dequeue_from_fifo
//!                 context and comparison of drops
//! ```
//!
//! Tests run the same operations on two ways: `class::tests` the loop and calls, `port::tests` the FIFO and
//! calls; the compliance suite passes and calls.

mod account;
mod contents;

use std::sync::Arc;

use crate::classify::Classifier;
use crate::context::{Context, Dequeue, DropReason, Earliest, Invalid, PortConditions};
use crate::explanation::{Choice, Explanation, Foresight, why};
use crate::packet::{Header, Packet};
use crate::prefetch::prefetch;
use crate::units::{Bytes, Instant, Rate};

pub use account::{Band, Count, Counters, Tally};
pub(crate) use contents::{Contents, Erased, InnerClass};

/// Information on a child's next packet that its parent gets without dequeuing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peek {
    /// Length of the next packet.
    Length(Bytes),
    /// No packet may leave before this time.
    NotBefore(Instant),
    /// The child has no packet.
    Empty,
}

impl Peek {
    /// Returns the time before which no packet may leave, if it is known.
    #[inline]
    pub(crate) fn time(&self) -> Option<Instant> {
        if let Self::NotBefore(time) = self { Some(*time) } else { None }
    }
}

/// Node of the queue tree: a discipline with a name, counters and the classifier for its children.
///
/// Fields that most packets touch are stored here, in the order of their use, the others in `ColdState`: with
/// the parent's fields for the child a node takes three cache lines (decision 008).
#[repr(C)]
pub struct Node {
    offered: Count,
    backlog: Count,
    /// Largest backlog since [`Node::take_peak`].
    peak: Tally,
    id: u32,
    /// Index among the owner's classes (pre-order), if a hierarchical discipline owns this node.
    pub(crate) class_index: u32,
    classifier: Option<Box<Classifier>>,
    /// Packet that `peek` took out of the discipline and that was not sent yet. Part of the backlog; the
    /// discipline does not count it any more.
    held: Option<Packet>,
    contents: Contents,
    cold: Box<ColdState>,
    timed: bool,
}

/// State of a node that is rarely read or written, kept out of the cache lines that every packet touches.
struct ColdState {
    dropped: Count,
    moved_in: Count,
    moved_out: Count,
    marked_packets: u64,
    unclassified_packets: u64,
    kind: &'static str,
    name: Arc<str>,
}

impl Node {
    /// Creates a node of the given kind with these contents. `timed`: they change state by themselves.
    pub(crate) fn wrap(name: &str, kind: &'static str, mut timed: bool, mut contents: Contents) -> Self {
        contents.each_child(&mut |child| timed |= child.timed);
        let cold = ColdState {
            dropped: Count::default(),
            moved_in: Count::default(),
            moved_out: Count::default(),
            marked_packets: 0,
            unclassified_packets: 0,
            kind,
            name: name.into(),
        };
        Self {
            contents,
            held: None,
            offered: Count::default(),
            backlog: Count::default(),
            peak: Tally::default(),
            classifier: None,
            cold: Box::new(cold),
            id: 0,
            timed,
            class_index: 0,
        }
    }

    /// Returns the node with these rules for sorting packets to its children.
    #[must_use]
    pub fn with_classifier(mut self, classifier: Classifier) -> Self {
        self.classifier = Some(Box::new(classifier));
        self
    }

    /// Accepts a packet: classifies and counts it, and passes it to the discipline.
    #[inline(always)]
    pub fn enqueue(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        let bytes = self.admit(&mut packet, cx);
        self.backlog.add(bytes);
        let before = cx.drops.account();
        self.contents.enqueue(packet, cx);
        if cx.drops.account() != before {
            self.account_drops(before, cx);
        }
        self.update_peak(self.backlog.packets(), self.backlog.bytes());
    }

    /// Does [`enqueue`](Self::enqueue) for a FIFO that has room, which drops nothing and needs no context.
    /// Returns the packet, and has changed nothing, if the FIFO is full, or the node has another discipline
    /// or a classifier.
    #[inline(always)]
    pub(crate) fn enqueue_in_fifo(&mut self, mut packet: Packet) -> Option<Packet> {
        let Contents::Fifo(fifo) = &mut self.contents else { return Some(packet) };
        if self.classifier.is_some() || !fifo.has_room(&packet) {
            return Some(packet);
        }
        packet.position.enter(self.id);
        let bytes = packet.bytes();
        fifo.push(packet);
        self.offered.add(bytes);
        self.backlog.add(bytes);
        self.update_peak(self.backlog.packets(), self.backlog.bytes());
        None
    }

    /// First half of [`enqueue`](Self::enqueue) for an inner class: classifies the packet and adds it to
    /// `offered` and `backlog`. The owner then passes it to one of the children. Returns whether the
    /// backlog is a new peak; then, and if a packet was dropped below,
    /// [`account_drops_below`](Self::account_drops_below) must follow.
    ///
    /// The peak is not updated here: the packet may be dropped at once by the leaf, and then was never
    /// queued.
    #[inline(always)]
    pub(crate) fn account_enqueue(&mut self, packet: &mut Packet, cx: &mut Context<'_>) -> bool {
        let bytes = self.admit(packet, cx);
        self.backlog.add(bytes);
        self.backlog.packets() > self.peak.packets || self.backlog.bytes() > self.peak.bytes
    }

    /// Counterpart of [`dequeue`](Self::dequeue) for an inner class: removes a packet of this length, which
    /// one of its leaves sent, from the backlog.
    #[inline(always)]
    pub(crate) fn account_dequeue(&mut self, bytes: Bytes) {
        self.backlog.remove(bytes);
    }

    /// Second half of [`enqueue`](Self::enqueue) for an inner class: counts the packets dropped or marked
    /// below it since the drop account was `before`, then updates the peak.
    pub(crate) fn account_drops_below(&mut self, before: u64, cx: &Context<'_>) {
        self.account_drops(before, cx);
        self.update_peak(self.backlog.packets(), self.backlog.bytes());
    }

    /// Returns whether this is an inner class.
    #[inline(always)]
    pub(crate) fn is_class(&self) -> bool {
        matches!(self.contents, Contents::Class(_))
    }

    /// Returns the child classes of an inner class, and an empty slice for a discipline.
    #[inline(always)]
    pub(crate) fn classes(&mut self) -> &mut [Self] {
        self.contents.classes()
    }

    /// Returns the discipline if it is a `T`.
    pub(crate) fn downcast<T: 'static>(&mut self) -> Option<&mut T> {
        self.contents.as_any().downcast_mut()
    }

    #[inline(always)]
    fn update_peak(&mut self, packets: u64, bytes: Bytes) {
        if packets > self.peak.packets {
            self.peak.packets = packets;
        }
        if bytes > self.peak.bytes {
            self.peak.bytes = bytes;
        }
    }

    /// Returns the packet that leaves now, or the time at which to call again.
    #[inline(always)]
    pub fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        if self.held.is_some()
            && let Some(packet) = self.held.take()
        {
            self.backlog.remove(packet.bytes());
            return Dequeue::Packet(packet);
        }
        match self.dequeue_discipline(cx) {
            Dequeue::Packet(packet) => {
                self.backlog.remove(packet.bytes());
                Dequeue::Packet(packet)
            }
            refused => refused,
        }
    }

    /// Does [`dequeue`](Self::dequeue) for a FIFO, which needs no context. Returns `None` if the FIFO is
    /// empty, or the node has another discipline or holds a packet that was peeked at.
    #[inline(always)]
    pub(crate) fn dequeue_from_fifo(&mut self) -> Option<Packet> {
        let Contents::Fifo(fifo) = &mut self.contents else { return None };
        if self.held.is_some() {
            return None;
        }
        let packet = fifo.pop()?;
        self.backlog.remove(packet.bytes());
        Some(packet)
    }

    /// Does [`pass`](Self::pass) for a FIFO that has room. Returns false, and has changed nothing, in the
    /// cases of [`enqueue_in_fifo`](Self::enqueue_in_fifo).
    #[inline(always)]
    pub(crate) fn pass_fifo(&mut self, packet: &mut Packet) -> bool {
        let Contents::Fifo(fifo) = &self.contents else { return false };
        if self.classifier.is_some() || !fifo.has_room(packet) {
            return false;
        }
        packet.position.enter(self.id);
        let bytes = packet.bytes();
        self.offered.add(bytes);
        // One packet in, one out: the backlog stays at zero, but its peak was this packet.
        self.update_peak(1, bytes);
        true
    }

    /// Does [`enqueue`](Self::enqueue), then [`dequeue`](Self::dequeue), for an [empty](Self::is_empty)
    /// node.
    #[inline(always)]
    pub fn pass(&mut self, mut packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        debug_assert!(self.is_empty(), "only an empty node can be passed through");
        let bytes = self.admit(&mut packet, cx);
        let before = cx.drops.account();
        let dequeued = self.contents.pass(packet, cx);
        if matches!(dequeued, Dequeue::Packet(_)) && cx.drops.account() == before {
            // One packet in, one out: the backlog stays at zero, but its peak was this packet.
            self.update_peak(1, bytes);
        } else {
            self.account_pass_slow(bytes, before, &dequeued, cx);
        }
        dequeued
    }

    /// Accounts for a packet that was queued, dropped or marked by [`pass`](Self::pass).
    #[inline(never)]
    fn account_pass_slow(&mut self, bytes: Bytes, before: u64, dequeued: &Dequeue, cx: &Context<'_>) {
        self.backlog.add(bytes);
        if cx.drops.account() != before {
            self.account_drops(before, cx);
        }
        // The peak is taken before the packet leaves, as in `enqueue` followed by `dequeue`.
        self.update_peak(self.backlog.packets(), self.backlog.bytes());
        if let Dequeue::Packet(packet) = dequeued {
            self.backlog.remove(packet.bytes());
        }
    }

    /// Returns the length of the packet that [`dequeue`](Self::dequeue) gives next. Takes the packet out of
    /// the discipline and holds it. Known cost, as in Linux: a held packet can neither be overtaken nor be
    /// dropped by its discipline.
    #[inline]
    pub fn peek(&mut self, cx: &mut Context<'_>) -> Peek {
        if let Some(packet) = &self.held {
            return Peek::Length(packet.bytes());
        }
        match self.dequeue_discipline(cx) {
            Dequeue::Packet(packet) => {
                let bytes = packet.bytes();
                self.held = Some(packet);
                Peek::Length(bytes)
            }
            Dequeue::NotBefore(time) => Peek::NotBefore(time),
            Dequeue::Empty => Peek::Empty,
        }
    }

    /// Drops the packet that [`dequeue`](Self::dequeue) would return, with the reason that `reason` computes
    /// from it. Parents use it to make room in their children. The packet counts as dropped here and in the
    /// ancestors, and as sent in the nodes below. Returns `false` if no packet can leave now.
    pub fn evict(&mut self, cx: &mut Context<'_>, reason: impl FnOnce(&Header) -> DropReason) -> bool {
        let packet = match self.held.take() {
            Some(packet) => packet,
            None => match self.dequeue_discipline(cx) {
                Dequeue::Packet(packet) => packet,
                Dequeue::NotBefore(_) | Dequeue::Empty => return false,
            },
        };
        let before = cx.drops.account();
        let reason = reason(&packet);
        cx.drop(packet, reason);
        self.account_drops(before, cx);
        true
    }

    #[inline(always)]
    fn dequeue_discipline(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let before = cx.drops.account();
        let dequeued = self.contents.dequeue(cx);
        if cx.drops.account() != before {
            self.account_drops(before, cx);
        }
        debug_assert!(
            !matches!(dequeued, Dequeue::NotBefore(time) if time <= cx.now),
            "`{}` says not before a time that has come",
            self.cold.kind
        );
        dequeued
    }

    #[inline(always)]
    fn admit(&mut self, packet: &mut Packet, cx: &mut Context<'_>) -> Bytes {
        packet.position.enter(self.id);
        let bytes = packet.bytes();
        self.offered.add(bytes);
        if let Some(classifier) = &self.classifier {
            let class = classifier.classify(packet, cx.headers);
            packet.position.turn_to(class.child);
            if class.unclassified {
                self.cold.unclassified_packets += 1;
            }
        }
        bytes
    }

    #[cold]
    #[inline(never)]
    fn account_drops(&mut self, before: u64, cx: &Context<'_>) {
        let (dropped, marked) = cx.drops.since(before);
        for packet in dropped {
            self.cold.dropped.add(packet.bytes());
            self.backlog.remove(packet.bytes());
        }
        self.cold.marked_packets += marked;
    }

    /// Calls `visit` with each child.
    pub(crate) fn each_direct(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        self.contents.each_child(visit);
    }

    /// Returns whether at least two children hold packets.
    pub(crate) fn is_contended(&mut self) -> bool {
        if self.backlog.packets() < 2 {
            return false;
        }
        let mut busy = 0;
        self.contents.each_child(&mut |child| busy += usize::from(!child.is_empty()));
        busy > 1
    }

    /// Returns the time at which the state of this node or of one below changes by itself.
    pub fn next_timer(&mut self) -> Option<Instant> {
        if !self.timed {
            return None;
        }
        let mut earliest = Earliest(self.contents.next_timer());
        self.contents.each_child(&mut |child| earliest.add(child.next_timer()));
        earliest.0
    }

    /// Runs all timers that are due, here and below.
    pub fn on_timer(&mut self, cx: &mut Context<'_>) {
        if !self.timed {
            return;
        }
        let before = cx.drops.account();
        if self.contents.next_timer().is_some_and(|time| time <= cx.now) {
            self.contents.on_timer(cx);
        }
        self.contents.each_child(&mut |child| child.on_timer(cx));
        if cx.drops.account() != before {
            self.account_drops(before, cx);
        }
    }

    /// Passes the rate of the port to the disciplines that follow it, here and below.
    pub(crate) fn on_port_rate(&mut self, rate: Option<Rate>, cx: &mut Context<'_>) {
        let before = cx.drops.account();
        self.contents.on_port_rate(rate, cx);
        if cx.drops.account() != before {
            self.account_drops(before, cx);
        }
    }

    /// Removes all packets, here and below, and counts them as moved out.
    pub fn flush(&mut self, out: &mut Vec<Packet>) {
        let from = out.len();
        out.extend(self.held.take());
        self.contents.flush(out);
        self.contents.each_child(&mut |child| child.flush(out));
        for packet in &out[from..] {
            self.backlog.remove(packet.bytes());
            self.cold.moved_out.add(packet.bytes());
        }
    }

    /// Calls `change` with the discipline if it is a `T`, and accounts for the packets that it drops.
    pub(crate) fn change<T: 'static, R>(
        &mut self,
        cx: &mut Context<'_>,
        change: impl FnOnce(&mut T, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let discipline = self.contents.as_any().downcast_mut::<T>()?;
        let before = cx.drops.account();
        let result = change(discipline, cx);
        if cx.drops.account() != before {
            self.account_drops(before, cx);
        }
        Some(result)
    }

    /// Finds the node called `name`, here or below, and applies `what` to it. `what` must not move packets
    /// other than by dropping them.
    pub fn find<R>(
        &mut self,
        name: &str,
        cx: &mut Context<'_>,
        what: &mut dyn FnMut(&mut Node, &mut Context<'_>) -> R,
    ) -> Option<R> {
        if &*self.cold.name == name {
            return Some(what(self, cx));
        }
        let before = cx.drops.account();
        let mut found = None;
        self.contents.each_child(&mut |child| {
            if found.is_none() {
                found = child.find(name, cx, what);
            }
        });
        if cx.drops.account() != before {
            self.account_drops(before, cx);
        }
        found
    }

    /// Calls `visit` with this node and every node below it, parents first, with the depth.
    pub fn each(&mut self, visit: &mut dyn FnMut(&mut Node, usize)) {
        self.each_below(0, visit);
    }

    /// Calls `visit` with the nodes of [`each`](Self::each) whose numbers, counted in that order, are in
    /// `range`. `at` is the number of this node, and afterwards that of the next node in the order.
    pub(crate) fn each_in(
        &mut self,
        at: &mut usize,
        range: &core::ops::Range<usize>,
        visit: &mut dyn FnMut(&mut Node),
    ) {
        if *at >= range.end {
            return;
        }
        if *at >= range.start {
            visit(self);
        }
        *at += 1;
        self.contents.each_child(&mut |child| child.each_in(at, range, visit));
    }

    fn each_below(&mut self, depth: usize, visit: &mut dyn FnMut(&mut Node, usize)) {
        visit(self, depth);
        self.contents.each_child(&mut |child| child.each_below(depth + 1, visit));
    }

    /// Prefetches the node (three cache lines), or, if `is_node_cached`, its next packet. The node holds the
    /// address of the packet, so that the second call must follow the first at a distance.
    #[inline(always)]
    pub(crate) fn prefetch(&self, is_node_cached: bool) {
        if is_node_cached {
            if let Some(held) = &self.held {
                prefetch::<Header>(held);
            }
            self.contents.prefetch();
        } else {
            prefetch(self);
        }
    }

    /// Returns the address of the discipline, unless it is in the node itself.
    #[inline(always)]
    pub(crate) fn boxed(&self) -> Option<*const u8> {
        self.contents.boxed()
    }

    /// Returns the packet that leaves next if that is known without calling the discipline: a held packet,
    /// or the first of a FIFO.
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&Packet> {
        match (&self.held, &self.contents) {
            (Some(held), _) => Some(held),
            (None, Contents::Fifo(fifo)) => fifo.front(),
            _ => None,
        }
    }

    /// Returns whether no packet is queued here or below.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.backlog.packets() == 0
    }

    /// Returns the number and bytes of the packets queued here and below.
    #[inline]
    pub fn backlog(&self) -> Tally {
        self.backlog.tally()
    }

    /// Returns the counters since the start.
    ///
    /// `sent` is computed: packets that arrived and are neither queued, nor dropped, nor moved out. A
    /// packet that a discipline lost therefore shows as a backlog that a flush does not empty.
    pub fn counters(&self) -> Counters {
        let gone = |count: fn(Count) -> u64| {
            count(self.offered)
                .wrapping_sub(count(self.cold.dropped))
                .wrapping_add(count(self.cold.moved_in))
                .wrapping_sub(count(self.cold.moved_out))
                .wrapping_sub(count(self.backlog))
        };
        Counters {
            offered: self.offered.tally(),
            sent: Tally { packets: gone(Count::packets), bytes: Bytes(gone(|count| count.bytes().0)) },
            dropped: self.cold.dropped.tally(),
            moved_in: self.cold.moved_in.tally(),
            moved_out: self.cold.moved_out.tally(),
            backlog: self.backlog.tally(),
            marked_packets: self.cold.marked_packets,
            unclassified_packets: self.cold.unclassified_packets,
        }
    }

    /// Returns the largest backlog since the last call.
    pub fn take_peak(&mut self) -> Tally {
        core::mem::replace(&mut self.peak, self.backlog.tally())
    }

    /// Returns the name in the scenario.
    pub fn name(&self) -> &Arc<str> {
        &self.cold.name
    }

    /// Returns the kind of the discipline.
    pub fn kind(&self) -> &'static str {
        self.cold.kind
    }

    /// Returns the index in the port.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns whether this node or one below changes state by itself.
    pub(crate) fn is_timed(&self) -> bool {
        self.timed
    }

    /// Calls `emit` with the discipline's internal quantities.
    pub fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.contents.gauges(emit);
    }

    /// Explains what [`dequeue`](Self::dequeue) will do at this time, and changes nothing.
    pub fn explain(&self, cx: &mut Foresight<'_>) -> Explanation {
        let mut to = Explanation::new(self.cold.name.clone(), self.cold.kind);
        self.contents.explain(cx, &mut to);
        if let Some(held) = &self.held {
            (to.drops, to.below) = (Vec::new(), None);
            to.send_own(None, held, why!["the parent has looked at this packet: it leaves first"]);
        } else if cx.is_ambiguous() {
            to.choice = Choice::Unknown;
        }
        to
    }

    /// Returns the child classes of an inner class, to read them.
    pub(crate) fn classes_ref(&self) -> &[Self] {
        self.contents.classes_ref()
    }

    /// Calls `emit` with the bands within the discipline.
    pub fn bands(&self, emit: &mut dyn FnMut(&'static str, Band)) {
        self.contents.bands(emit);
    }

    /// Reports parameters that the discipline accepted but that are probably mistakes: see
    /// [`Discipline::doubts`](crate::discipline::Discipline::doubts). A parameter of a child is reported with
    /// [`Invalid::child`].
    pub fn doubts(&self, port: PortConditions, tell: &mut dyn FnMut(Invalid)) {
        self.contents.doubts(port, tell);
    }

    /// Returns the largest backlog since the last [`take_peak`](Self::take_peak), and keeps it.
    pub(crate) fn peak(&self) -> Tally {
        self.peak
    }

    /// Returns [`Counters::offered`].
    pub(crate) fn offered(&self) -> Tally {
        self.offered.tally()
    }

    /// Counts the packets offered since `before` as moved in from the previous tree.
    pub(crate) fn count_moved_in(&mut self, before: Tally) {
        let offered = self.offered.tally();
        let moved = self.cold.moved_in.tally();
        self.offered = before.into();
        self.cold.moved_in = Tally {
            packets: moved.packets + (offered.packets - before.packets),
            bytes: moved.bytes + Bytes(offered.bytes.0 - before.bytes.0),
        }
        .into();
    }

    /// Sets the index in the port, and adopts the counters and the peak of the node of the same name in the
    /// previous tree.
    pub(crate) fn restore_counters(&mut self, id: u32, past: Counters, peak: Tally) {
        self.id = id;
        self.peak = peak;
        self.offered = past.offered.into();
        self.cold.dropped = past.dropped.into();
        self.cold.moved_in = past.moved_in.into();
        self.cold.moved_out = past.moved_out.into();
        self.backlog = past.backlog.into();
        self.cold.marked_packets = past.marked_packets;
        self.cold.unclassified_packets = past.unclassified_packets;
    }
}

#[cfg(test)]
mod tests;
