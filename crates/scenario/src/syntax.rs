//! Explains the errors of a text that is not TOML.

use toml::de::Error;

use crate::diagnostic::{Problem, Span};
use crate::table_reader::shorten;

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
