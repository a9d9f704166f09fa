//! Slots in the order of a key that changes: the smallest first, and of equal keys the smallest slot.
//!
//! ```text
//!              3 of slot 1                   a place above each pair, with the key and the slot that won
//!        3 of slot 1     4 of slot 2
//!      7      3        4      -              a place for each slot, empty where it is not listed
//! ```
//!
//! A change plays the matches from its slot up, and no others: one for each doubling of the slots, each a selection
//! without a branch between two words of 128 bits. A heap takes fewer steps, but each finds the least of several
//! children and asks whether to go on, which no processor foresees.

use core::hint::select_unpredictable;
use core::marker::PhantomData;

use crate::units::Instant;

/// Bits of a place that name the slot.
const SLOT_BITS: u32 = 20;
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

/// Slots `0..n`, at most 2^20 of them, each listed at most once, with its key.
#[derive(Debug)]
pub struct Tournament<K> {
    /// Key and slot of those who meet: places 2k and 2k + 1 in pair k, and the winner at place k. The final's is at 1;
    /// the places of the slots are the second half.
    pairs: Vec<[u128; 2]>,
    listed: usize,
    key: PhantomData<K>,
}

impl<K: Key> Tournament<K> {
    /// An empty one for `slots` slots.
    ///
    /// # Panics
    /// For more than 2^20 slots.
    pub fn new(slots: usize) -> Self {
        assert!(slots <= 1 << SLOT_BITS, "a place names one of 2^{SLOT_BITS} slots");
        Self { pairs: vec![[NONE; 2]; slots.next_power_of_two()], listed: 0, key: PhantomData }
    }

    /// The slot of the smallest key, and the key.
    #[inline]
    pub fn first(&self) -> Option<(K, usize)> {
        let [_, place] = self.pairs[0];
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
        let was_listed = self.contains(slot);
        if was_listed {
            self.listed -= 1;
            self.play(slot, NONE);
        }
        was_listed
    }

    /// Delists all.
    pub fn clear(&mut self) {
        self.pairs.fill([NONE; 2]);
        self.listed = 0;
    }

    #[inline]
    fn place(&self, slot: usize) -> u128 {
        let at = self.pairs.len() + slot;
        self.pairs[at / 2][at % 2]
    }

    /// Puts `place` at a slot and plays its matches, as far as their winners change.
    #[inline]
    fn play(&mut self, slot: usize, place: u128) {
        let pairs = self.pairs.as_mut_slice();
        let (mut winner, mut at) = (place, pairs.len() + slot);
        while at > 1 {
            let pair = &mut pairs[at / 2];
            if pair[at % 2] == winner {
                return;
            }
            pair[at % 2] = winner;
            winner = least(winner, pair[1 - at % 2]);
            at /= 2;
        }
        pairs[0][1] = winner;
    }
}

/// The smaller one. By halves: of a selection between whole words the compiler makes a branch.
#[inline(always)]
fn least(one: u128, other: u128) -> u128 {
    let halves = |word: u128| ((word >> 64) as u64, word as u64);
    let ((high, low), (other_high, other_low)) = (halves(one), halves(other));
    let is_other = (other_high < high) | ((other_high == high) & (other_low < low));
    let high = select_unpredictable(is_other, other_high, high);
    let low = select_unpredictable(is_other, other_low, low);
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn it_always_names_the_smallest() {
        let mut random = Random::stream(Seed(1), "tournament");
        for slots in [1, 2, 3, 64, 100] {
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
