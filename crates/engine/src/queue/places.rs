//! A set of places `0..n` that finds the next one in order: a bit for each, a bit for each word of those, ...
//!
//! ```text
//! level 2   [ 1 ]
//! level 1   [ 1010... ]                       the next at or after a place: three words for 262 144 places
//! level 0   [ 0100... ] [ 0 ] [ 0001... ] ...
//! ```

/// A set of places.
#[derive(Clone, Debug)]
pub struct Places {
    /// Each level's words; a bit of a level says whether its word below is not zero. The last is one word.
    levels: Vec<Vec<u64>>,
}

const BITS: usize = u64::BITS as usize;

impl Places {
    /// An empty set of the places below `count`.
    pub fn new(count: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = count;
        loop {
            words = words.div_ceil(BITS).max(1);
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels };
            }
        }
    }

    /// Adds `place`, which is below the count.
    #[inline]
    pub fn insert(&mut self, mut place: usize) {
        for words in &mut self.levels {
            let word = &mut words[place / BITS];
            let was = core::mem::replace(word, *word | 1 << (place % BITS));
            if was != 0 {
                return;
            }
            place /= BITS;
        }
    }

    /// Takes `place` out.
    #[inline]
    pub fn remove(&mut self, mut place: usize) {
        for words in &mut self.levels {
            let word = &mut words[place / BITS];
            *word &= !(1 << (place % BITS));
            if *word != 0 {
                return;
            }
            place /= BITS;
        }
    }

    /// Whether no place is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.levels.last().is_none_or(|words| words[0] == 0)
    }

    /// The first place of the set that is not before `place`.
    #[inline]
    pub fn next(&self, place: usize) -> Option<usize> {
        let mut from = place;
        for (level, words) in self.levels.iter().enumerate() {
            let here = words.get(from / BITS)? & u64::MAX << (from % BITS);
            if here != 0 {
                let mut found = from / BITS * BITS + here.trailing_zeros() as usize;
                // Down again, to the first of each word.
                for words in self.levels[..level].iter().rev() {
                    found = found * BITS + words[found].trailing_zeros() as usize;
                }
                return Some(found);
            }
            from = from / BITS + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn the_next_place_is_that_of_an_ordered_set() {
        let mut random = Random::stream(Seed(1), "places");
        for count in [1, 63, 64, 65, 4096, 4097, 300_000] {
            let (mut places, mut set) = (Places::new(count), BTreeSet::new());
            for _ in 0..3_000 {
                let place = random.below(count as u32) as usize;
                if random.below(2) == 0 {
                    places.insert(place);
                    set.insert(place);
                } else {
                    let place = set.range(place..).next().copied().unwrap_or(place);
                    places.remove(place);
                    set.remove(&place);
                }
                let from = random.below(count as u32 + 1) as usize;
                assert_eq!(places.next(from), set.range(from..).next().copied(), "from {from} of {count}");
                assert_eq!(places.is_empty(), set.is_empty());
            }
        }
    }
}
