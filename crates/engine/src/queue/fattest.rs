//! Which of many queues holds most, kept up to date in constant time.
//!
//! Queues lie in buckets by their backlog, eight to every doubling, and a bitmap says which buckets hold
//! any. The queue that is found holds more than 8/9 of what the fullest holds; within a bucket it is the
//! one that came there last. No scan over queues, whatever their number.

use crate::units::Bytes;

/// Buckets to a doubling, as a power of two.
const STEPS: u32 = 3;
/// 0..=7 bytes have a bucket each, then eight for each of the 61 doublings up to 2^64.
const BUCKETS: usize = 8 + 61 * 8;
const NONE: u32 = u32::MAX;

/// The bucket of a backlog.
fn bucket(bytes: Bytes) -> usize {
    let bytes = bytes.0;
    if bytes < 8 {
        return bytes as usize;
    }
    let doubling = bytes.ilog2() - STEPS;
    8 * doubling as usize + (bytes >> doubling) as usize
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    previous: u32,
    next: u32,
    bucket: u32,
}

/// Queues `0..n` in the order of their backlogs, roughly.
#[derive(Debug)]
pub struct Fattest {
    heads: Vec<u32>,
    occupied: [u64; BUCKETS.div_ceil(64)],
    entries: Vec<Entry>,
}

impl Fattest {
    /// For `count` queues, all of them empty.
    pub fn new(count: usize) -> Self {
        Self {
            heads: vec![NONE; BUCKETS],
            occupied: [0; BUCKETS.div_ceil(64)],
            entries: vec![Entry { previous: NONE, next: NONE, bucket: NONE }; count],
        }
    }

    /// Tells that `queue` holds `bytes` in `packets`. One of no packets is not listed.
    #[inline]
    pub fn update(&mut self, queue: usize, packets: usize, bytes: Bytes) {
        let to = if packets == 0 { NONE } else { bucket(bytes) as u32 };
        if self.entries[queue].bucket != to {
            self.relink(queue, to);
        }
    }

    fn relink(&mut self, queue: usize, to: u32) {
        let Entry { previous, next, bucket } = self.entries[queue];
        if bucket != NONE {
            if previous == NONE {
                self.heads[bucket as usize] = next;
                if next == NONE {
                    self.occupied[bucket as usize / 64] &= !(1 << (bucket % 64));
                }
            } else {
                self.entries[previous as usize].next = next;
            }
            if next != NONE {
                self.entries[next as usize].previous = previous;
            }
        }
        let head = if to == NONE { NONE } else { self.heads[to as usize] };
        self.entries[queue] = Entry { previous: NONE, next: head, bucket: to };
        if head != NONE {
            self.entries[head as usize].previous = queue as u32;
        }
        if to != NONE {
            self.heads[to as usize] = queue as u32;
            self.occupied[to as usize / 64] |= 1 << (to % 64);
        }
    }

    /// A queue of the fullest bucket; `None` where all are empty.
    pub fn find(&self) -> Option<usize> {
        let (index, word) = self.occupied.iter().enumerate().rev().find(|(_, word)| **word != 0)?;
        Some(self.heads[64 * index + word.ilog2() as usize] as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn buckets_are_in_the_order_of_backlogs_and_an_eighth_wide() {
        let sizes =
            (0..5_000).chain((13..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit])).chain([u64::MAX]);
        let mut last = (0, 0);
        for size in sizes {
            let at = bucket(Bytes(size));
            assert!(at < BUCKETS);
            assert!(at >= last.1, "{size} lies below {}", last.0);
            if at == last.1 {
                assert!(u128::from(size) * 8 < u128::from(last.0) * 9 || size == 0, "{size} with {}", last.0);
            } else {
                last = (size, at);
            }
        }
    }

    #[test]
    fn what_is_found_is_nearly_the_fullest() {
        let mut random = Random::stream(Seed(1), "fattest");
        let (mut fattest, mut held) = (Fattest::new(50), [0_u64; 50]);
        assert_eq!(fattest.find(), None);
        let mut worst = 1.0_f64;
        for _ in 0..20_000 {
            let queue = random.below(50) as usize;
            held[queue] = match random.below(4) {
                0 => 0,
                1 => u64::from(random.below(100)),
                _ => u64::from(random.below(589_000)),
            };
            fattest.update(queue, usize::from(held[queue] > 0), Bytes(held[queue]));
            let most = *held.iter().max().expect("some");
            match fattest.find() {
                Some(found) => {
                    assert!(held[found] * 9 > most * 8, "{} of {most}", held[found]);
                    worst = worst.min(held[found] as f64 / most as f64);
                }
                None => assert_eq!(most, 0),
            }
        }
        assert!(worst < 0.92, "the sizes try nothing");
    }
}
