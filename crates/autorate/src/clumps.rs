//! Clumps: how unevenly a line delivers.
//!
//! ```text
//! clump = variance of the bytes of a step / their mean       (the index of dispersion, in bytes)
//! ```
//!
//! A line that is scheduled delivers many packets at once, and then none for a while. Over a time `t` its
//! rate is known to a part of `sqrt(clump / (rate * t))`, and a packet waits for the time of a clump without
//! any queue. The variance is of differences between successive steps (von Neumann et al., "The Mean Square
//! Successive Difference", 1941), so that a rate that moves slowly adds nothing.

use lockgate_engine::units::Bytes;

/// Weight of a step is one in so many.
const STEPS: i128 = 100;

/// Parts of a byte in which means are kept.
const PART: i128 = 1 << 16;

/// Multiple of the mean, and bytes more, above which a difference counts no further: an acknowledgement that
/// fills a hole reports much that was delivered before.
const MOST_MEANS: i128 = 4;
const MOST_MORE: i128 = 2 * 1514;

/// Largest number of bytes of a step that counts: 10 ms at 80 Tbit/s.
const MOST_BYTES: u64 = 100_000_000_000;

/// Estimator of the clumps of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clumps {
    before: i128,
    /// Mean of the bytes of a step, and of half of the squared differences, in parts.
    mean: i128,
    variance: i128,
}

impl Clumps {
    /// Adds the bytes delivered in a step; `is_waiting` if more is on its way.
    pub(crate) fn push(&mut self, bytes: Bytes, is_waiting: bool) {
        let bytes = i128::from(bytes.0.min(MOST_BYTES));
        if bytes == 0 && self.before == 0 && !is_waiting {
            return;
        }
        let most = MOST_MEANS * self.mean / PART + MOST_MORE;
        let difference = (bytes - self.before).clamp(-most, most);
        self.variance += (difference * difference / 2 * PART - self.variance) / STEPS;
        self.mean += (bytes * PART - self.mean) / STEPS;
        self.before = bytes;
    }

    /// Returns the bytes of a clump; zero before any were delivered.
    pub(crate) fn get(&self) -> Bytes {
        let bytes = self.variance.checked_div(self.mean).unwrap_or(0);
        Bytes(u64::try_from(bytes).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clump(bytes: impl Fn(u64) -> u64) -> u64 {
        let mut clumps = Clumps::default();
        (0..3000).for_each(|step| clumps.push(Bytes(bytes(step)), true));
        clumps.get().0
    }

    #[test]
    fn a_clump_is_as_large_as_what_comes_at_once() {
        assert_eq!(clump(|_| 12_500), 0, "an even line");
        assert!(clump(|step| 12_500 + 4 * step) < 10, "a rate that moves");
        // 6000 bytes in one step of four: half of the squared differences are 9e6 on average, the mean is
        // 1500.
        let four = clump(|step| if step % 4 == 0 { 6000 } else { 0 });
        assert!((5500..6500).contains(&four), "{four}");
        assert_eq!(Clumps::default().get(), Bytes(0));
    }

    #[test]
    fn one_acknowledgement_for_much_hardly_counts() {
        let one = clump(|step| if step == 2900 { 1_000_000 } else { 12_500 });
        assert!(one < 3000, "{one}");
        let mut clumps = Clumps::default();
        clumps.push(Bytes(u64::MAX), true);
        clumps.push(Bytes(0), false);
        assert!(clumps.get().0 < u64::MAX);
    }
}
