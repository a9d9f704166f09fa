//! Families of differences from one reference, each judged with the others: at most one in twenty families
//! without real differences has a false alarm.
//!
//! | reference | method |
//! | --- | --- |
//! | named before the runs | Holm's over the K - 1 differences |
//! | chosen by the values | a closed test: it may be the best by chance of all that are equal to it |
//!
//! Sources: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
//! Statistics 6 (1979); Marcus, Peritz and Gabriel, "On closed testing procedures", Biometrika 63 (1976); Liu
//! and Xie, "Cauchy combination test", Journal of the American Statistical Association 115 (2020).

use core::f64::consts::PI;

use super::{Difference, LEVEL};

/// Origin of the reference that a family's differences are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Named before the runs.
    Given,
    /// Best of all by the metric's mean.
    Best,
    /// Chosen by the values in another way, so that others may have a better mean.
    Chosen,
}

impl Family {
    /// Judges differences that have a probability, together.
    pub(super) fn judge(self, differences: &mut [Option<Difference>]) {
        let tested = |(index, one): (usize, &Option<Difference>)| Some((index, one.as_ref()?.p?));
        let mut tested: Vec<(usize, f64)> = differences.iter().enumerate().filter_map(tested).collect();
        // The most probable by chance is last.
        tested.sort_by(|one, other| one.1.total_cmp(&other.1));
        let p: Vec<f64> = tested.iter().map(|(_, p)| *p).collect();
        let levels = match self {
            Self::Given => holm(&p),
            Self::Best => closed(&p, LEVEL),
            // Without a known sign, a difference has two ways to be far from zero.
            Self::Chosen => closed(&p, LEVEL / 2.0),
        };
        for ((index, _), level) in tested.into_iter().zip(levels) {
            if let Some(difference) = &mut differences[index] {
                difference.judge(level);
            }
        }
    }
}

/// Returns the level of each of these probabilities, which increase: the smallest of n is held against
/// `LEVEL / n`, the next against `LEVEL / (n - 1)`, up to the first that is not below its level. That level
/// then stays, so that the interval of each difference that is not seen contains zero.
fn holm(p: &[f64]) -> Vec<f64> {
    let mut left = p.len();
    let level = |p: &f64| {
        let level = LEVEL / left as f64;
        if *p < level && left > 1 {
            left -= 1;
        }
        level
    };
    p.iter().map(level).collect()
}

/// Returns the level of each of these probabilities, which increase, for a reference that was chosen.
///
/// A variant differs from the reference if each set of m variants with both of them is shown to have unequal
/// means. If the means of a set are equal, any of its m members may have been chosen, so the set is tested at
/// `level / m`. The test combines the probabilities of the reference against the m - 1 others: the mean of
/// cot(pi p / 2) has the tail of a Cauchy distribution, nearly independently of their correlations. Of the
/// sets of m with a given variant, the one with the largest probabilities has the least evidence, so K - 1
/// sets are tested.
fn closed(p: &[f64], level: f64) -> Vec<f64> {
    // Below this, a probability is a rounding error.
    let evidence = |p: f64| 1.0 / libm::tan(PI * p.max(1e-16) / 2.0);
    let others = p.len();
    // least[n]: sum of the n least evidences.
    let mut least = vec![0.0];
    for p in p.iter().rev() {
        least.push(least[least.len() - 1] + evidence(*p));
    }
    // needed(m): evidence that a set of m needs from all its members.
    let needed = |members: usize| (members - 1) as f64 / libm::tan(PI * level / members as f64);
    // Sets with none but variants of less evidence, the variant itself not counted.
    let mut alone = vec![f64::NEG_INFINITY; others + 1];
    for rank in 0..others {
        alone[rank + 1] = alone[rank].max(needed(rank + 2) - least[rank]);
    }
    // Larger sets, which have the variant among their least.
    let mut within = vec![f64::NEG_INFINITY; others + 1];
    for rank in (0..others).rev() {
        within[rank] = within[rank + 1].max(needed(rank + 2) - least[rank + 1]);
    }
    let level = |(index, p): (usize, &f64)| {
        let rank = others - 1 - index;
        let lacks = alone[rank + 1].max(evidence(*p) + within[rank + 1]);
        libm::atan(1.0 / lacks) * 2.0 / PI
    };
    p.iter().enumerate().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Verdict;

    fn verdicts(family: Family, p: &[Option<f64>]) -> Vec<Option<bool>> {
        let difference = |p: &Option<f64>| {
            p.map(|p| Difference {
                mean: 1.0,
                half_width: Some(1.0),
                pairs: 10,
                p: Some(p),
                seeds_needed: None,
                verdict: Verdict::NotSeen,
            })
        };
        let mut all: Vec<Option<Difference>> = p.iter().map(difference).collect();
        family.judge(&mut all);
        all.iter().map(|one| one.map(|one| one.verdict == Verdict::Differs)).collect()
    }

    #[test]
    fn holms_method_holds_each_against_its_own_level() {
        // 0.05 / 4 = 0.0125, 0.05 / 3 = 0.0167, 0.05 / 2 = 0.025: the third is above, so the fourth is not
        // tested.
        let p = [Some(0.001), Some(0.03), None, Some(0.015), Some(0.04)];
        let seen = [Some(true), Some(false), None, Some(true), Some(false)];
        assert_eq!(verdicts(Family::Given, &p), seen);
        assert_eq!(holm(&[0.03, 0.04]), [0.025, 0.025]);
    }

    /// Closed test by its definition: every set of variants with this one.
    fn by_definition(p: &[f64], level: f64) -> Vec<bool> {
        let evidence = |p: f64| 1.0 / libm::tan(PI * p / 2.0);
        let is_shown = |set: &[f64]| {
            let mean = set.iter().map(|p| evidence(*p)).sum::<f64>() / set.len() as f64;
            libm::atan(1.0 / mean) / PI < level / (set.len() + 1) as f64
        };
        let differs = |index: usize| {
            let sets = (0_u32..1 << p.len()).filter(|set| set & (1 << index) != 0);
            let members = |set: u32| (0..p.len()).filter(move |one| set & (1 << one) != 0).map(|one| p[one]);
            sets.map(|set| members(set).collect::<Vec<f64>>()).all(|set| is_shown(&set))
        };
        (0..p.len()).map(differs).collect()
    }

    #[test]
    fn the_closed_test_is_that_of_all_sets() {
        let mut seen = 0;
        for trial in 0..2000_u32 {
            let count = 1 + trial as usize % 7;
            let draw = |index: usize| {
                let hash = (trial * 8 + index as u32).wrapping_mul(0x9e37_79b9) >> 8;
                libm::pow(f64::from(hash) / f64::from(1 << 24), 1.0 + f64::from(trial % 4))
            };
            let mut p: Vec<f64> = (0..count).map(draw).collect();
            p.sort_by(f64::total_cmp);
            let found = p.iter().zip(closed(&p, LEVEL)).map(|(p, level)| *p < level);
            let found: Vec<bool> = found.collect();
            assert_eq!(found, by_definition(&p, LEVEL), "{p:?}");
            seen += found.iter().filter(|one| **one).count();
        }
        assert!(seen > 500, "{seen}");
    }

    #[test]
    fn of_two_variants_both_families_test_at_five_per_cent() {
        assert!((holm(&[0.5])[0] - LEVEL).abs() < 1e-12 && (closed(&[0.5], LEVEL)[0] - LEVEL).abs() < 1e-12);
        assert_eq!(verdicts(Family::Best, &[Some(0.0), Some(0.0)]), [Some(true), Some(true)]);
        assert!(closed(&[], LEVEL).is_empty() && holm(&[]).is_empty());
    }
}
