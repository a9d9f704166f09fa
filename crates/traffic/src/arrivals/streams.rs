//! Unlimited packet streams: with random gaps or at a constant bit rate; singly or in batches.

use lockgate_engine::random::Random;
use lockgate_engine::units::{Bytes, Duration, PICOS_PER_SECOND, Rate};

use super::emission::{BATCH, Emission};
use crate::frame::LARGEST_FRAME;
use crate::law::Law;

/// Frame lengths.
pub(super) struct Sizes {
    pub(super) law: Law<Bytes>,
    /// Bytes of headers added to what the law gives.
    pub(super) headers: u32,
    pub(super) random: Random,
}

impl Sizes {
    #[inline]
    fn fill(&mut self, lengths: &mut [u32; BATCH]) {
        let headers = u64::from(self.headers);
        let frame = |size: Bytes| size.0.saturating_add(headers).min(u64::from(LARGEST_FRAME)) as u32;
        if let Some(size) = self.law.constant() {
            lengths.fill(frame(size));
            return;
        }
        let mut sizes = [Bytes::ZERO; BATCH];
        self.law.fill(&mut self.random, &mut sizes);
        for (length, size) in lengths.iter_mut().zip(sizes) {
            *length = frame(size);
        }
    }

    /// Returns the mean frame length in bytes.
    pub(super) fn mean(&self) -> Option<f64> {
        self.law.mean().map(|mean| (mean + f64::from(self.headers)).min(f64::from(LARGEST_FRAME)))
    }
}

/// Packets with a random gap before each.
pub(super) struct Gaps {
    pub(super) law: Law<Duration>,
    pub(super) random: Random,
    pub(super) sizes: Sizes,
    /// Packets per arrival, at least 1.
    pub(super) batch: u32,
    /// Remaining packets of the current arrival.
    pub(super) left: u32,
    /// Time of the last packet.
    pub(super) at: Duration,
    /// True if the first gap is cut to a random fraction of itself.
    pub(super) has_random_phase: bool,
}

impl Gaps {
    #[inline]
    pub(super) fn fill(&mut self, batch: &mut Vec<Emission>) {
        if self.batch > 1 {
            return self.fill_in_batches(batch);
        }
        let mut gaps = [Duration::ZERO; BATCH];
        let mut lengths = [0; BATCH];
        self.law.fill(&mut self.random, &mut gaps);
        self.sizes.fill(&mut lengths);
        if self.has_random_phase {
            self.has_random_phase = false;
            gaps[0] = Duration::from_picos((gaps[0].as_picos() as f64 * self.random.unit()) as u64);
        }
        let mut at = self.at;
        batch.extend(gaps.iter().zip(lengths).map(|(gap, length)| {
            at += *gap;
            Emission { at, length }
        }));
        self.at = at;
    }

    fn fill_in_batches(&mut self, emissions: &mut Vec<Emission>) {
        let mut lengths = [0; BATCH];
        self.sizes.fill(&mut lengths);
        for length in lengths {
            if self.left == 0 {
                self.at += self.law.draw(&mut self.random);
                self.left = self.batch;
            }
            self.left -= 1;
            emissions.push(Emission { at: self.at, length });
        }
    }
}

/// Packets at a constant bit rate, whatever their lengths.
pub(super) struct ConstantRate {
    pace: Pace,
    sizes: Sizes,
    /// Packets per arrival, at least 1.
    batch: u32,
    /// Remaining packets of the current arrival, and the time that the earlier ones take at the rate.
    left: u32,
    taken: Duration,
    /// Time of the next packet.
    at: Duration,
}

impl ConstantRate {
    pub(super) fn new(rate: Rate, batch: u32, sizes: Sizes) -> Self {
        Self { pace: Pace::new(rate), sizes, batch, left: batch, taken: Duration::ZERO, at: Duration::ZERO }
    }

    pub(super) fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    pub(super) fn rate(&self) -> f64 {
        self.pace.rate as f64
    }

    #[inline]
    pub(super) fn fill(&mut self, batch: &mut Vec<Emission>) {
        let mut lengths = [0; BATCH];
        self.sizes.fill(&mut lengths);
        if self.batch > 1 {
            return batch.extend(lengths.into_iter().map(|length| self.next_in_batch(length)));
        }
        let mut at = self.at;
        batch.extend(lengths.into_iter().map(|length| {
            let emission = Emission { at, length };
            at += self.pace.time_for(length);
            emission
        }));
        self.at = at;
    }

    /// Returns the next packet of a batch. All packets of a batch come at once; the next batch comes after
    /// the time that this one takes at the rate.
    fn next_in_batch(&mut self, length: u32) -> Emission {
        let emission = Emission { at: self.at, length };
        self.taken += self.pace.time_for(length);
        self.left -= 1;
        if self.left == 0 {
            self.at += self.taken;
            (self.left, self.taken) = (self.batch, Duration::ZERO);
        }
        emission
    }
}

/// Converts lengths to times at a rate. Carries the remainders of the divisions, so that the sum is exact.
struct Pace {
    /// Bits per second, 1 to 8 * 10^12: a byte takes a picosecond or more.
    rate: u64,
    /// Length of the last packet, and the quotient and remainder of its time.
    length: u32,
    picos: u64,
    remainder: u64,
    /// Sum of the remainders, below `rate`.
    carry: u64,
}

impl Pace {
    fn new(rate: Rate) -> Self {
        Self { rate: rate.as_bits(), length: 0, picos: 0, remainder: 0, carry: 0 }
    }

    #[inline]
    fn time_for(&mut self, length: u32) -> Duration {
        if length != self.length {
            // At most 65549 * 8 * 10^12, which is below 2^60.
            let work = u64::from(length) * 8 * PICOS_PER_SECOND;
            (self.length, self.picos, self.remainder) = (length, work / self.rate, work % self.rate);
        }
        self.carry += self.remainder;
        let over = self.carry >= self.rate;
        if over {
            self.carry -= self.rate;
        }
        Duration::from_picos(self.picos + u64::from(over))
    }
}
