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

use lockgate_engine::units::Instant;

/// A place in the tournament: the time in the upper half, the slot in the lower, so that the smaller of two
/// is the earlier, and of two at one time the lower slot. One comparison, no branch.
type Entry = u128;

fn entry(time: Instant, slot: usize) -> Entry {
    (Entry::from(time.as_picos()) << 64) | slot as Entry
}

/// Pending times of a fixed number of slots.
pub(crate) struct Events {
    /// `tree[1]` is the winner; the leaves start at `leaves`.
    tree: Vec<Entry>,
    leaves: usize,
}

impl Events {
    /// `slots` slots, none of them pending.
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        let mut tree: Vec<Entry> =
            (0..2 * leaves).map(|place| entry(Instant::NEVER, place.saturating_sub(leaves))).collect();
        for place in (1..leaves).rev() {
            tree[place] = tree[2 * place];
        }
        Self { tree, leaves }
    }

    /// The earliest pending time and its slot; [`Instant::NEVER`] where nothing is pending.
    #[inline(always)]
    pub(crate) fn first(&self) -> (Instant, usize) {
        let winner = self.tree[1];
        (Instant::from_picos((winner >> 64) as u64), winner as u64 as usize)
    }

    /// Sets the time of a slot; [`Instant::NEVER`] for not pending.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: usize, time: Instant) {
        let mut place = self.leaves + slot;
        // The winner so far stays in registers; only its rivals are read.
        let mut winner = entry(time, slot);
        self.tree[place] = winner;
        while place > 1 {
            winner = winner.min(self.tree[place ^ 1]);
            place >>= 1;
            self.tree[place] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_wins_and_ties_go_to_the_lower_slot(
            slots in 1usize..70,
            sets in prop::collection::vec((0usize..70, 0u64..20), 1..200),
        ) {
            let mut events = Events::new(slots);
            let mut model = vec![u64::MAX; slots];
            for (slot, time) in sets {
                let slot = slot % slots;
                let time = if time == 0 { u64::MAX } else { time };
                events.set(slot, Instant::from_picos(time));
                model[slot] = time;
                let earliest = model.iter().copied().min().unwrap_or(u64::MAX);
                let (found, winner) = events.first();
                prop_assert_eq!(found.as_picos(), earliest);
                if earliest < u64::MAX {
                    prop_assert_eq!(Some(winner), model.iter().position(|time| *time == earliest));
                }
            }
        }
    }
}
