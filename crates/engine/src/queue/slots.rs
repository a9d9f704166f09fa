//! Table of the queues that a hash selects, allocated on first use: 65 536 hash values cost nothing until
//! packets arrive, and then as much as there are queues in use.
//!
//! ```text
//! hash value --numbers--> queue index + 1, 0 for none   --> queues, in the order of their first use
//! ```

use crate::prefetch::prefetch;

/// Lookup table from hash values to queues.
#[derive(Debug)]
pub(crate) struct Slots {
    count: usize,
    /// By hash value: index of the queue plus 1, 0 for none. Empty before the first queue.
    numbers: Vec<u32>,
}

impl Slots {
    /// Creates a table for `count` hash values without queues.
    pub(crate) const fn new(count: usize) -> Self {
        Self { count, numbers: Vec::new() }
    }

    /// Returns the index of the queue of `slot`. If it has none yet, calls `make`, which must create queue
    /// `next`.
    #[inline]
    pub(crate) fn number(&mut self, slot: usize, next: usize, make: impl FnOnce()) -> usize {
        match self.numbers.get(slot) {
            Some(number) if *number > 0 => *number as usize - 1,
            _ => {
                make();
                self.take(slot, next);
                next
            }
        }
    }

    /// Prefetches the entry of a hash value.
    #[inline]
    pub(crate) fn prefetch(&self, slot: usize) {
        if let Some(number) = self.numbers.get(slot) {
            prefetch(number);
        }
    }

    #[cold]
    #[inline(never)]
    fn take(&mut self, slot: usize, next: usize) {
        if self.numbers.is_empty() {
            self.numbers = vec![0; self.count];
        }
        self.numbers[slot] = next as u32 + 1;
    }

    /// Iterates over the indices of all queues, in the order of their hash values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.numbers.iter().filter(|number| **number > 0).map(|number| *number as usize - 1)
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
        for slot in [70, 3, 65_535, 3, 70] {
            let next = queues.len();
            slots.number(slot, next, || queues.push(slot));
        }
        assert_eq!(queues, [70, 3, 65_535]);
        assert_eq!(slots.iter().collect::<Vec<_>>(), [1, 0, 2]);
        assert_eq!(Slots::new(65_536).numbers.capacity(), 0, "what is not used takes no memory");
    }
}
