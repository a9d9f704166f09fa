//! Golden runs: the outcome of every shipped scenario and every paper, pinned in the repository.
//!
//! `pinned/scenarios.toml` has, of each scenario and two seeds, the exit code, each expectation's verdict,
//! and hashes of `summary.json` and `events.ndjson`; `pinned/papers.toml` has each claim's verdict of
//! `lockgate reproduce --quick`. After a change that is meant to alter them, `make renew` writes both again;
//! explain the difference in the commit.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const SEEDS: [u64; 2] = [1, 2];

/// Outcome of a run.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Outcome {
    exit_code: i32,
    /// SHA-256 of `summary.json` without `engine.wall_s` and `engine.cpu_s`.
    summary: String,
    /// SHA-256 of `events.ndjson`.
    events: String,
    /// Verdict of each expectation, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    expect: Vec<String>,
}

/// Outcomes by scenario and seed.
type Outcomes = BTreeMap<String, BTreeMap<String, Outcome>>;

/// Verdicts by paper and claim.
type Verdicts = BTreeMap<String, BTreeMap<String, String>>;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn lockgate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(arguments)
        .current_dir(repository())
        .output()
        .expect("lockgate runs")
}

/// Paths of the shipped scenarios below the repository, sorted.
fn scenarios() -> Vec<String> {
    let root = repository();
    let papers = fs::read_dir(root.join("papers")).expect("papers").flatten().map(|paper| paper.path());
    let own = ["scenarios", "scenarios/twin", "scenarios/ccwg"].map(|folder| root.join(folder));
    let folders = own.into_iter().chain(papers);
    let mut found: Vec<String> = folders
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| fs::read_dir(folder).expect("a folder").flatten())
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| path.strip_prefix(&root).expect("below the repository").display().to_string())
        .filter(|path| !path.ends_with("claims.toml"))
        .collect();
    found.sort();
    assert!(found.len() >= 20, "{found:?}");
    found
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Returns settings that make a scenario small enough for a test.
fn smaller(scenario: &str) -> &'static [&'static str] {
    match scenario {
        "scenarios/isp.toml" => &["--set", "node.sub.count=200", "--set", "record.detail=groups"],
        _ => &[],
    }
}

/// Runs a scenario with a seed.
fn run(scenario: &str, seed: u64, out: &Path) -> Outcome {
    let place = out.to_str().expect("UTF-8");
    let seed = seed.to_string();
    let arguments = ["run", scenario, "--seed", &seed, "--json", "--quiet", "--out", place];
    let output = lockgate(&[&arguments[..], smaller(scenario)].concat());
    let complaint = String::from_utf8_lossy(&output.stderr);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{scenario}: {error}: {complaint}"));
    let verdict = |expect: &serde_json::Value| {
        let words = if expect["holds"] == true { "holds" } else { "is missed" };
        format!("{} {words}", expect["that"].as_str().expect("an address"))
    };
    Outcome {
        exit_code: output.status.code().expect("an exit code"),
        summary: hash(&fs::read(out.join("summary.json")).expect("a summary")),
        events: hash(&fs::read(out.join("events.ndjson")).expect("events")),
        expect: summary["expect"].as_array().into_iter().flatten().map(verdict).collect(),
    }
}

/// Compares `found` with the pinned file, or writes the file if `LOCKGATE_RENEW` is set.
fn compare<T>(file: &str, head: &str, found: &BTreeMap<String, BTreeMap<String, T>>)
where
    T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
{
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pinned").join(file);
    if std::env::var_os("LOCKGATE_RENEW").is_some() {
        let text = toml::to_string(found).expect("TOML");
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        return fs::write(path, format!("{head}\n\n{text}")).expect("written");
    }
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let pinned: BTreeMap<String, BTreeMap<String, T>> =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut differences = Vec::new();
    for name in pinned.keys().chain(found.keys()) {
        let (pinned, found) = (pinned.get(name), found.get(name));
        let keys = pinned.into_iter().chain(found).flat_map(BTreeMap::keys);
        for key in keys.collect::<std::collections::BTreeSet<_>>() {
            let (pinned, found) = (pinned.and_then(|all| all.get(key)), found.and_then(|all| all.get(key)));
            if pinned != found {
                differences.push(format!("{name}, {key}:\n  pinned {pinned:?}\n  found  {found:?}"));
            }
        }
    }
    differences.dedup();
    assert!(differences.is_empty(), "{file}: see the head of outcomes.rs\n{}", differences.join("\n"));
}

#[test]
fn scenarios_yield_what_is_pinned() {
    let directory = tempfile::tempdir().expect("a directory");
    let outcomes = |scenario: String| {
        let seeds =
            SEEDS.map(|seed| (format!("seed-{seed}"), run(&scenario, seed, &directory.path().join("run"))));
        (scenario, BTreeMap::from(seeds))
    };
    let found: Outcomes = scenarios().into_iter().map(outcomes).collect();
    compare(
        "scenarios.toml",
        "# Pinned by crates/cli/tests/outcomes.rs: outcome of each shipped scenario.",
        &found,
    );
}

#[test]
fn papers_yield_the_pinned_verdicts() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().to_str().expect("UTF-8").to_owned() + "/papers";
    let output = lockgate(&["reproduce", "all", "--quick", "--json", "--quiet", "--out", &out]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let document: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {complaint}"));
    let mut found = Verdicts::new();
    for paper in document["papers"].as_array().expect("papers") {
        let verdict = |claim: &serde_json::Value| {
            let text = |key: &str| claim[key].as_str().expect("a text").to_owned();
            let required = if claim["required"] == true { ", required" } else { "" };
            (text("id"), text("verdict") + required)
        };
        let claims = paper["claims"].as_array().expect("claims").iter().map(verdict).collect();
        found.insert(paper["paper"].as_str().expect("a name").to_owned(), claims);
    }
    assert_eq!(found.len(), 5, "five papers");
    compare(
        "papers.toml",
        "# Pinned by crates/cli/tests/outcomes.rs: verdict of each claim by `lockgate reproduce --quick`.",
        &found,
    );
    assert_eq!(output.status.code(), Some(0), "every required claim holds: {complaint}");
}
