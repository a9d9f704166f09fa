//! A set of small numbers that finds its next member in a few steps: 64 members a word, words summed up in
//! words above, three of which index 262 144.

const BITS: usize = 64;
/// Levels that index every `u32`.
const MOST: usize = 6;

/// Numbers below a bound that is fixed when it is made.
#[derive(Debug)]
pub struct Bitmap {
    /// Level after level, members first; a bit above says that a word below is not zero.
    words: Box<[u64]>,
    /// Where each level starts in `words`, and where the last ends.
    starts: [u32; MOST + 1],
    levels: usize,
}

impl Bitmap {
    /// An empty set of numbers below `bound`, at most 2^32.
    pub fn new(bound: usize) -> Self {
        let (mut starts, mut levels, mut total, mut members) = ([0; MOST + 1], 0, 0, bound.max(1));
        loop {
            members = members.div_ceil(BITS);
            total += members;
            levels += 1;
            starts[levels] = total as u32;
            if members == 1 || levels == MOST {
                break;
            }
        }
        Self { words: vec![0; total].into_boxed_slice(), starts, levels }
    }

    /// Takes `member` in; it is below the bound.
    #[inline]
    pub fn insert(&mut self, member: usize) {
        let mut at = member;
        for level in 0..self.levels {
            let word = &mut self.words[self.starts[level] as usize + at / BITS];
            let was = *word;
            *word |= 1 << (at % BITS);
            if was != 0 {
                break;
            }
            at /= BITS;
        }
    }

    /// Takes `member` out; it is below the bound.
    #[inline]
    pub fn remove(&mut self, member: usize) {
        let mut at = member;
        for level in 0..self.levels {
            let word = &mut self.words[self.starts[level] as usize + at / BITS];
            *word &= !(1 << (at % BITS));
            if *word != 0 {
                break;
            }
            at /= BITS;
        }
    }

    /// Whether it has no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words[self.words.len() - 1] == 0
    }

    /// The smallest member that is not below `from`.
    #[inline]
    pub fn next_from(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for level in 0..self.levels {
            let index = self.starts[level] as usize + at / BITS;
            if index >= self.starts[level + 1] as usize {
                return None;
            }
            let rest = self.words[index] & (u64::MAX << (at % BITS));
            if rest != 0 {
                let mut found = at / BITS * BITS + rest.trailing_zeros() as usize;
                for below in (0..level).rev() {
                    let word = self.words[self.starts[below] as usize + found];
                    found = found * BITS + word.trailing_zeros() as usize;
                }
                return Some(found);
            }
            at = at / BITS + 1;
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
    fn it_is_an_ordered_set() {
        for bound in [1, 2, 63, 64, 65, 4_096, 4_097, 300_000] {
            let mut random = Random::stream(Seed(bound as u64), "bitmap");
            let (mut bitmap, mut set) = (Bitmap::new(bound), BTreeSet::new());
            for _ in 0..2_000 {
                let member = random.below(bound as u32) as usize;
                if random.below(5) < 3 {
                    bitmap.remove(member);
                    set.remove(&member);
                } else {
                    bitmap.insert(member);
                    set.insert(member);
                }
                let from = random.below(bound as u32 + 1) as usize;
                assert_eq!(bitmap.next_from(from), set.range(from..).next().copied(), "{from} of {bound}");
                assert_eq!(bitmap.is_empty(), set.is_empty());
            }
        }
    }
}
