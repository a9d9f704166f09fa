//! The dependencies between crates are those of ARCHITECTURE.md, and no dependency makes results differ
//! between machines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Crates that each crate may use, without dependencies of tests and benches.
const ARROWS: [(&str, &[&str]); 27] = [
    ("engine", &[]),
    ("headers", &["engine"]),
    ("traffic", &["engine"]),
    ("autorate", &["engine"]),
    ("measure", &["engine"]),
    ("export", &["engine", "measure"]),
    ("scenario", &["engine", "headers", "autorate", "traffic", "measure"]),
    ("tcp", &["engine", "traffic", "scenario"]),
    ("network", &["engine", "autorate", "traffic", "scenario", "tcp", "measure"]),
    ("session", &["engine", "scenario", "measure"]),
    ("tc", &["engine", "headers", "traffic", "measure", "scenario"]),
    ("sim", &["engine", "autorate", "traffic", "scenario", "tcp", "measure", "network"]),
    ("identify", &["engine", "traffic", "scenario", "measure", "sim"]),
    ("calculus", &[]),
    ("path", &["engine", "scenario", "measure", "export", "network", "sim"]),
    ("path-c", &["path"]),
    ("conform", &["engine", "traffic", "scenario", "measure", "sim", "tc"]),
    ("dataplane", &["engine"]),
    (
        "live",
        &["engine", "headers", "autorate", "traffic", "scenario", "tcp", "measure", "network", "dataplane"],
    ),
    ("monitor", &["engine", "scenario", "measure", "session", "sim", "live", "dataplane", "tc", "lockgate"]),
    ("router", &["engine", "headers", "autorate", "scenario", "measure", "dataplane"]),
    ("experiment", &["engine", "scenario", "measure", "export"]),
    (
        "lockgate",
        &[
            "engine",
            "headers",
            "traffic",
            "calculus",
            "scenario",
            "measure",
            "export",
            "sim",
            "live",
            "experiment",
        ],
    ),
    (
        "cli",
        &[
            "engine",
            "traffic",
            "scenario",
            "measure",
            "export",
            "network",
            "session",
            "monitor",
            "sim",
            "identify",
            "conform",
            "live",
            "lockgate",
            "experiment",
            "router",
            "dataplane",
            "tc",
        ],
    ),
    ("wasm", &["engine", "scenario", "measure", "session", "tc", "experiment", "lockgate"]),
    ("testing", &[]),
    ("python", &["scenario", "measure", "export", "path", "experiment", "lockgate", "cli"]),
];

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn crates_use_only_those_before_them() {
    let metadata = cargo(&["metadata", "--format-version=1", "--no-deps", "--offline", "--locked"]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("JSON");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let short = |name: &str| match name {
        "lockgate" => Some(name.to_owned()),
        _ => name.strip_prefix("lockgate-").map(str::to_owned),
    };
    for package in metadata["packages"].as_array().expect("packages") {
        let name = short(package["name"].as_str().expect("a name")).expect("ours");
        let uses = package["dependencies"]
            .as_array()
            .expect("dependencies")
            .iter()
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|dependency| short(dependency["name"].as_str()?))
            .collect();
        found.insert(name, uses);
    }
    assert_eq!(found.len(), ARROWS.len(), "a crate joined or left: say where it stands in ARROWS");
    for (name, allowed) in ARROWS {
        println!("{name} uses {}", found[name].iter().cloned().collect::<Vec<_>>().join(", "));
        for used in &found[name] {
            assert!(allowed.contains(&used.as_str()), "`{name}` must not use `{used}`");
        }
    }
}

/// What observes and summarises does not use what tells of it in sentences and pages.
#[test]
fn numbers_of_measure_do_not_use_its_words() {
    const TOLD: [&str; 4] = ["verdict", "report", "monitor", "fidelity"];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../measure/src");
    let (mut waiting, mut read) = (vec![source.clone()], 0);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let room = path.strip_prefix(&source).expect("below it").with_extension("");
            let room = room.iter().next().and_then(|room| room.to_str()).expect("a name");
            if path.is_dir() {
                waiting.push(path);
            } else if !TOLD.contains(&room) && room != "lib" && !path.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).expect("a text");
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                for told in TOLD {
                    let names = [format!("crate::{told}"), format!("super::{told}")];
                    let used = names.iter().find(|name| code.contains(name.as_str()));
                    assert_eq!(used, None, "{}", path.display());
                }
                read += 1;
            }
        }
    }
    assert!(read > 40, "{read} files");
}

/// Pure crates have no dependency that reads clocks, starts threads or opens files.
#[test]
fn pure_crates_stay_pure() {
    for name in [
        "engine", "headers", "autorate", "traffic", "scenario", "tcp", "measure", "network", "session",
        "sim", "path", "calculus", "identify", "tc", "conform",
    ] {
        let tree = cargo(&[
            "tree",
            "--offline",
            "--locked",
            "-p",
            &format!("lockgate-{name}"),
            "-e",
            "normal",
            "--no-default-features",
            "--prefix",
            "none",
        ]);
        for forbidden in ["tokio", "rayon", "rustix", "getrandom", "clap", "tracing"] {
            let uses = tree.lines().any(|line| line.split(' ').next() == Some(forbidden));
            assert!(!uses, "`{name}` must not depend on `{forbidden}`");
        }
    }
}

/// Unsafe code stands in the crate of frame I/O, and in the exports for pages and for C.
#[test]
fn unsafe_code_stands_in_three_places() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the crates");
    let (mut folders, mut found) = (vec![crates.clone()], BTreeSet::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(&crates).expect("below").to_string_lossy().into_owned();
            if path.is_dir() && !name.ends_with("/tests") && !name.ends_with("/benches") {
                folders.push(path);
            } else if Path::new(&name).extension().is_some_and(|kind| kind == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                let is_code = |line: &str| !line.trim_start().starts_with("//");
                let lines = text.lines().filter(|line| is_code(line));
                let has_unsafe = |line: &str| {
                    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "#[unsafe("]
                        .iter()
                        .any(|word| line.contains(word))
                };
                if lines.into_iter().any(has_unsafe) {
                    found.insert(name);
                }
            }
        }
    }
    found.retain(|name| !name.starts_with("dataplane/src/"));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["path-c/src/exports.rs", "wasm/src/exports.rs"]);
}
