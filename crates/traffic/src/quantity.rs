//! Quantities that a law can draw: times and sizes, as whole numbers of grains.

use core::fmt::{Debug, Display};
use core::str::FromStr;

use lockgate_engine::schema::Described;
use lockgate_engine::units::text::Malformed;
use lockgate_engine::units::{Bytes, Duration, PICOS_PER_SECOND};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A quantity that can be random: [`Duration`] (in picoseconds) or [`Bytes`].
pub trait Quantity:
    Copy
    + Debug
    + Display
    + Ord
    + Send
    + Sync
    + FromStr<Err = Malformed>
    + Serialize
    + DeserializeOwned
    + Described
    + 'static
{
    /// Name in errors, with its article.
    const NAME: &'static str;
    /// Example of the notation.
    const EXAMPLE: &'static str;
    /// Smallest value drawn: zero time, one byte.
    const LEAST: Self;
    /// Largest value that can be represented.
    const MOST: Self;
    /// Grains per unit of results: picoseconds per second, bytes per byte.
    const GRAINS: f64;

    /// Returns the nearest whole number of grains, clamped to [`Self::LEAST`] and [`Self::MOST`]; NaN gives
    /// the smallest.
    fn from_grains(grains: f64) -> Self;

    /// Returns its number of grains; exact up to 2^53.
    fn to_grains(self) -> f64;
}

impl Quantity for Duration {
    const NAME: &'static str = "a duration";
    const EXAMPLE: &'static str = "20ms";
    const LEAST: Self = Self::ZERO;
    const MOST: Self = Self::MAX;
    const GRAINS: f64 = PICOS_PER_SECOND as f64;

    #[inline]
    fn from_grains(grains: f64) -> Self {
        // The cast saturates, and converts NaN to zero.
        Self::from_picos((grains + 0.5) as u64)
    }

    #[inline]
    fn to_grains(self) -> f64 {
        self.as_picos() as f64
    }
}

impl Quantity for Bytes {
    const NAME: &'static str = "a size";
    const EXAMPLE: &'static str = "200B";
    const LEAST: Self = Self(1);
    const MOST: Self = Self(u64::MAX);
    const GRAINS: f64 = 1.0;

    #[inline]
    fn from_grains(grains: f64) -> Self {
        Self(((grains + 0.5) as u64).max(1))
    }

    #[inline]
    fn to_grains(self) -> f64 {
        self.0 as f64
    }
}
