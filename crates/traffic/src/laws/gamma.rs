//! Gamma: the sum of exponential values, generalized to a real number of them.
//!
//! ```text
//! density ~ x^(shape - 1) exp(-x / scale)      mean = shape * scale      variance = shape * scale^2
//! ```
//!
//! Source of the sampler: Marsaglia and Tsang, "A simple method for generating gamma variables", ACM
//! Transactions on Mathematical Software 26(3), 2000; its section 6 for a shape below 1.

use lockgate_engine::random::Random;

use super::{Distribution, Field, Given, Parameter};
use crate::invalid::Invalid;
use crate::ziggurat::{StandardExponential, StandardNormal};

/// A sum of `shape` exponential values of mean `scale`.
#[derive(Clone, Debug)]
pub struct Gamma {
    scale: f64,
    shape: f64,
    /// Shape used for drawing, at least 1: the given shape, plus 1 if it is below 1.
    lifted: f64,
    normal: StandardNormal,
    exponential: StandardExponential,
}

impl Distribution for Gamma {
    const NAME: &'static str = "gamma";
    const SUMMARY: &'static str = "a sum of exponential values, for any real number of them";
    const SOURCE: &'static str =
        "gamma (Erlang for whole shapes) distribution; drawn as in Marsaglia and Tsang (2000)";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::required(
            Field::Shape,
            "1 is exponential, k is Erlang-k; the variation is 1 / sqrt(shape).",
        ),
        Parameter::one_of(Field::Mean, "The mean."),
        Parameter::one_of(Field::Scale, "The mean of each of the values summed."),
    ];

    fn new(given: &Given) -> Result<Self, Invalid> {
        let shape = given.positive_shape()?;
        let mean = Given::positive(Field::Mean, given.mean)?;
        let scale = match Given::positive(Field::Scale, given.scale)? {
            Some(scale) => scale,
            None => mean.unwrap_or_default() / shape,
        };
        let lifted = if shape < 1.0 { shape + 1.0 } else { shape };
        Ok(Self {
            scale,
            shape,
            lifted,
            normal: StandardNormal::new(),
            exponential: StandardExponential::new(),
        })
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        let drawn = self.scale * self.draw_lifted(random);
        if self.shape < 1.0 {
            // Multiplying by a uniform number to the power 1 / shape corrects for the raised shape.
            drawn * libm::exp(-self.exponential.draw(random) / self.shape)
        } else {
            drawn
        }
    }

    fn mean(&self) -> f64 {
        self.shape * self.scale
    }

    fn variance(&self) -> f64 {
        self.shape * self.scale * self.scale
    }

    fn cdf(&self, x: f64) -> f64 {
        if x <= 0.0 { 0.0 } else { lower_incomplete(self.shape, x / self.scale) }
    }
}

impl Gamma {
    /// Draws at scale one with the raised shape.
    fn draw_lifted(&self, random: &mut Random) -> f64 {
        let d = self.lifted - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let normal = self.normal.draw(random);
            let root = 1.0 + c * normal;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            // Accept if ln(uniform) is below; minus ln(uniform) is exponential.
            if -self.exponential.draw(random) < 0.5 * normal * normal + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }
}

/// Computes the regularised lower incomplete gamma function P(shape, x): by its series for small x, by its
/// continued fraction (modified Lentz) for large x.
#[allow(clippy::many_single_char_names, reason = "the names the continued fraction has in every textbook")]
fn lower_incomplete(shape: f64, x: f64) -> f64 {
    // Both converge within a few times sqrt(shape) steps.
    let steps = 200 + (20.0 * libm::sqrt(shape)) as u32;
    let front = libm::exp(shape * libm::log(x) - x - libm::lgamma(shape));
    if x < shape + 1.0 {
        let (mut term, mut sum) = (1.0 / shape, 1.0 / shape);
        for step in 1..steps {
            term *= x / (shape + f64::from(step));
            sum += term;
            if term < sum * 1e-15 {
                break;
            }
        }
        return (sum * front).min(1.0);
    }
    let tiny = 1e-300;
    let mut b = x + 1.0 - shape;
    let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
    let mut fraction = d;
    for step in 1..steps {
        let step = f64::from(step);
        let a = step * (shape - step);
        b += 2.0;
        let bounded = |value: f64| if value.abs() < tiny { tiny } else { value };
        d = 1.0 / bounded(a * d + b);
        c = bounded(b + a / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (1.0 - front * fraction).clamp(0.0, 1.0)
}
