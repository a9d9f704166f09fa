//! Which events come next, nearly: hints by which memory is fetched before it is needed.
//!
//! ```text
//! time        now                            each bucket holds slots whose events are in it, as far as there
//! buckets   [ . ][ 3 ][ 2 ][ 1 ][ ][ ]...     is room; with ten thousand links an event takes longer to fetch
//!                  '----'----'---- stages     its memory than to be handled
//! ```
//!
//! A bucket is as wide as some eight events take. When time enters one, the slots of the next three are given
//! out with their stages: first what belongs to the slot itself, then what that points to, and so on.
//!
//! Hints only: what is missing or outdated costs time and changes no result. Decision 102.

use core::ops::RangeInclusive;

use lockgate_engine::prefetch::{STAGES, prefetch};
use lockgate_engine::units::Instant;

/// Number of buckets, a power of two: the time that hints reach ahead.
const BUCKETS: usize = 16_384;
/// Slots that a bucket holds.
const DEPTH: usize = 16;
/// Events that a bucket should cover, as a binary logarithm.
const EVENTS: u32 = 3;
/// Buckets ahead of the present whose slots are prefetched themselves: more than [`STAGES`].
const LINES_AHEAD: u64 = STAGES as u64 + 4;
/// Number of slots up to which a network is small.
const LEAST_SLOTS: usize = 2048;

/// Returns whether a network with this number of slots is large: its memory is not in the cache.
pub(crate) fn is_large(slots: usize) -> bool {
    slots > LEAST_SLOTS
}

/// Slots of one bucket: a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bucket([u32; DEPTH]);

/// State of a bucket. Stored apart from the slots, so that adding a slot reads no line of a distant bucket: it only
/// writes there, for which the processor does not wait. Two bytes, so that all states stay in a near cache.
#[derive(Clone, Copy, Default)]
struct State {
    /// Round of the ring to which the slots belong, modulo 256: those of another one are void.
    round: u8,
    count: u8,
}

/// Slots of the near future, by time.
pub(crate) struct Upcoming {
    /// Ring of buckets; empty for a small network, whose memory is in the cache.
    buckets: Box<[Bucket]>,
    states: Box<[State]>,
    /// Binary logarithm of a bucket's width in picoseconds.
    shift: u32,
    /// Number of the bucket that holds the present.
    current: u64,
    /// Time of the last measurement of the events' rate.
    measured: Instant,
}

impl Upcoming {
    /// Creates hints for a network; none are given for one that is not large.
    pub(crate) fn new(is_large: bool) -> Self {
        let buckets = if is_large { BUCKETS } else { 0 };
        Self {
            buckets: vec![Bucket([0; DEPTH]); buckets].into(),
            states: vec![State::default(); buckets].into(),
            shift: 21,
            current: 0,
            measured: Instant::ZERO,
        }
    }

    /// Returns true if hints are given at all.
    #[inline(always)]
    pub(crate) fn is_used(&self) -> bool {
        !self.buckets.is_empty()
    }

    /// Notes that a slot has an event at `time`.
    #[inline(always)]
    pub(crate) fn note(&mut self, slot: usize, time: Instant) {
        if self.buckets.is_empty() {
            return;
        }
        let number = time.as_picos() >> self.shift;
        if number.wrapping_sub(self.current) >= BUCKETS as u64 {
            return;
        }
        let bucket = number as usize & (BUCKETS - 1);
        let state = &mut self.states[bucket];
        let round = (number / BUCKETS as u64) as u8;
        if state.round != round {
            *state = State { round, count: 0 };
        }
        if let Some(place) = self.buckets[bucket].0.get_mut(state.count as usize) {
            *place = slot as u32;
            state.count += 1;
        }
    }

    /// Returns true if time has entered another bucket.
    #[inline(always)]
    pub(crate) fn has_moved(&self, now: Instant) -> bool {
        now.as_picos() >> self.shift != self.current && self.is_used()
    }

    /// Moves on to `now`. Returns the numbers of the buckets that time has entered: for each, the slots of the
    /// buckets ahead are to be prefetched.
    #[inline]
    pub(crate) fn enter(&mut self, now: Instant) -> RangeInclusive<u64> {
        let number = now.as_picos() >> self.shift;
        // Buckets without events were not entered.
        let from = (self.current + 1).max(number.saturating_sub(STAGES as u64 - 1));
        self.current = number;
        prefetch(&self.buckets[(number + LINES_AHEAD) as usize & (BUCKETS - 1)]);
        from..=number
    }

    /// Returns the slots that are due for a stage when time enters the bucket `present`.
    #[inline]
    pub(crate) fn slots(&self, present: u64, stage: usize) -> &[u32] {
        let number = present + (STAGES - stage) as u64;
        let bucket = number as usize & (BUCKETS - 1);
        let State { round, count } = self.states[bucket];
        let count = if round == (number / BUCKETS as u64) as u8 { usize::from(count) } else { 0 };
        &self.buckets[bucket].0[..count.min(DEPTH)]
    }

    /// Adapts the width of the buckets: `events` have been handled since the last call.
    pub(crate) fn adapt(&mut self, now: Instant, events: u64) {
        if self.buckets.is_empty() || events == 0 {
            return;
        }
        let gap = now.since(self.measured).as_picos() / events;
        self.measured = now;
        let shift = (gap.max(1).ilog2() + EVENTS).min(40);
        if shift.abs_diff(self.shift) > 1 {
            self.states.fill(State::default());
            (self.shift, self.current) = (shift, now.as_picos() >> shift);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_hinted_before_their_events_stage_by_stage() {
        let mut upcoming = Upcoming::new(is_large(LEAST_SLOTS + 1));
        let at = |bucket: u64| Instant::from_picos(bucket << 21);
        upcoming.note(7, at(5));
        upcoming.note(8, at(6));
        // Out of reach.
        upcoming.note(9, at(BUCKETS as u64 + 5));
        let mut all = Vec::new();
        for bucket in 1..8 {
            assert!(upcoming.has_moved(at(bucket)));
            for present in upcoming.enter(at(bucket)) {
                for stage in 0..STAGES {
                    all.extend(upcoming.slots(present, stage).iter().map(|slot| (present, *slot, stage)));
                }
            }
            assert!(!upcoming.has_moved(at(bucket)), "time has not moved on");
        }
        assert_eq!(all, [(2, 7, 0), (3, 8, 0), (3, 7, 1), (4, 8, 1), (4, 7, 2), (5, 8, 2)]);
        let mut small = Upcoming::new(is_large(LEAST_SLOTS));
        small.note(7, at(5));
        assert!(!small.has_moved(at(3)), "a small network gives no hints");
    }
}
