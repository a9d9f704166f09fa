//! Completions at a cursor in the text of a scenario.
//!
//! | cursor | completions |
//! | --- | --- |
//! | in the text of `that` | addresses of metrics |
//! | in the text of `path`, or of a key of `set` | paths of settings |
//! | in the text of `from`, `to`, `between` | nodes |
//! | in the text of `kind`, `profile` | kinds of queues, profiles |
//! | at a key | keys of the table, by the schema |

use lockgate_engine::disciplines::KINDS;
use lockgate_scenario::completion;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::answer::Wrong;
use crate::message::{Message, Value};
use crate::scenario::{Opened, ScenarioRequest};

/// Request for completions.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct CompleteRequest {
    /// The scenario, which may have problems.
    pub scenario: ScenarioRequest,
    /// Byte of the text at which the cursor is.
    pub cursor: u32,
}

/// Completions at a cursor.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Completions {
    /// First byte of the text that a completion replaces, up to the cursor.
    pub from: u32,
    /// Completions.
    pub candidates: Vec<Candidate>,
}

/// A completion.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Candidate {
    /// Text in place of the one before the cursor.
    pub text: String,
    /// Description; may be empty.
    pub about: String,
}

/// Completes the text at a cursor.
///
/// # Errors
/// If the request is malformed.
pub fn complete(message: &Message<'_>) -> Result<Value<Completions>, Wrong> {
    let request: CompleteRequest = message.head()?;
    let text = request.scenario.text.clone();
    let cursor = request.cursor as usize;
    let Some(before) = text.get(..cursor) else {
        return Err(Wrong::new(format!("byte {cursor} is not a place in the text")));
    };
    let place = Place::of(before);
    let texts = match &place.within {
        Within::Text { key, .. } if key == "that" => {
            // Without the table around the cursor, whose text is not finished.
            let whole = ScenarioRequest { text: without_table(&text, cursor), ..request.scenario };
            let scenario = Opened::new(whole, message).and_then(|opened| opened.read());
            scenario.map(|scenario| completion::metrics(&scenario, place.current)).unwrap_or_default()
        }
        Within::Text { key, .. } if key == "path" || key == "set" => {
            let settings = completion::settings(&without_table(&text, cursor), place.current);
            settings.into_iter().map(|path| path.trim_end_matches('=').to_owned()).collect()
        }
        Within::Text { key, .. } if ["from", "to", "between"].contains(&key.as_str()) => {
            let document: toml::Table = without_table(&text, cursor).parse().unwrap_or_default();
            let nodes = document.get("node").and_then(toml::Value::as_table);
            nodes.into_iter().flat_map(toml::Table::keys).cloned().collect()
        }
        Within::Text { key, .. } if key == "kind" => KINDS.iter().map(|kind| (*kind).to_owned()).collect(),
        Within::Text { .. } | Within::Nothing => Vec::new(),
        Within::Key => return Ok(found(&place, keys(before))),
    };
    let plain = |text| Candidate { text, about: String::new() };
    Ok(found(&place, texts.into_iter().map(plain).collect()))
}

/// Returns the candidates that begin with the text before the cursor.
fn found(place: &Place<'_>, candidates: Vec<Candidate>) -> Value<Completions> {
    let candidates = candidates.into_iter().filter(|one| one.text.starts_with(place.current)).collect();
    Completions { from: place.from as u32, candidates }.into()
}

/// Place of a cursor.
struct Place<'a> {
    /// First byte of the word at the cursor.
    from: usize,
    /// The word, up to the cursor.
    current: &'a str,
    within: Within,
}

/// Part of a document.
enum Within {
    /// A text in quotes that belongs to this key.
    Text { key: String },
    /// A key at the start of a line.
    Key,
    /// Anything else, such as a comment.
    Nothing,
}

impl<'a> Place<'a> {
    /// Finds the place behind this text.
    fn of(before: &'a str) -> Self {
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = &before[line_start..];
        let (mut quote, mut is_comment, mut is_escaped) = (None, false, false);
        for (index, letter) in line.char_indices() {
            match quote {
                _ if is_comment => break,
                Some(_) if is_escaped => is_escaped = false,
                Some((_, '"')) if letter == '\\' => is_escaped = true,
                Some((_, mark)) if letter == mark => quote = None,
                None if letter == '#' => is_comment = true,
                None if letter == '"' || letter == '\'' => quote = Some((index, letter)),
                Some(_) | None => {}
            }
        }
        if let (Some((index, _)), false) = (quote, is_comment) {
            let from = line_start + index + 1;
            let within = Within::Text { key: key_before(&before[..from - 1]) };
            return Self { from, current: &before[from..], within };
        }
        let from = line_start + (line.len() - line.trim_start().len());
        let current = &before[from..];
        let is_key =
            !is_comment && current.chars().all(|letter| letter.is_alphanumeric() || "_-.".contains(letter));
        Self { from, current, within: if is_key { Within::Key } else { Within::Nothing } }
    }
}

/// Returns the key whose value stands behind this text; `set` for a key within its table.
fn key_before(before: &str) -> String {
    let Some(equals) = before.rfind('=') else { return String::new() };
    let key = before[..equals].trim_end();
    let start =
        key.rfind(|letter: char| letter.is_whitespace() || "{,.".contains(letter)).map_or(0, |at| at + 1);
    let key = key[start..].trim_matches(['"', '\'']);
    // A key of `set = { ... }` follows its brace, or a comma behind another value of it.
    let last = before.trim_end().chars().last();
    let table = before.rfind('{').map(|brace| before[..brace].trim_end().trim_end_matches('=').trim_end());
    match (last, table) {
        (Some('{' | ','), Some(table)) if table.ends_with("set") => "set".to_owned(),
        _ => key.to_owned(),
    }
}

/// Returns the first byte of the table around a byte, the first byte behind it, and its heading.
fn table_around(text: &str, at: usize) -> (usize, usize, &str) {
    let is_heading = |line: &str| line.trim_start().starts_with('[');
    let (mut start, mut heading, mut offset) = (0, "", 0);
    for line in text.split_inclusive('\n') {
        if is_heading(line) {
            if offset > at {
                return (start, offset, heading);
            }
            (start, heading) = (offset, line.trim());
        }
        offset += line.len();
    }
    (start, text.len(), heading)
}

/// Returns the text without the table of a list around a byte. Of other tables, which others name, only the
/// line is left out.
fn without_table(text: &str, at: usize) -> String {
    let (start, end, heading) = table_around(text, at);
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let behind = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    let (start, end) = if heading.starts_with("[[") { (start, end) } else { (line, behind) };
    [&text[..start], &text[end..]].concat()
}

/// Returns the keys of the table at the end of a text, by the schema.
fn keys(before: &str) -> Vec<Candidate> {
    let (start, _, heading) = table_around(before, before.len());
    let path = heading_path(heading);
    let schema = lockgate_scenario::schema();
    let Some(mut table) = schema_at(&schema, &path) else { return Vec::new() };
    // A queue has the keys of its kind; without one yet, those of the first.
    if let Some(kinds) = table.get("oneOf").and_then(Json::as_array) {
        let mut lines = before[start..].lines().filter_map(|line| line.parse::<toml::Table>().ok());
        let kind = lines.find_map(|line| Some(line.get("kind")?.as_str()?.to_owned()));
        let of_kind = |one: &&Json| one["properties"]["kind"]["const"].as_str() == kind.as_deref();
        let Some(found) = kinds.iter().find(of_kind).or(kinds.first()) else { return Vec::new() };
        table = found;
    }
    let properties = table.get("properties").and_then(Json::as_object);
    let candidate = |(key, about): (&String, &Json)| Candidate {
        text: key.clone(),
        about: about["description"].as_str().unwrap_or_default().to_owned(),
    };
    properties.into_iter().flatten().map(candidate).collect()
}

/// Returns the parts of a heading: `[port."a:b".queue.q]` has four.
fn heading_path(heading: &str) -> Vec<String> {
    let inner = heading.split('#').next().unwrap_or_default().trim();
    let inner = inner.trim_start_matches('[').trim_end_matches(']');
    let (mut parts, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
    for letter in inner.chars() {
        match letter {
            '"' | '\'' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(core::mem::take(&mut part)),
            letter => part.push(letter),
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Returns the schema of the table at a path.
fn schema_at<'a>(schema: &'a Json, path: &[String]) -> Option<&'a Json> {
    let resolved = |one: &'a Json| match one.get("$ref").and_then(Json::as_str) {
        Some(name) => schema.pointer(name.trim_start_matches('#')).unwrap_or(one),
        None => one,
    };
    path.iter().try_fold(schema, |table, segment| {
        let below = table.get("properties").and_then(|properties| properties.get(segment));
        let below = resolved(below.or_else(|| table.get("additionalProperties"))?);
        Some(resolved(below.get("items").unwrap_or(below)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer;

    const TEXT: &str = r#"title = "t"
duration = "1s"
[node]
a = {}
b = {}
[link.line]
between = ["a", "b"]
rate = "1mbit"
[port."a:b".queue.q]
kind = "fifo"
limit = "10p"
[flow.f]
from = "a"
to = "b"
size = "500B"
gap = "10ms"
[[change]]
at = "500ms"
set = { "link.line.rate" = "2mbit" }
[[expect]]
that = "flow.f.owd.p99"
at_most = "1s"
"#;

    /// Returns the completions behind `written`, which takes the place of `right` in the text.
    fn at(right: &str, written: &str) -> Vec<String> {
        let start = TEXT.find(right).expect("a place");
        let text = TEXT.replacen(right, written, 1);
        let scenario = serde_json::json!({ "text": text });
        let head = serde_json::json!({ "scenario": scenario, "cursor": start + written.len() }).to_string();
        let request = [&(head.len() as u32).to_le_bytes(), head.as_bytes()].concat();
        let answer: Json = serde_json::from_slice(&answer(&request, complete)[4..]).expect("an answer");
        let candidates = answer["value"]["candidates"].as_array();
        let texts = candidates.into_iter().flatten().map(|one| one["text"].as_str().unwrap_or_default());
        texts.map(str::to_owned).collect()
    }

    #[test]
    fn the_place_decides_what_is_offered() {
        assert_eq!(at("flow.f.owd.p99\"", "flow.f.ow"), ["flow.f.owd."]);
        assert_eq!(
            at("link.line.rate\" = \"2mbit\" }", "link.line."),
            ["link.line.between", "link.line.rate"]
        );
        assert_eq!(at("a\"\nto", ""), ["a", "b"]);
        assert_eq!(at("fifo", "fq_"), ["fq_codel", "fq_pie"].map(str::to_owned));
        assert_eq!(at("limit", "lim"), ["limit"]);
        assert_eq!(at("from", "fr"), ["from"]);
        assert_eq!(at("duration", "dur"), ["duration"]);
        assert_eq!(at("t\"", "t"), Vec::<String>::new());
    }
}
