//! Expectations: bounds on a metric, checked against its value in every run.

use serde::{Deserialize, Serialize};

use super::Summary;
use crate::bufferbloat::Grade;
use crate::intervals::Interval;
use crate::metric::{Address, Metric, MetricError, Quantity, Subject, SubjectKind};

/// Metric that an expectation with `proven` judges.
pub const BOUND: &str = "owd.bound";

/// A bound on a metric, in its base unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Strictly less than this value.
    Below(f64),
    /// Strictly more than this value.
    Above(f64),
    /// At most this value.
    AtMost(f64),
    /// At least this value.
    AtLeast(f64),
    /// Between the two values, both included.
    Between(f64, f64),
}

impl Bound {
    /// Returns true if `value` satisfies the bound; NaN never does.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::Below(bound) => value < bound,
            Self::Above(bound) => value > bound,
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
            Self::Between(low, high) => (low..=high).contains(&value),
        }
    }
}

/// Statistic of several runs that must satisfy the bounds. For a single run, its value must.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub enum Criterion {
    /// Both ends of the 95 % confidence interval of the mean: the worse one decides.
    #[default]
    #[serde(rename = "95%")]
    Interval,
    /// Mean of the runs.
    #[serde(rename = "mean")]
    Mean,
    /// Every run.
    #[serde(rename = "all")]
    All,
}

impl Criterion {
    /// Returns its notation in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interval => "95%",
            Self::Mean => "mean",
            Self::All => "all",
        }
    }
}

/// An expectation: a metric and the bounds it must satisfy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// Address of the metric.
    pub that: String,
    /// Bounds in the base unit of the metric, at least one; all must hold.
    pub bounds: Vec<Bound>,
    /// Statistic of several runs that must satisfy them.
    pub criterion: Criterion,
    /// Name given in the scenario, for reports.
    pub name: Option<String>,
    /// Line of the scenario's text at which it begins, from 1.
    pub line: Option<u64>,
    /// Fraction of the flows or queues that must satisfy the bounds, if the address stands for several;
    /// `None`: all.
    pub held_by: Option<f64>,
    /// Worst grade of a line under load that the bounds permit, if they are given as a grade.
    pub grade: Option<Grade>,
    /// True if the bound of the proof must satisfy the bounds, instead of what was measured. `that` is a
    /// one-way delay of flows.
    pub proven: bool,
}

impl Expected {
    /// Returns the address that is judged: for a delay that must be proven, its bound.
    fn judged(&self, address: Address) -> Address {
        match Metric::named(SubjectKind::Flow, BOUND).filter(|_| self.proven) {
            Some(metric) => Address { metric, statistic: None, during: None, ..address },
            None => address,
        }
    }

    /// Returns by how much `value` misses the bounds; negative if it holds.
    fn excess(&self, value: f64) -> f64 {
        let of = |bound: &Bound| match *bound {
            Bound::Below(bound) | Bound::AtMost(bound) => value - bound,
            Bound::Above(bound) | Bound::AtLeast(bound) => bound - value,
            Bound::Between(low, high) => (low - value).max(value - high),
        };
        self.bounds.iter().map(of).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns the deciding value, and the number of values that hold. Enough hold exactly if the deciding
    /// value holds: it is the worst of the best `held_by`. A missing value counts as the worst of all.
    fn decisive(&self, values: &[Option<f64>]) -> (Option<f64>, MembersHeld) {
        let held = values.iter().filter(|value| value.is_some_and(|value| self.holds(value))).count();
        let badness = |value: &Option<f64>| value.map_or(f64::INFINITY, |value| self.excess(value));
        let mut sorted = values.to_vec();
        sorted.sort_by(|one, other| badness(one).total_cmp(&badness(other)));
        let wanted_ratio = self.held_by.unwrap_or(1.0);
        let wanted = wanted_ratio * values.len() as f64 * (1.0 - f64::EPSILON);
        let rank = (wanted.ceil() as usize).clamp(1, values.len().max(1));
        let members = MembersHeld { held: held as u64, of: values.len() as u64, wanted_ratio };
        (sorted.get(rank - 1).copied().flatten(), members)
    }

    /// Returns true if `value` satisfies every bound.
    pub fn holds(&self, value: f64) -> bool {
        self.bounds.iter().all(|bound| bound.holds(value))
    }
}

/// How many of several flows or queues satisfy an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MembersHeld {
    /// Number of those that satisfy the bounds.
    pub held: u64,
    /// Number of all.
    pub of: u64,
    /// Fraction of them that must satisfy the bounds.
    pub wanted_ratio: f64,
}

impl MembersHeld {
    /// Compares by the share that satisfies the bounds.
    fn by_share(&self, other: &Self) -> core::cmp::Ordering {
        let share = |one: &Self| one.held as f64 / one.of.max(1) as f64;
        share(self).total_cmp(&share(other))
    }
}

/// An expectation with its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Expectation {
    /// Address of the metric.
    pub that: String,
    /// Name; absent if the scenario gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Line of the scenario file at which it begins, from 1; absent if it is not from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Statistic of several runs that must satisfy the bounds.
    #[serde(rename = "in", default)]
    pub criterion: Criterion,
    /// Bound: less than this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// Bound: more than this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// Bound: at most this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Bound: at least this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Bound: from the first value to the second, both included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[f64; 2]>,
    /// Worst grade of a line under load that the bounds permit, by Waveform's scale of bufferbloat; absent if
    /// they are not given as a grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Flows or queues that satisfy the bounds, if the address stands for several; absent for one. Of several
    /// runs, those of the run in which the smallest share does. `value` is that of the member that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<MembersHeld>,
    /// Reason why the bound on the delay that it judges cannot be proven; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_bound: Option<String>,
    /// Value of the metric; of several runs, their mean; `null` if one of them observed nothing.
    pub value: Option<f64>,
    /// Half the width of the mean's 95 % confidence interval; `null` for a single run, and if all values
    /// are equal.
    pub half_width: Option<f64>,
    /// Value in each run, in the order of the seeds; `null` if nothing was observed.
    pub values: Vec<Option<f64>>,
    /// Number of runs whose own value satisfies the bounds.
    pub held: u64,
    /// True if the expectation holds; false if a run observed nothing.
    pub holds: bool,
}

impl Expectation {
    /// Checks `values`, one per run, against an expectation.
    pub fn judge(expected: &Expected, values: Vec<Option<f64>>) -> Self {
        let keeps = |value: f64| expected.holds(value);
        let held = values.iter().filter(|value| value.is_some_and(keeps)).count();
        let complete = !values.is_empty() && values.iter().all(Option::is_some);
        let interval = complete.then(|| Interval::of(values.clone())).flatten();
        let holds =
            interval.as_ref().is_some_and(|interval| match (expected.criterion, interval.half_width) {
                (Criterion::All, _) => held == values.len(),
                (Criterion::Interval, Some(half)) => {
                    keeps(interval.mean - half) && keeps(interval.mean + half)
                }
                (Criterion::Mean | Criterion::Interval, _) => keeps(interval.mean),
            });
        let (value, half_width) =
            interval.as_ref().map_or((None, None), |interval| (Some(interval.mean), interval.half_width));
        let mut expectation = Self {
            that: expected.that.clone(),
            name: expected.name.clone(),
            line: expected.line,
            criterion: expected.criterion,
            below: None,
            above: None,
            at_most: None,
            at_least: None,
            between: None,
            grade: expected.grade,
            members: None,
            no_bound: None,
            value,
            half_width,
            values,
            held: held as u64,
            holds,
        };
        for bound in &expected.bounds {
            match *bound {
                Bound::Below(bound) => expectation.below = Some(bound),
                Bound::Above(bound) => expectation.above = Some(bound),
                Bound::AtMost(bound) => expectation.at_most = Some(bound),
                Bound::AtLeast(bound) => expectation.at_least = Some(bound),
                Bound::Between(low, high) => expectation.between = Some([low, high]),
            }
        }
        expectation
    }
}

impl Summary {
    /// Checks expectations against the runs of this summary, and stores the outcomes. Returns true if all
    /// hold.
    ///
    /// # Errors
    /// Returns [`MetricError::Unknown`] of the first unknown metric; those before it are stored.
    pub fn judge(&mut self, expects: &[Expected]) -> Result<bool, MetricError> {
        let mut all = true;
        for expected in expects {
            all &= self.expect(expected)?;
        }
        Ok(all)
    }

    /// Checks an expectation against the runs of this summary, and stores the outcome. Returns true if it
    /// holds.
    ///
    /// # Errors
    /// Returns [`MetricError::Unknown`]; nothing is stored then.
    pub fn expect(&mut self, expected: &Expected) -> Result<bool, MetricError> {
        let quantity = Quantity::parse(&expected.that)?;
        if quantity.less.is_some() {
            return self.expect_difference(&quantity, expected);
        }
        let address = expected.judged(quantity.of);
        let value = match self.metric(&address.to_string()) {
            Ok(value) => Some(value),
            Err(MetricError::Empty { .. }) => None,
            Err(unknown) => return Err(unknown),
        };
        let that = address.to_string();
        if address.during.is_none() {
            self.add_to_phases(&address);
        }
        if address.is_many() {
            self.expect_of_many(&address, &Expected { that, ..expected.clone() });
            return Ok(self.expect.last().is_some_and(|expectation| expectation.holds));
        }
        let values = match self.intervals.get(&that) {
            Some(interval) => interval.values.clone(),
            None if address.during.is_some() => {
                core::iter::once(&*self).chain(&self.repetitions).map(|run| run.value(&address)).collect()
            }
            None => vec![value; (self.runs as usize).max(1)],
        };
        let mut expectation = Expectation::judge(&Expected { that, ..expected.clone() }, values);
        let holds = expectation.holds;
        expectation.no_bound = self.no_bound(&address);
        self.expect.push(expectation);
        Ok(holds)
    }

    /// Returns why there is no proof of a flow's delay.
    fn no_bound(&self, address: &Address) -> Option<String> {
        let Subject::Flow(name) = &address.subject else { return None };
        let flow = self.flows.get(name).filter(|_| address.metric.name == BOUND && !address.is_many())?;
        flow.no_bound.clone()
    }

    /// Checks an expectation on the difference of two metrics.
    fn expect_difference(&mut self, quantity: &Quantity, expected: &Expected) -> Result<bool, MetricError> {
        self.check(&expected.that)?;
        let runs = core::iter::once(&*self).chain(&self.repetitions);
        let values = runs.map(|run| run.quantity(quantity)).collect();
        let expectation =
            Expectation::judge(&Expected { that: quantity.to_string(), ..expected.clone() }, values);
        let holds = expectation.holds;
        self.expect.push(expectation);
        Ok(holds)
    }

    /// Checks an expectation on several flows or queues: on a statistic over them, or on each.
    fn expect_of_many(&mut self, address: &Address, expected: &Expected) {
        let runs = || core::iter::once(&*self).chain(&self.repetitions);
        let of_run = |run: &Self| -> (Option<f64>, Option<MembersHeld>) {
            if address.member_statistic.is_some() {
                return (run.value(address), None);
            }
            let values: Vec<Option<f64>> = run.values(address).into_iter().map(|(_, value)| value).collect();
            let (value, members) = expected.decisive(&values);
            (value, Some(members))
        };
        let decided: Vec<_> = runs().map(of_run).collect();
        let values = decided.iter().map(|(value, _)| *value).collect();
        let mut expectation = Expectation::judge(expected, values);
        expectation.members =
            decided.iter().filter_map(|(_, members)| *members).min_by(MembersHeld::by_share);
        self.expect.push(expectation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(criterion: Criterion, bounds: &[Bound], values: &[Option<f64>]) -> (bool, u64) {
        let expected = Expected { bounds: bounds.to_vec(), criterion, ..Expected::default() };
        let judged = Expectation::judge(&expected, values.to_vec());
        assert_eq!(judged.values, values);
        (judged.holds, judged.held)
    }

    #[test]
    fn each_criterion_by_hand() {
        use Criterion::{All, Interval, Mean};
        // Mean 12, 95 % from 7.03 to 16.97.
        let values = [10.0, 12.0, 14.0].map(Some);
        for (criterion, bound, expected) in [
            (Interval, Bound::Below(17.0), (true, 3)),
            (Interval, Bound::Below(16.9), (false, 3)),
            (Interval, Bound::Above(7.0), (true, 3)),
            (Interval, Bound::AtLeast(7.1), (false, 3)),
            (Interval, Bound::Between(7.0, 17.0), (true, 3)),
            (Interval, Bound::Between(7.1, 17.0), (false, 3)),
            (Mean, Bound::Below(12.5), (true, 2)),
            (Mean, Bound::Below(12.0), (false, 1)),
            (All, Bound::AtMost(14.0), (true, 3)),
            (All, Bound::Below(14.0), (false, 2)),
        ] {
            assert_eq!(judged(criterion, &[bound], &values), expected, "{criterion:?} {bound:?}");
        }
    }

    #[test]
    fn a_difference_is_taken_run_by_run() {
        let mut summary = crate::summarise(&[crate::example::run(1, 950)]);
        let paths = summary.flows.keys().map(|flow| format!("flow.{flow}.owd")).collect::<Vec<_>>();
        let (mean, least) = (format!("{}.mean", paths[0]), format!("{}.min", paths[0]));
        let more = summary.metric(&mean).expect("delays") - summary.metric(&least).expect("delays");
        let expected = Expected {
            that: format!("{mean} - {least}"),
            bounds: vec![Bound::AtMost(more)],
            ..Expected::default()
        };
        assert_eq!(summary.expect(&expected), Ok(true));
        assert_eq!(summary.expect[0].value, Some(more));
        let wrong = Expected { that: format!("{mean} - flow.none.owd.min"), ..expected };
        assert!(summary.expect(&wrong).is_err());
    }

    #[test]
    fn enough_of_several_decide() {
        let expected = |held_by| Expected { bounds: vec![Bound::Below(5.0)], held_by, ..Expected::default() };
        let values = [Some(9.0), Some(1.0), Some(4.0), Some(2.0)];
        let held = |wanted_ratio| MembersHeld { held: 3, of: 4, wanted_ratio };
        assert_eq!(expected(None).decisive(&values), (Some(9.0), held(1.0)));
        assert_eq!(expected(Some(0.75)).decisive(&values), (Some(4.0), held(0.75)));
        assert_eq!(expected(Some(0.76)).decisive(&values), (Some(9.0), held(0.76)));
        let half = MembersHeld { held: 1, of: 2, wanted_ratio: 1.0 };
        assert_eq!(expected(None).decisive(&[Some(1.0), None]), (None, half));
        assert_eq!(expected(None).decisive(&[]).0, None);
    }

    #[test]
    fn a_run_that_observed_nothing_holds_nothing_and_a_single_one_is_its_value() {
        for criterion in [Criterion::Interval, Criterion::Mean, Criterion::All] {
            let below = [Bound::Below(5.0)];
            assert_eq!(judged(criterion, &below, &[Some(1.0), None]), (false, 1), "{criterion:?}");
            assert_eq!(judged(criterion, &below, &[None]), (false, 0), "{criterion:?}");
            assert_eq!(judged(criterion, &below, &[Some(4.0)]), (true, 1), "{criterion:?}");
            assert_eq!(judged(criterion, &below, &[Some(6.0), Some(6.0)]), (false, 0), "{criterion:?}");
        }
    }
}
