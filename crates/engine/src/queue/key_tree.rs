//! Key tree: slots ordered by a key that changes, the smallest first; of equal keys the smallest slot.
//!
//! A [`WinnerTree`] whose entries are made from keys. Setting or removing a key costs a path of that tree;
//! the minimum is one load.
//!
//! # Narrow and wide entries
//!
//! A narrow entry is 64 bits: the low `slot_bits` name the slot, the others say how far the key is above
//! `base`, which follows the keys. If the listed keys lie too far apart for that (in picoseconds 2.5 hours
//! for a thousand slots, 9 seconds for a million), the tree switches to wide entries of 128 bits until it
//! is cleared. Either way the order is exact (decision 070).

use core::marker::PhantomData;

use crate::units::Instant;
use crate::winner_tree::WinnerTree;

/// Maximum number of bits of an entry that name the slot.
const SLOT_BITS: u32 = 20;
/// Maximum number of slots.
pub(crate) const MAX_SLOTS: usize = 1 << SLOT_BITS;
/// Largest key that can be listed; larger ones count as this one.
pub(crate) const MAX_KEY: u128 = (1 << (u128::BITS - SLOT_BITS)) - 2;

/// Key of a tree: a number of at most 108 bits.
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

/// Entry of a slot that is not listed: larger than any other.
const NARROW_NONE: u64 = u64::MAX;
/// The same among wide entries.
const WIDE_NONE: u128 = u128::MAX;

/// Tree of slots `0..n`, at most 2^20, each listed at most once, with its key. One cache line, and
/// the groups.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct KeyTree<K> {
    narrow: WinnerTree<u64>,
    /// Used instead of `narrow` if the keys lie too far apart for it.
    wide: Option<Box<WinnerTree<u128>>>,
    listed: u32,
    /// Number of bits of a narrow entry that name the slot.
    slot_bits: u32,
    /// Lower bound of the keys in `narrow`: entries hold the difference.
    base: u128,
    key: PhantomData<K>,
}

impl<K: Key> KeyTree<K> {
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
        Self {
            narrow: WinnerTree::new(slots, NARROW_NONE),
            wide: None,
            listed: 0,
            slot_bits,
            base: 0,
            key: PhantomData,
        }
    }

    /// Returns the smallest key and its slot.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<(K, usize)> {
        let slot = self.first_slot()?;
        let number = match &self.wide {
            None => self.number(self.narrow.first()),
            Some(wide) => wide.first() >> SLOT_BITS,
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
            None => (self.narrow.first(), self.slot_bits),
            Some(wide) => (wide.first() as u64, SLOT_BITS),
        };
        Some((first & !(u64::MAX.wrapping_shl(bits))) as usize)
    }

    /// Returns the number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.narrow.slots()
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
            None => self.narrow.entry(slot) != NARROW_NONE,
            Some(wide) => wide.entry(slot) != WIDE_NONE,
        }
    }

    /// Lists `slot` with this key, or changes its key.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: usize, key: K) {
        let offset = key.number().wrapping_sub(self.base);
        if self.wide.is_none() && offset <= u128::from(self.max_offset()) {
            if self.narrow.set(slot, self.narrow_entry(offset, slot)) == NARROW_NONE {
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
                None => self.narrow.set(slot, NARROW_NONE) != NARROW_NONE,
                Some(wide) => wide.set(slot, WIDE_NONE) != WIDE_NONE,
            };
        self.listed -= u32::from(was_listed);
        was_listed
    }

    /// Delists all slots, and returns to narrow entries.
    pub(crate) fn clear(&mut self) {
        self.narrow.clear(NARROW_NONE);
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
            wide.set(slot, number << SLOT_BITS | slot as u128);
            return;
        }
        let mut numbers = vec![(slot, number)];
        self.narrow.set(slot, NARROW_NONE);
        if self.listed > 1 {
            let listed = (0..self.narrow.slots()).filter(|other| self.narrow.entry(*other) != NARROW_NONE);
            numbers.extend(listed.map(|other| (other, self.number(self.narrow.entry(other)))));
            self.narrow.clear(NARROW_NONE);
        }
        let (low, high) = numbers
            .iter()
            .fold((number, number), |(low, high), (_, number)| (low.min(*number), high.max(*number)));
        let max_offset = u128::from(self.max_offset());
        if high - low < max_offset / 2 && high < MAX_KEY - max_offset {
            // Half of the room that is left lies below the keys, half above.
            self.base = low.saturating_sub((max_offset - (high - low)) / 2);
            for (slot, number) in numbers {
                self.narrow.set(slot, self.narrow_entry(number - self.base, slot));
            }
        } else {
            let wide = self.wide.insert(Box::new(WinnerTree::new(self.narrow.slots(), WIDE_NONE)));
            for (slot, number) in numbers {
                wide.set(slot, number << SLOT_BITS | slot as u128);
            }
        }
    }
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
            let (mut tree, mut keys) = (KeyTree::new(slots as usize), BTreeMap::new());
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
