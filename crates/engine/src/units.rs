//! Quantities with their units: time in picoseconds, sizes in bytes, rates in bits per second.
//!
//! ```text
//! one byte at   10    25    40   100   200   400   800  Gbit/s
//!              800   320   200    80    40    20    10  ps        whole numbers: no rounding at line rate
//! ```
//!
//! 2^64 ps is 213 days. Sums saturate at the end of time instead of wrapping. How quantities are
//! written in files is in [`text`].

pub mod text;

use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// Picoseconds in a second.
pub const PICOS_PER_SECOND: u64 = 1_000_000_000_000;
/// Bit-picoseconds a byte costs at one bit per second: `8 * 10^12`.
const BYTE_PICOS: u64 = 8 * PICOS_PER_SECOND;

/// A point in time: picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const NEVER: Self = Self(u64::MAX);

    /// Creates the instant `picos` picoseconds after the start.
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// Returns the picoseconds since the start.
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start, for statistics and display.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PICOS_PER_SECOND as f64
    }

    /// Returns the time passed since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.0))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.0))
    }
}

/// A length of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than every run.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a duration of `picos` picoseconds.
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// Creates a duration of `micros` microseconds, saturating.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000_000))
    }

    /// Creates a duration of `millis` milliseconds, saturating.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000_000))
    }

    /// Creates a duration of `secs` seconds, saturating.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(PICOS_PER_SECOND))
    }

    /// Creates a duration of `secs` seconds, to the nearest picosecond. Negative numbers and NaN give zero,
    /// too large ones [`Self::MAX`].
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * PICOS_PER_SECOND as f64 + 0.5) as u64)
    }

    /// Returns the picoseconds.
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Returns the seconds, for statistics and display.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PICOS_PER_SECOND as f64
    }

    /// Returns `self - other`, or zero if that would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns `self + other` without a check for overflow: for parts of a time that has passed, whose sum is
    /// at most that time.
    #[must_use]
    #[inline(always)]
    pub const fn joined(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    /// Returns whether it is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    /// Rounds down.
    ///
    /// # Panics
    /// If `parts` is zero, as for integers.
    #[inline]
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

/// An amount of data in bytes; layer-2 frame bytes unless a name says payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No data.
    pub const ZERO: Self = Self(0);

    /// Returns `self - other`, or zero if that would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

/// A number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packets(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Creates a rate of `bits` bits per second.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the bits per second.
    pub const fn as_bits(self) -> u64 {
        self.0
    }

    /// Returns whether it is zero: no packet ever passes.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the time that `bytes` take at this rate, rounded **up** to the picosecond, so that a shaper
    /// never exceeds its rate. At a rate of zero it is [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub fn time_for(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        match bytes.0.checked_mul(BYTE_PICOS) {
            Some(bit_picos) => Duration(bit_picos.div_ceil(self.0)),
            None => self.time_for_many(bytes),
        }
    }

    #[cold]
    fn time_for_many(self, bytes: Bytes) -> Duration {
        let picos = (u128::from(bytes.0) * u128::from(BYTE_PICOS)).div_ceil(u128::from(self.0));
        Duration(u64::try_from(picos).unwrap_or(u64::MAX))
    }

    /// Returns the whole bytes that pass in `duration`, rounded **down**.
    #[must_use]
    pub fn bytes_in(self, duration: Duration) -> Bytes {
        let bytes = u128::from(duration.0) * u128::from(self.0) / u128::from(BYTE_PICOS);
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// A probability as a fixed-point number with 32 binary digits: the same on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probability(u64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0);
    /// Always.
    pub const ONE: Self = Self(1 << 32);

    /// Returns the nearest representable probability; `None` outside 0..=1 and for NaN.
    pub fn from_f64(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self((value * 4_294_967_296.0 + 0.5) as u64))
    }

    /// Returns the value between 0 and 1.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 4_294_967_296.0
    }

    /// Returns the probability in steps of 2^-32.
    pub(crate) const fn steps(self) -> u64 {
        self.0
    }

    /// Returns true if a uniformly drawn 32-bit number falls under this probability.
    #[inline]
    pub const fn hits(self, draw: u32) -> bool {
        (draw as u64) < self.0
    }
}

/// How much a queue may hold: packets (`100p`) or bytes (`64kB`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// At most this many packets.
    Packets(Packets),
    /// At most this many bytes.
    Bytes(Bytes),
}

impl Limit {
    /// Returns true if a backlog of `packets` and `bytes` is within the limit.
    #[inline]
    pub const fn allows(self, packets: u64, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => packets <= limit.0,
            Self::Bytes(limit) => bytes <= limit.0,
        }
    }
}

/// From when on a queue is too long: a waiting (`1ms`) or a number of packets (`5p`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threshold {
    /// A packet that waited longer than this.
    Time(Duration),
    /// More packets than this.
    Packets(Packets),
}

/// Bytes that a link adds to every frame, or removes if negative: `38B`, `-4B`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Overhead(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_frames_at_100_gbit_carry_no_rounding() {
        let rate = Rate::from_bits(100_000_000_000);
        assert_eq!(rate.time_for(Bytes(64)), Duration::from_picos(5_120));
        // A worst case: 64-byte frames at a rate that does not divide: 11 ppb of error.
        let odd = Rate::from_bits(99_999_999_999);
        let exact = 64.0 * 8e12 / 99_999_999_999.0;
        assert!((odd.time_for(Bytes(64)).as_picos() as f64 / exact - 1.0).abs() < 200e-6);
    }

    #[test]
    fn time_rounds_up_and_bytes_round_down() {
        for bits in [1, 3, 64, 429_000, 715_000, 10_000_000, 799_999_999_999] {
            let rate = Rate::from_bits(bits);
            for bytes in [0, 1, 53, 64, 1058, 1514, 65_536, 3_000_000] {
                let time = rate.time_for(Bytes(bytes));
                if time < Duration::MAX {
                    assert!(rate.bytes_in(time) >= Bytes(bytes), "{bytes} B at {bits}");
                    assert!(
                        bytes == 0 || rate.bytes_in(Duration(time.0 - 1)) < Bytes(bytes),
                        "{bytes} B at {bits} is rounded up by more than a picosecond"
                    );
                }
            }
        }
    }

    #[test]
    fn the_end_of_time_does_not_wrap() {
        assert_eq!(Instant::NEVER + Duration::from_secs(1), Instant::NEVER);
        assert_eq!(Rate::from_bits(1).time_for(Bytes(u64::MAX)), Duration::MAX);
        assert_eq!(Rate::from_bits(0).time_for(Bytes(1)), Duration::MAX);
        assert_eq!(Rate::from_bits(u64::MAX).bytes_in(Duration::MAX), Bytes(u64::MAX));
    }
}
