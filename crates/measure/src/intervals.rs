//! Confidence intervals of means over repetitions, by Student's t.

use serde::{Deserialize, Serialize};

/// Mean of a metric over repetitions, with its confidence interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Interval {
    /// Mean over the repetitions that have a value.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval; `null` for fewer than two values, and if all are
    /// equal: then nothing random was drawn, and the scatter is unknown.
    pub half_width: Option<f64>,
    /// Number of repetitions that have a value.
    pub n: u64,
    /// Value of each repetition, in the order of the seeds; `null` if it has none.
    pub values: Vec<Option<f64>>,
}

impl Interval {
    /// Computes the interval of a metric's values, one per repetition; `None` if no repetition has a value.
    pub fn of(values: Vec<Option<f64>>) -> Option<Self> {
        let found: Vec<f64> = values.iter().copied().flatten().collect();
        let (mean, half_width) = student(&found)?;
        Some(Self { mean, half_width, n: found.len() as u64, values })
    }
}

/// Computes the mean of independent, roughly normal values, and half the width of its 95 % confidence
/// interval if they differ. Returns `None` if there are no values or one is not finite.
fn student(values: &[f64]) -> Option<(f64, Option<f64>)> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let first = values[0];
    if values.iter().all(|value| value.to_bits() == first.to_bits()) {
        return Some((first, None));
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let half_width = {
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        student_t(values.len() as u64 - 1) * libm::sqrt(squares / (count - 1.0) / count)
    };
    Some((mean, Some(half_width)))
}

/// Computes the two-sided 95 % quantile of Student's t distribution with `freedom` degrees of freedom (at
/// least 1), to 1e-9.
pub fn student_t(freedom: u64) -> f64 {
    quantile(0.95, freedom)
}

/// Degrees of freedom above which the distribution counts as normal: it is, to 3e-4, and the finite sums
/// would be long.
const NORMAL: u64 = 10_000;

/// Computes the two-sided quantile of Student's t distribution: the magnitude below which a value is with the
/// probability `confidence`, from 0 to 1 (exclusive), to 1e-9.
pub fn quantile(confidence: f64, freedom: u64) -> f64 {
    let freedom = freedom.clamp(1, NORMAL + 1);
    // Bisection for the angle whose tangent is t / sqrt(freedom): the probability increases with it.
    let scale = libm::sqrt(freedom as f64);
    let (mut low, mut high) = (0.0, core::f64::consts::FRAC_PI_2);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if within_angle(middle, freedom) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    libm::tan(0.5 * (low + high)) * scale
}

/// Computes the two-sided quantile of the normal distribution, as [`quantile`] does for Student's.
pub fn normal_quantile(confidence: f64) -> f64 {
    quantile(confidence, NORMAL + 1)
}

/// Computes the probability that a value of Student's t distribution has a magnitude below `t`, at least
/// zero.
pub fn probability_within(t: f64, freedom: u64) -> f64 {
    let freedom = freedom.clamp(1, NORMAL + 1);
    within_angle(libm::atan(t / libm::sqrt(freedom as f64)), freedom)
}

/// Computes the probability of a magnitude below `tan(angle) * sqrt(freedom)`: the finite sums of
/// Abramowitz and Stegun, 26.7.3 and 26.7.4.
fn within_angle(angle: f64, freedom: u64) -> f64 {
    if freedom > NORMAL {
        return libm::erf(libm::tan(angle) * libm::sqrt(freedom as f64 / 2.0));
    }
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let odd = freedom % 2 == 1;
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    let mut power = if odd { 3 } else { 2 };
    while power <= freedom.saturating_sub(2) {
        term *= cosine * cosine * (power - 1) as f64 / power as f64;
        sum += term;
        power += 2;
    }
    if odd { core::f64::consts::FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_are_those_of_the_printed_table() {
        let table = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (9, 2.262),
            (10, 2.228),
            (29, 2.045),
            (30, 2.042),
            (60, 2.000),
            (120, 1.980),
            (10_000, 1.960),
            (1_000_000, 1.960),
        ];
        for (freedom, printed) in table {
            let factor = student_t(freedom);
            assert!((factor - printed).abs() <= 0.000_51, "{freedom}: {factor}, printed {printed}");
        }
    }

    #[test]
    fn quantiles_and_probabilities_are_those_of_the_printed_tables() {
        // Two-sided, from the table of Student's distribution in Abramowitz and Stegun, 26.10.
        for (confidence, freedom, printed) in [
            (0.99, 5, 4.032),
            (0.99, 30, 2.750),
            (0.90, 10, 1.812),
            (0.998, 8, 4.501),
            (0.99, 1_000_000, 2.576),
        ] {
            let found = quantile(confidence, freedom);
            assert!((found - printed).abs() <= 0.000_51, "{confidence} {freedom}: {found}");
            assert!((probability_within(found, freedom) - confidence).abs() < 1e-9);
        }
    }

    #[test]
    fn an_interval_worked_by_hand() {
        // 10, 12, 14: mean 12, standard deviation 2, half width 4.3027 * 2 / sqrt(3).
        let values = vec![Some(10.0), None, Some(12.0), Some(14.0)];
        let interval = Interval::of(values.clone()).expect("values");
        assert!((interval.mean - 12.0).abs() < 1e-12);
        assert!((interval.half_width.expect("two values") - 4.968_3).abs() < 1e-4);
        assert_eq!((interval.n, interval.values), (3, values));
        assert_eq!(Interval::of(vec![Some(3.0)]).expect("a value").half_width, None);
        assert_eq!(Interval::of(vec![None, None]), None);
        assert_eq!(Interval::of(vec![Some(1.0), Some(f64::NAN)]), None);
    }

    #[test]
    fn values_that_are_all_the_same_have_no_interval() {
        // (0.1 + 0.1 + 0.1) / 3 is not 0.1 in binary; the mean of equal values must be that value.
        let same = Interval::of(vec![Some(0.1); 3]).expect("values");
        assert_eq!((same.mean, same.half_width, same.n), (0.1, None, 3));
    }
}
