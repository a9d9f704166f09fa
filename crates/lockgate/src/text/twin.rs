//! Comparison of simulated and live runs as text.

use super::lines::Lines;
use crate::twin::Difference;
use crate::{figures, verdict};

/// Adds a table with a row for each metric of both, and the verdict on it.
pub fn twin(differences: &[Difference], repetitions: usize, lines: &mut Lines) {
    let of = if repetitions > 1 { format!(" (medians of {repetitions} runs)") } else { String::new() };
    lines.heading(&format!("simulated and live{of}"));
    let rows: Vec<Vec<String>> = differences
        .iter()
        .map(|difference| {
            let unit = if difference.metric.ends_with("put") { "bit/s" } else { "s" };
            let value = |value: Option<f64>| figures::quantity(value, unit);
            vec![
                difference.metric.clone(),
                value(difference.simulated),
                value(difference.live),
                difference
                    .relative
                    .map_or_else(|| "-".to_owned(), |share| format!("{:+.2} %", share * 100.0)),
                format!("+- {}", value(Some(difference.tolerance))),
                if difference.at_knee { "~ at a knee" } else { verdict::sign(difference.holds) }.to_owned(),
            ]
        })
        .collect();
    lines.table(&["metric", "simulated", "live", "difference", "tolerance", "verdict"], &rows);
}
