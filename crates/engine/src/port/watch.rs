//! Watch of a port: what happens at it, packet by packet, with an explanation of every decision.
//!
//! ```text
//! offer  -> arrival, drops          timer -> drops
//! poll   -> explanation of the tree, then its drops, then departure or refusal
//! ```
//!
//! A watched port takes its slow path, so a port without a watch has no test for it on its fast path. A watch
//! changes nothing that the port does.

use std::collections::VecDeque;

use super::Port;
use crate::classify::Headers;
use crate::context::{Context, Dequeue, DropReason};
use crate::explanation::{Explanation, Foresight, PacketName};
use crate::packet::{Header, Packet};
use crate::units::{Duration, Instant};

/// Number of packets at each end of the queue that a step names.
pub const NAMED_PACKETS: usize = 32;

/// Number of nodes of a tree among which a watch knows that of each packet: it visits them all at an arrival.
pub const SORTED_NODES: usize = 256;

/// Event at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortEvent {
    /// A packet was offered. A drop of it, if any, follows.
    Arrival(PacketName),
    /// A packet was dropped.
    Drop(PacketName, DropReason),
    /// The tree gave a packet to the link or the device ring.
    Departure {
        /// The packet.
        packet: PacketName,
        /// Time since its arrival at this port.
        sojourn: Duration,
        /// True if this port marked it.
        is_marked: bool,
    },
    /// The tree had no packet to give before this time, or none at all.
    Refusal(Option<Instant>),
}

/// Packet in a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The packet.
    pub packet: PacketName,
    /// Time of its arrival.
    pub arrived: Instant,
    /// Number of the deepest of the first [`SORTED_NODES`] nodes to which it was sorted, in the order of
    /// [`Port::each_node`].
    pub node: usize,
    is_marked: bool,
}

/// Step of a watched port.
#[derive(Clone, Debug)]
pub struct PortStep {
    /// Time.
    pub at: Instant,
    /// Event.
    pub event: PortEvent,
    /// Explanation of the decision, taken before it; none if the tree was not asked, or the watch does not
    /// [explain](Port::watch_decisions).
    pub decision: Option<Explanation>,
    /// Number of packets in the tree before the event.
    pub packets: usize,
    /// The first and the last [`NAMED_PACKETS`] of them, in order of arrival.
    pub queue: Vec<Queued>,
}

/// Record of what happens at a port.
#[derive(Default)]
pub(super) struct Watch {
    steps: VecDeque<PortStep>,
    /// Packets in the tree, in order of arrival.
    waiting: VecDeque<Queued>,
    explains: bool,
}

impl Watch {
    fn record(&mut self, at: Instant, event: PortEvent, decision: Option<Explanation>) {
        let packets = self.waiting.len();
        let last = packets.saturating_sub(NAMED_PACKETS).max(NAMED_PACKETS);
        let named = self.waiting.iter().take(NAMED_PACKETS).chain(self.waiting.iter().skip(last));
        let queue = if self.explains { named.copied().collect() } else { Vec::new() };
        self.steps.push_back(PortStep { at, event, decision, packets, queue });
    }

    /// Removes a packet that left the tree.
    fn forget(&mut self, packet: &Header) -> Option<Queued> {
        let name = PacketName::from(packet);
        let index = self.waiting.iter().position(|queued| queued.packet == name)?;
        self.waiting.remove(index)
    }
}

impl Port {
    /// Watches the port from now on. Packets that wait already are not known to the watch.
    pub fn watch(&mut self) {
        self.watch.get_or_insert_default();
        self.refresh_fast_path();
    }

    /// Explains decisions and names the queued packets from now on, or no longer. Off at first.
    pub fn watch_decisions(&mut self, explains: bool) {
        if let Some(watch) = &mut self.watch {
            watch.explains = explains;
        }
    }

    /// Returns the first step that was not taken yet.
    pub fn take_step(&mut self) -> Option<PortStep> {
        self.watch.as_mut()?.steps.pop_front()
    }

    /// Explains what the tree will do if it is asked for a packet at this time, and changes nothing.
    pub fn explain(&self, now: Instant, headers: &dyn Headers) -> Explanation {
        self.root.explain(&mut Foresight::new(self.clock.read(now), &self.random, headers))
    }

    /// Enqueues a packet at the root of a watched port.
    #[cold]
    #[inline(never)]
    pub(super) fn enqueue_watched(&mut self, packet: Packet, now: Instant, headers: &dyn Headers) {
        let is_marked = packet.is_marked();
        let mut queued = Queued { packet: (&*packet).into(), arrived: now, node: 0, is_marked };
        if let Some(watch) = &mut self.watch {
            watch.record(now, PortEvent::Arrival(queued.packet), None);
        }
        let before = self.drops.waiting.len();
        let counts = self.offered_packets();
        let mut cx =
            Context { now: self.clock.read(now), random: &mut self.random, drops: &mut self.drops, headers };
        self.root.enqueue(packet, &mut cx);
        let offered = self.offered_packets();
        // Parents come before their children: the last that was offered a packet is the deepest.
        queued.node = counts.iter().zip(&offered).rposition(|(before, now)| before != now).unwrap_or(0);
        if let Some(watch) = &mut self.watch {
            watch.waiting.push_back(queued);
        }
        self.record_drops(before, now);
    }

    /// Returns the number of packets that each of the first [`SORTED_NODES`] was offered so far.
    fn offered_packets(&mut self) -> Vec<u64> {
        let mut counts = Vec::new();
        self.each_node_in(&(0..SORTED_NODES), &mut |node| counts.push(node.offered().packets));
        counts
    }

    /// Dequeues at the root of a watched port.
    #[cold]
    #[inline(never)]
    pub(super) fn dequeue_watched(&mut self, now: Instant, headers: &dyn Headers) -> Dequeue {
        let explains = self.watch.as_ref().is_some_and(|watch| watch.explains);
        let decision = explains.then(|| self.explain(now, headers));
        let before = self.drops.waiting.len();
        let mut cx =
            Context { now: self.clock.read(now), random: &mut self.random, drops: &mut self.drops, headers };
        let dequeued = self.root.dequeue(&mut cx);
        self.record_drops(before, now);
        let Some(watch) = &mut self.watch else { return dequeued };
        let (event, left) = match &dequeued {
            Dequeue::Packet(packet) => {
                let known = watch.waiting.iter().find(|queued| queued.packet == PacketName::from(&**packet));
                let was_marked = known.is_none_or(|queued| queued.is_marked);
                let event = PortEvent::Departure {
                    packet: (&**packet).into(),
                    sojourn: now.since(packet.arrived),
                    is_marked: packet.is_marked() && !was_marked,
                };
                (event, Some(packet))
            }
            Dequeue::NotBefore(time) => (PortEvent::Refusal(Some(*time)), None),
            Dequeue::Empty => (PortEvent::Refusal(None), None),
        };
        watch.record(now, event, decision);
        if let Some(packet) = left {
            watch.forget(packet);
        }
        dequeued
    }

    /// Records the drops since there were `before`, if the port is watched.
    pub(super) fn record_drops(&mut self, before: usize, now: Instant) {
        let Some(watch) = &mut self.watch else { return };
        for (packet, reason) in self.drops.waiting.iter().skip(before) {
            watch.record(now, PortEvent::Drop((&**packet).into(), *reason), None);
            watch.forget(packet);
        }
    }
}
