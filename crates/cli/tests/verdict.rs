//! The verdict of a run: judged by all seeds, in one line, without control characters for the terminal.

mod command;
mod page;

use std::fs;

use command::{lockgate, text};
use serde_json::Value;
use tempfile::TempDir;

/// Returns a folder with this scenario as `s.toml`.
fn folder(scenario: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("s.toml"), scenario).expect("written");
    folder
}

/// Poisson arrivals at four fifths of a link: every seed has other delays.
const DRAWN: &str = r#"duration = "5s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "1mbit" }
[flow.load]
from = "a"
to = "b"
size = "1000B"
gap = { distribution = "exponential", mean = "10ms" }
[[expect]]
that = "flow.load.owd.mean"
below = "1s"
"#;

/// Two transfers that share a link: no random draw, so all seeds are equal. Timers are exact, because the
/// phase of ticks would be drawn.
const FIXED: &str = r#"duration = "5s"
node.a = { clock.tick = "0s" }
node.b = { clock.tick = "0s" }
link.line = { between = ["a", "b"], rate = "5mbit", delay = "5ms" }
[flow.bulk]
from = "a"
to = "b"
count = 2
transport = "tcp"
bytes = "unlimited"
"#;

#[test]
fn expectations_are_judged_by_all_seeds() {
    let folder = folder(DRAWN);
    let run = |bound: f64, criterion: &str| {
        let (below, criterion) = (format!("expect.0.below={bound:.9}s"), format!("expect.0.in={criterion}"));
        let output = lockgate(
            folder.path(),
            &["run", "s.toml", "--repeat", "8", "--json", "--set", &below, "--set", &criterion],
        );
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
        (output.status.code(), document)
    };
    let (code, first) = run(1.0, "95%");
    assert_eq!(code, Some(0));
    let expect = &first["expect"][0];
    let values: Vec<f64> =
        expect["values"].as_array().expect("values").iter().filter_map(Value::as_f64).collect();
    assert_eq!((values.len(), expect["held"].as_u64()), (8, Some(8)));
    assert_eq!(first["intervals"]["flow.load.owd.mean"]["values"], expect["values"]);
    assert_eq!(first["metrics"]["flow.load.owd.mean"].as_f64(), Some(values[0]), "of the first run");
    let number = |key: &str| expect[key].as_f64().expect(key);
    let (mean, half) = (number("value"), number("half_width"));
    assert!((mean - values.iter().sum::<f64>() / 8.0).abs() < 1e-12 && half > 0.0);
    // A bound above the mean and within its interval, and one above that but below the worst run.
    let worst = values.iter().copied().fold(0.0, f64::max);
    assert!(mean + half < worst, "these seeds tell the criteria apart: {values:?}");
    for (bound, criterion, code) in [
        (mean + half / 2.0, "95%", 3),
        (mean + half / 2.0, "mean", 0),
        (f64::midpoint(mean + half, worst), "95%", 0),
        (f64::midpoint(mean + half, worst), "all", 3),
        (worst * 1.01, "all", 0),
    ] {
        let (ended, document) = run(bound, criterion);
        let expect = &document["expect"][0];
        assert_eq!(ended, Some(code), "{criterion} below {bound}: {expect}");
        assert_eq!(expect["holds"].as_bool(), Some(code == 0));
        assert_eq!(expect["in"].as_str(), Some(criterion));
        let held = values.iter().filter(|value| **value < bound).count() as u64;
        assert_eq!(expect["held"].as_u64(), Some(held));
    }
}

#[test]
fn the_verdict_is_the_last_thing_told() {
    let folder =
        folder(&DRAWN.replace("below = \"1s\"", "below = \"15ms\"\nname = \"it stays short\"\nin = \"all\""));
    let run = |more: &[&str]| {
        let output =
            lockgate(folder.path(), &[&["run", "s.toml", "--repeat", "4", "--out", "out"], more].concat());
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let told = run(&["--tables"]);
    let last: Vec<&str> = told.trim_end().lines().rev().take(3).collect();
    assert_eq!(last[0], "report: out/report.html");
    assert!(last[1].starts_with("Longest wait: ") && last[1].contains("the fifo at a:b"), "{}", last[1]);
    assert!(
        last[2].starts_with("✗ the expectation is missed: it stays short: flow.load.owd.mean is "),
        "{}",
        last[2]
    );
    assert!(
        last[2].contains(" ± ") && last[2].ends_with(", expected below 15.0 ms, held by 0 of 4"),
        "{}",
        last[2]
    );
    let quiet = run(&["--quiet"]);
    assert_eq!(quiet.lines().collect::<Vec<_>>(), [last[2]], "the verdict alone");
    let told = run(&[]);
    let digest: Vec<&str> = told.trim_end().lines().rev().take(3).collect();
    assert_eq!(digest[0], "✗ 1 of 1 missed   report: out/report.html  (--tables for all)");
    assert!(digest[1].starts_with("✗ it stays short  ") && digest[1].contains(" ± "), "{told}");
    assert!(digest[1].contains(" ms  below 15 ms  0 of 4  ▮▮▮▮▮▮  the interval's end "), "{told}");
    assert!(digest[1].ends_with(" % above"), "{told}");
    assert_eq!(digest[2], last[1], "the main finding");
    let summary: Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/summary.json")).expect("results"))
            .expect("JSON");
    assert_eq!(summary["expect"][0]["line"].as_u64(), Some(10));
    assert_eq!(summary["expect"][0]["name"].as_str(), Some("it stays short"));
}

/// Two flows of short packets and one of long ones, alone on the link one after the other.
const LENGTHS: &str = r#"duration = "1s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "1mbit" }
flow.short = { from = "a", to = "b", size = "100B", gap = "100ms" }
flow.middle = { from = "a", to = "b", size = "200B", gap = "100ms", start = "30ms" }
flow.long = { from = "a", to = "b", size = "1000B", gap = "100ms", start = "60ms" }
[[expect]]
that = "flow.*.owd.max"
below = "2ms"
held_by = "60%"
name = "most are fast"
"#;

/// The value that decides is that of one flow; the verdict says how many keep the bound.
#[test]
fn an_expectation_on_several_flows_says_how_many_keep_it() {
    for (held_by, code, shown, sentence) in [
        (
            "60%",
            0,
            "✓ most are fast 2 of 3 (66.7 %) keep it below 2 ms, for 60 % ▮▮▮▮▮▯",
            "most are fast: flow.*.owd.max: 2 of 3 (66.7 %) keep it, expected below 2.00 ms, for 60.0 %",
        ),
        (
            "100%",
            3,
            "✗ most are fast 2 of 3 (66.7 %) keep it; 8.00 ms decides below 2 ms, for all ▮▮▮▮▮▮",
            "most are fast: flow.*.owd.max: 2 of 3 (66.7 %) keep it; 8.00 ms decides, expected below 2.00 ms, for all",
        ),
    ] {
        let folder = folder(&LENGTHS.replace("60%", held_by));
        let output = lockgate(folder.path(), &["run", "s.toml", "--out", "out"]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        let told = text(&output.stdout);
        let mut rows = told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        assert!(rows.any(|row| row == shown), "{told}");
        let quiet = text(&lockgate(folder.path(), &["run", "s.toml", "--out", "out", "-q"]).stdout);
        assert!(quiet.trim_end().ends_with(sentence), "{quiet}");
        let summary = fs::read(folder.path().join("out/summary.json")).expect("results");
        let summary: Value = serde_json::from_slice(&summary).expect("JSON");
        let wanted = if code == 0 { 0.6 } else { 1.0 };
        let members = serde_json::json!({ "held": 2, "of": 3, "wanted_ratio": wanted });
        assert_eq!(summary["expect"][0]["members"], members);
    }
}

/// The first picture of a large network beside its delay over time is of what the verdict is about, with its
/// bound; so is the card, which draws no delay that no expectation judges.
#[test]
fn the_pictures_of_a_group_answer_its_verdict() {
    let judged = "[[expect]]\nthat = \"flow.bulk/*.loss\"\nat_most = \"1%\"\n";
    let folder = folder(&format!("{}{judged}", FIXED.replace("count = 2", "count = 12")));
    lockgate(folder.path(), &["run", "s.toml", "--out", "out", "--card", "card.svg"]);
    let report = page::report_data(&folder.path().join("out/report.html"));
    let figures = report["figures"].as_array().expect("figures");
    let ids: Vec<&str> = figures.iter().filter_map(|figure| figure["id"].as_str()).collect();
    assert_eq!(ids[1..3], ["members-loss", "members"], "{ids:?}");
    let bounds: Vec<&Value> =
        figures[1]["series"].as_array().into_iter().flatten().filter_map(|one| one.get("bound")).collect();
    assert_eq!(bounds, [&serde_json::json!({ "is_of_x": true, "is_lower": false, "value": 0.01 })]);
    let card = fs::read_to_string(folder.path().join("card.svg")).expect("a card");
    assert!(card.contains("at most 1 %") && !card.contains("delay of"), "{card}");
}

/// A bound on a part of the run is not one on all of it, and the curve of several runs is that of one.
#[test]
fn the_card_draws_the_missed_bound_over_its_part_of_the_run() {
    let missed = "[[expect]]\nthat = \"flow.load.owd.p99 @ 1s..3s\"\nbelow = \"12ms\"\n";
    let folder = folder(&format!("{DRAWN}{missed}"));
    let card = |more: &[&str]| {
        let run = ["run", "s.toml", "--out", "out", "--card", "card.svg"];
        lockgate(folder.path(), &[&run[..], more].concat());
        fs::read_to_string(folder.path().join("card.svg")).expect("a card")
    };
    let one = card(&[]);
    // A fifth of the run is 208 pixels.
    let bound = one.split("M318.0 ").nth(1).unwrap_or_else(|| panic!("no bound from 1 s on: {one}"));
    assert!(bound.split('"').next().is_some_and(|path| path.ends_with("H734.0")), "{bound}");
    assert!(one.contains("bound 12 ms") && one.contains("p99 of each interval<"), "{one}");
    assert!(card(&["--repeat", "2"]).contains("p99 of each interval, seed 1<"));
}

#[test]
fn runs_that_are_all_the_same_are_said_to_be() {
    let folder = folder(FIXED);
    let run = |more: &[&str]| {
        text(
            &lockgate(folder.path(), &[&["run", "s.toml", "--repeat", "3", "--tables"], more].concat())
                .stdout,
        )
    };
    let same = run(&[]);
    assert!(same.contains("all 3 runs are the same: nothing in this file is drawn"), "{same}");
    assert!(!same.contains('±'), "{same}");
    let drawn = run(&["--set", "flow.bulk.start={ distribution = \"uniform\", min = \"0s\", max = \"1s\" }"]);
    assert!(!drawn.contains("are the same") && drawn.contains('±'), "{drawn}");
}

#[test]
fn long_tables_are_cut_to_the_worst() {
    let folder = folder(&FIXED.replace("count = 2", "count = 60"));
    let told = text(&lockgate(folder.path(), &["run", "s.toml", "--tables"]).stdout);
    assert!(told.lines().count() < 60, "{told}");
    assert!(told.contains("flows: the worst 10 of 120 (summary.json has each)"), "{told}");
    let group: Vec<&str> = told.lines().filter(|line| line.starts_with("bulk  ")).collect();
    assert!(group.len() == 1 && group[0].contains("60"), "{told}");
    assert!(told.contains("Jain index"));
}

#[test]
fn nothing_of_a_scenario_is_obeyed_by_the_terminal() {
    let title = DRAWN.replace("duration = \"5s\"", "title = \"\\u001b]0;taken\\u0007\"\nduration = \"5s\"");
    let ran = lockgate(folder(&title).path(), &["run", "s.toml"]);
    let refused = DRAWN.replace("node.a", "node.\"\\u001b[2J\" = {}\nnode.a");
    let checked = lockgate(folder(&refused).path(), &["check", "s.toml"]);
    let set = lockgate(folder(DRAWN).path(), &["run", "s.toml", "--set", "link.\u{1b}[2J=1"]);
    for (what, output, code) in [("a title", ran, 0), ("a name", checked, 2), ("a setting", set, 2)] {
        assert_eq!(output.status.code(), Some(code), "{what}: {}", text(&output.stderr));
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(all.contains("\\u{1b}"), "{what}: {all:?}");
        assert!(!all.contains(|letter: char| letter.is_control() && letter != '\n'), "{what}: {all:?}");
    }
}

#[test]
fn a_file_that_is_not_named_and_a_path_that_is_cut_off_say_what_to_do() {
    let folder = folder(DRAWN);
    // Neither other programs' files nor policies are scenarios.
    for (name, other) in
        [("Cargo.toml", "[package]\nname = \"x\"\n"), ("house.toml", "[router]\nmode = \"egress\"\n")]
    {
        fs::write(folder.path().join(name), other).expect("written");
    }
    for arguments in [&["run"][..], &["run", "t.toml"]] {
        let output = lockgate(folder.path(), arguments);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("here are s.toml;") && errors.contains("`lockgate demo`"), "{errors}");
    }
    // The remains of `--set port.a->b.root=x` after a shell has taken `>` as a redirection.
    let output = lockgate(folder.path(), &["run", "s.toml", "--set", "port.a-"]);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors.contains("redirection") && errors.contains("port.home:server.root=fair"), "{errors}");
}
