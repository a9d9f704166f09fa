//! Terminal output: tables on stdout; progress, warnings and errors on stderr.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration as WallTime;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
pub(crate) use lockgate::text::visible;
use lockgate::text::{Digest, Grid, Lines, NAMED_COLUMNS, Surface, wrapped};
use lockgate::{Runs, Summary};
use lockgate_measure::report::Comparison;
use lockgate_scenario::diagnostic::{Problem, Problems};
use terminal_size::{Width, terminal_size_of};

use crate::output::{say, stderr_colours, stdout_colours, tell};

const RED: Style = AnsiColor::Red.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();

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

/// Prints a notice on stderr, broken between words where a terminal would break within one.
pub(crate) fn notice(text: &str) {
    let stderr = std::io::stderr();
    let of_terminal = || terminal_size_of(&stderr).map(|(Width(columns), _)| usize::from(columns));
    match named_columns().or_else(of_terminal) {
        Some(columns) => wrapped(text, columns, "").iter().for_each(|line| tell!("{line}")),
        None => tell!("{text}"),
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

/// Returns the surface of stdout. The variable `COLUMNS`, if set, is its width.
pub(crate) fn surface() -> Surface {
    let stdout = std::io::stdout();
    let is_terminal = stdout.is_terminal();
    let of_terminal = || terminal_size_of(&stdout).map(|(Width(columns), _)| usize::from(columns));
    Surface { columns: named_columns().or_else(of_terminal), is_terminal, colours: stdout_colours() }
}

/// Returns the width that the variable `COLUMNS` names.
fn named_columns() -> Option<usize> {
    let named = std::env::var("COLUMNS").ok()?.trim().parse().ok();
    named.filter(|columns| NAMED_COLUMNS.contains(columns))
}

/// Prints the lines that `add` makes.
pub(crate) fn show(add: impl FnOnce(&mut Lines)) {
    let mut lines = Lines::new(surface());
    add(&mut lines);
    for line in lines {
        say!("{line}");
    }
}

/// Prints a table, and the titles of the columns that the surface is too narrow for.
pub(crate) fn print(grid: &Grid) {
    show(|lines| lines.grid(grid));
}

/// Prints a table that the library made of texts.
pub(crate) fn comparison(table: &Comparison) {
    show(|lines| lines.comparison(table));
}

/// Prints a sentence, in lines that fit the terminal.
pub(crate) fn sentence(text: &str) {
    show(|lines| lines.sentence(text));
}

/// Prints a sentence, and the command at its end on a line of its own.
pub(crate) fn offer(text: &str) {
    show(|lines| lines.offer(text));
}

/// Prints a table of words.
pub(crate) fn words(header: &[&str], rows: &[Vec<String>]) {
    show(|lines| lines.words(header, rows));
}

/// Prints a heading over a table.
pub(crate) fn heading(text: &str) {
    show(|lines| lines.heading(text));
}

/// Prints the digest of a run whose results, if written, are in `directory`.
pub(crate) fn digest(summary: &Summary, runs: &Runs, directory: Option<&Path>) {
    let digest = Digest { summary, runs, directory, hint: "(--tables for all)" };
    for line in digest.lines(&surface()) {
        say!("{line}");
    }
}

/// Creates a progress bar over `steps` steps on stderr; hidden if that is not a terminal, or `quiet`.
pub(crate) fn progress(steps: u64, quiet: bool) -> ProgressBar {
    let target = if quiet || !std::io::stderr().is_terminal() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr_with_hz(10)
    };
    let style = ProgressStyle::with_template("{bar:16} {percent:>3} %  {msg}  ETA {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(steps), target).with_style(style);
    bar.enable_steady_tick(WallTime::from_millis(200));
    bar
}
