//! Verdict of a run, as it is written: sentences and rows. `verdict` makes them.

use serde::{Deserialize, Serialize};

/// Outcome of all expectations of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Nothing was expected.
    #[default]
    None,
    /// All hold.
    Held,
    /// At least one does not hold.
    Missed,
}

/// Verdict of a run, in words and rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RunVerdict {
    /// Outcome of all expectations.
    pub outcome: Outcome,
    /// Most important sentences: on what holds and how tightly (`All 4 hold. Tightest: …`), or on what a
    /// change did, or on members that do not keep what holds of most.
    pub headline: String,
    /// True if the headline is on a change that has an effect, and nothing is expected of the metric that it
    /// changed most; or on members. The first of the findings is then on what holds.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub change_first: bool,
    /// True if such a headline is on a change for the worse, or on members that lose.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub hurts: bool,
    /// Further sentences, most important first: what each change did, where packets waited.
    pub findings: Vec<String>,
    /// Each expectation, formatted: missed ones first, else in the scenario's order.
    pub rows: Vec<JudgedRow>,
    /// Judged metrics, and a delay or a rate of the other flows, before and after each change; absent if
    /// nothing changed in the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<PhaseTable>,
}

/// An expectation, formatted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct JudgedRow {
    /// Address of the metric.
    pub that: String,
    /// Subject, such as `call`; empty for the whole run, and if the scenario names the expectation.
    pub subject: String,
    /// Measured quantity, such as `delay p99`; the expectation's name if the scenario gives one.
    pub quantity: String,
    /// Measured value with its unit; of several flows or queues, how many keep the bounds.
    pub value: String,
    /// Bounds with their units: `below 50 ms`.
    pub wanted: String,
    /// True if it holds.
    pub holds: bool,
    /// How much of the tightest bound is used up: 1 at the bound, more beyond it; absent for a bound of zero,
    /// and without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_ratio: Option<f64>,
    /// Distance from the tightest bound in words: `11 % above its bound`; may be empty.
    pub margin: String,
}

/// Metrics before and after each change, formatted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PhaseTable {
    /// Heading of each column: the time, and what changed at its start.
    pub heads: Vec<String>,
    /// Rows: judged metrics first.
    pub rows: Vec<PhaseRow>,
}

/// A metric in each phase, formatted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PhaseRow {
    /// Address of the metric.
    pub that: String,
    /// Subject of the metric.
    pub subject: String,
    /// Measured quantity.
    pub quantity: String,
    /// Value in each phase, with its unit.
    pub values: Vec<String>,
    /// Value in each phase without the changes at its start, with its unit; empty for the first phase. Absent
    /// if no run without them was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// True if an expectation is on it.
    pub judged: bool,
}

impl RunVerdict {
    /// Returns all sentences, the headline first.
    pub fn sentences(&self) -> Vec<String> {
        core::iter::once(self.headline.clone()).chain(self.findings.iter().cloned()).collect()
    }

    /// Returns a sign of the outcome that does not need colour; empty if nothing was expected.
    pub fn sign(&self) -> &'static str {
        match self.outcome {
            Outcome::None => "",
            Outcome::Held => "✓",
            Outcome::Missed => "✗",
        }
    }
}
