//! The fair queueing of ALTQ: a round robin with quotas, over queues that share one buffer.
//!
//! ```text
//! turn of a queue:   quota += 512 * weight / 100         send while quota > 0;  quota -= length
//! above the limit:   the oldest packet of the queue with most bytes / weight goes
//! ```
//!
//! Called weighted fair queueing, without any virtual time: a packet may overdraw its quota, and the queue
//! makes up for it in later rounds. A heavier queue may be *longer* (the drop is by bytes over weight) and
//! so its packets wait longer; what is dropped is the oldest, so that a light queue's survivors are fresh.
//!
//! As in the original an empty queue leaves the ring only at a visit with a quota above zero, and joins
//! with none, but for the very first. Rounds in which nobody could send are taken in one step.
//!
//! Differs: the original hashes addresses to 256 queues and gives weights to hash values, so two flows may
//! meet in one queue and share its weight by accident. Here a queue is a child: its flows are said by
//! `match`, its weight stands on it as under every other discipline of weights (so one can be put in the
//! place of another), and results are given for each. Weight 0 is refused: the original divides by it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discipline::{Arity, Child, Context, Dequeue, Discipline, DropReason, Invalid};
use crate::disciplines::fifo::refuse_nothing;
use crate::fair::check_weights;
use crate::node::Node;
use crate::packet::{FlowId, Packet};
use crate::queue::active::ActiveList;
use crate::units::{Bytes, Instant, Limit};

/// Parameters of `wfq-altq`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How much may wait in all children together (the original's high-water mark), in bytes or packets.
    pub limit: Limit,
    /// Whether the longest queue is that of most bytes over weight (`true`, as in the original) or of most
    /// bytes.
    pub weighted_drop: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Limit::Bytes(Bytes(65_536)), weighted_drop: true }
    }
}

/// A child's share.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
}

struct Class {
    node: Node,
    weight: u32,
    /// Bytes it may send; below zero what it sent too much.
    quota: i128,
}

impl Class {
    /// What a turn gives: at least a byte, where the original's small weights give nothing for ever.
    fn quantum(&self) -> i128 {
        (512 * i128::from(self.weight) / 100).max(1)
    }
}

impl Discipline for WfqAltq {
    const KIND: &'static str = "wfq-altq";
    const SUMMARY: &'static str = "the fair queueing of ALTQ: quotas by weight, one buffer, oldest dropped first";
    const SOURCE: &'static str = "altq_wfq.c of ALTQ (KAME, 1997)";
    const GUARANTEES: &'static [&'static str] = &[
        "fairness between backlogged children: |S_i/Q_i - S_j/Q_j| <= 1 + L_i/Q_i + L_j/Q_j with Q = 512 w/100",
        "what waits never exceeds the limit, and a child below its share of it by weight loses nothing",
    ];
    const CHILDREN: Arity = Arity::Many;
    const EXAMPLE: &'static str = "limit = \"1MB\"\nweighted_drop = true\n";
    const SHARE_EXAMPLE: &'static str = "weight = 100\n";
    type Config = Config;
    type Share = Share;

    fn new(config: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        refuse_nothing(config.limit)?;
        check_weights(children.iter().map(|child| child.share.weight))?;
        let active = ActiveList::new(children.len());
        let classes = children
            .into_iter()
            .map(|child| Class { node: child.node, weight: child.share.weight, quota: 0 })
            .collect();
        Ok(Self { config, classes, active })
    }
    fn reconfigure(&mut self, config: Config, shares: Vec<Share>, cx: &mut Context<'_>) -> Result<(), Invalid> {
        refuse_nothing(config.limit)?;
        check_weights(shares.iter().map(|share| share.weight))?;
        self.config = config;
        for (class, share) in self.classes.iter_mut().zip(shares) {
            class.weight = share.weight;
            // What a larger weight left over would otherwise hold the others up.
            class.quota = class.quota.min(class.quantum());
        }
        self.shrink(None, cx);
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let slot = usize::from(packet.class).min(self.classes.len() - 1);
        let came = (packet.flow, packet.sequence);
        let class = &mut self.classes[slot];
        class.node.enqueue(packet, cx);
        if !class.node.is_empty() {
            let first = self.active.is_empty();
            if self.active.activate(slot) {
                class.quota = if first { class.quantum() } else { 0 };
            }
        }
        self.shrink(Some(came), cx);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest: Option<Instant> = None;
        // Queues passed over since somebody's standing changed, and the fewest rounds until one can send.
        let mut turns = 0;
        let mut rounds: Option<i128> = None;
        while let Some(slot) = self.active.current() {
            if turns == self.active.len() {
                let Some(rounds) = rounds.take() else { break };
                self.credit(rounds - 1);
                turns = 0;
                earliest = None;
            }
            let class = &mut self.classes[slot];
            if class.quota > 0 {
                match class.node.dequeue(cx) {
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
                        // Denied or not yet: it keeps its place, and saves up no more than a turn.
                        if let Dequeue::NotBefore(time) = refused {
                            earliest = Some(earliest.map_or(time, |known| known.min(time)));
                        }
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
        earliest.map_or(Dequeue::Empty, Dequeue::NotBefore)
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.iter_mut().for_each(|class| visit(&mut class.node));
    }
}

impl WfqAltq {
    /// The pointer arrives at the current queue: it has a turn's quota.
    fn arrive(&mut self) {
        if let Some(slot) = self.active.current() {
            let class = &mut self.classes[slot];
            class.quota += class.quantum();
        }
    }

    /// Gives every listed queue the quota of `rounds` rounds at once.
    fn credit(&mut self, rounds: i128) {
        for slot in self.active.iter() {
            let class = &mut self.classes[slot];
            class.quota = (class.quota + rounds * class.quantum()).min(class.quantum());
        }
    }

    /// Drops the oldest of the longest queue until the limit is kept. `came` is the packet that just did.
    fn shrink(&mut self, came: Option<(FlowId, u32)>, cx: &mut Context<'_>) {
        // Queues that gave nothing when they were asked: they are not asked again.
        let mut refused: Vec<usize> = Vec::new();
        loop {
            let (packets, bytes) = self.active.iter().fold((0, 0), |(packets, bytes), slot| {
                let backlog = self.classes[slot].node.backlog();
                (packets + backlog.packets, bytes + backlog.bytes.0)
            });
            if self.config.limit.allows(packets, bytes) {
                return;
            }
            let Some(slot) = self.longest(&refused) else { return };
            let evicted = self.classes[slot].node.evict(cx, |packet| match came {
                None => DropReason::Shrunk,
                Some(came) if came == (packet.flow, packet.sequence) => DropReason::Limit,
                Some(_) => DropReason::Head,
            });
            if !evicted {
                refused.push(slot);
            }
        }
    }

    /// The listed queue of most bytes (over its weight); of equal ones the first child.
    fn longest(&self, refused: &[usize]) -> Option<usize> {
        let weighted = self.config.weighted_drop;
        let weight = |slot: usize| if weighted { u128::from(self.classes[slot].weight) } else { 1 };
        let bytes = |slot: usize| u128::from(self.classes[slot].node.backlog().bytes.0);
        let held = |slot: &usize| !self.classes[*slot].node.is_empty() && !refused.contains(slot);
        // Compared as products: a quotient would make queues equal that are not.
        self.active.iter().filter(held).max_by(|one, other| {
            let lengths = (bytes(*one) * weight(*other)).cmp(&(bytes(*other) * weight(*one)));
            lengths.then(other.cmp(one))
        })
    }
}
