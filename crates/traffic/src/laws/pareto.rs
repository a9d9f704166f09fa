//! Pareto: heavy-tailed, a few draws carry most of the sum.
//!
//! ```text
//! F(x) = 1 - (scale / x)^shape                                  x >= scale
//! F(x) = (1 - (scale / x)^shape) / (1 - (scale / max)^shape)    scale <= x <= max, if `max` is given
//! ```
//!
//! Unbounded, the mean is infinite for a shape up to 1 and the variance up to 2.

use lockgate_engine::random::Random;

use super::{Distribution, Field, Given, Parameter};
use crate::invalid::Invalid;
use crate::ziggurat::StandardExponential;

/// The Pareto law, optionally bounded.
#[derive(Clone, Debug)]
pub struct Pareto {
    scale: f64,
    shape: f64,
    /// Upper limit, and the probability that the unbounded law is below it.
    bound: Option<(f64, f64)>,
    standard: StandardExponential,
}

impl Distribution for Pareto {
    const NAME: &'static str = "pareto";
    const SUMMARY: &'static str = "heavy-tailed: a few draws carry most of the sum";
    const SOURCE: &'static str = "Pareto type I; with `max` the bounded (truncated) Pareto distribution";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::required(
            Field::Shape,
            "Tail index: the smaller, the heavier the tail; 1.2 to 2 for traffic.",
        ),
        Parameter::one_of(Field::Mean, "The mean; without `max` the shape must then be above 1."),
        Parameter::one_of(Field::Scale, "The least value."),
        Parameter::optional(
            Field::Max,
            "Cuts the tail off: nothing above it is drawn, and the mean stays as given.",
        ),
    ];

    fn new(given: &Given) -> Result<Self, Invalid> {
        let shape = given.positive_shape()?;
        let (mean, scale) =
            (Given::positive(Field::Mean, given.mean)?, Given::positive(Field::Scale, given.scale)?);
        let scale = match (mean, scale, given.max) {
            (_, Some(scale), Some(max)) if max <= scale => {
                return Err(Invalid::new("max", "must be above `scale`, the least value"));
            }
            (_, Some(scale), _) => scale,
            (Some(mean), None, Some(max)) if max <= mean => {
                return Err(Invalid::new("max", "must be above `mean`"));
            }
            (Some(mean), None, Some(max)) => scale_of_bounded(mean, shape, max).ok_or_else(|| {
                Invalid::new(
                    "mean",
                    "is too far below `max` for this shape: give a greater shape or a smaller `max`",
                )
            })?,
            (Some(mean), None, None) if shape > 1.0 => mean * (shape - 1.0) / shape,
            _ => {
                let why = format!(
                    "of `{shape}` has an infinite mean: take one above 1, give `scale` instead of `mean`, or bound it by `max`"
                );
                return Err(Invalid::new("shape", why));
            }
        };
        let bound = given.max.map(|max| (max, 1.0 - libm::pow(scale / max, shape)));
        Ok(Self { scale, shape, bound, standard: StandardExponential::new() })
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        match self.bound {
            None => self.scale * libm::exp(self.standard.draw(random) / self.shape),
            Some((max, within)) => {
                let x = self.scale * libm::pow(1.0 - random.unit() * within, -1.0 / self.shape);
                x.min(max)
            }
        }
    }

    fn mean(&self) -> f64 {
        self.moment(1.0)
    }

    fn variance(&self) -> f64 {
        let mean = self.mean();
        self.moment(2.0) - mean * mean
    }

    fn cdf(&self, x: f64) -> f64 {
        if x <= self.scale {
            return 0.0;
        }
        let unbounded = 1.0 - libm::pow(self.scale / x, self.shape);
        self.bound.map_or(unbounded, |(_, within)| (unbounded / within).min(1.0))
    }
}

impl Pareto {
    /// Returns the mean of x^order.
    fn moment(&self, order: f64) -> f64 {
        match self.bound {
            None if self.shape <= order => f64::INFINITY,
            None => self.shape * libm::pow(self.scale, order) / (self.shape - order),
            Some((max, within)) => bounded_moment(self.scale, self.shape, max, order) / within,
        }
    }
}

/// Computes the integral of x^order times the unbounded density from `scale` to `max`.
fn bounded_moment(scale: f64, shape: f64, max: f64, order: f64) -> f64 {
    let (power, ratio) = (order - shape, libm::log(max / scale));
    // (r^power - 1) / power, with the limit ln r as the power vanishes.
    let growth = if power.abs() < 1e-9 { ratio } else { libm::expm1(power * ratio) / power };
    shape * libm::pow(scale, order) * growth
}

/// Computes the smallest value of the law that is bounded by `max` and has this mean, which must be below
/// `max`; `None` if it is too small to compute its mean.
fn scale_of_bounded(mean: f64, shape: f64, max: f64) -> Option<f64> {
    let mean_at = |scale: f64| {
        let within = -libm::expm1(shape * libm::log(scale / max));
        bounded_moment(scale, shape, max, 1.0) / within
    };
    // The mean grows with the scale, from zero to `max`: bisection to full precision.
    let (mut low, mut high) = (0.0, mean);
    for _ in 0..200 {
        let scale = 0.5 * (low + high);
        if mean_at(scale) < mean {
            low = scale;
        } else {
            high = scale;
        }
    }
    ((mean_at(high) / mean - 1.0).abs() < 1e-6).then_some(high)
}
