//! A log-linear histogram of integers: a few nanoseconds per value, mergeable, with a known error.
//!
//! ```text
//! value    0 .. SUB-1 | SUB .. 2 SUB-1 | 2 SUB .. 4 SUB-1 | 4 SUB .. 8 SUB-1 | ...
//! bucket   1 wide     | 1 wide         | 2 wide           | 4 wide           | ...     SUB buckets each
//! ```
//!
//! A quantile is reported as the middle of its bucket, so its relative error is at most `1 / (2 SUB)`:
//! 2^-10, or 0.1 %, for the default of 512 buckets per octave. Count, sum, sum of squares, smallest and
//! largest value are exact; so are all quantiles of at most [`EXACT`] values. The counts of an octave are
//! allocated at its first value.
//!
//! The crate `hdrhistogram` is not used: it turns on `num-traits/std`, cargo unifies features, and the
//! draws of `rand_distr` would then depend on the platform's mathematics library.

mod octave;

use octave::{Octave, Spare};

use crate::lazy::{Empty, Lazy};
use crate::vectors::{Work, vectorised};

/// Limit up to which a histogram stores the values themselves.
pub const EXACT: usize = 128;

/// Batch size for callers that collect values.
pub(crate) const BATCH: usize = Moments::MOST;

/// A coarse histogram (relative error of quantiles at most 2^-5), for one sampling interval.
pub type Coarse = Histogram<16>;

/// Counts of `u64` values in `SUB` buckets per octave; `SUB` is a power of two.
#[derive(Clone, Debug)]
pub struct Histogram<const SUB: usize = 512> {
    count: u64,
    min: u64,
    max: u64,
    sum: u128,
    squares: u128,
    /// Values or counts of buckets; none under `record_sums`.
    store: Lazy<Store<SUB>>,
}

/// Values of a histogram, or their counts.
#[derive(Clone, Debug)]
struct Store<const SUB: usize> {
    /// The values themselves, in order of arrival, up to [`EXACT`] of them; empty beyond.
    few: Vec<u64>,
    /// Counts by octave, of those from `first_octave` to the last that is used: delays differ by few octaves.
    /// Empty while `few` is in use, so that the hot path needs one check.
    octaves: Vec<Option<Box<Octave<SUB>>>>,
    first_octave: usize,
    /// Octaves freed by [`clear`](Histogram::clear), for reuse.
    spare: Spare<SUB>,
}

impl<const SUB: usize> Empty for Store<SUB> {
    const EMPTY: &'static Self =
        &Self { few: Vec::new(), octaves: Vec::new(), first_octave: 0, spare: Spare::NONE };
}

impl<const SUB: usize> Empty for Histogram<SUB> {
    const EMPTY: &'static Self = &Self::new();
}

impl<const SUB: usize> Default for Histogram<SUB> {
    fn default() -> Self {
        Self::new()
    }
}

/// Octaves without counts are equal to absent ones.
impl<const SUB: usize> PartialEq for Histogram<SUB> {
    fn eq(&self, other: &Self) -> bool {
        let sums = |one: &Self| (one.count, one.min, one.max, one.sum, one.squares);
        sums(self) == sums(other) && self.store.few == other.store.few && self.counted().eq(other.counted())
    }
}

impl<const SUB: usize> Eq for Histogram<SUB> {}

impl<const SUB: usize> Histogram<SUB> {
    /// Binary logarithm of the buckets per octave.
    const BITS: u32 = {
        assert!(SUB.is_power_of_two() && SUB > 1, "buckets an octave are a power of two");
        SUB.trailing_zeros()
    };

    /// Largest relative error of a quantile.
    pub const RELATIVE_ERROR: f64 = 0.5 / SUB as f64;

    /// Creates an empty histogram.
    pub const fn new() -> Self {
        Self { count: 0, min: u64::MAX, max: 0, sum: 0, squares: 0, store: Lazy::new() }
    }

    /// Returns the octave and the bucket of a value. The octave does not depend on the bucket: its counts
    /// are loaded from memory while the bucket is computed, which makes a batch twice as fast.
    #[inline(always)]
    fn slot(value: u64) -> (usize, usize) {
        let top = (value | (SUB as u64 - 1)).ilog2();
        let octave = top + 1 - Self::BITS;
        let bucket = value >> octave.saturating_sub(1);
        ((octave & 63) as usize, bucket as usize & (SUB - 1))
    }

    /// Returns the counts of an octave, if it is used.
    #[inline(always)]
    fn octave_mut(&mut self, octave: usize) -> Option<&mut Octave<SUB>> {
        let store = self.store.get_mut()?;
        store.octaves.get_mut(octave.wrapping_sub(store.first_octave))?.as_deref_mut()
    }

    /// Returns the octaves that are used, with their counts.
    fn counted(&self) -> impl Iterator<Item = (usize, &Octave<SUB>)> {
        let Store { octaves, first_octave, .. } = &*self.store;
        (*first_octave..).zip(octaves).filter_map(|(octave, counts)| Some((octave, counts.as_deref()?)))
    }

    /// Returns the middle of a bucket, rounded down.
    fn middle(octave: usize, bucket: usize) -> u64 {
        if octave == 0 {
            return bucket as u64;
        }
        let width = 1u64 << (octave - 1);
        (SUB as u64 + bucket as u64) * width + (width - 1) / 2
    }

    /// Counts one value. Hot path: no division, and no allocation once its octave is allocated.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum = self.sum.wrapping_add(u128::from(value));
        self.squares = self.squares.saturating_add(u128::from(value) * u128::from(value));
        self.increment(value);
    }

    /// Counts many values, faster than one by one: the sums stay in registers, and equal values are counted
    /// in one step.
    pub fn record_all(&mut self, values: &[u64]) {
        for values in values.chunks(Moments::MOST) {
            vectorised(Batch { histogram: self, values, moments: None });
        }
    }

    /// Counts at most [`Moments::MOST`] values with known moments.
    pub(crate) fn record_batch(&mut self, values: &[u64], moments: &Moments) {
        vectorised(Batch { histogram: self, values, moments: Some(moments) });
    }

    #[inline(always)]
    fn count_batch(&mut self, values: &[u64], moments: &Moments) {
        self.min = self.min.min(moments.min);
        self.max = self.max.max(moments.max);
        self.sum = self.sum.wrapping_add(moments.sum);
        self.squares = self.squares.saturating_add(moments.squares);
        if self.store.few.len() as u64 == self.count {
            if self.store.few.len() + values.len() <= EXACT {
                self.store.few.extend_from_slice(values);
                self.count += values.len() as u64;
                return;
            }
            self.spread();
        }
        self.count += values.len() as u64;
        if moments.min == moments.max {
            self.add(moments.min, values.len() as u64);
        } else if !self.distribute_in_one(values, moments) {
            self.distribute(values);
        }
    }

    /// Counts values in their buckets if all are in one octave, as the delays of successive packets mostly
    /// are: a third of the instructions. Returns true if so.
    #[inline(always)]
    fn distribute_in_one(&mut self, values: &[u64], moments: &Moments) -> bool {
        let octave = Self::slot(moments.min).0;
        if octave != Self::slot(moments.max).0 {
            return false;
        }
        let Some(counts) = self.octave_mut(octave) else { return false };
        let shift = octave.saturating_sub(1);
        for &value in values {
            counts.count((value >> shift) as usize & (SUB - 1));
        }
        true
    }

    /// Counts values in their buckets.
    #[inline(always)]
    fn distribute(&mut self, values: &[u64]) {
        for &value in values {
            let (octave, bucket) = Self::slot(value);
            match self.octave_mut(octave) {
                Some(counts) => counts.count(bucket),
                None => self.open(value),
            }
        }
    }

    /// Counts the first value of an octave: allocates the octave.
    #[cold]
    #[inline(never)]
    fn open(&mut self, value: u64) {
        self.add(value, 1);
    }

    #[inline]
    fn increment(&mut self, value: u64) {
        let (octave, bucket) = Self::slot(value);
        match self.octave_mut(octave) {
            Some(counts) => counts.count(bucket),
            None => self.increment_first(value),
        }
    }

    /// Stores the value itself, or allocates its octave. `count` already includes it.
    #[cold]
    #[inline(never)]
    fn increment_first(&mut self, value: u64) {
        if self.store.few.len() as u64 + 1 == self.count && self.store.few.len() < EXACT {
            self.store.few.push(value);
            return;
        }
        self.spread();
        self.add(value, 1);
    }

    /// Moves the stored values into buckets.
    #[inline(never)]
    fn spread(&mut self) {
        let was_cleared = !self.store.spare.is_empty();
        let mut few = core::mem::take(&mut self.store.few);
        self.distribute(&few);
        // A histogram that is cleared each interval keeps the room of its values.
        if was_cleared {
            few.clear();
            self.store.few = few;
        }
    }

    fn add(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        let (octave, bucket) = Self::slot(value);
        match self.octave_mut(octave) {
            Some(counts) => counts.add(bucket, times),
            None => self.open_octave(octave).add(bucket, times),
        }
    }

    /// Returns the counts of an octave, which is used from now on.
    fn open_octave(&mut self, octave: usize) -> &mut Octave<SUB> {
        let Store { octaves, first_octave, spare, .. } = &mut *self.store;
        if octaves.is_empty() {
            *first_octave = octave;
        }
        for _ in octave..*first_octave {
            octaves.insert(0, None);
        }
        *first_octave = octave.min(*first_octave);
        let index = octave - *first_octave;
        if index >= octaves.len() {
            octaves.resize_with(index + 1, || None);
        }
        octaves[index].get_or_insert_with(|| spare.take().unwrap_or_default())
    }

    /// Counts values in the sums and extremes only: afterwards there are no quantiles.
    pub(crate) fn record_sums(&mut self, count: u64, moments: &Moments) {
        self.count += count;
        self.min = self.min.min(moments.min);
        self.max = self.max.max(moments.max);
        self.sum = self.sum.wrapping_add(moments.sum);
        self.squares = self.squares.saturating_add(moments.squares);
    }

    /// Adds sums and extremes of `other` only: afterwards there are no quantiles.
    pub(crate) fn merge_sums(&mut self, other: &Self) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.wrapping_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Returns true if its values are in buckets, or stored themselves.
    pub(crate) fn has_quantiles(&self) -> bool {
        !self.store.few.is_empty() || self.counted().next().is_some()
    }

    /// Adds everything that `other` counted: the result is as if all values had been recorded here.
    pub fn merge(&mut self, other: &Self) {
        let kept = self.store.few.len() as u64 == self.count && other.store.few.len() as u64 == other.count;
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.wrapping_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
        if kept && self.count <= EXACT as u64 {
            self.store.few.extend_from_slice(&other.store.few);
            return;
        }
        self.spread();
        for &value in &other.store.few {
            self.add(value, 1);
        }
        for (octave, more) in other.counted() {
            let own = self.open_octave(octave);
            for bucket in 0..SUB {
                own.add(bucket, more.get(bucket));
            }
        }
    }

    /// Removes all values but keeps the memory: similar values then allocate nothing.
    pub fn clear(&mut self) {
        if let Some(Store { few, octaves, spare, .. }) = self.store.get_mut() {
            // While the values themselves are stored, no octave is allocated.
            if few.len() as u64 != self.count {
                octaves.iter_mut().filter_map(Option::take).for_each(|counts| spare.keep(counts));
            }
            few.clear();
        }
        (self.count, self.min, self.max, self.sum, self.squares) = (0, u64::MAX, 0, 0, 0);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the sum of all values, exact.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the smallest value, if any.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest value, if any.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the arithmetic mean, if there are values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the standard deviation of the values (dividing by their number, not one less), free of
    /// cancellation; `None` if there are no values.
    pub fn std(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let count = u128::from(self.count);
        let whole = self.sum / count;
        // Sum of (value - whole)^2: the true result fits, so intermediate steps may wrap.
        let twice = self.sum.wrapping_mul(whole).wrapping_mul(2);
        let around =
            self.squares.wrapping_sub(twice).wrapping_add(count.wrapping_mul(whole.wrapping_mul(whole)));
        let rest = (self.sum % count) as f64 / self.count as f64;
        let variance = around as f64 / self.count as f64 - rest * rest;
        Some(variance.max(0.0).sqrt())
    }

    /// Returns the middle (clamped to the smallest and the largest value) and the count of each non-empty
    /// bucket, ascending.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        if !self.store.few.is_empty() {
            let mut values = self.store.few.clone();
            values.sort_unstable();
            return values.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect();
        }
        let mut buckets = Vec::new();
        for (octave, counts) in self.counted() {
            for (bucket, count) in (0..SUB).map(|bucket| (bucket, counts.get(bucket))) {
                if count > 0 {
                    buckets.push((Self::middle(octave, bucket).clamp(self.min, self.max), count));
                }
            }
        }
        buckets
    }

    /// Returns the quantile `q` by nearest rank: the smallest value such that at least the fraction `q` of
    /// all values is not larger. `q` is clamped to 0..=1. Returns `None` if there are no values.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.quantiles([q]).map(|[value]| value)
    }

    /// Returns several quantiles in one pass, in any order.
    pub fn quantiles<const N: usize>(&self, wanted: [f64; N]) -> Option<[u64; N]> {
        if self.count == 0 || !self.has_quantiles() {
            return None;
        }
        let buckets = self.buckets();
        Some(wanted.map(|q| self.at_rank(&buckets, nearest_rank(q, self.count))))
    }

    /// Returns the same as [`quantiles`](Self::quantiles) without allocating: values stored themselves are
    /// sorted in place.
    pub fn quantiles_in_place<const N: usize>(&mut self, wanted: [f64; N]) -> Option<[u64; N]> {
        if self.count == 0 {
            return None;
        }
        self.store.few.sort_unstable();
        Some(wanted.map(|q| match nearest_rank(q, self.count) {
            ..=1 => self.min,
            rank if rank >= self.count => self.max,
            rank => self.store.few.get(rank as usize - 1).copied().unwrap_or_else(|| self.in_bucket(rank)),
        }))
    }

    /// Returns the middle of the bucket that contains the value of this rank.
    fn in_bucket(&self, rank: u64) -> u64 {
        let mut below = 0;
        for (octave, counts) in self.counted() {
            for bucket in 0..SUB {
                below += counts.get(bucket);
                if below >= rank {
                    return Self::middle(octave, bucket).clamp(self.min, self.max);
                }
            }
        }
        self.max
    }

    fn at_rank(&self, buckets: &[(u64, u64)], rank: u64) -> u64 {
        if rank <= 1 {
            return self.min;
        }
        if rank >= self.count {
            return self.max;
        }
        let mut below = 0;
        for &(value, count) in buckets {
            below += count;
            if below >= rank {
                return value;
            }
        }
        self.max
    }

    /// Returns the distribution function in at most `most` points (at least 2): a value, and the fraction
    /// of values not larger. Both ascend; the last point is the largest value with 1. Both tails keep their
    /// resolution.
    pub fn cdf(&self, most: usize) -> Vec<(u64, f64)> {
        let mut below = 0;
        let total = self.count as f64;
        let mut points: Vec<(u64, f64)> = self
            .buckets()
            .into_iter()
            .map(|(value, count)| {
                below += count;
                (value, below as f64 / total)
            })
            .collect();
        if let Some(last) = points.last_mut() {
            last.0 = self.max;
        }
        thin(points, most.max(2))
    }

    /// Returns the density in at most `most` bins of equal width on a logarithmic axis: the geometric
    /// centre of the bin, and the fraction of values per unit of value. Zeros are in no bin: the integral
    /// is the fraction of values above zero.
    pub fn density(&self, most: usize) -> Vec<(f64, f64)> {
        let buckets = self.buckets();
        let Some(&(first, _)) = buckets.iter().find(|(value, _)| *value > 0) else { return Vec::new() };
        let bins = most.max(1);
        let low = libm::log2(first as f64);
        // A bin is at least as wide as the buckets it is filled from.
        let least = 2.0 * Self::RELATIVE_ERROR * core::f64::consts::LOG2_E;
        let step = ((libm::log2(self.max as f64) - low) / bins as f64).max(least);
        let mut counts = vec![0u64; bins];
        for &(value, count) in buckets.iter().filter(|(value, _)| *value > 0) {
            let bin = ((libm::log2(value as f64) - low) / step) as usize;
            counts[bin.min(bins - 1)] += count;
        }
        let total = self.count as f64;
        let used = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        counts[..used]
            .iter()
            .enumerate()
            .map(|(bin, &count)| {
                let from = low + bin as f64 * step;
                let width = libm::exp2(from + step) - libm::exp2(from);
                (libm::exp2(from + 0.5 * step), count as f64 / total / width)
            })
            .collect()
    }
}

/// Values to be counted in a histogram, with their moments if they are known.
struct Batch<'a, const SUB: usize> {
    histogram: &'a mut Histogram<SUB>,
    values: &'a [u64],
    moments: Option<&'a Moments>,
}

impl<const SUB: usize> Work for Batch<'_, SUB> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let moments = self.moments.copied().unwrap_or_else(|| Moments::sum(self.values));
        self.histogram.count_batch(self.values, &moments);
    }
}

/// Values whose moments are wanted.
struct Sum<'a>(&'a [u64]);

impl Work for Sum<'_> {
    type Output = Moments;

    #[inline(always)]
    fn call(self) -> Moments {
        Moments::sum(self.0)
    }
}

/// Extremes and sums of a few values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    min: u64,
    max: u64,
    sum: u128,
    squares: u128,
}

impl Moments {
    /// Largest batch: the sum of as many values below 2^58 fits into a `u64`.
    pub(crate) const MOST: usize = 64;

    /// Moments of at most [`MOST`](Self::MOST) values.
    pub(crate) fn of(values: &[u64]) -> Self {
        vectorised(Sum(values))
    }

    /// Does the same in a loop that is [vectorised] already.
    #[inline(always)]
    pub(crate) fn sum(values: &[u64]) -> Self {
        if let [first, second, ..] = values
            && first == second
            && values.iter().fold(0, |difference, value| difference | (value ^ first)) == 0
        {
            return Self::of_equal(*first, values.len());
        }
        Self::of_small(values).unwrap_or_else(|| Self::of_large(values))
    }

    /// Moments of 1 to [`MOST`](Self::MOST) values below 2^58; `None` for any others. Products of halves of
    /// 32 bits fit into a word, so that a vector of them is multiplied at a time.
    #[inline(always)]
    fn of_small(values: &[u64]) -> Option<Self> {
        const LOWER: u64 = u32::MAX as u64;
        let (mut min, mut max, mut sum) = (i64::MAX, 0, 0u64);
        let (mut upper_squares, mut products, mut lower_squares, mut carries) = (0u64, 0u64, 0u64, 0u64);
        for &value in values {
            let (upper, lower) = (value >> 32, value & LOWER);
            let square = lower * lower;
            // Vectors have no unsigned comparison. A value of 2^63 or more is a negative minimum.
            min = min.min(value.cast_signed());
            max = max.max(value.cast_signed());
            sum = sum.wrapping_add(value);
            upper_squares = upper_squares.wrapping_add(upper * upper);
            products = products.wrapping_add(upper * lower);
            lower_squares = lower_squares.wrapping_add(square & LOWER);
            carries = carries.wrapping_add(square >> 32);
        }
        if values.is_empty() || values.len() > Self::MOST || min < 0 || max >> 58 != 0 {
            return None;
        }
        let squares = (u128::from(upper_squares) << 64)
            + (u128::from(products) << 33)
            + (u128::from(carries) << 32)
            + u128::from(lower_squares);
        Some(Self { min: min.cast_unsigned(), max: max.cast_unsigned(), sum: u128::from(sum), squares })
    }

    /// Moments of equal values, such as the serialisation of equal packets, or the waiting time for an idle
    /// link.
    fn of_equal(value: u64, times: usize) -> Self {
        let (wide, times) = (u128::from(value), times as u128);
        Self { min: value, max: value, sum: wide * times, squares: (wide * wide).saturating_mul(times) }
    }

    #[cold]
    fn of_large(values: &[u64]) -> Self {
        let square = |value: &u64| u128::from(*value) * u128::from(*value);
        Self {
            min: values.iter().copied().min().unwrap_or(u64::MAX),
            max: values.iter().copied().max().unwrap_or(0),
            sum: values.iter().map(|value| u128::from(*value)).sum(),
            squares: values.iter().map(square).fold(0, u128::saturating_add),
        }
    }
}

/// Returns the rank, from 1, of the quantile `q` among `count` values.
fn nearest_rank(q: f64, count: u64) -> u64 {
    // 0.07 * 100 is slightly above 7 in binary; the excess must not raise the rank.
    let rank = (q * count as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil();
    (rank as u64).clamp(1, count.max(1))
}

/// Selects at most `most` of these points: as much of the tails as fits, the rest evenly.
fn thin(points: Vec<(u64, f64)>, most: usize) -> Vec<(u64, f64)> {
    if points.len() <= most {
        return points;
    }
    // Half of the points evenly over the buckets, which are finest where values are many; half evenly over
    // the logarithm of the upper tail, so that a CCDF on a log axis stays smooth.
    let even = most - most / 2;
    let last = points.len() - 1;
    let mut chosen: Vec<usize> = (0..even).map(|index| index * last / (even - 1).max(1)).collect();
    let tail = most / 2;
    let floor = (1.0 - points[last - 1].1).max(1e-12);
    for index in 0..tail {
        let above = libm::exp(libm::log(floor) * (index as f64 + 1.0) / tail as f64);
        chosen.push(points.partition_point(|(_, fraction)| 1.0 - fraction > above).min(last));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|index| points[index]).collect()
}

#[cfg(test)]
mod tests;
