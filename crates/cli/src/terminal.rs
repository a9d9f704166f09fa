//! Terminal output: tables on stdout; progress, warnings and errors on stderr.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::time::Duration as WallTime;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lockgate_scenario::diagnostic::{Problem, Problems};

use crate::output::{say, stderr_colours, stdout_colours, tell};

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

/// Prints a table of results: the first column left-aligned, the others right-aligned.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(Cell::new));
    for row in rows {
        table.add_row(row.iter().map(|cell| Cell::new(visible(cell))));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.to_string().lines() {
        say!("{}", line.trim_end());
    }
}

/// Prints a table of words: every column left-aligned, the last as wide as the terminal allows.
pub(crate) fn words(header: &[&str], rows: &[Vec<String>]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if !std::io::stdout().is_terminal() {
        table.set_width(120);
    }
    table.set_header(header.iter().map(Cell::new));
    for row in rows {
        table.add_row(row.iter().map(|cell| Cell::new(visible(cell))));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    for line in table.to_string().lines() {
        say!("{}", line.trim_end());
    }
}

/// Prints a heading over a table.
pub(crate) fn heading(text: &str) {
    let text = visible(text);
    if stdout_colours() {
        let bold = Style::new().bold();
        say!("\n{bold}{text}{bold:#}");
    } else {
        say!("\n{text}");
    }
}

/// Creates a progress bar over `steps` steps on stderr; hidden if that is no terminal, or `quiet`.
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
