//! The words of the repository are those of STYLE.md: no phrase of `phrases.txt`, docstrings that open with
//! a noun or a verb, and comments of 110 columns, which rustfmt does not wrap.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders whose files are read, with everything below.
const FOLDERS: [&str; 8] =
    ["crates", "docs", "papers", "python", "scenarios", "web/src", "web/tests", "fuzz"];

/// Kinds of files that people write. Reference runs and captures are data.
const ENDINGS: [&str; 6] = ["rs", "md", "toml", "ts", "sh", "py"];

/// Openings of a docstring that name neither the item nor its action.
const HEADLESS: [&str; 5] = ["What ", "Where ", "Who ", "Whose ", "Whether "];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
            found.push(path);
        }
    }
}

/// Every text of the repository with its path, STYLE.md and this test aside, which name the phrases.
fn texts() -> Vec<(String, String)> {
    let root = repository();
    let mut found = Vec::new();
    for folder in FOLDERS {
        files(&root.join(folder), &mut found);
    }
    let pages = fs::read_dir(&root).expect("the repository").flatten().map(|entry| entry.path());
    found.extend(pages.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    let names = ["STYLE.md", "phrases.rs"];
    found.retain(|path| path.file_name().is_some_and(|name| names.iter().all(|known| name != *known)));
    let read = |path: PathBuf| {
        let shown = path.strip_prefix(&root).expect("below the repository").display().to_string();
        Some((shown, fs::read_to_string(path).ok()?))
    };
    found.into_iter().filter_map(read).collect()
}

/// True if `line` contains the words of `phrase`, and not only as parts of longer words.
fn contains_words(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(start, found)| {
        let (before, after) = (&line[..start], &line[start + found.len()..]);
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

/// `tests/commit-msg.sh`, which `make hooks` installs: subject, body, columns and phrases.
#[test]
fn commit_messages_are_checked() {
    let check = |message: &str| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), message).expect("written");
        let mut command = std::process::Command::new("sh");
        command.arg(repository().join("tests/commit-msg.sh")).arg(file.path()).env_remove("LOCKGATE_BODY");
        let answer = command.output().expect("sh runs");
        (answer.status.success(), String::from_utf8_lossy(&answer.stderr).into_owned())
    };
    let phrase = ["no", "body"].concat();
    let long = format!("engine: cache the leaf\n\n{}\n", "a word ".repeat(12));
    for (message, expected) in [
        ("engine: cache the chosen leaf per class\n\nTwo loads fewer.\n", ""),
        ("sim, tcp: draw once\n\nWhy.\n# a comment of git, of any length", ""),
        ("Merge branch 'main'", ""),
        ("Cache the leaf\n\nWhy.\n", "begins with a part"),
        ("engine: cache the leaf\n", "there is no body"),
        ("engine: cache the leaf\n\nCo-authored-by: A <a@b>\n", "there is no body"),
        ("engine: cache the leaf\nwhy\n", "the second line"),
        ("engine: cache the leaf.\n\nWhy.\n", "a full stop"),
        (&format!("engine: {}\n\nWhy.\n", "cache ".repeat(12)), "longer than 72"),
        (&long, "longer than 80"),
        (&format!("engine: ask {phrase}\n\nWhy.\n"), "another word"),
    ] {
        let (is_accepted, why) = check(message);
        assert_eq!(is_accepted, expected.is_empty(), "{message}: {why}");
        assert!(why.contains(expected), "{message}: {why}");
    }
}

#[test]
fn phrases_are_whole_words() {
    for line in ["its ear", "by its ear.", "its earlier ear, its ear", "`its ear`"] {
        assert!(contains_words(line, "its ear"), "{line}");
    }
    for line in ["its earlier value", "limits early", "waits ear"] {
        assert!(!contains_words(line, "its ear"), "{line}");
    }
}

#[test]
fn no_phrase_of_the_list_is_used() {
    let list = include_str!("phrases.txt");
    let phrases: Vec<&str> = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert!(phrases.len() >= 5, "{phrases:?}");
    let texts = texts();
    assert!(texts.len() > 400, "{} files", texts.len());
    let mut used = Vec::new();
    for (path, text) in &texts {
        for (number, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            let found = phrases.iter().filter(|phrase| contains_words(&lower, phrase));
            used.extend(found.map(|phrase| format!("{path}:{}: \"{phrase}\": {}", number + 1, line.trim())));
        }
    }
    assert!(used.is_empty(), "STYLE.md has better words for these:\n{}", used.join("\n"));
}

/// True for a Rust file below a crate's `src`.
fn is_source(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == "rs") && path.contains("/src/")
}

#[test]
fn docstrings_open_with_a_noun_or_a_verb() {
    let mut found = Vec::new();
    for (path, text) in texts().iter().filter(|(path, _)| is_source(path)) {
        let mut is_inside = false;
        for (number, line) in text.lines().enumerate() {
            let doc = line.trim_start().strip_prefix("///").or_else(|| line.trim_start().strip_prefix("//!"));
            let opens = !is_inside && doc.is_some();
            is_inside = doc.is_some();
            let words = doc.unwrap_or_default().trim_start();
            if opens && HEADLESS.iter().any(|opening| words.starts_with(opening)) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "say what it is, or what it does:\n{}", found.join("\n"));
}

/// Drawings, and quotations of a document with its address, are as wide as they are.
#[test]
fn comments_of_rust_keep_to_their_columns() {
    let mut wide = Vec::new();
    for (path, text) in
        texts().into_iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|it| it == "rs"))
    {
        let mut is_drawing = false;
        for (number, line) in text.lines().enumerate() {
            let words = line.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']));
            let Some(words) = words else {
                is_drawing = false;
                continue;
            };
            is_drawing ^= words.trim_start().starts_with("```");
            let is_quotation = words.starts_with(['=', '#']);
            if line.chars().count() > 110 && !is_drawing && !is_quotation {
                wide.push(format!("{path}:{}", number + 1));
            }
        }
    }
    assert!(wide.is_empty(), "more than 110 columns:\n{}", wide.join("\n"));
}
