//! Standard output and standard error, each written in one place.
//!
//! Results go to stdout by [`say!`], everything else to stderr by [`tell!`]. A failed write to stdout is
//! stored and makes the command fail at its end (`Exit::with_output`); a closed pipe (`lockgate list | head
//! -1`) ends the output quietly instead. Failed writes to stderr are ignored: they cannot be reported.
//!
//! Lines may hold names of scenarios and files. Whatever they contain, no control character reaches the
//! terminal, and no line is a command to GitHub's runner, except those of [`command`]. Documents are for
//! other programs, and are written as they are.

use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use lockgate_scenario::diagnostic::visible;

/// Prints a line of results.
macro_rules! say {
    () => { $crate::output::line(format_args!("")) };
    ($($part:tt)*) => { $crate::output::line(format_args!($($part)*)) };
}
pub(crate) use say;

/// Prints a line on stderr.
macro_rules! tell {
    ($($part:tt)*) => { $crate::output::message(format_args!($($part)*)) };
}
pub(crate) use tell;

/// First failed write to stdout. Nothing is printed after it, because output with a gap is not a result.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

fn attempt(write: impl FnOnce(&mut io::StdoutLock<'_>) -> io::Result<()>) {
    let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    if failed.is_none() {
        *failed = write(&mut io::stdout().lock()).err();
    }
}

/// True if stderr is a terminal with colours.
pub(crate) fn stderr_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && std::io::stderr().is_terminal()
}

/// True if stdout is a terminal with colours.
pub(crate) fn stdout_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && std::io::stdout().is_terminal()
}

/// Prints a line of results.
pub(crate) fn line(text: Arguments<'_>) {
    let text = harmless(&text.to_string(), stdout_colours());
    attempt(|stdout| writeln!(stdout, "{text}"));
}

/// Prints a command to GitHub's runner: `::error file=a.toml::text`. `properties` and `text` may be anything.
pub(crate) fn command(name: &str, properties: &[(&str, &str)], text: &str) {
    let escaped =
        |text: &str| plain(&visible(text)).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |(key, value): &(&str, &str)| {
        format!("{key}={}", escaped(value).replace(':', "%3A").replace(',', "%2C"))
    };
    let properties: Vec<String> = properties.iter().map(property).collect();
    attempt(|stdout| writeln!(stdout, "::{name} {}::{}", properties.join(","), escaped(text)));
}

/// Returns lines of text with control characters escaped, and those that GitHub's runner would obey made
/// plain. `colours`: sequences that set the colour of text stay.
fn harmless(text: &str, colours: bool) -> String {
    let mut lines = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            lines.push('\n');
        }
        let start = lines.len();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            lines += &visible(before);
            let sequence =
                after.strip_prefix('[').filter(|_| colours).and_then(|after| after.split_once('m'));
            match sequence {
                Some((codes, after)) if codes.bytes().all(|code| code.is_ascii_digit() || code == b';') => {
                    lines.extend(["\u{1b}[", codes, "m"]);
                    rest = after;
                }
                _ => {
                    lines += "\\u{1b}";
                    rest = after;
                }
            }
        }
        lines += &visible(rest);
        if line.trim_start().starts_with("::") {
            let own = lines.split_off(start);
            lines += &own.replacen("::", "\\u{3a}:", 1);
        }
    }
    plain(&lines)
}

/// Returns text without the older form of a command to GitHub's runner, which may stand anywhere in a line.
fn plain(text: &str) -> String {
    text.replace("##[", "#\\u{23}[")
}

/// Prints a whole document.
pub(crate) fn document(bytes: &[u8]) {
    attempt(|stdout| stdout.write_all(bytes));
}

/// Prints clap's message: help and version are results, everything else is an error.
pub(crate) fn clap(error: &clap::Error) {
    if error.use_stderr() {
        let _ = error.print();
    } else {
        attempt(|_| error.print());
    }
}

/// Prints a line on stderr, in one write.
pub(crate) fn message(text: Arguments<'_>) {
    let text = harmless(&text.to_string(), stderr_colours()) + "\n";
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// True if stdout has no reader left: the pipe is closed, or the terminal hung up.
pub(crate) fn has_no_reader() -> bool {
    let failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    failed.as_ref().is_some_and(|error| is_pipe(error) || is_hang_up(error))
}

/// True if a write failed because the reader has closed its end of the pipe: it has all that it wants.
pub(crate) fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| cause.downcast_ref().is_some_and(is_pipe))
}

fn is_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

#[cfg(unix)]
fn is_hang_up(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

#[cfg(not(unix))]
fn is_hang_up(_: &io::Error) -> bool {
    false
}

/// Flushes stdout. Returns the first failed write, closed pipes aside.
pub(crate) fn finish() -> Option<io::Error> {
    attempt(|stdout| stdout.flush());
    let failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner).take();
    failed.filter(|error| !is_pipe(error))
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn no_name_moves_the_cursor_or_commands_a_runner() {
        for (text, expected) in [
            ("plain \u{e9} \u{2192}\tend", "plain \u{e9} \u{2192}\tend"),
            ("a\u{1b}]0;t\u{7}b", "a\\u{1b}]0;t\\u{7}b"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("x\n::stop-commands::k", "x\n\\u{3a}:stop-commands::k"),
            ("  ::error::x", "  \\u{3a}:error::x"),
            ("x\n::error::\u{1b}x", "x\n\\u{3a}:error::\\u{1b}x"),
            ("a ##[error]x", "a #\\u{23}[error]x"),
            ("\u{1b}[1mbold\u{1b}[0m", "\\u{1b}[1mbold\\u{1b}[0m"),
        ] {
            assert_eq!(harmless(text, false), expected);
        }
        assert_eq!(harmless("\u{1b}[1mbold\u{1b}[0m\u{1b}[2J", true), "\u{1b}[1mbold\u{1b}[0m\\u{1b}[2J");
    }
}
