//! Tables that fit their surface: columns are left out, cut or wrapped, and no line is longer than the
//! surface.

use super::surface::{Look, Surface};
use super::width::{cut, width, wrapped};

/// Blanks between two columns.
const GAP: usize = 2;

/// Least width of a column whose cells are cut or wrapped.
const LEAST_WIDTH: usize = 8;

/// Least width that a wrapped column has before others are left out for it.
const LEAST_WRAPPED: usize = 16;

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    title: String,
    rank: u8,
    is_right: bool,
    wraps: bool,
    /// Blanks after it.
    gap: usize,
}

impl Column {
    /// Creates a column of numbers, right-aligned, that is never left out.
    pub fn number(title: &str) -> Self {
        Self { title: title.to_owned(), rank: 0, is_right: true, wraps: false, gap: GAP }
    }

    /// Creates a column of signs, such as `✓`, that belong to the column after it.
    pub fn sign() -> Self {
        Self { gap: 1, ..Self::name("") }
    }

    /// Creates a column of names, left-aligned, that is cut if nothing else helps.
    pub fn name(title: &str) -> Self {
        Self { is_right: false, ..Self::number(title) }
    }

    /// Creates a column of sentences, which are broken into several lines.
    pub fn sentences(title: &str) -> Self {
        Self { wraps: true, ..Self::name(title) }
    }

    /// Aligns the column to the right.
    #[must_use]
    pub fn right(self) -> Self {
        Self { is_right: true, ..self }
    }

    /// Leaves the column out if the surface is too narrow, before those of lower rank; 0: never.
    #[must_use]
    pub fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }
}

/// A cell of a table: lines of text, and their meaning.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    look: Look,
}

impl Cell {
    /// Creates a cell; control characters of its text are escaped.
    pub fn new(text: impl AsRef<str>, look: Look) -> Self {
        Self { text: super::visible(text.as_ref()).into_owned(), look }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Look::Plain)
    }
}

/// A table. Rows have a cell for each column.
#[derive(Clone, Debug)]
pub struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Grid {
    /// Creates a table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; cells that it lacks are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize(self.columns.len(), Cell::default());
        self.rows.push(cells);
    }

    /// Returns the columns that remain free beside the table on this surface.
    pub fn spare(&self, surface: &Surface) -> usize {
        let widths = self.widths(surface.width());
        surface.width().saturating_sub(self.total(&widths))
    }

    /// Returns the titles of the columns that this surface is too narrow for.
    pub fn left_out(&self, surface: &Surface) -> Vec<&str> {
        let widths = self.widths(surface.width());
        let columns = self.columns.iter().zip(widths);
        columns.filter(|(_, width)| width.is_none()).map(|(column, _)| column.title.as_str()).collect()
    }

    /// Returns its lines, the titles first unless all are empty.
    pub fn lines(&self, surface: &Surface) -> Vec<String> {
        let widths = self.widths(surface.width());
        let mut lines = Vec::new();
        if self.columns.iter().any(|column| !column.title.is_empty()) {
            let titles: Vec<Cell> =
                self.columns.iter().map(|column| Cell::new(&column.title, Look::Faint)).collect();
            self.print(&titles, &widths, surface, &mut lines);
        }
        for row in &self.rows {
            self.print(row, &widths, surface, &mut lines);
        }
        lines
    }

    /// Returns the width of each column; `None` for one that is left out.
    fn widths(&self, room: usize) -> Vec<Option<usize>> {
        let natural = |index: usize| {
            let title = width(&self.columns[index].title);
            let cells = self.rows.iter().flat_map(|row| row[index].text.lines().map(width));
            cells.fold(title, usize::max)
        };
        let mut widths: Vec<Option<usize>> =
            (0..self.columns.len()).map(|index| Some(natural(index))).collect();
        loop {
            let over = self.total(&widths).saturating_sub(room);
            if over == 0 || self.wrap(&mut widths, over) {
                return widths;
            }
            let last =
                (0..widths.len()).filter(|index| widths[*index].is_some() && self.columns[*index].rank > 0);
            match last.max_by_key(|index| self.columns[*index].rank) {
                Some(index) => widths[index] = None,
                None => break,
            }
        }
        let over = self.total(&widths).saturating_sub(room);
        if !self.shrink(&mut widths, over, |column| column.wraps || !column.is_right, LEAST_WIDTH) {
            let over = self.total(&widths).saturating_sub(room);
            self.shrink(&mut widths, over, |_| true, 1);
        }
        widths
    }

    /// Takes `over` columns from those that wrap, so that each keeps about the same part of its width.
    /// Returns whether it could.
    fn wrap(&self, widths: &mut [Option<usize>], over: usize) -> bool {
        let natural: Vec<usize> = self
            .columns
            .iter()
            .zip(widths.iter())
            .map(|(column, width)| width.filter(|_| column.wraps).unwrap_or(0))
            .collect();
        let mut shared: Vec<usize> = natural.iter().map(|natural| *natural.min(&LEAST_WRAPPED)).collect();
        let all = natural.iter().sum::<usize>();
        let Some(room) = all.checked_sub(over).and_then(|room| room.checked_sub(shared.iter().sum())) else {
            return false;
        };
        for _ in 0..room {
            // The column of the smallest part; fractions are compared by their cross products.
            let cut = (0..natural.len()).filter(|index| shared[*index] < natural[*index]);
            let least = cut
                .min_by(|one, other| (shared[*one] * natural[*other]).cmp(&(shared[*other] * natural[*one])));
            let Some(index) = least else { break };
            shared[index] += 1;
        }
        for (index, shared) in shared.into_iter().enumerate().filter(|(_, shared)| *shared > 0) {
            widths[index] = Some(shared);
        }
        true
    }

    /// Takes `over` columns from the widest of some columns, none of which becomes narrower than `least`.
    /// Returns whether it could; if not, columns of `least` remain unless they could still be helped by
    /// leaving others out.
    fn shrink(
        &self,
        widths: &mut [Option<usize>],
        over: usize,
        may: impl Fn(&Column) -> bool,
        least: usize,
    ) -> bool {
        let mut shrunk = widths.to_vec();
        for _ in 0..over {
            let wide = shrunk.iter_mut().zip(&self.columns).filter(|(_, column)| may(column));
            let widest = wide.filter_map(|(width, _)| width.as_mut()).filter(|width| **width > least);
            let Some(widest) = widest.max_by_key(|width| **width) else {
                if least <= LEAST_WIDTH {
                    widths.copy_from_slice(&shrunk);
                }
                return false;
            };
            *widest -= 1;
        }
        widths.copy_from_slice(&shrunk);
        true
    }

    /// Returns the width of all columns that are shown.
    fn total(&self, widths: &[Option<usize>]) -> usize {
        let shown = self.columns.iter().zip(widths).filter_map(|(column, width)| Some((column, (*width)?)));
        let (widths, _) = shown.fold((0, 0), |(sum, gap), (column, width)| (sum + gap + width, column.gap));
        widths
    }

    /// Adds the lines of a row.
    fn print(&self, row: &[Cell], widths: &[Option<usize>], surface: &Surface, lines: &mut Vec<String>) {
        let shown: Vec<(&Column, Look, usize, Vec<String>)> = row
            .iter()
            .zip(&self.columns)
            .zip(widths)
            .filter_map(|((cell, column), width)| {
                let width = (*width)?;
                let text = if column.wraps {
                    wrapped(&cell.text, width, "")
                } else {
                    cell.text.lines().map(|line| cut(line, width)).collect()
                };
                Some((column, cell.look, width, text))
            })
            .collect();
        let height = shown.iter().map(|(.., text)| text.len()).max().unwrap_or(0).max(1);
        for index in 0..height {
            let mut line = String::new();
            // Blanks are added before a text, so that no line ends with them.
            let mut blanks = 0;
            for (column, look, columns, text) in &shown {
                let text = text.get(index).map_or("", String::as_str);
                let padding = columns.saturating_sub(width(text));
                blanks += if column.is_right { padding } else { 0 };
                if !text.is_empty() {
                    line.extend(std::iter::repeat_n(' ', std::mem::take(&mut blanks)));
                    line += &surface.paint(*look, text);
                }
                blanks += if column.is_right { 0 } else { padding } + column.gap;
            }
            lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(columns: usize) -> Surface {
        Surface { columns: Some(columns), is_terminal: true, colours: false }
    }

    fn grid() -> Grid {
        let mut grid = Grid::new(vec![
            Column::name("flow"),
            Column::number("p50").rank(1),
            Column::number("p99"),
            Column::number("loss").rank(2),
        ]);
        grid.row(["call".into(), "15.1 ms".into(), "17.1 ms".into(), "0 %".into()]);
        grid.row(["a-very-long-name-of-a-flow-of-some-big-house".into(), "20.8 ms".into(), "1.10 s".into()]);
        grid
    }

    #[test]
    fn columns_leave_by_rank_and_names_are_cut_last() {
        let grid = grid();
        assert_eq!(grid.left_out(&surface(79)), [""; 0]);
        assert_eq!(grid.spare(&surface(79)), 79 - (44 + 2 + 7 + 2 + 7 + 2 + 4));
        assert_eq!(grid.left_out(&surface(64)), ["loss"]);
        assert_eq!(grid.left_out(&surface(60)), ["p50", "loss"]);
        let lines = grid.lines(&surface(40));
        assert_eq!(lines[1], format!("{:31}  {:>7}", "call", "17.1 ms"));
        assert_eq!(lines[2], "a-very-long-name-of-a-flow-of-…   1.10 s");
    }

    #[test]
    fn no_line_is_longer_than_its_surface() {
        let mut grid = Grid::new(vec![
            Column::name("kind"),
            Column::sentences("does"),
            Column::sentences("children"),
            Column::number("number of things"),
        ]);
        grid.row(["fq_codel".into(), "word ".repeat(30).into(), "none".into(), "12345678".into()]);
        for columns in 40..150 {
            let lines = grid.lines(&surface(columns));
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:#?}");
            let words: usize = lines.iter().map(|line| line.matches("word").count()).sum();
            assert!(words == 30 || columns < 50, "{columns}: {lines:#?}");
        }
    }

    #[test]
    fn a_colour_adds_no_width() {
        let mut grid = Grid::new(vec![Column::name(""), Column::number("")]);
        grid.row([Cell::new("missed", Look::Bad), "1".into()]);
        grid.row(["held".into(), "22".into()]);
        let coloured = Surface { colours: true, ..surface(79) };
        let plain: Vec<String> = grid
            .lines(&coloured)
            .iter()
            .map(|line| line.replace("\u{1b}[1m\u{1b}[31m", "").replace("\u{1b}[0m", ""))
            .collect();
        assert_eq!(plain, ["missed   1", "held    22"]);
    }
}
