//! Slots in the order of a key that changes: the smallest first, and of equal keys the smallest slot.
//!
//! ```text
//!                [ 3 of slot 1   2 of slot 5   -   - ]          above each four, the key and the slot that won
//!         [ 7   3   4   9 ]      [ 8   2   -   - ]              a place for each slot, empty where it is not listed
//! ```
//!
//! A change plays the matches from its slot up, and no others, as far as their winners change: one four, 64
//! bytes side by side, for each quadrupling of the slots. Each match is a selection without a branch between two words of 128
//! bits. A heap takes fewer steps, but each finds the least of several children and asks whether to go on, which no
//! processor foresees, and where the next is depends on who won here.

use core::hint::select_unpredictable;
use core::marker::PhantomData;

use crate::units::Instant;

/// Bits of a place that name the slot.
const SLOT_BITS: u32 = 20;
/// The most slots there can be.
pub const SLOTS: usize = 1 << SLOT_BITS;
/// The place of a slot that is not listed.
const NONE: u128 = u128::MAX;
/// The last key that can be listed; those beyond count as this.
pub const LAST: u128 = (1 << (u128::BITS - SLOT_BITS)) - 2;

/// What slots can be in the order of: numbers of at most 108 bits.
pub trait Key: Copy {
    /// The number.
    fn number(self) -> u128;
    /// The key of this number.
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

/// Four that meet, each its key and its slot.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Four([u128; 4]);

/// Slots `0..n`, at most 2^20 of them, each listed at most once, with its key.
#[derive(Debug)]
pub struct Tournament<K> {
    /// Level after level: the winners of 4k + 1 to 4k + 4 meet in k. The last level are the slots'.
    fours: Vec<Four>,
    /// Where the last level begins.
    slots: usize,
    /// Who won the final.
    first: u128,
    listed: usize,
    key: PhantomData<K>,
}

impl<K: Key> Tournament<K> {
    /// An empty one for `slots` slots.
    ///
    /// # Panics
    /// For more than 2^20 slots.
    pub fn new(slots: usize) -> Self {
        assert!(slots <= SLOTS, "a place names one of 2^{SLOT_BITS} slots");
        let (mut above, mut level) = (0, 1);
        while level * 4 < slots {
            above += level;
            level *= 4;
        }
        // Of the last level only those that slots need.
        let fours = vec![Four([NONE; 4]); above + slots.div_ceil(4).max(1)];
        Self { fours, slots: above, first: NONE, listed: 0, key: PhantomData }
    }

    /// The slot of the smallest key, and the key.
    #[inline]
    pub fn first(&self) -> Option<(K, usize)> {
        let place = self.first;
        (place != NONE).then_some((K::of(place >> SLOT_BITS), place as usize & ((1 << SLOT_BITS) - 1)))
    }

    /// How many are listed.
    pub fn len(&self) -> usize {
        self.listed
    }

    /// Whether none is listed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.listed == 0
    }

    /// Whether `slot` is listed.
    #[inline]
    pub fn contains(&self, slot: usize) -> bool {
        self.place(slot) != NONE
    }

    /// The key of `slot`, where it is listed.
    #[inline]
    pub fn key(&self, slot: usize) -> Option<K> {
        let place = self.place(slot);
        (place != NONE).then_some(K::of(place >> SLOT_BITS))
    }

    /// Lists `slot` with this key, or changes its key.
    #[inline]
    pub fn set(&mut self, slot: usize, key: K) {
        self.listed += usize::from(!self.contains(slot));
        self.play(slot, key.number().min(LAST) << SLOT_BITS | slot as u128);
    }

    /// Delists `slot`. Returns whether it was listed.
    #[inline]
    pub fn remove(&mut self, slot: usize) -> bool {
        let was_listed = self.listed > 0 && self.contains(slot);
        if was_listed {
            self.listed -= 1;
            self.play(slot, NONE);
        }
        was_listed
    }

    /// Delists all.
    pub fn clear(&mut self) {
        self.fours.fill(Four([NONE; 4]));
        self.first = NONE;
        self.listed = 0;
    }

    #[inline]
    fn place(&self, slot: usize) -> u128 {
        self.fours[self.slots + slot / 4].0[slot % 4]
    }

    /// Puts `place` at a slot and plays its matches, as far as their winners change.
    #[inline]
    fn play(&mut self, slot: usize, place: u128) {
        let fours = self.fours.as_mut_slice();
        let (mut winner, mut four, mut at) = (place, self.slots + slot / 4, slot % 4);
        loop {
            let places = &mut fours[four].0;
            if places[at] == winner {
                return;
            }
            places[at] = winner;
            // The others first: none of them waits for who won below.
            let others = least(least(places[at ^ 1], places[at ^ 2]), places[at ^ 3]);
            winner = least(winner, others);
            if four == 0 {
                break;
            }
            (four, at) = ((four - 1) / 4, (four - 1) % 4);
        }
        self.first = winner;
    }
}

/// The smaller one.
#[inline(always)]
fn least(one: u128, other: u128) -> u128 {
    select(is_less(other, one), other, one)
}

/// `one` where `takes`, else `other`, without a branch. By halves: of a selection between whole words the compiler makes
/// one.
#[inline(always)]
pub(crate) fn select(takes: bool, one: u128, other: u128) -> u128 {
    let half = |shift: u32| select_unpredictable(takes, (one >> shift) as u64, (other >> shift) as u64);
    u128::from(half(64)) << 64 | u128::from(half(0))
}

/// Whether `one` is less, as [`select`] wants to know it.
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
    fn it_always_names_the_smallest() {
        let mut random = Random::stream(Seed(1), "tournament");
        for slots in [1, 2, 4, 5, 64, 100] {
            let (mut tournament, mut keys) = (Tournament::new(slots as usize), BTreeMap::new());
            for step in 0..10_000 {
                let slot = random.below(slots) as usize;
                if random.below(3) == 0 {
                    assert_eq!(tournament.remove(slot), keys.remove(&slot).is_some());
                } else {
                    // The last key that can be, and those beyond, are one.
                    let near = [0, 1 << 64, LAST, u128::MAX][random.below(4) as usize];
                    let key = near ^ u128::from(random.below(4));
                    tournament.set(slot, key);
                    keys.insert(slot, key.min(LAST));
                }
                let first = keys.iter().map(|(slot, key)| (*key, *slot)).min();
                assert_eq!(tournament.first(), first, "step {step}");
                assert_eq!(
                    (tournament.len(), tournament.contains(slot)),
                    (keys.len(), keys.contains_key(&slot))
                );
                assert_eq!(tournament.key(slot), keys.get(&slot).copied());
            }
            tournament.clear();
            assert_eq!((tournament.first(), tournament.is_empty()), (None, true));
        }
    }
}
