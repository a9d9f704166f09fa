//! Comparison of variants: which is best, and whether the others differ from it.
//!
//! ```text
//! values[variant][seed] -> means +- 95 % -> reference (the best) -> differences, paired by seed
//!                       -> Student's t -> p -> Holm over all variants -> verdict
//! ```
//!
//! All variants are run with the same seeds (common random numbers), so each seed's difference is one
//! observation, and what the seeds have in common cancels.

use serde::Serialize;

use crate::intervals::{Interval, probability_within, quantile};
use crate::metric::Better;

/// Probability of a false alarm among all differences of one metric.
pub const LEVEL: f64 = 0.05;

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
    /// Half the width of its confidence interval at the level that Holm's method tests it at; `None` if the
    /// scatter is unknown.
    pub half_width: Option<f64>,
    /// Number of pairs.
    pub pairs: u64,
    /// Probability of a mean as far from zero if there were no difference; `None` if the scatter is unknown.
    pub p: Option<f64>,
    /// Verdict.
    pub verdict: Verdict,
}

/// Verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The variant differs from the reference.
    Differs,
    /// No difference is seen.
    NotSeen,
    /// All values are the same in both.
    Same,
    /// Fewer than two pairs: nothing can be said.
    Unknown,
}

impl MetricComparison {
    /// Compares variants by their values: `values[variant][seed]`, `None` where a run has no value. The others
    /// are compared with `base`, by default with the best.
    pub fn new(values: &[Vec<Option<f64>>], better: Option<Better>, base: Option<usize>) -> Self {
        let intervals: Vec<Option<Interval>> =
            values.iter().map(|values| Interval::of(values.clone())).collect();
        let best = best(&intervals, better);
        let reference = base.or(best);
        let mut differences: Vec<Option<Difference>> = match reference {
            Some(reference) => (0..values.len())
                .map(|variant| (variant != reference).then(|| paired(&values[variant], &values[reference])))
                .collect(),
            None => vec![None; values.len()],
        };
        holm(&mut differences);
        Self { intervals, best, reference, differences }
    }
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

/// Returns the difference of paired values, with a verdict that Holm's method may change.
fn paired(values: &[Option<f64>], reference: &[Option<f64>]) -> Difference {
    let pairs = values.iter().zip(reference).filter_map(|(one, other)| Some(((*one)?, (*other)?)));
    let differences: Vec<f64> = pairs.map(|(one, other)| one - other).collect();
    let count = differences.len();
    let mean = if count == 0 { f64::NAN } else { differences.iter().sum::<f64>() / count as f64 };
    let known = |p, verdict| Difference { mean, half_width: None, pairs: count as u64, p, verdict };
    if count < 2 {
        return known(None, Verdict::Unknown);
    }
    if differences.iter().all(|difference| *difference == 0.0) {
        return known(None, Verdict::Same);
    }
    let error = standard_error(&differences, mean);
    // The same difference for every seed: nothing random had an effect on it.
    if error <= mean.abs() * 1e-12 {
        return known(Some(0.0), Verdict::Differs);
    }
    let freedom = count as u64 - 1;
    let p = 1.0 - probability_within(mean.abs() / error, freedom);
    // Until the level is known, the half width holds the standard error.
    Difference { half_width: Some(error), ..known(Some(p.max(0.0)), Verdict::NotSeen) }
}

fn standard_error(values: &[f64], mean: f64) -> f64 {
    let count = values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    libm::sqrt(squares / (count - 1.0) / count)
}

/// Judges all differences together (Holm 1979): the smallest p is held against `LEVEL / n`, the next against
/// `LEVEL / (n - 1)`, up to the first that is not below its level; that one and all after it are not seen.
fn holm(differences: &mut [Option<Difference>]) {
    let tested = |difference: &Option<Difference>| difference.and_then(|difference| difference.p);
    let mut order: Vec<(usize, f64)> =
        differences.iter().enumerate().filter_map(|(index, one)| Some((index, tested(one)?))).collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut left = order.len();
    let mut seen = true;
    for (index, p) in order {
        let level = LEVEL / left.max(1) as f64;
        seen = seen && p < level;
        let Some(difference) = &mut differences[index] else { continue };
        difference.verdict = if seen { Verdict::Differs } else { Verdict::NotSeen };
        let freedom = difference.pairs.saturating_sub(1);
        difference.half_width = difference.half_width.map(|error| error * quantile(1.0 - level, freedom));
        // After the first that is not seen, the level stays: an interval then contains zero.
        if seen {
            left -= 1;
        }
    }
}

/// Returns the indices of the points on the Pareto front: no other is at least as good in every cost and better
/// in one. Less is better; points without a value are not on it.
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
    use lockgate_engine::random::Seed;

    use super::*;

    /// Draws of a standard normal law, by Box and Muller from a counter's hash.
    struct Normal(u64);

    impl Normal {
        fn uniform(&mut self) -> f64 {
            // SplitMix64.
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn draw(&mut self) -> f64 {
            let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
            radius * libm::cos(core::f64::consts::TAU * self.uniform())
        }
    }

    /// Values of `variants` variants and 20 seeds, the second shifted by `shift` standard deviations. Half of
    /// the variance is common to all variants of a seed.
    fn drawn(normal: &mut Normal, variants: usize, shift: f64) -> Vec<Vec<Option<f64>>> {
        let common: Vec<f64> = (0..20).map(|_| normal.draw()).collect();
        (0..variants)
            .map(|variant| {
                let moved = if variant == 1 { shift } else { 0.0 };
                common
                    .iter()
                    .map(|common| Some((common + normal.draw()) / core::f64::consts::SQRT_2 + moved))
                    .collect()
            })
            .collect()
    }

    fn alarms(variants: usize, shift: f64, trials: usize) -> f64 {
        let mut normal = Normal(Seed(7).0);
        let seen = (0..trials).filter(|_| {
            let compared = MetricComparison::new(&drawn(&mut normal, variants, shift), None, Some(0));
            compared.differences.iter().flatten().any(|difference| difference.verdict == Verdict::Differs)
        });
        seen.count() as f64 / trials as f64
    }

    #[test]
    fn a_difference_that_is_none_is_seldom_seen_and_one_deviation_is() {
        for variants in [2, 6] {
            let false_alarms = alarms(variants, 0.0, 2000);
            assert!((0.035..=0.065).contains(&false_alarms), "{variants}: {false_alarms}");
        }
        let seen = alarms(2, 1.0, 1000);
        assert!(seen > 0.95, "{seen}");
    }

    #[test]
    fn a_paired_comparison_worked_by_hand() {
        // Differences 1, 2, 3, 2: mean 2, deviation 0.8165, error 0.40825, t = 4.899, p = 0.0163.
        let reference = [10.0, 20.0, 30.0, 40.0].map(Some).to_vec();
        let other = [11.0, 22.0, 33.0, 42.0].map(Some).to_vec();
        let compared = MetricComparison::new(&[reference, other], Some(Better::Lower), None);
        assert_eq!((compared.best, compared.reference), (Some(0), Some(0)));
        let difference = compared.differences[1].expect("a difference");
        assert!((difference.mean - 2.0).abs() < 1e-12);
        assert!((difference.p.expect("a test") - 0.0163).abs() < 5e-5, "{difference:?}");
        // 3.182 * 0.40825.
        assert!((difference.half_width.expect("a width") - 1.2992).abs() < 5e-4, "{difference:?}");
        assert_eq!(difference.verdict, Verdict::Differs);
    }

    #[test]
    fn holms_method_holds_each_against_its_own_level() {
        let difference = |p| {
            Some(Difference {
                mean: 1.0,
                half_width: Some(1.0),
                pairs: 10,
                p: Some(p),
                verdict: Verdict::NotSeen,
            })
        };
        // 0.05 / 4 = 0.0125, 0.05 / 3 = 0.0167, 0.05 / 2 = 0.025: the third is above, so the fourth is not tested.
        let mut four = [difference(0.001), difference(0.03), None, difference(0.015), difference(0.04)];
        holm(&mut four);
        let verdicts = four.map(|one| one.map(|one| one.verdict));
        assert_eq!(
            verdicts,
            [
                Some(Verdict::Differs),
                Some(Verdict::NotSeen),
                None,
                Some(Verdict::Differs),
                Some(Verdict::NotSeen)
            ]
        );
    }

    #[test]
    fn what_cannot_be_tested_says_so() {
        let verdict = |one: &[Option<f64>], other: &[Option<f64>]| {
            let compared = MetricComparison::new(&[one.to_vec(), other.to_vec()], None, Some(0));
            compared.differences[1].expect("a difference").verdict
        };
        assert_eq!(verdict(&[Some(1.0)], &[Some(2.0)]), Verdict::Unknown);
        assert_eq!(verdict(&[Some(1.0), None, Some(3.0)], &[None, Some(2.0), Some(3.0)]), Verdict::Unknown);
        assert_eq!(verdict(&[Some(1.0), Some(3.0)], &[Some(1.0), Some(3.0)]), Verdict::Same);
        assert_eq!(verdict(&[Some(1.0), Some(3.0)], &[Some(2.0), Some(4.0)]), Verdict::Differs);
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
