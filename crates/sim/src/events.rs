//! Event queue: one pending time per slot; a winner tree holds the earliest.
//!
//! ```text
//! slot        0 link   1 link   2 router   3 source   ...       every link, router, source and host owns one slot;
//! pending     7        3        never      3                    its time is replaced, never queued
//!                      ^ first: equal times go to the lower slot
//! ```
//!
//! The first [`FIRST_SLOTS`] slots have a tree of their own, which takes a third of the instructions of a
//! path among ten thousand links: they are the links that a scenario names first, mostly those that all flows
//! share, or the whole of a small run. Its sizes are constants. The tree of all others is the engine's
//! ([`WinnerTree`]); of it, an event reads only the earliest time and slot. Measured per replacement at 32
//! slots against a binary heap: 8 ns and 31 ns; see decision 004. Invariant: ties go to the lower slot,
//! because the order of ties is part of a run's result (see [`network`](crate::network)).
//!
//! If a packet enters an idle link and its arrival would be the earliest event, the arrival is handled at
//! once and never enters the tree ([`would_be_first`](Events::would_be_first)).

use core::hint::select_unpredictable;

use lockgate_engine::units::Instant;
use lockgate_engine::winner_tree::{Entry, WinnerTree};

/// Time and slot of an event in 63 bits, the time above the slot.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Event(u64);

impl Event {
    /// Largest time beside a slot of this number of bits; stands for all later ones. They are after the end
    /// of the run, where no event is handled.
    #[inline(always)]
    const fn last(slot_bits: u32) -> u64 {
        (u64::MAX >> 1) >> slot_bits
    }

    #[inline(always)]
    fn new(time: Instant, slot: usize, slot_bits: u32) -> Self {
        Self((time.as_picos().min(Self::last(slot_bits)) << slot_bits) | slot as u64)
    }

    #[inline(always)]
    fn time_and_slot(self, slot_bits: u32) -> (Instant, usize) {
        (Instant::from_picos(self.0 >> slot_bits), (self.0 & !(u64::MAX << slot_bits)) as usize)
    }

    #[inline(always)]
    fn is_before(self, other: Self) -> bool {
        // By the sign of the difference: a plain `<` is recognised as a minimum and compiled to a branch,
        // which callgrind's model mispredicts 1.2 times a packet-hop.
        self.0.wrapping_sub(other.0).cast_signed() < 0
    }
}

impl Entry for Event {
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        Self(select_unpredictable(other.is_before(self), other.0, self.0))
    }
}

/// Number of slots in the binary tree, the first of all.
const FIRST_SLOTS: usize = 1 << FIRST_BITS;
/// Bits of their numbers, and levels of the tree.
const FIRST_BITS: u32 = 5;

/// Binary winner tree of the first slots: the winners of entries 2 k and 2 k + 1 are entry k, the slots the
/// last half. Its levels are a constant, so that a path has no branch and no test of an index.
struct FirstTree([Event; 2 * FIRST_SLOTS]);

impl FirstTree {
    #[inline(always)]
    fn first(&self) -> (Instant, usize) {
        self.0[1].time_and_slot(FIRST_BITS)
    }

    #[inline(always)]
    fn set(&mut self, slot: usize, time: Instant) {
        let slot = slot % FIRST_SLOTS;
        let mut at = FIRST_SLOTS + slot;
        // The winner stays in a register; only its rivals are loaded.
        let mut winner = Event::new(time, slot, FIRST_BITS);
        self.0[at] = winner;
        for _ in 0..FIRST_BITS {
            winner = winner.smaller(self.0[at ^ 1]);
            at /= 2;
            self.0[at] = winner;
        }
    }
}

/// Tree of all other slots.
enum Others {
    /// A thousand slots for two hours, ten thousand for nine minutes; with the bits of a slot's number.
    Narrow(WinnerTree<Event>, u32),
    /// Runs that are both longer and larger: time and slot in 64 bits each.
    Wide(WinnerTree<u128>),
}

/// Pending times of a fixed number of slots.
pub(crate) struct Events {
    first: FirstTree,
    /// Number of slots in `first`: none in a run of more than three days, which its entries cannot hold.
    first_slots: usize,
    /// Earliest time and slot of the others.
    other: (Instant, usize),
    /// That time; zero if all slots are others.
    other_time: Instant,
    others: Others,
}

impl Events {
    /// Creates slots without pending times, for a run that ends at `end`.
    pub(crate) fn new(slots: usize, end: Instant) -> Self {
        let never = Instant::NEVER;
        let first_slots = if end.as_picos() < Event::last(FIRST_BITS) { FIRST_SLOTS } else { 0 };
        // One slot number stays unused: that of no slot.
        let slot_bits = (slots + 1).next_power_of_two().trailing_zeros();
        let count = slots.saturating_sub(first_slots);
        let others = if end.as_picos() < Event::last(slot_bits) {
            Others::Narrow(WinnerTree::new(count, Event::new(never, slots, slot_bits)), slot_bits)
        } else {
            Others::Wide(WinnerTree::new(count, u128::MAX))
        };
        Self {
            first: FirstTree([Event::new(never, FIRST_SLOTS - 1, FIRST_BITS); 2 * FIRST_SLOTS]),
            first_slots,
            other: (never, slots),
            other_time: if first_slots > 0 { never } else { Instant::ZERO },
            others,
        }
    }

    /// Returns the earliest pending time and its slot; a time after the end if nothing is pending.
    #[inline(always)]
    pub(crate) fn first(&self) -> (Instant, usize) {
        let (time, slot) = self.first.first();
        // Of equal times, that of the lower slot is first.
        let is_other = self.other_time < time;
        (
            select_unpredictable(is_other, self.other.0, time),
            select_unpredictable(is_other, self.other.1, slot),
        )
    }

    /// Sets the time of a slot; [`Instant::NEVER`] for not pending.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: usize, time: Instant) {
        if slot < self.first_slots { self.first.set(slot, time) } else { self.set_other(slot, time) }
    }

    /// Sets the time of a slot that is not one of the first. Compiled once: inlined at each call, it is long.
    #[inline(never)]
    fn set_other(&mut self, slot: usize, time: Instant) {
        let index = slot - self.first_slots;
        self.other = match &mut self.others {
            Others::Narrow(tree, slot_bits) => {
                tree.set(index, Event::new(time, slot, *slot_bits));
                tree.first().time_and_slot(*slot_bits)
            }
            Others::Wide(tree) => {
                tree.set(index, u128::from(time.as_picos()) << 64 | slot as u128);
                (Instant::from_picos((tree.first() >> 64) as u64), tree.first() as u64 as usize)
            }
        };
        if self.first_slots > 0 {
            self.other_time = self.other.0;
        }
    }

    /// True if setting this slot, which is not pending, to `time` would make it the first.
    #[inline(always)]
    pub(crate) fn would_be_first(&self, slot: usize, time: Instant) -> bool {
        (time, slot) < self.first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NARROW: Instant = Instant::from_picos(1000);
    const WIDE: Instant = Instant::from_picos(u64::MAX - 1);

    fn check(slots: usize, end: Instant, sets: &[(usize, u64)]) -> Result<(), TestCaseError> {
        let mut events = Events::new(slots, end);
        prop_assert_eq!(matches!(events.others, Others::Wide(_)), end == WIDE);
        prop_assert_eq!(events.first_slots, if end == WIDE { 0 } else { FIRST_SLOTS });
        let mut model = vec![u64::MAX; slots];
        for &(slot, time) in sets {
            let slot = slot % slots;
            let time = if time == 0 { u64::MAX } else { time };
            let foreseen = events.would_be_first(slot, Instant::from_picos(time));
            let was_pending = model[slot] < u64::MAX;
            events.set(slot, Instant::from_picos(time));
            model[slot] = time;
            if !was_pending && time < u64::MAX {
                prop_assert_eq!(foreseen, events.first().1 == slot);
            }
            let earliest = model.iter().copied().min().unwrap_or(u64::MAX);
            let (found, winner) = events.first();
            if earliest < u64::MAX {
                prop_assert_eq!(found.as_picos(), earliest);
                prop_assert_eq!(Some(winner), model.iter().position(|time| *time == earliest));
            } else {
                prop_assert!(found > end || found == Instant::NEVER);
            }
        }
        Ok(())
    }

    #[test]
    fn a_word_has_room_for_days_and_a_time_beyond_never_comes() {
        let days = Instant::from_picos(280_000_000_000_000_000);
        assert!(matches!(Events::new(30, days).others, Others::Narrow(..)));
        assert!(matches!(Events::new(32, days).others, Others::Wide(_)));
        let mut events = Events::new(30, days);
        events.set(3, Instant::from_picos(u64::MAX / 2));
        assert!(events.first().0 > days);
    }

    proptest! {
        #[test]
        fn the_earliest_wins_and_ties_go_to_the_lower_slot(
            slots in 1usize..70,
            sets in prop::collection::vec((0usize..70, 0u64..20), 1..200),
        ) {
            check(slots, NARROW, &sets)?;
            check(slots, WIDE, &sets)?;
        }
    }
}
