//! Normal, truncated at zero.
//!
//! ```text
//! density ~ exp(-(x - mean)^2 / (2 std^2))   for x >= 0
//! ```
//!
//! Negative draws are rejected and drawn again, so that the achieved mean is above the given one: by 0.3
//! std if the mean is one std, by less than 0.0001 std from four std on. `Law::mean` is the achieved mean.

use core::f64::consts::{FRAC_1_SQRT_2, PI};

use lockgate_engine::random::Random;

use super::{Distribution, Field, Given, Parameter};
use crate::invalid::Invalid;
use crate::ziggurat::StandardNormal;

/// The normal law, truncated at zero.
#[derive(Clone, Debug)]
pub struct Normal {
    mean: f64,
    std: f64,
    standard: StandardNormal,
}

impl Distribution for Normal {
    const NAME: &'static str = "normal";
    const SUMMARY: &'static str = "the bell curve, cut off at zero";
    const SOURCE: &'static str =
        "normal distribution truncated at zero; drawn by ziggurat (Marsaglia and Tsang 2000)";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::required(Field::Mean, "The mean before the cut: where the curve has its top."),
        Parameter::required(Field::Std, "The standard deviation before the cut."),
    ];

    fn new(given: &Given) -> Result<Self, Invalid> {
        let (mean, std) = (given.mean.unwrap_or_default(), given.std.unwrap_or_default());
        Ok(Self { mean, std, standard: StandardNormal::new() })
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        // The mean is not negative, so that at least half of the draws are accepted.
        loop {
            let x = self.mean + self.std * self.standard.draw(random);
            if x >= 0.0 {
                return x;
            }
        }
    }

    fn mean(&self) -> f64 {
        self.mean + self.std * self.hazard()
    }

    fn variance(&self) -> f64 {
        if self.std <= 0.0 {
            return 0.0;
        }
        let (hazard, cut) = (self.hazard(), -self.mean / self.std);
        self.std * self.std * (1.0 + cut * hazard - hazard * hazard)
    }

    fn cdf(&self, x: f64) -> f64 {
        if self.std <= 0.0 {
            return f64::from(u8::from(x >= self.mean));
        }
        let uncut = |x: f64| 0.5 * libm::erfc((self.mean - x) / self.std * FRAC_1_SQRT_2);
        let below_zero = uncut(0.0);
        ((uncut(x) - below_zero) / (1.0 - below_zero)).clamp(0.0, 1.0)
    }
}

impl Normal {
    /// Returns density divided by survival at the cut, both of the standard normal law.
    fn hazard(&self) -> f64 {
        if self.std <= 0.0 {
            return 0.0;
        }
        let cut = -self.mean / self.std;
        let density = libm::exp(-0.5 * cut * cut) / libm::sqrt(2.0 * PI);
        density / (0.5 * libm::erfc(cut * FRAC_1_SQRT_2))
    }
}
