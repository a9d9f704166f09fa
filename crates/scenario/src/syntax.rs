//! Explains the errors of a text that is not TOML.

use toml::de::Error;

use crate::diagnostic::{Problem, Span};
use crate::table_reader::shorten;

/// Limit on the errors shown: later ones follow from the first.
const MOST_PROBLEMS: usize = 10;

/// Signs of which seven at the beginning of a line are a marker of a merge conflict.
const MARKERS: [char; 4] = ['<', '|', '=', '>'];
const SIGNS: usize = 7;

/// Converts the parser's errors to problems with their fixes, of each line the first: the rest of a line
/// follows from it. Zero bytes, ends of lines that no parser takes, and markers of a merge conflict are one
/// problem each: they are wrong together, and all that is wrong after the first follows from it.
pub(crate) fn problems(errors: &[Error], text: &str) -> Vec<Problem> {
    if let Some(problem) = no_text(text).filter(|_| !errors.is_empty()) {
        return vec![problem];
    }
    let conflict = conflict(text);
    let before = |error: &&Error| {
        let span = error.span().unwrap_or(0..0);
        conflict.as_ref().is_none_or(|marker| span.start < marker.start && span.end <= marker.start)
    };
    let mut last = None;
    let is_first = |error: &&Error| {
        let start = visible(error.span().unwrap_or(0..0), text).start;
        let line = text[..start].rfind('\n');
        last.replace(line) != Some(line)
    };
    let mut ordered: Vec<&Error> = errors.iter().filter(before).collect();
    ordered.sort_by_key(|error| error.span().map(|span| span.start));
    let shown = ordered.into_iter().filter(is_first).take(MOST_PROBLEMS);
    let mut all: Vec<Problem> = shown.map(|error| problem(error, text)).collect();
    if errors.iter().filter(before).count() == errors.len() {
        return all;
    }
    all.extend(conflict.map(|marker| {
        Problem::new(marker, "a merge conflict is left in this file").help(
            "keep one of its sides, and delete the lines that begin with `<<<<<<<`, `=======` and `>>>>>>>`",
        )
    }));
    all
}

/// Returns the problem of bytes, or of ends of lines, that a text in UTF-8 does not have.
fn no_text(text: &str) -> Option<Problem> {
    if let Some(at) = text.find('\0') {
        let problem = Problem::new(at..at + 1, "a zero byte is in this file, as in a text in UTF-16");
        return Some(problem.help("save it as text in UTF-8"));
    }
    let is_alone = |at: &usize| !text[at + 1..].starts_with('\n');
    let at = text.match_indices('\r').map(|(at, _)| at).find(is_alone).filter(|_| !text.contains('\n'))?;
    let problem = Problem::new(at..at + 1, "the lines of this file end with CR alone");
    Some(problem.help("save it with lines that end with LF, or with CR LF"))
}

/// Returns the index of the first marker of a merge conflict at the beginning of a line.
fn conflict(text: &str) -> Option<Span> {
    let mut start = 0;
    text.split_inclusive('\n').find_map(|line| {
        let own = start..start + line.trim_end().len();
        start += line.len();
        is_conflict_marker(line).then_some(own)
    })
}

/// Returns true if a line is a marker of a merge conflict, as `git` writes them.
pub(crate) fn is_conflict_marker(line: &str) -> bool {
    MARKERS.into_iter().any(|sign| {
        let rest = line.trim_start_matches(sign);
        line.len() - rest.len() == SIGNS && (rest.is_empty() || rest.starts_with(char::is_whitespace))
    })
}

/// Converts the parser's error to a problem with its fix.
pub(crate) fn problem(error: &Error, text: &str) -> Problem {
    let span = visible(error.span().unwrap_or(0..0), text);
    let quoted = shorten(text.get(span.clone()).unwrap_or_default());
    let message = error.message();
    let starts = |beginning: &str| message.starts_with(beginning);
    if starts("string values must be quoted") && span.start < span.end {
        return Problem::new(span, format!("`{quoted}` needs quotes")).help(format!("write `\"{quoted}\"`"));
    }
    if starts("duplicate key") {
        return Problem::new(span, format!("`{quoted}` is given a second time"))
            .help("give it once, and a table's header once too");
    }
    if starts("unclosed table") {
        return Problem::new(span, "the header of a table does not end")
            .help("end it with `]`, such as `[link.wan]`");
    }
    if starts("unclosed inline table") {
        return Problem::new(span, "a table in braces does not end").help("end it with `}`");
    }
    if starts("unclosed array") {
        return Problem::new(span, "a list does not end").help("end it with `]`");
    }
    match message.split_once(", expected ") {
        Some((wrong, expected)) => Problem::new(span, format!("this is not TOML: {wrong}"))
            .help(format!("allowed here: {}", expected.replace("nothing", "nothing more"))),
        None => Problem::new(span, format!("this is not TOML: {message}")),
    }
}

/// Returns a span that can be underlined: an empty one takes in the letter before it.
fn visible(span: Span, text: &str) -> Span {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
    start..end
}
