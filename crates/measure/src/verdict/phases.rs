//! Table of the phases of a run: a column for each part of the window, a row for each metric.

use super::text;
use super::words::Words;
use crate::figures;
use crate::summary::{PhaseRow, PhaseSummary, PhaseTable, Summary};

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
    let span = format!("{} to {} s", figures::instant(phase.from_s), figures::instant(phase.to_s));
    match phase.changes.as_slice() {
        [] => span,
        [only] => format!("{span}, {only}"),
        [first, rest @ ..] => format!("{span}, {first} and {} more", rest.len()),
    }
}
