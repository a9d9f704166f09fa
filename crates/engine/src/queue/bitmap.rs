//! Hierarchical bitmap: a set of indices `0..n` that finds the next one in order. A bit for each index, a
//! bit for each word of those, and so on.
//!
//! ```text
//! top       [ 1 ]                         inline: up to 64 indices need nothing else
//! level 1   [ 1010... ]                   the next index at or after one: three words for 262 144 indices
//! level 0   [ 0100... ] [ 0 ] [ 0001... ] ...
//! ```
//!
//! Invariant: a bit of a level is set exactly if its word in the level below is not zero. Every operation
//! touches at most one word per level on the way up and one on the way down: O(log n) to base 64. Decision
//! 070.

/// Set of indices.
#[derive(Clone, Debug)]
pub(crate) struct Bitmap {
    top: u64,
    /// Words of each level below the top, lowest level first.
    levels: Vec<Vec<u64>>,
}

const BITS: usize = u64::BITS as usize;

impl Bitmap {
    /// Creates an empty set of indices below `count`.
    pub(crate) fn new(count: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = count.div_ceil(BITS);
        while words > 1 {
            levels.push(vec![0; words]);
            words = words.div_ceil(BITS);
        }
        Self { top: 0, levels }
    }

    /// Adds `index`, which must be below the count.
    #[inline]
    pub(crate) fn insert(&mut self, mut index: usize) {
        for words in &mut self.levels {
            let word = &mut words[index / BITS];
            let was = core::mem::replace(word, *word | 1 << (index % BITS));
            if was != 0 {
                return;
            }
            index /= BITS;
        }
        self.top |= 1 << index;
    }

    /// Removes `index`.
    #[inline]
    pub(crate) fn remove(&mut self, mut index: usize) {
        for words in &mut self.levels {
            let word = &mut words[index / BITS];
            *word &= !(1 << (index % BITS));
            if *word != 0 {
                return;
            }
            index /= BITS;
        }
        self.top &= !(1 << index);
    }

    /// Returns whether the set is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.top == 0
    }

    /// Returns the smallest element that is at least `index`.
    #[inline]
    pub(crate) fn next(&self, index: usize) -> Option<usize> {
        let mut from = index;
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

    /// Descends from a bit of a level to the lowest bit of each word below.
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
    fn next_agrees_with_an_ordered_set() {
        let mut random = Random::stream(Seed(1), "places");
        for count in [1, 63, 64, 65, 4096, 4097, 300_000] {
            let (mut bitmap, mut set) = (Bitmap::new(count), BTreeSet::new());
            for _ in 0..3_000 {
                let index = random.below(count as u32) as usize;
                if random.below(2) == 0 {
                    bitmap.insert(index);
                    set.insert(index);
                } else {
                    let index = set.range(index..).next().copied().unwrap_or(index);
                    bitmap.remove(index);
                    set.remove(&index);
                }
                let from = random.below(count as u32 + 1) as usize;
                assert_eq!(bitmap.next(from), set.range(from..).next().copied(), "from {from} of {count}");
                assert_eq!(bitmap.is_empty(), set.is_empty());
            }
        }
    }
}
