//! Counts of one octave of a histogram, and a pool of spare ones.

/// The counts of one octave. Nearly all counts are small: their low sixteen bits are contiguous, so that
/// the histograms of many flows fit into the processor's cache; the carries are stored separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Octave<const SUB: usize> {
    low: [u16; SUB],
    /// High parts in units of 65536; allocated at the first carry.
    high: Option<Box<[u64; SUB]>>,
}

impl<const SUB: usize> Default for Octave<SUB> {
    fn default() -> Self {
        Self { low: [0; SUB], high: None }
    }
}

impl<const SUB: usize> Octave<SUB> {
    /// Adds one to the count of a bucket.
    #[inline(always)]
    pub(super) fn count(&mut self, bucket: usize) {
        let low = &mut self.low[bucket];
        *low = low.wrapping_add(1);
        if *low == 0 {
            self.carry(bucket, 1);
        }
    }

    /// Adds `times` to the count of a bucket.
    pub(super) fn add(&mut self, bucket: usize, times: u64) {
        let (low, carry) = (times as u16, times >> 16);
        let (sum, over) = self.low[bucket].overflowing_add(low);
        self.low[bucket] = sum;
        let carry = carry + u64::from(over);
        if carry > 0 {
            self.carry(bucket, carry);
        }
    }

    pub(super) fn get(&self, bucket: usize) -> u64 {
        let high = self.high.as_ref().map_or(0, |high| high[bucket]);
        (high << 16) | u64::from(self.low[bucket])
    }

    #[cold]
    #[inline(never)]
    fn carry(&mut self, bucket: usize, carry: u64) {
        self.high.get_or_insert_with(|| Box::new([0; SUB]))[bucket] += carry;
    }
}

/// Pool of zeroed octaves for reuse; not part of the histogram's value.
#[derive(Debug)]
pub(super) struct Spare<const SUB: usize>(Vec<Box<Octave<SUB>>>);

impl<const SUB: usize> Spare<SUB> {
    pub(super) const NONE: Self = Self(Vec::new());

    /// Returns true if nothing was freed so far, or all is in use again.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a zeroed octave from the pool, if there is one.
    pub(super) fn take(&mut self) -> Option<Box<Octave<SUB>>> {
        self.0.pop()
    }

    /// Zeroes an unused octave and returns it to the pool.
    pub(super) fn keep(&mut self, mut counts: Box<Octave<SUB>>) {
        *counts = Octave::default();
        self.0.push(counts);
    }
}

impl<const SUB: usize> Clone for Spare<SUB> {
    fn clone(&self) -> Self {
        Self::NONE
    }
}

impl<const SUB: usize> PartialEq for Spare<SUB> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<const SUB: usize> Eq for Spare<SUB> {}
