//! Port: the queue where a link leaves a node. The same object in simulation and on real packets.
//!
//! ```text
//! offer -> [ tree of nodes ] -> [ device ring, if any ] -> [ pacing, if the port has a rate ] -> poll
//! ```
//!
//! The driver offers every packet that leaves by this link, and polls when the link is free: after an
//! offer, at the time that a poll returned, and at the end of a transmission if packets are queued
//! ([`Port::has_more`]). The disciplines see the time through the port's clock model.
//!
//! A *plain* port (no ring, exact clock, no timers, no rate of its own) has a fast path: one test per call
//! instead of three.

mod change;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::classify::{Headers, NoHeaders};
use crate::clock::{ClockConfig, ClockModel};
use crate::context::{Context, Dequeue, DropReason, Drops, Invalid};
use crate::node::{Counters, Node, Tally};
use crate::pacing::{Pace, Pacing};
use crate::packet::{Packet, Position};
use crate::random::Random;
use crate::ring::{Ring, RingConfig};
use crate::units::{Bytes, Duration, Instant};

pub use change::{Effect, Parameters, PortChange, QueueChange};
use watch::Watch;
pub use watch::{NAMED_PACKETS, PortEvent, PortStep, Queued, SORTED_NODES};

/// Answer of a port whose link is free.
#[must_use]
#[derive(Debug)]
pub enum Poll {
    /// Send this packet.
    Transmit(Packet),
    /// Poll again at this time, which is later than now, or after the next offer.
    WaitUntil(Instant),
    /// Poll again after the next offer.
    Idle,
}

impl Poll {
    /// Converts the answer of a tree under an exact clock.
    #[inline(always)]
    fn of(dequeued: Dequeue) -> Self {
        match dequeued {
            Dequeue::Packet(packet) => Self::Transmit(packet),
            Dequeue::NotBefore(time) => Self::WaitUntil(time),
            Dequeue::Empty => Self::Idle,
        }
    }
}

/// Queue of the tree, as results name it. Its index in [`Port::queues`] is a packet's
/// [`position`](crate::packet::Header::position).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Name of the queue in the scenario.
    pub name: Arc<str>,
    /// Kind of its discipline (the latest, if it was replaced).
    pub kind: &'static str,
    /// Parent; `None` at the root.
    pub parent: Option<u32>,
}

impl Queue {
    /// Maximum number of queues that a port tells apart, over all trees it ever had: a packet names one in
    /// 20 bits. Further queues share the index of the last.
    pub const MOST: usize = Position::MOST;
}

/// Counters of a device ring's requests for packets: how much there is to schedule above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Requests to the tree: after each arrival and each return of slots until the ring is full or the tree
    /// refuses, and at each time that the tree named.
    pub made: u64,
    /// Requests that were met.
    pub met: u64,
    /// Packets received while at least two of the root's queues held one. Not counted for a root of more
    /// than [`MOST_COMPARED`](Self::MOST_COMPARED) queues.
    pub contended: u64,
}

impl Requests {
    /// Maximum number of queues below the root that are compared before each packet.
    pub const MOST_COMPARED: usize = 64;
}

/// Packets that a queue passed to the device ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingInput {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their waiting times since arrival at the port, in picoseconds.
    pub waited_ps: u128,
}

/// Queue that is no longer in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// Its index.
    pub queue: u32,
    /// Its counters, which no longer change.
    pub counters: Counters,
    /// Its largest backlog since the peak was last taken.
    pub peak: Tally,
}

/// Queue of a link: a tree of disciplines, a clock model, and a device ring. The fields that each packet
/// touches come first.
#[repr(C)]
pub struct Port {
    root: Node,
    drops: Drops,
    /// Fast path: no ring, no coarse clock, no timers, no rate, no watch.
    plain: bool,
    clock: ClockModel,
    ring: Option<Ring>,
    pacing: Pacing,
    requests: Requests,
    /// By queue; empty without a ring.
    handed: Vec<RingInput>,
    /// True if the root has few enough queues to be compared before each packet.
    compares: bool,
    random: Random,
    queues: Vec<Queue>,
    /// Places that are no longer in the tree.
    retired: Vec<Retired>,
    /// Number of trees so far.
    trees: u32,
    /// True if a node of another name was the root before.
    had_another_root: bool,
    watch: Option<Box<Watch>>,
}

impl Port {
    /// Creates a port over this tree. Random numbers are drawn from `random`.
    pub fn new(root: Node, random: Random) -> Self {
        let mut port = Self {
            root,
            clock: ClockModel::EXACT,
            ring: None,
            pacing: Pacing::default(),
            requests: Requests::default(),
            handed: Vec::new(),
            compares: false,
            random,
            drops: Drops::default(),
            queues: Vec::new(),
            retired: Vec::new(),
            trees: 0,
            had_another_root: false,
            watch: None,
            plain: false,
        };
        port.assign_ids();
        port.refresh_fast_path();
        port
    }

    /// Returns the port with a coarse clock.
    pub fn with_clock(mut self, config: ClockConfig) -> Result<Self, Invalid> {
        self.clock = ClockModel::new(config).ok_or_else(|| Invalid::new("hz", "is from 1 to 1000000"))?;
        self.refresh_fast_path();
        Ok(self)
    }

    /// Returns the port with a device ring.
    pub fn with_ring(mut self, config: RingConfig) -> Result<Self, Invalid> {
        self.ring = Some(Ring::new(config).ok_or_else(|| Invalid::new("ring", "has at least one slot"))?);
        self.refresh_fast_path();
        Ok(self)
    }

    /// Returns the port with a rate of its own.
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pacing = Pacing::new(pace);
        self.adopt_rate(Instant::ZERO, &NoHeaders);
        self
    }

    /// Adopts the port's own rate in the fast path and in the disciplines that follow it.
    fn adopt_rate(&mut self, now: Instant, headers: &dyn Headers) {
        self.refresh_fast_path();
        let mut cx =
            Context { now: self.clock.read(now), random: &mut self.random, drops: &mut self.drops, headers };
        self.root.on_port_rate(self.pacing.pace().rate, &mut cx);
    }

    /// Returns the port's own rate.
    pub fn pace(&self) -> Pace {
        self.pacing.pace()
    }

    /// Returns the time for which packets sent by `now` still take the port's own rate.
    pub fn owed(&self, now: Instant) -> Duration {
        self.pacing.owed(now)
    }

    /// Charges the port's own rate with a frame that is sent at `now` ahead of its queues.
    pub fn charge(&mut self, now: Instant, frame: Bytes) {
        self.pacing.charge(now, frame);
    }

    fn refresh_fast_path(&mut self) {
        self.plain = self.ring.is_none()
            && !self.clock.is_coarse()
            && !self.root.is_timed()
            && self.pacing.is_unlimited()
            && self.watch.is_none();
        let mut queues = 0;
        self.root.each_direct(&mut |_| queues += 1);
        self.compares = (2..=Requests::MOST_COMPARED).contains(&queues);
        if self.ring.is_some() {
            self.handed.resize(self.queues.len().min(Queue::MOST), RingInput::default());
        }
    }

    /// Accepts a packet. It may be dropped at once, or another one instead.
    #[inline(always)]
    pub fn offer(&mut self, mut packet: Packet, now: Instant, headers: &dyn Headers) {
        packet.arrived = now;
        if !self.plain {
            return self.offer_slow(packet, now, headers);
        }
        let Some(packet) = self.root.enqueue_in_fifo(packet) else { return };
        let mut cx = Context { now, random: &mut self.random, drops: &mut self.drops, headers };
        self.root.enqueue(packet, &mut cx);
    }

    #[inline(never)]
    fn offer_slow(&mut self, packet: Packet, now: Instant, headers: &dyn Headers) {
        if self.watch.is_some() {
            self.enqueue_watched(packet, now, headers);
        } else {
            let mut cx = Context {
                now: self.clock.read(now),
                random: &mut self.random,
                drops: &mut self.drops,
                headers,
            };
            self.root.enqueue(packet, &mut cx);
        }
        if self.ring.is_some() {
            let _ = self.fill_ring(now, headers, true);
        }
    }

    /// Returns the packet that the free link sends now.
    #[inline(always)]
    pub fn poll(&mut self, now: Instant, headers: &dyn Headers) -> Poll {
        if !self.plain {
            return self.poll_slow(now, headers);
        }
        if let Some(packet) = self.root.dequeue_from_fifo() {
            return Poll::Transmit(packet);
        }
        let mut cx = Context { now, random: &mut self.random, drops: &mut self.drops, headers };
        Poll::of(self.root.dequeue(&mut cx))
    }

    #[inline(never)]
    fn poll_slow(&mut self, now: Instant, headers: &dyn Headers) -> Poll {
        if self.root.is_timed() {
            self.run_timers(now, headers);
        }
        if let Some(free) = self.pacing.waits(now) {
            let wait = (!self.is_empty()).then_some(free);
            return self.wait_until(now, wait);
        }
        let poll = if self.ring.is_some() {
            self.poll_ring(now, headers)
        } else {
            let dequeued = self.dequeue(now, headers);
            self.answer(now, dequeued)
        };
        if let Poll::Transmit(packet) = &poll {
            self.pacing.charge(now, packet.bytes());
        }
        poll
    }

    /// Does [`offer`](Self::offer), then [`poll`](Self::poll), for a free link and an
    /// [empty](Self::is_empty) port.
    #[inline(always)]
    pub fn pass(&mut self, mut packet: Packet, now: Instant, headers: &dyn Headers) -> Poll {
        packet.arrived = now;
        if !self.plain {
            self.offer_slow(packet, now, headers);
            return self.poll_slow(now, headers);
        }
        if self.root.pass_fifo(&mut packet) {
            return Poll::Transmit(packet);
        }
        let mut cx = Context { now, random: &mut self.random, drops: &mut self.drops, headers };
        Poll::of(self.root.pass(packet, &mut cx))
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Instant, headers: &dyn Headers) -> Dequeue {
        if self.watch.is_some() {
            return self.dequeue_watched(now, headers);
        }
        let mut cx =
            Context { now: self.clock.read(now), random: &mut self.random, drops: &mut self.drops, headers };
        self.root.dequeue(&mut cx)
    }

    #[inline(always)]
    fn answer(&mut self, now: Instant, dequeued: Dequeue) -> Poll {
        let wait = match dequeued {
            Dequeue::Packet(packet) => return Poll::Transmit(packet),
            Dequeue::NotBefore(time) => Some(self.clock.wake(now, time)),
            Dequeue::Empty => None,
        };
        self.wait_until(now, wait)
    }

    /// Returns the earlier of `wait` and the tree's next timer.
    #[inline(always)]
    fn wait_until(&mut self, now: Instant, wait: Option<Instant>) -> Poll {
        if !self.root.is_timed() {
            return wait.map_or(Poll::Idle, Poll::WaitUntil);
        }
        let timer = self.root.next_timer().map(|time| self.clock.wake(now, time));
        match (wait, timer) {
            (Some(wait), Some(timer)) => Poll::WaitUntil(wait.min(timer)),
            (Some(time), None) | (None, Some(time)) => Poll::WaitUntil(time),
            (None, None) => Poll::Idle,
        }
    }

    fn run_timers(&mut self, now: Instant, headers: &dyn Headers) {
        let now = self.clock.read(now);
        if self.root.next_timer().is_some_and(|time| time <= now) {
            let before = self.drops.waiting.len();
            let mut cx = Context { now, random: &mut self.random, drops: &mut self.drops, headers };
            self.root.on_timer(&mut cx);
            self.record_drops(before, now);
        }
    }

    fn poll_ring(&mut self, now: Instant, headers: &dyn Headers) -> Poll {
        let reports = self.ring.as_mut().is_some_and(Ring::complete);
        let refused = self.fill_ring(now, headers, reports);
        match self.ring.as_mut().and_then(Ring::pop) {
            Some(packet) => Poll::Transmit(packet),
            None => self.answer(now, refused),
        }
    }

    /// Moves packets into the ring while it has room; returns why it stopped. `asks`: true if a device would
    /// request a packet now, so that a refusal counts.
    fn fill_ring(&mut self, now: Instant, headers: &dyn Headers, asks: bool) -> Dequeue {
        while self.ring.as_ref().is_some_and(Ring::has_room) {
            let is_contended = self.compares && self.root.is_contended();
            match self.dequeue(now, headers) {
                Dequeue::Packet(packet) => {
                    self.requests.made += 1;
                    self.requests.met += 1;
                    self.requests.contended += u64::from(is_contended);
                    if let Some(handed) = self.handed.get_mut(packet.position.node() as usize) {
                        handed.packets += 1;
                        handed.waited_ps += u128::from(now.since(packet.arrived).as_picos());
                    }
                    if let Some(ring) = &mut self.ring {
                        ring.push(packet);
                    }
                }
                refused => {
                    self.requests.made += u64::from(asks);
                    return refused;
                }
            }
        }
        Dequeue::Empty
    }

    /// Prefetches the root.
    #[inline(always)]
    pub fn prefetch(&self) {
        self.root.prefetch(false);
    }

    /// Returns whether a poll at the end of the current transmission can return a packet.
    #[inline(always)]
    pub fn has_more(&self) -> bool {
        !self.root.is_empty() || (!self.plain && (self.ring.is_some() || self.root.is_timed()))
    }

    /// Returns whether no packet is queued in the tree and in the ring.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.root.is_empty() && (self.plain || self.ring.as_ref().is_none_or(|ring| ring.len() == 0))
    }

    /// Returns the backlog of the tree, without the ring.
    pub fn backlog(&self) -> Tally {
        self.root.backlog()
    }

    /// Returns the packets and bytes that the root sent; `None` if the port had another root before.
    pub fn sent(&self) -> Option<Tally> {
        (!self.had_another_root).then(|| self.root.counters().sent)
    }

    /// Returns the number of packets queued in the device ring.
    pub fn ring_occupancy(&self) -> usize {
        self.ring.as_ref().map_or(0, Ring::len)
    }

    /// Returns the counters of the ring's requests; all zero without a ring.
    pub fn requests(&self) -> Requests {
        self.requests
    }

    /// Returns the packets that the queue with this index passed to the device ring, without those of queues
    /// below it; zero without a ring.
    pub fn handed(&self, queue: u32) -> RingInput {
        self.handed.get(queue as usize).copied().unwrap_or_default()
    }

    /// Returns whether it has a device ring.
    pub fn has_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Returns whether there are drops to take.
    #[inline]
    pub fn has_drops(&self) -> bool {
        !self.drops.waiting.is_empty()
    }

    /// Takes the packets dropped since the last call. A packet's `position` names the queue that it had
    /// entered.
    pub fn take_drops(&mut self) -> impl Iterator<Item = (Packet, DropReason)> + '_ {
        self.drops.waiting.drain(..)
    }

    /// Exchanges the whole tree for `other`. Queued packets move to the new one in order of arrival; those
    /// that a smaller limit forces out are dropped and counted there. Counters continue under their names.
    /// Returns the number of packets moved.
    fn exchange(&mut self, other: &mut Node, now: Instant, headers: &dyn Headers) -> u64 {
        let mut waiting = Vec::with_capacity(self.root.backlog().packets as usize);
        self.root.flush(&mut waiting);
        waiting.sort_by_key(|packet| (packet.arrived, packet.flow, packet.sequence));
        let retired = &mut self.retired;
        self.root.each(&mut |node, _| {
            retired.push(Retired { queue: node.id(), counters: node.counters(), peak: node.peak() });
        });
        self.had_another_root |= self.root.name() != other.name();
        core::mem::swap(&mut self.root, other);
        self.assign_ids();
        self.adopt_rate(now, headers);
        let count = waiting.len() as u64;
        let mut offered = Vec::new();
        self.root.each(&mut |node, _| offered.push(node.offered()));
        let mut cx =
            Context { now: self.clock.read(now), random: &mut self.random, drops: &mut self.drops, headers };
        for packet in waiting {
            self.root.enqueue(packet, &mut cx);
        }
        let mut offered = offered.into_iter();
        self.root.each(&mut |node, _| {
            if let Some(before) = offered.next() {
                node.count_moved_in(before);
            }
        });
        count
    }

    /// Applies `what` to the node called `name`; `None` if there is none.
    pub fn with_node<R>(
        &mut self,
        name: &str,
        now: Instant,
        headers: &dyn Headers,
        what: &mut dyn FnMut(&mut Node, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let mut cx =
            Context { now: self.clock.read(now), random: &mut self.random, drops: &mut self.drops, headers };
        self.root.find(name, &mut cx, what)
    }

    /// Removes all packets, for the last account of a run.
    pub fn flush(&mut self, out: &mut Vec<Packet>) {
        if let Some(ring) = &mut self.ring {
            ring.flush(out);
        }
        self.root.flush(out);
    }

    /// Returns all queues, those of replaced trees included, parents before children.
    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// Returns the number of trees so far, the current one included: [`queues`](Self::queues) change with it
    /// only.
    pub fn trees(&self) -> u32 {
        self.trees
    }

    /// Calls `visit` with each node of the current tree.
    pub fn each_node(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.root.each(&mut |node, _| visit(node));
    }

    /// Calls `visit` with the nodes of [`each_node`](Self::each_node) whose numbers, counted in that order,
    /// are in `range`. Returns the number of nodes passed, which is less than the end of the range at the end
    /// of the tree.
    pub fn each_node_in(
        &mut self,
        range: &core::ops::Range<usize>,
        visit: &mut dyn FnMut(&mut Node),
    ) -> usize {
        let mut at = 0;
        self.root.each_in(&mut at, range, visit);
        at
    }

    /// Iterates over the queues that are no longer in the tree.
    pub fn retired(&self) -> impl Iterator<Item = Retired> + '_ {
        self.retired.iter().copied()
    }

    /// Iterates over the queues that are no longer in the tree and that are `wanted`, and resets their peaks.
    pub fn take_retired(&mut self, wanted: impl Fn(u32) -> bool) -> impl Iterator<Item = Retired> {
        self.retired.iter_mut().filter(move |retired| wanted(retired.queue)).map(|retired| {
            let taken = *retired;
            retired.peak = Tally::default();
            taken
        })
    }

    /// Assigns every node of the tree its index: that of the queue of its name, or a new one.
    fn assign_ids(&mut self) {
        self.trees += 1;
        let Self { root, queues, retired, .. } = self;
        let mut known: BTreeMap<Arc<str>, usize> =
            queues.iter().enumerate().map(|(index, queue)| (queue.name.clone(), index)).collect();
        let mut past: BTreeMap<u32, Retired> =
            retired.drain(..).map(|retired| (retired.queue, retired)).collect();
        let mut path: Vec<u32> = Vec::new();
        root.each(&mut |node, depth| {
            path.truncate(depth);
            let parent = path.last().copied();
            let index = *known.entry(node.name().clone()).or_insert(queues.len());
            if index == queues.len() {
                queues.push(Queue { name: node.name().clone(), kind: node.kind(), parent });
            } else {
                queues[index].kind = node.kind();
                queues[index].parent = parent;
            }
            let id = Position::clamp(index) as u32;
            let (counters, peak) =
                past.remove(&id).map_or_else(Default::default, |past| (past.counters, past.peak));
            node.restore_counters(id, counters, peak);
            path.push(id);
        });
        retired.extend(past.into_values());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Classifier, NoHeaders};
    use crate::discipline::Child;
    use crate::disciplines::fifo::Overflow;
    use crate::disciplines::{Drr, Fifo, drr, fifo};
    use crate::packet::Header;
    use crate::random::Seed;
    use crate::units::{Bytes, Duration, Limit, Packets};

    /// The same operations with and without a context, to the last counter.
    #[test]
    fn the_direct_way_to_a_fifo_leaves_the_same_counters() {
        let (packets, bytes) = (Limit::Packets(Packets(3)), Limit::Bytes(Bytes(2000)));
        for (limit, overflow, has_classifier) in [
            (packets, Overflow::Tail, false),
            (packets, Overflow::Head, false),
            (bytes, Overflow::Tail, false),
            (bytes, Overflow::Head, false),
            (packets, Overflow::Tail, true),
        ] {
            let port = || {
                let config = fifo::Config { limit, overflow, mark: None };
                let mut root = Node::new::<Fifo>("root", config, Vec::new()).expect("valid");
                if has_classifier {
                    root = root.with_classifier(Classifier::new(Vec::new()));
                }
                Port::new(root, Random::stream(Seed(1), "port"))
            };
            let (mut direct, mut other) = (port(), port());
            other.plain = false;
            let mut draws = Random::stream(Seed(2), "operations");
            for sequence in 0..10_000 {
                let now = Instant::ZERO + Duration::from_micros(u64::from(sequence));
                let (draw, length) = (draws.bits() >> 8, 60 + (draws.bits() >> 8) % 2500);
                let mut outcomes = [&mut direct, &mut other].map(|port| {
                    let packet = Packet::new(Header { sequence, length, ..Header::default() });
                    let poll = if draw % 2 == 0 {
                        port.poll(now, &NoHeaders)
                    } else if draw % 4 == 1 && port.is_empty() {
                        port.pass(packet, now, &NoHeaders)
                    } else {
                        port.offer(packet, now, &NoHeaders);
                        Poll::Idle
                    };
                    let dropped: Vec<_> =
                        port.take_drops().map(|(packet, why)| (packet.sequence, why)).collect();
                    let mut counters = Vec::new();
                    port.each_node(&mut |node| {
                        let peak = if sequence % 100 == 0 { node.take_peak() } else { node.peak() };
                        counters.push((node.counters(), peak));
                    });
                    format!("{poll:?} {dropped:?} {counters:?}")
                });
                let [one, two] = &mut outcomes;
                assert_eq!(one, two, "{limit:?}, {overflow:?}, {has_classifier}, operation {sequence}");
            }
        }
    }

    #[test]
    fn a_hundred_thousand_places_are_told_apart() {
        const CHILDREN: u32 = 100_000;
        let children = (0..CHILDREN).map(|index| Child {
            share: drr::Share::default(),
            node: Node::new::<Fifo>(&index.to_string(), fifo::Config::default(), Vec::new()).expect("valid"),
        });
        let root = Node::new::<Drr>("root", drr::Config::default(), children.collect()).expect("valid");
        let mut port = Port::new(root, Random::stream(Seed(1), "port"));
        assert_eq!(port.queues().len(), CHILDREN as usize + 1);
        let mut ids = Vec::new();
        port.each_node(&mut |node| ids.push(node.id()));
        assert!(ids.into_iter().eq(0..=CHILDREN));
        for child in [0, 65_535, 65_536, CHILDREN - 1] {
            let position = Position::to_child(child as usize);
            let header = Header { length: 100, position, ..Header::default() };
            let poll = port.pass(Packet::new(header), Instant::ZERO, &NoHeaders);
            let Poll::Transmit(packet) = poll else { panic!("{poll:?}") };
            assert_eq!(packet.position.node(), child + 1);
        }
    }
}
