//! Table of the phases of a run: a column for each part of the window, a row for each metric.

use serde::{Deserialize, Serialize};

use super::text;
use super::words::Words;
use crate::figures;
use crate::summary::{PhaseSummary, Summary};

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

/// Returns the table of the phases; `None` if nothing changed in the window, or nothing is recorded by phase.
pub(super) fn table(summary: &Summary) -> Option<PhaseTable> {
    let first = summary.phases.first()?;
    let is_judged = |path: &str| summary.expect.iter().any(|expect| expect.that == path);
    let (judged, others): (Vec<&String>, Vec<&String>) =
        first.values.keys().partition(|path| is_judged(path));
    let row = |path: &String| {
        let Words { subject, quantity } = Words::of(path);
        let value = |phase: &PhaseSummary| text::quantity(path, phase.values.get(path).copied().flatten());
        let values = summary.phases.iter().map(value).collect();
        let without = |phase: &PhaseSummary| match &phase.without {
            Some(without) => text::quantity(path, without.values.get(path).and_then(|value| value.without)),
            None => String::new(),
        };
        let mut without: Vec<String> = summary.phases.iter().map(without).collect();
        if summary.phases.iter().all(|phase| phase.without.is_none()) {
            without.clear();
        }
        PhaseRow { that: path.clone(), subject, quantity, values, without, judged: is_judged(path) }
    };
    let rows: Vec<PhaseRow> = judged.into_iter().chain(others).map(row).collect();
    (!rows.is_empty()).then(|| PhaseTable { heads: summary.phases.iter().map(head).collect(), rows })
}

fn head(phase: &PhaseSummary) -> String {
    let second = |at: f64| figures::without_zeros(&figures::plain(at));
    let span = format!("{} to {} s", second(phase.from_s), second(phase.to_s));
    match phase.changes.as_slice() {
        [] => span,
        [only] => format!("{span}, {only}"),
        [first, rest @ ..] => format!("{span}, {first} and {} more", rest.len()),
    }
}
