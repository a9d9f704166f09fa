//! Deficit round robin: children take turns, each may send its quantum of bytes a round.
//!
//! ```text
//! turn of a child:  deficit += quantum;  send while the next packet fits in the deficit
//! it runs empty:    deficit = 0                          an idle child saves up nothing
//! ```
//!
//! O(1) where every quantum holds the largest packet. A quantum smaller than a packet is served fairly
//! too: rounds in which nobody could send are taken in one step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discipline::{Arity, Child, Context, Dequeue, Discipline, FULL_FRAME, Invalid, SMALL_QUANTUM};
use crate::node::{Node, Peek};
use crate::packet::Packet;
use crate::queue::active::ActiveList;
use crate::units::{Bytes, Instant, Rate};

/// Parameters of `drr`: none of its own; each child has its quantum.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// A child's share.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Bytes it may send each round; shares of the link are in proportion to it.
    pub quantum: Bytes,
}

impl Default for Share {
    fn default() -> Self {
        Self { quantum: Bytes(1514) }
    }
}

/// Deficit round robin.
pub struct Drr {
    classes: Vec<Class>,
    active: ActiveList,
}

/// In cache lines of its own: the turn of one class touches three of them.
#[repr(align(64))]
struct Class {
    node: Node,
    quantum: Bytes,
    deficit: Bytes,
}

fn check(shares: &[Share]) -> Result<(), Invalid> {
    match shares.iter().position(|share| share.quantum == Bytes::ZERO) {
        Some(child) => Err(Invalid::new("quantum", "must be at least `1B`: a child of none would never send").on_child(child)),
        None => Ok(()),
    }
}

impl Discipline for Drr {
    const KIND: &'static str = "drr";
    const SUMMARY: &'static str = "deficit round robin: each child may send its quantum of bytes a round";
    const SOURCE: &'static str = "Shreedhar and Varghese, SIGCOMM 1995; tc-drr(8)";
    const GUARANTEES: &'static [&'static str] = &[
        "fairness between backlogged children: |S_i/Q_i - S_j/Q_j| <= 1 + L_i/Q_i + L_j/Q_j",
        "latency of a child: (3F - 2Q_i)/C with F the sum of quanta (Stiliadis and Varma)",
    ];
    const CHILDREN: Arity = Arity::Many;
    const SHARE_EXAMPLE: &'static str = "quantum = \"1514B\"\n";
    type Config = Config;
    type Share = Share;

    fn new(_: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        check(&children.iter().map(|child| child.share.clone()).collect::<Vec<_>>())?;
        let active = ActiveList::new(children.len());
        let classes = children
            .into_iter()
            .map(|child| Class { node: child.node, quantum: child.share.quantum, deficit: Bytes::ZERO })
            .collect();
        Ok(Self { classes, active })
    }

    fn reconfigure(&mut self, _: Config, shares: Vec<Share>, _: &mut Context<'_>) -> Result<(), Invalid> {
        check(&shares)?;
        for (class, share) in self.classes.iter_mut().zip(shares) {
            if share.quantum < class.quantum {
                // What the larger one left over would otherwise hold the others up for a turn of its size.
                class.deficit = class.deficit.min(share.quantum);
            }
            class.quantum = share.quantum;
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let slot = packet.class.place().min(self.classes.len() - 1);
        let class = &mut self.classes[slot];
        class.node.enqueue(packet, cx);
        if !class.node.is_empty() && self.active.activate(slot) {
            class.deficit = class.quantum;
        }
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest: Option<Instant> = None;
        // Turns since somebody's standing changed: a whole round of them means that nobody can send yet.
        let mut turns = 0;
        // The fewest further rounds after which one of those passed over can send.
        let mut rounds: Option<u64> = None;
        while let Some(slot) = self.active.current() {
            if turns == self.active.len() {
                let Some(rounds) = rounds.take() else { break };
                self.credit(rounds - 1, cx);
                turns = 0;
                earliest = None;
            }
            let class = &mut self.classes[slot];
            match class.node.peek(cx) {
                Peek::Length(length) if length <= class.deficit => {
                    class.deficit -= length;
                    let dequeued = class.node.dequeue(cx);
                    if class.node.is_empty() {
                        self.active.retire();
                    }
                    let Self { classes, active } = self;
                    active.prepare(|slot, is_near| classes[slot].node.fetch(is_near));
                    return dequeued;
                }
                Peek::Length(length) => {
                    class.deficit += class.quantum;
                    let missing = length.saturating_sub(class.deficit).0;
                    let needed = missing.div_ceil(class.quantum.0) + 1;
                    rounds = Some(rounds.map_or(needed, |known| known.min(needed)));
                    self.active.rotate();
                    turns += 1;
                }
                Peek::NotBefore(time) => {
                    earliest = Some(earliest.map_or(time, |known| known.min(time)));
                    self.active.rotate();
                    turns += 1;
                }
                Peek::Empty if class.node.is_empty() => self.active.retire(),
                Peek::Empty => {
                    // It holds packets and denies it. Delisted, nobody would ask it again.
                    self.active.rotate();
                    turns += 1;
                }
            }
        }
        earliest.map_or(Dequeue::Empty, Dequeue::NotBefore)
    }

    fn doubts(&self, _: Option<Rate>, tell: &mut dyn FnMut(Invalid)) {
        for (child, class) in self.classes.iter().enumerate() {
            if class.quantum < SMALL_QUANTUM {
                let why = format!("is small for full frames: make it `{}B` or more, or it takes several turns", FULL_FRAME.0);
                tell(Invalid::new("quantum", why).on_child(child));
            }
        }
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.iter_mut().for_each(|class| visit(&mut class.node));
    }
}

impl Drr {
    /// Credits every listed child that has a packet ready with `rounds` quanta at once.
    fn credit(&mut self, rounds: u64, cx: &mut Context<'_>) {
        if rounds == 0 {
            return;
        }
        for slot in self.active.iter() {
            let class = &mut self.classes[slot];
            if let Peek::Length(_) = class.node.peek(cx) {
                class.deficit += Bytes(class.quantum.0.saturating_mul(rounds));
            }
        }
    }
}
