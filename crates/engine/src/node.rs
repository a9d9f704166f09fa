//! One place in the tree of queues: a discipline and the bookkeeping all of them need.
//!
//! Every call passes through a [`Node`], which compares the account of drops before and after. So a drop
//! three levels down leaves every ancestor's backlog right, and no discipline counts anything:
//! `offered = sent + dropped + moved + backlog`, at every level, always.

use core::any::Any;
use std::sync::Arc;

use crate::classify::Classifier;
use crate::discipline::{Child, Context, Dequeue, Discipline, DropReason, Invalid};
use crate::packet::{Header, Packet};
use crate::units::{Bytes, Instant};

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of packets.
    pub packets: u64,
    /// Their frame bytes.
    pub bytes: Bytes,
}

impl Tally {
    /// Wraps where it overflows, which no run can reach (2^64 bytes are five years at 800 Gbit/s): packets
    /// and bytes are then one addition of two lanes. What can go wrong, taking out more than there is, is
    /// checked by [`remove`](Self::remove).
    #[inline(always)]
    fn add(&mut self, bytes: Bytes) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes.0 = self.bytes.0.wrapping_add(bytes.0);
    }

    #[inline(always)]
    fn remove(&mut self, bytes: Bytes) {
        self.packets -= 1;
        self.bytes -= bytes;
    }
}

/// What went through a node since the start. Every field but the backlog only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Came in.
    pub offered: Tally,
    /// Left by the front.
    pub sent: Tally,
    /// Dropped here or below.
    pub dropped: Tally,
    /// Taken along when the tree was replaced.
    pub moved: Tally,
    /// Waiting now.
    pub backlog: Tally,
    /// Marked with congestion experienced, here or below.
    pub marked_packets: u64,
    /// Taken by no child's `match`, and so given to the last child.
    pub unclassified_packets: u64,
}

impl Counters {
    /// Whether every packet and byte is accounted for.
    pub fn balance(&self) -> bool {
        let out = |get: fn(&Tally) -> u64| {
            get(&self.sent) + get(&self.dropped) + get(&self.moved) + get(&self.backlog)
        };
        self.offered.packets == out(|tally| tally.packets)
            && self.offered.bytes.0 == out(|tally| tally.bytes.0)
    }
}

/// What a parent may know of its child's next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peek {
    /// Its length.
    Length(Bytes),
    /// None may leave before this time.
    NotBefore(Instant),
    /// There is none.
    Empty,
}

/// The object-safe half of [`Discipline`], written once for all of them; and the inside of an inner class.
pub(crate) trait Erased: Send {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>);
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue;
    /// Enqueue, then dequeue: an idle link costs one virtual call a packet.
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue;
    fn flush(&mut self, out: &mut Vec<Packet>);
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node));
    fn next_timer(&self) -> Option<Instant>;
    fn on_timer(&mut self, cx: &mut Context<'_>);
    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64));
    fn as_any(&mut self) -> &mut dyn Any;
    /// The classes of an inner class. What a discipline owns is its own.
    fn classes(&mut self) -> &mut [Node] {
        &mut []
    }
}

impl<D: Discipline> Erased for D {
    #[inline]
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        D::enqueue(self, packet, cx);
    }
    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        D::dequeue(self, cx)
    }
    #[inline]
    fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        D::enqueue(self, packet, cx);
        D::dequeue(self, cx)
    }
    fn flush(&mut self, out: &mut Vec<Packet>) {
        D::flush(self, out);
    }
    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        D::each_child(self, visit);
    }
    fn next_timer(&self) -> Option<Instant> {
        D::next_timer(self)
    }
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        D::on_timer(self, cx);
    }
    fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        D::gauges(self, emit);
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// A discipline in its place: named, counted, and with its packets classified for it.
pub struct Node {
    discipline: Box<dyn Erased>,
    /// Taken from the discipline by `peek`, not yet sent. Only this struct knows of it.
    held: Option<Packet>,
    counters: Counters,
    /// Largest backlog since [`Node::take_peak`].
    peak: Tally,
    classifier: Option<Box<Classifier>>,
    id: u16,
    timed: bool,
    kind: &'static str,
    name: Arc<str>,
}

impl Node {
    /// A node called `name` whose discipline has these parameters and children.
    pub fn new<D: Discipline>(
        name: &str,
        config: D::Config,
        children: Vec<Child<D::Share>>,
    ) -> Result<Self, Invalid> {
        Ok(Self::around(name, D::KIND, D::TIMED, Box::new(D::new(config, children)?)))
    }

    /// A node called `name` around this inside, which is of this kind; `timed`: it changes state by itself.
    pub(crate) fn around(
        name: &str,
        kind: &'static str,
        mut timed: bool,
        mut discipline: Box<dyn Erased>,
    ) -> Self {
        discipline.each_child(&mut |child| timed |= child.timed);
        Self {
            discipline,
            held: None,
            counters: Counters::default(),
            peak: Tally::default(),
            classifier: None,
            id: 0,
            timed,
            kind,
            name: name.into(),
        }
    }

    /// The same node, sorting arriving packets to its children by these rules.
    #[must_use]
    pub fn with_classifier(mut self, classifier: Classifier) -> Self {
        self.classifier = Some(Box::new(classifier));
        self
    }

    /// Takes a packet in.
    #[inline(always)]
    pub fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let (packet, bytes) = self.admit(packet, cx);
        self.counters.backlog.add(bytes);
        let before = cx.drops.account();
        self.discipline.enqueue(packet, cx);
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
        self.note_peak();
    }

    /// [`enqueue`](Self::enqueue) of an inner class, whose owner brings the packet to one of its classes.
    #[inline]
    pub(crate) fn enqueue_through<R>(
        &mut self,
        packet: Packet,
        cx: &mut Context<'_>,
        below: impl FnOnce(&mut [Self], Packet, &mut Context<'_>) -> R,
    ) -> R {
        let (packet, bytes) = self.admit(packet, cx);
        self.counters.backlog.add(bytes);
        let before = cx.drops.account();
        let done = below(self.discipline.classes(), packet, cx);
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
        self.note_peak();
        done
    }

    /// [`dequeue`](Self::dequeue) of an inner class, whose owner says which of its classes sends.
    #[inline]
    pub(crate) fn dequeue_through(
        &mut self,
        cx: &mut Context<'_>,
        below: impl FnOnce(&mut [Self], &mut Context<'_>) -> Dequeue,
    ) -> Dequeue {
        let before = cx.drops.account();
        let dequeued = below(self.discipline.classes(), cx);
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
        if let Dequeue::Packet(packet) = &dequeued {
            self.leave(packet.bytes());
        }
        dequeued
    }

    /// [`peek`](Self::peek) of one of an inner class's classes.
    #[inline]
    pub(crate) fn peek_through(
        &mut self,
        cx: &mut Context<'_>,
        below: impl FnOnce(&mut [Self], &mut Context<'_>) -> Peek,
    ) -> Peek {
        let before = cx.drops.account();
        let peeked = below(self.discipline.classes(), cx);
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
        peeked
    }

    /// The classes of an inner class; none where it is a discipline's.
    pub(crate) fn classes(&mut self) -> &mut [Self] {
        self.discipline.classes()
    }

    /// What is inside, where it is a `T`.
    pub(crate) fn inside<T: 'static>(&mut self) -> Option<&mut T> {
        self.discipline.as_any().downcast_mut()
    }

    #[inline(always)]
    fn note_peak(&mut self) {
        if self.counters.backlog.packets > self.peak.packets {
            self.peak.packets = self.counters.backlog.packets;
        }
        if self.counters.backlog.bytes > self.peak.bytes {
            self.peak.bytes = self.counters.backlog.bytes;
        }
    }

    /// Gives the packet that leaves now, or says when to ask again.
    #[inline(always)]
    pub fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        if let Some(packet) = self.held.take() {
            self.leave(packet.bytes());
            return Dequeue::Packet(packet);
        }
        let dequeued = self.dequeue_discipline(cx);
        if let Dequeue::Packet(packet) = &dequeued {
            self.leave(packet.bytes());
        }
        dequeued
    }

    /// [`enqueue`](Self::enqueue), then [`dequeue`](Self::dequeue), for a node that [is empty](Self::is_empty).
    #[inline(always)]
    pub fn pass(&mut self, packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        debug_assert!(self.is_empty(), "only an empty node can be passed through");
        let (packet, bytes) = self.admit(packet, cx);
        self.counters.backlog.add(bytes);
        let before = cx.drops.account();
        let dequeued = self.discipline.pass(packet, cx);
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
        // Before it leaves: what only passes through was here as well.
        self.note_peak();
        if let Dequeue::Packet(packet) = &dequeued {
            self.leave(packet.bytes());
        }
        dequeued
    }

    /// The length of the packet that [`dequeue`](Self::dequeue) gives next. It takes the packet out of the
    /// discipline and holds it: known cost, as in Linux, a held packet cannot be overtaken or re-judged.
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

    /// Drops the packet that [`dequeue`](Self::dequeue) would give, for the reason that `reason` finds in it:
    /// how a parent makes room in its children. It is counted as dropped here and above, and not as sent;
    /// a node below this one gave it away and counts it as sent. `false` where there is none to be had now.
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
        self.settle(before, cx);
        true
    }

    #[inline(always)]
    fn dequeue_discipline(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let before = cx.drops.account();
        let dequeued = self.discipline.dequeue(cx);
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
        debug_assert!(
            !matches!(dequeued, Dequeue::NotBefore(time) if time <= cx.now),
            "`{}` says not before a time that has come",
            self.kind
        );
        dequeued
    }

    #[inline(always)]
    fn admit(&mut self, mut packet: Packet, cx: &mut Context<'_>) -> (Packet, Bytes) {
        packet.node = self.id;
        let bytes = packet.bytes();
        self.counters.offered.add(bytes);
        if let Some(classifier) = &self.classifier {
            let class = classifier.classify(&packet, cx.headers);
            packet.class = class.child;
            self.counters.unclassified_packets += u64::from(class.unclassified);
        }
        (packet, bytes)
    }

    #[inline(always)]
    fn leave(&mut self, bytes: Bytes) {
        self.counters.backlog.remove(bytes);
        self.counters.sent.add(bytes);
    }

    #[cold]
    #[inline(never)]
    fn settle(&mut self, before: u64, cx: &Context<'_>) {
        let (dropped, marked) = cx.drops.since(before);
        for packet in dropped {
            self.counters.dropped.add(packet.bytes());
            self.counters.backlog.remove(packet.bytes());
        }
        self.counters.marked_packets += marked;
    }

    /// When its state, or that of a node below, next changes by itself.
    pub fn next_timer(&mut self) -> Option<Instant> {
        if !self.timed {
            return None;
        }
        let mut earliest = self.discipline.next_timer();
        self.discipline.each_child(&mut |child| {
            if let Some(time) = child.next_timer() {
                earliest = Some(earliest.map_or(time, |known| known.min(time)));
            }
        });
        earliest
    }

    /// Runs every timer that is due, here and below.
    pub fn on_timer(&mut self, cx: &mut Context<'_>) {
        if !self.timed {
            return;
        }
        let before = cx.drops.account();
        if self.discipline.next_timer().is_some_and(|time| time <= cx.now) {
            self.discipline.on_timer(cx);
        }
        self.discipline.each_child(&mut |child| child.on_timer(cx));
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
    }

    /// Takes every packet out, here and below, and counts them as moved.
    pub fn flush(&mut self, out: &mut Vec<Packet>) {
        let from = out.len();
        out.extend(self.held.take());
        self.discipline.flush(out);
        self.discipline.each_child(&mut |child| child.flush(out));
        for packet in &out[from..] {
            self.counters.backlog.remove(packet.bytes());
            self.counters.moved.add(packet.bytes());
        }
    }

    /// Gives the discipline new parameters, and new shares for its children.
    ///
    /// # Errors
    /// What the discipline refuses; or a field `kind` where the node is not of this kind. Nothing has
    /// changed then.
    pub fn reconfigure<D: Discipline>(
        &mut self,
        config: D::Config,
        shares: Vec<D::Share>,
        cx: &mut Context<'_>,
    ) -> Result<(), Invalid> {
        let kind = self.kind;
        let Some(discipline) = self.discipline.as_any().downcast_mut::<D>() else {
            return Err(Invalid::new("kind", format!("is `{kind}` here, not `{}`", D::KIND)));
        };
        let before = cx.drops.account();
        let result = discipline.reconfigure(config, shares, cx);
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
        result
    }

    /// Finds the node called `name`, here or below, and does `what` with it. `what` must not move packets
    /// other than by dropping them.
    pub fn find<R>(
        &mut self,
        name: &str,
        cx: &mut Context<'_>,
        what: &mut dyn FnMut(&mut Node, &mut Context<'_>) -> R,
    ) -> Option<R> {
        if &*self.name == name {
            return Some(what(self, cx));
        }
        let before = cx.drops.account();
        let mut found = None;
        self.discipline.each_child(&mut |child| {
            if found.is_none() {
                found = child.find(name, cx, what);
            }
        });
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
        found
    }

    /// Shows this node and every node below it, parents first, with its depth.
    pub fn each(&mut self, visit: &mut dyn FnMut(&mut Node, usize)) {
        self.each_below(0, visit);
    }

    fn each_below(&mut self, depth: usize, visit: &mut dyn FnMut(&mut Node, usize)) {
        visit(self, depth);
        self.discipline.each_child(&mut |child| child.each_below(depth + 1, visit));
    }

    /// Whether no packet waits here or below.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.counters.backlog.packets == 0
    }

    /// What waits, here and below.
    #[inline]
    pub fn backlog(&self) -> Tally {
        self.counters.backlog
    }

    /// What went through since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The largest backlog since this was last asked.
    pub fn take_peak(&mut self) -> Tally {
        core::mem::replace(&mut self.peak, self.counters.backlog)
    }

    /// Its name in the scenario.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its discipline's kind.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Its number in the port.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Whether this node or one below changes state by itself.
    pub(crate) fn is_timed(&self) -> bool {
        self.timed
    }

    /// The discipline's internal quantities.
    pub fn gauges(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        self.discipline.gauges(emit);
    }

    /// Takes a place in a port: its number, and the counters of the node of that name before it.
    pub(crate) fn settle_in(&mut self, id: u16, past: Counters) {
        self.id = id;
        self.counters = past;
    }
}
