//! Groups of quick fair queueing (QFQ): children grouped by the size of their tags, groups in three
//! bitmaps.
//!
//! ```text
//! group g      children whose longest packet takes 2^g < L/w <= 2^(g+1) of virtual time: slots of that size
//! in a group   slots by rounded start tags, few and in order; children of a slot in order of arrival
//! of a group   S = start of its first slot;  F = S + two slots: no child in it finishes later than that
//!
//! later     groups whose S virtual time has not reached
//! ready     eligible groups that no group of longer slots precedes with a smaller F: F ascends with g
//! blocked   the other eligible groups
//! ```
//!
//! The next child is the first of the lowest ready group: no comparison, whatever the number of children.
//! Changes of virtual time and of a group's first slot are processed by group, of which there are at most
//! 64 and a handful in use.
//!
//! Invariant: every group with slots is in exactly one of the three bitmaps, an empty group in none; F is
//! ascending over the ready groups.
//!
//! Differs from the paper: the slots of a group are a short ordered list instead of a ring of fixed size,
//! which suffices only if packets have similar lengths; and blocking is decided when a group becomes
//! eligible, so that the paper's IR and IB are one set.

use std::collections::VecDeque;

use crate::fair::Tag;
use crate::units::Bytes;

/// Number of groups: slots of 2^1 to 2^64 steps.
const GROUPS: usize = 64;

/// Children of equal rounded start tags: a linked list through `Groups::behind`.
#[derive(Clone)]
struct Slot {
    start: Tag,
    first: u32,
    last: u32,
}

/// Children of `qfq`, grouped and ordered by their rounded tags.
#[derive(Clone)]
pub(crate) struct Groups {
    /// Non-empty slots of each group, the earliest first.
    slots: Vec<VecDeque<Slot>>,
    /// F of each group that has slots.
    finish: [Tag; GROUPS],
    /// Link: the child behind each child in its slot.
    behind: Vec<u32>,
    ready: u64,
    blocked: u64,
    later: u64,
}

/// Returns the group of a child of this weight whose packets are at most `longest`.
pub(crate) fn group_of(longest: Bytes, weight: u32) -> usize {
    // A packet is shorter than 2^32 bytes, so that this is at most 2^64.
    let length = Bytes(longest.0.min(u64::from(u32::MAX)));
    let steps = Tag::ZERO.after(length, weight).steps();
    let bits = u128::BITS - steps.saturating_sub(1).leading_zeros();
    bits.saturating_sub(1) as usize
}

fn bit(group: usize) -> u64 {
    1 << group
}

/// Returns the set of groups of shorter slots.
fn below(group: usize) -> u64 {
    bit(group) - 1
}

fn lowest(set: u64) -> Option<usize> {
    (set != 0).then(|| set.trailing_zeros() as usize)
}

fn highest(set: u64) -> Option<usize> {
    set.checked_ilog2().map(|group| group as usize)
}

impl Groups {
    /// Creates the groups of children `0..count`, none of them listed.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            slots: core::iter::repeat_with(VecDeque::new).take(GROUPS).collect(),
            finish: [Tag::ZERO; GROUPS],
            behind: vec![0; count],
            ready: 0,
            blocked: 0,
            later: 0,
        }
    }

    /// Removes all children.
    pub(crate) fn clear(&mut self) {
        self.slots.iter_mut().for_each(VecDeque::clear);
        (self.ready, self.blocked, self.later) = (0, 0, 0);
    }

    /// Lists a child of `group` whose start tag is `start`. Returns whether [`refile`](Self::refile) must
    /// follow.
    pub(crate) fn insert(&mut self, group: usize, start: Tag, child: u32) -> bool {
        let start = start.rounded_down(group as u32 + 1);
        let slots = &mut self.slots[group];
        let index = slots.partition_point(|slot| slot.start < start);
        match slots.get_mut(index) {
            Some(slot) if slot.start == start => {
                self.behind[slot.last as usize] = child;
                slot.last = child;
                false
            }
            _ => {
                slots.insert(index, Slot { start, first: child, last: child });
                index == 0
            }
        }
    }

    /// Removes and returns the next child and its group, for which [`refile`](Self::refile) must follow.
    pub(crate) fn pop(&mut self) -> Option<(usize, u32)> {
        let group = lowest(self.ready)?;
        let slot = self.slots[group].front_mut()?;
        let child = slot.first;
        if child == slot.last {
            self.slots[group].pop_front();
        } else {
            slot.first = self.behind[child as usize];
        }
        Some((group, child))
    }

    /// Moves a group whose first slot may have changed to its bitmap at virtual time `clock`.
    pub(crate) fn refile(&mut self, group: usize, clock: Tag) {
        let (was_ready, before) = (self.ready & bit(group) != 0, self.finish[group]);
        for set in [&mut self.ready, &mut self.blocked, &mut self.later] {
            *set &= !bit(group);
        }
        if let Some(slot) = self.slots[group].front() {
            let start = slot.start;
            self.finish[group] = start.plus_two(group as u32 + 1);
            if start > clock {
                self.later |= bit(group);
            } else {
                self.file_eligible(group);
            }
        }
        if was_ready && (self.ready & bit(group) == 0 || self.finish[group] > before) {
            self.unblock(group);
        }
    }

    /// Files a group that became eligible as ready, or as blocked by a group of longer slots; it may block
    /// others.
    fn file_eligible(&mut self, group: usize) {
        let finish = self.finish[group];
        // The first of the groups above has the smallest finish of them.
        let above = self.ready & !below(group) & !bit(group);
        if lowest(above).is_some_and(|above| self.finish[above] < finish) {
            self.blocked |= bit(group);
            return;
        }
        self.ready |= bit(group);
        while let Some(other) = highest(self.ready & below(group)) {
            if self.finish[other] <= finish {
                break;
            }
            self.ready &= !bit(other);
            self.blocked |= bit(other);
        }
    }

    /// Files again the groups that `group` may have blocked.
    fn unblock(&mut self, group: usize) {
        let mut others = self.blocked & below(group);
        while let Some(other) = highest(others) {
            others &= !bit(other);
            self.blocked &= !bit(other);
            self.file_eligible(other);
        }
    }

    /// Files the groups that became eligible when virtual time advanced from `before` to `now`.
    pub(crate) fn advance(&mut self, before: Tag, now: Tag) {
        // Slots start at multiples of their size: a group becomes eligible only if virtual time crosses one.
        let left = (before.steps() ^ now.steps()).checked_ilog2().unwrap_or(0).min(GROUPS as u32 - 1);
        let mut due = self.later & (u64::MAX >> (63 - left));
        while let Some(group) = lowest(due) {
            due &= !bit(group);
            if self.start(group).is_some_and(|start| start <= now) {
                self.later &= !bit(group);
                self.file_eligible(group);
            }
        }
    }

    fn start(&self, group: usize) -> Option<Tag> {
        self.slots[group].front().map(|slot| slot.start)
    }

    /// Returns the virtual time at which the next group becomes eligible, if none is now.
    pub(crate) fn next_start(&self) -> Option<Tag> {
        if self.ready != 0 {
            return None;
        }
        (0..GROUPS).filter(|group| self.later & bit(*group) != 0).filter_map(|group| self.start(group)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn a_group_is_the_smallest_power_of_two_that_holds_the_longest_packet() {
        for (length, weight) in [(1, 1), (1, u32::MAX), (1514, 7), (1 << 20, 3), (u64::from(u32::MAX), 1)] {
            let steps = Tag::ZERO.after(Bytes(length), weight).steps();
            let group = group_of(Bytes(length), weight);
            assert!(group < GROUPS);
            assert!(steps <= 2 << group, "{length}/{weight} fits in its slot");
            assert!(group == 0 || steps > 1 << group, "{length}/{weight} does not in the next smaller");
        }
        assert_eq!(group_of(Bytes(u64::MAX), 1), GROUPS - 1);
    }

    /// The sets by their definition.
    fn check(groups: &Groups, clock: Tag) {
        let held: Vec<usize> = (0..GROUPS).filter(|group| !groups.slots[*group].is_empty()).collect();
        let come = |group: &usize| groups.start(*group).is_some_and(|start| start <= clock);
        for group in &held {
            let sets = [groups.ready, groups.blocked, groups.later];
            let found = sets.map(|set| set & bit(*group) != 0);
            let preceded = held
                .iter()
                .any(|other| other > group && come(other) && groups.finish[*other] < groups.finish[*group]);
            let expected = [come(group) && !preceded, come(group) && preceded, !come(group)];
            assert_eq!(found, expected, "group {group} of {held:?} at {clock:?}");
        }
        let all = held.iter().fold(0, |set, group| set | bit(*group));
        assert_eq!(groups.ready | groups.blocked | groups.later, all);
        if let Some(next) = lowest(groups.ready) {
            let least = held.iter().filter(|group| come(group)).map(|group| groups.finish[*group]).min();
            assert_eq!(Some(groups.finish[next]), least, "the lowest that is ready ends first of all");
        }
    }

    #[test]
    fn the_lowest_ready_group_ends_first_whatever_happens() {
        let mut random = Random::stream(Seed(3), "groups");
        let (mut blocked, mut late) = (0, 0);
        for trial in 0..40 {
            let shapes: Vec<(u64, u32)> =
                (0..30).map(|_| (u64::from(1 + random.below(9_000)), 1 << random.below(12))).collect();
            // In half of the trials virtual time runs ahead of the service, and groups fall behind.
            let weights: u64 = shapes.iter().map(|(_, weight)| u64::from(*weight)).sum();
            let weights = weights / [1, 3][trial % 2];
            let mut groups = Groups::new(shapes.len());
            let mut starts = vec![None; shapes.len()];
            let mut finishes = vec![Tag::ZERO; shapes.len()];
            let mut clock = Tag::ZERO;
            for _ in 0..2_000 {
                let child = random.below(30);
                let (longest, weight) = shapes[child as usize];
                if starts[child as usize].is_none() && random.below(3) == 0 {
                    let group = group_of(Bytes(longest), weight);
                    let start = clock.max(finishes[child as usize]);
                    starts[child as usize] = Some(start);
                    if groups.insert(group, start, child) {
                        groups.refile(group, clock);
                    }
                }
                check(&groups, clock);
                let before = clock;
                if let Some(start) = groups.next_start() {
                    clock = clock.max(start);
                    groups.advance(before, clock);
                    check(&groups, clock);
                }
                let Some((group, child)) = groups.pop() else { continue };
                let (longest, weight) = shapes[child as usize];
                let length = Bytes(1 + u64::from(random.below(longest as u32)));
                let start = starts[child as usize].take().expect("it was listed");
                assert!(start.rounded_down(group as u32 + 1) <= clock, "its time had come");
                finishes[child as usize] = start.after(length, weight);
                let before = clock;
                clock = clock.during(length, weights, 1, 1);
                if random.below(20) > 0 {
                    starts[child as usize] = Some(finishes[child as usize]);
                    groups.insert(group, finishes[child as usize], child);
                }
                groups.refile(group, clock);
                groups.advance(before, clock);
                check(&groups, clock);
                blocked += groups.blocked.count_ones();
                late += groups.later.count_ones();
            }
        }
        assert!(blocked > 500 && late > 500, "{blocked} blocked and {late} later: it tries nothing");
    }
}
