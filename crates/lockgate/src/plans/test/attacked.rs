//! Attack on an expectation, as a case of a test.

use lockgate_measure::metric::Quantity;
use lockgate_measure::summary::Expected;
use serde::Serialize;

use super::{Case, Judgement};
use crate::attack::Attack;
use crate::figures;

/// Attack on an expectation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attacked {
    /// Name of the expectation.
    pub name: String,
    /// Line of the scenario file at which it stands, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Address of the metric.
    pub that: String,
    /// Worst value known, of the search or of the scenario's own traffic, in the base unit of the metric;
    /// `None` if nothing was observed.
    pub worst: Option<f64>,
    /// Proven bound of it, if there is one.
    pub proven: Option<f64>,
    /// True if the worst value misses the expectation.
    pub is_broken: bool,
    /// Runs of the search and of the shrinker.
    pub runs: u64,
    /// Time of both, in seconds.
    pub seconds: f64,
    /// Reason why it was not attacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_attacked: Option<String>,
    /// Scenario of the found traffic, if it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
}

impl Attacked {
    /// Creates the result of an attack.
    pub fn new(expected: &Expected, found: &Attack, seconds: f64) -> Self {
        Self {
            worst: found.worst_known(),
            proven: found.proven.as_ref().and_then(|proven| proven.as_ref().ok().copied()),
            is_broken: found.worst.is_some_and(|worst| !expected.holds(worst)),
            runs: found.runs.iter().sum(),
            seconds,
            not_attacked: None,
            ..Self::without(expected, String::new())
        }
    }

    /// Creates the result of an attack that was not made.
    pub fn without(expected: &Expected, why: String) -> Self {
        Self {
            name: expected.name.clone().unwrap_or_else(|| expected.that.clone()),
            line: expected.line,
            that: expected.that.clone(),
            worst: None,
            proven: None,
            is_broken: false,
            runs: 0,
            seconds: 0.0,
            not_attacked: Some(why),
            scenario: None,
        }
    }

    /// Returns its case: missed if it broke the expectation.
    pub(super) fn case(&self) -> Case {
        let (judgement, message) =
            if self.is_broken { (Judgement::Missed, self.line()) } else { (Judgement::Held, String::new()) };
        Case { name: format!("attack on {}", self.name), line: self.line, judgement, message }
    }

    /// Returns the result in a line: what was found, or the effort.
    pub fn line(&self) -> String {
        let Self { name, that, runs, seconds, .. } = self;
        if let Some(why) = &self.not_attacked {
            return format!("{name}: not attacked: {why}");
        }
        let unit = Quantity::parse(that).map(|quantity| quantity.of.unit().symbol()).unwrap_or_default();
        let value = |value: Option<f64>| figures::quantity(value, unit);
        let effort = format!("{runs} runs, {seconds:.1} s");
        let proven =
            self.proven.map_or_else(String::new, |proven| format!(", proven {}", value(Some(proven))));
        let worst = value(self.worst);
        if self.is_broken {
            let scenario = self.scenario.as_ref().map_or_else(String::new, |at| format!(": {at}"));
            format!(
                "{name}: broken by traffic within the envelopes: {that} is {worst}{proven} ({effort}){scenario}"
            )
        } else {
            format!("{name}: no traffic was found that breaks it: worst found {worst}{proven} ({effort})")
        }
    }
}
