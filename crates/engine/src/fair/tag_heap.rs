//! Tag heap: children ordered by their tags, in an 8-ary heap of one-word keys.
//!
//! ```text
//! cache line 0   [ - - - - - - - root ]
//! cache line 1   [ the eight children of the root ]      the children of index i are line i - 6
//! cache line 2.. [ the eight children of each of those ] ...
//! ```
//!
//! Invariant: a key is not larger than the keys of its child line; unused slots hold `NONE`, the largest
//! key. Insert and pop cost O(log8 n) cache lines; the least of a line is selected without branches. From a
//! thousand children on this is faster than a heap with branches, at eight it costs 5 to 7 ns (decision
//! 008).
//!
//! No entry is ever removed from the middle, so no index by child is needed. A pop is mostly followed by an
//! insert, so it leaves a hole at the root (`is_root_free`): the next insert sinks its key from there, one
//! path down instead of one down and one up. With 1000 children at three levels this took `wf2q+` from 110 to
//! 91 ns.
//!
//! # Keys
//!
//! A tag has 128 bits, a key 64: the low `slot_bits` name the child, the others hold the tag's distance
//! from `base` in steps of 2^`step`. The distance can be 4 MB per unit of weight for a thousand children,
//! and 64 kB for 65 000. Tags that wait together differ by at most one packet at the least weight, and the
//! base follows them, so that `step` is 0 and keys are exact. Longer packets widen the steps as far as
//! needed; tags within one step are then ordered by child. The full tag is stored with the child
//! ([`TaggedChild`](crate::fair::TaggedChild)).

use core::hint::select_unpredictable;

use crate::fair::Tag;
use crate::prefetch::{LARGE_HEAP, prefetch};

/// Keys per line: children per heap node.
const FAN: usize = 8;
/// Index of the root: the last of line 0, so that every child line is aligned.
const ROOT: usize = FAN - 1;
/// Sentinel of an unused slot: larger than any key.
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
struct Line([u64; FAN]);

/// Heap of children by tag; of equal tags the child with the smallest index is first.
pub(crate) struct TagHeap {
    /// Number of bits of a key that name the child.
    slot_bits: u32,
    lines: Vec<Line>,
    /// Index after the last used one; the unused indices before the root count.
    end: usize,
    /// True if the root was popped and not replaced yet: the slot is a hole.
    is_root_free: bool,
    /// Lower bound of all tags in the heap.
    base: u128,
    /// Logarithm of the step width of keys.
    step: u32,
    /// Upper bound of a tag's distance from the base.
    range: u128,
    /// Line 1 (the root's children) at the last call of [`each_new_successor`](Self::each_new_successor).
    last_line: Line,
}

impl TagHeap {
    /// Creates an empty heap for children below `count`.
    pub(crate) fn new(count: usize) -> Self {
        // One child number stays unused, so that no key equals `NONE`.
        Self::with_slot_bits(count.max(1).ilog2() + 1)
    }

    fn with_slot_bits(slot_bits: u32) -> Self {
        let range = 1 << (u64::BITS - slot_bits);
        Self {
            slot_bits,
            lines: vec![Line([NONE; FAN])],
            end: ROOT,
            is_root_free: false,
            base: 0,
            step: 0,
            range,
            last_line: Line([NONE; FAN]),
        }
    }

    /// Returns the number of bits of a key that hold the distance.
    #[inline(always)]
    fn tag_bits(&self) -> u32 {
        u64::BITS - self.slot_bits
    }

    #[inline(always)]
    fn key(&self, steps: u64, slot: u32) -> u64 {
        steps << self.slot_bits | u64::from(slot)
    }

    #[inline(always)]
    fn slot(&self, key: u64) -> u32 {
        key as u32 & ((1 << self.slot_bits) - 1)
    }

    #[inline]
    pub(crate) fn insert(&mut self, tag: Tag, slot: u32) {
        let steps = match tag.steps().checked_sub(self.base) {
            Some(above) if above < self.range && self.step == 0 => above as u64,
            Some(above) if above < self.range => (above >> self.step) as u64,
            _ => self.refit(tag),
        };
        let key = self.key(steps, slot);
        if core::mem::take(&mut self.is_root_free) {
            return self.sift_down(key);
        }
        self.sift_up(key);
    }

    /// Returns the child with the smallest tag.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<u32> {
        self.fill_root();
        let key = self.lines[0].0[ROOT];
        (key != NONE).then(|| self.slot(key))
    }

    /// Reports what to prefetch. The *successor* of a key is the smallest key of its child line, which takes
    /// its slot when it leaves. For each key that entered the root's children since the last call, calls
    /// `report` with `(successor, true)`, whose packet is to be prefetched (its node was before), and with
    /// the successor's own `(successor, false)`, whose node is to be prefetched. The first is needed in three
    /// turns or later.
    #[inline]
    pub(crate) fn each_new_successor(&mut self, mut report: impl FnMut(u32, bool)) {
        let Some(&Line(now)) = self.lines.get(1) else { return };
        let last = core::mem::replace(&mut self.last_line, Line(now));
        for (index, (key, last)) in now.iter().zip(last.0).enumerate() {
            if *key != last && *key != NONE {
                let Some((successor, at)) = self.successor(FAN + index) else { continue };
                report(self.slot(successor), true);
                if let Some((after, _)) = self.successor(at) {
                    report(self.slot(after), false);
                }
            }
        }
    }

    /// Returns the key that takes slot `index` of the heap when the one there leaves, and its own index.
    #[inline(always)]
    fn successor(&self, index: usize) -> Option<(u64, usize)> {
        let below = below(index);
        let (key, at) = least(self.lines.get(below)?);
        (key != NONE).then_some((key, below * FAN + at))
    }

    /// Returns whether the heap is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.end == ROOT + usize::from(self.is_root_free)
    }

    /// Removes and returns the child with the smallest tag.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let first = self.first()?;
        self.is_root_free = true;
        Some(first)
    }

    /// Returns the tags by which the children in the heap are ordered, by child below `count`.
    pub(crate) fn tags(&self, count: usize) -> Vec<Option<Tag>> {
        let mut tags = vec![None; count];
        let keys = self.lines.iter().flat_map(|line| line.0).enumerate();
        for (index, key) in keys.filter(|(_, key)| *key != NONE) {
            if index == ROOT && self.is_root_free {
                continue;
            }
            let steps = u128::from(key >> self.slot_bits) << self.step;
            if let Some(tag) = tags.get_mut(self.slot(key) as usize) {
                *tag = Some(Tag(self.base.saturating_add(steps)));
            }
        }
        tags
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::with_slot_bits(self.slot_bits);
    }

    /// Fills the hole at the root with the last key.
    #[inline]
    fn fill_root(&mut self) {
        if core::mem::take(&mut self.is_root_free) {
            self.end -= 1;
            let last = core::mem::replace(self.at(self.end), NONE);
            if self.end > ROOT {
                self.sift_down(last);
            }
        }
    }

    #[inline(always)]
    fn at(&mut self, index: usize) -> &mut u64 {
        &mut self.lines[index / FAN].0[index % FAN]
    }

    /// Puts `key` into the hole at the root and sifts it down.
    fn sift_down(&mut self, key: u64) {
        let is_large = self.lines.len() > LARGE_HEAP;
        let mut hole = ROOT;
        while let Some(line) = self.lines.get(below(hole)) {
            if is_large {
                self.prefetch_below(below(hole));
            }
            let (least, at) = least(line);
            if key <= least {
                break;
            }
            *self.at(hole) = least;
            hole = below(hole) * FAN + at;
        }
        *self.at(hole) = key;
    }

    /// Prefetches the eight child lines of a line: the next line visited is one of them, and takes as long
    /// to load as this one.
    #[inline(always)]
    fn prefetch_below(&self, line: usize) {
        let first = below(line * FAN);
        if let Some(lines) = self.lines.get(first..first + FAN) {
            lines.iter().for_each(prefetch);
        }
    }

    /// Appends `key` and sifts it up.
    fn sift_up(&mut self, key: u64) {
        let mut hole = self.end;
        self.end += 1;
        if hole / FAN == self.lines.len() {
            self.lines.push(Line([NONE; FAN]));
        }
        while hole > ROOT {
            let above = hole / FAN + ROOT - 1;
            let parent = *self.at(above);
            if parent <= key {
                break;
            }
            *self.at(hole) = parent;
            hole = above;
        }
        *self.at(hole) = key;
    }

    /// Moves the base, and widens the steps as far as needed, so that `tag` fits. Returns its distance in
    /// steps.
    #[cold]
    #[inline(never)]
    fn refit(&mut self, tag: Tag) -> u64 {
        self.fill_root();
        let (tag, old_base, old_step, slot_bits) = (tag.steps(), self.base, self.step, self.slot_bits);
        let tag_of = |key: u64| old_base + (u128::from(key >> slot_bits) << old_step);
        let keys = self.lines.iter().flat_map(|line| line.0).filter(|key| *key != NONE);
        let (low, high) =
            keys.fold((tag, tag), |(low, high), key| (low.min(tag_of(key)), high.max(tag_of(key))));
        let span = high - low;
        // The free half of the range is split between tags before and after.
        self.step = u128::BITS - (span >> (self.tag_bits() - 1)).leading_zeros();
        self.range = 1_u128.checked_shl(self.tag_bits() + self.step).unwrap_or(u128::MAX);
        self.base = low.saturating_sub((self.range - span) / 2) >> self.step << self.step;
        let (base, step) = (self.base, self.step);
        for key in self.lines.iter_mut().flat_map(|line| &mut line.0).filter(|key| **key != NONE) {
            let steps = (tag_of(*key) - base) >> step;
            *key = (steps as u64) << slot_bits | *key & ((1 << slot_bits) - 1);
        }
        if self.step > old_step {
            self.rebuild();
        }
        ((tag - self.base) >> self.step) as u64
    }

    /// Restores the heap after wider steps have made keys equal except for their children.
    fn rebuild(&mut self) {
        let mut keys: Vec<u64> =
            self.lines.iter().flat_map(|line| line.0).filter(|key| *key != NONE).collect();
        keys.sort_unstable();
        self.end = ROOT;
        for key in keys {
            self.sift_up(key);
        }
    }
}

/// Returns the line of the children of `index`.
#[inline(always)]
const fn below(index: usize) -> usize {
    index + 1 - ROOT
}

/// Returns the smallest key of a line and its position.
#[inline(always)]
fn least(line: &Line) -> (u64, usize) {
    let of = |one: usize| lesser((line.0[one], one), (line.0[one + 1], one + 1));
    lesser(lesser(of(0), of(2)), lesser(of(4), of(6)))
}

/// Returns the one with the smaller key. The outcome is unpredictable, so it is selected without a branch.
#[inline(always)]
fn lesser(one: (u64, usize), other: (u64, usize)) -> (u64, usize) {
    let is_other = other.0 < one.0;
    (select_unpredictable(is_other, other.0, one.0), select_unpredictable(is_other, other.1, one.1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::{Random, Seed};

    /// Maximum number of children.
    const SLOTS: u32 = 1 << 20;

    /// Pops and inserts at random, and compares with an ordered set.
    fn compare(slots: u32, rounds: u32, mut tag: impl FnMut(&mut Random, u32) -> u128) {
        let mut random = Random::stream(Seed(1), "order");
        let (mut order, mut set) = (TagHeap::new(slots as usize), BTreeSet::new());
        for round in 0..rounds {
            if random.below(if round % 4_000 < 2_000 { 3 } else { 5 }) < 2 {
                let (tag, slot) = (tag(&mut random, round), random.below(slots));
                if set.insert((tag, slot)) {
                    order.insert(Tag(tag), slot);
                }
            } else {
                assert_eq!(order.first(), set.first().map(|(_, slot)| *slot));
                assert_eq!(order.pop(), set.pop_first().map(|(_, slot)| slot));
                assert_eq!(order.is_empty(), set.is_empty());
            }
            assert_eq!(order.step, 0, "exact");
        }
        assert_eq!(order.first(), set.first().map(|(_, slot)| *slot));
        order.clear();
        assert_eq!((order.pop(), order.is_empty()), (None, true));
    }

    #[test]
    fn the_heap_agrees_with_an_ordered_set() {
        for slots in [1, 7, 8, 1_000, SLOTS] {
            // Few different tags, so that many are equal.
            compare(slots, 20_000, |random, _| u128::from(random.below(40)));
        }
    }

    #[test]
    fn the_base_follows_virtual_time_through_all_of_its_bits() {
        // Tags up to half the range apart, advancing by ranges, from the middle of a word and across its
        // end.
        for begin in [0, 1 << 63, u128::from(u64::MAX) - (1 << 40)] {
            compare(SLOTS - 1, 20_000, |random, round| {
                begin + (u128::from(round) << 30) + (u128::from(random.bits()) << 8)
            });
        }
    }

    #[test]
    fn steps_are_as_wide_as_they_must_be_and_no_wider() {
        let mut order = TagHeap::new((1 << 20) - 1);
        let step = 1_u128 << 23;
        // The longest packets at weight 1 together with the smallest tags: a range of 2^65 in half of 44
        // bits.
        for (tag, slot) in
            [(1 << 65, 1), (0, 2), ((1 << 65) + step, 3), (step, 4), (1 << 64, 5), (step + 1, 0)]
        {
            order.insert(Tag(tag), slot);
        }
        assert_eq!(1_u128 << order.step, step);
        for slot in [2, 0, 4, 5, 1, 3] {
            assert_eq!(order.pop(), Some(slot), "what one step holds is in the order of children");
        }
        order.insert(Tag(1 << 100), 7);
        order.insert(Tag((1 << 100) + 1), 6);
        assert_eq!((order.step, order.pop(), order.pop()), (0, Some(7), Some(6)));
        order.insert(Tag(u128::MAX), 8);
        order.insert(Tag(0), 9);
        assert_eq!((order.pop(), order.pop(), order.pop()), (Some(9), Some(8), None));
    }

    #[test]
    fn new_successors_are_reported() {
        let mut order = TagHeap::new(600);
        (0..600).for_each(|slot| order.insert(Tag(u128::from(slot)), slot));
        let near = |order: &mut TagHeap| {
            let mut reported = Vec::new();
            order.each_new_successor(|slot, is_near| reported.push((slot, is_near)));
            reported
        };
        // The children of 1 to 8 are 9 to 16, 17 to 24, ...; those of 9, 17, ... are 73 to 80, 137 to 144,
        // ...
        let all: Vec<_> =
            (0..8).flat_map(|index| [(9 + 8 * index, true), (73 + 64 * index, false)]).collect();
        assert_eq!(near(&mut order), all);
        assert_eq!(near(&mut order), [], "no key has entered line 1");
        assert_eq!(order.pop(), Some(0));
        assert_eq!(order.first(), Some(1), "and 9 takes its slot, so that 10 is the successor");
        assert_eq!(near(&mut order), [(10, true), (81, false)]);
    }
}
