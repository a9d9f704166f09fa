//! Comparison of a plan's variants, metric by metric.

use lockgate_measure::comparison::{MetricComparison, Reference};
use lockgate_measure::metric::{MetricError, Quantity};
use lockgate_measure::summary::Summary;

use crate::{Plan, Row};

/// Returns the values of the metrics at `addresses` in a run's summary. For a pattern without a
/// statistic over its members, the worst member's, and none if nothing was observed of one.
///
/// # Errors
/// If an address is malformed.
pub fn row(summary: &Summary, addresses: &[String]) -> Result<Row, MetricError> {
    addresses
        .iter()
        .map(|path| Ok(summary.quantity(&Quantity::parse(path)?).filter(|value| value.is_finite())))
        .collect()
}

/// Compares the variants of a plan by the rows of its tasks, which are in the order of the tasks: one
/// comparison for each metric. The others are compared with the variant `base`, by default with the best, or
/// with the first if no direction of the metric is better.
pub fn compare(plan: &Plan, rows: &[Row], base: Option<usize>) -> Vec<MetricComparison> {
    let seeds = plan.seeds.len().max(1);
    let of = |(index, path): (usize, &String)| {
        let values: Vec<Vec<Option<f64>>> = rows
            .chunks(seeds)
            .map(|rows| rows.iter().map(|row| row.get(index).copied().flatten()).collect())
            .collect();
        let better = Quantity::parse(path).ok().and_then(|quantity| quantity.better());
        let reference = match (base, better) {
            (Some(base), _) => Reference::Given(base),
            (None, Some(_)) => Reference::Best,
            (None, None) => Reference::Given(0),
        };
        MetricComparison::new(&values, better, reference)
    };
    plan.metrics.iter().enumerate().map(of).collect()
}
