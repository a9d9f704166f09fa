//! Winner tree: slots ordered by a key that changes, the smallest first; of equal keys the smallest slot.
//!
//! ```text
//!                     winner = 3.1                      entry = (key, slot)
//! root group    [ 3.1  5.6   -    - ]                   each entry is the winner of the group below it
//! leaf groups   [ 7.0  3.1  4.2  9.3 ]  [ 8.4  8.5  5.6  6.7 ]     one entry per slot, NONE if not listed
//! ```
//!
//! A complete 4-ary tree in one array, level after level, the children of group `g` at `4g + 1 ..= 4g +
//! 4`. A group is half a cache line.
//!
//! Invariant: every entry above the leaves is the minimum of the group below it, and `winner` that of the
//! root group.
//!
//! Cost: setting or removing a key writes one leaf and recomputes the groups on the path to the root, and
//! stops when a winner is unchanged: at most log4(n) groups of three comparisons. The minimum is one load.
//! Comparisons are selections without branches. A d-ary heap has fewer levels, but its sift-down ends at an
//! unpredictable branch, and the next address depends on the comparison. Groups of eight were slower: ten
//! children are two groups of three comparisons instead of two of seven (decision 071: 133 to 130 ns for
//! `hfsc`).
//!
//! # Narrow and wide entries
//!
//! A narrow entry is 64 bits: the low `slot_bits` name the slot, the others say how far the key is above
//! `base`, which follows the keys. If the listed keys lie too far apart for that (in picoseconds 2.5 hours
//! for a thousand slots, 9 seconds for a million), the tree switches to wide entries of 128 bits until it
//! is cleared. Either way the order is exact (decision 070).

use core::hint::select_unpredictable;
use core::marker::PhantomData;

use crate::units::Instant;

/// Maximum number of bits of an entry that name the slot.
const SLOT_BITS: u32 = 20;
/// Maximum number of slots.
pub(crate) const MAX_SLOTS: usize = 1 << SLOT_BITS;
/// Largest key that can be listed; larger ones count as this one.
pub(crate) const MAX_KEY: u128 = (1 << (u128::BITS - SLOT_BITS)) - 2;

/// Key of a winner tree: a number of at most 108 bits.
pub(crate) trait Key: Copy {
    /// Returns the number.
    fn number(self) -> u128;
    /// Returns the key of this number.
    fn of(number: u128) -> Self;
}

impl Key for u128 {
    #[inline]
    fn number(self) -> u128 {
        self
    }
    #[inline]
    fn of(number: u128) -> Self {
        number
    }
}

impl Key for Instant {
    #[inline]
    fn number(self) -> u128 {
        u128::from(self.as_picos())
    }
    #[inline]
    fn of(number: u128) -> Self {
        Self::from_picos(number as u64)
    }
}

/// Entry of the tree: key and slot in one word, the key in the upper bits, so that the smaller word wins.
trait Entry: Copy + PartialEq {
    /// Sentinel of a slot that is not listed: larger than any entry.
    const NONE: Self;
    /// Returns the smaller entry, without a branch.
    fn smaller(self, other: Self) -> Self;
}

impl Entry for u64 {
    const NONE: Self = Self::MAX;
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        select_unpredictable(other < self, other, self)
    }
}

impl Entry for u128 {
    const NONE: Self = Self::MAX;
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        select(is_less(other, self), other, self)
    }
}

/// Entries of a group: half a cache line of narrow entries.
const FAN: usize = 4;

/// Entries whose minimum is one entry of the group above.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Group<E>([E; FAN]);

/// Winner tree over entries of one width.
#[derive(Debug)]
struct Tree<E> {
    /// Level after level: the winners of groups `FAN`·k + 1 to `FAN`·(k + 1) are the entries of group k.
    /// The last level holds the slots.
    groups: Box<[Group<E>]>,
    winner: E,
    /// Index of the first group of the last level.
    first_leaf_group: u32,
    /// Number of slots.
    slots: u32,
}

impl<E: Entry> Tree<E> {
    fn new(slots: usize) -> Self {
        let (mut above, mut level) = (0, 1);
        while level * FAN < slots {
            above += level;
            level *= FAN;
        }
        // The last level ends with the last group that a slot needs.
        let groups = vec![Group([E::NONE; FAN]); above + slots.div_ceil(FAN).max(1)];
        Self { groups: groups.into(), winner: E::NONE, first_leaf_group: above as u32, slots: slots as u32 }
    }

    #[inline(always)]
    fn entry(&self, slot: usize) -> E {
        self.groups[self.first_leaf_group as usize + slot / FAN].0[slot % FAN]
    }

    /// Sets the entry of a slot and recomputes the path to the root until a winner is unchanged. Returns
    /// the previous entry.
    #[inline(always)]
    fn update(&mut self, slot: usize, entry: E) -> E {
        let (mut group, mut at) = (self.first_leaf_group as usize + slot / FAN, slot % FAN);
        let mut entries = &mut self.groups[group].0;
        let before = core::mem::replace(&mut entries[at], entry);
        if before == entry {
            return before;
        }
        let mut winner = entry;
        loop {
            // The other three first: they do not depend on the winner below.
            let mut others = entries[at ^ 1];
            for other in 2..FAN {
                others = others.smaller(entries[at ^ other]);
            }
            winner = winner.smaller(others);
            if group == 0 {
                self.winner = winner;
                return before;
            }
            (group, at) = ((group - 1) / FAN, (group - 1) % FAN);
            entries = &mut self.groups[group].0;
            if entries[at] == winner {
                return before;
            }
            entries[at] = winner;
        }
    }

    fn clear(&mut self) {
        self.groups.fill(Group([E::NONE; FAN]));
        self.winner = E::NONE;
    }
}

/// Winner tree of slots `0..n`, at most 2^20, each listed at most once, with its key. One cache line, and
/// the groups.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct WinnerTree<K> {
    narrow: Tree<u64>,
    /// Used instead of `narrow` if the keys lie too far apart for it.
    wide: Option<Box<Tree<u128>>>,
    listed: u32,
    /// Number of bits of a narrow entry that name the slot.
    slot_bits: u32,
    /// Lower bound of the keys in `narrow`: entries hold the difference.
    base: u128,
    key: PhantomData<K>,
}

impl<K: Key> WinnerTree<K> {
    /// Returns the key of `slot` if it is listed.
    #[cfg(test)]
    pub(crate) fn key(&self, slot: usize) -> Option<K> {
        let number = match &self.wide {
            None => self.number(self.narrow.entry(slot)),
            Some(wide) => wide.entry(slot) >> SLOT_BITS,
        };
        self.contains(slot).then_some(K::of(number))
    }

    /// Creates an empty tree for `slots` slots.
    ///
    /// # Panics
    /// For more than 2^20 slots.
    pub(crate) fn new(slots: usize) -> Self {
        assert!(slots <= MAX_SLOTS, "an entry names one of 2^{SLOT_BITS} slots");
        // One slot number stays unused, so that no entry equals `NONE`.
        let slot_bits = slots.max(1).ilog2() + 1;
        Self { narrow: Tree::new(slots), wide: None, listed: 0, slot_bits, base: 0, key: PhantomData }
    }

    /// Returns the smallest key and its slot.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<(K, usize)> {
        let slot = self.first_slot()?;
        let number = match &self.wide {
            None => self.number(self.narrow.winner),
            Some(wide) => wide.winner >> SLOT_BITS,
        };
        Some((K::of(number), slot))
    }

    /// Returns the slot of the smallest key.
    #[inline(always)]
    pub(crate) fn first_slot(&self) -> Option<usize> {
        if self.listed == 0 {
            return None;
        }
        let (first, bits) = match &self.wide {
            None => (self.narrow.winner, self.slot_bits),
            Some(wide) => (wide.winner as u64, SLOT_BITS),
        };
        Some((first & !(u64::MAX.wrapping_shl(bits))) as usize)
    }

    /// Returns the number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.narrow.slots as usize
    }

    /// Returns the number of listed slots.
    pub(crate) fn len(&self) -> usize {
        self.listed as usize
    }

    /// Returns whether no slot is listed.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.listed == 0
    }

    /// Returns whether `slot` is listed.
    #[inline]
    pub(crate) fn contains(&self, slot: usize) -> bool {
        match &self.wide {
            None => self.narrow.entry(slot) != u64::NONE,
            Some(wide) => wide.entry(slot) != u128::NONE,
        }
    }

    /// Lists `slot` with this key, or changes its key.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: usize, key: K) {
        let offset = key.number().wrapping_sub(self.base);
        if self.wide.is_none() && offset <= u128::from(self.max_offset()) {
            if self.narrow.update(slot, self.narrow_entry(offset, slot)) == u64::NONE {
                self.listed += 1;
            }
        } else {
            self.set_out_of_range(slot, key.number().min(MAX_KEY));
        }
    }

    /// Delists `slot`. Returns whether it was listed.
    #[inline]
    pub(crate) fn remove(&mut self, slot: usize) -> bool {
        let was_listed = self.listed > 0
            && match &mut self.wide {
                None => self.narrow.update(slot, u64::NONE) != u64::NONE,
                Some(wide) => wide.update(slot, u128::NONE) != u128::NONE,
            };
        self.listed -= u32::from(was_listed);
        was_listed
    }

    /// Delists all slots, and returns to narrow entries.
    pub(crate) fn clear(&mut self) {
        self.narrow.clear();
        (self.wide, self.listed) = (None, 0);
    }

    /// Returns the largest difference from the base that a narrow entry holds.
    #[inline(always)]
    fn max_offset(&self) -> u64 {
        u64::MAX.wrapping_shr(self.slot_bits)
    }

    #[inline(always)]
    fn narrow_entry(&self, offset: u128, slot: usize) -> u64 {
        (offset as u64).wrapping_shl(self.slot_bits) | slot as u64
    }

    #[inline(always)]
    fn number(&self, entry: u64) -> u128 {
        self.base.wrapping_add(u128::from(entry.wrapping_shr(self.slot_bits)))
    }

    /// Handles [`set`](Self::set) of a key that a narrow entry cannot hold: moves the base so that it can,
    /// or switches to wide entries.
    #[cold]
    #[inline(never)]
    fn set_out_of_range(&mut self, slot: usize, number: u128) {
        self.listed += u32::from(!self.contains(slot));
        if let Some(wide) = &mut self.wide {
            wide.update(slot, number << SLOT_BITS | slot as u128);
            return;
        }
        let mut numbers = vec![(slot, number)];
        self.narrow.update(slot, u64::NONE);
        if self.listed > 1 {
            let listed =
                (0..self.narrow.slots as usize).filter(|other| self.narrow.entry(*other) != u64::NONE);
            numbers.extend(listed.map(|other| (other, self.number(self.narrow.entry(other)))));
            self.narrow.clear();
        }
        let (low, high) = numbers
            .iter()
            .fold((number, number), |(low, high), (_, number)| (low.min(*number), high.max(*number)));
        let max_offset = u128::from(self.max_offset());
        if high - low < max_offset / 2 && high < MAX_KEY - max_offset {
            // Half of the room that is left lies below the keys, half above.
            self.base = low.saturating_sub((max_offset - (high - low)) / 2);
            for (slot, number) in numbers {
                self.narrow.update(slot, self.narrow_entry(number - self.base, slot));
            }
        } else {
            let wide = self.wide.insert(Box::new(Tree::new(self.narrow.slots as usize)));
            for (slot, number) in numbers {
                wide.update(slot, number << SLOT_BITS | slot as u128);
            }
        }
    }
}

/// Returns `one` if `takes`, else `other`, without a branch. Selects 64-bit halves: for a selection between
/// whole 128-bit words the compiler emits a branch.
#[inline(always)]
pub(crate) fn select(takes: bool, one: u128, other: u128) -> u128 {
    let half = |shift: u32| select_unpredictable(takes, (one >> shift) as u64, (other >> shift) as u64);
    u128::from(half(64)) << 64 | u128::from(half(0))
}

/// Returns whether `one` is less than `other`, without a branch.
#[inline(always)]
#[allow(clippy::needless_bitwise_bool, reason = "what is lazy is a branch")]
pub(crate) fn is_less(one: u128, other: u128) -> bool {
    let halves = |word: u128| ((word >> 64) as u64, word as u64);
    let ((high, low), (other_high, other_low)) = (halves(one), halves(other));
    (high < other_high) | ((high == other_high) & (low < other_low))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn the_winner_is_the_smallest_key() {
        let mut random = Random::stream(Seed(1), "tournament");
        // Keys close together that advance; keys that advance by the range of a narrow entry; keys far
        // apart.
        let narrow = |step: u32, _: u32| u128::from(step) << 30;
        let ahead = |step: u32, _: u32| u128::from(step) << 60;
        // The largest key and those beyond count as one.
        let wide = |_: u32, which: u32| [0, 1 << 64, MAX_KEY, u128::MAX][which as usize];
        let keys: [fn(u32, u32) -> u128; 3] = [narrow, ahead, wide];
        for (slots, key) in
            [1, 2, 4, 5, 64, 100, 1000].into_iter().flat_map(|slots| keys.map(|key| (slots, key)))
        {
            let (mut tree, mut keys) = (WinnerTree::new(slots as usize), BTreeMap::new());
            for step in 0..10_000 {
                let slot = random.below(slots) as usize;
                if random.below(3) == 0 {
                    assert_eq!(tree.remove(slot), keys.remove(&slot).is_some());
                } else {
                    let key = key(step, random.below(4)) ^ u128::from(random.below(4));
                    tree.set(slot, key);
                    keys.insert(slot, key.min(MAX_KEY));
                }
                let first = keys.iter().map(|(slot, key)| (*key, *slot)).min();
                assert_eq!(tree.first(), first, "step {step}");
                assert_eq!((tree.len(), tree.contains(slot)), (keys.len(), keys.contains_key(&slot)));
                assert_eq!(tree.key(slot), keys.get(&slot).copied());
            }
            tree.clear();
            assert_eq!((tree.first(), tree.is_empty()), (None, true));
        }
    }
}
