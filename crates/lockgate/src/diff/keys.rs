//! Keys of files besides the queues of ports.

use std::collections::BTreeMap;

use toml::Value;

use super::side::Side;
use super::values::{is_equal, shown};

/// Lines that are listed.
const MOST_LINES: usize = 40;

/// Returns the keys of two files of one form that differ, queues of ports aside, in words.
pub(super) fn differing(old: &Side, new: &Side) -> Vec<String> {
    let (Some(before), Some(after)) = (&old.keys, &new.keys) else { return Vec::new() };
    if old.form != new.form {
        return Vec::new();
    }
    let (before, after) = (flat(before), flat(after));
    let mut lines = Vec::new();
    for (path, old) in &before {
        match after.get(path) {
            Some(new) if is_equal(old, new) => {}
            Some(new) => lines.push(format!("`{path}`: {} → {}", shown(old), shown(new))),
            None => lines.push(format!("`{path}` is gone: it was {}", shown(old))),
        }
    }
    let added = after.iter().filter(|(path, _)| !before.contains_key(*path));
    lines.extend(added.map(|(path, new)| format!("`{path}` is new: {}", shown(new))));
    let more = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    if more > 0 {
        lines.push(format!("and {more} other keys"));
    }
    lines
}

/// Returns the values of a file by their paths.
fn flat(table: &toml::Table) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for (key, value) in table {
        // A title changes nothing; queues and rates of ports are compared as trees.
        if key != "title" {
            add(key, value, &mut all);
        }
    }
    all
}

fn add(path: &str, value: &Value, all: &mut BTreeMap<String, Value>) {
    let is_of_port = path.starts_with("port.") && path.matches('.').count() == 1;
    match value {
        Value::Table(table) if !table.is_empty() => {
            for (key, value) in table {
                if !(is_of_port && ["queue", "root", "rate", "policy"].contains(&key.as_str())) {
                    let key = if key.contains('.') { format!("\"{key}\"") } else { key.clone() };
                    add(&format!("{path}.{key}"), value, all);
                }
            }
        }
        value => {
            all.insert(path.to_owned(), value.clone());
        }
    }
}
