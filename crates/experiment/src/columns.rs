//! Column of numbers beside the texts of a variation, for axes and sorting.

use lockgate_scenario::vary;

/// Returns the name and the values of the column, in base units, with the unit in the name:
/// `link.line.rate_bps`.
/// `None` if a value is no number, or if units differ.
pub fn numbers<'a>(
    variation: &str,
    values: impl Iterator<Item = &'a str> + Clone,
) -> Option<(String, Vec<f64>)> {
    let unit = vary::unit(values.clone().next()?);
    if values.clone().any(|value| vary::unit(value) != unit) {
        return None;
    }
    let numbers = values.map(vary::number).collect::<Option<_>>()?;
    let suffix = match unit {
        "s" => "s",
        "bit/s" => "bps",
        "B" => "bytes",
        "packets" => "packets",
        "%" => "percent",
        _ => "number",
    };
    Some((format!("{variation}_{suffix}"), numbers))
}
