//! Which of many queues holds most, kept up to date in constant time.
//!
//! Queues lie in buckets by their backlog, 64 to every doubling, and a bitmap of two levels says which
//! buckets hold any. Up to 127 (bytes or packets) a bucket is one length and what is found is the fullest;
//! beyond, it holds more than 64/65 of what the fullest holds. Within a bucket it is the one that came there
//! last. No scan over queues, whatever their number.

/// Buckets to a doubling.
const STEPS: usize = 64;
/// The lengths below 64 have a bucket each, then 64 for each of the 58 doublings up to 2^64.
const BUCKETS: usize = STEPS + 58 * STEPS;
const NONE: u32 = u32::MAX;

/// The bucket of a backlog.
fn bucket(length: u64) -> usize {
    if length < STEPS as u64 {
        return length as usize;
    }
    let doubling = length.ilog2() - STEPS.ilog2();
    STEPS * doubling as usize + (length >> doubling) as usize
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    previous: u32,
    next: u32,
    bucket: u32,
}

/// Queues, by their numbers, in the order of their backlogs, roughly.
#[derive(Debug)]
pub struct Fattest {
    heads: Vec<u32>,
    occupied: [u64; BUCKETS / 64],
    /// The words of `occupied` that are not zero.
    words: u64,
    entries: Vec<Entry>,
}

impl Default for Fattest {
    /// All queues are empty. What is kept of a queue is made when it, or one behind it, first holds something.
    fn default() -> Self {
        Self { heads: vec![NONE; BUCKETS], occupied: [0; BUCKETS / 64], words: 0, entries: Vec::new() }
    }
}

impl Entry {
    const EMPTY: Self = Self { previous: NONE, next: NONE, bucket: NONE };
}

impl Fattest {
    /// Tells that `queue` holds `packets`, which are `length` long in whatever unit. One of no packets is
    /// not listed.
    #[inline]
    pub fn update(&mut self, queue: usize, packets: usize, length: u64) {
        let to = if packets == 0 { NONE } else { bucket(length) as u32 };
        match self.entries.get(queue) {
            Some(entry) if entry.bucket == to => {}
            Some(_) => self.relink(queue, to),
            None => self.list_first(queue, to),
        }
    }

    /// Makes room for a queue that was empty up to now.
    #[cold]
    #[inline(never)]
    fn list_first(&mut self, queue: usize, to: u32) {
        if to != NONE {
            self.entries.resize((queue + 1).next_power_of_two().max(STEPS), Entry::EMPTY);
            self.relink(queue, to);
        }
    }

    /// Forgets all lengths.
    pub fn clear(&mut self) {
        self.heads.fill(NONE);
        self.occupied.fill(0);
        self.words = 0;
        self.entries.fill(Entry::EMPTY);
    }

    fn occupy(&mut self, bucket: u32, occupied: bool) {
        let (word, bit) = (bucket as usize / 64, 1 << (bucket % 64));
        if occupied {
            self.occupied[word] |= bit;
            self.words |= 1 << word;
        } else {
            self.occupied[word] &= !bit;
            self.words &= !(u64::from(self.occupied[word] == 0) << word);
        }
    }

    fn relink(&mut self, queue: usize, to: u32) {
        let Entry { previous, next, bucket } = self.entries[queue];
        if bucket != NONE {
            if previous == NONE {
                self.heads[bucket as usize] = next;
                if next == NONE {
                    self.occupy(bucket, false);
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
            self.occupy(to, true);
        }
    }

    /// A queue of the fullest bucket; `None` where all are empty.
    pub fn find(&self) -> Option<usize> {
        let word = self.words.checked_ilog2()? as usize;
        Some(self.heads[64 * word + self.occupied[word].ilog2() as usize] as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};

    #[test]
    fn buckets_are_in_the_order_of_backlogs_and_a_64th_wide() {
        let sizes =
            (0..50_000).chain((16..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit])).chain([u64::MAX]);
        let mut last = (0, 0);
        for size in sizes {
            let at = bucket(size);
            assert!(at < BUCKETS);
            assert!(at >= last.1, "{size} lies below {}", last.0);
            if at == last.1 {
                assert!(
                    u128::from(size) * 64 < u128::from(last.0) * 65 || size == 0,
                    "{size} with {}",
                    last.0
                );
            } else {
                last = (size, at);
            }
            assert!(size > 127 || at as u64 == size, "{size} has a bucket of its own");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn what_is_found_is_nearly_the_fullest() {
        let mut random = Random::stream(Seed(1), "fattest");
        let (mut fattest, mut held) = (Fattest::default(), [0_u64; 50]);
        assert_eq!(fattest.find(), None);
        let mut worst = 1.0_f64;
        for _ in 0..20_000 {
            let queue = random.below(50) as usize;
            held[queue] = match random.below(4) {
                0 => 0,
                1 => u64::from(random.below(100)),
                _ => u64::from(random.below(589_000)),
            };
            fattest.update(queue, usize::from(held[queue] > 0), held[queue]);
            let most = *held.iter().max().expect("some");
            match fattest.find() {
                Some(found) => {
                    assert!(held[found] * 65 > most * 64, "{} of {most}", held[found]);
                    worst = worst.min(held[found] as f64 / most as f64);
                }
                None => assert_eq!(most, 0),
            }
        }
        assert!(worst < 0.9995, "the sizes try nothing: {worst}");
        fattest.clear();
        assert_eq!(fattest.find(), None);
    }
}
