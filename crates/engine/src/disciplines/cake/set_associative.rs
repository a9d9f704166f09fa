//! Set-associative table of flows: 1024 queues in sets of eight. A flow may use any free queue of its set.
//!
//! ```text
//! tag of a flow --mod 1024--> own queue --> its set of eight: [ A | - | C | D | - | F | G | H ]
//! 1. the queue with this tag   2. the own or next one never used   3. the own or next free one
//! 4. none free: the flow shares its own queue and is listed in `guests`
//! ```
//!
//! With `n` flows a new one finds its own queue taken with probability about `n / 1024`, but all eight of
//! its set only if eight others hash there. A flow keeps its queue while it has packets in it, also a
//! shared one, so that its packets are never reordered.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use smallvec::SmallVec;

/// Number of queues of a tin.
const QUEUES: usize = 1024;
/// Number of queues of a set.
const WAYS: usize = 8;
/// Number of sets of a tin; that of a used one fits a byte.
const SETS: usize = QUEUES / WAYS;
/// Number of used sets up to which they are searched.
const SEARCHED_SETS: usize = 16;

/// How a flow was assigned its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assignment {
    /// It had the queue already.
    Known,
    /// The queue was free.
    Free,
    /// All queues of the set are taken: it shares one.
    Shared,
}

/// A flow in a queue that belongs to another.
#[derive(Clone, Copy, Debug)]
struct Guest {
    queue: QueueIndex,
    packets: u32,
}

/// Index of a queue in its tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueIndex(u16);

impl QueueIndex {
    /// Returns the index of the queue to which a tag or a number belongs.
    fn of(number: usize) -> Self {
        Self((number % QUEUES) as u16)
    }

    fn set(self) -> SetIndex {
        SetIndex((usize::from(self.0) / WAYS) as u8)
    }

    /// Returns its index in the set.
    fn way(self) -> usize {
        usize::from(self.0) % WAYS
    }

    /// Returns the queues of its set, this one first and the others in turn.
    fn of_its_set(self) -> impl Iterator<Item = Self> {
        let first = usize::from(self.0) - self.way();
        (0..WAYS).map(move |step| Self::of(first + (self.way() + step) % WAYS))
    }
}

/// Index of a set of queues in its tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SetIndex(u8);

/// A value for each queue of a tin. A set of values is allocated with the first change of one of them: the
/// queues of a tin take 150 KiB, and a subscriber's tin has one to three flows.
#[derive(Clone, Debug)]
pub(super) struct BySet<T> {
    /// In the order of allocation.
    allocated: Vec<[T; WAYS]>,
    /// Set of each entry of `allocated`. Few are searched: no cache line of `slots` is read then.
    sets: SmallVec<[SetIndex; SEARCHED_SETS]>,
    /// By set: its index in `allocated` plus 1, 0 for none. Empty while there are few sets.
    slots: Vec<u8>,
}

impl<T> Default for BySet<T> {
    fn default() -> Self {
        Self { allocated: Vec::new(), sets: SmallVec::new(), slots: Vec::new() }
    }
}

impl<T: Default> BySet<T> {
    /// Returns the value of a queue; `None` if its set is not allocated.
    pub(super) fn get(&self, queue: QueueIndex) -> Option<&T> {
        self.slot(queue.set()).map(|slot| &self.allocated[slot][queue.way()])
    }

    /// Returns the index of a set in `allocated`.
    #[inline]
    fn slot(&self, set: SetIndex) -> Option<usize> {
        if self.slots.is_empty() {
            return self.sets.iter().position(|allocated| *allocated == set);
        }
        self.slots[usize::from(set.0)].checked_sub(1).map(usize::from)
    }

    /// Returns a queue's value, and allocates its set first if necessary.
    pub(super) fn get_mut(&mut self, queue: QueueIndex) -> &mut T {
        let slot = self.slot(queue.set()).unwrap_or_else(|| self.allocate(queue.set()));
        &mut self.allocated[slot][queue.way()]
    }

    /// Allocates a set. Returns its index in `allocated`.
    #[cold]
    fn allocate(&mut self, set: SetIndex) -> usize {
        self.allocated.push(core::array::from_fn(|_| T::default()));
        self.sets.push(set);
        if self.sets.len() > SEARCHED_SETS {
            self.slots = vec![0; SETS];
            for (slot, set) in (1..).zip(&self.sets) {
                self.slots[usize::from(set.0)] = slot;
            }
        }
        self.allocated.len() - 1
    }
}

/// Assignment of flows to queues.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowTable {
    /// Flows that found no free queue, by tag. Mostly empty, but a flood of flows brings thousands.
    guests: BTreeMap<u64, Guest>,
    pub(super) collisions: u64,
}

impl FlowTable {
    /// Returns the queue for a packet of the flow with this tag. `owner` gives the tag of a queue's last
    /// owner, which the flow is from now on if the queue was free.
    pub(super) fn assign(
        &mut self,
        tag: u64,
        owner: impl Fn(QueueIndex) -> Option<u64>,
        is_free: impl Fn(QueueIndex) -> bool,
    ) -> (QueueIndex, Assignment) {
        let own = QueueIndex::of(tag as usize);
        if !self.guests.is_empty()
            && let Some(guest) = self.guests.get_mut(&tag)
        {
            guest.packets += 1;
            return (guest.queue, Assignment::Known);
        }
        let ways = || own.of_its_set();
        if let Some(queue) = ways().find(|queue| owner(*queue) == Some(tag)) {
            return (queue, Assignment::Known);
        }
        // A queue never used comes first: the last owner of another may come back and find its control law
        // there.
        let fresh = ways().find(|queue| owner(*queue).is_none() && is_free(*queue));
        if let Some(queue) = fresh.or_else(|| ways().find(|queue| is_free(*queue))) {
            return (queue, Assignment::Free);
        }
        self.collisions += 1;
        self.guests.insert(tag, Guest { queue: own, packets: 1 });
        (own, Assignment::Shared)
    }

    /// Returns whether any flow shares a queue: then [`packet_left`](Self::packet_left) must be called.
    pub(super) fn has_guests(&self) -> bool {
        !self.guests.is_empty()
    }

    /// Accounts for a packet of this flow that left.
    pub(super) fn packet_left(&mut self, tag: u64) {
        if let Entry::Occupied(mut guest) = self.guests.entry(tag) {
            guest.get_mut().packets -= 1;
            if guest.get().packets == 0 {
                guest.remove();
            }
        }
    }

    /// Removes all guests: all queues are empty.
    pub(super) fn clear(&mut self) {
        self.guests.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with the tags of the queues' owners.
    #[derive(Default)]
    struct Table {
        flows: FlowTable,
        owners: BySet<Option<u64>>,
    }

    impl Table {
        fn assign(&mut self, tag: u64, is_free: impl Fn(usize) -> bool) -> (usize, Assignment) {
            let is_free = |queue: QueueIndex| is_free(usize::from(queue.0));
            let owner = |queue| self.owners.get(queue).copied().flatten();
            let (queue, found) = self.flows.assign(tag, owner, is_free);
            if found == Assignment::Free {
                *self.owners.get_mut(queue) = Some(tag);
            }
            (usize::from(queue.0), found)
        }
    }

    #[test]
    fn a_flow_takes_any_free_queue_of_its_set_and_keeps_it() {
        let mut table = Table::default();
        let mut taken = vec![false; QUEUES];
        // Nine flows whose own queue is number 3 of the first set.
        let tags: Vec<u64> = (0..9).map(|flow| 3 + flow * QUEUES as u64).collect();
        let mut queues = Vec::new();
        for tag in &tags[..8] {
            let (queue, found) = table.assign(*tag, |queue| !taken[queue]);
            assert_eq!(found, Assignment::Free);
            taken[queue] = true;
            queues.push(queue);
        }
        assert_eq!(queues, [3, 4, 5, 6, 7, 0, 1, 2]);
        assert_eq!(table.assign(tags[4], |_| false), (7, Assignment::Known));
        assert_eq!(table.assign(tags[8], |queue| !taken[queue]), (3, Assignment::Shared));
        // A queue comes free, but its packets are still in the other.
        taken[5] = false;
        assert_eq!(table.assign(tags[8], |queue| !taken[queue]), (3, Assignment::Known));
        table.flows.packet_left(tags[8]);
        assert!(table.flows.has_guests());
        table.flows.packet_left(tags[8]);
        assert!(!table.flows.has_guests());
        assert_eq!(table.assign(tags[8], |queue| !taken[queue]), (5, Assignment::Free));
    }

    #[test]
    fn each_queue_has_its_value_also_when_the_used_sets_become_many() {
        let mut values = BySet::<usize>::default();
        let queue = |step: usize| QueueIndex::of(step * 407);
        for step in 0..QUEUES {
            assert_eq!(values.get(queue(step)).copied().unwrap_or(0), 0);
            *values.get_mut(queue(step)) = step + 1;
            assert!((0..=step).all(|step| values.get(queue(step)) == Some(&(step + 1))));
        }
    }

    #[test]
    fn a_flow_that_comes_back_finds_its_queue_while_others_of_the_set_are_unused() {
        let mut table = Table::default();
        let (one, other) = (3, 3 + QUEUES as u64);
        assert_eq!(table.assign(one, |_| true), (3, Assignment::Free));
        assert_eq!(table.assign(other, |_| true), (4, Assignment::Free), "its own has another owner");
        assert_eq!(table.assign(one, |_| true), (3, Assignment::Known));
        for flow in 2..8 {
            assert_eq!(table.assign(3 + flow * QUEUES as u64, |_| true).1, Assignment::Free);
        }
        assert_eq!(table.assign(3 + 8 * QUEUES as u64, |_| true), (3, Assignment::Free), "all were: its own");
    }
}
