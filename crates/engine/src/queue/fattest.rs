//! Index of the longest of many queues, updated in constant time.
//!
//! ```text
//! words      [ 1 . . 1 ]                     a bit per non-zero word of `occupied`
//! occupied   [ .1.. ] [ 0 ] [ 0 ] [ ..1. ]   a bit per non-empty bucket
//! heads        bucket 1 -> queue 7 <-> queue 2        doubly linked list per bucket
//! ```
//!
//! Buckets by backlog, 64 per doubling. Up to 127 (bytes or packets) a bucket is one length and the result
//! is exact; beyond, it holds more than 64/65 of the longest. Within a bucket the latest to enter is
//! returned. No operation scans the queues, whatever their number. Decision 008.
//!
//! Up to [`SEARCHED_QUEUES`] queues there are no lists: each queue has its bucket and the number of its last
//! move, and a search scans all of them. The answers are the same, from four cache lines instead of 15 KiB of
//! buckets, which ten thousand ports would not keep in any cache. Decision 109.

use smallvec::SmallVec;

/// Buckets per doubling.
const STEPS: usize = 64;
/// Number of buckets: one for each length below 64, then 64 for each of the 58 doublings up to 2^64.
const BUCKETS: usize = STEPS + 58 * STEPS;
const NONE: u32 = u32::MAX;

/// Returns the bucket of a backlog.
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

/// Number of queues up to which a search looks at all of them.
const SEARCHED_QUEUES: usize = 16;

/// Queues, bucketed by backlog.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fattest {
    /// Up to [`SEARCHED_QUEUES`] queues, while there are no `buckets`. A single one, as most subscribers
    /// have, is inline.
    few: SmallVec<[Rank; 1]>,
    /// Number of moves between buckets so far.
    moves: u64,
    /// Buckets, once a queue at index [`SEARCHED_QUEUES`] or above was used.
    buckets: Option<Box<Buckets>>,
}

/// Rank of one of few queues: ordered by bucket and then by time of entry: the largest is the fattest queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Bucket plus 1; 0 for an empty queue.
    above: u32,
    /// Number of the move that brought it here.
    entered: u64,
}

impl Fattest {
    /// Updates the backlog of `queue`: `packets`, whose sum is `length` in any unit. An empty queue is not
    /// listed.
    #[inline]
    pub(crate) fn update(&mut self, queue: usize, packets: usize, length: u64) {
        if let Some(buckets) = &mut self.buckets {
            return buckets.update(queue, packets, length);
        }
        let above = if packets == 0 { 0 } else { bucket(length) as u32 + 1 };
        match self.few.get_mut(queue) {
            Some(rank) if rank.above == above => {}
            Some(rank) => {
                self.moves += 1;
                *rank = Rank { above, entered: self.moves };
            }
            None => self.list_first(queue, packets, length),
        }
    }

    /// Makes room for a queue that was empty up to now.
    #[cold]
    #[inline(never)]
    fn list_first(&mut self, queue: usize, packets: usize, length: u64) {
        if packets == 0 {
            return;
        }
        if queue < SEARCHED_QUEUES {
            self.few.resize(queue + 1, Rank::default());
        } else {
            self.buckets = Some(Box::new(Buckets::of(&core::mem::take(&mut self.few))));
        }
        self.update(queue, packets, length);
    }

    /// Removes all queues.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns a queue of the fullest bucket; `None` if all are empty.
    pub(crate) fn find(&self) -> Option<usize> {
        if let Some(buckets) = &self.buckets {
            return buckets.find();
        }
        let (queue, rank) = self.few.iter().enumerate().max_by_key(|(_, rank)| **rank)?;
        (rank.above > 0).then_some(queue)
    }
}

/// Many queues, in a list for each bucket.
#[derive(Clone, Debug)]
struct Buckets {
    heads: Vec<u32>,
    occupied: [u64; BUCKETS / 64],
    /// Set of the non-zero words of `occupied`.
    words: u64,
    entries: Vec<Entry>,
}

impl Entry {
    const EMPTY: Self = Self { previous: NONE, next: NONE, bucket: NONE };
}

impl Buckets {
    /// Creates the lists of these queues.
    fn of(few: &[Rank]) -> Self {
        let mut buckets =
            Self { heads: vec![NONE; BUCKETS], occupied: [0; BUCKETS / 64], words: 0, entries: Vec::new() };
        let mut queues: Vec<_> = (0..few.len()).filter(|queue| few[*queue].above > 0).collect();
        queues.sort_by_key(|queue| few[*queue].entered);
        for queue in queues {
            buckets.enter(queue, few[queue].above - 1);
        }
        buckets
    }

    #[inline]
    fn update(&mut self, queue: usize, packets: usize, length: u64) {
        let to = if packets == 0 { NONE } else { bucket(length) as u32 };
        match self.entries.get(queue) {
            Some(entry) if entry.bucket == to => {}
            Some(_) => self.relink(queue, to),
            None if to == NONE => {}
            None => self.enter(queue, to),
        }
    }

    /// Lists a queue, after allocating its entry if it has none yet.
    #[cold]
    #[inline(never)]
    fn enter(&mut self, queue: usize, to: u32) {
        if queue >= self.entries.len() {
            self.entries.resize((queue + 1).next_power_of_two().max(STEPS), Entry::EMPTY);
        }
        self.relink(queue, to);
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

    /// Returns a queue of the fullest bucket; `None` if all are empty.
    pub(crate) fn find(&self) -> Option<usize> {
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
    fn few_queues_answer_as_the_buckets_do_before_and_after_they_become_many() {
        let mut random = Random::stream(Seed(2), "few");
        let (mut fattest, mut buckets) = (Fattest::default(), Buckets::of(&[]));
        let mut ties = 0;
        for step in 0..20_000 {
            let queues = if step < 15_000 { SEARCHED_QUEUES as u32 } else { 3 * SEARCHED_QUEUES as u32 };
            let queue = random.below(queues) as usize;
            // Few lengths, so that most buckets have several queues.
            let (packets, length) = (random.below(4) as usize, 100 * u64::from(random.below(6)));
            fattest.update(queue, packets, length);
            buckets.update(queue, packets, length);
            assert_eq!(fattest.find(), buckets.find(), "step {step}");
            let most = fattest.few.iter().map(|rank| rank.above).max();
            ties += usize::from(fattest.few.iter().filter(|rank| Some(rank.above) == most).count() > 1);
            assert_eq!(fattest.buckets.is_some(), fattest.few.is_empty(), "step {step}");
        }
        assert!(ties > 1000 && fattest.buckets.is_some(), "{ties} ties");
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
