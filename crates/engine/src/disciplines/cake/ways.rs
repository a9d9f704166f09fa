//! Which queue a flow has: 1024 of them in sets of eight, and any free one of its set will do.
//!
//! With `n` flows a new one finds its own queue taken with probability about `n / 1024`, but all eight of its set
//! only if eight others hash there. A flow keeps its queue as long as it has packets in it, also where it had to
//! share one, so that it is never reordered.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Queues of a tin.
pub(super) const QUEUES: usize = 1024;
/// Queues of a set.
const WAYS: usize = 8;

/// How a flow came to its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It had it already.
    Known,
    /// It was free.
    Free,
    /// All of the set are taken, and it shares one.
    Shared,
}

/// A flow in a queue that is another's.
#[derive(Clone, Copy, Debug)]
struct Guest {
    queue: usize,
    packets: u32,
}

/// Who has which queue.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// By queue; none before [`open`](Self::open).
    tags: Vec<Option<u64>>,
    /// Those that found no free queue, by tag. Mostly none, but a flood of flows brings thousands.
    guests: BTreeMap<u64, Guest>,
    pub(super) collisions: u64,
}

impl Ways {
    /// Makes what is kept of each queue, before the first packet.
    pub(super) fn open(&mut self) {
        self.tags.resize(QUEUES, None);
    }

    /// The queue for a packet of the flow with this tag.
    pub(super) fn place(&mut self, tag: u64, is_free: impl Fn(usize) -> bool) -> (usize, Found) {
        let own = (tag as usize) % QUEUES;
        let set = own - own % WAYS;
        if !self.guests.is_empty()
            && let Some(guest) = self.guests.get_mut(&tag)
        {
            guest.packets += 1;
            return (guest.queue, Found::Known);
        }
        // Its own first, then the others in turn.
        let ways = || (0..WAYS).map(|way| set + (own + way) % WAYS);
        if let Some(queue) = ways().find(|queue| self.tags[*queue] == Some(tag)) {
            return (queue, Found::Known);
        }
        // One that nobody has had first: whoever left the others may come back, and its law be found there.
        let fresh = ways().find(|queue| self.tags[*queue].is_none() && is_free(*queue));
        if let Some(queue) = fresh.or_else(|| ways().find(|queue| is_free(*queue))) {
            self.tags[queue] = Some(tag);
            return (queue, Found::Free);
        }
        self.collisions += 1;
        self.guests.insert(tag, Guest { queue: own, packets: 1 });
        (own, Found::Shared)
    }

    /// Whether any flow is in a queue that is another's: then [`left`](Self::left) must be told.
    pub(super) fn has_guests(&self) -> bool {
        !self.guests.is_empty()
    }

    /// A packet of the flow with this tag left.
    pub(super) fn left(&mut self, tag: u64) {
        if let Entry::Occupied(mut guest) = self.guests.entry(tag) {
            guest.get_mut().packets -= 1;
            if guest.get().packets == 0 {
                guest.remove();
            }
        }
    }

    /// Forgets who shared queues: all are empty.
    pub(super) fn clear(&mut self) {
        self.guests.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_takes_any_free_queue_of_its_set_and_keeps_it() {
        let mut ways = Ways::default();
        ways.open();
        let mut taken = vec![false; QUEUES];
        // Nine flows whose own queue is number 3 of the first set.
        let tags: Vec<u64> = (0..9).map(|flow| 3 + flow * QUEUES as u64).collect();
        let mut places = Vec::new();
        for tag in &tags[..8] {
            let (queue, found) = ways.place(*tag, |queue| !taken[queue]);
            assert_eq!(found, Found::Free);
            taken[queue] = true;
            places.push(queue);
        }
        assert_eq!(places, [3, 4, 5, 6, 7, 0, 1, 2]);
        assert_eq!(ways.place(tags[4], |_| false), (7, Found::Known));
        assert_eq!(ways.place(tags[8], |queue| !taken[queue]), (3, Found::Shared));
        // A queue comes free, but its packets are still in the other.
        taken[5] = false;
        assert_eq!(ways.place(tags[8], |queue| !taken[queue]), (3, Found::Known));
        ways.left(tags[8]);
        assert!(ways.has_guests());
        ways.left(tags[8]);
        assert!(!ways.has_guests());
        assert_eq!(ways.place(tags[8], |queue| !taken[queue]), (5, Found::Free));
    }

    #[test]
    fn a_flow_that_comes_back_finds_its_queue_while_others_of_the_set_are_unused() {
        let mut ways = Ways::default();
        ways.open();
        let (one, other) = (3, 3 + QUEUES as u64);
        assert_eq!(ways.place(one, |_| true), (3, Found::Free));
        assert_eq!(ways.place(other, |_| true), (4, Found::Free), "its own was somebody's");
        assert_eq!(ways.place(one, |_| true), (3, Found::Known));
        for flow in 2..8 {
            assert_eq!(ways.place(3 + flow * QUEUES as u64, |_| true).1, Found::Free);
        }
        assert_eq!(ways.place(3 + 8 * QUEUES as u64, |_| true), (3, Found::Free), "all were: its own");
    }
}
