//! Event queue: one pending time per slot; a winner tree holds the earliest.
//!
//! ```text
//! slot        0 link   1 link   2 router   3 source   ...       every link, router, source and host owns one slot;
//! pending     7        3        never      3                    its time is replaced, never queued
//!                      ^ first: equal times go to the lower slot
//! ```
//!
//! The tree is the engine's ([`WinnerTree`]). Measured per replacement at 32 slots against a binary heap: 8 ns and
//! 31 ns; see decision 004. Invariant: ties go to the lower slot, because the order of ties is part of a run's result
//! (see [`network`](crate::network)).
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
    /// Largest time beside a slot of this number of bits; stands for all later ones. They are after the end of the
    /// run, where no event is handled.
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
        // By the sign of the difference: a plain `<` is recognised as a minimum and compiled to a branch, which
        // callgrind's model mispredicts 1.2 times a packet-hop.
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

/// Tree of all events.
enum Tree {
    /// Thirty slots for three days, a thousand for two hours.
    Narrow(WinnerTree<Event>),
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
            Tree::Narrow(WinnerTree::new(slots, Event::new(Instant::NEVER, slots, slot_bits)))
        } else {
            Tree::Wide(WinnerTree::new(slots, wide(Instant::NEVER, slots)))
        };
        Self { tree, slot_bits }
    }

    /// Returns the earliest pending time and its slot; a time after the end if nothing is pending.
    #[inline(always)]
    pub(crate) fn first(&self) -> (Instant, usize) {
        match &self.tree {
            Tree::Narrow(tree) => {
                let first = tree.first().0;
                (
                    Instant::from_picos(first >> self.slot_bits),
                    (first & !(u64::MAX << self.slot_bits)) as usize,
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
            Tree::Narrow(tree) => {
                tree.set(slot, Event::new(time, slot, self.slot_bits));
            }
            Tree::Wide(tree) => set_wide(tree, slot, time),
        }
    }

    /// True if setting this slot, which is not pending, to `time` would make it the first.
    #[inline(always)]
    pub(crate) fn would_be_first(&self, slot: usize, time: Instant) -> bool {
        match &self.tree {
            Tree::Narrow(tree) => Event::new(time, slot, self.slot_bits).is_before(tree.first()),
            Tree::Wide(tree) => wide(time, slot) < tree.first(),
        }
    }
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
        assert!(matches!(Events::new(30, days).tree, Tree::Narrow(_)));
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
