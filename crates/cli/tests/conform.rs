//! `lockgate conform`: tables, documents, a report, and the right exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn conform(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .arg("conform")
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("lockgate runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn a_discipline_is_held_against_its_theorems() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = conform(&["rr", "--trials", "2"], folder.path());
    assert_eq!(output.status.code(), Some(0));
    let shown = stdout(&output);
    for words in [
        "O7 packet-rounds",
        "|N_i/w_i - N_j/w_j| <= 1",
        "bound",
        "tolerance",
        "(from 0.9)",
        "✓ holds",
        "O1 busy-periods",
    ] {
        assert!(shown.contains(words), "`{words}` is not in\n{shown}");
    }
    assert!(output.stderr.is_empty(), "progress is for terminals");
    let output = conform(&["rr", "--trials", "2", "--seed", "9", "--json", "--out", "found"], folder.path());
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&document["schema"], &document["seed"], &document["holds"]),
        (&2.into(), &9.into(), &true.into())
    );
    let rows = document["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["kind"] == "rr"));
    // Only a proven bound, not a tolerance, has the value from which traffic counts as testing it.
    let findings: Vec<&Value> =
        rows.iter().flat_map(|row| row["findings"].as_array().expect("findings")).collect();
    let fair = findings.iter().find(|finding| finding["what"] == "difference of two children's packets");
    let fair = fair.expect("of round robin");
    assert_eq!(
        (&fair["bound"], &fair["tolerance"], &fair["sharp_from"]),
        (&1.0.into(), &Value::Null, &0.9.into())
    );
    assert!(findings.iter().all(|finding| finding["bound"].is_null() == finding["sharp_from"].is_null()));
    assert!(findings.iter().all(|finding| finding["comparisons"].as_u64() > Some(0)));
    for file in ["report.html", "conformance.json", "manifest.json"] {
        assert!(folder.path().join("found").join(file).is_file(), "{file}");
    }
    let again = conform(&["rr", "--trials", "2", "--seed", "9", "--json"], folder.path());
    assert_eq!(again.stdout, output.stdout, "the same seed gives the same bytes");
}

/// Returns the reference of one FIFO run by an emulated kernel, received at this rate in bit/s.
fn reference(rate: u32) -> String {
    format!(
        r#"{{ "experiments": [
    {{ "id": "one", "duration_s": 4.0,
       "commands": ["link sl0: a device, rate 8000000 bit/s", "tc qdisc add dev sl0 root handle 10: pfifo limit 10"],
       "flows": {{ "f": {{ "type": "udp", "dport": 9000, "l2_bytes": 1000, "offered_bps": 16000000.0,
           "process": "cbr", "start_s": 0.0, "stop_s": 4.0 }} }},
       "results": {{ "udp": {{ "f": {{ "window_s": [2.0, 4.0], "recv_rate_bps": {rate}, "loss_ratio_window": 0.5,
           "delay_us": {{ "mean": 10750.0, "min": 10507.0, "max": 11007.0 }} }} }} }} }},
    {{ "id": "other", "duration_s": 4.0, "commands": ["tc qdisc add dev r1 root teql"], "flows": {{}},
       "results": {{}} }} ] }}"#
    )
}

#[test]
fn the_simulator_is_held_against_a_kernel() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |text: &str, more: &[&str]| {
        fs::write(folder.path().join("kernel.json"), text).expect("written");
        conform(&[&["--against", "kernel.json"], more].concat(), folder.path())
    };
    let good = reference(8_000_000);
    let output = run(&good, &["--allow-missing"]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for words in [
        "8.00 Mbit/s",
        "mean delay",
        "not run: `tc qdisc add dev r1 root teql`: kind `teql` is not known yet",
        "✓ 3 of 3 quantities of 1 run hold; 1 run not made, which is allowed",
    ] {
        assert!(shown.contains(words), "`{words}` is not in\n{shown}");
    }
    // A run of the reference that was not made does not hold.
    let output = run(&good, &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("✗ 3 of 3 quantities of 1 run hold; 1 run not made: `--allow-missing`"));
    let document: Value = serde_json::from_slice(&run(&good, &["--json"]).stdout).expect("JSON");
    assert_eq!(
        (&document["held"], &document["not_run"], &document["holds"]),
        (&3.into(), &1.into(), &false.into())
    );
    let slow = reference(7_900_000);
    let output = run(&slow, &["--allow-missing"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("✗ differs"));
    // A Poisson flow of 1000 packets in the window: 5 % may be its scatter, which does not fail.
    let drawn = good.replace("\"cbr\"", "\"poisson\"").replace("16000000.0", "4000000.0");
    let drawn = drawn.replace("8000000, \"loss_ratio_window\": 0.5", "4200000, \"loss_ratio_window\": 0.0");
    let drawn = drawn.replace("\"delay_us\"", "\"no_delay\"");
    let output = run(&drawn, &["--allow-missing"]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for words in ["? not decidable", "✓ 1 of 2 quantities of 1 run hold; 1 are not decidable"] {
        assert!(shown.contains(words), "`{words}` is not in\n{shown}");
    }
    let document: Value =
        serde_json::from_slice(&run(&drawn, &["--allow-missing", "--json"]).stdout).expect("JSON");
    assert_eq!(
        (&document["not_decidable"], &document["differing"], &document["holds"]),
        (&1.into(), &0.into(), &true.into())
    );
    assert_eq!(document["runs"][0]["lines"][0]["verdict"], "not_decidable");
    // A known difference is printed and does not fail.
    let known = slow.replacen(
        "\"results\"",
        r#""known": [{ "flow": "f", "quantity": "received", "off_by": 0.02, "why": "a slow link" }], "results""#,
        1,
    );
    let output = run(&known, &["--allow-missing"]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for words in ["~ known", "known: f received: a slow link", "✓ 2 of 3 quantities", "1 are off as is known"]
    {
        assert!(shown.contains(words), "`{words}` is not in\n{shown}");
    }
}

#[test]
fn wrong_usage_is_said_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("text"), "no JSON").expect("written");
    fs::write(folder.path().join("list"), "[1]").expect("written");
    for (arguments, words) in [
        (&["nope"][..], "there is no discipline called `nope`"),
        (&["--trials", "0"], "--trials"),
        (&["--seed", "-1"], "-1"),
        (&["--against", "missing"], "there is no such file"),
        (&["--against", "text"], "not JSON"),
        (&["--against", "list", "--out", "o"], "experiments"),
        (&["rr", "--against", "text"], "cannot be used with"),
        (&["--allow-missing"], "--against"),
        (&["rr", "--out", "text"], "it is a file"),
    ] {
        let output = conform(arguments, folder.path());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(words), "`{words}` is not in {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "nothing is left");
}
