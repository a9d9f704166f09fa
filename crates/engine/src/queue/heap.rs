//! Slots in the order of a key that changes: the smallest first, and of equal keys the smallest slot.
//!
//! A heap of four children a node that knows where each slot stands, so that a slot is listed once, and its
//! key is changed where it is. O(log n).

/// Children of a node: wider than two, since a step costs a cache line and not a comparison.
const ARITY: usize = 4;
/// The place of a slot that is not listed.
const NOWHERE: u32 = u32::MAX;

/// Slots `0..n`, each listed at most once, with its key.
#[derive(Debug)]
pub struct SlotHeap<Key> {
    entries: Vec<(Key, u32)>,
    places: Vec<u32>,
}

impl<Key: Ord + Copy> SlotHeap<Key> {
    /// An empty heap for `slots` slots.
    pub fn new(slots: usize) -> Self {
        Self { entries: Vec::new(), places: vec![NOWHERE; slots] }
    }

    /// The slot of the smallest key, and the key.
    #[inline]
    pub fn first(&self) -> Option<(Key, usize)> {
        self.entries.first().map(|(key, slot)| (*key, *slot as usize))
    }

    /// How many are listed.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is listed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether `slot` is listed.
    #[inline]
    pub fn contains(&self, slot: usize) -> bool {
        self.places[slot] != NOWHERE
    }

    /// The key of `slot`, where it is listed.
    #[inline]
    pub fn key(&self, slot: usize) -> Option<Key> {
        self.entries.get(self.places[slot] as usize).map(|(key, _)| *key)
    }

    /// Lists `slot` with this key, or changes its key.
    #[inline]
    pub fn set(&mut self, slot: usize, key: Key) {
        let entry = (key, slot as u32);
        let place = self.places[slot];
        if place == NOWHERE {
            self.entries.push(entry);
            self.rise(self.entries.len() - 1, entry);
        } else if entry < self.entries[place as usize] {
            self.rise(place as usize, entry);
        } else {
            self.sink(place as usize, entry);
        }
    }

    /// Delists `slot`. Returns whether it was listed.
    #[inline]
    pub fn remove(&mut self, slot: usize) -> bool {
        let place = core::mem::replace(&mut self.places[slot], NOWHERE) as usize;
        if place == NOWHERE as usize {
            return false;
        }
        let Some(last) = self.entries.pop() else { return false };
        if place < self.entries.len() {
            if last < self.entries[place] {
                self.rise(place, last);
            } else {
                self.sink(place, last);
            }
        }
        true
    }

    /// Delists all.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.places.fill(NOWHERE);
    }

    /// Puts `entry` at `place` or above.
    #[inline]
    fn rise(&mut self, mut place: usize, entry: (Key, u32)) {
        while place > 0 {
            let above = (place - 1) / ARITY;
            if self.entries[above] < entry {
                break;
            }
            self.put(place, self.entries[above]);
            place = above;
        }
        self.put(place, entry);
    }

    /// Puts `entry` at `place` or below.
    #[inline]
    fn sink(&mut self, mut place: usize, entry: (Key, u32)) {
        loop {
            let first = place * ARITY + 1;
            let end = (first + ARITY).min(self.entries.len());
            let Some(least) = (first..end).min_by_key(|below| self.entries[*below]) else { break };
            if entry < self.entries[least] {
                break;
            }
            self.put(place, self.entries[least]);
            place = least;
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (Key, u32)) {
        self.entries[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn it_always_names_the_smallest() {
        let mut random = Random::stream(Seed(1), "heap");
        let (mut heap, mut keys) = (SlotHeap::new(100), BTreeMap::new());
        for step in 0..20_000 {
            let slot = random.below(100) as usize;
            if random.below(3) == 0 {
                assert_eq!(heap.remove(slot), keys.remove(&slot).is_some());
            } else {
                let key = random.below(50);
                heap.set(slot, key);
                keys.insert(slot, key);
            }
            let first = keys.iter().map(|(slot, key)| (*key, *slot)).min();
            assert_eq!(heap.first(), first, "step {step}");
            assert_eq!((heap.len(), heap.contains(slot)), (keys.len(), keys.contains_key(&slot)));
            assert_eq!(heap.key(slot), keys.get(&slot).copied());
        }
    }
}
