//! Active list: the ring of children that may have a packet to send, for every round-robin discipline.
//!
//! Membership is a *hint*: a child can become empty without a call of its parent (an active queue management
//! drops during a peek, a timer fires, a limit shrinks). Schedulers of Linux that assumed otherwise had
//! vulnerabilities (CVE-2025-37798, CVE-2025-37890, CVE-2025-38350 and their family). So joining is
//! idempotent, and a discipline that finds a member empty delists it and goes on.
//!
//! Invariant: a slot is in `turns` at most once, exactly if its flag in `listed` is set. Every operation
//! except `rotate_by` and `retire_at` is O(1).

use std::collections::VecDeque;

use crate::prefetch::{CACHED_CHILDREN, TURNS_PER_GROUP};

/// Slots `0..n` in the order of their turns.
#[derive(Clone, Debug)]
pub(crate) struct ActiveList {
    turns: VecDeque<u32>,
    listed: Vec<bool>,
    /// Number of turns that have ended since the last group was prefetched.
    ended: usize,
}

impl ActiveList {
    /// Creates a list for `slots` children, none of them active.
    pub(crate) fn new(slots: usize) -> Self {
        Self { turns: VecDeque::with_capacity(slots), listed: vec![false; slots], ended: 0 }
    }

    /// Adds a slot after the last.
    pub(crate) fn add_slot(&mut self) {
        self.listed.push(false);
    }

    /// Lists a slot at the end unless it is listed already. Returns whether it was added. A slot that does
    /// not exist is not listed.
    #[inline]
    pub(crate) fn activate(&mut self, slot: usize) -> bool {
        match self.listed.get_mut(slot) {
            Some(listed) if !*listed => {
                *listed = true;
                self.turns.push_back(slot as u32);
                true
            }
            _ => false,
        }
    }

    /// Returns the slot whose turn it is.
    #[inline]
    pub(crate) fn current(&self) -> Option<usize> {
        self.turns.front().map(|slot| *slot as usize)
    }

    /// Ends the current slot's turn: it goes to the end.
    #[inline]
    pub(crate) fn rotate(&mut self) {
        self.ended += 1;
        if let Some(slot) = self.turns.pop_front() {
            self.turns.push_back(slot);
        }
    }

    /// Returns the slot `turns` turns after the current one.
    #[inline]
    pub(crate) fn get(&self, turns: usize) -> Option<usize> {
        self.turns.get(turns).map(|slot| *slot as usize)
    }

    /// Ends the turns of this many slots: they go to the end, in their order.
    pub(crate) fn rotate_by(&mut self, turns: usize) {
        if let Some(turns) = turns.checked_rem(self.turns.len()) {
            self.turns.rotate_left(turns);
        }
    }

    /// Delists the slot `turns` turns after the current one, if there is one.
    pub(crate) fn retire_at(&mut self, turns: usize) {
        if let Some(slot) = self.turns.remove(turns) {
            self.listed[slot as usize] = false;
        }
    }

    /// Delists the current slot.
    #[inline]
    pub(crate) fn retire(&mut self) {
        self.ended += 1;
        if let Some(slot) = self.turns.pop_front() {
            self.listed[slot as usize] = false;
        }
    }

    /// Reports the slots of the next turns, to be prefetched: once every `TURNS_PER_GROUP` turns, and only if
    /// more than `CACHED_CHILDREN` slots are listed. Calls `prefetch` with `(slot, false)` for a slot of the
    /// group after the next, whose node is to be prefetched, and with `(slot, true)` for a slot of the next
    /// group, whose node is cached by then and whose packet is to be prefetched.
    #[inline]
    pub(crate) fn prefetch_upcoming(&mut self, prefetch: impl FnMut(usize, bool)) {
        if self.ended >= TURNS_PER_GROUP {
            self.ended = 0;
            if self.turns.len() > CACHED_CHILDREN {
                self.prefetch_group(prefetch);
            }
        }
    }

    #[inline(never)]
    fn prefetch_group(&self, mut prefetch: impl FnMut(usize, bool)) {
        for turn in 0..2 * TURNS_PER_GROUP {
            if let Some(slot) = self.get(turn) {
                prefetch(slot, turn < TURNS_PER_GROUP);
            }
        }
    }

    /// Returns the number of listed slots.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.turns.len()
    }

    /// Returns whether no slot is listed.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Iterates over the listed slots, the current one first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.turns.iter().map(|slot| *slot as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activation_is_idempotent() {
        let mut list = ActiveList::new(3);
        assert!(list.activate(2));
        assert!(!list.activate(2), "a second activation must not list it twice");
        assert!(list.activate(0));
        assert!(!list.activate(7), "a slot that does not exist");
        assert_eq!(list.iter().collect::<Vec<_>>(), [2, 0]);
        list.rotate();
        assert_eq!(list.current(), Some(0));
        list.retire();
        assert_eq!(list.iter().collect::<Vec<_>>(), [2]);
        assert!(list.activate(0));
        list.retire();
        list.retire();
        list.retire();
        assert!(list.is_empty());
    }

    #[test]
    fn turns_can_be_passed_and_slots_retired_within_the_ring() {
        let mut list = ActiveList::new(4);
        list.rotate_by(1);
        (0..4).for_each(|slot| assert!(list.activate(slot)));
        list.rotate_by(5);
        assert_eq!(list.iter().collect::<Vec<_>>(), [1, 2, 3, 0]);
        list.retire_at(2);
        list.retire_at(3);
        assert_eq!(list.iter().collect::<Vec<_>>(), [1, 2, 0]);
        assert_eq!((list.get(2), list.get(3)), (Some(0), None));
        assert!(list.activate(3), "it can come back");
        assert_eq!(list.current(), Some(1));
    }
}
