//! Deficit round robin over children, for `drr` and the bandwidth-sharing bands of `ets`.
//!
//! ```text
//! turn of a child:  deficit += quantum;  send while the next packet fits in the deficit
//! child is empty:   deficit = 0                          an idle child accumulates no credit
//! ```
//!
//! O(1) if every quantum holds the largest packet. Smaller quanta are served fairly as well: rounds in
//! which no child can send are skipped in one step. A child that waits (a shaper) is skipped and gains
//! nothing.
//!
//! Source: Shreedhar and Varghese, SIGCOMM 1995.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::discipline::{Context, Dequeue, Earliest};
use crate::explanation::{Choice, Explanation, Value, Why, why};
use crate::node::{Node, Peek};
use crate::packet::Packet;
use crate::queue::active::ActiveList;
use crate::units::{Bytes, Instant};

/// How the turns of a dequeue end.
pub(crate) enum Turn {
    /// This child sends, for this reason.
    Sends(usize, Why),
    /// None sends before this time.
    Rests(Option<Instant>),
}

/// Children that take turns.
pub(crate) struct DeficitRounds {
    classes: Vec<Class>,
    active: ActiveList,
}

/// Child with its quantum. Aligned, so that a turn touches three cache lines.
#[repr(align(64))]
struct Class {
    node: Node,
    quantum: Bytes,
    deficit: Bytes,
}

impl DeficitRounds {
    /// Creates the rounds of these children with their quanta, which are above zero.
    pub(crate) fn new(children: impl IntoIterator<Item = (Node, Bytes)>) -> Self {
        let class = |(node, quantum)| Class { node, quantum, deficit: Bytes::ZERO };
        let classes: Vec<_> = children.into_iter().map(class).collect();
        let mut rounds = Self { active: ActiveList::new(classes.len()), classes };
        (0..rounds.len()).for_each(|slot| rounds.activate(slot));
        rounds
    }

    /// Returns the children.
    pub(crate) fn into_nodes(self) -> impl Iterator<Item = Node> {
        self.classes.into_iter().map(|class| class.node)
    }

    /// Returns the number of children.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.classes.len()
    }

    /// Returns the quanta, in the order of the children.
    pub(crate) fn quanta(&self) -> impl Iterator<Item = Bytes> {
        self.classes.iter().map(|class| class.quantum)
    }

    /// Sets the quantum of the child at `slot`, above zero.
    pub(crate) fn set_quantum(&mut self, slot: usize, quantum: Bytes) {
        let class = &mut self.classes[slot];
        if quantum < class.quantum {
            // Credit of the larger quantum would hold the others up for a turn of its size.
            class.deficit = class.deficit.min(quantum);
        }
        class.quantum = quantum;
    }

    #[inline]
    fn activate(&mut self, slot: usize) {
        let class = &mut self.classes[slot];
        if !class.node.is_empty() && self.active.activate(slot) {
            class.deficit = class.quantum;
        }
    }

    /// Passes a packet to the child at `slot`.
    #[inline]
    pub(crate) fn enqueue(&mut self, slot: usize, packet: Packet, cx: &mut Context<'_>) {
        self.classes[slot].node.enqueue(packet, cx);
        self.activate(slot);
    }

    /// Returns the packet of the child whose turn it is.
    #[inline]
    pub(crate) fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest = Earliest::default();
        // Turns since a child's state changed: a whole round of them means that none can send yet.
        let mut turns = 0;
        // Fewest further rounds after which one of the skipped children can send.
        let mut rounds: Option<u64> = None;
        while let Some(slot) = self.active.current() {
            if turns == self.active.len() {
                let Some(rounds) = rounds.take() else { break };
                self.credit(rounds - 1, cx);
                turns = 0;
                earliest = Earliest::default();
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
                    active.prefetch_upcoming(|slot, is_cached| classes[slot].node.prefetch(is_cached));
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
                    earliest.add(time);
                    self.active.rotate();
                    turns += 1;
                }
                Peek::Empty if class.node.is_empty() => self.active.retire(),
                Peek::Empty => {
                    // It holds packets but returned none. It stays listed, because no event would list it
                    // again.
                    self.active.rotate();
                    turns += 1;
                }
            }
        }
        earliest.result()
    }

    /// Adds the turns to the rows of the children, from `first_row` on, and explains the turns up to the one
    /// that sends. Returns the child that does and the sentence, or the earliest time that a child named.
    ///
    /// # Errors
    /// Name of the child whose choice is not known.
    pub(crate) fn explain(
        &self,
        nexts: &[Explanation],
        first_row: usize,
        to: &mut Explanation,
    ) -> Result<Turn, Arc<str>> {
        let mut deficits: Vec<u64> = self.classes.iter().map(|class| class.deficit.0).collect();
        let mut order: VecDeque<usize> = self.active.iter().collect();
        for (slot, class) in self.classes.iter().enumerate() {
            let turn = order.iter().position(|listed| *listed == slot);
            to.field(first_row + slot, "turn", turn.map_or(Value::Word("-"), |turn| Value::from(turn + 1)));
            to.field(first_row + slot, "deficit", class.deficit);
            to.field(first_row + slot, "quantum", class.quantum);
        }
        let mut earliest = Earliest::default();
        let (mut turns, mut rounds) = (0, None::<u64>);
        let mut passed_over = None;
        while let Some(slot) = order.front().copied() {
            let quantum = self.classes[slot].quantum.0;
            if turns == order.len() {
                let Some(rounds) = rounds.take() else { break };
                for slot in &order {
                    if matches!(nexts[*slot].choice, Choice::Packet { .. }) {
                        let credit = self.classes[*slot].quantum.0.saturating_mul(rounds - 1);
                        deficits[*slot] = deficits[*slot].saturating_add(credit);
                    }
                }
                (turns, earliest) = (0, Earliest::default());
            }
            match nexts[slot].choice {
                Choice::Packet { packet, .. } if packet.bytes().0 <= deficits[slot] => {
                    let sends = why![
                        &nexts[slot].queue,
                        ": deficit ",
                        Bytes(deficits[slot]),
                        " >= ",
                        packet.bytes(),
                    ];
                    let why = passed_over.map_or_else(Why::default, |why: Why| why.and(why!["; "]));
                    return Ok(Turn::Sends(slot, why.and(sends)));
                }
                Choice::Packet { packet, .. } => {
                    let short = (Bytes(deficits[slot]), packet.bytes());
                    passed_over = Some(why![&nexts[slot].queue, ": deficit ", short.0, " < ", short.1]);
                    deficits[slot] = deficits[slot].saturating_add(quantum);
                    let needed = packet.bytes().0.saturating_sub(deficits[slot]).div_ceil(quantum) + 1;
                    rounds = Some(rounds.map_or(needed, |known| known.min(needed)));
                }
                Choice::Wait(time) => earliest.add(time),
                Choice::Empty if nexts[slot].drains(&self.classes[slot].node) => {
                    order.pop_front();
                    continue;
                }
                Choice::Empty => {}
                Choice::Unknown => return Err(nexts[slot].queue.clone()),
            }
            order.rotate_left(1);
            turns += 1;
        }
        Ok(Turn::Rests(earliest.0))
    }

    /// Returns the children.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.classes.iter().map(|class| &class.node)
    }

    /// Calls `visit` with each child.
    pub(crate) fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.iter_mut().for_each(|class| visit(&mut class.node));
    }

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
