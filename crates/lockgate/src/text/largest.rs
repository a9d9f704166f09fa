//! Search for the largest number that keeps a condition as text.

use super::grid::{Cell, Column, Grid};
use super::lines::Lines;
use super::surface::Look;
use crate::plans::LargestSearch;
use crate::verdict;

/// Adds the numbers that were tried, and the answer.
pub fn largest(search: &LargestSearch, lines: &mut Lines) {
    let mut grid = Grid::new(vec![
        Column::sign(),
        Column::number(&search.setting()),
        Column::number(&search.metric_words()),
        Column::number("kept by"),
    ]);
    let seeds = search.seed_count();
    for tried in search.tried() {
        let (sign, look) = match tried.kept {
            all if all == seeds => ("✓", Look::Good),
            0 => ("✗", Look::Bad),
            _ => ("~", Look::Plain),
        };
        grid.row([
            Cell::new(sign, look),
            tried.number.to_string().into(),
            verdict::quantity(search.metric(), tried.mean).into(),
            format!("{} of {seeds}", tried.kept).into(),
        ]);
    }
    lines.grid(&grid);
    lines.sentence(&search.answer());
}
