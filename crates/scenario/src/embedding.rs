//! Tables of subscribers and sites in the text of a policy, in place of the paths of their files.
//!
//! ```text
//! subscribers = "plans.csv"      --- embed_tables -->      subscribers = """
//!                                                          Circuit ID,...
//!                                <-- as_in_its_file ---    """ # from "plans.csv"
//! ```
//!
//! A router gets a policy that is whole in itself. Its problems are shown where they are in the file of the
//! user, which has the path: the comment behind the table says which.

use toml::de::DeTable;
use toml_edit::{DocumentMut, Item};

use crate::diagnostic::Span;
use crate::files::Files;

/// Keys of tables that a policy or a scenario names.
pub(crate) const TABLES: [&str; 2] = ["subscribers", "sites"];

/// Begin of the comment behind an embedded table; the path follows, as it was written.
const FROM: &str = " # from ";

/// A table of subscribers or sites that cannot be embedded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{path}`: {why}")]
pub struct UnreadableTable {
    /// Path of its file, as the policy names it.
    pub path: String,
    /// Reason, in lower case without a full stop.
    pub why: String,
}

/// Returns `text` with the tables of subscribers and sites that it names in place of their paths, so that the
/// policy is whole in itself. A text that has its tables already keeps them, without the comment that names
/// their files: its lines are its own.
///
/// # Errors
/// Fails if a table cannot be loaded.
pub fn embed_tables(text: &str, files: &dyn Files) -> Result<String, UnreadableTable> {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return Ok(text.to_owned()) };
    let mut is_changed = false;
    for key in TABLES {
        let Some(Item::Value(value)) = document.get_mut(key) else { continue };
        let Some(path) = value.as_str().map(ToOwned::to_owned) else { continue };
        let suffix = value.decor().suffix().and_then(|suffix| suffix.as_str()).unwrap_or_default().to_owned();
        if path.is_empty() || path.contains('\n') {
            if let Some((_, rest)) = named_file(&suffix) {
                let rest = rest.to_owned();
                value.decor_mut().set_suffix(rest);
                is_changed = true;
            }
            continue;
        }
        let unreadable = |why| UnreadableTable { path: path.clone(), why };
        let bytes = files.load(&path).map_err(unreadable)?;
        let table = table_text(&bytes).map_err(unreadable)?;
        let table = table.replace("\r\n", "\n");
        let has_end = table.ends_with('\n');
        let prefix = value.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or(" ").to_owned();
        let mut written = value.clone();
        written.decor_mut().clear();
        let comment = format!("{FROM}{}{suffix}", written.to_string().trim());
        *value =
            toml_edit::Value::from(if has_end { table } else { table + "\n" }).decorated(prefix, comment);
        is_changed = true;
    }
    Ok(if is_changed { document.to_string() } else { text.to_owned() })
}

/// Returns the text of a table.
///
/// # Errors
/// If it is not UTF-8, as a spreadsheet's "Unicode text" is not: names the first line that is not.
pub(crate) fn table_text(bytes: &[u8]) -> Result<&str, String> {
    let end = match core::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => return Ok(text),
        Ok(text) => text.find('\0').unwrap_or_default(),
        Err(error) => error.valid_up_to(),
    };
    let line = 1 + bytes.iter().take(end).filter(|byte| **byte == b'\n').count();
    Err(format!("line {line} is not UTF-8 text: save it in UTF-8, a table as CSV"))
}

/// Returns the path, as it was written, in a comment that begins `suffix`, and what follows it.
fn named_file(suffix: &str) -> Option<(&str, &str)> {
    let named = suffix.strip_prefix(FROM)?.split('\n').next()?;
    let line = format!("path = {named}");
    let (root, _) = DeTable::parse_recoverable(&line);
    let path = root.get_ref().get("path")?;
    path.get_ref().as_str()?;
    let length = path.span().len();
    let start = FROM.len();
    Some((suffix.get(start..start + length)?, suffix.get(start + length..)?))
}

/// Returns the text of a policy as its file has it, with the paths in place of the tables that
/// [`embed_tables`] put there, and where each is: its span in `text`, and in the text returned. `None` if
/// there is no such table.
pub(crate) fn as_in_its_file(text: &str) -> Option<(String, Vec<(Span, Span)>)> {
    if !text.contains(FROM) {
        return None;
    }
    let (root, _) = DeTable::parse_recoverable(text);
    let mut tables: Vec<(Span, &str)> = TABLES
        .iter()
        .filter_map(|key| {
            let value = root.get_ref().get(*key)?;
            value.get_ref().as_str().filter(|table| table.contains('\n'))?;
            let Span { start, end } = value.span();
            let (path, _) = named_file(text.get(end..)?)?;
            Some((start..end + FROM.len() + path.len(), path))
        })
        .collect();
    tables.sort_by_key(|(span, _)| span.start);
    let (mut shown, mut moves, mut from) = (String::new(), Vec::new(), 0);
    for (span, path) in tables {
        shown += text.get(from..span.start)?;
        let start = shown.len();
        shown += path;
        from = span.end;
        moves.push((span, start..shown.len()));
    }
    shown += text.get(from..)?;
    (!moves.is_empty()).then_some((shown, moves))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;

    fn files() -> BTreeMap<String, Arc<[u8]>> {
        let table = |text: &str| Arc::from(text.as_bytes());
        let rows = "Circuit ID,Rate\n1,\"a \"\"b\"\" # from \\\"\n2,c\n";
        BTreeMap::from([("a.csv".to_owned(), table(rows)), ("it's \"b\".json".to_owned(), table("{\n}"))])
    }

    /// The file's own text comes back to the letter, comments behind the paths included.
    #[test]
    fn a_policy_is_shown_as_its_file_has_it() {
        for text in [
            "subscribers = \"a.csv\"\n[router]\n",
            "title = \"x\" # from \"y\"\nsites = 'it\u{27}\u{27}s'\n"
                .replace("it\u{27}\u{27}s", "a.csv")
                .as_str(),
            "sites  =  \"it's \\\"b\\\".json\"  # from \"elsewhere\"\nsubscribers = \"a.csv\" # plans\n[router]\nmode = \"egress\"\n",
        ] {
            let whole = embed_tables(text, &files()).expect("the tables are there");
            assert!(whole.lines().count() > text.lines().count(), "{whole}");
            let (shown, moves) = as_in_its_file(&whole).expect("it has tables of files");
            assert_eq!(shown, text);
            for (span, own) in moves {
                assert!(whole[span].contains(FROM) && TABLES.iter().any(|_| !shown[own.clone()].is_empty()));
            }
            // A saved text is shown as it is.
            let saved = embed_tables(&whole, &files()).expect("whole");
            assert_eq!(as_in_its_file(&saved), None, "{saved}");
            assert_eq!(embed_tables(&saved, &files()), Ok(saved));
        }
    }
}
