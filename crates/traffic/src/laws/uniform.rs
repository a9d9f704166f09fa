//! Uniform: every value between two limits is equally likely.
//!
//! ```text
//! P(X = k) = 1 / (max - min + 1)     k = min, min + 1, ..., max   in grains (picoseconds or bytes)
//! ```

use lockgate_engine::random::Random;

use super::{Distribution, Field, Given, Parameter};
use crate::invalid::Invalid;

/// The uniform law over whole grains, both limits included.
#[derive(Clone, Debug)]
pub struct Uniform {
    /// Half a grain below the smallest value, so that rounding gives both ends their full probability.
    from: f64,
    /// Number of values.
    span: f64,
}

impl Distribution for Uniform {
    const NAME: &'static str = "uniform";
    const SUMMARY: &'static str = "every value between two bounds equally likely";
    const SOURCE: &'static str = "discrete uniform distribution, both bounds included";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::required(Field::Min, "The least value."),
        Parameter::required(Field::Max, "The greatest value."),
    ];

    fn new(given: &Given) -> Result<Self, Invalid> {
        let (min, max) = (given.min.unwrap_or_default(), given.max.unwrap_or_default());
        Ok(Self { from: min - 0.5, span: max - min + 1.0 })
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        self.from + self.span * random.unit()
    }

    fn mean(&self) -> f64 {
        self.from + 0.5 * self.span
    }

    fn variance(&self) -> f64 {
        (self.span * self.span - 1.0) / 12.0
    }

    fn cdf(&self, x: f64) -> f64 {
        ((x + 0.5 - self.from) / self.span).clamp(0.0, 1.0)
    }
}
