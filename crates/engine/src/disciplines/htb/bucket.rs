//! A bucket whose level may fall below nothing: the token account of a class.
//!
//! Levels are whole picobits, 8·10^12 a byte, since a bit per second is a picobit per picosecond: what comes
//! in and what is charged is exact at every rate, and no division is made but to say when the debt is paid.

use crate::units::{Bytes, Duration, PICOS_PER_SECOND, Rate};

/// Picobits of a byte.
const BYTE: u64 = 8 * PICOS_PER_SECOND;
/// A debt older than this is forgiven: the most a class may be behind, as in Linux. In picoseconds.
const PATIENCE: u64 = 60 * PICOS_PER_SECOND;

/// Picobits: what `bytes` cost.
#[inline(always)]
fn picobits(bytes: Bytes) -> i128 {
    // Below 2^107.
    (u128::from(bytes.0) * u128::from(BYTE)).cast_signed()
}

/// Tokens that come in at a rate, up to a depth.
#[derive(Debug)]
pub(super) struct Bucket {
    /// Picobits at hand; a debt where negative.
    level: i128,
    rate: u64,
    depth: Bytes,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(rate: Rate, depth: Bytes) -> Self {
        Self { level: picobits(depth), rate: rate.as_bits(), depth }
    }

    /// The same bucket with another rate and depth, and what was in it as far as it fits.
    pub(super) fn retuned(&self, rate: Rate, depth: Bytes) -> Self {
        let fresh = Self::new(rate, depth);
        Self { level: self.level.min(fresh.level).max(fresh.floor()), ..fresh }
    }

    /// How fast tokens come in.
    pub(super) fn rate(&self) -> Rate {
        Rate::from_bits(self.rate)
    }

    #[inline(always)]
    fn floor(&self) -> i128 {
        // Above -2^110.
        -(u128::from(PATIENCE) * u128::from(self.rate)).cast_signed()
    }

    /// Fills for `elapsed`.
    #[inline(always)]
    pub(super) fn fill(&mut self, elapsed: Duration) {
        let gain = u128::from(elapsed.as_picos()) * u128::from(self.rate);
        let full = picobits(self.depth);
        let room = (full - self.level).cast_unsigned();
        self.level = if gain < room { self.level + gain.cast_signed() } else { full };
    }

    /// Takes out what `bytes` cost.
    #[inline(always)]
    pub(super) fn charge(&mut self, bytes: Bytes) {
        self.level = (self.level - picobits(bytes)).max(self.floor());
    }

    /// Whether it has no debt.
    #[inline(always)]
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
