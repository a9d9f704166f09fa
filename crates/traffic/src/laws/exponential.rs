//! Exponential: memoryless, the gaps of a Poisson process.
//!
//! ```text
//! F(x) = 1 - exp(-x / mean)      variance = mean^2
//! ```

use lockgate_engine::random::Random;

use super::{Distribution, Field, Given, Parameter};
use crate::invalid::Invalid;
use crate::ziggurat::StandardExponential;

/// The exponential law.
#[derive(Clone, Debug)]
pub struct Exponential {
    mean: f64,
    standard: StandardExponential,
}

impl Distribution for Exponential {
    const NAME: &'static str = "exponential";
    const SUMMARY: &'static str = "memoryless: the gaps of a Poisson process";
    const SOURCE: &'static str =
        "the M (Markovian) of Kendall's notation; drawn by ziggurat (Marsaglia and Tsang 2000)";
    const PARAMETERS: &'static [Parameter] =
        &[Parameter::required(Field::Mean, "The mean, and the standard deviation.")];

    fn new(given: &Given) -> Result<Self, Invalid> {
        let mean = Given::positive(Field::Mean, given.mean)?.unwrap_or_default();
        Ok(Self { mean, standard: StandardExponential::new() })
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        self.mean * self.standard.draw(random)
    }

    fn mean(&self) -> f64 {
        self.mean
    }

    fn variance(&self) -> f64 {
        self.mean * self.mean
    }

    fn cdf(&self, x: f64) -> f64 {
        if x <= 0.0 { 0.0 } else { -libm::expm1(-x / self.mean) }
    }
}
