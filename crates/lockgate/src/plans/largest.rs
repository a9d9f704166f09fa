//! Largest number of a setting, such as of calls, that keeps a condition.

use std::collections::BTreeMap;

use lockgate_experiment::Error as ExperimentError;
use lockgate_experiment::tune::{Constraint, Largest, largest};
use lockgate_measure::metric::{MetricError, Quantity};
use lockgate_measure::recording::Recording;
use lockgate_scenario::Scenario;
use serde_json::{Value, json};

use super::{PlanError, bound_words};
use crate::{Options, Seed, memory, verdict};

/// Limit on the numbers that are tried.
const LARGEST_TRIED: u64 = 1 << 20;

/// A question for the largest number, with the values that answer it.
#[derive(Debug)]
pub struct LargestSearch {
    /// Setting that takes the number.
    pub path: String,
    /// Condition, as written.
    pub condition: String,
    constraint: Constraint,
    seeds: Vec<u64>,
    /// Values of the condition's metric by the number that was set, one a seed; `None`: nothing was observed.
    values: BTreeMap<u64, Vec<Option<f64>>>,
    found: Largest,
}

/// A number that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriedNumber {
    /// The number.
    pub number: u64,
    /// Mean of the condition's metric; `None` if a seed has no value.
    pub mean: Option<f64>,
    /// Number of seeds that keep the condition.
    pub kept: usize,
}

impl LargestSearch {
    /// Creates a search.
    ///
    /// # Errors
    /// If the condition is malformed.
    pub fn new(path: &str, condition: &str, seeds: Vec<u64>) -> Result<Self, ExperimentError> {
        let constraint = Constraint::parse(condition)?;
        let (path, condition) = (path.to_owned(), condition.to_owned());
        Ok(Self { path, condition, constraint, seeds, values: BTreeMap::new(), found: Largest::default() })
    }

    /// Makes the search. `read` returns the scenario with a number, which it may also show; threads and
    /// `stop` of the runs are those of `options`. Returns false if it was stopped: nothing is kept of it
    /// then.
    ///
    /// # Errors
    /// That of `read`, or of a run.
    pub fn make<E: From<crate::Error> + From<PlanError>>(
        &mut self,
        options: &Options<'_>,
        mut read: impl FnMut(&Self, u64) -> Result<Scenario, E>,
    ) -> Result<bool, E> {
        let found = largest(LARGEST_TRIED, |number| {
            let scenario = read(self, number)?;
            self.run::<E>(&scenario, number, options)
        })?;
        let is_made = found.is_some();
        self.found = found.unwrap_or_default();
        Ok(is_made)
    }

    /// Runs every seed with a number. Returns which of them keep the condition; `None` if it was stopped.
    fn run<E: From<crate::Error> + From<PlanError>>(
        &mut self,
        scenario: &Scenario,
        number: u64,
        options: &Options<'_>,
    ) -> Result<Option<Vec<bool>>, E> {
        memory::estimate(scenario, self.seeds.len())?;
        let options = Options {
            seeds: self.seeds.iter().map(|seed| Seed(*seed)).collect(),
            memory: Some(scenario.memory),
            ..options.clone()
        };
        let made = crate::run(scenario, &options)?;
        if made.stopped_early {
            return Ok(None);
        }
        let quantity = Quantity::parse(&self.constraint.path).map_err(PlanError::NotAMetric)?;
        let value = |recording: Recording| {
            let seed = recording.seed;
            let mut summary = lockgate_measure::summarise(&[recording]);
            crate::proof::add(scenario, &mut summary, &[seed]);
            let mut each = quantity.addresses().map(|address| summary.metric(&address.to_string()));
            let less = |of: Option<f64>, value: Result<f64, MetricError>| {
                value.map(|value| Some(of.map_or(value, |of| of - value)))
            };
            match each.try_fold(None, less) {
                Err(MetricError::Empty { .. }) => Ok(None),
                value => value.map_err(PlanError::NotAMetric),
            }
        };
        let values: Vec<Option<f64>> = made.recordings.into_iter().map(value).collect::<Result<_, _>>()?;
        let kept = values.iter().map(|value| self.is_kept(*value)).collect();
        self.values.insert(number, values);
        Ok(Some(kept))
    }

    fn is_kept(&self, value: Option<f64>) -> bool {
        value.is_some_and(|value| self.constraint.violation(value) <= 0.0)
    }

    /// True if at least one number keeps the condition in every seed.
    pub fn is_found(&self) -> bool {
        self.found.all > 0
    }

    /// Returns the address of the condition's metric.
    pub fn metric(&self) -> &str {
        &self.constraint.path
    }

    /// Returns the setting in words: `call count`.
    pub fn setting(&self) -> String {
        verdict::settings([self.path.as_str()]).concat()
    }

    /// Returns the condition's metric in words: `call delay p99 worst`.
    pub fn metric_words(&self) -> String {
        verdict::Words::of(&self.constraint.path).in_sentence()
    }

    /// Returns the number of seeds.
    pub fn seed_count(&self) -> usize {
        self.seeds.len()
    }

    /// Returns the numbers that were tried, in ascending order.
    pub fn tried(&self) -> impl ExactSizeIterator<Item = TriedNumber> + '_ {
        self.values.iter().map(|(number, values)| TriedNumber {
            number: *number,
            mean: mean(values),
            kept: values.iter().filter(|value| self.is_kept(**value)).count(),
        })
    }

    /// Returns the answer in a sentence.
    pub fn answer(&self) -> String {
        let (path, condition) =
            (self.setting(), format!("{} {}", self.metric_words(), bound_words(&self.constraint)));
        let seeds = match self.seeds.len() {
            1 => format!("seed {}", self.seeds[0]),
            several => format!("all of {several} seeds"),
        };
        let at = |number: u64| {
            let values = self.values.get(&number).map_or(&[][..], Vec::as_slice);
            verdict::quantity(&self.constraint.path, mean(values))
        };
        match self.found {
            Largest { some: 0, .. } => format!("{path}: none keeps {condition}: 1 gives {}", at(1)),
            Largest { all, is_limit: true, .. } if all == self.found.some => {
                format!("{path}: {all} still keeps {condition} ({}), and no more are tried", at(all))
            }
            Largest { all, some, .. } if all == some => format!(
                "{path}: {all} is the largest that keeps {condition} in {seeds} ({}); {} gives {}",
                at(all),
                all + 1,
                at(all + 1)
            ),
            Largest { all, some, .. } => format!(
                "{path}: up to {all} keep {condition} in {seeds} ({}), and from {} on none do ({}): \
                 between {all} and {some} it depends on the seed",
                if all == 0 { "none".to_owned() } else { at(all) },
                some + 1,
                at(some + 1)
            ),
        }
    }

    /// Returns the document of the search.
    pub fn json(&self) -> Value {
        let tried = |(number, values): (&u64, &Vec<Option<f64>>)| {
            let kept = values.iter().filter(|value| self.is_kept(**value)).count();
            json!({ "number": number, "values": values, "kept": kept })
        };
        json!({
            "schema": 1,
            "lockgate": super::ENGINE,
            "largest": self.path,
            "while": self.condition,
            "metric": self.constraint.path,
            "seeds": self.seeds,
            "tried": self.values.iter().map(tried).collect::<Vec<_>>(),
            "kept_by_all": self.found.all,
            "kept_by_some": self.found.some,
            "is_limit": self.found.is_limit,
        })
    }
}

/// Returns the mean; `None` if a seed has no value.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
