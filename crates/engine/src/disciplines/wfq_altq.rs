//! ALTQ's fair queueing: round robin with quotas, over queues that share one buffer.
//!
//! ```text
//! turn of a queue:   quota += 512 * weight / 100         send while quota > 0;  quota -= length
//! above the limit:   the oldest packet of the queue with most bytes / weight is dropped
//! ```
//!
//! Called weighted fair queueing, but without virtual time: a packet may overdraw its quota, and the queue
//! makes up for it in later rounds. A heavier queue may be *longer* (the drop is by bytes over weight), so
//! its packets wait longer; the oldest packet is dropped, so that the survivors of a light queue are fresh.
//!
//! As in the original an empty queue leaves the ring only at a visit with a quota above zero, and joins
//! with none, except for the very first. Rounds in which no queue could send are skipped in one step. O(log
//! n), where the original scans all active queues for a drop. Drops of a child on a timer or by a change of
//! its own are noticed when the child is next accessed.
//!
//! Differs: the original hashes addresses to 256 queues and gives weights to hash values, so two flows may
//! share one queue and its weight by accident. Here a queue is a child: its flows are given by `match`, its
//! weight by its share as under every other discipline with weights (so that one can replace another), and
//! results are given for each. Weight 0 is refused: the original divides by it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::discipline::{
    About, Arity, Child, Context, Dequeue, Discipline, DropReason, Earliest, Guarantee, Invalid, check_limit,
};
use crate::explanation::stand_in::{Part, Rehearsed};
use crate::explanation::{Choice, Explanation, Foresight, Value, why};
use crate::fair::check_weights;
use crate::node::{Node, Tally};
use crate::packet::{FlowId, Packet};
use crate::queue::active::ActiveList;
use crate::units::{Bytes, Limit};

/// Parameters of `wfq-altq`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Limit of the backlog of all children together (the original's high-water mark), in bytes or packets.
    pub limit: Limit,
    /// True if the longest queue is that of most bytes over weight (`true`, as in the original) or of most
    /// bytes.
    pub weighted_drop: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Limit::Bytes(Bytes(65_536)), weighted_drop: true }
    }
}

/// A child's share.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Its weight, at least 1: its quota a round is `512 * weight / 100` bytes.
    pub weight: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { weight: 100 }
    }
}

/// The fair queueing of ALTQ.
pub struct WfqAltq {
    config: Config,
    classes: Vec<Class>,
    active: ActiveList,
    /// Non-empty children by length (over weight); of equal ones the first is last.
    order: BTreeSet<(u128, Reverse<u32>)>,
    /// Total of all children, as far as known: unannounced drops are still in it.
    packets: u64,
    bytes: u64,
}

struct Class {
    node: Node,
    weight: u32,
    /// Bytes it may send; negative if it sent too much.
    quota: i128,
    /// Its backlog at the last access, and its length in the order then.
    known: Tally,
    length: u128,
}

impl Class {
    /// Quota of a turn: at least a byte, while the original's small weights never get any.
    fn quantum(&self) -> i128 {
        (512 * i128::from(self.weight) / 100).max(1)
    }
}

impl Discipline for WfqAltq {
    const ABOUT: About = About {
        name: "wfq-altq",
        summary: "the fair queueing of ALTQ: quotas by weight, one buffer, oldest dropped first",
        source: "altq_wfq.c of ALTQ (KAME, 1997)",
        guarantees: &[
            Guarantee::new(
                "fairness between backlogged children: |S_i/Q_i - S_j/Q_j| <= 1 + L_i/Q_i + L_j/Q_j with Q = 512 w/100",
                &["byte-rounds"],
            ),
            Guarantee::new(
                "what waits never exceeds the limit, and a child below its share of it by weight loses nothing",
                &["buffer-share"],
            ),
        ],
        children: Arity::Many,
        example: "limit = \"1MB\"\nweighted_drop = true\n",
        share_example: "weight = 100\n",
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn new(config: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        check_limit(config.limit)?;
        check_weights(children.iter().map(|child| child.share.weight))?;
        let active = ActiveList::new(children.len());
        let classes = children
            .into_iter()
            .map(|child| Class {
                node: child.node,
                weight: child.share.weight,
                quota: 0,
                known: Tally::default(),
                length: 0,
            })
            .collect();
        Ok(Self { config, classes, active, order: BTreeSet::new(), packets: 0, bytes: 0 })
    }

    fn reconfigure(
        &mut self,
        config: Config,
        shares: Vec<Share>,
        cx: &mut Context<'_>,
    ) -> Result<(), Invalid> {
        check_limit(config.limit)?;
        check_weights(shares.iter().map(|share| share.weight))?;
        self.config = config;
        for (class, share) in self.classes.iter_mut().zip(shares) {
            class.weight = share.weight;
            // Credit of a larger weight would hold the others up.
            class.quota = class.quota.min(class.quantum());
        }
        (0..self.classes.len()).for_each(|slot| self.measure(slot));
        self.shrink(None, cx);
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let slot = packet.position.child().min(self.classes.len() - 1);
        let came = (packet.flow, packet.sequence);
        let class = &mut self.classes[slot];
        class.node.enqueue(packet, cx);
        if !class.node.is_empty() {
            let first = self.active.is_empty();
            if self.active.activate(slot) {
                class.quota = if first { class.quantum() } else { 0 };
            }
        }
        self.measure(slot);
        self.shrink(Some(came), cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest = Earliest::default();
        // Queues skipped since a queue's state changed, and the fewest rounds until one can send.
        let mut turns = 0;
        let mut rounds: Option<i128> = None;
        while let Some(slot) = self.active.current() {
            if turns == self.active.len() {
                let Some(rounds) = rounds.take() else { break };
                self.credit(rounds - 1);
                turns = 0;
                earliest = Earliest::default();
            }
            let class = &mut self.classes[slot];
            if class.quota > 0 {
                let dequeued = class.node.dequeue(cx);
                self.measure(slot);
                let class = &mut self.classes[slot];
                match dequeued {
                    Dequeue::Packet(packet) => {
                        class.quota -= i128::from(packet.bytes().0);
                        return Dequeue::Packet(packet);
                    }
                    Dequeue::Empty if class.node.is_empty() => {
                        self.active.retire();
                        self.arrive();
                        continue;
                    }
                    refused => {
                        // It returns no packet now: it stays listed, and accumulates no more than a turn.
                        earliest.add(refused.time());
                        class.quota = class.quota.min(0);
                    }
                }
            } else {
                let needed = -class.quota / class.quantum() + 1;
                rounds = Some(rounds.map_or(needed, |known| known.min(needed)));
            }
            turns += 1;
            self.active.rotate();
            self.arrive();
        }
        earliest.result()
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut nexts = to.children(self.classes.iter().map(|class| &class.node), cx);
        for (slot, class) in self.classes.iter().enumerate() {
            let turn = self.active.iter().position(|listed| listed == slot);
            to.field(slot, "turn", turn.map_or(Value::Word("-"), |turn| Value::from(turn + 1)));
            to.field(slot, "quota", Value::Bytes(class.quota));
            to.field(slot, "quota a turn", Value::Bytes(class.quantum()));
        }
        let children = self.classes.iter().zip(&nexts);
        let parts: Vec<Part<'_>> =
            children.map(|(class, next)| Part { node: &class.node, next: Some(next) }).collect();
        let decide = |nodes, cx: &mut Context<'_>| {
            let mut copy = self.with_nodes(nodes);
            let dequeued = copy.dequeue(cx);
            (dequeued, copy.classes.iter().map(|class| class.quota).collect::<Vec<_>>())
        };
        let Some(Rehearsed { slot, result: quotas }) = to.rehearse_with(&parts, false, cx, decide) else {
            return;
        };
        let Some(slot) = slot else { return to.conclude() };
        let Choice::Packet { packet, .. } = to.choice else { return };
        let quota = Value::Bytes(quotas[slot] + i128::from(packet.bytes().0));
        let why = why![&nexts[slot].queue, " is the first in its turn with a quota above 0: ", quota];
        let drops = core::mem::take(&mut to.drops);
        to.send(slot, nexts.swap_remove(slot), why);
        to.drops = drops;
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.iter_mut().for_each(|class| visit(&mut class.node));
    }
}

impl WfqAltq {
    /// Returns a copy with other nodes, for an explanation: without lengths, by which only drops are chosen.
    fn with_nodes(&self, nodes: Vec<Node>) -> Self {
        let classes = self.classes.iter().zip(nodes).map(|(class, node)| Class {
            node,
            weight: class.weight,
            quota: class.quota,
            known: Tally::default(),
            length: 0,
        });
        Self {
            config: self.config.clone(),
            classes: classes.collect(),
            active: self.active.clone(),
            order: BTreeSet::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// Begins the turn of the current queue with a quota.
    fn arrive(&mut self) {
        if let Some(slot) = self.active.current() {
            let class = &mut self.classes[slot];
            class.quota += class.quantum();
        }
    }

    /// Credits every listed queue with the quota of `rounds` rounds at once.
    fn credit(&mut self, rounds: i128) {
        for slot in self.active.iter() {
            let class = &mut self.classes[slot];
            class.quota = (class.quota + rounds * class.quantum()).min(class.quantum());
        }
    }

    /// Updates the length of a child.
    fn measure(&mut self, slot: usize) {
        let class = &mut self.classes[slot];
        let backlog = class.node.backlog();
        let weight = if self.config.weighted_drop { u128::from(class.weight) } else { 1 };
        // Different lengths differ by more than a part in 2^64: the quotients are in the same order.
        let length = (u128::from(backlog.bytes.0) << 64) / weight;
        let known = core::mem::replace(&mut class.known, backlog);
        let before = core::mem::replace(&mut class.length, length);
        self.packets = self.packets - known.packets + backlog.packets;
        self.bytes = self.bytes - known.bytes.0 + backlog.bytes.0;
        if before != length {
            let entry = Reverse(slot as u32);
            self.order.remove(&(before, entry));
            if length > 0 {
                self.order.insert((length, entry));
            }
        }
    }

    /// Drops the oldest packet of the longest queue until the limit is kept. `came` is the packet that just
    /// arrived.
    fn shrink(&mut self, came: Option<(FlowId, u32)>, cx: &mut Context<'_>) {
        // Queues that returned no packet: they are skipped from then on.
        let mut refused: Vec<usize> = Vec::new();
        while !self.config.limit.allows(self.packets, self.bytes) {
            let longest = self.order.iter().rev().map(|(_, slot)| slot.0 as usize);
            let Some(slot) = longest.into_iter().find(|slot| !refused.contains(slot)) else { return };
            let known = self.classes[slot].known;
            self.measure(slot);
            if self.classes[slot].known != known {
                // It has lost packets since: it may not be the longest, and the limit may be kept.
                continue;
            }
            let evicted = self.classes[slot].node.evict(cx, |packet| match came {
                None => DropReason::Shrunk,
                Some(came) if came == (packet.flow, packet.sequence) => DropReason::Limit,
                Some(_) => DropReason::Head,
            });
            self.measure(slot);
            if !evicted {
                refused.push(slot);
            }
        }
    }
}
