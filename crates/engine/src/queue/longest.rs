//! Which of many queues is the longest, for those who drop from it.
//!
//! O(log n) where a scan over all queues is O(n) for each packet dropped.

use std::collections::BTreeSet;

/// Queues `0..n` by their lengths in whatever unit; of equal ones the first is the longest.
#[derive(Debug, Default)]
pub struct Longest {
    lengths: Vec<u64>,
    order: BTreeSet<(u64, core::cmp::Reverse<u32>)>,
}

impl Longest {
    /// `queues` queues, all of them empty.
    pub fn new(queues: usize) -> Self {
        Self { lengths: vec![0; queues], order: BTreeSet::new() }
    }

    /// Says how long a queue is now.
    #[inline]
    pub fn set(&mut self, queue: usize, length: u64) {
        let place = core::cmp::Reverse(queue as u32);
        let before = core::mem::replace(&mut self.lengths[queue], length);
        if before != length {
            self.order.remove(&(before, place));
            if length > 0 {
                self.order.insert((length, place));
            }
        }
    }

    /// The longest, if any holds something.
    pub fn longest(&self) -> Option<usize> {
        self.order.last().map(|(_, queue)| queue.0 as usize)
    }

    /// Forgets all lengths.
    pub fn clear(&mut self) {
        self.lengths.fill(0);
        self.order.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_longest_is_found_as_lengths_change() {
        let mut longest = Longest::new(4);
        assert_eq!(longest.longest(), None);
        longest.set(2, 5);
        longest.set(1, 5);
        longest.set(3, 4);
        assert_eq!(longest.longest(), Some(1), "the first of equal ones");
        longest.set(1, 0);
        assert_eq!(longest.longest(), Some(2));
        longest.set(2, 3);
        assert_eq!(longest.longest(), Some(3));
        longest.clear();
        assert_eq!(longest.longest(), None);
    }
}
