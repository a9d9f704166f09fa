//! Columns of the lists by the width of the screen.

use std::fmt::Write;

use super::fit;

/// Blanks between columns.
const GAP: usize = 1;

/// Least width of the names.
const LEAST_NAME: usize = 12;

/// A column of figures.
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) width: usize,
    /// Order in which columns are left out, the largest first; 0: never.
    pub(super) rank: u8,
    /// True for text, which is aligned to the left.
    pub(super) is_text: bool,
}

impl Column {
    pub(super) const fn number(title: &'static str, width: usize, rank: u8) -> Self {
        Self { title, width, rank, is_text: false }
    }

    pub(super) const fn text(title: &'static str, width: usize, rank: u8) -> Self {
        Self { title, width, rank, is_text: true }
    }
}

/// Columns that fit a width, beside names as long as they are.
pub(super) struct Table<'a> {
    columns: Vec<&'a Column>,
    name: usize,
    /// Columns that remain free.
    pub(super) spare: usize,
}

impl<'a> Table<'a> {
    /// Chooses the columns for names of `longest` columns. Names are cut only if no column can be left out.
    pub(super) fn new(columns: &'a [Column], longest: usize, width: usize) -> Self {
        let mut shown: Vec<&Column> = columns.iter().collect();
        let longest = longest.max(LEAST_NAME);
        let of = |shown: &[&Column]| shown.iter().map(|column| column.width + GAP).sum::<usize>();
        while longest + of(&shown) > width {
            let last = shown.iter().enumerate().filter(|(_, column)| column.rank > 0);
            let Some((index, _)) = last.max_by_key(|(_, column)| column.rank) else { break };
            shown.remove(index);
        }
        let room = width.saturating_sub(of(&shown));
        Self { columns: shown, name: longest.min(room), spare: room.saturating_sub(longest) }
    }

    /// Returns the line of titles.
    pub(super) fn header(&self, name: &str, extra: usize, wide: &str) -> String {
        self.line(name, extra, wide, str::to_owned)
    }

    /// Returns a line: the name, then each column's cell. The column `wide` is wider by `extra`.
    pub(super) fn line(&self, name: &str, extra: usize, wide: &str, cell: impl Fn(&str) -> String) -> String {
        let mut line = fit(name, self.name);
        for column in &self.columns {
            let width = column.width + if column.title == wide { extra } else { 0 };
            line.extend(std::iter::repeat_n(' ', GAP));
            let text = cell(column.title);
            if column.is_text {
                line += &fit(&text, width);
            } else {
                let _ = write!(line, "{text:>width$}");
            }
        }
        line
    }
}
