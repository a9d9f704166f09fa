//! A bucket whose level may fall below nothing: the token account of a class.
//!
//! Levels are whole picobits, 8·10^12 a byte, since a bit per second is a picobit per picosecond: what comes
//! in and what is charged is exact at every rate, and no division is made but to say when the debt is paid.

use crate::units::{Bytes, Duration, PICOS_PER_SECOND, Rate};

/// Picobits of a byte.
const BYTE: i128 = 8 * PICOS_PER_SECOND as i128;
/// A debt older than this is forgiven: the most a class may be behind, as in Linux.
const PATIENCE: i128 = 60 * PICOS_PER_SECOND as i128;

/// Tokens that come in at a rate, up to a depth.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: u64,
    depth: i128,
    /// Picobits at hand; a debt where negative.
    level: i128,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(rate: Rate, depth: Bytes) -> Self {
        let depth = i128::from(depth.0) * BYTE;
        Self { rate: rate.as_bits(), depth, level: depth }
    }

    /// The same bucket with another rate and depth, and what was in it as far as it fits.
    pub(super) fn retuned(&self, rate: Rate, depth: Bytes) -> Self {
        let fresh = Self::new(rate, depth);
        Self { level: self.level.min(fresh.depth).max(fresh.floor()), ..fresh }
    }

    fn floor(&self) -> i128 {
        -PATIENCE * i128::from(self.rate)
    }

    /// Fills for `elapsed`.
    #[inline]
    pub(super) fn fill(&mut self, elapsed: Duration) {
        let gain = u128::from(elapsed.as_picos()) * u128::from(self.rate);
        self.level = i128::try_from(gain)
            .map_or(self.depth, |gain| self.level.saturating_add(gain).min(self.depth));
    }

    /// Takes out what `bytes` cost.
    #[inline]
    pub(super) fn charge(&mut self, bytes: Bytes) {
        self.level = (self.level - i128::from(bytes.0) * BYTE).max(self.floor());
    }

    /// Whether it has no debt.
    #[inline]
    pub(super) fn is_solvent(&self) -> bool {
        self.level >= 0
    }

    /// How long until its debt is paid, rounded up to the picosecond.
    #[inline]
    pub(super) fn recovery(&self) -> Duration {
        let debt = u128::try_from(-self.level).unwrap_or(0);
        let picos = match u64::try_from(debt) {
            Ok(debt) => debt.div_ceil(self.rate),
            Err(_) => u64::try_from(debt.div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX),
        };
        Duration::from_picos(picos)
    }

    /// What is in it in bytes, for display.
    pub(super) fn as_bytes(&self) -> f64 {
        self.level as f64 / BYTE as f64
    }
}
