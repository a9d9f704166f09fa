//! One place in the tree of queues: a discipline and the bookkeeping all of them need.
//!
//! Every call passes through a [`Node`], which compares the account of drops before and after. So a drop
//! three levels down leaves every ancestor's backlog right, and no discipline counts anything:
//! `offered + moved_in = sent + dropped + moved_out + backlog`, at every level, always.

mod account;
mod inside;

use std::sync::Arc;

use crate::classify::Classifier;
use crate::discipline::{Child, Context, Dequeue, Discipline, DropReason, Invalid};
use crate::packet::{ChildNumber, Header, Packet};
use crate::prefetch::prefetch;
use crate::units::{Bytes, Instant, Rate};

pub use account::{Count, Counters, Tally};
pub(crate) use inside::Erased;
use inside::Inside;

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

/// A discipline in its place: named, counted, and with its packets classified for it.
///
/// What every packet touches lies here; what is rarely looked at, elsewhere.
pub struct Node {
    discipline: Inside,
    /// Taken from the discipline by `peek`, not yet sent. Only this struct knows of it.
    held: Option<Packet>,
    offered: Count,
    backlog: Count,
    /// Largest backlog since [`Node::take_peak`].
    peak: Tally,
    classifier: Option<Box<Classifier>>,
    about: Box<About>,
    id: u16,
    timed: bool,
    /// Its number among the classes of the discipline that owns it, where one does.
    pub(crate) class_number: u32,
}

/// What is seldom asked of a node, and seldom changes.
struct About {
    dropped: Count,
    moved_in: Count,
    moved_out: Count,
    marked_packets: u64,
    unclassified_packets: u64,
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
        let about = About {
            dropped: Count::default(),
            moved_in: Count::default(),
            moved_out: Count::default(),
            marked_packets: 0,
            unclassified_packets: 0,
            kind,
            name: name.into(),
        };
        Self {
            discipline: Inside::of(discipline),
            held: None,
            offered: Count::default(),
            backlog: Count::default(),
            peak: Tally::default(),
            classifier: None,
            about: Box::new(about),
            id: 0,
            timed,
            class_number: 0,
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
    pub fn enqueue(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        let bytes = self.admit(&mut packet, cx);
        self.backlog.add(bytes);
        let before = cx.drops.account();
        self.discipline.enqueue(packet, cx);
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
        self.note_peak(self.backlog.packets(), self.backlog.bytes());
    }

    /// [`enqueue`](Self::enqueue) of an inner class, up to where its owner brings the packet to one of its classes. Returns whether
    /// [`settle_through`](Self::settle_through) is needed even where nothing is dropped: there was never more in it.
    #[inline(always)]
    pub(crate) fn let_in(&mut self, packet: &mut Packet, cx: &mut Context<'_>) -> bool {
        let bytes = self.admit(packet, cx);
        self.backlog.add(bytes);
        self.backlog.packets() > self.peak.packets || self.backlog.bytes() > self.peak.bytes
    }

    /// [`dequeue`](Self::dequeue) of an inner class, one of whose classes sent a packet of this length.
    #[inline(always)]
    pub(crate) fn let_out(&mut self, bytes: Bytes) {
        self.backlog.remove(bytes);
    }

    /// Counts what was dropped or marked in an inner class's classes since the account stood at `before`, and how much there is
    /// then.
    pub(crate) fn settle_through(&mut self, before: u64, cx: &Context<'_>) {
        self.settle(before, cx);
        self.note_peak(self.backlog.packets(), self.backlog.bytes());
    }

    /// Whether it is an inner class.
    #[inline(always)]
    pub(crate) fn is_class(&self) -> bool {
        matches!(self.discipline, Inside::Class(_))
    }

    /// The classes of an inner class; none where it is a discipline's.
    #[inline(always)]
    pub(crate) fn classes(&mut self) -> &mut [Self] {
        self.discipline.classes()
    }

    /// What is inside, where it is a `T`.
    pub(crate) fn inside<T: 'static>(&mut self) -> Option<&mut T> {
        self.discipline.as_any().downcast_mut()
    }

    #[inline(always)]
    fn note_peak(&mut self, packets: u64, bytes: Bytes) {
        if packets > self.peak.packets {
            self.peak.packets = packets;
        }
        if bytes > self.peak.bytes {
            self.peak.bytes = bytes;
        }
    }

    /// Gives the packet that leaves now, or says when to ask again.
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

    /// [`enqueue`](Self::enqueue), then [`dequeue`](Self::dequeue), for a node that [is empty](Self::is_empty).
    #[inline(always)]
    pub fn pass(&mut self, mut packet: Packet, cx: &mut Context<'_>) -> Dequeue {
        debug_assert!(self.is_empty(), "only an empty node can be passed through");
        let bytes = self.admit(&mut packet, cx);
        let before = cx.drops.account();
        let dequeued = self.discipline.pass(packet, cx);
        if matches!(dequeued, Dequeue::Packet(_)) && cx.drops.account() == before {
            // One came in and one left: nothing waits. What only passes through was here as well.
            self.note_peak(1, bytes);
        } else {
            self.stop(bytes, before, &dequeued, cx);
        }
        dequeued
    }

    /// The account of a packet that did not pass at once, or was marked on its way.
    #[inline(never)]
    fn stop(&mut self, bytes: Bytes, before: u64, dequeued: &Dequeue, cx: &Context<'_>) {
        self.backlog.add(bytes);
        if cx.drops.account() != before {
            self.settle(before, cx);
        }
        // Before it leaves, as on any other way.
        self.note_peak(self.backlog.packets(), self.backlog.bytes());
        if let Dequeue::Packet(packet) = dequeued {
            self.backlog.remove(packet.bytes());
        }
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
            self.about.kind
        );
        dequeued
    }

    #[inline(always)]
    fn admit(&mut self, packet: &mut Packet, cx: &mut Context<'_>) -> Bytes {
        packet.node = self.id;
        let bytes = packet.bytes();
        self.offered.add(bytes);
        if let Some(classifier) = &self.classifier {
            let class = classifier.classify(packet, cx.headers);
            packet.class = ChildNumber::new(class.child as usize);
            if class.unclassified {
                self.about.unclassified_packets += 1;
            }
        }
        bytes
    }

    #[cold]
    #[inline(never)]
    fn settle(&mut self, before: u64, cx: &Context<'_>) {
        let (dropped, marked) = cx.drops.since(before);
        for packet in dropped {
            self.about.dropped.add(packet.bytes());
            self.backlog.remove(packet.bytes());
        }
        self.about.marked_packets += marked;
    }

    /// Shows each node directly below.
    pub(crate) fn each_direct(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        self.discipline.each_child(visit);
    }

    /// Whether at least two of the nodes directly below hold packets.
    pub(crate) fn is_contended(&mut self) -> bool {
        if self.backlog.packets() < 2 {
            return false;
        }
        let mut busy = 0;
        self.discipline.each_child(&mut |child| busy += usize::from(!child.is_empty()));
        busy > 1
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

    /// Takes every packet out, here and below, and counts them as moved out.
    pub fn flush(&mut self, out: &mut Vec<Packet>) {
        let from = out.len();
        out.extend(self.held.take());
        self.discipline.flush(out);
        self.discipline.each_child(&mut |child| child.flush(out));
        for packet in &out[from..] {
            self.backlog.remove(packet.bytes());
            self.about.moved_out.add(packet.bytes());
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
        let kind = self.about.kind;
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
        if &*self.about.name == name {
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

    /// Prefetches the node (three cache lines), or, if `is_node_cached`, its next packet. The address of the packet
    /// lies in the node, so that one call must follow the other at a distance.
    #[inline(always)]
    pub(crate) fn prefetch(&self, is_node_cached: bool) {
        if is_node_cached {
            if let Some(held) = &self.held {
                prefetch::<Header>(held);
            }
            self.discipline.prefetch();
        } else {
            prefetch(self);
        }
    }

    /// The packet that leaves next, where that is known without asking: it is held, or this is a FIFO.
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&Packet> {
        match (&self.held, &self.discipline) {
            (Some(held), _) => Some(held),
            (None, Inside::Fifo(fifo)) => fifo.front(),
            _ => None,
        }
    }

    /// Whether no packet waits here or below.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.backlog.packets() == 0
    }

    /// What waits, here and below.
    #[inline]
    pub fn backlog(&self) -> Tally {
        self.backlog.tally()
    }

    /// What went through since the start.
    ///
    /// What was sent is not counted: it is what came in and is neither here, nor dropped, nor moved out. A packet
    /// that got lost in a discipline is therefore found as a backlog that never ends, by whoever flushes it.
    pub fn counters(&self) -> Counters {
        let gone = |count: fn(Count) -> u64| {
            count(self.offered)
                .wrapping_sub(count(self.about.dropped))
                .wrapping_add(count(self.about.moved_in))
                .wrapping_sub(count(self.about.moved_out))
                .wrapping_sub(count(self.backlog))
        };
        Counters {
            offered: self.offered.tally(),
            sent: Tally { packets: gone(Count::packets), bytes: Bytes(gone(|count| count.bytes().0)) },
            dropped: self.about.dropped.tally(),
            moved_in: self.about.moved_in.tally(),
            moved_out: self.about.moved_out.tally(),
            backlog: self.backlog.tally(),
            marked_packets: self.about.marked_packets,
            unclassified_packets: self.about.unclassified_packets,
        }
    }

    /// The largest backlog since this was last asked.
    pub fn take_peak(&mut self) -> Tally {
        core::mem::replace(&mut self.peak, self.backlog.tally())
    }

    /// Its name in the scenario.
    pub fn name(&self) -> &Arc<str> {
        &self.about.name
    }

    /// Its discipline's kind.
    pub fn kind(&self) -> &'static str {
        self.about.kind
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

    /// What its discipline accepted though it is probably not meant: see [`Discipline::doubts`]. What stands on a
    /// child is said as [`Invalid::child`] does.
    pub fn doubts(&self, link: Option<Rate>, tell: &mut dyn FnMut(Invalid)) {
        self.discipline.doubts(link, tell);
    }

    /// The largest backlog since [`take_peak`](Self::take_peak), which goes on.
    pub(crate) fn peak(&self) -> Tally {
        self.peak
    }

    /// What came in, in packets and bytes: as [`Counters::offered`].
    pub(crate) fn offered(&self) -> Tally {
        self.offered.tally()
    }

    /// Counts what was offered since `before` as moved in from the tree before.
    pub(crate) fn count_moved_in(&mut self, before: Tally) {
        let offered = self.offered.tally();
        let moved = self.about.moved_in.tally();
        self.offered = before.into();
        self.about.moved_in = Tally {
            packets: moved.packets + (offered.packets - before.packets),
            bytes: moved.bytes + Bytes(offered.bytes.0 - before.bytes.0),
        }
        .into();
    }

    /// Takes a place in a port: its number, and the counters and the peak of the node of that name before it.
    pub(crate) fn settle_in(&mut self, id: u16, past: Counters, peak: Tally) {
        self.id = id;
        self.peak = peak;
        self.offered = past.offered.into();
        self.about.dropped = past.dropped.into();
        self.about.moved_in = past.moved_in.into();
        self.about.moved_out = past.moved_out.into();
        self.backlog = past.backlog.into();
        self.about.marked_packets = past.marked_packets;
        self.about.unclassified_packets = past.unclassified_packets;
    }
}

#[cfg(test)]
mod tests;
