//! What happens next: one pending time a slot, and the earliest found by a tournament.
//!
//! ```text
//!              (3, slot 2)                 every link, source and router owns one slot;
//!         (7, s0)       (3, s2)            a slot's time is replaced, never queued;
//!      (7,s0) (9,s1) (3,s2) (3,s3)         equal times go to the lower slot
//! ```
//!
//! Measured per replacement at 32 slots against a binary heap: 8 ns and 31 ns. The order of ties is part
//! of what a run means; it is settled by the order of slots (see [`run`](crate::run)).
//!
//! One pending time stands apart from the tree: where a packet is on a fast link, its arrival is set, comes
//! first and is done with before anything else happens, and never climbs the tree (1 ns a packet-hop).

use core::hint::select_unpredictable;

use lockgate_engine::units::Instant;

/// An entry of the tournament: a time and a slot in one number, so that the smaller of two is the earlier,
/// and of two at one time the lower slot.
pub(crate) trait Entry: Copy + Ord {
    /// `time` and `slot`, where slots take `bits` bits.
    fn new(time: Instant, slot: usize, bits: u32) -> Self;
    fn time(self, bits: u32) -> Instant;
    fn is_pending(self, bits: u32) -> bool;
    fn slot(self, bits: u32) -> usize;
    /// The smaller one, chosen without a branch: who wins is anybody's guess, and a wrong guess of the
    /// processor costs more than the whole climb. (Left to itself the compiler writes a branch.)
    fn earlier(self, other: Self) -> Self;
}

/// Time and slot in 63 bits of one word: two instructions a comparison. For all runs that are not both very
/// long and very large; see [`Narrow::suits`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Narrow(u64);

impl Narrow {
    /// Whether a run that ends at `end` has room in a word: thirty slots for three days, a thousand for two
    /// hours. Times that have no room are after the end, where nothing is played.
    pub(crate) fn suits(end: Instant, slots: usize) -> bool {
        end.as_picos() < Self::last(bits(slots))
    }
}

impl Narrow {
    /// Stands for all times that have no room.
    #[inline(always)]
    fn last(bits: u32) -> u64 {
        (u64::MAX >> 1) >> bits
    }
}

impl Entry for Narrow {
    #[inline(always)]
    fn new(time: Instant, slot: usize, bits: u32) -> Self {
        Self((time.as_picos().min(Self::last(bits)) << bits) | slot as u64)
    }
    #[inline(always)]
    fn time(self, bits: u32) -> Instant {
        Instant::from_picos(self.0 >> bits)
    }
    #[inline(always)]
    fn is_pending(self, bits: u32) -> bool {
        self.0 >> bits < Self::last(bits)
    }
    #[inline(always)]
    fn slot(self, bits: u32) -> usize {
        (self.0 & ((1 << bits) - 1)) as usize
    }
    #[inline(always)]
    fn earlier(self, other: Self) -> Self {
        // By the sign of the difference (entries have 63 bits): a plain `<` is recognised as a minimum, and
        // that is compiled to a branch, which callgrind's model mispredicts 1.2 times a packet-hop.
        let wins = other.0.wrapping_sub(self.0).cast_signed() < 0;
        Self(select_unpredictable(wins, other.0, self.0))
    }
}

/// Time and slot in a word each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wide(Instant, usize);

impl Entry for Wide {
    #[inline(always)]
    fn new(time: Instant, slot: usize, _: u32) -> Self {
        Self(time, slot)
    }
    #[inline(always)]
    fn time(self, _: u32) -> Instant {
        self.0
    }
    #[inline(always)]
    fn is_pending(self, _: u32) -> bool {
        self.0 < Instant::NEVER
    }
    #[inline(always)]
    fn slot(self, _: u32) -> usize {
        self.1
    }
    #[inline(always)]
    fn earlier(self, other: Self) -> Self {
        let wins = other < self;
        Self(select_unpredictable(wins, other.0, self.0), select_unpredictable(wins, other.1, self.1))
    }
}

/// How many bits the number of a slot takes, and of one that is none.
fn bits(slots: usize) -> u32 {
    (slots + 1).next_power_of_two().trailing_zeros().max(SMALL_BITS)
}

/// Pending times of a fixed number of slots.
pub(crate) struct Events<E> {
    /// `tree[1]` is the winner; the second half are the leaves. Its length is a power of two.
    tree: Box<[E]>,
    /// The slot that is not in the tree (there it is not pending) but here, and its entry.
    apart: E,
    apart_slot: usize,
    bits: u32,
}

impl<E: Entry> Events<E> {
    /// `slots` slots, none of them pending.
    pub(crate) fn new(slots: usize) -> Self {
        let bits = bits(slots);
        let leaves = 1usize << bits;
        let none = |slot: usize| E::new(Instant::NEVER, slot, bits);
        let mut tree: Box<[E]> = (0..2 * leaves).map(|place| none(place % leaves)).collect();
        for place in (1..leaves).rev() {
            tree[place] = tree[2 * place];
        }
        Self { tree, apart: none(leaves - 1), apart_slot: leaves - 1, bits }
    }

    /// The earliest pending time and its slot; where nothing is pending, a time after the end.
    #[inline(always)]
    pub(crate) fn first(&self) -> (Instant, usize) {
        let winner = self.tree[1].earlier(self.apart);
        (winner.time(self.bits), winner.slot(self.bits))
    }

    /// Sets the time of a slot; [`Instant::NEVER`] for not pending.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: usize, time: Instant) {
        let new = E::new(time, slot, self.bits);
        if self.apart_slot == slot {
            self.apart = new;
        } else {
            self.climb(slot, new);
        }
    }

    /// Sets the time of a slot that is not pending: it stands apart where it is earlier than what does.
    #[inline(always)]
    pub(crate) fn add(&mut self, slot: usize, time: Instant) {
        let new = E::new(time, slot, self.bits);
        if new < self.apart {
            let displaced = core::mem::replace(&mut self.apart, new);
            let displaced_slot = core::mem::replace(&mut self.apart_slot, slot);
            if displaced.is_pending(self.bits) {
                self.climb(displaced_slot, displaced);
            }
        } else {
            self.climb(slot, new);
        }
    }

    /// Sets a slot's entry in the tree, and who wins on the way up.
    #[inline(always)]
    fn climb(&mut self, slot: usize, new: E) {
        match <&mut [E; 2 * SMALL]>::try_from(&mut *self.tree) {
            Ok(tree) => climb_small(tree, slot, new),
            Err(_) => climb_large(&mut self.tree, slot, new),
        }
    }
}

/// Leaves of the least tree. Its size is known to the compiler: five levels in line, and no check of an
/// index (2.3 ns a packet-hop against the loop for larger trees).
const SMALL: usize = 1 << SMALL_BITS;
const SMALL_BITS: u32 = 5;

#[inline(always)]
fn climb_small<E: Entry>(tree: &mut [E; 2 * SMALL], slot: usize, new: E) {
    let mut place = (SMALL + slot) % (2 * SMALL);
    // The winner so far stays in a register; only its rivals are read.
    let mut winner = new;
    tree[place] = winner;
    for _ in 0..SMALL_BITS {
        winner = winner.earlier(tree[place ^ 1]);
        place >>= 1;
        tree[place] = winner;
    }
}

#[inline(never)]
fn climb_large<E: Entry>(tree: &mut [E], slot: usize, new: E) {
    // The mask holds every index within the tree, which spares two checks a level.
    let mask = tree.len() - 1;
    let mut place = tree.len() / 2 + slot;
    let mut winner = new;
    tree[place & mask] = winner;
    while place > 1 {
        winner = winner.earlier(tree[(place ^ 1) & mask]);
        place >>= 1;
        tree[place & mask] = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<E: Entry>(slots: usize, sets: &[(usize, u64)]) -> Result<(), TestCaseError> {
        let mut events = Events::<E>::new(slots);
        let mut model = vec![u64::MAX; slots];
        for &(slot, time) in sets {
            let slot = slot % slots;
            let time = if time == 0 { u64::MAX } else { time };
            if model[slot] == u64::MAX {
                events.add(slot, Instant::from_picos(time));
            } else {
                events.set(slot, Instant::from_picos(time));
            }
            model[slot] = time;
            let earliest = model.iter().copied().min().unwrap_or(u64::MAX);
            let (found, winner) = events.first();
            if earliest < u64::MAX {
                prop_assert_eq!(found.as_picos(), earliest);
                prop_assert_eq!(Some(winner), model.iter().position(|time| *time == earliest));
            }
        }
        Ok(())
    }

    #[test]
    fn a_word_has_room_for_days_and_what_has_none_never_comes() {
        assert!(Narrow::suits(Instant::from_picos(280_000_000_000_000_000), 30));
        assert!(!Narrow::suits(Instant::from_picos(300_000_000_000_000_000), 30));
        let mut events = Events::<Narrow>::new(30);
        events.set(3, Instant::from_picos(u64::MAX / 2));
        assert!(events.first().0.as_picos() > 280_000_000_000_000_000);
    }

    proptest! {
        #[test]
        fn the_earliest_wins_and_ties_go_to_the_lower_slot(
            slots in 1usize..70,
            sets in prop::collection::vec((0usize..70, 0u64..20), 1..200),
        ) {
            check::<Narrow>(slots, &sets)?;
            check::<Wide>(slots, &sets)?;
        }
    }
}
