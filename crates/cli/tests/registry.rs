//! No list of kinds of disciplines stands outside the registry: what a kind is or does is a fact of the
//! kind, in its `About` or its `Discipline`, so that a new one is right everywhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lockgate_engine::disciplines::KINDS;
use lockgate_tc::language::Kind;

/// Paths below `crates` that may list kinds, and the reason.
const ALLOWED: [(&str, &str); 17] = [
    ("conform/src/oracles/", "a theorem names the kinds of which it is one; a test demands them"),
    ("engine/benches/disciplines.rs", "targets in nanoseconds of some kinds"),
    ("export/examples/table.rs", "rows of an example"),
    ("identify/src/candidates/", "what a queue looks like if its law does not act"),
    ("monitor/src/kernel/", "disciplines of the kernel"),
    ("tc/src/export", "form that the kernel needs of a tree"),
    ("tc/src/judge", "what the kernel accepts"),
    ("tc/src/kernel/", "formats of the kernel"),
    ("tc/src/language/", "vocabulary of `tc`"),
    ("tc/src/parse/", "grammar of `tc`"),
    ("tc/src/reading.rs", "hooks of the kernel"),
    ("tc/src/scenario.rs", "rate of a tree of `tc` that is none of a scenario yet"),
    ("lockgate/src/proof/queues.rs", "theorems of network calculus, which no discipline knows"),
    ("path/examples/smoltcp.rs", "an example compares two kinds"),
    ("tc/src/show.rs", "vocabulary of `tc`"),
    ("tc/src/sqm/", "words of SQM's scripts"),
    ("testing/src/lines.rs", "ports of tests"),
];

/// Sources of the product: no tests, and not the files of the kinds themselves.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let is_skipped = ["tests", "tests.rs", "target"].contains(&name)
            || path.ends_with("engine/src/disciplines")
            || path.ends_with("engine/src/disciplines.rs");
        if path.is_dir() && !is_skipped {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_skipped {
            found.push(path);
        }
    }
}

/// Length of a letter in quotes, if `rest` begins with one.
fn character(rest: &str) -> Option<usize> {
    let mut letters = rest.strip_prefix('\'')?.char_indices();
    if letters.next()?.1 == '\\' {
        letters.next()?;
    }
    letters.next().filter(|(_, quote)| *quote == '\'').map(|(end, _)| end + 2)
}

/// Texts in quotes and brackets of a source, with their lines; comments are left out.
fn tokens(source: &str) -> Vec<(usize, &str)> {
    let (mut found, mut line, mut rest) = (Vec::new(), 1, source);
    while let Some(first) = rest.chars().next() {
        let raw =
            rest.strip_prefix('r').map(|raw| raw.trim_start_matches('#')).filter(|raw| raw.starts_with('"'));
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(raw) = raw {
            let begin = rest.len() - raw.len() + 1;
            let end = format!("\"{}", "#".repeat(begin - 2));
            rest[begin..].find(&end).map_or(rest.len(), |found| begin + found + end.len())
        } else if first == '"' {
            let mut is_escaped = false;
            let is_end = |letter: char| {
                let ends = letter == '"' && !is_escaped;
                is_escaped = letter == '\\' && !is_escaped;
                ends
            };
            rest[1..].find(is_end).map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = character(rest) {
            length
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        if "\"[](){};".contains(first) {
            found.push((line, token));
        }
        line += token.matches('\n').count();
        rest = after;
    }
    found
}

/// Lists of at least two kinds: each expression, array or `match` that names them, with the line of the
/// first.
fn lists(source: &str) -> Vec<(usize, Vec<&'static str>)> {
    let (mut found, mut open) = (Vec::new(), vec![Vec::new()]);
    let mut end = |kinds: Vec<(usize, &'static str)>| {
        let names: BTreeSet<&str> = kinds.iter().map(|(_, kind)| *kind).collect();
        if names.len() > 1 {
            found.push((kinds[0].0, names.into_iter().collect()));
        }
    };
    for (line, token) in tokens(source) {
        let is_inner = open.len() > 1;
        let last = open.last_mut().expect("the file");
        match token {
            "[" | "(" | "{" => open.push(Vec::new()),
            ";" => end(core::mem::take(last)),
            // What stands in a tuple stands in the array around it.
            ")" | "]" | "}" if is_inner => {
                let inner = open.pop().unwrap_or_default();
                match token {
                    ")" => open.last_mut().expect("the file").extend(inner),
                    _ => end(inner),
                }
            }
            text => {
                let of_linux = Kind::ALL.iter().map(|kind| kind.name());
                let mut kinds = KINDS.iter().copied().chain(of_linux);
                last.extend(kinds.find(|kind| text.trim_matches('"') == *kind).map(|kind| (line, kind)));
            }
        }
    }
    open.into_iter().for_each(end);
    found
}

/// Source of a file up to its tests, which end it by our convention.
fn without_tests(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

#[test]
fn kinds_are_listed_in_the_registry_alone() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = Vec::new();
    sources(&crates, &mut paths);
    paths.sort();
    assert!(paths.len() > 500, "{} sources", paths.len());
    let (mut wrong, mut needed) = (Vec::new(), BTreeSet::new());
    for path in paths {
        let source = fs::read_to_string(&path).expect("a source");
        let shown = path.strip_prefix(&crates).expect("below the crates").display().to_string();
        for (line, kinds) in lists(without_tests(&source)) {
            match ALLOWED.iter().find(|(allowed, _)| shown.starts_with(allowed)) {
                Some((allowed, _)) => _ = needed.insert(*allowed),
                None => wrong.push(format!("crates/{shown}:{line}: {}", kinds.join(", "))),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "lists of kinds: make each a fact of the kind, in `About` or `Discipline`\n{}",
        wrong.join("\n")
    );
    let unused: Vec<&str> =
        ALLOWED.iter().map(|(path, _)| *path).filter(|path| !needed.contains(path)).collect();
    assert!(unused.is_empty(), "no list of kinds is there any more: {unused:?}");
}

#[test]
fn lists_of_kinds_are_found() {
    let found =
        |source: &str| lists(source).into_iter().map(|(line, kinds)| (line, kinds.len())).collect::<Vec<_>>();
    for (source, expected) in [
        ("const A: [&str; 2] = [\"tbf\", \"htb\"];", vec![(1, 2)]),
        ("[(\"cake\", 1),\n (\"red\", 2)]", vec![(1, 2)]),
        ("match kind {\n    \"fifo\" | \"pie\" => { f(\"x\") }\n    \"sfq\" => g(),\n}", vec![(2, 3)]),
        ("matches!(kind, \"htb\" | \"cbq\")", vec![(1, 2)]),
        ("matches!(kind, \"fifo\" | \"pfifo_fast\")", vec![(1, 2)]),
        ("f(r#\"\"tbf\"\"#); if kind == \"drr\" || kind == \"ets\" {}", vec![(1, 2)]),
        // One kind, one twice, two statements, a comment, a longer text.
        ("f(\"tbf\"); [\"red\", \"red\"]; g(\"htb\"); // \"a\", \"cake\"", vec![]),
        ("[\"kind = \\\"tbf\\\"\", \"htb\"]", vec![]),
    ] {
        assert_eq!(found(source), expected, "{source}");
    }
}
