//! Children in the order of their tags: a heap of four children to a node, its keys in one word each.
//!
//! Nothing is ever taken out of the middle, so that no ordered set is needed (twice the time at a thousand
//! children). The four that are compared lie in one cache line. Where the first is taken another mostly comes in
//! its place, so that the place is left free until that is known: one way down instead of one down and one up.

use core::hint::select_unpredictable;

use crate::fair::Tag;
use crate::queue::tournament::{is_less, select};

/// Bits of a key that name the child; a packet names one of 2^16.
const SLOT_BITS: u32 = 20;
/// How many children a node has.
const FAN: usize = 4;

/// Children by a tag; of equal tags the first child's is the smallest. O(log n).
#[derive(Default)]
pub(crate) struct TagOrder {
    /// Tag and child. 108 bits hold the tags of 2^44 packets of 2^32 bytes at weight 1.
    keys: Vec<u128>,
    /// Whether the first was taken: its place is free.
    is_first_free: bool,
}

fn key(tag: Tag, slot: u32) -> u128 {
    tag.steps().min(u128::MAX >> SLOT_BITS) << SLOT_BITS | u128::from(slot)
}

fn parts(key: u128) -> (Tag, u32) {
    (Tag(key >> SLOT_BITS), key as u32 & ((1 << SLOT_BITS) - 1))
}

impl TagOrder {
    #[inline]
    pub(crate) fn insert(&mut self, tag: Tag, slot: u32) {
        let key = key(tag, slot);
        if core::mem::take(&mut self.is_first_free) {
            return self.sink(key);
        }
        let mut hole = self.keys.len();
        self.keys.push(key);
        while hole > 0 {
            let above = (hole - 1) / FAN;
            if self.keys[above] <= key {
                break;
            }
            self.keys[hole] = self.keys[above];
            hole = above;
        }
        self.keys[hole] = key;
    }

    #[inline]
    pub(crate) fn first(&mut self) -> Option<(Tag, u32)> {
        self.fill();
        self.keys.first().copied().map(parts)
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.len() == usize::from(self.is_first_free)
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Tag, u32)> {
        let first = self.first()?;
        self.is_first_free = true;
        Some(first)
    }

    /// Puts the last in the place of the first, where that is free.
    #[inline]
    fn fill(&mut self) {
        if core::mem::take(&mut self.is_first_free)
            && let Some(last) = self.keys.pop()
            && !self.keys.is_empty()
        {
            self.sink(last);
        }
    }

    /// Puts `key` in the place of the first, and then where it belongs.
    fn sink(&mut self, key: u128) {
        let keys = self.keys.as_mut_slice();
        let mut hole = 0;
        loop {
            let from = FAN * hole + 1;
            let Some(below) = keys.get(from..keys.len().min(from + FAN)).filter(|below| !below.is_empty())
            else {
                break;
            };
            let (least, at) = if let [a, b, c, d] = *below {
                lesser(lesser((a, from), (b, from + 1)), lesser((c, from + 2), (d, from + 3)))
            } else {
                let mut places = below.iter().copied().zip(from..);
                let first = places.next().unwrap_or((key, hole));
                places.fold(first, lesser)
            };
            if key <= least {
                break;
            }
            keys[hole] = least;
            hole = at;
        }
        keys[hole] = key;
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.is_first_free = false;
    }
}

/// The one of the smaller key. Which it is nothing foresees, so that it is selected and not branched to.
#[inline(always)]
fn lesser(one: (u128, usize), other: (u128, usize)) -> (u128, usize) {
    let is_other = is_less(other.0, one.0);
    (select(is_other, other.0, one.0), select_unpredictable(is_other, other.1, one.1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn the_order_is_that_of_an_ordered_set() {
        let mut random = Random::stream(Seed(1), "order");
        let (mut order, mut set) = (TagOrder::default(), BTreeSet::new());
        for round in 0..20_000_u32 {
            if random.below(if round % 4_000 < 2_000 { 3 } else { 5 }) < 2 {
                // Few tags, so that many are equal; and some that need all the bits.
                let tag = Tag(u128::from(random.below(40)) << [0, 30, 90][random.below(3) as usize]);
                let slot = random.below(1 << SLOT_BITS);
                if set.insert((tag, slot)) {
                    order.insert(tag, slot);
                }
            } else {
                assert_eq!(order.first(), set.first().copied());
                assert_eq!(order.pop(), set.pop_first());
                assert_eq!(order.is_empty(), set.is_empty());
            }
        }
        assert_eq!(order.first(), set.first().copied());
        order.clear();
        assert_eq!(order.pop(), None);
    }
}
