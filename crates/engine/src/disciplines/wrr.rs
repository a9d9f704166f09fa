//! Weighted round robin: children take turns, each may send its weight in packets.
//!
//! ```text
//! weights 2 and 1:    a a b   a a b   a a b
//! ```
//!
//! O(1). Fair in packets, not in bytes: a child with packets twice as long gets twice the link (`drr`
//! counts bytes).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::discipline::{About, Arity, Child, Context, Dequeue, Discipline, Earliest, Guarantee, Invalid};
use crate::explanation::{Choice, Explanation, Foresight, Value, why};
use crate::fair::check_weights;
use crate::node::Node;
use crate::packet::Packet;
use crate::queue::active::ActiveList;

/// Parameters of `wrr`: none of its own; each child has its weight.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// A child's share.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Packets it may send in its turn, one after another; at least 1.
    pub weight: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { weight: 1 }
    }
}

/// Weighted round robin.
pub struct Wrr {
    classes: Vec<Class>,
    active: ActiveList,
    /// Packets sent so far in the current turn.
    sent: u32,
}

struct Class {
    node: Node,
    weight: u32,
}

impl Discipline for Wrr {
    const ABOUT: About = About {
        name: "wrr",
        summary: "weighted round robin: each child may send its weight in packets a round",
        source: "Katevenis, Sidiropoulos and Courcoubetis, Weighted round-robin cell multiplexing, JSAC 9 (1991), without their spreading of a turn",
        guarantees: &[
            Guarantee::new(
                "fairness between backlogged children, in packets: |N_i/w_i - N_j/w_j| <= 1",
                &["packet-rounds"],
            ),
            Guarantee::new(
                "a child that wakes waits for at most one turn of every other child",
                &["first-turn"],
            ),
        ],
        children: Arity::Many,
        share_example: "weight = 1\n",
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn new(_: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        check_weights(children.iter().map(|child| child.share.weight))?;
        let active = ActiveList::new(children.len());
        let classes = children
            .into_iter()
            .map(|child| Class { node: child.node, weight: child.share.weight })
            .collect();
        Ok(Self { classes, active, sent: 0 })
    }

    fn reconfigure(&mut self, _: Config, shares: Vec<Share>, _: &mut Context<'_>) -> Result<(), Invalid> {
        check_weights(shares.iter().map(|share| share.weight))?;
        for (class, share) in self.classes.iter_mut().zip(shares) {
            class.weight = share.weight;
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let slot = packet.position.child().min(self.classes.len() - 1);
        let node = &mut self.classes[slot].node;
        node.enqueue(packet, cx);
        if !node.is_empty() {
            self.active.activate(slot);
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest = Earliest::default();
        let mut passed_over = 0;
        while let Some(slot) = self.active.current() {
            let class = &mut self.classes[slot];
            if self.sent >= class.weight {
                self.next_turn();
                continue;
            }
            if passed_over == self.active.len() {
                break;
            }
            match class.node.dequeue(cx) {
                Dequeue::Packet(packet) => {
                    self.sent += 1;
                    if class.node.is_empty() {
                        self.leave();
                    }
                    let Self { classes, active, .. } = self;
                    active.prefetch_upcoming(|slot, is_cached| classes[slot].node.prefetch(is_cached));
                    return Dequeue::Packet(packet);
                }
                Dequeue::Empty if class.node.is_empty() => self.leave(),
                refused => {
                    // It returns no packet now. It stays listed, because no event would list it again.
                    earliest.add(refused.time());
                    self.next_turn();
                    passed_over += 1;
                }
            }
        }
        earliest.result()
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut nexts = to.children(self.classes.iter().map(|class| &class.node), cx);
        let mut order: VecDeque<usize> = self.active.iter().collect();
        for (slot, class) in self.classes.iter().enumerate() {
            let turn = order.iter().position(|listed| *listed == slot);
            to.field(slot, "turn", turn.map_or(Value::Word("-"), |turn| Value::from(turn + 1)));
            to.field(slot, "weight", class.weight);
            to.field(slot, "sent", if turn == Some(0) { self.sent } else { 0 });
        }
        let mut sent = self.sent;
        let mut earliest = Earliest::default();
        let mut passed_over = 0;
        while let Some(slot) = order.front().copied() {
            let Class { node, weight } = &self.classes[slot];
            if sent >= *weight {
                order.rotate_left(1);
                sent = 0;
                continue;
            }
            if passed_over == order.len() {
                break;
            }
            match nexts[slot].choice {
                Choice::Packet { .. } => {
                    let why =
                        why![&nexts[slot].queue, ": it sent ", sent, " of the ", *weight, " of its turn"];
                    return to.send(slot, nexts.swap_remove(slot), why);
                }
                Choice::Unknown => return to.open(&nexts[slot].queue),
                Choice::Empty if nexts[slot].drains(node) => {
                    order.pop_front();
                    sent = 0;
                    continue;
                }
                Choice::Wait(time) => earliest.add(time),
                Choice::Empty => {}
            }
            order.rotate_left(1);
            sent = 0;
            passed_over += 1;
        }
        to.rest(earliest.0);
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.iter_mut().for_each(|class| visit(&mut class.node));
    }
}

impl Wrr {
    fn next_turn(&mut self) {
        self.active.rotate();
        self.sent = 0;
    }

    fn leave(&mut self) {
        self.active.retire();
        self.sent = 0;
    }
}
