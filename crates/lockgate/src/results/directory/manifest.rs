//! Recognition of an earlier run's results, by its manifest, which names every file that the run wrote.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// File that marks a directory as the results of a run.
pub(super) const MANIFEST: &str = "manifest.json";

/// Value of `format` in a manifest.
pub(super) const FORMAT: &str = "lockgate-results-1";

/// File that marks the directory of a run in progress; its lock ends with the process.
pub(super) const MARKER: &str = ".lockgate-partial";

/// Manifest of a directory whose files are being replaced, before it is renamed.
pub(super) const INTERIM: &str = ".lockgate-manifest";

/// Longest manifest that is read, in bytes.
const LONGEST_MANIFEST_BYTES: u64 = 16 << 20;

/// All other files that a command writes, except the programs' output.
const NAMES: [&str; 13] = [
    "scenario.toml",
    "summary.json",
    "events.ndjson",
    "report.html",
    "packets.parquet",
    "ports.pcapng",
    "simulation.json",
    "twin.json",
    "claims.json",
    "comparison.json",
    "runs.csv",
    "search.json",
    "conformance.json",
];

/// True if a command may write a file of this name.
pub(super) fn is_known(name: &str) -> bool {
    let program = |name: &str| {
        let (number, node) = name.strip_prefix("program-")?.strip_suffix(".txt")?.split_once('-')?;
        Some(!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()) && !node.is_empty())
    };
    name == MANIFEST || NAMES.contains(&name) || program(name).unwrap_or(false)
}

/// True if a draft may hold a file of this name.
pub(super) fn is_of_draft(name: &str) -> bool {
    is_known(name) || name == MARKER || name == INTERIM
}

/// Manifest as written: the command's data, and the keys by which the next run recognises the directory.
#[derive(Serialize)]
pub(super) struct Marked<'a, M> {
    pub(super) format: &'static str,
    /// True if files of two runs may be mixed: the process ended while replacing them.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub(super) incomplete: bool,
    #[serde(flatten)]
    pub(super) manifest: &'a M,
    /// Every file of the run except the manifest.
    pub(super) files: &'a [String],
}

/// Manifest as read.
#[derive(Deserialize)]
struct Read {
    format: Option<String>,
    files: Option<Vec<String>>,
    // Identifies a manifest of version 0.1.0, which has neither of the above.
    lockgate: Option<String>,
    command: Option<String>,
    finished: Option<String>,
}

impl Read {
    /// Reads the manifest of a directory; `None` if it has none of a run.
    fn from(directory: &Path) -> Option<Self> {
        let path = directory.join(MANIFEST);
        let entry = fs::symlink_metadata(&path).ok()?;
        if !entry.is_file() || entry.len() > LONGEST_MANIFEST_BYTES {
            return None;
        }
        let read: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let command = read.command.as_deref();
        let is_old = read.lockgate.is_some()
            && read.finished.is_some()
            && command.is_some_and(|command| command.starts_with("lockgate "));
        let is_ours = read.format.as_ref().map_or(is_old, |format| format == FORMAT && read.files.is_some());
        is_ours.then_some(read)
    }

    fn has(&self, name: &str) -> bool {
        match &self.files {
            Some(files) => name == MANIFEST || name == MARKER || files.iter().any(|file| file == name),
            None => is_known(name),
        }
    }
}

/// Contents of a directory.
#[derive(Debug, PartialEq)]
pub(super) enum Contents {
    Empty,
    /// Only the results of an earlier run: these files.
    Earlier(Vec<String>),
    /// Entries that no run wrote; the first one by name.
    Foreign(String),
}

/// Inspects a directory, without the entries for which `skipped` returns true.
pub(super) fn contents(directory: &Path, skipped: &dyn Fn(&str) -> bool) -> io::Result<Contents> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // No run writes a name that is not UTF-8; the replacement characters keep it from matching one.
        let name = entry.file_name().to_string_lossy().into_owned();
        if !skipped(&name) {
            entries.push((name, entry.file_type()?.is_file()));
        }
    }
    entries.sort();
    if entries.is_empty() {
        return Ok(Contents::Empty);
    }
    let manifest = Read::from(directory);
    let is_ours = |name: &str| manifest.as_ref().is_some_and(|manifest| manifest.has(name));
    Ok(match entries.iter().find(|(name, is_file)| !is_file || !is_ours(name)) {
        Some((name, _)) => Contents::Foreign(name.clone()),
        None => Contents::Earlier(entries.into_iter().map(|(name, _)| name).collect()),
    })
}

/// Removes these files of a directory, its manifest last, and the directory if nothing else is in it.
pub(super) fn remove(directory: &Path, files: &[String]) {
    for name in files.iter().filter(|name| *name != MANIFEST) {
        let _ = fs::remove_file(directory.join(name));
    }
    if files.iter().any(|name| name == MANIFEST) {
        let _ = fs::remove_file(directory.join(MANIFEST));
    }
    let _ = fs::remove_dir(directory);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Contents {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            fs::write(directory.path().join(name), text).expect("written");
        }
        contents(directory.path(), &|_| false).expect("readable")
    }

    #[test]
    fn a_manifest_is_known_by_what_it_says() {
        let new = r#"{ "format": "lockgate-results-1", "files": ["summary.json"] }"#;
        let old = r#"{ "lockgate": "0.1.0", "command": "lockgate run a.toml", "finished": "2026-01-01T00:00:00Z" }"#;
        let earlier = |names: &[&str]| Contents::Earlier(names.iter().map(|&name| name.into()).collect());
        let foreign = |name: &str| Contents::Foreign(name.into());
        assert_eq!(found(&[]), Contents::Empty);
        for (manifest, others, expected) in [
            (new, &["summary.json"][..], earlier(&["manifest.json", "summary.json"])),
            (new, &[], earlier(&["manifest.json"])),
            (new, &["report.html", "summary.json"], foreign("report.html")),
            (new, &["program-1-a.txt"], foreign("program-1-a.txt")),
            (old, &["program-12-a-b.txt"], earlier(&["manifest.json", "program-12-a-b.txt"])),
            (old, &["summary.json", "zebra"], foreign("zebra")),
            (old, &["program-x-a.txt"], foreign("program-x-a.txt")),
            // Manifests of a web page, a browser extension and another format, and a file that is no JSON.
            (r#"{ "name": "app", "start_url": "/" }"#, &[], foreign("manifest.json")),
            (r#"{ "manifest_version": 3, "files": [], "lockgate": 1 }"#, &[], foreign("manifest.json")),
            (r#"{ "format": "other", "files": [] }"#, &[], foreign("manifest.json")),
            (r#"{ "format": "lockgate-results-1" }"#, &[], foreign("manifest.json")),
            ("first", &[], foreign("manifest.json")),
        ] {
            let mut files = vec![("manifest.json", manifest)];
            files.extend(others.iter().map(|name| (*name, "")));
            assert_eq!(found(&files), expected, "{files:?}");
        }
    }
}
