//! A set of places `0..n` that finds the next one in order: a bit for each, a bit for each word of those, ...
//!
//! ```text
//! top       [ 1 ]                             in place: for up to 64 places there is nothing else
//! level 1   [ 1010... ]                       the next at or after a place: three words for 262 144 places
//! level 0   [ 0100... ] [ 0 ] [ 0001... ] ...
//! ```

/// A set of places.
#[derive(Clone, Debug)]
pub struct Places {
    top: u64,
    /// Each level's words below the top; a bit of a level says whether its word below is not zero.
    levels: Vec<Vec<u64>>,
}

const BITS: usize = u64::BITS as usize;

impl Places {
    /// An empty set of the places below `count`.
    pub fn new(count: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = count.div_ceil(BITS);
        while words > 1 {
            levels.push(vec![0; words]);
            words = words.div_ceil(BITS);
        }
        Self { top: 0, levels }
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
        self.top |= 1 << place;
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
        self.top &= !(1 << place);
    }

    /// Whether no place is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.top == 0
    }

    /// The first place of the set that is not before `place`.
    #[inline]
    pub fn next(&self, place: usize) -> Option<usize> {
        let mut from = place;
        for (level, words) in self.levels.iter().enumerate() {
            let word = words.get(from / BITS)?;
            let here = word & u64::MAX << (from % BITS);
            if here != 0 {
                return Some(self.first_below(level, from / BITS * BITS + here.trailing_zeros() as usize));
            }
            from = from / BITS + 1;
        }
        let here = if from < BITS { self.top & u64::MAX << from } else { 0 };
        (here != 0).then(|| self.first_below(self.levels.len(), here.trailing_zeros() as usize))
    }

    /// Down from a bit of a level, to the first of each word.
    #[inline]
    fn first_below(&self, level: usize, bit: usize) -> usize {
        let words = self.levels[..level].iter().rev();
        words.fold(bit, |found, words| found * BITS + words[found].trailing_zeros() as usize)
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
