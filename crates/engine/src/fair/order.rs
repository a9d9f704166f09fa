//! Children in the order of their tags: a heap of eight children to a node, each key one word.
//!
//! ```text
//! cache line 0   [ - - - - - - - root ]
//! cache line 1   [ the eight below it ]         below place p lies line p - 6
//! cache line 2.. [ the eight below each of those ] ...
//! ```
//!
//! Nothing is ever taken out of the middle, so that no ordered set is needed. Where the first is taken another mostly comes in
//! its place, so that the place is left free until that is known: one way down instead of one down and one up.
//!
//! A tag has 128 bits and a key has 64. As many as are needed name the child, and the others say how far the tag is above a
//! `base`: 4 MB per unit of weight for a thousand children, 64 kB for 65 000. Tags that wait together lie within a packet by the
//! least weight of each other, and the base follows them, so that keys are exact. Where packets are longer than that, they count
//! in steps, as wide as they must be; tags that one step holds are then in the order of their children. Whoever needs a tag
//! itself has it from its child.

use core::hint::select_unpredictable;

use crate::fair::Tag;
use crate::prefetch::{LARGE_HEAP, prefetch};

/// How many children a node has.
const FAN: usize = 8;
/// Where the root stands.
const ROOT: usize = FAN - 1;
/// Where there is no key.
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
struct Line([u64; FAN]);

/// Children by a tag; of equal tags the first child's is the smallest. O(log n).
pub(crate) struct TagOrder {
    /// Bits of a key that name the child.
    slot_bits: u32,
    lines: Vec<Line>,
    /// Bitmap taken, those before the root counted.
    end: usize,
    /// Whether the first was taken: its place is free.
    is_first_free: bool,
    /// No tag of the order is before it.
    base: u128,
    /// Logarithm of the steps that keys count.
    step: u32,
    /// How far above the base a tag can be.
    room: u128,
    /// Who was right below the first when that was last asked.
    shown: Line,
}

impl TagOrder {
    /// An empty one for children below `count`.
    pub(crate) fn new(count: usize) -> Self {
        // One number more than there are children, so that no key is `NONE`.
        Self::of_bits(count.max(1).ilog2() + 1)
    }

    fn of_bits(slot_bits: u32) -> Self {
        let room = 1 << (u64::BITS - slot_bits);
        Self {
            slot_bits,
            lines: vec![Line([NONE; FAN])],
            end: ROOT,
            is_first_free: false,
            base: 0,
            step: 0,
            room,
            shown: Line([NONE; FAN]),
        }
    }

    /// How many steps a key counts.
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
            Some(above) if above < self.room && self.step == 0 => above as u64,
            Some(above) if above < self.room => (above >> self.step) as u64,
            _ => self.refit(tag),
        };
        let key = self.key(steps, slot);
        if core::mem::take(&mut self.is_first_free) {
            return self.sink(key);
        }
        self.rise(key);
    }

    /// The first child.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<u32> {
        self.fill();
        let key = self.lines[0].0[ROOT];
        (key != NONE).then(|| self.slot(key))
    }

    /// Where somebody has come right below the first since this was last asked: with `true` the child that comes to that place
    /// next, three turns or more before it is first, and with `false` the one that comes where that was.
    #[inline]
    pub(crate) fn each_new_successor(&mut self, mut show: impl FnMut(u32, bool)) {
        let Some(&Line(now)) = self.lines.get(1) else { return };
        let last = core::mem::replace(&mut self.shown, Line(now));
        for (place, (key, last)) in now.iter().zip(last.0).enumerate() {
            if *key != last && *key != NONE {
                // Who comes here next, and who comes there then.
                let Some((next, at)) = self.next(FAN + place) else { continue };
                show(self.slot(next), true);
                if let Some((after, _)) = self.next(at) {
                    show(self.slot(after), false);
                }
            }
        }
    }

    /// The key that comes to `place` when the one there leaves, and where it stands.
    #[inline(always)]
    fn next(&self, place: usize) -> Option<(u64, usize)> {
        let below = below(place);
        let (key, at) = least(self.lines.get(below)?);
        (key != NONE).then_some((key, below * FAN + at))
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.end == ROOT + usize::from(self.is_first_free)
    }

    /// Takes the first child out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let first = self.first()?;
        self.is_first_free = true;
        Some(first)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::of_bits(self.slot_bits);
    }

    /// Puts the last in the place of the first, where that is free.
    #[inline]
    fn fill(&mut self) {
        if core::mem::take(&mut self.is_first_free) {
            self.end -= 1;
            let last = core::mem::replace(self.at(self.end), NONE);
            if self.end > ROOT {
                self.sink(last);
            }
        }
    }

    #[inline(always)]
    fn at(&mut self, place: usize) -> &mut u64 {
        &mut self.lines[place / FAN].0[place % FAN]
    }

    /// Puts `key` in the place of the first, and then where it belongs.
    fn sink(&mut self, key: u64) {
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

    /// Fetches the lines below one: the next is among them, and takes as long to come as this one.
    #[inline(always)]
    fn prefetch_below(&self, line: usize) {
        let first = below(line * FAN);
        if let Some(lines) = self.lines.get(first..first + FAN) {
            lines.iter().for_each(prefetch);
        }
    }

    /// Puts `key` last, and then where it belongs.
    fn rise(&mut self, key: u64) {
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

    /// Moves the base, and widens the steps as far as they must be, so that `tag` fits; returns its steps.
    #[cold]
    #[inline(never)]
    fn refit(&mut self, tag: Tag) -> u64 {
        self.fill();
        let (tag, old_base, old_step, slot_bits) = (tag.steps(), self.base, self.step, self.slot_bits);
        let tag_of = |key: u64| old_base + (u128::from(key >> slot_bits) << old_step);
        let keys = self.lines.iter().flat_map(|line| line.0).filter(|key| *key != NONE);
        let (low, high) =
            keys.fold((tag, tag), |(low, high), key| (low.min(tag_of(key)), high.max(tag_of(key))));
        let span = high - low;
        // Half the room, which the span does not take, is for tags before and after.
        self.step = u128::BITS - (span >> (self.tag_bits() - 1)).leading_zeros();
        self.room = 1_u128.checked_shl(self.tag_bits() + self.step).unwrap_or(u128::MAX);
        self.base = low.saturating_sub((self.room - span) / 2) >> self.step << self.step;
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

    /// Puts the keys in order where wider steps have made some of them equal but for their children.
    fn rebuild(&mut self) {
        let mut keys: Vec<u64> =
            self.lines.iter().flat_map(|line| line.0).filter(|key| *key != NONE).collect();
        keys.sort_unstable();
        self.end = ROOT;
        for key in keys {
            self.rise(key);
        }
    }
}

/// The line of those below a place.
#[inline(always)]
const fn below(place: usize) -> usize {
    place + 1 - ROOT
}

/// The smallest key of a line, and where it stands.
#[inline(always)]
fn least(line: &Line) -> (u64, usize) {
    let of = |one: usize| lesser((line.0[one], one), (line.0[one + 1], one + 1));
    lesser(lesser(of(0), of(2)), lesser(of(4), of(6)))
}

/// The one of the smaller key. Which it is nothing foresees, so that it is selected and not branched to.
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

    /// The most children there can be.
    const SLOTS: u32 = 1 << 20;

    /// Takes and gives by chance, and compares with an ordered set.
    fn compare(slots: u32, rounds: u32, mut tag: impl FnMut(&mut Random, u32) -> u128) {
        let mut random = Random::stream(Seed(1), "order");
        let (mut order, mut set) = (TagOrder::new(slots as usize), BTreeSet::new());
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
    fn the_order_is_that_of_an_ordered_set() {
        for slots in [1, 7, 8, 1_000, SLOTS] {
            // Few tags, so that many are equal.
            compare(slots, 20_000, |random, _| u128::from(random.below(40)));
        }
    }

    #[test]
    fn the_base_follows_virtual_time_through_all_of_its_bits() {
        // Up to half the range apart, and on by ranges, from the middle of a word and across its end.
        for begin in [0, 1 << 63, u128::from(u64::MAX) - (1 << 40)] {
            compare(SLOTS - 1, 20_000, |random, round| {
                begin + (u128::from(round) << 30) + (u128::from(random.bits()) << 8)
            });
        }
    }

    #[test]
    fn steps_are_as_wide_as_they_must_be_and_no_wider() {
        let mut order = TagOrder::new((1 << 20) - 1);
        let step = 1_u128 << 23;
        // The longest packets at weight 1 beside the shortest steps: a range of 2^65 in half of 44 bits.
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
    fn who_comes_next_is_shown() {
        let mut order = TagOrder::new(600);
        (0..600).for_each(|slot| order.insert(Tag(u128::from(slot)), slot));
        let near = |order: &mut TagOrder| {
            let mut shown = Vec::new();
            order.each_new_successor(|slot, is_near| shown.push((slot, is_near)));
            shown
        };
        // Below 1 to 8 lie 9 to 16, 17 to 24, ...; below 9, 17, ... lie 73 to 80, 137 to 144, ...
        let all: Vec<_> =
            (0..8).flat_map(|place| [(9 + 8 * place, true), (73 + 64 * place, false)]).collect();
        assert_eq!(near(&mut order), all);
        assert_eq!(near(&mut order), [], "nobody comes anywhere");
        assert_eq!(order.pop(), Some(0));
        assert_eq!(order.first(), Some(1), "and 9 comes to where it was, so that 10 is next");
        assert_eq!(near(&mut order), [(10, true), (81, false)]);
    }
}
