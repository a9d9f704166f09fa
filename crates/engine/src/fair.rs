//! Common parts of the fair queueing disciplines: children with weights, and virtual time.
//!
//! ```text
//! S = max(V at arrival, F of the packet before it)        start tag of a packet at its child's head
//! F = S + length / weight                                 finish tag
//!
//!  Idle --enqueue--> Fresh --tag_fresh--> Listed --served, relist--> Listed, or Idle if empty
//!                                          |  ^
//!                      returned no packet  v  | has a packet again, peeked at in each dequeue
//!                                        Waiting ----> Idle if empty
//! ```
//!
//! Virtual time counts bytes per unit of weight in steps of 2^-32. A packet adds at most 2^64 steps (2^32
//! bytes at weight 1), so 128 bits outlast 2^64 packets. It also restarts with each busy period whose first
//! packets are dequeued at the time of their arrival. Tags are rounded up by less than a step, which is
//! `weight / 2^32` bytes of the child.
//!
//! Tags belong to heads of children and not to arrivals: a child may drop or reorder its packets without
//! notice. For a FIFO child both are the same, since the tags of a busy child do not depend on V.
//!
//! Invariant, outside a call: a child is in `fresh` exactly if it is `Fresh`, in `waiting` exactly if it is
//! `Waiting`, and in the discipline's order exactly if it is `Listed`. The order is a [`TagHeap`], O(log n) a
//! packet, or for `qfq` [`groups`], O(1). Decision 008.

pub(crate) mod explain;
pub(crate) mod groups;
mod tag_heap;

use serde::{Deserialize, Serialize};

use crate::discipline::{Child, Context, Dequeue, Earliest, Invalid};
use crate::node::{Node, Peek};
use crate::packet::Packet;
use crate::prefetch::{CACHED_CHILDREN, prefetch};
use crate::units::{Bytes, Instant};

pub(crate) use tag_heap::TagHeap;

/// Parameters of a fair queueing discipline: none of its own; each child has its weight.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// A child's share.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Its weight, 1 to 4294967295: backlogged children share the link in proportion to it.
    pub weight: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { weight: 1 }
    }
}

/// Refuses a weight of zero, wherever weights are read.
pub(crate) fn check_weights(weights: impl Iterator<Item = u32>) -> Result<(), Invalid> {
    match weights.enumerate().find(|(_, weight)| *weight == 0) {
        Some((child, _)) => {
            Err(Invalid::new("weight", "must be at least `1`: a child of none would never send")
                .on_child(child))
        }
        None => Ok(()),
    }
}

/// Point in virtual time: bytes per unit of weight, in steps of 2^-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(u128);

impl Tag {
    pub(crate) const ZERO: Self = Self(0);

    /// Returns the tag `length / weight` later, rounded up.
    #[inline]
    pub(crate) fn after(self, length: Bytes, weight: u32) -> Self {
        let steps = match u32::try_from(length.0) {
            Ok(length) => u128::from((u64::from(length) << 32).div_ceil(u64::from(weight))),
            Err(_) => (u128::from(length.0) << 32).div_ceil(u128::from(weight)),
        };
        Self(self.0.saturating_add(steps))
    }

    /// Returns the tag later by `length / weights` times `elapsed / whole`, rounded down.
    pub(crate) fn during(self, length: Bytes, weights: u64, elapsed: u64, whole: u64) -> Self {
        let all = (u128::from(length.0) << 32) / u128::from(weights);
        let part = if elapsed >= whole { all } else { part(all, elapsed, whole) };
        Self(self.0.saturating_add(part))
    }

    /// Returns the steps of 2^-32 bytes per unit of weight.
    #[inline]
    pub(crate) fn steps(self) -> u128 {
        self.0
    }

    /// Returns the last multiple of 2^`bits` steps up to here.
    #[inline]
    pub(crate) fn rounded_down(self, bits: u32) -> Self {
        Self(self.0 >> bits << bits)
    }

    /// Returns the tag 2 · 2^`bits` steps later.
    #[inline]
    pub(crate) fn plus_two(self, bits: u32) -> Self {
        Self(self.0.saturating_add(2 << bits))
    }

    /// Converts to bytes per unit of weight, for display.
    pub(crate) fn as_bytes(self) -> f64 {
        self.0 as f64 / 4_294_967_296.0
    }
}

/// Computes `all * elapsed / whole`; `all` is below 2^64 for every possible frame.
fn part(all: u128, elapsed: u64, whole: u64) -> u128 {
    match all.checked_mul(u128::from(elapsed)) {
        Some(product) => product / u128::from(whole),
        None => all / u128::from(whole) * u128::from(elapsed),
    }
}

/// State of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is empty, as far as known.
    Idle,
    /// It became non-empty and has no tag yet.
    Fresh,
    /// It has a start tag and is in the discipline's order.
    Listed,
    /// It holds packets but returned none at the last dequeue or peek.
    Waiting,
}

/// Child with its tag. Three cache lines of its own.
#[repr(align(64))]
pub(crate) struct TaggedChild {
    pub(crate) node: Node,
    pub(crate) weight: u32,
    /// While it is listed, the start tag of its next packet. Otherwise the finish tag of its last packet,
    /// or an unused start tag: virtual time has passed both.
    pub(crate) tag: Tag,
    /// Busy period in which its last packet left.
    period: u64,
    state: State,
}

/// Children of a fair queueing discipline, with their states.
pub(crate) struct TaggedChildren {
    pub(crate) all: Vec<TaggedChild>,
    /// Children that became non-empty since the last packet left, and when.
    fresh: Vec<(u32, Instant)>,
    /// Children in state `Waiting`.
    waiting: Vec<u32>,
    /// Number of children in state `Listed`.
    listed: usize,
    /// Number of the busy period. Tags of an earlier period are void.
    period: u64,
    /// Of the times that children named instead of a packet in the current dequeue.
    earliest: Earliest,
}

impl TaggedChildren {
    pub(crate) fn new(children: Vec<Child<Share>>) -> Result<Self, Invalid> {
        if children.is_empty() {
            return Err(Invalid::new("children", "names at least one queue"));
        }
        check_weights(children.iter().map(|child| child.share.weight))?;
        let all = children.into_iter().map(|child| TaggedChild {
            node: child.node,
            weight: child.share.weight,
            tag: Tag::ZERO,
            period: 0,
            state: State::Idle,
        });
        Ok(Self {
            all: all.collect(),
            fresh: Vec::new(),
            waiting: Vec::new(),
            listed: 0,
            period: 0,
            earliest: Earliest::default(),
        })
    }

    /// Adopts new weights. Returns whether any changed: then all children start again, level with each other,
    /// since a tag computed with an old weight would delay or favour its child long after the change.
    pub(crate) fn reweigh(&mut self, shares: &[Share], now: Instant) -> Result<bool, Invalid> {
        check_weights(shares.iter().map(|share| share.weight))?;
        let mut changed = false;
        for (class, share) in self.all.iter_mut().zip(shares) {
            changed |= class.weight != share.weight;
            class.weight = share.weight;
        }
        if changed {
            self.restart(now);
        }
        Ok(changed)
    }

    /// Voids all tags: non-empty children start level with each other.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.period += 1;
        self.fresh.clear();
        self.waiting.clear();
        self.listed = 0;
        for (slot, class) in self.all.iter_mut().enumerate() {
            class.state = State::Idle;
            if !class.node.is_empty() {
                class.state = State::Fresh;
                self.fresh.push((slot as u32, now));
            }
        }
    }

    /// Returns the sum of the weights.
    pub(crate) fn sum(&self) -> u64 {
        self.all.iter().map(|class| u64::from(class.weight)).sum()
    }

    /// Passes a packet to its child.
    #[inline]
    pub(crate) fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let slot = packet.position.child().min(self.all.len() - 1);
        let class = &mut self.all[slot];
        class.node.enqueue(packet, cx);
        if class.state == State::Idle && !class.node.is_empty() {
            class.state = State::Fresh;
            self.fresh.push((slot as u32, cx.now));
        }
    }

    /// Begins a busy period and returns `true` if all queued packets arrived at this very time in an empty
    /// node: then no child is ahead of another.
    pub(crate) fn begins_busy_period(&mut self, now: Instant) -> bool {
        let begins = self.listed == 0
            && self.waiting.is_empty()
            && self.fresh.first().is_some_and(|(_, first)| *first == now);
        self.period += u64::from(begins);
        begins
    }

    /// Gives the fresh children their start tags and passes them to `list`. `clock` computes virtual time
    /// at a time since the last packet left.
    #[inline]
    pub(crate) fn tag_fresh(&mut self, clock: impl Fn(Instant) -> Tag, list: impl FnMut(Tag, u32)) {
        if !self.fresh.is_empty() {
            self.tag_all_fresh(clock, list);
        }
    }

    fn tag_all_fresh(&mut self, clock: impl Fn(Instant) -> Tag, mut list: impl FnMut(Tag, u32)) {
        for (slot, since) in self.fresh.drain(..) {
            let class = &mut self.all[slot as usize];
            if class.node.is_empty() {
                class.state = State::Idle;
                continue;
            }
            class.tag = clock(since).max(finish(class, self.period));
            class.state = State::Listed;
            self.listed += 1;
            list(class.tag, slot);
        }
    }

    /// Peeks at the waiting children again, since a child's changes are not announced; passes those that
    /// have a packet now to `list`, with a tag of this time.
    #[inline]
    pub(crate) fn retry_waiting(&mut self, clock: Tag, cx: &mut Context<'_>, list: impl FnMut(Tag, u32)) {
        self.earliest = Earliest::default();
        if !self.waiting.is_empty() {
            self.retry_all_waiting(clock, cx, list);
        }
    }

    fn retry_all_waiting(&mut self, clock: Tag, cx: &mut Context<'_>, mut list: impl FnMut(Tag, u32)) {
        let Self { all, waiting, listed, period, earliest, .. } = self;
        waiting.retain(|slot| {
            let class = &mut all[*slot as usize];
            match class.node.peek(cx) {
                Peek::Length(_) => {
                    // No credit is accumulated while waiting.
                    class.tag = clock.max(finish(class, *period));
                    class.state = State::Listed;
                    *listed += 1;
                    list(class.tag, *slot);
                    return false;
                }
                Peek::NotBefore(time) => earliest.add(time),
                Peek::Empty if class.node.is_empty() => {
                    class.state = State::Idle;
                    return false;
                }
                // It holds packets but returned none. It stays in `waiting`, because no event would list it
                // again.
                Peek::Empty => {}
            }
            true
        });
    }

    /// Computes the finish tag of a packet that a listed child sent. The child is no longer listed.
    #[inline]
    pub(crate) fn served(&mut self, slot: u32, length: Bytes) -> Tag {
        let class = &mut self.all[slot as usize];
        class.tag = class.tag.after(length, class.weight);
        class.period = self.period;
        class.tag
    }

    /// Lists the child again after [`served`](Self::served) if it holds more. Returns its start tag.
    #[inline]
    pub(crate) fn relist(&mut self, slot: u32) -> Option<Tag> {
        let class = &mut self.all[slot as usize];
        if class.node.is_empty() {
            class.state = State::Idle;
            self.listed -= 1;
            return None;
        }
        // The next packet starts where the last one ends.
        Some(class.tag)
    }

    /// Prefetches the nodes and packets of the children that come next in `order`, if there are more than
    /// [`CACHED_CHILDREN`].
    #[inline]
    pub(crate) fn prefetch_upcoming(&self, order: &mut TagHeap) {
        if self.all.len() > CACHED_CHILDREN {
            self.prefetch_successors(order);
        }
    }

    #[inline(never)]
    fn prefetch_successors(&self, order: &mut TagHeap) {
        order.each_new_successor(|slot, is_node_cached| {
            let child = &self.all[slot as usize];
            if is_node_cached { child.node.prefetch(true) } else { prefetch(child) }
        });
    }

    /// Delists a child that returned no packet, perhaps a time: it becomes waiting, or idle if it is empty.
    pub(crate) fn delist(&mut self, slot: u32, time: Option<Instant>) {
        self.earliest.add(time);
        let class = &mut self.all[slot as usize];
        self.listed -= 1;
        if class.node.is_empty() {
            class.state = State::Idle;
        } else {
            class.state = State::Waiting;
            self.waiting.push(slot);
        }
    }

    /// Returns the result of a dequeue that found no packet.
    pub(crate) fn rest(&self) -> Dequeue {
        self.earliest.result()
    }
}

/// Returns the finish tag of a child's last packet; zero if it left in an earlier busy period.
#[inline]
fn finish(class: &TaggedChild, period: u64) -> Tag {
    if class.period == period { class.tag } else { Tag::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_hold_the_largest_packet_at_the_smallest_weight() {
        let largest = Bytes(u64::from(u32::MAX));
        assert_eq!(Tag::ZERO.after(largest, 1), Tag(u128::from(u32::MAX) << 32));
        assert_eq!(Tag::ZERO.after(Bytes(1), u32::MAX), Tag(2), "rounded up");
        assert_eq!(Tag::ZERO.after(Bytes(3), 2), Tag(3 << 31));
        let half = Tag::ZERO.during(largest, 1, u64::MAX / 2, u64::MAX - 1);
        assert_eq!(half, Tag((u128::from(u32::MAX) << 32) / 2));
        assert_eq!(Tag::ZERO.during(Bytes(8), 2, 0, 0), Tag(4 << 32), "no time at all is all of it");
    }
}
