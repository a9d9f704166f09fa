//! Effect of a change, told from chance by pairs of runs with and without it.
//!
//! One pair is exact, and tells nothing: whatever moves one packet reshuffles TCP, and its swings then differ
//! by factors. So the same pair is run with other seeds. Of [`PAIRS`] pairs a difference is an effect if
//!
//! - every value with the change is beyond every value without it: of equal laws, whatever they are, by
//!   chance in 2 of 12,870 cases,
//! - a paired t test of the logarithms, for all metrics of the change together, has a false alarm in at most
//!   one of a thousand changes without an effect ([`LEVEL`]),
//! - the geometric mean of the ratio, and the pair that is shown, differ by a tenth ([`NOTABLE`]).
//!
//! The t test alone fails with two modes, which a congestion control may have: four pairs of which each has
//! one mode with the change and the other without it are seen in 0.8 % of cases. Values that may be zero are
//! tested by their differences.

use crate::intervals::probability_within;

/// Least number of pairs by which effects are told.
pub const PAIRS: usize = 8;

/// Limit on the probability that a change without an effect is told to have one.
pub const LEVEL: f64 = 0.001;

/// Ratio of two values from which one counts as different.
pub const NOTABLE: f64 = 1.1;

/// Error of the logarithm of a quantile: it is the middle of a bucket whose half width is 2^-10 of it.
const ROUNDING: f64 = 1.0 / 1024.0;

/// Returns true if values with a change differ from those without it by an effect. `pairs` has the value
/// with and the one without of each pair of runs, `shown` those that are shown; `metrics` is the number of
/// metrics that are tested together.
pub fn is_effect(pairs: &[(f64, f64)], shown: (f64, f64), metrics: usize) -> bool {
    let level = LEVEL / metrics.max(1) as f64;
    let all = || pairs.iter().flat_map(|(with, without)| [*with, *without]);
    if pairs.len() < PAIRS || all().any(|value| !value.is_finite()) || !is_notable(shown) {
        return false;
    }
    let [with, without] = [ends(pairs.iter().map(|pair| pair.0)), ends(pairs.iter().map(|pair| pair.1))];
    let is_beyond = if shown.0 > shown.1 { with.0 > without.1 } else { with.1 < without.0 };
    if !is_beyond {
        return false;
    }
    let is_positive = all().all(|value| value > 0.0);
    let difference = |(with, without): &(f64, f64)| {
        if is_positive { libm::log(with / without) } else { with - without }
    };
    let differences: Vec<f64> = pairs.iter().map(difference).collect();
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    let sides = [|pair: &(f64, f64)| pair.0, |pair: &(f64, f64)| pair.1]
        .map(|side| pairs.iter().map(side).sum::<f64>() / pairs.len() as f64);
    let is_large =
        if is_positive { mean.abs() >= libm::log(NOTABLE) } else { is_notable((sides[0], sides[1])) };
    let rounding = if is_positive { ROUNDING } else { ROUNDING * sides[0].abs().max(sides[1].abs()) };
    is_large && probability(&differences, mean, rounding) < level
}

/// Returns true if two values differ by a tenth or more.
pub fn is_notable((one, other): (f64, f64)) -> bool {
    let (small, large) = (one.abs().min(other.abs()), one.abs().max(other.abs()));
    large > 0.0 && (one * other < 0.0 || large >= NOTABLE * small)
}

/// Returns the probability of a mean as far from zero if there were no difference, by Student's t. The
/// standard error is at least that of rounding.
fn probability(differences: &[f64], mean: f64, rounding: f64) -> f64 {
    let error = super::standard_error(differences, mean);
    let least = rounding / libm::sqrt(differences.len() as f64);
    1.0 - probability_within(mean.abs() / error.max(least), differences.len() as u64 - 1)
}

/// Returns the smallest and the largest of some values.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (value.min(low), value.max(high)))
}

/// Returns true if the levels of two series differ by a tenth or more, by Welch's t test at the level of
/// [`is_effect`], and by a step: between them is a gap as wide as the widest of both, which a drift has not.
pub fn is_step(before: &[f64], after: &[f64], metrics: usize) -> bool {
    let both = [before, after];
    if both.iter().any(|one| one.len() < 2) || both.iter().copied().flatten().any(|value| *value <= 0.0) {
        return false;
    }
    let logs = both.map(|one| one.iter().map(|value| libm::log(*value)).collect::<Vec<f64>>());
    let ends = logs.each_ref().map(|one| ends(one.iter().copied()));
    let means = logs.each_ref().map(|one| one.iter().sum::<f64>() / one.len() as f64);
    let apart = means[1] - means[0];
    let gap = (ends[1].0 - ends[0].1).max(ends[0].0 - ends[1].1);
    let widest = (ends[0].1 - ends[0].0).max(ends[1].1 - ends[1].0);
    if gap <= 0.0 || gap < widest || apart.abs() < libm::log(NOTABLE) {
        return false;
    }
    let error = |index: usize| {
        let of = &logs[index];
        super::standard_error(of, means[index]).max(ROUNDING / libm::sqrt(of.len() as f64))
    };
    let squares = [error(0), error(1)].map(|error| error * error);
    // Welch and Satterthwaite's degrees of freedom, rounded down.
    let part = |index: usize| squares[index] * squares[index] / (logs[index].len() - 1) as f64;
    let sum = squares[0] + squares[1];
    let freedom = (sum * sum / (part(0) + part(1))).max(1.0) as u64;
    1.0 - probability_within(apart.abs() / libm::sqrt(sum), freedom) < LEVEL / metrics.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_told_by_eight_pairs_and_never_by_seven() {
        let pairs =
            [0.951, 0.9, 1.02, 0.93, 0.97, 0.88, 0.94, 1.0].map(|without| (0.0208 * without, without));
        assert!(is_effect(&pairs, pairs[0], 5));
        assert!(!is_effect(&pairs[..7], pairs[0], 5));
        // One value on the other side, one that overlaps with another seed's, and one that is unknown.
        for wrong in [(1.1, 1.0), (0.89, 0.95), (f64::NAN, 1.0)] {
            let mut other = pairs;
            other[3] = wrong;
            assert!(!is_effect(&other, pairs[0], 5), "{wrong:?}");
        }
    }

    #[test]
    fn swings_and_small_differences_are_no_effects() {
        let swings = [2.16, 1.2, 1.8, 2.6, 1.5, 1.9, 2.3, 1.7].map(|with| (with, 1.65));
        assert!(!is_effect(&swings, swings[0], 1));
        let small = [1.0501, 1.05, 1.0502, 1.0499, 1.05, 1.05, 1.0501, 1.05].map(|with| (with, 1.0));
        assert!(!is_effect(&small, small[0], 1), "real, below a tenth");
        // Nothing is random: the same ratio in every pair.
        assert!(is_effect(&[(2.0, 1.0); 8], (2.0, 1.0), 5) && !is_effect(&[(1.05, 1.0); 8], (1.05, 1.0), 5));
    }

    #[test]
    fn a_loss_that_ends_is_tested_by_its_difference() {
        let pairs = [0.050, 0.051, 0.049, 0.0505, 0.05, 0.0501, 0.0495, 0.05].map(|without| (0.0, without));
        assert!(is_effect(&pairs, pairs[0], 2));
        assert!(!is_effect(&[(0.0, 0.0); 8], (0.0, 0.0), 2));
    }

    #[test]
    fn a_step_is_told_and_a_drift_is_not() {
        let before = [0.93, 0.95, 0.92, 0.94, 0.95];
        assert!(is_step(&before, &[0.0208, 0.0207, 0.0209, 0.0208, 0.0207], 5));
        let drift = |from: f64| [0.0, 1.0, 2.0, 3.0, 4.0].map(|step| libm::exp(from + 0.2 * step));
        assert!(!is_step(&drift(0.0), &drift(1.0), 1));
        assert!(!is_step(&before, &[], 1) && !is_step(&before, &before, 1));
    }
}
