//! Terminal output: tables on stdout; progress, warnings and errors on stderr.

mod grid;
mod surface;
pub(crate) mod text;

use std::borrow::Cow;
use std::io::IsTerminal;
use std::time::Duration as WallTime;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lockgate_measure::report::{self, Comparison};
use lockgate_scenario::diagnostic::{Problem, Problems};

pub(crate) use self::grid::{Cell, Column, Grid};
pub(crate) use self::surface::{Look, Surface};
use crate::output::{say, stderr_colours, tell};

const RED: Style = AnsiColor::Red.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// Escapes control characters, which could move the cursor or set the window's title, as in `\u{1b}`. Line
/// ends stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    lockgate_scenario::diagnostic::visible(text)
}

/// Prints an error and its remedy.
pub(crate) fn error(message: &str, help: &str) {
    let (message, help) = (visible(message), visible(help));
    if stderr_colours() {
        tell!("{RED}error:{RED:#} {message}");
        tell!("{CYAN}help:{CYAN:#}  {help}");
    } else {
        tell!("error: {message}");
        tell!("help:  {help}");
    }
}

/// Prints every problem of a scenario, with its position underlined.
pub(crate) fn problems(problems: Problems) {
    let count = problems.len();
    for problem in problems {
        diagnostic(&problem);
    }
    tell!("{} found; nothing was run", lockgate::figures::count(count as u64, "problem"));
}

/// Prints warnings: parts of a scenario that are allowed but probably not intended.
pub(crate) fn warnings(warnings: &[Problem]) {
    warnings.iter().for_each(diagnostic);
}

fn diagnostic(problem: &Problem) {
    let theme = if stderr_colours() {
        miette::GraphicalTheme::unicode()
    } else {
        miette::GraphicalTheme::unicode_nocolor()
    };
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(100).with_links(false);
    let mut text = String::new();
    if handler.render_report(&mut text, problem).is_ok() {
        tell!("{}", text.trim_end());
    } else {
        tell!("{problem}");
    }
}

/// Prints a table of results: the first column left-aligned, the others right-aligned. If the surface is too
/// narrow, columns are left out from the right, the last one excepted, and a line names them.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) {
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
    print(&grid);
}

/// Prints a table, and the titles of the columns that the surface is too narrow for.
pub(crate) fn print(grid: &Grid) {
    let surface = Surface::stdout();
    for line in grid.lines(&surface) {
        say!("{line}");
    }
    let left_out = grid.left_out(&surface);
    if !left_out.is_empty() {
        let text = format!("too narrow here for {}", left_out.join(", "));
        for line in surface.wrapped(&text, "  ") {
            say!("{}", surface.paint(Look::Faint, &line));
        }
    }
}

/// Prints a table that the library made of texts.
pub(crate) fn comparison(table: &Comparison) {
    let text = |cell: &report::Cell| match cell {
        report::Cell::Text(text) => text.clone(),
        report::Cell::Number(number) => number.to_string(),
        report::Cell::Quantity(one) => lockgate::figures::quantity(Some(one.value), one.unit.symbol()),
        report::Cell::Empty => "-".to_owned(),
    };
    let header: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(text).collect()).collect();
    self::table(&header, &rows);
}

/// Prints a sentence, in lines that fit the terminal.
pub(crate) fn sentence(text: &str) {
    for line in Surface::stdout().wrapped(text, "  ") {
        say!("{line}");
    }
}

/// Prints a sentence whose end may be a command of this program: the command stands on a line of its own, unbroken, as it
/// is copied.
pub(crate) fn offer(text: &str) {
    match text.split_once(": lockgate ") {
        Some((before, command)) => {
            sentence(&format!("{before}:"));
            say!("  lockgate {command}");
        }
        None => sentence(text),
    }
}

/// Prints a table of words: every column left-aligned, and wrapped except the first.
pub(crate) fn words(header: &[&str], rows: &[Vec<String>]) {
    let column = |(index, title): (usize, &&str)| {
        if index == 0 { Column::name(title) } else { Column::sentences(title) }
    };
    let mut grid = Grid::new(header.iter().enumerate().map(column).collect());
    for row in rows {
        grid.row(row.iter().map(Cell::from));
    }
    for line in grid.lines(&Surface::stdout()) {
        say!("{line}");
    }
}

/// Prints a heading over a table.
pub(crate) fn heading(text: &str) {
    let surface = Surface::stdout();
    say!();
    for line in surface.wrapped(&visible(text), "  ") {
        say!("{}", surface.paint(Look::Strong, &line));
    }
}

/// Creates a progress bar over `steps` steps on stderr; hidden if that is not a terminal, or `quiet`.
pub(crate) fn progress(steps: u64, quiet: bool) -> ProgressBar {
    let target = if quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr_with_hz(10)
    };
    let style = ProgressStyle::with_template("{bar:32} {percent:>3} %  {msg}  ETA {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(steps), target).with_style(style);
    bar.enable_steady_tick(WallTime::from_millis(200));
    bar
}
