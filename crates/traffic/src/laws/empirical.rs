//! Empirical distribution: values with their weights, or a curve read from a file.
//!
//! ```text
//! values = ["64B", "1518B"], weights = [7, 1]      one of these values, by weight
//! file = "web.cdf"                                 a curve, straight between its points
//!
//! # web.cdf: a value with its unit, and the fraction of draws at or below it
//! 64B    0.10
//! 576B   0.55
//! 1500B  100%
//! ```
//!
//! The values of a file must rise, the fractions must not fall, and the last must be 1. A first fraction
//! above zero is the probability of the first value itself. Text after `#` is a comment.

use std::sync::Arc;

use lockgate_engine::random::Random;
use lockgate_engine::units::text::Malformed;

use super::{Distribution, Field, Given, Parameter};
use crate::invalid::Invalid;
use crate::quantity::Quantity;

/// Limit on the number of points or values.
const MOST_POINTS: usize = 1_000_000;

/// Error of a curve's file, as the continuation of the file's name.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// The file cannot be loaded: the reason.
    #[error("{0}")]
    Unreadable(String),
    /// Not a text.
    #[error("is not text in UTF-8")]
    NotText,
    /// A line is not a value and a fraction.
    #[error("has in line {line} {why}")]
    Line {
        /// Line, from 1.
        line: usize,
        /// Reason.
        why: PointError,
    },
    /// A value or a share falls in this line.
    #[error("has in line {0} a value or a share under the one before: both rise")]
    Falls(usize),
    /// Too many points.
    #[error("has more than {MOST_POINTS} points")]
    TooLong,
    /// No points.
    #[error("has no points: a line is a value and a share, such as `1500B 0.8`")]
    Empty,
    /// The last share is not 1.
    #[error("ends with the share `{0}`: the last must be 1")]
    End(f64),
}

/// Error of a line that is not a value and a fraction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointError {
    /// Not two words.
    #[error("`{line}`: a line is a value and a share, such as `{example} 0.8`")]
    Words {
        /// The line.
        line: String,
        /// Example of a value.
        example: &'static str,
    },
    /// The value is malformed.
    #[error(transparent)]
    Value(#[from] Malformed),
    /// The share is malformed.
    #[error("the share `{0}`: it is between 0 and 1, or 0% and 100%")]
    Share(String),
}

/// A cumulative distribution, linear between its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Value in grains, and the fraction of draws at or below it; both rise, and the last fraction is 1.
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// Reads a curve from the bytes of a file.
    ///
    /// # Errors
    /// If a line is not a value and a fraction, or if they do not rise.
    pub fn read<Q: Quantity>(bytes: &[u8]) -> Result<Self, CurveError> {
        let text = core::str::from_utf8(bytes).map_err(|_| CurveError::NotText)?;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let point = read_point::<Q>(line).map_err(|why| CurveError::Line { line: index + 1, why })?;
            if points.last().is_some_and(|last| point.0 < last.0 || point.1 < last.1) {
                return Err(CurveError::Falls(index + 1));
            }
            points.push(point);
            if points.len() > MOST_POINTS {
                return Err(CurveError::TooLong);
            }
        }
        match points.last() {
            None => Err(CurveError::Empty),
            Some((_, share)) if (share - 1.0).abs() > 1e-9 => Err(CurveError::End(*share)),
            Some(_) => Ok(Self { points }),
        }
    }

    /// Returns the quantile `share`.
    fn at(&self, share: f64) -> f64 {
        let next = self.points.partition_point(|point| point.1 <= share).min(self.points.len() - 1);
        let (high, above) = self.points[next];
        let Some(&(low, below)) = next.checked_sub(1).and_then(|previous| self.points.get(previous)) else {
            return high;
        };
        if above > below {
            low + (high - low) * ((share - below) / (above - below)).clamp(0.0, 1.0)
        } else {
            high
        }
    }

    /// Returns the mean of x^order, order 1 or 2.
    fn moment(&self, order: i32) -> f64 {
        let power = |x: f64| if order == 1 { x } else { x * x };
        let first = self.points.first().map_or(0.0, |(value, share)| power(*value) * share);
        let pieces = self.points.windows(2).map(|pair| {
            let ((low, below), (high, above)) = (pair[0], pair[1]);
            let mean =
                if order == 1 { 0.5 * (low + high) } else { (low * low + low * high + high * high) / 3.0 };
            mean * (above - below)
        });
        first + pieces.sum::<f64>()
    }

    fn cdf(&self, x: f64) -> f64 {
        let next = self.points.partition_point(|point| point.0 <= x);
        let Some(&(low, below)) = next.checked_sub(1).and_then(|previous| self.points.get(previous)) else {
            return 0.0;
        };
        match self.points.get(next) {
            Some(&(high, above)) => below + (above - below) * (x - low) / (high - low),
            None => 1.0,
        }
    }
}

fn read_point<Q: Quantity>(line: &str) -> Result<(f64, f64), PointError> {
    let Some((value, share)) = line.rsplit_once(char::is_whitespace) else {
        return Err(PointError::Words { line: line.to_owned(), example: Q::EXAMPLE });
    };
    let value: Q = value.parse()?;
    let (number, unit) = share.strip_suffix('%').map_or((share, 1.0), |percent| (percent, 100.0));
    match number.parse::<f64>().map(|number| number / unit) {
        Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok((value.to_grains(), fraction)),
        _ => Err(PointError::Share(share.to_owned())),
    }
}

/// The empirical law.
#[derive(Clone, Debug)]
pub struct Empirical(Shape);

#[derive(Clone, Debug)]
enum Shape {
    /// Values, rising, each with the fraction of draws at or below it.
    Values(Arc<Curve>),
    Curve(Arc<Curve>),
}

impl Distribution for Empirical {
    const NAME: &'static str = "empirical";
    const SUMMARY: &'static str =
        "as it was measured: values with their weights, or a curve read from a file";
    const SOURCE: &'static str =
        "discrete distribution; from a file, inverse transform of the curve, straight between its points";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::one_of(Field::Values, "The values that are drawn."),
        Parameter::one_of(
            Field::File,
            "A file of two columns: a value with its unit and the share of draws at or below it, rising to 1.",
        ),
        Parameter::optional(
            Field::Weights,
            "How often each of `values` is drawn relative to the others; equally often where left out.",
        ),
    ];

    fn new(given: &Given) -> Result<Self, Invalid> {
        let Some(curve) = &given.curve else {
            return discrete(given).map(|curve| Self(Shape::Values(Arc::new(curve))));
        };
        if given.weights.is_some() {
            return Err(Invalid::new("weights", "belong to `values`: a `file` has its own shares"));
        }
        Ok(Self(Shape::Curve(Arc::clone(curve))))
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> f64 {
        let share = random.unit();
        match &self.0 {
            Shape::Values(steps) => {
                let index = steps.points.partition_point(|point| point.1 <= share);
                steps.points[index.min(steps.points.len() - 1)].0
            }
            Shape::Curve(curve) => curve.at(share),
        }
    }

    fn mean(&self) -> f64 {
        self.moment(1)
    }

    fn variance(&self) -> f64 {
        let mean = self.moment(1);
        (self.moment(2) - mean * mean).max(0.0)
    }

    fn cdf(&self, x: f64) -> f64 {
        match &self.0 {
            Shape::Values(steps) => {
                let index = steps.points.partition_point(|point| point.0 <= x);
                index.checked_sub(1).map_or(0.0, |last| steps.points[last].1)
            }
            Shape::Curve(curve) => curve.cdf(x),
        }
    }
}

impl Empirical {
    fn moment(&self, order: i32) -> f64 {
        match &self.0 {
            Shape::Values(steps) => {
                let mut below = 0.0;
                let terms = steps.points.iter().map(|&(value, share)| {
                    let weight = share - below;
                    below = share;
                    weight * if order == 1 { value } else { value * value }
                });
                terms.sum()
            }
            Shape::Curve(curve) => curve.moment(order),
        }
    }
}

/// Converts values and weights to steps, sorted by value.
fn discrete(given: &Given) -> Result<Curve, Invalid> {
    if given.values.is_empty() || given.values.len() > MOST_POINTS {
        return Err(Invalid::new("values", format!("must be 1 to {MOST_POINTS} values")));
    }
    let equal = || vec![1.0; given.values.len()];
    let weights = given.weights.clone().unwrap_or_else(equal);
    if weights.len() != given.values.len() {
        let why = format!(
            "has {} entries and `values` has {}: give one a value",
            weights.len(),
            given.values.len()
        );
        return Err(Invalid::new("weights", why));
    }
    if let Some(weight) = weights.iter().find(|weight| !(0.0..=1e15).contains(*weight)) {
        return Err(Invalid::new("weights", format!("has `{weight}`: a weight is between 0 and 1e15")));
    }
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return Err(Invalid::new("weights", "are all zero: at least one must be above zero"));
    }
    let mut pairs: Vec<(f64, f64)> =
        given.values.iter().copied().zip(weights).filter(|pair| pair.1 > 0.0).collect();
    pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut sum = 0.0;
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(pairs.len());
    for (value, weight) in pairs {
        sum += weight;
        points.push((value, sum / total));
    }
    if let Some(last) = points.last_mut() {
        last.1 = 1.0;
    }
    Ok(Curve { points })
}
