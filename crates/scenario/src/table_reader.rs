//! Reads tables by the keys of their type, reporting *every* problem of a table.
//!
//! The keys, their documentation and which are required come from the JSON schema of the type, so that
//! there is no second list (`table_reader/keys.rs`). A value that cannot be read is noted at its position and
//! removed, and the rest
//! is read again.

#[cfg(feature = "schema")]
mod keys;
#[cfg(not(feature = "schema"))]
mod names;

use std::any::type_name;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use lockgate_engine::schema::Described;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{MOST_PROBLEMS, Problem, Span};
use crate::nearest::{meant, nearest, one_of};
use crate::value_reader::{self, ValueError};

/// The keys of a type.
#[derive(Debug, Default)]
pub(crate) struct TableKeys {
    keys: Vec<Key>,
}

/// One key of a type.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) required: bool,
    example: Option<&'static str>,
}

impl TableKeys {
    pub(crate) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known.name == key)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.keys.iter().map(|key| key.name.as_str())
    }

    pub(crate) fn required(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(|key| key.required)
    }
}

impl Key {
    /// Returns help such as "add `rate = "10mbit"`: long-run rate".
    pub(crate) fn add(&self) -> String {
        let Key { name, doc, example, .. } = self;
        // An example in the documentation of the key is nearer than that of its type.
        let (doc, own) = match doc.split_once(", such as `") {
            Some((doc, own)) if example.is_some() => (doc, own.split_once('`').map(|(own, _)| own)),
            _ => (doc.as_str(), None),
        };
        let written = match (own, example) {
            (Some(own), _) => format!("`{name} = \"{own}\"`"),
            (None, Some(example)) => format!("`{name} = {example}`"),
            (None, None) => format!("`{name}`"),
        };
        if doc.is_empty() { format!("add {written}") } else { format!("add {written}: {doc}") }
    }
}

/// Keys by type that any reader has built: building them takes longer than reading a small file.
static BUILT: Mutex<BTreeMap<&'static str, Arc<TableKeys>>> = Mutex::new(BTreeMap::new());

/// Cache of keys by type, in front of those that are shared.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableKeysCache(BTreeMap<&'static str, Arc<TableKeys>>);

impl TableKeysCache {
    pub(crate) fn of<T: Described + DeserializeOwned>(&mut self) -> Arc<TableKeys> {
        let shared = || {
            let built = || BUILT.lock().unwrap_or_else(PoisonError::into_inner);
            let known = built().get(type_name::<T>()).cloned();
            known.unwrap_or_else(|| {
                let keys = Arc::new(TableKeys::of::<T>());
                built().entry(type_name::<T>()).or_insert(keys).clone()
            })
        };
        self.0.entry(type_name::<T>()).or_insert_with(shared).clone()
    }
}

/// A table in the text: its name, and its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableLocation<'a, 'i> {
    /// Name, such as `link.wan`, or `match` for a nameless one.
    pub(crate) what: &'a str,
    pub(crate) table: &'a DeTable<'i>,
    /// Header, or the whole of an inline table.
    pub(crate) header: &'a Span,
}

impl<'a, 'i> TableLocation<'a, 'i> {
    /// Returns the position of the value of `key`; the header if it is absent.
    pub(crate) fn value(&self, key: &str) -> Span {
        self.table.get(key).map_or_else(|| self.header.clone(), Spanned::span)
    }

    /// Returns the position of `key` itself; the header if it is absent.
    pub(crate) fn key(&self, key: &str) -> Span {
        self.table.get_key_value(key).map_or_else(|| self.header.clone(), |(key, _)| key.span())
    }

    /// Returns the position of the element `index` of the list `key`.
    pub(crate) fn element(&self, key: &str, index: usize) -> Span {
        let element = self.table.get(key).and_then(|list| list.get_ref().as_array()?.get(index));
        element.map_or_else(|| self.value(key), Spanned::span)
    }

    /// Returns the position of the inline table or value at `key.inner`; that of `key` if it is absent.
    pub(crate) fn inner(&self, key: &str, inner: &str) -> Span {
        let found = self.table.get(key).and_then(|value| value.get_ref().as_table()?.get(inner));
        found.map_or_else(|| self.value(key), Spanned::span)
    }

    /// Returns the position of `key` in the table at `path`, or of as much of the way as there is.
    pub(crate) fn at(&self, path: &[&str], key: &str) -> Span {
        let (mut table, mut span) = (Some(self.table), self.header.clone());
        for key in path.iter().copied().chain([key]) {
            let Some(value) = table.and_then(|table| table.get(key)) else { break };
            span = value.span();
            table = value.get_ref().as_table();
        }
        span
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Returns true if an unknown key was probably meant to be `key`: the misspelling is noted anyway.
    pub(crate) fn misspells(&self, key: &str, known: &TableKeys) -> bool {
        self.table.keys().take(MOST_PROBLEMS).any(|own| {
            let own: &str = own.get_ref();
            !known.has(own) && meant(own, known.names()) == Some(key)
        })
    }

    pub(crate) fn entries(
        &self,
    ) -> impl Iterator<Item = (&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>)> + use<'a, 'i>
    {
        self.table.iter()
    }

    /// Returns the entries whose keys `known` has.
    pub(crate) fn only(&self, known: &TableKeys) -> DeTable<'i> {
        let mut table = DeTable::new();
        for (key, value) in self.entries().filter(|(key, _)| known.has(key.get_ref())) {
            table.insert(key.clone(), value.clone());
        }
        table
    }
}

/// Notes every key that none of `types` has, with the nearest one. `extra`: keys read elsewhere.
pub(crate) fn unknown_keys(
    location: TableLocation<'_, '_>,
    types: &[&TableKeys],
    extra: &[&str],
    problems: &mut Vec<Problem>,
) {
    let known = || types.iter().flat_map(|keys| keys.names()).chain(extra.iter().copied());
    for (key, _) in location.entries() {
        let name: &str = key.get_ref();
        if known().any(|known| known == name) {
            continue;
        }
        if problems.len() > MOST_PROBLEMS {
            // Beyond the number shown: the search for near names would only cost time.
            return;
        }
        problems.push(unknown_key(location.what, name, key.span(), known().collect()));
    }
}

/// Returns the problem of a key that is not in `known`.
pub(crate) fn unknown_key(what: &str, name: &str, span: Span, known: Vec<&str>) -> Problem {
    let problem = Problem::new(span, format!("{what} has no key `{}`", shorten(name)));
    match meant(name, known.iter().copied()) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help_if(one_of(known).map(|known| known.replace("it is", "a key here is"))),
    }
}

/// Returns the text shortened for quoting.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST_QUOTE: usize = 60;
    if text.chars().count() <= LONGEST_QUOTE {
        text.to_owned()
    } else {
        text.chars().take(LONGEST_QUOTE).chain(['…']).collect()
    }
}

/// Reads the keys of `location` that belong to `T`; if one is wrong, notes the problem and returns `None`.
pub(crate) fn read_valid_table<T: DeserializeOwned>(
    location: TableLocation<'_, '_>,
    known: &TableKeys,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let noted = problems.len();
    read_table(location, known, problems).filter(|_| problems.len() == noted)
}

/// Reads the keys of `location` that belong to `T`, noting every problem. Reads a wrong value as absent, so
/// that the rest is checked too; returns `None` if a required value is wrong.
pub(crate) fn read_table<T: DeserializeOwned>(
    location: TableLocation<'_, '_>,
    known: &TableKeys,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let mut value = None;
    let mut read = |whole: &Spanned<DeValue<'_>>| {
        value = Some(value_reader::read(whole)?);
        Ok(())
    };
    read_with(&mut read, location, known, problems);
    value
}

/// Reads a table by `read` until it accepts what is left. Compiled once for all types.
fn read_with(
    read: &mut dyn FnMut(&Spanned<DeValue<'_>>) -> Result<(), ValueError>,
    location: TableLocation<'_, '_>,
    known: &TableKeys,
    problems: &mut Vec<Problem>,
) {
    let noted = problems.len();
    let mut misspelt = false;
    for key in known.required().filter(|key| !location.has(&key.name)) {
        if location.misspells(&key.name, known) {
            misspelt = true;
            continue;
        }
        let problem =
            Problem::new(location.header.clone(), format!("{} needs `{}`", location.what, key.name));
        problems.push(problem.help(key.add()));
    }
    // What is left after values were taken out.
    let mut whole = Spanned::new(location.header.clone(), DeValue::Table(location.only(known)));
    let mut taken_out: Vec<String> = Vec::new();
    // Each round removes one entry; no table written by hand needs more rounds than this.
    for _ in 0..64 {
        let Err(error) = read(&whole) else { return };
        let span = error.span.unwrap_or_else(|| location.header.clone());
        let DeValue::Table(table) = whole.get_mut() else { break };
        let missing = missing_field(&error.message);
        // The span of a table may lie within its first key, as at the top of a file.
        let path = if missing.is_some() && span == *location.header { None } else { locate(table, &span) };
        // A field missing because its value was removed, or noted above, is not reported again.
        let absent =
            path.is_none() && missing.is_some_and(|field| known.required().any(|key| key.name == field));
        if !absent && !missing.is_some_and(|field| taken_out.iter().any(|key| key == field)) {
            problems.push(explain(location.what, path.as_deref().unwrap_or_default(), &error.message, span));
        }
        let Some(path) = path else { break };
        remove(table, &path);
        taken_out.extend(path.last().cloned());
    }
    if problems.len() == noted && !misspelt {
        problems.push(Problem::new(location.header.clone(), format!("{} cannot be read", location.what)));
    }
}

/// Returns the field that serde reports as missing.
fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.strip_suffix('`')
}

/// Returns the keys that lead to the entry containing `span`.
fn locate(table: &DeTable<'_>, span: &Span) -> Option<Vec<String>> {
    for (key, value) in table {
        let within = |outer: Span| outer.start <= span.start && span.end <= outer.end;
        if let DeValue::Table(inner) = value.get_ref()
            && let Some(mut path) = locate(inner, span)
        {
            path.insert(0, key.get_ref().to_string());
            return Some(path);
        }
        if within(key.span()) || within(value.span()) {
            return Some(vec![key.get_ref().to_string()]);
        }
    }
    None
}

fn remove(table: &mut DeTable<'_>, path: &[String]) {
    match path {
        [] => {}
        [key] => {
            table.remove(key.as_str());
        }
        [key, rest @ ..] => {
            if let Some(DeValue::Table(inner)) = table.get_mut(key.as_str()).map(Spanned::get_mut) {
                remove(inner, rest);
            }
        }
    }
}

/// Converts serde's message to a problem that says what is allowed.
fn explain(table: &str, path: &[String], message: &str, span: Span) -> Problem {
    let what = path.last().map_or(table, String::as_str);
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field") {
        let (name, known) =
            quoted.split_first().map_or(("", Vec::new()), |(name, known)| (*name, known.to_vec()));
        let holder =
            path.iter().rev().nth(1).map_or_else(|| table.to_owned(), |holder| format!("`{holder}`"));
        return unknown_key(&holder, name, span, known);
    }
    if message.starts_with("unknown variant") {
        let (name, known) =
            quoted.split_first().map_or(("", Vec::new()), |(name, known)| (*name, known.to_vec()));
        let problem = Problem::new(span, format!("`{what}` cannot be `{}`", shorten(name)));
        return match nearest(name, known.iter().copied()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help_if(one_of(known)),
        };
    }
    if let Some(field) = missing_field(message) {
        return Problem::new(span, format!("`{what}` needs `{field}`")).help(format!("add `{field}`"));
    }
    if let Some((found, expected)) = mismatch(message) {
        // "a rate with its unit, such as `10mbit`": the example becomes the help.
        let (expected, example) = match expected.split_once(", such as ") {
            Some((expected, example)) => (expected, Some(format!("write it like {example}"))),
            None => (expected.as_str(), None),
        };
        let way = match expected {
            "a text in quotes" => Some(format!("write `{what} = \"…\"`")),
            "a list in brackets" => Some(format!("write `{what} = [ … ]`")),
            "a table" => Some(format!("write `{what} = {{ … }}`")),
            _ if expected.contains("number") => {
                number_in(&found).map(|number| format!("write `{what} = {number}`, without quotes"))
            }
            _ => None,
        };
        let problem = Problem::new(span, format!("`{what}` is {expected}, not {found}"));
        return problem.help_if(example).help_if(way);
    }
    match split_outside_quotes(message) {
        Some((wrong, allowed)) => Problem::new(span, wrong).help(allowed),
        None => Problem::new(span, message),
    }
}

/// Returns the number in a quoted text; `None` for any other text.
fn number_in(found: &str) -> Option<&str> {
    let text = found.strip_prefix("the text \"")?.strip_suffix('"')?.trim();
    text.parse::<f64>().is_ok_and(f64::is_finite).then_some(text)
}

/// Translates serde's "invalid type: integer `5`, expected a string" into the terms of the file.
fn mismatch(message: &str) -> Option<(String, String)> {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let expected = match expected {
        "a string" => "a text in quotes".to_owned(),
        "a boolean" => "`true` or `false`".to_owned(),
        "a sequence" => "a list in brackets".to_owned(),
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" | "u64" | "usize" => "a whole number from 0".to_owned(),
        "i32" | "i64" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    };
    let found = match found {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        other => {
            let other = other.replacen("string \"", "the text \"", 1).replacen("integer ", "the number ", 1);
            shorten(&other.replacen("floating point ", "the number ", 1).replacen("boolean ", "", 1))
        }
    };
    Some((found, expected))
}

/// Splits "what is wrong: what is allowed" at the first colon that is not within backticks.
pub(crate) fn split_outside_quotes(message: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    for (at, letter) in message.char_indices() {
        if letter == '`' {
            quoted = !quoted;
        } else if letter == ':' && !quoted && message[at..].starts_with(": ") {
            return Some((&message[..at], &message[at + 2..]));
        }
    }
    None
}
