//! Extreme value (Gumbel): the largest of many values; sizes and gaps of game traffic.
//!
//! ```text
//! F(x) = exp(-exp(-(x - location) / scale))      mean = location + 0.5772 scale      std = 1.2825 scale
//! ```
//!
//! Given by its `mean` and `std` or `scale`. Draws below zero become zero (or one byte).

use lockgate_engine::random::Random;

use super::{Distribution, Field, Given, Parameter};
use crate::invalid::Invalid;
use crate::ziggurat::StandardExponential;

/// Euler's constant: the mean of the standard law.
const EULER: f64 = 0.577_215_664_901_532_9;
/// Standard deviation of the standard law, pi / sqrt(6).
const STANDARD_STD: f64 = 1.282_549_830_161_864;

/// The Gumbel law.
#[derive(Clone, Debug)]
pub struct Extreme {
    location: f64,
    scale: f64,
    standard: StandardExponential,
}

impl Distribution for Extreme {
    const NAME: &'static str = "extreme";
    const SUMMARY: &'static str = "the largest of many values (Gumbel): sizes and gaps of game traffic";
    const SOURCE: &'static str = "largest extreme value distribution, type I";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::required(Field::Mean, "The mean: location + 0.5772 scale."),
        Parameter::one_of(Field::Scale, "How wide it is."),
        Parameter::one_of(Field::Std, "The standard deviation: 1.2825 scale."),
    ];

    fn new(given: &Given) -> Result<Self, Invalid> {
        let mean = Given::positive(Field::Mean, given.mean)?.unwrap_or_default();
        let std = Given::positive(Field::Std, given.std)?;
        let scale = match Given::positive(Field::Scale, given.scale)? {
            Some(scale) => scale,
            None => std.unwrap_or_default() / STANDARD_STD,
        };
        Ok(Self { location: mean - EULER * scale, scale, standard: StandardExponential::new() })
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        // An exponential draw is minus the logarithm of a uniform one; zero would make the result infinite.
        self.location - self.scale * libm::log(self.standard.draw(random).max(f64::MIN_POSITIVE))
    }

    fn mean(&self) -> f64 {
        self.location + EULER * self.scale
    }

    fn variance(&self) -> f64 {
        let std = STANDARD_STD * self.scale;
        std * std
    }

    fn cdf(&self, x: f64) -> f64 {
        libm::exp(-libm::exp((self.location - x) / self.scale))
    }
}
