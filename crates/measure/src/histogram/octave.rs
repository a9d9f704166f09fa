//! The counts of one octave of a histogram, and those kept for later.

/// The counts of one octave. Nearly all are small: sixteen bits of each lie close together, so that many flows'
/// histograms fit into the processor's cache, and what does not fit into those lies apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Octave<const SUB: usize> {
    low: [u16; SUB],
    /// In units of 65536; there from the first carry on.
    high: Option<Box<[u64; SUB]>>,
}

impl<const SUB: usize> Default for Octave<SUB> {
    fn default() -> Self {
        Self { low: [0; SUB], high: None }
    }
}

impl<const SUB: usize> Octave<SUB> {
    /// One more in a bucket.
    #[inline(always)]
    pub(super) fn count(&mut self, bucket: usize) {
        let low = &mut self.low[bucket];
        *low = low.wrapping_add(1);
        if *low == 0 {
            self.carry(bucket, 1);
        }
    }

    /// So many more in a bucket.
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

/// Zeroed counts of octaves that are not in use: no part of what a histogram says.
#[derive(Debug)]
pub(super) struct Spare<const SUB: usize>(Vec<Box<Octave<SUB>>>);

impl<const SUB: usize> Spare<SUB> {
    pub(super) const NONE: Self = Self(Vec::new());

    /// Counts of nothing, where some are kept.
    pub(super) fn take(&mut self) -> Option<Box<Octave<SUB>>> {
        self.0.pop()
    }

    /// Keeps the memory of counts that are no longer wanted.
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
