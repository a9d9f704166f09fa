//! Token bucket whose level may be negative: the token account of a class.
//!
//! Levels are whole picobits, 8·10^12 per byte, since a bit per second is a picobit per picosecond: every
//! gain and charge is exact at every rate, and the only division computes the time at which a debt is paid.

use crate::units::{Bytes, Duration, PICOS_PER_SECOND, Rate};

/// Picobits per byte.
const BYTE: u64 = 8 * PICOS_PER_SECOND;
/// Maximum debt, as the time in picoseconds that pays it at the rate: 60 s, as in Linux. Further debt is
/// forgiven.
const MOST_DEBT: u64 = 60 * PICOS_PER_SECOND;

/// Returns the cost of `bytes` in picobits.
#[inline]
fn picobits(bytes: Bytes) -> i128 {
    // Below 2^107.
    (u128::from(bytes.0) * u128::from(BYTE)).cast_signed()
}

/// Tokens that accumulate at a rate, up to a depth.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// Tokens in picobits; a debt if negative.
    level: i128,
    rate: u64,
    depth: Bytes,
}

impl Bucket {
    /// Creates a full bucket.
    pub(super) fn new(rate: Rate, depth: Bytes) -> Self {
        Self { level: picobits(depth), rate: rate.as_bits(), depth }
    }

    /// Returns the bucket with another rate and depth, and its level as far as it fits.
    pub(super) fn retuned(&self, rate: Rate, depth: Bytes) -> Self {
        let fresh = Self::new(rate, depth);
        Self { level: self.level.min(fresh.level).max(fresh.floor()), ..fresh }
    }

    /// Returns the rate of tokens.
    pub(super) fn rate(&self) -> Rate {
        Rate::from_bits(self.rate)
    }

    /// Returns its depth.
    pub(super) fn depth(&self) -> Bytes {
        self.depth
    }

    #[inline]
    fn floor(&self) -> i128 {
        // Above -2^110.
        -(u128::from(MOST_DEBT) * u128::from(self.rate)).cast_signed()
    }

    /// Adds the tokens of `elapsed`.
    #[inline]
    pub(super) fn fill(&mut self, elapsed: Duration) {
        let gain = u128::from(elapsed.as_picos()) * u128::from(self.rate);
        let full = picobits(self.depth);
        let room = (full - self.level).cast_unsigned();
        self.level = if gain < room { self.level + gain.cast_signed() } else { full };
    }

    /// Removes the tokens that `bytes` cost.
    #[inline]
    pub(super) fn charge(&mut self, bytes: Bytes) {
        self.level = (self.level - picobits(bytes)).max(self.floor());
    }

    /// Returns whether it has no debt.
    #[inline]
    pub(super) fn is_solvent(&self) -> bool {
        self.level >= 0
    }

    /// Returns the time until its debt is paid, rounded up to the picosecond.
    #[inline]
    pub(super) fn recovery(&self) -> Duration {
        let debt = u128::try_from(-self.level).unwrap_or(0);
        let picos = match u64::try_from(debt) {
            Ok(debt) => debt.div_ceil(self.rate),
            Err(_) => u64::try_from(debt.div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX),
        };
        Duration::from_picos(picos)
    }

    /// Returns the level in whole bytes, rounded down.
    pub(super) fn whole_bytes(&self) -> i128 {
        self.level.div_euclid(i128::from(BYTE))
    }

    /// Returns the level in bytes, for display.
    pub(super) fn as_bytes(&self) -> f64 {
        self.level as f64 / BYTE as f64
    }
}
