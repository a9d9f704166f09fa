//! Variants of a scenario beside each other, as data for the page.

use serde::Serialize;

use super::Comparison;

use crate::comparison::{MetricComparison, Verdict, front};
use crate::metric::{Address, Better};
use crate::verdict::Words;

/// Limit on the pairs of metrics that fronts are made of.
const MOST_FRONTS: usize = 6;

/// Variants of a scenario: the variables that distinguish them, and every metric over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Variants {
    /// Variables, in the order of the variants' values.
    pub variables: Vec<Variable>,
    /// Variants, in the order of the plan.
    pub variants: Vec<VariantData>,
    /// Seeds of each variant.
    pub seeds: Vec<u64>,
    /// Metrics.
    pub metrics: Vec<VariantMetric>,
    /// Fronts of pairs of metrics that have a better direction.
    pub fronts: Vec<Front>,
    /// Table of the variants, the best first, as the terminal and notebooks have it; its first column is the
    /// number of the variant, from 1.
    pub table: Comparison,
    /// Index of the variant to take, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<usize>,
}

/// A variable of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Variable {
    /// Name in words.
    pub name: String,
    /// Path of the setting; empty if the scenario names the variation.
    pub path: String,
    /// Unit of `numbers`; may be empty.
    pub unit: String,
    /// Distinct values, in the order of the plan.
    pub values: Vec<String>,
    /// The values as numbers in the unit, for axes; empty unless all of them are numbers.
    pub numbers: Vec<f64>,
}

/// A variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct VariantData {
    /// Its values in one text.
    pub label: String,
    /// Index of its value in each variable's `values`.
    pub values: Vec<usize>,
    /// Indices of the metrics whose expectations it misses.
    pub missed: Vec<usize>,
}

/// A metric of all variants.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct VariantMetric {
    /// Address.
    pub path: String,
    /// The address in words: `call delay p99`.
    pub words: String,
    /// Unit.
    pub unit: String,
    /// Better direction; `null` if neither is.
    pub better: Option<Better>,
    /// Index of the best variant; `null` if there is none.
    pub best: Option<usize>,
    /// Index of the variant that the others are compared with.
    pub reference: Option<usize>,
    /// Values of each variant.
    pub variants: Vec<VariantValues>,
    /// Lower and upper bound of the expectations on it.
    pub bounds: [Option<f64>; 2],
}

/// Values of a metric in a variant; all `null` if no run has a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct VariantValues {
    /// Mean over the seeds.
    pub mean: Option<f64>,
    /// Half the width of its 95 % confidence interval.
    pub half_width: Option<f64>,
    /// Value of each seed.
    pub seeds: Vec<Option<f64>>,
    /// Mean difference from the reference.
    pub difference: Option<f64>,
    /// Half the width of the difference's confidence interval, as it was tested.
    pub difference_half_width: Option<f64>,
    /// Standing among the variants.
    pub standing: Standing,
    /// Factor by which it is worse than the best, if that is two or more.
    pub times: Option<f64>,
}

/// Factor from which a variant is that many times worse; below, its value says enough.
const LEAST_TIMES: f64 = 2.0;

/// Returns the factor by which a value is worse than the best one, if that is large.
fn times(value: f64, best: f64, better: Better) -> Option<f64> {
    let factor = if better == Better::Lower { value / best } else { best / value };
    (value > 0.0 && best > 0.0 && factor >= LEAST_TIMES).then_some(factor)
}

/// Standing of a variant in a metric: what it is itself, or the verdict on its difference from the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// The best variant.
    Best,
    /// The reference, which is not the best.
    Reference,
    /// No difference is seen, or all values are the same.
    Same,
    /// The difference is real, and too small to matter in practice.
    Equal,
    /// The difference is real.
    Differs,
    /// Too few values to tell.
    #[default]
    Unknown,
}

/// Pareto front of two metrics: the variants that no other beats in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Front {
    /// Index of the metric on the horizontal axis.
    pub x: usize,
    /// Index of the metric on the vertical axis.
    pub y: usize,
    /// Indices of the variants on the front.
    pub on: Vec<usize>,
}

impl VariantMetric {
    /// Creates the data of a metric from its comparison.
    pub fn new(path: &str, compared: &MetricComparison) -> Self {
        let metric = Address::parse(path).ok().map(|address| address.metric);
        let better = metric.and_then(|metric| metric.better);
        let best = compared.best.and_then(|best| Some(compared.intervals[best].as_ref()?.mean));
        let all = compared.intervals.iter().zip(&compared.differences).enumerate();
        let of = |(index, (interval, difference)): (usize, (&Option<_>, &Option<_>))| {
            let interval: &Option<crate::intervals::Interval> = interval;
            let difference: Option<crate::comparison::Difference> = *difference;
            let standing = match difference.map(|one| one.verdict) {
                _ if compared.best == Some(index) => Standing::Best,
                _ if compared.reference == Some(index) => Standing::Reference,
                Some(Verdict::Differs) => Standing::Differs,
                Some(Verdict::Equal) => Standing::Equal,
                Some(Verdict::NotSeen | Verdict::Same) => Standing::Same,
                Some(Verdict::Unknown) | None => Standing::Unknown,
            };
            VariantValues {
                mean: interval.as_ref().map(|interval| interval.mean),
                half_width: interval.as_ref().and_then(|interval| interval.half_width),
                seeds: interval.as_ref().map(|interval| interval.values.clone()).unwrap_or_default(),
                difference: difference.map(|one| one.mean).filter(|mean| mean.is_finite()),
                difference_half_width: difference.and_then(|one| one.half_width),
                standing,
                times: interval.as_ref().and_then(|interval| times(interval.mean, best?, better?)),
            }
        };
        Self {
            path: path.to_owned(),
            words: Words::of(path).in_sentence(),
            unit: metric.map_or("", |metric| metric.unit.symbol()).to_owned(),
            better,
            best: compared.best,
            reference: compared.reference,
            variants: all.map(of).collect(),
            bounds: [None; 2],
        }
    }
}

/// Returns the fronts of the first pairs of metrics of which both have a better direction.
pub fn fronts(metrics: &[VariantMetric]) -> Vec<Front> {
    let judged =
        metrics.iter().enumerate().filter_map(|(index, metric)| Some((index, metric, metric.better?)));
    let judged: Vec<_> = judged.collect();
    let mut fronts = Vec::new();
    for (index, (x, one, better_x)) in judged.iter().enumerate() {
        for (y, other, better_y) in &judged[index + 1..] {
            let cost = |value: f64, better: Better| if better == Better::Lower { value } else { -value };
            let points = one.variants.iter().zip(&other.variants);
            let points = points
                .map(|(one, other)| Some(vec![cost(one.mean?, *better_x), cost(other.mean?, *better_y)]));
            fronts.push(Front { x: *x, y: *y, on: front(&points.collect::<Vec<_>>()) });
        }
    }
    fronts.truncate(MOST_FRONTS);
    fronts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Reference;

    #[test]
    fn a_front_is_of_metrics_with_a_direction() {
        let metric = |path: &str, values: &[f64]| {
            let values: Vec<Vec<Option<f64>>> = values.iter().map(|value| vec![Some(*value); 2]).collect();
            let better = Address::parse(path).expect("an address").metric.better;
            VariantMetric::new(path, &MetricComparison::new(&values, better, Reference::Best))
        };
        // The third variant is beaten by the second in both.
        let delay = metric("flow.a.owd.p99", &[0.1, 0.2, 0.3]);
        let goodput = metric("flow.a.goodput", &[1e6, 3e6, 2e6]);
        let lost = metric("flow.a.sent_packets", &[1.0, 2.0, 3.0]);
        assert_eq!(lost.better, None);
        let fronts = fronts(&[delay.clone(), lost, goodput]);
        assert_eq!(fronts, [Front { x: 0, y: 2, on: vec![0, 1] }]);
        assert_eq!((delay.best, delay.unit.as_str()), (Some(0), "s"));
        let times = |metric: &VariantMetric| metric.variants.iter().map(|one| one.times).collect::<Vec<_>>();
        assert_eq!(times(&delay).iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, true]);
        assert_eq!(super::times(1e6, 3e6, Better::Higher), Some(3.0));
        assert!((delay.variants[2].difference.expect("a difference") - 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_variant_stands_as_the_best_or_the_reference_or_by_its_difference() {
        use Standing::{Best, Differs, Equal, Reference as Base, Same, Unknown};

        use crate::comparison::Difference;

        let verdicts = [Verdict::Same, Verdict::NotSeen, Verdict::Equal, Verdict::Differs, Verdict::Unknown];
        let one = |verdict| {
            Some(Difference { mean: 1.0, half_width: None, pairs: 2, p: None, seeds_needed: None, verdict })
        };
        let differences: Vec<_> =
            [one(Verdict::Differs), None].into_iter().chain(verdicts.map(one)).chain([None]).collect();
        let intervals = vec![None; differences.len()];
        let compared = MetricComparison { intervals, best: Some(0), reference: Some(1), differences };
        let metric = VariantMetric::new("flow.a.owd.p99", &compared);
        let standings: Vec<Standing> = metric.variants.iter().map(|one| one.standing).collect();
        assert_eq!(standings, [Best, Base, Same, Same, Equal, Differs, Unknown, Unknown]);
        assert_eq!(metric.words, "a delay p99");
    }
}
