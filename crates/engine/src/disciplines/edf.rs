//! Earliest deadline first: each child has a deadline, counted from the arrival of its oldest packet.
//!
//! ```text
//! deadline of a child = arrival of its oldest packet + its relative deadline
//! serve the child with the earliest deadline; late packets are not dropped
//! ```
//!
//! Not preemptive. If the children's traffic can be served in time at all, it is, except for the packet on
//! the link; if it cannot, all become late together. O(log n), plus a step for each child that holds packets
//! but returns none now.
//!
//! A packet that a child drops outside of a dequeue (on a timer, by a change of its own limit) is assumed to
//! be its oldest: the child's deadline is then that of the next packet.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::discipline::{About, Arity, Child, Context, Dequeue, Discipline, Earliest, Guarantee, Invalid};
use crate::explanation::{Choice, Explanation, Foresight, why};
use crate::node::Node;
use crate::packet::Packet;
use crate::units::{Duration, Instant};

/// Parameters of `edf`: none of its own; each child has its deadline.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// A child's share.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Relative deadline: time from its arrival at this port by which a packet should be sent.
    pub deadline: Duration,
}

impl Default for Share {
    fn default() -> Self {
        Self { deadline: Duration::from_millis(100) }
    }
}

/// Earliest deadline first.
pub struct Edf {
    classes: Vec<Class>,
    /// Children that may hold packets, by their last known deadline. An unannounced drop can only have made
    /// it later, so the first child's is checked again.
    order: BTreeSet<(Instant, u32)>,
}

struct Class {
    node: Node,
    deadline: Duration,
    /// Arrival times of its packets, as far as known.
    arrivals: VecDeque<Instant>,
    /// Its deadline in the order, if it is listed.
    listed: Option<Instant>,
}

impl Class {
    /// Returns the deadline of its oldest packet; `None` if it is empty.
    fn due(&mut self) -> Option<Instant> {
        if self.node.is_empty() {
            self.arrivals.clear();
            return None;
        }
        self.settle();
        // Packets beyond the known arrivals count as if they had arrived at the start.
        Some(self.arrivals.front().copied().unwrap_or(Instant::ZERO) + self.deadline)
    }

    /// Returns what [`due`](Self::due) will.
    fn foreseen_due(&self) -> Option<Instant> {
        let waiting = self.node.backlog().packets as usize;
        let oldest = self.arrivals.get(self.arrivals.len().saturating_sub(waiting));
        (waiting > 0).then(|| oldest.copied().unwrap_or(Instant::ZERO) + self.deadline)
    }

    /// Removes the oldest arrivals, as many as packets have left unnoticed.
    fn settle(&mut self) {
        let waiting = self.node.backlog().packets as usize;
        if self.arrivals.len() > waiting {
            self.arrivals.drain(..self.arrivals.len() - waiting);
        }
    }

    /// Removes the arrival of a packet that left.
    fn forget(&mut self, arrival: Instant) {
        if self.arrivals.front() == Some(&arrival) {
            self.arrivals.pop_front();
        } else if let Ok(index) = self.arrivals.binary_search(&arrival) {
            self.arrivals.remove(index);
        }
    }

    /// Removes the arrivals of the packets that the child dropped since there were `before` drops.
    fn forget_dropped(&mut self, before: usize, cx: &Context<'_>) {
        for (packet, _) in &cx.drops.waiting[before..] {
            self.forget(packet.arrived);
        }
    }
}

impl Discipline for Edf {
    const ABOUT: About = About {
        name: "edf",
        summary: "earliest deadline first, by a deadline for each child",
        source: "Liu and Layland, JACM 20 (1973); for links: Georgiadis, Guerin and Parekh, INFOCOM 1994",
        guarantees: &[
            Guarantee::new(
                "no packet ends later than its deadline + L_max/C if the children's envelopes a_i fit: sum of a_i(t - d_i) <= C t for all t",
                &["deadlines"],
            ),
            Guarantee::new(
                "no packet ends later than its deadline if they fit with one longest packet more",
                &["deadlines"],
            ),
        ],
        children: Arity::Many,
        share_example: "deadline = \"20ms\"\n",
        orders_children: true,
        ..About::DEFAULT
    };
    type Config = Config;
    type Share = Share;

    fn new(_: Config, children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        let classes = children.into_iter().map(|child| Class {
            node: child.node,
            deadline: child.share.deadline,
            arrivals: VecDeque::new(),
            listed: None,
        });
        Ok(Self { classes: classes.collect(), order: BTreeSet::new() })
    }

    fn reconfigure(&mut self, _: Config, shares: Vec<Share>, _: &mut Context<'_>) -> Result<(), Invalid> {
        for (class, share) in self.classes.iter_mut().zip(shares) {
            class.deadline = share.deadline;
        }
        for slot in 0..self.classes.len() {
            self.list(slot);
        }
        Ok(())
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let slot = packet.position.child().min(self.classes.len() - 1);
        let class = &mut self.classes[slot];
        class.settle();
        // In order of arrival, also after this tree replaced another.
        let index = class.arrivals.partition_point(|known| *known <= packet.arrived);
        class.arrivals.insert(index, packet.arrived);
        let dropped = cx.drops.waiting.len();
        class.node.enqueue(packet, cx);
        class.forget_dropped(dropped, cx);
        self.list(slot);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue {
        let mut earliest = Earliest::default();
        // Children that returned no packet in this call; listed again at its end.
        let mut asked: Vec<usize> = Vec::new();
        let mut found = None;
        while let Some((listed, slot)) = self.order.pop_first() {
            let slot = slot as usize;
            let class = &mut self.classes[slot];
            class.listed = None;
            if class.due() != Some(listed) {
                self.list(slot);
                continue;
            }
            let dropped = cx.drops.waiting.len();
            let dequeued = class.node.dequeue(cx);
            class.forget_dropped(dropped, cx);
            match dequeued {
                Dequeue::Packet(packet) => {
                    class.forget(packet.arrived);
                    self.list(slot);
                    found = Some(packet);
                    break;
                }
                refused => earliest.add(refused.time()),
            }
            asked.push(slot);
        }
        for slot in asked {
            self.list(slot);
        }
        match found {
            Some(packet) => Dequeue::Packet(packet),
            None => earliest.result(),
        }
    }

    fn explain(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        let mut nexts = to.children(self.classes.iter().map(|class| &class.node), cx);
        let mut order: Vec<(Instant, usize)> = Vec::new();
        for (slot, class) in self.classes.iter().enumerate() {
            if let Some(due) = class.foreseen_due() {
                to.field(slot, "deadline", due);
                order.push((due, slot));
            }
        }
        order.sort_unstable();
        let mut earliest = Earliest::default();
        for (index, (due, slot)) in order.iter().copied().enumerate() {
            match nexts[slot].choice {
                Choice::Packet { .. } => {
                    let first = why![&nexts[slot].queue, ": its deadline ", due, " is the earliest of "];
                    let mut why = first.and(why![order.len() - index]);
                    if let Some((later, other)) = order.get(index + 1) {
                        why = why.and(why!["; ", &nexts[*other].queue, " has ", *later]);
                    }
                    return to.send(slot, nexts.swap_remove(slot), why);
                }
                Choice::Wait(time) => earliest.add(time),
                Choice::Empty => {}
                Choice::Unknown => return to.open(&nexts[slot].queue),
            }
        }
        to.rest(earliest.0);
    }

    fn each_child(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        self.classes.iter_mut().for_each(|class| visit(&mut class.node));
    }
}

impl Edf {
    /// Lists a child by its deadline; of equal deadlines the first child is first.
    fn list(&mut self, slot: usize) {
        let class = &mut self.classes[slot];
        let due = class.due();
        if due == class.listed {
            return;
        }
        if let Some(listed) = core::mem::replace(&mut class.listed, due) {
            self.order.remove(&(listed, slot as u32));
        }
        if let Some(due) = due {
            self.order.insert((due, slot as u32));
        }
    }
}
