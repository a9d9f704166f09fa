//! Comparison of variants: which is best, and whether the others differ from it.
//!
//! ```text
//! values[variant][seed] -> means +- 95 % -> reference -> differences, paired by seed -> Student's t -> p
//!                          reference given: Holm's method; chosen by these values: a closed test -> verdict
//! ```
//!
//! All variants are run with the same seeds (common random numbers), so each seed's difference is one
//! observation, and what the seeds have in common cancels.

pub mod effect;
mod equality;
mod family;
mod practical;

use serde::Serialize;

pub use self::equality::Equality;
use self::family::Family;
pub use self::practical::{Practical, Shown};
use crate::intervals::{Interval, normal_quantile, probability_within, quantile};
use crate::metric::Better;

/// Limit on the probability of a false alarm among all differences of one metric.
pub const LEVEL: f64 = 0.05;

/// Limit on the number of seeds that [`Difference::seeds_needed`] names.
const MOST_SEEDS: f64 = 10_000.0;

/// Variant that the others are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The one with the best mean; none if no direction is better.
    Best,
    /// One that was named before the runs.
    Given(usize),
    /// One that was chosen by the values of these runs, but not by the mean of this metric alone.
    Chosen(usize),
}

/// One metric of all variants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricComparison {
    /// Mean of each variant with its 95 % interval; `None` if no run of it has a value.
    pub intervals: Vec<Option<Interval>>,
    /// Index of the variant with the best mean; `None` if no direction is better, or there are no values.
    pub best: Option<usize>,
    /// Index of the variant that the others are compared with.
    pub reference: Option<usize>,
    /// Difference of each variant from the reference; `None` for the reference itself.
    pub differences: Vec<Option<Difference>>,
}

/// Difference of a variant from the reference: mean over the seeds that both have a value for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Mean of variant less reference.
    pub mean: f64,
    /// Half the width of its confidence interval at the level that it is tested at, so that the interval of a
    /// difference that is not seen contains zero; `None` if the scatter is unknown.
    pub half_width: Option<f64>,
    /// Number of pairs.
    pub pairs: u64,
    /// Probability of a mean as far from zero if there were no difference; `None` if the scatter is unknown.
    pub p: Option<f64>,
    /// Number of seeds that show a difference as large as this one in four of five cases; `None` if it is
    /// seen or cannot be tested, or if they are more than ten thousand.
    pub seeds_needed: Option<u64>,
    /// Verdict.
    pub verdict: Verdict,
}

/// Verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The variant differs from the reference.
    Differs,
    /// The variant differs from the reference, by too little to matter in practice.
    Equal,
    /// No difference is seen.
    NotSeen,
    /// All values are the same in both.
    Same,
    /// Fewer than two pairs: nothing can be said.
    Unknown,
}

impl MetricComparison {
    /// Compares variants by their values: `values[variant][seed]`, `None` where a run has no value.
    pub fn new(values: &[Vec<Option<f64>>], better: Option<Better>, reference: Reference) -> Self {
        let intervals: Vec<Option<Interval>> =
            values.iter().map(|values| Interval::of(values.clone())).collect();
        let best = best(&intervals, better);
        let (reference, family) = match reference {
            Reference::Best => (best, Family::Best),
            Reference::Given(index) => (Some(index), Family::Given),
            Reference::Chosen(index) if best == Some(index) => (best, Family::Best),
            Reference::Chosen(index) => (Some(index), Family::Chosen),
        };
        let mut differences: Vec<Option<Difference>> = match reference {
            Some(reference) => (0..values.len())
                .map(|variant| (variant != reference).then(|| paired(&values[variant], &values[reference])))
                .collect(),
            None => vec![None; values.len()],
        };
        family.judge(&mut differences);
        Self { intervals, best, reference, differences }
    }
}

impl Difference {
    /// Sets the verdict of a difference that is tested at `level`, two-sided. Until then, the half width is
    /// the standard error.
    fn judge(&mut self, level: f64) {
        let Some(p) = self.p else { return };
        self.verdict = if p < level { Verdict::Differs } else { Verdict::NotSeen };
        let freedom = self.pairs.saturating_sub(1);
        if let (Some(error), Verdict::NotSeen) = (self.half_width, self.verdict) {
            self.seeds_needed = seeds_needed(self.mean, error, self.pairs, level);
        }
        self.half_width = self.half_width.map(|error| error * quantile(1.0 - level, freedom));
    }
}

/// Returns the number of seeds for which a test at `level` shows a difference of this mean and scatter in
/// four of five cases.
///
/// Source: Guenther, "Sample size formulas for normal theory t tests", The American Statistician 35 (1981).
fn seeds_needed(mean: f64, error: f64, pairs: u64, level: f64) -> Option<u64> {
    // The upper quantile of 80 % is the two-sided one of 60 %.
    let (tested, power) = (normal_quantile(1.0 - level), normal_quantile(0.6));
    let deviations = mean.abs() / (error * libm::sqrt(pairs as f64));
    let parts = (tested + power) / deviations;
    let seeds = libm::ceil(parts * parts + tested * tested / 2.0).max((pairs + 1) as f64);
    (seeds <= MOST_SEEDS).then_some(seeds as u64)
}

/// Returns the index of the best mean; of equal ones, the first.
fn best(intervals: &[Option<Interval>], better: Option<Better>) -> Option<usize> {
    let sign = match better? {
        Better::Lower => 1.0,
        Better::Higher => -1.0,
    };
    let means = intervals.iter().enumerate();
    let means = means.filter_map(|(index, interval)| Some((index, sign * interval.as_ref()?.mean)));
    means.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(index, _)| index)
}

/// Returns the difference of paired values, with the verdict that it has before it is judged with the others.
fn paired(values: &[Option<f64>], reference: &[Option<f64>]) -> Difference {
    let pairs = values.iter().zip(reference).filter_map(|(one, other)| Some(((*one)?, (*other)?)));
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let differences: Vec<f64> = pairs.iter().map(|(one, other)| one - other).collect();
    let count = differences.len();
    let mean = if count == 0 { f64::NAN } else { differences.iter().sum::<f64>() / count as f64 };
    let known = |p, verdict| {
        let pairs = count as u64;
        Difference { mean, half_width: None, pairs, p, seeds_needed: None, verdict }
    };
    if count < 2 {
        return known(None, Verdict::Unknown);
    }
    if differences.iter().all(|difference| *difference == 0.0) {
        return known(None, Verdict::Same);
    }
    let mut error = standard_error(&differences, mean);
    if error <= mean.abs() * 1e-12 {
        // The same values for every seed: nothing in either variant is random.
        if pairs.iter().all(|pair| *pair == pairs[0]) {
            return known(Some(0.0), Verdict::Differs);
        }
        // The same difference of different values: they may have been rounded to it.
        error = rounding_error(&pairs);
    }
    let freedom = count as u64 - 1;
    let p = 1.0 - probability_within(mean.abs() / error, freedom);
    // Until the level is known, the half width holds the standard error.
    Difference { half_width: Some(error), ..known(Some(p.max(0.0)), Verdict::NotSeen) }
}

/// Returns the standard error of a mean difference whose values are quantiles: each is the middle of a bucket
/// whose half width is 2^-10 of it (`histogram.rs`), so its error is uniform within that.
fn rounding_error(pairs: &[(f64, f64)]) -> f64 {
    let squares: f64 = pairs.iter().map(|(one, other)| one * one + other * other).sum();
    let count = pairs.len() as f64;
    libm::sqrt(squares / 3.0) / 1024.0 / count
}

fn standard_error(values: &[f64], mean: f64) -> f64 {
    let count = values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    libm::sqrt(squares / (count - 1.0) / count)
}

/// Returns the indices of the points on the Pareto front: no other is at least as good in every cost and
/// better in one. Less is better; points without a value are not on it.
pub fn front(costs: &[Option<Vec<f64>>]) -> Vec<usize> {
    let beats = |one: &[f64], other: &[f64]| {
        let mut pairs = one.iter().zip(other);
        pairs.clone().all(|(one, other)| one <= other) && pairs.any(|(one, other)| one < other)
    };
    let is_on =
        |costs: &Vec<f64>, all: &[Option<Vec<f64>>]| !all.iter().flatten().any(|other| beats(other, costs));
    let on = |(index, point): (usize, &Option<Vec<f64>>)| {
        point.as_ref().filter(|point| is_on(point, costs)).map(|_| index)
    };
    costs.iter().enumerate().filter_map(on).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paired_comparison_worked_by_hand() {
        // Differences 1, 2, 3, 2: mean 2, deviation 0.8165, error 0.40825, t = 4.899, p = 0.0163.
        let reference = [10.0, 20.0, 30.0, 40.0].map(Some).to_vec();
        let other = [11.0, 22.0, 33.0, 42.0].map(Some).to_vec();
        let compared = MetricComparison::new(&[reference, other], Some(Better::Lower), Reference::Best);
        assert_eq!((compared.best, compared.reference), (Some(0), Some(0)));
        let difference = compared.differences[1].expect("a difference");
        assert!((difference.mean - 2.0).abs() < 1e-12);
        assert!((difference.p.expect("a test") - 0.0163).abs() < 5e-5, "{difference:?}");
        // 3.182 * 0.40825.
        assert!((difference.half_width.expect("a width") - 1.2992).abs() < 5e-4, "{difference:?}");
        assert_eq!(difference.verdict, Verdict::Differs);
    }

    #[test]
    fn the_seeds_that_would_show_a_difference_are_those_of_the_power_tables() {
        // A mean of one deviation at 5 %: Cohen 1988, table 2.4.1 for one sample: 10 seeds for a power of
        // 0.80.
        let error = 1.0 / libm::sqrt(4.0);
        assert_eq!(seeds_needed(1.0, error, 4, 0.05), Some(10));
        // Half a deviation: 34; a hundredth: above the limit.
        assert_eq!(seeds_needed(0.5, error, 4, 0.05), Some(34));
        assert_eq!(seeds_needed(0.01, error, 4, 0.05), None);
    }

    #[test]
    fn what_cannot_be_tested_says_so() {
        let verdict = |one: &[Option<f64>], other: &[Option<f64>]| {
            let compared = MetricComparison::new(&[one.to_vec(), other.to_vec()], None, Reference::Given(0));
            compared.differences[1].expect("a difference").verdict
        };
        assert_eq!(verdict(&[Some(1.0)], &[Some(2.0)]), Verdict::Unknown);
        assert_eq!(verdict(&[Some(1.0), None, Some(3.0)], &[None, Some(2.0), Some(3.0)]), Verdict::Unknown);
        assert_eq!(verdict(&[Some(1.0), Some(3.0)], &[Some(1.0), Some(3.0)]), Verdict::Same);
        assert_eq!(verdict(&[Some(1.0), Some(3.0)], &[Some(2.0), Some(4.0)]), Verdict::Differs);
        // A difference of one bucket in both seeds, and of a constant in a run without randomness.
        assert_eq!(verdict(&[Some(1.002), Some(1.102)], &[Some(1.0), Some(1.1)]), Verdict::NotSeen);
        assert_eq!(verdict(&[Some(1.002); 2], &[Some(1.0); 2]), Verdict::Differs);
    }

    #[test]
    fn the_front_has_what_no_other_beats() {
        let points = [
            Some(vec![1.0, -1.0]),
            Some(vec![2.0, -3.0]),
            Some(vec![3.0, -2.0]),
            None,
            Some(vec![1.0, -1.0]),
        ];
        assert_eq!(front(&points), [0, 1, 4]);
    }
}
