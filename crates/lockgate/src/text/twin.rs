//! Comparison of simulated and live runs as text.

use lockgate_measure::report::{Cell, Comparison};

use super::lines::Lines;
use crate::twin::Difference;
use crate::{figures, verdict};

/// Returns a table with a row for each metric of both, and the verdict on it.
pub fn table(differences: &[Difference], repetitions: usize) -> Comparison {
    let of = if repetitions > 1 { format!(" (medians of {repetitions} runs)") } else { String::new() };
    let row = |difference: &Difference| {
        let unit = if difference.metric.ends_with("put") { "bit/s" } else { "s" };
        let value = |value: Option<f64>| figures::quantity(value, unit);
        let cells = [
            difference.metric.clone(),
            value(difference.simulated),
            value(difference.live),
            difference.relative.map_or_else(|| "-".to_owned(), |share| format!("{:+.2} %", share * 100.0)),
            format!("± {}", value(Some(difference.tolerance))),
            if difference.at_knee { "~ at a knee" } else { verdict::sign(difference.holds) }.to_owned(),
        ];
        cells.map(Cell::Text).to_vec()
    };
    Comparison {
        title: format!("simulated and live{of}"),
        columns: ["metric", "simulated", "live", "difference", "tolerance", "verdict"]
            .map(str::to_owned)
            .to_vec(),
        rows: differences.iter().map(row).collect(),
        ..Comparison::default()
    }
}

/// Adds the table with its heading.
pub fn twin(differences: &[Difference], repetitions: usize, lines: &mut Lines) {
    let table = table(differences, repetitions);
    lines.heading(&table.title);
    lines.comparison(&table);
}
