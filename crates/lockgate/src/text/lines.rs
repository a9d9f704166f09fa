//! Lines of text for a surface: headings, sentences and tables, each as the surface has room for it.

use lockgate_measure::report::{self, Comparison};

use super::grid::{Cell, Column, Grid};
use super::surface::{Look, Surface};
use super::visible;
use crate::figures;

/// Characters of a cell from which its column is one of sentences.
const SENTENCE: usize = 40;

/// Lines of text for a surface.
#[derive(Clone, Debug)]
pub struct Lines {
    surface: Surface,
    lines: Vec<String>,
}

impl Lines {
    /// Starts without lines.
    pub fn new(surface: Surface) -> Self {
        Self { surface, lines: Vec::new() }
    }

    /// Adds a line as it is.
    pub fn line(&mut self, text: &str) {
        self.lines.push(text.to_owned());
    }

    /// Adds a heading over a table.
    pub fn heading(&mut self, text: &str) {
        self.lines.push(String::new());
        for line in self.surface.wrapped(&visible(text), "  ") {
            self.lines.push(self.surface.paint(Look::Strong, &line));
        }
    }

    /// Adds a sentence, in lines that fit.
    pub fn sentence(&mut self, text: &str) {
        self.lines.extend(self.surface.wrapped(text, "  "));
    }

    /// Adds a sentence whose end may be a command of Lockgate: the command stands on a line of its own,
    /// unbroken, as it is copied.
    pub fn offer(&mut self, text: &str) {
        match text.split_once(": lockgate ") {
            Some((before, command)) => {
                self.sentence(&format!("{before}:"));
                self.lines.push(format!("  lockgate {command}"));
            }
            None => self.sentence(text),
        }
    }

    /// Adds a table, and the titles of the columns that the surface is too narrow for.
    pub fn grid(&mut self, grid: &Grid) {
        self.lines.extend(grid.lines(&self.surface));
        let left_out = grid.left_out(&self.surface);
        if !left_out.is_empty() {
            let text = format!("too narrow here for {}", left_out.join(", "));
            for line in self.surface.wrapped(&text, "  ") {
                self.lines.push(self.surface.paint(Look::Faint, &line));
            }
        }
    }

    /// Adds a table of results: the first column left-aligned, the others right-aligned. If the surface is
    /// too narrow, columns are left out from the right, the last one excepted, and a line names them.
    pub fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let last = header.len().saturating_sub(1);
        let column = |(index, title): (usize, &&str)| match index {
            0 => Column::name(title),
            index if index == last => Column::number(title),
            index => Column::number(title).rank(u8::try_from(index).unwrap_or(u8::MAX)),
        };
        let mut grid = Grid::new(header.iter().enumerate().map(column).collect());
        for row in rows {
            grid.row(row.iter().map(Cell::from));
        }
        self.grid(&grid);
    }

    /// Adds a table of words: every column left-aligned, and wrapped except the first.
    pub fn words(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let column = |(index, title): (usize, &&str)| {
            if index == 0 { Column::name(title) } else { Column::sentences(title) }
        };
        let mut grid = Grid::new(header.iter().enumerate().map(column).collect());
        for row in rows {
            grid.row(row.iter().map(Cell::from));
        }
        self.lines.extend(grid.lines(&self.surface));
    }

    /// Adds a table that the library made of texts.
    pub fn comparison(&mut self, table: &Comparison) {
        let text = |cell: &report::Cell| match cell {
            report::Cell::Text(text) => text.clone(),
            report::Cell::Number(number) => number.to_string(),
            report::Cell::Quantity(one) => figures::quantity(Some(one.value), one.unit.symbol()),
            report::Cell::Empty => "-".to_owned(),
        };
        let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(text).collect()).collect();
        self.texts(&table.columns, &rows);
    }

    /// Adds a table of texts. Columns of sentences wrap; if the surface is too narrow, others are left out.
    pub fn texts(&mut self, titles: &[String], rows: &[Vec<String>]) {
        let last = titles.len().saturating_sub(1);
        let column = |(index, title): (usize, &String)| {
            let is_long =
                |row: &Vec<String>| row.get(index).is_some_and(|text| text.chars().count() > SENTENCE);
            match index {
                0 => Column::name(title),
                _ if rows.iter().any(is_long) => Column::sentences(title),
                _ if index == last => Column::number(title),
                _ => Column::number(title).rank(u8::try_from(index).unwrap_or(u8::MAX)),
            }
        };
        let mut grid = Grid::new(titles.iter().enumerate().map(column).collect());
        for row in rows {
            grid.row(row.iter().map(Cell::from));
        }
        self.grid(&grid);
    }
}

impl IntoIterator for Lines {
    type Item = String;
    type IntoIter = std::vec::IntoIter<String>;

    fn into_iter(self) -> Self::IntoIter {
        self.lines.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of sentences are there however narrow the surface; short ones are left out from the right.
    #[test]
    fn sentences_wrap_and_numbers_are_left_out() {
        let text = |text: &str| report::Cell::Text(text.to_owned());
        let long = "seven senders, each in its own place";
        let comparison = |cells: [&str; 4]| {
            let table = Comparison {
                columns: ["parameter", "value", "count", "the paper"].map(str::to_owned).to_vec(),
                rows: vec![cells.map(text).to_vec()],
                ..Comparison::default()
            };
            let surface = Surface { columns: Some(60), is_terminal: true, colours: false };
            let mut lines = Lines::new(surface);
            lines.comparison(&table);
            lines.into_iter().collect::<Vec<_>>()
        };
        let twice = format!("{long}, {long}");
        let shown = comparison(["links", &twice, "7", &twice]);
        let words: Vec<&str> = shown.iter().flat_map(|line| line.split_whitespace()).collect();
        assert!(["value", "count", "7", "senders,"].iter().all(|word| words.contains(word)), "{shown:#?}");
        assert!(!shown.iter().any(|line| line.contains("too narrow")), "{shown:#?}");
        let shown = comparison(["links", long, "7", long]);
        assert!(shown.iter().any(|line| line.contains("too narrow here for value")), "{shown:#?}");
    }
}
