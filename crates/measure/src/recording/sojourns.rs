//! Sojourn times of one queue.
//!
//! ```text
//! queue                    pending values      counted
//! of its own               64, allocated       in buckets
//! member of a group        13, inline          in buckets; under `totals` only sums and extremes
//! ```
//!
//! A packet touches two adjacent cache lines: with ten thousand queues each line is a miss (decision 109).

use lockgate_engine::units::Duration;

use super::Detail;
use crate::histogram::{BATCH, Histogram, Moments};

/// Maximum number of pending values in a queue of a group: they fill the rest of the first two cache lines.
const MEMBER_BATCH: usize = 13;

/// Values that are not counted yet, fewer than a batch.
#[derive(Clone, Debug)]
#[repr(C)]
struct Pending {
    count: usize,
    /// Slots of a queue of its own; those of others are in `few`.
    many: Option<Box<[u64; BATCH]>>,
    few: [u64; MEMBER_BATCH],
}

impl Pending {
    /// Appends a value. Returns true if the batch is full; it must be cleared then.
    #[inline(always)]
    fn push(&mut self, value: u64) -> bool {
        let slots = self.many.as_mut().map_or(&mut self.few[..], |many| &mut many[..]);
        if let Some(slot) = slots.get_mut(self.count) {
            *slot = value;
        }
        self.count += 1;
        self.count == slots.len()
    }

    fn values(&self) -> &[u64] {
        &self.many.as_ref().map_or(&self.few[..], |many| &many[..])[..self.count]
    }
}

/// Slots without a value may hold anything.
impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.values() == other.values()
    }
}

/// Sojourn times of one queue, counted in batches (see decision 004).
#[derive(Clone, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Sojourns {
    /// Number of values of zero: those of packets that found an idle link.
    zeros: u64,
    /// Values above zero; a full batch is counted at once.
    pending: Pending,
    counted: Histogram,
    /// True if only sums and extremes are counted.
    is_sum: bool,
}

impl Sojourns {
    /// Creates an empty record of a queue that is a member of a group, or not, at this detail.
    pub(super) fn new(is_member: bool, detail: Detail) -> Self {
        let many = (!is_member).then(|| Box::new([0; BATCH]));
        let is_sum = is_member && detail == Detail::Totals;
        let pending = Pending { count: 0, many, few: [0; MEMBER_BATCH] };
        Self { zeros: 0, pending, counted: Histogram::default(), is_sum }
    }

    #[inline(always)]
    pub(super) fn note(&mut self, sojourn: Duration) {
        if sojourn.is_zero() {
            self.zeros += 1;
            return;
        }
        if self.pending.push(sojourn.as_picos()) {
            self.flush();
        }
    }

    #[cold]
    #[inline(never)]
    fn flush(&mut self) {
        Self::count(&mut self.counted, self.pending.values(), self.is_sum);
        self.pending.count = 0;
    }

    fn count(histogram: &mut Histogram, values: &[u64], is_sum: bool) {
        if is_sum {
            histogram.record_sums(values.len() as u64, &Moments::of(values));
        } else {
            histogram.record_all(values);
        }
    }

    /// Adds all values to `all`, or only their sums and extremes.
    pub(super) fn add_to(&self, all: &mut Histogram, is_sum: bool) {
        if is_sum {
            all.merge_sums(&self.counted);
        } else {
            all.merge(&self.counted);
        }
        if self.pending.count > 0 {
            Self::count(all, self.pending.values(), is_sum);
        }
        for first in (0..self.zeros).step_by(BATCH) {
            let batch = (self.zeros - first).min(BATCH as u64);
            Self::count(all, &[0; BATCH][..batch as usize], is_sum);
        }
    }

    /// Returns true if there are only sums and extremes.
    pub(super) fn is_sum(&self) -> bool {
        self.is_sum
    }

    pub(super) fn is_empty(&self) -> bool {
        self.zeros == 0 && self.pending.count == 0 && self.counted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Histogram of a queue's sojourn times: every fourth is zero.
    fn recorded(is_member: bool, detail: Detail, with_sums: bool) -> Histogram {
        let mut sojourns = Sojourns::new(is_member, detail);
        for value in 0..1000u64 {
            sojourns.note(Duration::from_picos(if value % 4 == 0 { 0 } else { value * 1_000_003 }));
        }
        let mut all = Histogram::default();
        sojourns.add_to(&mut all, with_sums || sojourns.is_sum());
        all
    }

    #[test]
    fn members_have_the_same_distribution_and_under_totals_sums_only() {
        let own = recorded(false, Detail::Totals, false);
        assert_eq!((own.count(), own.min(), own.max()), (1000, Some(0), Some(999_002_997)));
        assert_eq!(own.quantile(0.25), Some(0));
        assert_eq!(recorded(true, Detail::Groups, false), own);
        for sums in [recorded(true, Detail::Totals, false), recorded(true, Detail::Groups, true)] {
            assert_eq!((sums.count(), sums.min(), sums.max()), (1000, Some(0), Some(999_002_997)));
            assert_eq!((sums.mean(), sums.std()), (own.mean(), own.std()));
            assert_eq!(sums.quantile(0.5), None);
        }
    }
}
