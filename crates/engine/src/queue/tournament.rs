//! Slots in the order of a key that changes: the smallest first, and of equal keys the smallest slot.
//!
//! ```text
//!           [ 3 of slot 1   5 of slot 6   -   - ]   above each four, the key and the slot that won
//! [ 7   3   4   9 ]   [ 8   8   5   6 ]   a place for each slot, empty where it is not listed
//! ```
//!
//! A change plays the matches from its slot up, and no others, as far as their winners change: half a cache line for each level.
//! Each match is a selection without a branch. A heap takes fewer steps, but each finds the least of several children and asks
//! whether to go on, which no processor foresees, and where the next is depends on who won here.
//!
//! Key and slot of a place are one word of 64 bits: as many as are needed name the slot, and the others say how far the key is
//! above a base, which follows the keys. Where those that are listed lie too far apart for that (for a thousand slots
//! 2.5 hours, for a million 9 seconds, counted in picoseconds), places are of 128 bits from then on. Either way the order is exact.

use core::hint::select_unpredictable;
use core::marker::PhantomData;

use crate::units::Instant;

/// The most bits of a place that name the slot.
const SLOT_BITS: u32 = 20;
/// The most slots there can be.
pub const SLOTS: usize = 1 << SLOT_BITS;
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

/// A word that holds a key and a slot.
trait Word: Copy + PartialEq {
    /// That of a slot that is not listed: more than any other.
    const NONE: Self;
    /// The smaller one, without a branch.
    fn least(self, other: Self) -> Self;
}

impl Word for u64 {
    const NONE: Self = Self::MAX;
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        select_unpredictable(other < self, other, self)
    }
}

impl Word for u128 {
    const NONE: Self = Self::MAX;
    #[inline(always)]
    fn least(self, other: Self) -> Self {
        select(is_less(other, self), other, self)
    }
}

/// How many meet: half a cache line of places of 64 bits.
const FAN: usize = 4;

/// Those that meet.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Round<W>([W; FAN]);

/// All rounds, and who won the last.
#[derive(Debug)]
struct Rounds<W> {
    /// Level after level: the winners of `FAN`·k + 1 to `FAN`·(k + 1) meet in k. The last level are the slots'.
    all: Box<[Round<W>]>,
    first: W,
    /// Where the last level begins.
    last: u32,
    /// How many slots there are.
    slots: u32,
}

impl<W: Word> Rounds<W> {
    fn new(slots: usize) -> Self {
        let (mut above, mut level) = (0, 1);
        while level * FAN < slots {
            above += level;
            level *= FAN;
        }
        // Of the last level only those that slots need.
        let rounds = vec![Round([W::NONE; FAN]); above + slots.div_ceil(FAN).max(1)];
        Self { all: rounds.into(), first: W::NONE, last: above as u32, slots: slots as u32 }
    }

    #[inline(always)]
    fn place(&self, slot: usize) -> W {
        self.all[self.last as usize + slot / FAN].0[slot % FAN]
    }

    /// Puts `place` at a slot and plays its matches, as far as their winners change. Returns what stood there.
    #[inline(always)]
    fn play(&mut self, slot: usize, place: W) -> W {
        let (mut round, mut at) = (self.last as usize + slot / FAN, slot % FAN);
        let mut places = &mut self.all[round].0;
        let before = core::mem::replace(&mut places[at], place);
        if before == place {
            return before;
        }
        let mut winner = place;
        loop {
            // The others first: none of them waits for who won below.
            let mut others = places[at ^ 1];
            for other in 2..FAN {
                others = others.least(places[at ^ other]);
            }
            winner = winner.least(others);
            if round == 0 {
                self.first = winner;
                return before;
            }
            (round, at) = ((round - 1) / FAN, (round - 1) % FAN);
            places = &mut self.all[round].0;
            if places[at] == winner {
                return before;
            }
            places[at] = winner;
        }
    }

    fn clear(&mut self) {
        self.all.fill(Round([W::NONE; FAN]));
        self.first = W::NONE;
    }
}

/// Slots `0..n`, at most 2^20 of them, each listed at most once, with its key. One cache line, and the rounds.
#[derive(Debug)]
#[repr(align(64))]
pub struct Tournament<K> {
    near: Rounds<u64>,
    /// In the place of `near`, where keys lie too far apart for that.
    far: Option<Box<Rounds<u128>>>,
    listed: u32,
    /// How many bits of its places name the slot.
    slot_bits: u32,
    /// What keys of `near` are not below.
    base: u128,
    key: PhantomData<K>,
}

impl<K: Key> Tournament<K> {
    /// An empty one for `slots` slots.
    ///
    /// # Panics
    /// For more than 2^20 slots.
    pub fn new(slots: usize) -> Self {
        assert!(slots <= SLOTS, "a place names one of 2^{SLOT_BITS} slots");
        // One number more than there are slots, so that no place is that of a slot that is not listed.
        let slot_bits = slots.max(1).ilog2() + 1;
        Self { near: Rounds::new(slots), far: None, listed: 0, slot_bits, base: 0, key: PhantomData }
    }

    /// The slot of the smallest key, and the key.
    #[inline(always)]
    pub fn first(&self) -> Option<(K, usize)> {
        let slot = self.first_slot()?;
        let number = match &self.far {
            None => self.number(self.near.first),
            Some(far) => far.first >> SLOT_BITS,
        };
        Some((K::of(number), slot))
    }

    /// The slot of the smallest key.
    #[inline(always)]
    pub fn first_slot(&self) -> Option<usize> {
        if self.listed == 0 {
            return None;
        }
        let (first, bits) = match &self.far {
            None => (self.near.first, self.slot_bits),
            Some(far) => (far.first as u64, SLOT_BITS),
        };
        Some((first & !(u64::MAX.wrapping_shl(bits))) as usize)
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.near.slots as usize
    }

    /// How many are listed.
    pub fn len(&self) -> usize {
        self.listed as usize
    }

    /// Whether none is listed.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.listed == 0
    }

    /// Whether `slot` is listed.
    #[inline]
    pub fn contains(&self, slot: usize) -> bool {
        match &self.far {
            None => self.near.place(slot) != u64::NONE,
            Some(far) => far.place(slot) != u128::NONE,
        }
    }

    /// The key of `slot`, where it is listed.
    #[inline]
    pub fn key(&self, slot: usize) -> Option<K> {
        let number = match &self.far {
            None => self.number(self.near.place(slot)),
            Some(far) => far.place(slot) >> SLOT_BITS,
        };
        self.contains(slot).then_some(K::of(number))
    }

    /// Lists `slot` with this key, or changes its key.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, key: K) {
        let above = key.number().wrapping_sub(self.base);
        if self.far.is_none() && above <= u128::from(self.reach()) {
            if self.near.play(slot, self.place(above, slot)) == u64::NONE {
                self.listed += 1;
            }
        } else {
            self.set_far(slot, key.number().min(LAST));
        }
    }

    /// Delists `slot`. Returns whether it was listed.
    #[inline]
    pub fn remove(&mut self, slot: usize) -> bool {
        let was_listed = self.listed > 0
            && match &mut self.far {
                None => self.near.play(slot, u64::NONE) != u64::NONE,
                Some(far) => far.play(slot, u128::NONE) != u128::NONE,
            };
        self.listed -= u32::from(was_listed);
        was_listed
    }

    /// Delists all.
    pub fn clear(&mut self) {
        self.near.clear();
        (self.far, self.listed) = (None, 0);
    }

    /// How far above the base a key of `near` can be.
    #[inline(always)]
    fn reach(&self) -> u64 {
        u64::MAX.wrapping_shr(self.slot_bits)
    }

    #[inline(always)]
    fn place(&self, above: u128, slot: usize) -> u64 {
        (above as u64).wrapping_shl(self.slot_bits) | slot as u64
    }

    #[inline(always)]
    fn number(&self, place: u64) -> u128 {
        self.base.wrapping_add(u128::from(place.wrapping_shr(self.slot_bits)))
    }

    /// [`set`](Self::set) where the key is out of reach of the base: moves the base, or gives places more room.
    #[cold]
    #[inline(never)]
    fn set_far(&mut self, slot: usize, number: u128) {
        self.listed += u32::from(!self.contains(slot));
        if let Some(far) = &mut self.far {
            far.play(slot, number << SLOT_BITS | slot as u128);
            return;
        }
        let mut numbers = vec![(slot, number)];
        self.near.play(slot, u64::NONE);
        if self.listed > 1 {
            let listed = (0..self.near.slots as usize).filter(|other| self.near.place(*other) != u64::NONE);
            numbers.extend(listed.map(|other| (other, self.number(self.near.place(other)))));
            self.near.clear();
        }
        let (low, high) = numbers
            .iter()
            .fold((number, number), |(low, high), (_, number)| (low.min(*number), high.max(*number)));
        let reach = u128::from(self.reach());
        if high - low < reach / 2 && high < LAST - reach {
            // What is left is for keys before and after.
            self.base = low.saturating_sub((reach - (high - low)) / 2);
            for (slot, number) in numbers {
                self.near.play(slot, self.place(number - self.base, slot));
            }
        } else {
            let far = self.far.insert(Box::new(Rounds::new(self.near.slots as usize)));
            for (slot, number) in numbers {
                far.play(slot, number << SLOT_BITS | slot as u128);
            }
        }
    }
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
        // Keys that lie near each other and go on, in steps as wide as the room of half a word; and some far apart.
        let near = |step: u32, _: u32| u128::from(step) << 30;
        let ahead = |step: u32, _: u32| u128::from(step) << 60;
        // The last key that can be, and those beyond, are one.
        let far = |_: u32, which: u32| [0, 1 << 64, LAST, u128::MAX][which as usize];
        let ways: [fn(u32, u32) -> u128; 3] = [near, ahead, far];
        for (slots, key) in
            [1, 2, 4, 5, 64, 100, 1000].into_iter().flat_map(|slots| ways.map(|way| (slots, way)))
        {
            let (mut tournament, mut keys) = (Tournament::new(slots as usize), BTreeMap::new());
            for step in 0..10_000 {
                let slot = random.below(slots) as usize;
                if random.below(3) == 0 {
                    assert_eq!(tournament.remove(slot), keys.remove(&slot).is_some());
                } else {
                    let key = key(step, random.below(4)) ^ u128::from(random.below(4));
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
