//! Surface that results are printed on: its width, and whether it is a terminal with colours.

use anstyle::{AnsiColor, Style};

/// Width of tables where there is no terminal, in columns.
const PIPE: usize = 120;

/// Widths that `COLUMNS` may name; narrower ones leave no room for a name and a number.
pub const NAMED_COLUMNS: core::ops::RangeInclusive<usize> = 40..=1000;

/// Surface that results are printed on.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// Columns of a line; `None`: lines may have any length, as in a file.
    pub columns: Option<usize>,
    /// True for a reader at a terminal: curves of blocks, and the time that a run took.
    pub is_terminal: bool,
    /// True if text may have colours.
    pub colours: bool,
}

/// Meaning of a text, shown by its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Text without a meaning of its own.
    #[default]
    Plain,
    /// Headings.
    Strong,
    /// Expectations that hold.
    Good,
    /// Expectations that are missed.
    Bad,
    /// Differences without a consequence, and remarks.
    Faint,
    /// Curves.
    Curve,
}

impl Surface {
    /// Returns the width of tables.
    pub fn width(&self) -> usize {
        self.columns.unwrap_or(PIPE).max(*NAMED_COLUMNS.start())
    }

    /// Returns `text` in the colour of its meaning.
    pub fn paint(&self, look: Look, text: &str) -> String {
        let style = match look {
            _ if !self.colours || text.is_empty() => return text.to_owned(),
            Look::Plain => return text.to_owned(),
            Look::Strong => Style::new().bold(),
            Look::Good => AnsiColor::Green.on_default(),
            Look::Bad => AnsiColor::Red.on_default().bold(),
            Look::Faint => Style::new().dimmed(),
            Look::Curve => AnsiColor::Cyan.on_default(),
        };
        format!("{style}{text}{style:#}")
    }

    /// Returns a sentence in lines that fit; the second and later ones are indented.
    pub fn wrapped(&self, text: &str, indent: &str) -> Vec<String> {
        match self.columns {
            None => text.lines().map(str::to_owned).collect(),
            Some(columns) => super::width::wrapped(text, columns, indent),
        }
    }
}
