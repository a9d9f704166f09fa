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
//! share, or the whole of a small run. The tree of all others is the engine's ([`WinnerTree`]). Measured per
//! replacement at 32 slots against a binary heap: 8 ns and 31 ns; see decision 004. Invariant: ties go to the
//! lower slot, because the order of ties is part of a run's result (see [`network`](crate::network)).
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

/// Returns the event of a run that is both very long and very large: time and slot in 64 bits each.
fn wide(time: Instant, slot: usize) -> u128 {
    u128::from(time.as_picos()) << 64 | slot as u128
}

/// Number of slots in the binary tree, the first of all.
const FIRST_SLOTS: usize = 1 << FIRST_LEVELS;
const FIRST_LEVELS: usize = 5;

/// Binary winner tree of the first slots: the winners of entries 2 k and 2 k + 1 are entry k, the slots the
/// last half. Its levels are a constant, so that a path has no branch and no test of an index.
struct FirstTree([Event; 2 * FIRST_SLOTS]);

impl FirstTree {
    #[inline(always)]
    fn first(&self) -> Event {
        self.0[1]
    }

    #[inline(always)]
    fn set(&mut self, slot: usize, event: Event) {
        let mut at = FIRST_SLOTS + slot % FIRST_SLOTS;
        self.0[at] = event;
        // The winner stays in a register; only its rivals are loaded.
        let mut winner = event;
        for _ in 0..FIRST_LEVELS {
            winner = winner.smaller(self.0[at ^ 1]);
            at /= 2;
            self.0[at] = winner;
        }
    }
}

/// Tree of all events.
#[allow(clippy::large_enum_variant, reason = "a run has one; behind a box it would be a load more an event")]
enum Tree {
    /// Thirty slots for three days, a thousand for two hours. The first slots, and all others.
    Narrow(FirstTree, WinnerTree<Event>),
    Wide(WinnerTree<u128>),
}

/// Pending times of a fixed number of slots.
pub(crate) struct Events {
    tree: Tree,
    slot_bits: u32,
}

impl Events {
    /// Creates slots without pending times, for a run that ends at `end`.
    pub(crate) fn new(slots: usize, end: Instant) -> Self {
        // One slot number stays unused: that of no slot.
        let slot_bits = (slots + 1).next_power_of_two().trailing_zeros();
        let tree = if end.as_picos() < Event::last(slot_bits) {
            let none = Event::new(Instant::NEVER, slots, slot_bits);
            let others = WinnerTree::new(slots.saturating_sub(FIRST_SLOTS), none);
            Tree::Narrow(FirstTree([none; 2 * FIRST_SLOTS]), others)
        } else {
            Tree::Wide(WinnerTree::new(slots, wide(Instant::NEVER, slots)))
        };
        Self { tree, slot_bits }
    }

    /// Returns the earliest pending time and its slot; a time after the end if nothing is pending.
    #[inline(always)]
    pub(crate) fn first(&self) -> (Instant, usize) {
        match &self.tree {
            Tree::Narrow(first, others) => {
                let earliest = first.first().smaller(others.first()).0;
                (
                    Instant::from_picos(earliest >> self.slot_bits),
                    (earliest & !(u64::MAX << self.slot_bits)) as usize,
                )
            }
            Tree::Wide(tree) => {
                let first = tree.first();
                (Instant::from_picos((first >> 64) as u64), first as u64 as usize)
            }
        }
    }

    /// Sets the time of a slot; [`Instant::NEVER`] for not pending.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: usize, time: Instant) {
        match &mut self.tree {
            Tree::Narrow(first, others) => {
                let event = Event::new(time, slot, self.slot_bits);
                match slot.checked_sub(FIRST_SLOTS) {
                    None => first.set(slot, event),
                    Some(other) => set_other(others, other, event),
                }
            }
            Tree::Wide(tree) => set_wide(tree, slot, time),
        }
    }

    /// True if setting this slot, which is not pending, to `time` would make it the first.
    #[inline(always)]
    pub(crate) fn would_be_first(&self, slot: usize, time: Instant) -> bool {
        match &self.tree {
            Tree::Narrow(first, others) => {
                let event = Event::new(time, slot, self.slot_bits);
                event.is_before(first.first()) & event.is_before(others.first())
            }
            Tree::Wide(tree) => wide(time, slot) < tree.first(),
        }
    }
}

/// Sets the event of a slot that is not one of the first. Compiled once: inlined at each call, it is long.
#[inline(never)]
fn set_other(others: &mut WinnerTree<Event>, slot: usize, event: Event) {
    others.set(slot, event);
}

#[inline(never)]
fn set_wide(tree: &mut WinnerTree<u128>, slot: usize, time: Instant) {
    tree.set(slot, wide(time, slot));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NARROW: Instant = Instant::from_picos(1000);
    const WIDE: Instant = Instant::from_picos(u64::MAX - 1);

    fn check(slots: usize, end: Instant, sets: &[(usize, u64)]) -> Result<(), TestCaseError> {
        let mut events = Events::new(slots, end);
        prop_assert_eq!(matches!(events.tree, Tree::Wide(_)), end == WIDE);
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
        assert!(matches!(Events::new(30, days).tree, Tree::Narrow(..)));
        assert!(matches!(Events::new(32, days).tree, Tree::Wide(_)));
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
