//! Table of the queues that a hash selects. Queues are allocated on first use: 65 536 hash values cost
//! nothing until packets arrive, and then as much as there are queues in use.
//!
//! ```text
//! hash value --numbers--> queue index + 1, 0 for none   --> queues, in the order of their first use
//! ```
//!
//! Up to [`COMPARED_QUEUES`] queues are found by comparing hash values, which are stored inline: a
//! subscriber's queue has one to three flows, and a table of 4 KiB for each, of which one line is read, would
//! be in no cache. Decision 109.

use smallvec::SmallVec;

/// Number of queues up to which a search compares their hash values.
const COMPARED_QUEUES: usize = 4;

/// Lookup table from hash values to queues.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    count: usize,
    /// Hash values of up to [`COMPARED_QUEUES`] queues, by index; empty while there are `numbers`.
    few: SmallVec<[u32; COMPARED_QUEUES]>,
    /// By hash value: index of the queue plus 1, 0 for none. Allocated once there are more than
    /// [`COMPARED_QUEUES`] queues.
    numbers: Option<Box<[u32]>>,
}

impl Slots {
    /// Creates a table for `count` hash values without queues.
    pub(crate) fn new(count: usize) -> Self {
        Self { count, few: SmallVec::new(), numbers: None }
    }

    /// Returns the index of the queue of `slot`. If it has none yet, calls `make`, which must create queue
    /// `next`, one more than the last.
    #[inline]
    pub(crate) fn number(&mut self, slot: usize, next: usize, make: impl FnOnce()) -> usize {
        let known = match &self.numbers {
            Some(numbers) => {
                numbers.get(slot).and_then(|number| number.checked_sub(1)).map(|index| index as usize)
            }
            None => self.few.iter().position(|known| *known as usize == slot),
        };
        known.unwrap_or_else(|| {
            make();
            self.take(slot, next);
            next
        })
    }

    #[cold]
    #[inline(never)]
    fn take(&mut self, slot: usize, next: usize) {
        if self.numbers.is_none() {
            if self.few.len() < COMPARED_QUEUES {
                return self.few.push(slot as u32);
            }
            let numbers = self.numbers.insert(vec![0; self.count].into());
            for (index, slot) in self.few.drain(..).enumerate() {
                numbers[slot as usize] = index as u32 + 1;
            }
        }
        if let Some(numbers) = &mut self.numbers {
            numbers[slot] = next as u32 + 1;
        }
    }

    /// Iterates over the indices of all queues, in the order of their hash values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let mut few: SmallVec<[usize; COMPARED_QUEUES]> = (0..self.few.len()).collect();
        few.sort_unstable_by_key(|index| self.few[*index]);
        let numbers = self.numbers.iter().flat_map(|numbers| numbers.iter());
        few.into_iter().chain(numbers.filter(|number| **number > 0).map(|number| *number as usize - 1))
    }

    /// Returns the number of hash values.
    pub(crate) const fn len(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_numbered_by_first_use_and_listed_by_hash_value() {
        let mut slots = Slots::new(65_536);
        let mut queues = Vec::new();
        let mut order = Vec::new();
        for slot in [70, 3, 65_535, 3, 70, 9, 0, 65_535, 12, 70] {
            let next = queues.len();
            let index = slots.number(slot, next, || queues.push(slot));
            assert_eq!(queues[index], slot);
            order.push(slots.iter().map(|index| queues[index]).collect::<Vec<_>>());
            assert_eq!(slots.numbers.is_some(), queues.len() > COMPARED_QUEUES, "a table from the fifth on");
        }
        assert_eq!(queues, [70, 3, 65_535, 9, 0, 12]);
        assert!(order.iter().all(|slots| slots.is_sorted()));
        assert_eq!(slots.iter().collect::<Vec<_>>(), [4, 1, 3, 5, 0, 2]);
    }
}
