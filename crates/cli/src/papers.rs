//! Papers for `lockgate reproduce`: their folders, and the functions that make their runs.

pub(crate) mod live;
pub(crate) mod report;
mod runner;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lockgate::Files;
use lockgate::files::{self, Beside};
use lockgate_experiment::claims::Folder;

use crate::exit::Failure;
pub(crate) use runner::PaperRunner;

include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Returns the names of the papers that came with Lockgate.
pub(crate) fn names() -> Vec<&'static str> {
    PAPERS.iter().map(|(name, _)| *name).collect()
}

/// Opens the paper of this name, else the folder at this path.
///
/// # Errors
/// If neither exists; lists the names that do.
pub(crate) fn open(name: &str) -> Result<Folder, Failure> {
    if let Some((name, files)) = PAPERS.iter().find(|(known, _)| *known == name) {
        let texts = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        let path = Path::new("papers").join(name);
        return Ok(Folder { name: (*name).to_owned(), path, texts });
    }
    let path = Path::new(name);
    if !path.join("claims.toml").is_file() {
        return Err(Failure::usage(
            format!("there is no paper called `{name}`, and no folder with a claims.toml"),
            format!("name one of {}, or a folder", names().join(", ")),
        ));
    }
    read(path)
}

fn read(path: &Path) -> Result<Folder, Failure> {
    let unreadable = |what: &Path, why: String| {
        Failure::usage(format!("cannot read `{}`: {why}", what.display()), "name a folder with a claims.toml")
    };
    let mut texts = BTreeMap::new();
    let entries = std::fs::read_dir(path).map_err(|error| unreadable(path, error.to_string()))?;
    for file in entries.flatten().map(|entry| entry.path()) {
        if file.extension().is_some_and(|ending| ending == "toml" || ending == "txt") {
            let text = files::text(&file).map_err(|why| unreadable(&file, why.to_string()))?;
            let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            texts.insert(name, text);
        }
    }
    let name = path
        .canonicalize()
        .ok()
        .and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
    Ok(Folder { name: name.unwrap_or_else(|| "paper".to_owned()), path: path.to_path_buf(), texts })
}

/// Files that a paper's scenarios name: those in memory, then those on disk.
struct PaperFiles<'a>(&'a Folder);

impl Files for PaperFiles<'_> {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        if let Some(text) = self.0.texts.get(path) {
            return Ok(text.as_bytes().into());
        }
        Beside::new(&self.0.path.join("claims.toml")).load(path)
    }
}

#[cfg(test)]
mod tests {
    use lockgate_experiment::claims;

    use super::*;

    /// True if the words name a part of a paper: "Section 6.2.1", "Figures 3 and 4", "Abstract".
    fn is_place(words: &str) -> bool {
        let (kind, number) = words.split_once(' ').unwrap_or((words, ""));
        let first = number.chars().next();
        match kind {
            "Abstract" => number.is_empty(),
            "Section" | "Sections" => first.is_some_and(|first| "IVX123456789".contains(first)),
            "Figure" | "Figures" | "Table" => first.is_some_and(|first| first.is_ascii_digit()),
            _ => false,
        }
    }

    /// Each claim of a paper has its place; each parameter of ours has the place where the paper is silent or
    /// states another value.
    #[test]
    fn claims_and_parameters_have_their_places() {
        for name in names() {
            let folder = open(name).unwrap_or_else(|failure| panic!("{name}: {failure}"));
            let file: toml::Table = toml::from_str(&folder.texts["claims.toml"]).expect("TOML");
            let tables = |key: &str| {
                let tables = file.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
                tables.into_iter().filter_map(|table| table.as_table().cloned()).collect::<Vec<_>>()
            };
            let text = |table: &toml::Table, key: &str| table[key].as_str().expect("a text").to_owned();
            for claim in tables("claim").iter().filter(|claim| !claim.contains_key("own")) {
                assert!(is_place(&text(claim, "where")), "{name}: {}", text(claim, "id"));
            }
            for parameter in [tables("fitted"), tables("ours")].concat() {
                let (name_of, words) = (text(&parameter, "name"), text(&parameter, "paper"));
                assert!(is_place(&text(&parameter, "where")), "{name}: {name_of}");
                let is_silent = words.starts_with("silent on ");
                assert!(is_silent || words.starts_with("states "), "{name}: {name_of}: {words}");
                let has_value = parameter.contains_key("stated") || !parameter.contains_key("why");
                assert!(
                    is_silent || has_value,
                    "{name}: {name_of} is judged at a value that is not the paper's"
                );
            }
            assert!(!tables("ours").is_empty(), "{name} names no parameter of ours");
        }
    }

    /// Checks every paper that comes with Lockgate: its file is valid, every run it needs can be read, every
    /// observation it needs is one that the run has, and the page on the papers has the numbers of its
    /// claims.
    #[test]
    fn the_papers_are_whole() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/what-the-papers-got-right.md");
        let page = std::fs::read_to_string(page).expect("the page on the papers");
        let (mut claims, mut own) = (0, 0);
        for name in names() {
            let folder = open(name).unwrap_or_else(|failure| panic!("{name}: {failure}"));
            let runner = PaperRunner::new(&folder, true, lockgate_scenario::MEMORY);
            let parts = claims::check(&folder, &runner).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(parts.figures > 0 && parts.substitutes > 0, "{name} draws nothing");
            let row = page.lines().find(|line| line.starts_with(&format!("| {name} | "))).unwrap_or_default();
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let numbers = (parts.claims.to_string(), parts.own.to_string());
            let shown = (cells.get(2), cells.get(7));
            assert_eq!(shown, (Some(&numbers.0.as_str()), Some(&numbers.1.as_str())), "{name} on the page");
            (claims, own) = (claims + parts.claims, own + parts.own);
        }
        for words in [format!("each of their {claims} claims"), format!("Another {own}")] {
            assert!(page.contains(&words), "the page on the papers lacks `{words}`");
        }
    }
}
