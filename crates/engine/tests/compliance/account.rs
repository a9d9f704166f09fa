//! A port and an independent account of its packets, compared with the laws after every call.

use std::collections::BTreeMap;

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::discipline::Discipline;
use lockgate_engine::node::{Counters, Node, Peek, Tally};
use lockgate_engine::packet::{FlowId, Header, Packet, Position};
use lockgate_engine::port::{Poll, Port, PortChange, Retired};
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant};
use serde_json::Value;

use crate::common::fickle::{self, Fickle};
use crate::common::kind::{self, Refusal};
use crate::explanations::Explained;
use crate::topology::{FLOWS, Shape, Topology};

/// Record of a packet that the test offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    flow: u32,
    sequence: u32,
    length: u32,
}

/// Visible state of a queue: its name, its counters, and the bits of its gauges.
type State = (String, Counters, Vec<(&'static str, u64)>);

/// Port under test.
pub(crate) struct Account {
    pub port: Port,
    /// Tree of the port. Its queues and kinds change by [`replace`](Self::replace) only.
    pub topology: Topology,
    shape: Shape,
    /// Index of the queue of each node, in the order in which the port visits them.
    visited: Vec<usize>,
    pub now: Instant,
    pub has_ring: bool,
    /// All packets in the port, by identity.
    waiting: BTreeMap<u64, Known>,
    /// Number of them by flow, and their bytes.
    waiting_of: [u64; FLOWS as usize],
    waiting_bytes: u64,
    next: u64,
    sequences: [u32; FLOWS as usize],
    last_sent: BTreeMap<(u32, u8), u32>,
    /// Packets in the ring that came from a tree which may reorder, before it was replaced.
    disordered: usize,
    /// Whether another tree preceded this one, under some of the same names.
    replaced: bool,
    /// Number of packets passed to the link.
    transmitted: u64,
    /// The length that a queue promised for its next packet, and its counters then, by index of the queue.
    promised: BTreeMap<usize, (Counters, Bytes)>,
    /// Time named by the last poll.
    pub wake: Option<Instant>,
    /// Flow of the packet returned by the last poll.
    pub(crate) came: Option<u32>,
    /// Hash of all output, to compare two runs.
    pub digest: u64,
    /// Laws of explanations, if the port is watched.
    pub explained: Option<Explained>,
}

impl Account {
    pub(crate) fn new(topology: Topology, port: Port, now: Instant) -> Self {
        Self {
            port,
            shape: topology.shape(),
            visited: Vec::new(),
            topology,
            now,
            has_ring: false,
            waiting: BTreeMap::new(),
            waiting_of: [0; FLOWS as usize],
            waiting_bytes: 0,
            next: 0,
            sequences: [0; FLOWS as usize],
            last_sent: BTreeMap::new(),
            disordered: 0,
            replaced: false,
            transmitted: 0,
            promised: BTreeMap::new(),
            wake: None,
            came: None,
            digest: 0,
            explained: None,
        }
    }

    /// Creates a plain port over `topology`.
    pub(crate) fn plain(topology: &Topology, seed: u64) -> Self {
        let root = topology.build().expect("the examples are valid");
        let port = Port::new(root, Random::stream(Seed(seed), "port"));
        Self::new(topology.clone(), port, Instant::ZERO)
    }

    /// Returns the number of packets that the test knows to be in the port.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn mix(&mut self, value: u64) {
        self.digest = (self.digest ^ value).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(17);
    }

    /// Offers a packet of `flow`.
    pub(crate) fn offer(&mut self, flow: u32, length: u32, waited: Duration) {
        let sequence = self.sequences[flow as usize];
        self.sequences[flow as usize] += 1;
        let header = Header {
            payload: self.next,
            sent: self.now,
            stamp: self.now,
            waited,
            flow: FlowId(flow),
            sequence,
            length,
            // One flow has one path; the class is wrong on purpose, classifiers decide.
            hops: (flow % 5) as u8,
            position: Position::to_child(usize::MAX),
            ..Header::default()
        };
        self.waiting.insert(self.next, Known { flow, sequence, length });
        self.waiting_of[flow as usize] += 1;
        self.waiting_bytes += u64::from(length);
        self.next += 1;
        self.port.offer(Packet::new(header), self.now, &NoHeaders);
        self.compare_explanations();
        self.check();
    }

    /// Removes `packet` from the account: it must have been offered, be unchanged, and not have left
    /// before.
    fn leaves(&mut self, packet: &Packet) -> Known {
        let known = self.waiting.remove(&packet.payload);
        let known = known.unwrap_or_else(|| panic!("packet {} came out twice", packet.payload));
        let found = Known { flow: packet.flow.0, sequence: packet.sequence, length: packet.length };
        assert_eq!(known, found, "a packet came out changed");
        self.waiting_of[known.flow as usize] -= 1;
        self.waiting_bytes -= u64::from(known.length);
        self.mix(packet.payload);
        known
    }

    /// Polls as a free link does. Returns whether a packet came.
    pub(crate) fn poll(&mut self) -> bool {
        let had = self.waiting();
        let polled = self.port.poll(self.now, &NoHeaders);
        self.compare_explanations();
        self.wake = None;
        self.came = None;
        let came = match polled {
            Poll::Transmit(packet) => {
                let known = self.leaves(&packet);
                self.transmitted += 1;
                self.came = Some(known.flow);
                if self.disordered > 0 {
                    self.disordered -= 1;
                    // The packets sent before say nothing about the next ones.
                    self.last_sent.clear();
                } else if !self.shape.reorders {
                    // A policer, of this tree or one before, gives code points, which others sort by.
                    let last = self.last_sent.insert((known.flow, packet.dscp()), known.sequence);
                    assert!(
                        last.is_none_or(|last| last < known.sequence),
                        "flow {} was reordered: {} after {last:?}",
                        known.flow,
                        known.sequence
                    );
                }
                true
            }
            Poll::WaitUntil(time) => {
                assert!(time > self.now, "told to wait until {time}, and it is {}", self.now);
                self.wake = Some(time);
                assert!(
                    had == 0 || !self.shape.is_work_conserving,
                    "a work-conserving tree with {had} packets says to wait"
                );
                false
            }
            Poll::Idle => {
                // The drops of this poll are not yet removed from the account.
                self.take_drops();
                assert!(
                    self.waiting.is_empty() || self.shape.is_hostile,
                    "idle with {} packets waiting",
                    self.waiting()
                );
                false
            }
        };
        self.mix(self.wake.map_or(1, Instant::as_picos));
        self.check();
        came
    }

    /// Watches the port, and compares each explanation with the decision that follows it.
    pub(crate) fn watch(&mut self) {
        self.port.watch();
        self.port.watch_decisions(true);
        self.explained = Some(Explained::default());
    }

    fn compare_explanations(&mut self) {
        let Some(explained) = &mut self.explained else { return };
        let exact = !self.has_ring && self.topology.children.is_empty();
        let mut drops = Vec::new();
        while let Some(step) = self.port.take_step() {
            explained.compare(&step, &mut drops, exact);
        }
    }

    /// Peeks at `name` as its parent does.
    pub(crate) fn peek(&mut self, name: &str) {
        let peeked = self.at(name, &mut |node, cx| (node.counters(), node.peek(cx), node.peek(cx)));
        let (before, first, second) = peeked;
        match (first, second) {
            (Peek::Length(length), again) => {
                assert_eq!(again, first, "a second peek differs");
                let index = self.shape.names.iter().position(|known| known == name).expect("a queue");
                self.promised.entry(index).or_insert((before, length));
            }
            (Peek::NotBefore(time), _) => assert!(time > self.now || self.has_coarse_clock(time)),
            (Peek::Empty, _) => {}
        }
        self.check();
    }

    /// A coarse clock shows a time before `now`, and a wait may end in between.
    fn has_coarse_clock(&self, time: Instant) -> bool {
        time + Duration::from_millis(10) > self.now
    }

    fn at<R>(
        &mut self,
        name: &str,
        what: &mut dyn FnMut(&mut Node, &mut lockgate_engine::discipline::Context<'_>) -> R,
    ) -> R {
        self.port
            .with_node(name, self.now, &NoHeaders, what)
            .unwrap_or_else(|| panic!("no queue called {name}"))
    }

    /// Reconfigures the queue `name`. A refusal must change nothing.
    pub(crate) fn reconfigure(
        &mut self,
        name: &str,
        config: &Value,
        shares: &[Value],
    ) -> Result<(), Refusal> {
        let before = self.state();
        let result = self.at(name, &mut |node, cx| kind::reconfigure(node, config, shares, cx));
        if result.is_err() {
            assert!(!self.port.has_drops(), "a refused change dropped packets");
            assert_eq!(before, self.state(), "a refused change changed something");
        }
        self.check();
        result
    }

    /// Returns the visible state of the tree.
    fn state(&mut self) -> Vec<State> {
        let mut state = Vec::new();
        self.port.each_node(&mut |node| {
            let mut gauges = Vec::new();
            node.gauges(&mut |name, value| gauges.push((name, value.to_bits())));
            state.push((node.name().to_string(), node.counters(), gauges));
        });
        state
    }

    /// Replaces the whole tree.
    pub(crate) fn replace(&mut self, topology: Topology) {
        let tree = topology.build().expect("the examples are valid");
        let in_tree = self.port.backlog().packets;
        if self.shape.reorders || self.shape.gives_code_points {
            self.disordered = self.port.ring_occupancy();
            self.last_sent.clear();
        }
        self.shape = topology.shape();
        self.visited.clear();
        let old_root = core::mem::replace(&mut self.topology, topology).name;
        self.promised.clear();
        self.replaced = true;
        let before = self.totals();
        let effect = self.port.apply(&mut PortChange::of_tree(tree), self.now, &NoHeaders);
        let moved = effect.expect("a tree has no parameters to refuse").moved_packets;
        assert_eq!(moved, Some(in_tree), "a replacement moves what waits");
        let after = self.totals();
        for (name, old) in &before {
            let new = &after[name];
            let only_grew = old.offered.packets <= new.offered.packets
                && old.sent == new.sent
                && old.dropped.packets <= new.dropped.packets
                && old.moved_out.packets + old.backlog.packets == new.moved_out.packets;
            assert!(only_grew, "{name} counts on from {old:?} to {new:?}");
        }
        assert_eq!(after[&old_root].moved_out.packets - before[&old_root].moved_out.packets, in_tree);
        let new_root = &self.topology.name;
        let moved_in = before.get(new_root).map_or(0, |before| before.moved_in.packets);
        assert_eq!(after[new_root].moved_in.packets - moved_in, in_tree);
        let offered = before.get(new_root).map_or(0, |before| before.offered.packets);
        assert_eq!(after[new_root].offered.packets, offered, "what moves is not offered again");
        self.wake = None;
        self.check();
    }

    /// Returns the counters of all queues there ever were, by name.
    fn totals(&mut self) -> BTreeMap<String, Counters> {
        let mut totals = BTreeMap::new();
        self.port.each_node(&mut |node| {
            totals.insert(node.name().to_string(), node.counters());
        });
        for Retired { queue, counters, .. } in self.port.retired() {
            let past = totals.insert(self.port.queues()[queue as usize].name.to_string(), counters);
            assert!(past.is_none(), "a queue is both in the tree and retired");
        }
        totals
    }

    /// Flushes the port: exactly the packets of the account must come out.
    pub(crate) fn flush(&mut self) {
        let mut out = Vec::new();
        // Packets in the ring have been sent by the tree.
        self.transmitted += self.port.ring_occupancy() as u64;
        self.port.flush(&mut out);
        self.promised.clear();
        for packet in &out {
            self.leaves(packet);
        }
        assert!(self.waiting.is_empty(), "{} packets were not flushed", self.waiting());
        assert!(self.port.is_empty());
        self.port.each_node(&mut |node| assert_eq!(node.backlog(), Tally::default(), "{}", node.name()));
        self.check();
    }

    /// Makes hostile leaves behave, follows the times that the port names until it is empty, and makes the
    /// leaves hostile again.
    pub(crate) fn drain(&mut self) {
        self.tell_fickle(&fickle::Config::TAME);
        let mut left = 12 * self.waiting() + 64;
        while !self.port.is_empty() {
            left = left.checked_sub(1).expect("a drain comes to an end");
            if !self.poll() && !self.port.is_empty() {
                let wake = self.wake.expect("a backlog names a time");
                assert!(wake < Instant::NEVER, "a backlog that never leaves");
                self.now = wake;
            }
        }
        assert!(self.waiting.is_empty(), "{} packets were lost", self.waiting());
        self.tell_fickle(&fickle::Config::HOSTILE);
    }

    /// Sets the parameters of every hostile leaf.
    pub(crate) fn tell_fickle(&mut self, config: &fickle::Config) {
        let config = serde_json::to_value(config).expect("a config");
        let queues: Vec<_> =
            self.topology.queues().into_iter().filter(|queue| queue.kind == Fickle::ABOUT.name).collect();
        let names: Vec<_> = queues.iter().map(|queue| queue.name.clone()).collect();
        for name in names {
            self.reconfigure(&name, &config, &[]).expect("a hostile leaf takes any temper");
        }
    }

    fn take_drops(&mut self) {
        let drops: Vec<_> = self.port.take_drops().collect();
        for (packet, reason) in drops {
            self.leaves(&packet);
            self.mix(reason as u64);
        }
    }

    /// Returns the counters of all queues, by index.
    fn counters(&mut self) -> Vec<Counters> {
        let Self { port, shape, visited, .. } = self;
        let is_new = visited.is_empty();
        let mut counters = vec![None; shape.names.len()];
        let mut position = 0;
        port.each_node(&mut |node| {
            if is_new {
                let index = shape.names.iter().position(|name| **name == **node.name());
                visited.push(index.expect("a queue of the tree"));
            }
            let index = visited[position];
            assert_eq!(*shape.names[index], **node.name(), "another queue than before");
            let past = counters[index].replace(node.counters());
            assert!(past.is_none(), "two queues of one name");
            position += 1;
        });
        counters.into_iter().map(|counters| counters.expect("every queue is visited")).collect()
    }

    /// Checks the laws that hold after every call.
    pub(crate) fn check(&mut self) {
        self.take_drops();
        let counters = self.counters();
        for Retired { queue, counters, .. } in self.port.retired() {
            assert_eq!(counters.backlog, Tally::default(), "retired queue {queue} holds packets");
        }
        let ring = self.port.ring_occupancy();
        let root = counters[0].backlog;
        assert_eq!(root.packets as usize + ring, self.waiting(), "the root's backlog");
        if ring == 0 {
            assert_eq!(root.bytes.0, self.waiting_bytes, "the root's backlog in bytes");
        }
        self.check_sums(&counters);
        if ring == 0 {
            self.check_places(&counters);
        }
        self.check_promises(&counters);
    }

    /// A queue's backlog is that of its children, and at most one packet that it holds for its own parent.
    fn check_sums(&self, counters: &[Counters]) {
        for (index, children) in self.shape.children.iter().enumerate() {
            if children.is_empty() {
                continue;
            }
            let own = counters[index].backlog;
            let below = children.iter().map(|child| counters[*child].backlog);
            let below = below.fold(Tally::default(), |sum, tally| Tally {
                packets: sum.packets + tally.packets,
                bytes: sum.bytes + tally.bytes,
            });
            let name = &self.shape.names[index];
            let held = own.packets.checked_sub(below.packets);
            assert!(held.is_some_and(|held| held <= 1), "{name}: {own:?} over {below:?}");
            assert!(own.bytes >= below.bytes, "{name}: bytes of what is held");
            assert!(held == Some(1) || own.bytes == below.bytes, "{name}: bytes of nothing");
        }
        self.check_sent(counters);
        self.check_transmitted(&counters[0]);
    }

    /// Packets sent by the root are those passed to the link and those in the ring, if it was the root all
    /// along.
    fn check_transmitted(&self, root: &Counters) {
        if !self.replaced {
            let sent = self.transmitted + self.port.ring_occupancy() as u64;
            assert_eq!(root.sent.packets, sent, "{}: what the link was given", self.topology.name);
        }
    }

    /// Packets sent by the root's children were sent by the root or are held by it; a packet that it takes
    /// from a child and drops counts as dropped by the child. Holds if no tree was replaced or flushed.
    fn check_sent(&self, counters: &[Counters]) {
        let root = &counters[0];
        let children = &self.shape.children[0];
        if children.is_empty() || root.moved_out.packets > 0 || self.replaced {
            return;
        }
        let of_children =
            |get: fn(&Counters) -> u64| -> u64 { children.iter().map(|child| get(&counters[*child])).sum() };
        let held = root.backlog.packets - of_children(|counters| counters.backlog.packets);
        let sent = of_children(|counters| counters.sent.packets);
        assert_eq!(sent, root.sent.packets + held, "{}: sent by its children", self.topology.name);
    }

    /// Each queue holds the packets that the test expects there, except for a packet held at each queue
    /// above it.
    fn check_places(&self, counters: &[Counters]) {
        for &index in &self.shape.by_rules {
            let count: u64 = self.shape.flows[index].iter().map(|flow| self.waiting_of[*flow as usize]).sum();
            let backlog = counters[index].backlog;
            let above = count.checked_sub(backlog.packets);
            assert!(
                above.is_some_and(|above| above <= self.shape.depths[index]),
                "{} has {backlog:?}, and {count} packets are its own",
                self.shape.names[index],
            );
        }
    }

    /// The first packet that left a queue since a peek has the length that was promised. If the parent
    /// evicts, the dropped packet may be the promised one.
    fn check_promises(&mut self, counters: &[Counters]) {
        let shape = &self.shape;
        self.promised.retain(|&index, (before, length)| {
            let (now, name) = (&counters[index], &shape.names[index]);
            if now.dropped != before.dropped && shape.is_evicted[index] {
                return false;
            }
            match now.sent.packets - before.sent.packets {
                0 => return true,
                1 => assert_eq!(now.sent.bytes.0 - before.sent.bytes.0, length.0, "{name} broke its promise"),
                _ => assert!(now.sent.bytes.0 - before.sent.bytes.0 > length.0, "{name} broke its promise"),
            }
            false
        });
    }
}
