//! Values without a change: those of the same run in which only this change is not made.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Summary;
use crate::comparison::effect::{PAIRS, is_effect, is_notable};
use crate::intervals::Interval;

/// Values of metrics, by address.
pub type Values = IndexMap<String, Option<f64>>;

/// The part of the window after a change, with and without the change; all other changes are made in both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct WithoutChange {
    /// True if no packet differs without the change: each flow sent, received and lost as many in each
    /// interval, with the same delays.
    pub same_packets: bool,
    /// Runs with the change, and as many without it, by which effects were told from chance; 1 if none were.
    pub runs: u64,
    /// Each value of the phase, with and without the change, by its address.
    pub values: IndexMap<String, WithoutValue>,
}

/// A metric with and without a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct WithoutValue {
    /// Value with the change; of several seeds, the mean.
    pub with_change: Option<f64>,
    /// Value in the same time without it.
    pub without: Option<f64>,
    /// Half the width of the 95 % confidence interval of their difference over several seeds; `null` for one.
    pub half_width: Option<f64>,
    /// Smallest and largest ratio of both in any pair of runs; `null` if none was told from chance.
    pub ratios: Option<[f64; 2]>,
    /// True if the change is told to have an effect: the runs tell the difference from chance.
    pub is_effect: bool,
}

/// Values of a phase in pairs of runs, one with a change and one without.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Pairs of the seeds that are shown.
    shown: Vec<[Values; 2]>,
    /// Pairs of further seeds.
    further: Vec<[Values; 2]>,
}

impl Pairs {
    /// Adds the values with and without the change for one of the seeds that are shown.
    pub fn show(&mut self, with: Values, without: Values) {
        self.shown.push([with, without]);
    }

    /// Adds those of a further seed.
    pub fn add(&mut self, with: Values, without: Values) {
        self.further.push([with, without]);
    }

    /// Returns the pairs that are tested. Of pairs with the same values nothing is random: one of them
    /// counts.
    fn tested(&self) -> Vec<&[Values; 2]> {
        let mut tested: Vec<&[Values; 2]> = Vec::new();
        for pair in &self.shown {
            if !tested.contains(&pair) {
                tested.push(pair);
            }
        }
        tested.extend(&self.further);
        tested
    }

    /// Returns the number of further pairs that a test needs; 0 if nothing differs by a tenth.
    pub fn needed(&self) -> usize {
        let differs = self.values().values().any(|one| one.pair().is_some_and(is_notable));
        if differs { PAIRS.saturating_sub(self.tested().len()) } else { 0 }
    }

    /// Returns the values of each metric, with the verdict of the test.
    fn values(&self) -> IndexMap<String, WithoutValue> {
        let Some([first, _]) = self.shown.first() else { return IndexMap::new() };
        let tested = self.tested();
        let one = |path: &String| {
            let of = |pair: &[Values; 2]| {
                let [with, without] = pair.each_ref().map(|side| side.get(path).copied().flatten());
                (with, without)
            };
            let shown = || self.shown.iter().map(of);
            let mean = |values: Vec<Option<f64>>| Some(Interval::of(values)?.mean);
            let differences = shown().map(|(with, without)| Some(with? - without?));
            let mut value = WithoutValue {
                with_change: mean(shown().map(|(with, _)| with).collect()),
                without: mean(shown().map(|(_, without)| without).collect()),
                half_width: Interval::of(differences.collect()).and_then(|interval| interval.half_width),
                ..WithoutValue::default()
            };
            let pairs: Option<Vec<(f64, f64)>> =
                tested.iter().copied().map(of).map(|(with, without)| Some((with?, without?))).collect();
            if let (Some(pairs), Some(shown)) = (pairs, value.pair()) {
                value.is_effect = is_effect(&pairs, shown, first.len());
                let ratios = pairs.iter().map(|(with, without)| with / without);
                let (low, high) =
                    ratios.fold((f64::INFINITY, 0.0_f64), |(low, high), one| (one.min(low), one.max(high)));
                value.ratios = (value.is_effect && high.is_finite()).then_some([low, high]);
            }
            (path.clone(), value)
        };
        first.keys().map(one).collect()
    }
}

impl WithoutValue {
    /// Returns both values, if both were observed.
    pub fn pair(&self) -> Option<(f64, f64)> {
        Some((self.with_change?, self.without?))
    }
}

impl Summary {
    /// Adds to the phase of this index, counted from 0, what its change did.
    pub fn add_without(&mut self, phase: usize, pairs: &Pairs, same_packets: bool) {
        let without =
            WithoutChange { same_packets, runs: pairs.tested().len() as u64, values: pairs.values() };
        if let Some(phase) = self.phases.get_mut(phase) {
            phase.without = Some(without);
        }
    }
}
