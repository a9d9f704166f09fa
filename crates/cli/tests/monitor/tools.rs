//! External tools against the interfaces: `promtool check metrics` (part of Prometheus), and schemathesis,
//! which makes requests from `/api/openapi.json`. Neither is needed to build or to test; without a tool, its
//! test is skipped. `make tools` installs schemathesis under `target/tools`.
#![allow(clippy::print_stdout, reason = "the figures of a tool are printed")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::scenario;
use crate::watched::{Watched, alone};
use lockgate_testing::skipped;

/// Returns the path of a tool on the path or under `target/tools`; otherwise prints that it is missing.
fn tool(name: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).chain([own]).map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        skipped(format!("`{name}` is not installed"));
    }
    found
}

#[test]
fn prometheus_finds_no_fault() {
    let Some(promtool) = tool("promtool") else { return };
    let (_folder, file) = scenario();
    let watched = Watched::start(&file, &["--pace", "0"], None);
    watched.until(|state| state["ended"] == json!(true));
    let (_, metrics) = watched.get("/metrics");
    let mut command = Command::new(promtool);
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = command.spawn().expect("it starts");
    check.stdin.take().expect("stdin").write_all(metrics.as_bytes()).expect("written");
    let done = check.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.is_empty(), "{}: {said}", done.status);
}

/// Requests within the document and against it: none makes the server fail, every answer is one of the
/// documented kinds, and requests that the document forbids are refused. Allowed values depend on the run, so
/// a request within the document may be refused too. The stream is left out, because it does not end.
#[test]
fn requests_made_from_the_document_are_answered_as_it_says() {
    let Some(schemathesis) = tool("schemathesis") else { return };
    let _alone = alone();
    let (folder, file) = scenario();
    let watched = Watched::start(&file, &["--pace", "1", "--set", "duration=10min"], None);
    let document = format!("http://{}/api/openapi.json", watched.address);
    let done = Command::new(schemathesis)
        .current_dir(folder.path())
        .args(["run", &document, "--seed", "1", "--max-examples", "25", "--exclude-path", "/api/stream"])
        .args(["--phases", "examples,coverage,fuzzing", "--exclude-checks", "positive_data_acceptance"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&done.stdout);
    println!("{}", said.lines().rev().find(|line| line.contains("generated")).unwrap_or_default().trim());
    assert!(done.status.success(), "{said}");
    assert_eq!(watched.get("/api/state").0, 200, "it still answers");
}
