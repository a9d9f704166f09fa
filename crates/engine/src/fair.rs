//! What the fair queueing disciplines share: children with weights, and their place in virtual time.
//!
//! ```text
//! S = max(V at arrival, F of the packet before it)        start tag of a packet at its child's head
//! F = S + length / weight                                 finish tag
//! ```
//!
//! Virtual time counts bytes per unit of weight in steps of 2^-32. A packet adds at most 2^64 steps (2^32
//! bytes at weight 1), so 128 bits outlast 2^64 packets; besides, it starts anew whenever a packet meets an
//! empty node and a server that asks at once. Tags are rounded up by less than a step, which is
//! `weight / 2^32` bytes of the child.
//!
//! Tags are given to heads of children and not to arrivals: a child may drop or reorder what it holds
//! without telling. For a FIFO child both are the same, since the tags of a busy child do not depend on V.

pub(crate) mod groups;
mod order;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discipline::{Child, Context, Invalid};
use crate::node::{Node, Peek};
use crate::packet::Packet;
use crate::prefetch::{CACHED_CHILDREN, prefetch};
use crate::units::{Bytes, Instant};

pub(crate) use order::TagOrder;

/// Parameters of a fair queueing discipline: none of its own; each child has its weight.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// A child's share.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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

/// Refuses a weight of nothing, wherever weights are read.
pub(crate) fn check_weights(weights: impl Iterator<Item = u32>) -> Result<(), Invalid> {
    match weights.enumerate().find(|(_, weight)| *weight == 0) {
        Some((child, _)) => {
            Err(Invalid::new("weight", "must be at least `1`: a child of none would never send")
                .on_child(child))
        }
        None => Ok(()),
    }
}

/// A point in virtual time: bytes per unit of weight, in steps of 2^-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(u128);

impl Tag {
    pub(crate) const ZERO: Self = Self(0);

    /// `length / weight` later, rounded up.
    #[inline]
    pub(crate) fn after(self, length: Bytes, weight: u32) -> Self {
        let steps = match u32::try_from(length.0) {
            Ok(length) => u128::from((u64::from(length) << 32).div_ceil(u64::from(weight))),
            Err(_) => (u128::from(length.0) << 32).div_ceil(u128::from(weight)),
        };
        Self(self.0.saturating_add(steps))
    }

    /// What remains of `length / weights` after `elapsed` of `whole`, added and rounded down.
    pub(crate) fn during(self, length: Bytes, weights: u64, elapsed: u64, whole: u64) -> Self {
        let all = (u128::from(length.0) << 32) / u128::from(weights);
        let part = if elapsed >= whole { all } else { part(all, elapsed, whole) };
        Self(self.0.saturating_add(part))
    }

    /// Steps of 2^-32 bytes per unit of weight.
    #[inline]
    pub(crate) fn steps(self) -> u128 {
        self.0
    }

    /// The last multiple of 2^`bits` steps up to here.
    #[inline]
    pub(crate) fn rounded_down(self, bits: u32) -> Self {
        Self(self.0 >> bits << bits)
    }

    /// Twice 2^`bits` steps later.
    #[inline]
    pub(crate) fn plus_two(self, bits: u32) -> Self {
        Self(self.0.saturating_add(2 << bits))
    }

    /// Bytes per unit of weight, for display.
    pub(crate) fn as_bytes(self) -> f64 {
        self.0 as f64 / 4_294_967_296.0
    }
}

/// `all * elapsed / whole`; `all` is below 2^64 for every frame there can be.
fn part(all: u128, elapsed: u64, whole: u64) -> u128 {
    match all.checked_mul(u128::from(elapsed)) {
        Some(product) => product / u128::from(whole),
        None => all / u128::from(whole) * u128::from(elapsed),
    }
}

/// Where a child stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It holds nothing, as far as is known.
    Idle,
    /// It began to hold something and has no tag yet.
    Fresh,
    /// It has a start tag and is listed.
    Listed,
    /// It holds something that it does not give now.
    Waiting,
}

/// In cache lines of its own, three of them.
#[repr(align(64))]
pub(crate) struct TaggedChild {
    pub(crate) node: Node,
    pub(crate) weight: u32,
    /// While it is listed, the start tag of its next packet; otherwise the finish tag of its last, or a start tag that came to
    /// nothing: virtual time has passed that by.
    pub(crate) tag: Tag,
    /// The busy period in which its last packet left.
    period: u64,
    standing: Standing,
}

/// Children of a fair queueing discipline: who began to hold something, who waits, and who is listed.
pub(crate) struct TaggedChildren {
    pub(crate) all: Vec<TaggedChild>,
    /// Children that began to hold something since the last packet left, and when.
    fresh: Vec<(u32, Instant)>,
    /// Children that had nothing to give when they were asked.
    waiting: Vec<u32>,
    /// Children that have a tag.
    listed: usize,
    /// Number of the busy period: tags of an earlier one are worth nothing.
    period: u64,
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
            standing: Standing::Idle,
        });
        Ok(Self { all: all.collect(), fresh: Vec::new(), waiting: Vec::new(), listed: 0, period: 0 })
    }

    /// Takes new weights. Returns whether any changed: then all begin anew, level with each other, since a
    /// tag made with an old weight would hold its child up, or favour it, long after the change.
    pub(crate) fn reweigh(&mut self, shares: &[Share], now: Instant) -> Result<bool, Invalid> {
        check_weights(shares.iter().map(|share| share.weight))?;
        let mut changed = false;
        for (class, share) in self.all.iter_mut().zip(shares) {
            changed |= class.weight != share.weight;
            class.weight = share.weight;
        }
        if changed {
            self.begin_anew(now);
        }
        Ok(changed)
    }

    /// Takes all tags back: those that hold something begin level with each other.
    pub(crate) fn begin_anew(&mut self, now: Instant) {
        self.period += 1;
        self.fresh.clear();
        self.waiting.clear();
        self.listed = 0;
        for (slot, class) in self.all.iter_mut().enumerate() {
            class.standing = Standing::Idle;
            if !class.node.is_empty() {
                class.standing = Standing::Fresh;
                self.fresh.push((slot as u32, now));
            }
        }
    }

    /// Sum of the weights.
    pub(crate) fn sum(&self) -> u64 {
        self.all.iter().map(|class| u64::from(class.weight)).sum()
    }

    /// Hands a packet to its child.
    #[inline]
    pub(crate) fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let slot = packet.class.index().min(self.all.len() - 1);
        let class = &mut self.all[slot];
        class.node.enqueue(packet, cx);
        if class.standing == Standing::Idle && !class.node.is_empty() {
            class.standing = Standing::Fresh;
            self.fresh.push((slot as u32, cx.now));
        }
    }

    /// Whether all that waits came at this very time to a node that was empty, and the server asks: nobody
    /// is ahead of anybody. Begins a busy period then.
    pub(crate) fn begins_busy_period(&mut self, now: Instant) -> bool {
        let begins = self.listed == 0
            && self.waiting.is_empty()
            && self.fresh.first().is_some_and(|(_, first)| *first == now);
        self.period += u64::from(begins);
        begins
    }

    /// Gives the children that began to hold something their start tags and shows them to `list`.
    /// `clock` is virtual time at a time since the last packet left.
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
                class.standing = Standing::Idle;
                continue;
            }
            class.tag = clock(since).max(finish(class, self.period));
            class.standing = Standing::Listed;
            self.listed += 1;
            list(class.tag, slot);
        }
    }

    /// Asks those that wait again, since a change of theirs is not told; those that have a packet now are
    /// shown to `list` with a tag of this time. Returns the earliest time that one named.
    #[inline]
    pub(crate) fn ask_waiting(
        &mut self,
        clock: Tag,
        cx: &mut Context<'_>,
        list: impl FnMut(Tag, u32),
    ) -> Option<Instant> {
        if self.waiting.is_empty() { None } else { self.ask_all_waiting(clock, cx, list) }
    }

    fn ask_all_waiting(
        &mut self,
        clock: Tag,
        cx: &mut Context<'_>,
        mut list: impl FnMut(Tag, u32),
    ) -> Option<Instant> {
        let mut earliest: Option<Instant> = None;
        let Self { all, waiting, listed, period, .. } = self;
        waiting.retain(|slot| {
            let class = &mut all[*slot as usize];
            match class.node.peek(cx) {
                Peek::Length(_) => {
                    // It saves up nothing while it waits.
                    class.tag = clock.max(finish(class, *period));
                    class.standing = Standing::Listed;
                    *listed += 1;
                    list(class.tag, *slot);
                    return false;
                }
                Peek::NotBefore(time) => earliest = Some(earliest.map_or(time, |known| known.min(time))),
                Peek::Empty if class.node.is_empty() => {
                    class.standing = Standing::Idle;
                    return false;
                }
                // It holds packets and denies it. Forgotten, nobody would ask it again.
                Peek::Empty => {}
            }
            true
        });
        earliest
    }

    /// A listed child gave a packet of this length: its finish tag. The child is listed no more.
    #[inline]
    pub(crate) fn served(&mut self, slot: u32, length: Bytes) -> Tag {
        let class = &mut self.all[slot as usize];
        class.tag = class.tag.after(length, class.weight);
        class.period = self.period;
        class.tag
    }

    /// After [`served`](Self::served): lists the child again if it holds more. Returns its start tag.
    #[inline]
    pub(crate) fn relist(&mut self, slot: u32) -> Option<Tag> {
        let class = &mut self.all[slot as usize];
        if class.node.is_empty() {
            class.standing = Standing::Idle;
            self.listed -= 1;
            return None;
        }
        // It starts where the last one ends.
        Some(class.tag)
    }

    /// Prefetches the nodes and packets of the children that come next in `order`, if there are more than
    /// [`CACHED_CHILDREN`].
    #[inline]
    pub(crate) fn prefetch_upcoming(&self, order: &mut TagOrder) {
        if self.all.len() > CACHED_CHILDREN {
            self.prefetch_successors(order);
        }
    }

    #[inline(never)]
    fn prefetch_successors(&self, order: &mut TagOrder) {
        order.each_new_successor(|slot, is_node_cached| {
            let child = &self.all[slot as usize];
            if is_node_cached { child.node.prefetch(true) } else { prefetch(child) }
        });
    }

    /// A listed child gives nothing: it waits, or it is empty and forgotten.
    pub(crate) fn delist(&mut self, slot: u32) {
        let class = &mut self.all[slot as usize];
        self.listed -= 1;
        if class.node.is_empty() {
            class.standing = Standing::Idle;
        } else {
            class.standing = Standing::Waiting;
            self.waiting.push(slot);
        }
    }
}

/// The finish tag of a child's last packet, as far as it counts in this period.
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
