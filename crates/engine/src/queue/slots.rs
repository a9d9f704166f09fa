//! The queues that a hash selects, made when they are first used: a table of 65 536 hash values costs nothing until
//! packets come, and then as much as there are queues in use.
//!
//! ```text
//! hash value --slots--> number of a queue, 0 for none   --> queues, side by side in the order of their first use
//! ```

/// Queues by hash value.
#[derive(Debug)]
pub struct Slots {
    count: usize,
    /// By hash value: one more than the number of its queue, 0 where it has none. Empty before the first queue.
    numbers: Vec<u32>,
}

impl Slots {
    /// For `count` hash values, none of which has a queue.
    pub const fn new(count: usize) -> Self {
        Self { count, numbers: Vec::new() }
    }

    /// The number of the queue of `slot`. `make` is called where it has none yet, and has to make queue `next`.
    #[inline]
    pub fn number(&mut self, slot: usize, next: usize, make: impl FnOnce()) -> usize {
        match self.numbers.get(slot) {
            Some(number) if *number > 0 => *number as usize - 1,
            _ => {
                make();
                self.take(slot, next);
                next
            }
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

    /// Numbers of the queues there are, in the order of their hash values.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.numbers.iter().filter(|number| **number > 0).map(|number| *number as usize - 1)
    }

    /// How many hash values there are.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no hash value.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
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
