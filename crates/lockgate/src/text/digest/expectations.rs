//! Rows of expectations: the missed ones first, each with the part of its bound that is used.

use lockgate_measure::summary::Expectation;

use super::brief;
use crate::text::grid::{Cell, Column, Grid};
use crate::text::surface::{Look, Surface};
use crate::{Summary, verdict};

/// Number of expectations shown, if more hold.
const MOST_EXPECTATIONS: usize = 12;

/// Number of missed expectations shown.
const MOST_MISSED: usize = 24;

/// Cells of a gauge.
const GAUGE: usize = 6;

/// Returns the rows.
pub(super) fn lines(summary: &Summary, surface: &Surface) -> Vec<String> {
    let (missed, held): (Vec<_>, Vec<_>) = summary.expect.iter().partition(|one| !one.holds);
    let shown: Vec<&Expectation> = missed
        .iter()
        .take(MOST_MISSED)
        .chain(held.iter().take(MOST_EXPECTATIONS.saturating_sub(missed.len())))
        .copied()
        .collect();
    let several = summary.runs > 1;
    let mut columns =
        vec![Column::sign(), Column::sentences(""), Column::sentences("").right(), Column::sentences("")];
    columns.extend(several.then(|| Column::number("").rank(1)));
    columns.extend([Column::name("").rank(2), Column::name("").rank(3)]);
    let mut grid = Grid::new(columns);
    for expect in &shown {
        let look = if expect.holds { Look::Plain } else { Look::Bad };
        let sign = if expect.holds { Cell::new("✓", Look::Good) } else { Cell::new("✗", Look::Bad) };
        let name = verdict::words(expect).in_sentence();
        let mut row = vec![
            sign,
            Cell::new(name, look),
            Cell::new(verdict::value(expect), look),
            Cell::new(brief(&verdict::bounds(expect)), look),
        ];
        row.extend(several.then(|| Cell::new(format!("{} of {}", expect.held, expect.values.len()), look)));
        let colour = if expect.holds { Look::Good } else { Look::Bad };
        row.push(Cell::new(gauge(expect), colour));
        row.push(Cell::new(margin(expect), if expect.holds { Look::Faint } else { look }));
        grid.row(row);
    }
    let mut lines = grid.lines(surface);
    let left_out = |all: usize, shown: usize, verb: &str| {
        (all > shown).then(|| surface.paint(Look::Faint, &format!("  and {} more {verb}", all - shown)))
    };
    let missed_shown = missed.len().min(MOST_MISSED);
    lines.extend(left_out(missed.len(), missed_shown, "missed"));
    lines.extend(left_out(held.len(), shown.len() - missed_shown, "hold"));
    lines
}

/// Returns the distance from the tightest bound in few words: `11 % above`; empty for several flows or
/// queues, whose value is their share.
fn margin(expect: &Expectation) -> String {
    let margin = if expect.members.is_some() { String::new() } else { verdict::margin(expect) };
    let is_distance = margin.ends_with("below its bound") || margin.ends_with("above its bound");
    if is_distance { margin.trim_end_matches(" its bound").to_owned() } else { margin }
}

/// Draws the part of its bound that an expectation uses; full only if it is missed, and none without a value.
fn gauge(expect: &Expectation) -> String {
    let filled = match (expect.holds, used(expect)) {
        _ if expect.value.is_none() && expect.members.is_none() => return String::new(),
        (false, _) => GAUGE,
        (true, None) => return String::new(),
        (true, Some(used)) => ((used * GAUGE as f64).round() as usize).min(GAUGE - 1),
    };
    let cell = |index| if index < filled { '▮' } else { '▯' };
    (0..GAUGE).map(cell).collect()
}

/// Returns the part of the nearest bound that a value uses, 1 at the bound: of an upper bound the value's
/// share of it, of a lower one the bound's share of the value, of two the distance from their middle. `None`
/// without a value, or for a bound of zero or less.
fn used(expect: &Expectation) -> Option<f64> {
    if let Some(members) = expect.members {
        return (members.held > 0).then(|| members.wanted_ratio * members.of as f64 / members.held as f64);
    }
    let value = expect.value?;
    let upper = [expect.below, expect.at_most].into_iter().flatten().reduce(f64::min);
    let lower = [expect.above, expect.at_least].into_iter().flatten().reduce(f64::max);
    let (lower, upper) = match expect.between {
        Some([low, high]) => (
            Some(lower.map_or(low, |bound| bound.max(low))),
            Some(upper.map_or(high, |bound| bound.min(high))),
        ),
        None => (lower, upper),
    };
    match (lower, upper) {
        (Some(low), Some(high)) if high > low => {
            Some((value - f64::midpoint(low, high)).abs() / ((high - low) / 2.0))
        }
        (None, Some(high)) if high > 0.0 => Some((value / high).max(0.0)),
        (Some(low), None) if low > 0.0 && value > 0.0 => Some(low / value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_measure::summary::{Bound, Expected};

    fn gauge_of(bounds: &[Bound], value: impl Into<Option<f64>>) -> String {
        let expected = Expected { bounds: bounds.to_vec(), ..Expected::default() };
        gauge(&Expectation::judge(&expected, vec![value.into()]))
    }

    #[test]
    fn a_gauge_is_full_only_at_a_miss() {
        assert_eq!(gauge_of(&[Bound::Below(0.05)], 0.0171), "▮▮▯▯▯▯");
        assert_eq!(gauge_of(&[Bound::Below(1.0)], 0.123), "▮▯▯▯▯▯");
        assert_eq!(gauge_of(&[Bound::Below(1.0)], 0.999), "▮▮▮▮▮▯");
        assert_eq!(gauge_of(&[Bound::Below(1.0)], 1.0), "▮▮▮▮▮▮");
        assert_eq!(gauge_of(&[Bound::Above(8e6)], 8.88e6), "▮▮▮▮▮▯");
        assert_eq!(gauge_of(&[Bound::Between(6.6, 6.9)], 6.75), "▯▯▯▯▯▯");
        assert_eq!(gauge_of(&[Bound::AtLeast(6.6), Bound::AtMost(6.9)], 6.85), "▮▮▮▮▯▯");
        assert_eq!(gauge_of(&[Bound::AtMost(0.0)], 0.0), "", "no part of nothing");
        assert_eq!(gauge_of(&[Bound::Below(0.05)], None), "", "nothing was observed");
    }
}
