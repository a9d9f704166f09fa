//! Weibull: between exponential and heavy-tailed; a shape below 1 stretches the tail, above 1 shortens it.
//!
//! ```text
//! F(x) = 1 - exp(-(x / scale)^shape)      mean = scale * Gamma(1 + 1 / shape)
//! ```

use lockgate_engine::random::Random;

use super::{Distribution, Field, Given, Parameter};
use crate::invalid::Invalid;
use crate::ziggurat::StandardExponential;

/// The Weibull law, a stretched exponential.
#[derive(Clone, Debug)]
pub struct Weibull {
    scale: f64,
    shape: f64,
    standard: StandardExponential,
}

impl Distribution for Weibull {
    const NAME: &'static str = "weibull";
    const SUMMARY: &'static str =
        "a stretched exponential: a shape below 1 lengthens the tail, above 1 shortens it";
    const SOURCE: &'static str = "Weibull distribution: an exponential draw to the power 1 / shape";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::required(Field::Shape, "1 is exponential, 2 is Rayleigh, below 1 is long-tailed."),
        Parameter::one_of(Field::Mean, "The mean."),
        Parameter::one_of(Field::Scale, "The value that 63 in 100 draws are below."),
    ];

    fn new(given: &Given) -> Result<Self, Invalid> {
        let shape = given.positive_shape()?;
        let mean = Given::positive(Field::Mean, given.mean)?;
        let scale = match Given::positive(Field::Scale, given.scale)? {
            Some(scale) => scale,
            None => mean.unwrap_or_default() / moment(shape, 1.0),
        };
        Ok(Self { scale, shape, standard: StandardExponential::new() })
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        self.scale * libm::pow(self.standard.draw(random), 1.0 / self.shape)
    }

    fn mean(&self) -> f64 {
        self.scale * moment(self.shape, 1.0)
    }

    fn variance(&self) -> f64 {
        let mean = moment(self.shape, 1.0);
        self.scale * self.scale * (moment(self.shape, 2.0) - mean * mean)
    }

    fn cdf(&self, x: f64) -> f64 {
        if x <= 0.0 { 0.0 } else { -libm::expm1(-libm::pow(x / self.scale, self.shape)) }
    }
}

/// Computes the mean of x^order at scale one.
fn moment(shape: f64, order: f64) -> f64 {
    libm::tgamma(1.0 + order / shape)
}
