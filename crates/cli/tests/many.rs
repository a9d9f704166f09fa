//! `lockgate compare`, `sweep` and `test`: many runs, from the command line to files and exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = r#"
title    = "a line"
duration = "1s"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1mbit" }
[flow]
one = { from = "a", to = "b", transport = "udp", size = "500B", gap = { distribution = "exponential", mean = "5ms" } }

[[expect]]
that = "flow.one.owd.p99"
below = "10s"

[[vary]]
name = "rate"
path = "link.line.rate"
values = ["1mbit", "1200kbit"]
"#;

fn lockgate(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("lockgate runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("line.toml"), SCENARIO).expect("written");
    folder
}

#[test]
fn variants_of_the_file_are_compared_and_a_difference_is_seen() {
    let folder = folder();
    let json = |vary: &[&str]| {
        let mut arguments = vec!["compare", "line.toml", "--json", "-", "--csv", "runs.csv"];
        arguments.extend(vary);
        let output = lockgate(folder.path(), &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    let rates = json(&[]);
    assert_eq!(rates["variants"][1]["rate"], "1200kbit");
    let compared = &rates["metrics"][0]["comparison"];
    assert_eq!((&compared["best"], &compared["differences"][0]["verdict"]), (&1.into(), &"differs".into()));
    let rows = fs::read_to_string(folder.path().join("runs.csv")).expect("rows");
    assert_eq!(rows.lines().count(), 1 + 2 * 10);
    assert!(rows.starts_with("rate,seed,flow.one.owd.p99\n1mbit,1,"), "{rows}");
    let twice = json(&["--vary", "port.a->b.root=fifo,fifo", "-j", "1"]);
    assert_eq!(twice["metrics"][0]["comparison"]["differences"][1]["verdict"], "same");
}

#[test]
fn wrong_variations_and_metrics_are_refused_before_the_first_run() {
    let folder = folder();
    for (arguments, expected) in [
        (&["--vary", "link.lime.rate=1mbit,2mbit"][..], "did you mean `line`"),
        (&["--vary", "link.line.rate=1mbit,2mbix"], "`2mbix`"),
        (&["--vary", "port.a-"], "in quotes"),
        (&["--show", "flow.two.owd.p99"], "there is no flow `two`"),
        (&["--show", "flow.one.owd.p98"], "did you mean"),
        (&["--base", "3"], "there are 2"),
        (&["--seeds", "x"], "no seeds"),
    ] {
        let output = lockgate(folder.path(), &[&["compare", "line.toml"], arguments].concat());
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains(expected), "{arguments:?}: {words}");
    }
    let wrong = SCENARIO.replace("\"1200kbit\"", "\"12lbit\"");
    fs::write(folder.path().join("wrong.toml"), wrong).expect("written");
    assert_eq!(lockgate(folder.path(), &["check", "line.toml"]).status.code(), Some(0));
    assert_eq!(lockgate(folder.path(), &["check", "wrong.toml"]).status.code(), Some(2));
}

/// A sweep of 60 runs: whole, killed and resumed, and by shards of which one is made twice.
#[test]
fn a_killed_sweep_and_shards_give_the_bytes_of_an_undisturbed_one() {
    let folder = folder();
    let sweep = |into: &str, more: &[&str]| {
        let seeds = ["sweep", "line.toml", "--seeds", "1..30", "--into", into];
        lockgate(folder.path(), &[&seeds, more].concat())
    };
    let table = |into: &str| fs::read(folder.path().join(into).join("runs.parquet")).expect("a table");
    assert!(sweep("whole", &[]).status.success());
    let parts = |into: &str| {
        fs::read_dir(folder.path().join(into).join("parts")).map_or(0, |entries| entries.flatten().count())
    };
    assert_eq!(parts("whole"), 60);

    let mut killed = Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(["sweep", "line.toml", "--seeds", "1..30", "-j", "1", "--into", "killed"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("lockgate runs");
    while parts("killed") < 5 {
        std::thread::yield_now();
    }
    killed.kill().expect("killed");
    killed.wait().expect("ended");
    let resumed = lockgate(folder.path(), &["sweep", "--into", "killed", "--resume"]);
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    assert!(!stdout(&resumed).starts_with("60 runs made"), "{}", stdout(&resumed));
    assert!(table("killed") == table("whole"), "a resumed sweep gives other bytes");

    for shard in ["2/3", "1/3", "2/3", "3/3"] {
        assert!(sweep("shards", &["--shard", shard]).status.success());
    }
    assert!(lockgate(folder.path(), &["sweep", "--into", "shards", "--collect"]).status.success());
    assert!(table("shards") == table("whole"), "shards give other bytes");

    let other = lockgate(folder.path(), &["sweep", "line.toml", "--seeds", "1..3", "--into", "whole"]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("other seeds"));
    assert_eq!(lockgate(folder.path(), &["sweep", "--into", "none", "--status"]).status.code(), Some(2));
}

#[test]
fn expectations_of_several_files_are_a_line_each_and_a_junit_document() {
    let folder = folder();
    let missed = SCENARIO.replace("\"10s\"", "\"1us\"").replace("\"a line\"", "\"<b> & c\"");
    fs::write(folder.path().join("missed.toml"), missed).expect("written");
    let both = ["test", "line.toml", "missed.toml", "--junit", "out.xml", "--github"];
    let output = lockgate(folder.path(), &both);
    assert_eq!(output.status.code(), Some(3));
    let lines = stdout(&output);
    assert!(lines.starts_with("✓ line.toml: 1 of 1 expectations hold\n✗ missed.toml: 0 of 1"), "{lines}");
    assert!(lines.contains("::error file=missed.toml,line=9,"), "{lines}");
    let junit = fs::read_to_string(folder.path().join("out.xml")).expect("a document");
    assert!(
        junit.contains("<testsuite name=\"missed.toml\" tests=\"1\" failures=\"1\" errors=\"0\">"),
        "{junit}"
    );
    assert_eq!(lockgate(folder.path(), &["test", "line.toml"]).status.code(), Some(0));
    assert_eq!(lockgate(folder.path(), &["test", "line.toml", "absent.toml"]).status.code(), Some(1));
}
