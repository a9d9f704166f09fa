//! `lockgate compare`, `sweep` and `test`: many runs, from the command line to files and exit codes.

mod page;

use std::collections::BTreeSet;
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
        // Tables with all of their columns.
        .env("COLUMNS", "200")
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
    let twice = json(&["--vary", "link.line.delay=0s,1ps", "-j", "1"]);
    assert_eq!(twice["metrics"][0]["comparison"]["differences"][1]["verdict"], "same");
}

/// A delay that is longer by a tenth of a millisecond is worse for certain, and does not matter.
#[test]
fn a_sweep_decides_as_a_comparison_does() {
    let folder = folder();
    let decision = |command: &[&str]| {
        let varied = ["line.toml", "--vary", "link.line.delay=1us,100us", "--seeds", "1..3"];
        let output = lockgate(folder.path(), &[command, &varied[..]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = stdout(&output);
        assert!(text.contains("= no difference from it seen"), "the marks are explained: {text}");
        text.lines().find(|line| line.starts_with("Take ")).map(str::to_owned).unwrap_or(text)
    };
    let compared = decision(&["compare"]);
    assert!(compared.contains("none is worse by more than 1 % or 1 ms"), "{compared}");
    assert_eq!(decision(&["sweep", "--into", "swept"]), compared);
}

/// A loss of 0 with every seed does not show that nothing is random, and no value at all shows nothing.
#[test]
fn equal_values_of_all_seeds_are_of_what_is_compared() {
    let folder = folder();
    let told = |show: &str, seeds: &str, start: &str| {
        let vary = ["compare", "line.toml", "--vary", "link.line.rate=10mbit,20mbit", "--show", show];
        let start = format!("flow.one.start={start}");
        stdout(&lockgate(folder.path(), &[&vary[..], &["--seeds", seeds, "--set", &start]].concat()))
    };
    let equal = told("flow.one.loss", "1..3", "0s");
    assert!(equal.contains("every seed gives the same values of what is compared\n"), "{equal}");
    let none = told("flow.one.loss", "1..3", "5s");
    assert!(none.contains("no variant has a value") && !none.contains("every seed"), "{none}");
    let one = told("flow.one.owd.p99", "1", "0s");
    assert!(one.contains("; too few values to tell of 1 other variant"), "{one}");
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
        (&["--seeds", "x"], "are not seeds"),
        (&["--seeds", "1,2,1"], "seed 1 is named twice"),
        (&["--vary", "port.a:b.root=fifo,fifo,fifo"], "`fifo` is there twice"),
        (&["--csv", "out", "--json", "./out"], "--csv and --json name the same file"),
        (
            &[
                "--vary",
                "link.line.delay=1us..200us step 1us",
                "--vary",
                "link.line.rate=1kbit..200kbit step 1kbit",
            ],
            "40000 variants are too many",
        ),
        (&["--memory", "1KiB"], "a run takes about"),
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

/// A sweep of 60 runs, made three ways: undisturbed, killed and resumed, and by shards, one of which is made
/// twice.
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
    let key = "0f".repeat(32);
    let left = folder.path().join(format!("killed/parts/{key}.parquet.elsewhere-1.tmp"));
    fs::write(&left, "half").expect("written");
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(2);
    fs::File::options().write(true).open(&left).and_then(|file| file.set_modified(old)).expect("a time");
    let resumed = lockgate(folder.path(), &["sweep", "--into", "killed", "--resume"]);
    assert!(!left.exists(), "what a killed process left is removed");
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    assert!(!stdout(&resumed).starts_with("60 runs made"), "{}", stdout(&resumed));
    assert!(table("killed") == table("whole"), "a resumed sweep gives other bytes");

    for (shard, counts) in [
        ("2/3", "20 runs made, 0 failed, 0 were"),
        ("1/3", "20 runs made, 0 failed, 0 were"),
        ("2/3", "0 runs made, 0 failed, 20 were"),
        ("3/3", "20 runs made, 0 failed, 0 were"),
    ] {
        let made = sweep("shards", &["--shard", shard]);
        assert!(made.status.success() && stdout(&made).starts_with(counts), "{shard}: {}", stdout(&made));
    }
    assert_eq!(sweep("shards", &["--shard", "4294967297/4294968298"]).status.code(), Some(2));
    assert!(lockgate(folder.path(), &["sweep", "--into", "shards", "--collect"]).status.success());
    assert!(table("shards") == table("whole"), "shards give other bytes");

    let other = lockgate(folder.path(), &["sweep", "line.toml", "--seeds", "1..3", "--into", "whole"]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("other seeds"));
    assert_eq!(lockgate(folder.path(), &["sweep", "--into", "none", "--status"]).status.code(), Some(2));
}

/// A job array starts all of its shards at the same time, in a directory that does not exist yet.
#[test]
fn shards_that_start_together_make_one_store() {
    let folder = folder();
    for round in 0..6 {
        let into = format!("store-{round}");
        let shard = |index: usize| {
            Command::new(env!("CARGO_BIN_EXE_lockgate"))
                .args([
                    "sweep",
                    "line.toml",
                    "--seeds",
                    "1..2",
                    "--into",
                    &into,
                    "--shard",
                    &format!("{index}/4"),
                ])
                .current_dir(folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("lockgate runs")
        };
        let shards: Vec<_> = (1..=4).map(shard).collect();
        for one in shards {
            let ended = one.wait_with_output().expect("ended");
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        }
        let collected = lockgate(folder.path(), &["sweep", "--into", &into, "--collect"]);
        assert!(stdout(&collected).contains("4 of 4 runs"), "{}", stdout(&collected));
    }
}

/// A store whose plan names another version, as after a change of version.
#[test]
fn a_table_stays_when_the_runs_are_of_another_version() {
    let folder = folder();
    assert!(lockgate(folder.path(), &["sweep", "line.toml", "--into", "store"]).status.success());
    let (table, plan) = (folder.path().join("store/runs.parquet"), folder.path().join("store/plan.json"));
    let before = fs::read(&table).expect("a table");
    let text = fs::read_to_string(&plan).expect("a plan");
    let engine = format!("\"lockgate\": \"{}\"", env!("CARGO_PKG_VERSION"));
    fs::write(&plan, text.replace(&engine, "\"lockgate\": \"0.0.9\"")).expect("written");
    let collected = lockgate(folder.path(), &["sweep", "--into", "store", "--collect"]);
    let words = String::from_utf8_lossy(&collected.stderr).into_owned();
    assert_eq!(collected.status.code(), Some(1), "{words}");
    assert!(words.contains("20 of its finished runs are of another version"), "{words}");
    assert!(fs::read(&table).expect("a table") == before);
    let status = stdout(&lockgate(folder.path(), &["sweep", "--into", "store", "--status"]));
    assert!(status.contains("20 finished runs are of another version"), "{status}");
    assert!(status.contains("the store is of version 0.0.9"), "{status}");
}

/// One run of three needs more memory than the resumed sweep allows.
#[test]
fn a_failed_run_costs_its_row_and_its_command_repeats_the_failure() {
    let folder = folder();
    let limits = "port.a->b.queue.q.limit=100p,1000000p,200p";
    let gap = r#"gap = { distribution = "exponential", mean = "5ms" }"#;
    let flood = SCENARIO.replace(gap, r#"gap = "4us""#).replace("500B", "64B");
    let queue = r#"[port."a->b".queue.q]
kind = "fifo"
limit = "100p""#;
    let scenario = format!("{flood}\n{queue}\n");
    fs::write(folder.path().join("line.toml"), scenario).expect("written");
    let sweep =
        |arguments: &[&str]| lockgate(folder.path(), &[&["sweep", "--into", "runs"], arguments].concat());
    let first = sweep(&["line.toml", "--vary", limits, "--seeds", "1", "--shard", "1/3"]);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));

    let resumed = sweep(&["--resume", "--memory", "8MiB"]);
    let said = stdout(&resumed);
    assert_eq!(resumed.status.code(), Some(1), "{said}");
    assert!(said.contains("runs.parquet: 2 of 3 runs"), "{said}");
    assert!(said.contains("2 of 3 runs finished, 1 failed, 0 missing"), "{said}");
    let (_, failure) = said.split_once("failed: ").expect("a failure");
    let (why, rest) = failure.split_once('\n').expect("a command");
    let command = rest.lines().next().expect("a command").trim();
    let arguments = command.strip_prefix("lockgate ").expect("a command of lockgate");
    let again = Command::new("sh")
        .args(["-c", &format!("exec \"$0\" {arguments}"), env!("CARGO_BIN_EXE_lockgate")])
        .current_dir(folder.path())
        .output()
        .expect("sh runs");
    assert!(!again.status.success(), "{command}");
    assert!(String::from_utf8_lossy(&again.stderr).contains(why), "{command}: {why}");
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
        junit.contains("<testsuite name=\"missed.toml\" tests=\"1\" failures=\"1\" errors=\"0\" time=\"")
            && junit.contains(" file=\"missed.toml\" line=\"9\">"),
        "{junit}"
    );
    assert_eq!(lockgate(folder.path(), &["test", "line.toml"]).status.code(), Some(0));
    assert_eq!(lockgate(folder.path(), &["test", "line.toml", "absent.toml"]).status.code(), Some(1));
    // A directory stands for its scenarios; another file is named.
    fs::write(folder.path().join("other.toml"), "x = 1\n").expect("written");
    let all = lockgate(folder.path(), &["test", "."]);
    let told = stdout(&all);
    assert!(all.status.code() == Some(3) && told.lines().count() == 3, "{told}");
    assert!(told.contains("- ./other.toml: left out: "), "{told}");
}

#[test]
fn a_comparison_writes_a_report_of_all_variants_and_replaces_no_other_file() {
    let folder = folder();
    let compare = |more: &[&str]| {
        let two = ["compare", "line.toml", "--vary", "link.line.rate=1mbit,1200kbit"];
        let delays = ["--vary", "link.line.delay=1ms,5ms", "--seeds", "1..3", "--show"];
        let metrics = ["flow.one.owd.p99,flow.one.goodput"];
        lockgate(folder.path(), &[&two[..], &delays, &metrics, more].concat())
    };
    let words = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let made = compare(&["--out", "results", "--csv", "runs.csv", "--json", "all.json"]);
    assert!(made.status.success(), "{}", words(&made));
    let report = page::report_data(&folder.path().join("results/report.html"));
    let variants = &report["variants"];
    assert_eq!(variants["variables"][1]["numbers"], serde_json::json!([0.001, 0.005]));
    assert_eq!(variants["metrics"][0]["variants"][3]["seeds"].as_array().map(Vec::len), Some(3));
    assert_eq!(variants["fronts"][0]["x"], 0);
    // The page's table is the terminal's.
    let words_of = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = stdout(&made).lines().map(words_of).collect();
    let table = &variants["table"];
    let rows = table["rows"].as_array().expect("rows");
    for row in rows.iter().chain([&table["columns"]]) {
        let cells: Vec<&str> =
            row.as_array().expect("cells").iter().filter_map(|cell| cell.as_str()).collect();
        assert!(lines.contains(&words_of(&cells.join(" "))), "{row}: {lines:?}");
    }
    assert!(rows.len() == 4 && lines.contains(&words_of(table["note"].as_str().expect("a note"))), "{table}");
    let runs = report["runs"].as_array().expect("runs");
    let labels: Vec<&str> = runs.iter().filter_map(|run| run["label"].as_str()).collect();
    assert_eq!(labels, ["1mbit 1ms", "1mbit 5ms", "1200kbit 1ms", "1200kbit 5ms"]);
    // All seeds together have three times the packets of one run, so their distribution has more points.
    let received = |run: &serde_json::Value| run["flows"][0]["owd_cdf"]["value_s"].as_array().map(Vec::len);
    assert!(received(&runs[0]) > Some(10), "{:?}", received(&runs[0]));
    for file in ["scenario.toml", "comparison.json", "runs.csv", "manifest.json"] {
        assert!(folder.path().join("results").join(file).exists(), "{file}");
    }
    // Files of the command are replaced; others are refused before anything runs.
    assert!(compare(&["--csv", "runs.csv", "--json", "all.json"]).status.success());
    for (option, file) in [("--csv", "line.toml"), ("--json", "line.toml"), ("--json", "runs.csv")] {
        let before = fs::read(folder.path().join(file)).expect("a file");
        let refused = compare(&[option, file]);
        assert_eq!(refused.status.code(), Some(2), "{option} {file}");
        assert!(words(&refused).contains("a file of yours"), "{}", words(&refused));
        assert_eq!(fs::read(folder.path().join(file)).expect("a file"), before);
    }
    let memory = compare(&["--memory", "1MiB", "-j", "4"]);
    assert!(words(&memory).contains("--jobs"), "{}", words(&memory));
}

/// A winner by less than what matters is none: the points that give the same are counted, with the best of
/// them in the constraint's metric.
#[test]
fn a_search_that_gains_nothing_that_matters_says_so() {
    let folder = folder();
    let arguments = ["tune", "line.toml", "--vary", "link.line.delay=1us..200us", "--runs", "20"];
    let goal = ["--goal", "min flow.one.owd.p99", "--subject-to", "flow.one.goodput >= 100kbit"];
    let shown = stdout(&lockgate(folder.path(), &[&arguments[..], &goal, &["--seeds", "1..2"]].concat()));
    let told = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("Nothing is better than the file as it is. The best point, #"), "{shown}");
    assert!(told.contains(" points of the search give the same; of these #"), "{shown}");
    assert!(told.contains(" has most one goodput: ") && !told.contains("The winner"), "{shown}");
}

#[test]
fn a_search_finds_a_point_that_keeps_the_constraint_on_unseen_seeds() {
    let folder = folder();
    let tune = |more: &[&str]| {
        let vary = ["tune", "line.toml", "--vary", "link.line.rate=900kbit..2mbit"];
        let goal = ["--goal", "min flow.one.owd.p99", "--subject-to", "flow.one.goodput >= 100kbit"];
        let runs = ["--runs", "30", "--seeds", "1..2"];
        lockgate(folder.path(), &[&vary[..], &goal, &runs, more].concat())
    };
    let json = |output: &Output| serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON");
    let one = tune(&["--json", "-", "-j", "1"]);
    assert!(one.status.success(), "{}", String::from_utf8_lossy(&one.stderr));
    let found = json(&one);
    let tried = found["tried"].as_array().map_or(0, Vec::len);
    assert!((5..=15).contains(&tried), "{tried} points of 2 seeds in 30 runs");
    let winner = found["winner"].as_u64().expect("a winner") as usize;
    assert_eq!(found["tried"][winner]["feasible"], true);
    assert_eq!(found["finalists"].as_array().and_then(|all| all.last()), Some(&serde_json::Value::Null));
    assert_eq!(json(&tune(&["--json", "-", "-j", "2"])), found, "depends on the number of threads");
    let shown = stdout(&tune(&[]));
    assert!(shown.contains("The winner, #") && shown.contains("--set 'link.line.rate="), "{shown}");
    for (wrong, expected) in [
        (&["--validate", "2..3"][..], "seed 2"),
        (&["--goal", "flow.one.loss"], "is not a goal"),
        (&["--subject-to", "flow.one.loss <= 1mbit"], "`1mbit` in bit/s"),
        (&["--json", "line.toml"], "a file of yours"),
    ] {
        let refused = tune(wrong);
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}");
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(words.contains(expected), "{wrong:?}: {words}");
    }
    let impossible = tune(&["--subject-to", "flow.one.owd.p99 <= 1us"]);
    assert_eq!(impossible.status.code(), Some(3), "{}", stdout(&impossible));
}

#[test]
fn a_baseline_shows_what_changed() {
    let folder = folder();
    let test =
        |more: &[&str]| lockgate(folder.path(), &[&["test", "line.toml", "--seeds", "1..5"], more].concat());
    assert!(test(&["--write-baseline", "main.json"]).status.success());
    let same = stdout(&test(&["--baseline", "main.json"]));
    assert!(
        same.lines().any(|line| line.contains("flow.one.owd.p99") && line.trim_end().ends_with('=')),
        "{same}"
    );
    let faster = test(&["--baseline", "main.json", "--set", "link.line.rate=2mbit"]);
    let lines = stdout(&faster);
    assert!(
        lines.lines().any(|line| line.contains("flow.one.owd.p99") && line.trim_end().ends_with('+')),
        "{lines}"
    );
    let json = test(&["--baseline", "main.json", "--set", "link.line.rate=2mbit", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let change = &json["files"][0]["changes"][0];
    assert_eq!(
        (&change["that"], &change["difference"]["verdict"]),
        (&"flow.one.owd.p99".into(), &"differs".into())
    );
    let judged =
        |more: &[&str]| test(&[&["--baseline", "main.json", "--fail-on-regression", "5%"], more].concat());
    assert_eq!(judged(&[]).status.code(), Some(0));
    assert_eq!(
        judged(&["--set", "link.line.rate=2mbit"]).status.code(),
        Some(0),
        "better is not a regression"
    );
    let slower = judged(&["--set", "link.line.rate=900kbit"]);
    let words = String::from_utf8_lossy(&slower.stderr).into_owned();
    assert_eq!(slower.status.code(), Some(3), "{words}");
    assert!(words.contains("regression: line.toml: flow.one.owd.p99 was "), "{words}");
    let other = lockgate(folder.path(), &["test", "line.toml", "--baseline", "main.json"]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("--seeds 1,2,3,4,5"));
}

/// A file that the baseline does not have is new, and one that was not tested is named.
#[test]
fn a_baseline_without_the_file_says_so() {
    let folder = folder();
    fs::write(folder.path().join("new.toml"), SCENARIO).expect("written");
    fs::write(folder.path().join("old.toml"), SCENARIO).expect("written");
    let test = |files: &[&str], more: &[&str]| {
        lockgate(folder.path(), &[&["test"], files, &["--seeds", "1..2"], more].concat())
    };
    assert!(test(&["line.toml", "old.toml"], &["--write-baseline", "main.json"]).status.success());
    let gate = ["--baseline", "main.json", "--fail-on-regression", "5%"];
    let other = test(&["line.toml", "new.toml"], &gate);
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(other.status.success(), "{said}");
    assert!(
        said.contains("the baseline has no values of `new.toml`: it has `line.toml`, `old.toml`"),
        "{said}"
    );
    assert!(said.contains("`old.toml` is in the baseline, and was not tested"), "{said}");
    let json = test(&["line.toml", "new.toml"], &["--baseline", "main.json", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(2), "{json}");
    // Of new files alone nothing is compared.
    let nothing = test(&["new.toml"], &["--baseline", "main.json"]);
    assert_eq!(nothing.status.code(), Some(1), "{}", stdout(&nothing));
    assert!(stdout(&nothing).contains("✗ main.json: nothing was compared"), "{}", stdout(&nothing));
}

/// One seed of three has no echo answered: the means are of the others, and a sentence says so.
#[test]
fn seeds_without_a_value_are_named() {
    let folder = folder();
    let text = "title = \"rare\"\nduration = \"1s\"\nnode = { a = {}, b = {} }\n\
                link.line = { between = [\"a\", \"b\"], rate = \"1mbit\" }\n\
                flow.one = { from = \"a\", to = \"b\", transport = \"udp\", size = \"500B\", \
                gap = { distribution = \"exponential\", mean = \"700ms\" } }\n";
    fs::write(folder.path().join("rare.toml"), text).expect("written");
    let arguments = ["compare", "rare.toml", "--vary", "link.line.delay=1ms,2ms", "--seeds", "1..20"];
    let shown = lockgate(folder.path(), &[&arguments[..], &["--show", "flow.one.owd.mean"]].concat());
    let shown = stdout(&shown);
    assert!(shown.contains("one delay mean has no value on "), "{shown}");
    assert!(shown.contains(" of 20 seeds with "), "{shown}");
}

/// The runs of a store whose scenario was changed are not made again in vain.
#[test]
fn a_store_with_another_scenario_is_refused_before_its_runs() {
    let folder = folder();
    let sweep = |more: &[&str]| lockgate(folder.path(), &[&["sweep", "--into", "kept"], more].concat());
    let made = sweep(&["line.toml", "--vary", "link.line.rate=1mbit,2mbit", "--seeds", "1..2"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let scenario = folder.path().join("kept/scenario.toml");
    let text = fs::read_to_string(&scenario).expect("a scenario").replace("5ms", "6ms");
    fs::write(&scenario, text).expect("written");
    let parts = || fs::read_dir(folder.path().join("kept/parts")).expect("parts").count();
    let resumed = sweep(&["--resume"]);
    let said = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert!(!resumed.status.success() && said.contains("4 of its finished runs"), "{said}");
    assert_eq!(parts(), 4, "no run is made");
}

/// One seed has no scatter: nothing is recommended. Variants with the same values are named with their
/// metric.
#[test]
fn one_seed_recommends_no_variant() {
    let folder = folder();
    let compare = |seeds: &str, rates: &str| {
        let vary = format!("link.line.rate={rates}");
        let arguments = ["compare", "line.toml", "--vary", &vary, "--seeds", seeds];
        stdout(&lockgate(
            folder.path(),
            &[&arguments[..], &["--show", "flow.one.owd.p99,flow.one.loss"]].concat(),
        ))
    };
    let one = compare("1", "1mbit,1200kbit");
    assert!(one.contains(" ?") && !one.contains("Take "), "{one}");
    assert!(
        one.contains("One seed cannot tell which to take. In its runs 1200kbit (#2) is best in "),
        "{one}"
    );
    let many = compare("1..10", "1mbit,1200kbit");
    assert!(many.contains("Take 1200kbit (#2): best"), "{many}");
    assert!(many.contains("one loss: the same values as 1mbit (#1): 1200kbit (#2)"), "{many}");
}

/// Two seeds cannot show what ten do: the number of seeds that would is said, once for many.
#[test]
fn differences_that_few_seeds_cannot_show_are_told_with_the_seeds_that_would() {
    let folder = folder();
    let compare = |vary: &str, seeds: &str| {
        let output = lockgate(folder.path(), &["compare", "line.toml", "--vary", vary, "--seeds", seeds]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        stdout(&output)
    };
    let near = compare("flow.one.gap.mean=5ms,5.2ms", "1..2");
    assert!(near.contains("2 seeds cannot show 1 of 1 differences (=)\n"), "{near}");
    assert!(near.contains("; about ") && near.contains(" seeds would decide it."), "{near}");
    let many = compare("flow.one.gap.mean=5000us..5009us step 1us", "1..2");
    assert!(many.contains("cannot show 9 of 9 differences (=)\n"), "{many}");
    assert!(many.contains(" seeds would decide half of them."), "{many}");
    assert_eq!(many.matches("; about ").count(), 1, "{many}");
    assert_eq!(many.matches("cannot show").count(), 1, "{many}");
    let together = lockgate(
        folder.path(),
        &[
            &["compare", "line.toml", "--seeds", "1", "--csv", "runs.csv"][..],
            &["--vary-together", "link.line.delay=1ms,2ms", "--vary-together", "warmup=1ms,2ms"],
        ]
        .concat(),
    );
    let shown = stdout(&together);
    assert!(shown.contains("line delay = warmup"), "{shown}{}", String::from_utf8_lossy(&together.stderr));
    let rows = fs::read_to_string(folder.path().join("runs.csv")).expect("rows");
    assert!(rows.starts_with("link.line.delay,warmup,seed,"), "{rows}");
}

#[cfg(unix)]
#[test]
fn a_baseline_that_is_a_pipe_is_refused_at_once() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|made| made.success()));
    let refused = lockgate(folder.path(), &["test", "line.toml", "--baseline", "pipe"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not a regular file"));
}

/// A range of whole numbers stands for every value in it where the scenario takes fractions.
#[test]
fn a_search_tries_fractions_of_a_range_of_whole_numbers() {
    let folder = folder();
    let tried = |vary: &str| {
        let arguments = [
            "tune",
            "line.toml",
            "--vary",
            vary,
            "--goal",
            "max flow.one.goodput",
            "--runs",
            "20",
            "--json",
            "-",
        ];
        let output = lockgate(folder.path(), &arguments);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let values = |point: &serde_json::Value| point["values"][0].as_str().map(str::to_owned);
        document["tried"].as_array().into_iter().flatten().filter_map(values).collect::<Vec<String>>()
    };
    assert!(tried("link.line.loss=0..1").iter().any(|value| value.contains('.')));
    let whole = tried("port.a:b.ring=1..64");
    assert!(whole.iter().all(|value| !value.contains('.')), "{whole:?}");
}

/// A front has no winner: its knee and every point are given with their command.
#[test]
fn a_search_with_two_goals_names_the_knee_of_the_front_and_no_winner() {
    let folder = folder();
    let arguments = [
        "tune",
        "line.toml",
        "--vary",
        "link.line.rate=900kbit..2mbit",
        "--vary",
        "flow.one.gap.mean=4ms..8ms",
        "--goal",
        "min flow.one.owd.p99",
        "--goal",
        "max flow.one.goodput",
        "--runs",
        "40",
    ];
    let found = lockgate(folder.path(), &[&arguments[..], &["--json", "-"]].concat());
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).expect("JSON");
    assert!(found["winner"].is_null() && found["knee"].is_u64(), "{}", found["knee"]);
    let front = found["judged_front"].as_array().expect("a front").len();
    assert!(front >= 2 && found["confirmed"].as_array().is_some_and(|seeds| seeds.len() == 8));
    let shown = stdout(&lockgate(folder.path(), &arguments));
    assert!(!shown.contains("winner") && shown.contains("The knee of the front"), "{shown}");
    // The other points of the front are in the table.
    assert_eq!(shown.matches("lockgate run line.toml --set").count(), 1, "{shown}");
}

/// The bounds of a constraint and of the file's expectations are lines in the figures of their metrics, once
/// each; across for the metric of the vertical axis, upright for that of the horizontal one.
#[test]
fn the_figures_of_a_search_have_the_bounds_of_the_file() {
    let folder = folder();
    let arguments = [
        "tune",
        "line.toml",
        "--vary",
        "link.line.rate=900kbit..2mbit",
        "--goal",
        "min flow.one.owd.p99",
        "--goal",
        "max flow.one.goodput",
        "--subject-to",
        "flow.one.goodput >= 600kbit",
        "--subject-to",
        "flow.one.owd.p99 <= 10s",
        "--runs",
        "12",
        "--out",
        "found",
    ];
    let output = lockgate(folder.path(), &arguments);
    assert!(output.status.code().is_some_and(|code| code == 0 || code == 3));
    let report = page::report_data(&folder.path().join("found/report.html"));
    let figures = report["figures"].as_array().expect("figures");
    let bounds = |id: &str| {
        let figure = figures.iter().find(|figure| figure["id"] == id).expect(id);
        let series = figure["series"].as_array().expect("series").iter();
        let lines = series.filter(|series| series["mode"] == "theory").map(|series| {
            let bound = &series["bound"];
            let ends = |axis: &str| (series[axis][0].as_f64(), series[axis][1].as_f64());
            let upright = ends("x").0 == ends("x").1;
            let (value, other) = if upright { (ends("x"), ends("y")) } else { (ends("y"), ends("x")) };
            assert!(value.0 == value.1 && other.0 < other.1, "{series}");
            assert_eq!((&bound["is_of_x"], bound["value"].as_f64()), (&upright.into(), value.0), "{series}");
            let name = series["name"].as_str().unwrap_or_default();
            assert_eq!(bound["is_lower"], name.ends_with("at least"), "{series}");
            (series["name"].as_str().unwrap_or_default().to_owned(), upright, value.0.unwrap_or(0.0))
        });
        lines.collect::<Vec<_>>()
    };
    let [most, least] = [("constraint: at most", 10.0), ("constraint: at least", 6e5)];
    let line = |(name, value): (&str, f64), upright: bool| (name.to_owned(), upright, value);
    assert_eq!(bounds("goal-1"), [line(most, false), line(least, true)]);
    assert_eq!(bounds("variable-0"), [line(most, false)], "the constraint and the expectation are one line");
    assert_eq!(bounds("constraint-0-0"), [line(least, false)]);
    // A metric that is goal and constraint is drawn once, and has one column.
    assert!(figures.iter().all(|figure| figure["id"] != "goal-2" && figure["id"] != "constraint-1-0"));
    for table in report["comparisons"].as_array().expect("tables") {
        let columns: Vec<&str> =
            table["columns"].as_array().into_iter().flatten().filter_map(|column| column.as_str()).collect();
        let unique: BTreeSet<&str> = columns.iter().copied().collect();
        assert_eq!(unique.len(), columns.len(), "{columns:?}");
    }
    let headline = report["verdict"][0].as_str().unwrap_or_default();
    assert_eq!(headline.matches("one delay p99").count(), 1, "{headline}");
}

/// The seeds of repetitions follow `--seed`, and do not begin again at 0; runs at the same time are limited.
#[test]
fn repetitions_have_seeds_of_their_own() {
    let folder = folder();
    let run = |more: &[&str]| lockgate(folder.path(), &[&["run", "line.toml", "--json"], more].concat());
    let last = run(&["--seed", "18446744073709551613", "--repeat", "3", "--jobs", "1"]);
    assert!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));
    let beyond = run(&["--seed", "18446744073709551615", "--repeat", "3"]);
    let said = String::from_utf8_lossy(&beyond.stderr).into_owned();
    assert!(
        beyond.status.code() == Some(2) && said.contains("there are no 3 seeds from 18446744073709551615"),
        "{said}"
    );
    let one = |jobs: &str| run(&["--repeat", "4", "--jobs", jobs]).stdout;
    assert!(!one("1").is_empty() && one("1") == one("3"), "the number of threads does not matter");
}
