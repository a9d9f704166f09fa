//! Log-normal: the logarithm is normal; products of many small effects, file sizes.
//!
//! ```text
//! X = exp(mu + sigma Z)      sigma^2 = ln(1 + std^2 / mean^2)      mu = ln mean - sigma^2 / 2
//! ```

use core::f64::consts::FRAC_1_SQRT_2;

use lockgate_engine::random::Random;

use super::{Distribution, Field, Given, Parameter};
use crate::invalid::Invalid;
use crate::ziggurat::StandardNormal;

/// The log-normal law.
#[derive(Clone, Debug)]
pub struct LogNormal {
    mean: f64,
    std: f64,
    mu: f64,
    sigma: f64,
    standard: StandardNormal,
}

impl Distribution for LogNormal {
    const NAME: &'static str = "log-normal";
    const SUMMARY: &'static str = "its logarithm is normal: file sizes, durations of calls";
    const SOURCE: &'static str = "log-normal distribution by its own moments, not those of its logarithm";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::required(Field::Mean, "The mean of the law itself."),
        Parameter::required(Field::Std, "The standard deviation of the law itself."),
    ];

    fn new(given: &Given) -> Result<Self, Invalid> {
        let mean = Given::positive(Field::Mean, given.mean)?.unwrap_or_default();
        let std = given.std.unwrap_or_default();
        let variation = std / mean;
        let sigma_squared = libm::log1p(variation * variation);
        Ok(Self {
            mean,
            std,
            mu: libm::log(mean) - 0.5 * sigma_squared,
            sigma: libm::sqrt(sigma_squared),
            standard: StandardNormal::new(),
        })
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        libm::exp(self.mu + self.sigma * self.standard.draw(random))
    }

    fn mean(&self) -> f64 {
        self.mean
    }

    fn variance(&self) -> f64 {
        self.std * self.std
    }

    fn cdf(&self, x: f64) -> f64 {
        if x <= 0.0 {
            0.0
        } else if self.sigma <= 0.0 {
            f64::from(u8::from(x >= self.mean))
        } else {
            0.5 * libm::erfc((self.mu - libm::log(x)) / self.sigma * FRAC_1_SQRT_2)
        }
    }
}
