//! `lockgate prove` and `lockgate attack`, on the scenario of their guide.

mod command;

use std::path::Path;
use std::process::{Command, Output};

use command::both as text;
use serde_json::Value;

fn lockgate(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1").env("COLUMNS", "200");
    command.output().expect("lockgate runs")
}

/// Returns a folder with the guide's `call.toml`.
fn folder() -> tempfile::TempDir {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/prove.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let (_, scenario) = guide.split_once("```toml\n").expect("a scenario");
    let (scenario, _) = scenario.split_once("```").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("call.toml"), scenario).expect("written");
    folder
}

#[test]
fn a_derivation_names_its_theorems_and_a_missing_bound_its_reason() {
    let folder = folder();
    let said = text(&lockgate(folder.path(), &["prove", "call.toml"]));
    // 1542 bytes of a segment with all its options and 214 of the call at 10 Mbit/s, and 5 ms.
    for part in [
        "flow call: at most 6.4",
        "strict priority",
        "Deterministic Network Calculus",
        "no bound: tcp",
        "buffers",
    ] {
        assert!(said.contains(part), "{part}:\n{said}");
    }
    let document = lockgate(folder.path(), &["prove", "call.toml", "--json"]);
    let document: Value = serde_json::from_slice(&document.stdout).expect("JSON");
    let bound = document["flows"]["call"]["owd_bound_s"].as_f64().expect("a bound");
    assert!((bound - 0.006_404_8).abs() < 1e-8, "{bound}");
    assert_eq!(document["flows"]["upload"]["no_bound"], "tcp");
    let wrong = lockgate(folder.path(), &["prove", "call.toml", "--flow", "cal"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong).contains("did you mean `call`?"), "{}", text(&wrong));
}

#[test]
fn a_proven_expectation_fails_a_run_that_measures_less() {
    let folder = folder();
    let of = |limit: &str, proven: &str| {
        let text = std::fs::read_to_string(folder.path().join("call.toml")).expect("the scenario");
        let text = text.replace("at_most = \"7ms\"", &format!("at_most = \"{limit}\"\n{proven}"));
        std::fs::write(folder.path().join("mine.toml"), text).expect("written");
        lockgate(folder.path(), &["test", "mine.toml", "--set", "duration=2s"])
    };
    assert_eq!(of("6.41ms", "proven = true").status.code(), Some(0));
    let missed = of("6.40ms", "proven = true");
    assert_eq!(missed.status.code(), Some(3), "{}", text(&missed));
    let wrong = text(&of("7ms", "proven = 1"));
    assert!(wrong.contains("`proven` is `true` or `false`"), "{wrong}");
    // A rate is not proven.
    let wrong =
        text(&of("7ms", "proven = true\n[[expect]]\nthat = \"flow.call.loss\"\nbelow = 0.1\nproven = true"));
    assert!(wrong.contains("only delays of flows are proven"), "{wrong}");
}

#[test]
fn an_attack_is_the_same_on_any_number_of_threads_and_its_scenario_repeats_it() {
    let folder = folder();
    let attack = |threads: &str, out: &str| {
        let arguments = [
            "attack",
            "call.toml",
            "--that",
            "flow.call.owd.max",
            "--budget",
            "40",
            "--random",
            "--threads",
            threads,
            "--out",
            out,
        ];
        let said = lockgate(folder.path(), &arguments);
        assert_eq!(said.status.code(), Some(0), "{}", text(&said));
        String::from_utf8(said.stdout).expect("text")
    };
    let one = attack("1", "one");
    let two = attack("2", "two");
    let without_time = |said: &str| -> Vec<String> {
        said.lines()
            .filter(|line| !line.contains("effort") && !line.contains("found traffic"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(without_time(&one), without_time(&two));
    for part in ["worst found: 6.3", "random search", "[worst found, proven]"] {
        assert!(one.contains(part), "{part}:\n{one}");
    }
    for file in ["attack.toml", "call.pcap"] {
        let read = |folder_of: &str| std::fs::read(folder.path().join(folder_of).join(file)).expect(file);
        assert_eq!(read("one"), read("two"), "{file}");
    }
    // The scenario repeats it, and its bound is that of the first: it states the envelope.
    let text = std::fs::read_to_string(folder.path().join("one/attack.toml")).expect("the scenario");
    assert!(text.contains("replay") && text.contains("envelope"), "{text}");
    let expected =
        one.lines().find_map(|line| line.strip_prefix("worst found: ")).expect("a value").to_owned();
    let ran = lockgate(folder.path(), &["run", "one/attack.toml", "--out", "ran"]);
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&ran.stderr));
    let summary = std::fs::read(folder.path().join("ran/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_slice(&summary).expect("JSON");
    let call = &summary["flows"]["call"];
    let most = call["owd_s"]["max"].as_f64().expect("a delay");
    assert_eq!(lockgate::figures::seconds(Some(most)), expected);
    assert!(most <= call["owd_bound_s"].as_f64().expect("a bound"));
}

/// Attacks in `tests/attacks`: a scenario, further arguments, and the value that is reached.
const ATTACKS: [(&str, &[&str], &str); 6] = [
    ("strict-priority", &[], "worst found: 0 bit/s"),
    ("sfq-bucket", &["--flows", "1"], "worst found: 101 ms"),
    ("codel-interval", &[], "worst found: 95.9 ms"),
    ("htb-quantum", &[], "worst found: 4.00 Mbit/s"),
    ("low-rate-tcp", &[], "worst found: 3.9"),
    ("fifo-ring", &[], "worst found: 3"),
];

#[test]
fn the_known_tricks_are_found() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attacks");
    for (name, arguments, expected) in ATTACKS {
        let file = format!("{name}.toml");
        let all = [&["attack", &file, "--budget", "43"], arguments].concat();
        let output = lockgate(&folder, &all);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output));
        assert!(text(&output).contains(expected), "{name}: {}", text(&output));
    }
}

#[test]
fn a_test_fails_by_what_an_attack_breaks_and_says_the_effort_of_the_rest() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attacks");
    let found = tempfile::tempdir().expect("a folder");
    let (out, junit) = (found.path().join("out"), found.path().join("junit.xml"));
    let [out, junit] = [&out, &junit].map(|path| path.to_str().expect("text").to_owned());
    let file = "strict-priority.toml";
    // Its own traffic keeps it.
    assert_eq!(lockgate(&folder, &["test", file]).status.code(), Some(0));
    let attacked = |more: &[&str]| {
        let all = [&["test", file, "--attack", "11", "--attack-out", &out, "--junit", &junit], more].concat();
        let output = lockgate(&folder, &all);
        (output.status.code(), text(&output))
    };
    let (code, said) = attacked(&["--github"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("broken by traffic within the envelopes: flow.low.throughput is 0 bit/s"),
        "{said}"
    );
    assert!(said.contains("::error file=strict-priority.toml,line="), "{said}");
    let junit = std::fs::read_to_string(&junit).expect("a document");
    assert!(junit.contains("tests=\"2\" failures=\"1\""), "{junit}");
    assert!(junit.contains("name=\"attack on flow.low.throughput\""), "{junit}");
    // The scenario that was written misses it.
    let written = format!("{out}/strict-priority-1/attack.toml");
    assert_eq!(lockgate(&folder, &["test", &written]).status.code(), Some(3));
    let (code, said) = attacked(&["--set", "flow.high.envelope.rate=5mbit"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no traffic was found that breaks it"), "{said}");
    let document = lockgate(&folder, &["test", file, "--attack", "11", "--json"]);
    let document: Value = serde_json::from_slice(&document.stdout).expect("JSON");
    assert_eq!(document["files"][0]["attacks"][0]["is_broken"], true, "{document}");
    assert_eq!(lockgate(&folder, &["test", file, "--attack", "soon"]).status.code(), Some(2));
}
