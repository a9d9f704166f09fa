//! Every scenario of the repository is valid, runs, and yields the same bytes again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn lockgate(arguments: &[&str], threads: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(arguments)
        .current_dir(repository())
        .env("RAYON_NUM_THREADS", threads)
        .output()
        .expect("lockgate runs")
}

fn scenarios() -> Vec<String> {
    let mut found = Vec::new();
    let papers =
        fs::read_dir(repository().join("papers")).expect("papers").flatten().map(|paper| paper.path());
    let own = ["scenarios", "scenarios/twin", "scenarios/ccwg"].map(|folder| repository().join(folder));
    for folder in own.into_iter().chain(papers) {
        for file in fs::read_dir(folder).expect("a folder").flatten() {
            let path = file.path();
            if path.extension().is_some_and(|ending| ending == "toml") && !path.ends_with("claims.toml") {
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    assert!(found.len() >= 13, "{found:?}");
    found
}

/// Parses the output of `--json`.
fn results(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn every_scenario_runs_and_gives_the_same_bytes_on_any_number_of_threads() {
    let directory = tempfile::tempdir().expect("a directory");
    for scenario in scenarios() {
        let out = directory.path().join("run");
        let run = |threads: &str| {
            // The experiments of papers are long: two runs of each.
            let repeat = if scenario.contains("papers") { "2" } else { "3" };
            let arguments =
                ["run", &scenario, "--json", "--quiet", "--repeat", repeat, "--seed", "7", "--out"];
            let smaller: &[&str] = if scenario.ends_with("isp.toml") {
                &["--set", "node.sub.count=200", "--set", "record.detail=groups"]
            } else {
                &[]
            };
            let directory = [out.to_str().expect("UTF-8")];
            let output = lockgate(&[&arguments[..], &directory, smaller].concat(), threads);
            let code = output.status.code();
            assert!(
                matches!(code, Some(0 | 3)),
                "{scenario}: {code:?} {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let file = |name: &str| {
                fs::read(out.join(name)).unwrap_or_else(|error| panic!("{scenario}, {name}: {error}"))
            };
            let files = ["summary.json", "events.ndjson", "scenario.toml"].map(file);
            assert_eq!(files[0], output.stdout, "what is printed is what is written");
            files
        };
        let (one, again) = (run("1"), run("4"));
        assert!(one == again, "{scenario} differs from run to run");
        assert!(out.join("report.html").is_file(), "{scenario} left no report");
        let manifest: serde_json::Value =
            serde_json::from_slice(&fs::read(out.join("manifest.json")).expect("a manifest")).expect("JSON");
        let cost = manifest["cost"].as_array().expect("what each run took");
        assert!(cost.len() >= 2 && cost.iter().all(|run| run["wall_s"].is_f64() && run["cpu_s"].is_f64()));
    }
}

#[test]
fn priorities_sort_packets_that_no_rule_names() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run").display().to_string();
    let run = |more: &[&str]| {
        let arguments = ["run", "scenarios/classes-of-service.toml", "--quiet", "--out", &out];
        lockgate(&[&arguments[..], more].concat(), "1").status.code()
    };
    assert_eq!(run(&[]), Some(0), "every expectation holds");
    let none = "port.switch->store.queue.classes.priomap=[]";
    assert_eq!(run(&["--set", none]), Some(3), "without the map the first band takes all");
}

#[test]
fn voice_waits_in_one_queue_and_not_with_priority() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run").display().to_string();
    let file = "scenarios/voice-beside-bulk.toml";
    let fifo = lockgate(&["run", file, "--out", &out, "--json"], "1");
    assert_eq!(fifo.status.code(), Some(3), "the expectations are missed under FIFO");
    let priority =
        lockgate(&["run", file, "--out", &out, "--json", "--set", "port.home->server.root=priority"], "1");
    assert_eq!(priority.status.code(), Some(0), "and hold with priority");
    let flows =
        lockgate(&["run", file, "--out", &out, "--json", "--set", "port.home->server.root=flow-queues"], "1");
    assert_eq!(flows.status.code(), Some(0), "and with flow queues");
    // Adding the capture and the rows changes no result, and leaves them.
    let kept = lockgate(
        &[
            "run",
            file,
            "--out",
            &out,
            "--json",
            "--set",
            "port.home->server.root=priority",
            "--packets",
            "--capture",
        ],
        "1",
    );
    assert_eq!(results(&kept), results(&priority));
    let capture = fs::read(Path::new(&out).join("ports.pcapng")).expect("a capture");
    let replayed = lockgate_traffic::Replay::read(&capture).expect("our own capture is read back");
    let summary = results(&priority);
    let hops = summary["engine"]["packet_hops"].as_u64().expect("a number");
    assert!(replayed.packets.len() as u64 >= hops, "one packet a hop, and the dropped ones");
    let rows = fs::read(Path::new(&out).join("packets.parquet")).expect("rows");
    assert_eq!(&rows[..4], b"PAR1");
}

/// A call with 252 bytes of UDP payload every 30 ms instead of the scenario's.
#[test]
fn a_captured_call_is_replayed() {
    let call = repository().join("crates/traffic/tests/captures/call.pcap");
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run").display().to_string();
    let replay = format!("flow.voice.replay={{ file = \"{}\", repeat = true }}", call.display());
    let run = |more: &[&str]| {
        let mut arguments = vec!["run", "scenarios/voice-beside-bulk.toml", "--out", &out, "--json"];
        arguments.extend(["--set", &replay, "--set", "flow.voice.profile="]);
        arguments.extend(more);
        lockgate(&arguments, "1")
    };
    assert_eq!(run(&[]).status.code(), Some(3));
    let priority = run(&["--set", "port.home->server.root=priority"]);
    assert_eq!(priority.status.code(), Some(0));
    let voice = &results(&priority)["flows"]["voice"];
    let (packets, bytes) = (voice["sent_packets"].as_u64(), voice["sent_bytes"].as_u64());
    assert_eq!(bytes, packets.map(|packets| packets * (252 + 42)));
    assert!(packets.is_some_and(|packets| (1800..1850).contains(&packets)), "55 s of 30 ms: {packets:?}");
}

#[test]
fn the_demo_tells_its_story_in_three_lines() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("demo").display().to_string();
    let demo = lockgate(&["demo", "--sim", "--out", &out], "1");
    assert_eq!(demo.status.code(), Some(0));
    let text = String::from_utf8_lossy(&demo.stdout);
    let lines: Vec<&str> = text.trim_end().lines().rev().take(4).collect();
    assert!(lines[0].starts_with("report: "), "{text}");
    assert!(lines[1].contains("times less"), "{text}");
    assert!(lines[2].contains(" 0 lost by it"), "{text}");
    assert!(lines[3].contains("FIFO"), "{text}");
    let is_narrow = |line: &&str| line.starts_with("report: ") || line.chars().count() <= 80;
    assert!(text.lines().collect::<Vec<_>>().iter().all(is_narrow), "80 columns: {text}");
}

/// Each change is told with and without it; with `--no-ghost` before and after, and no other run is made.
#[test]
fn no_ghost_makes_no_other_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run").display().to_string();
    let run = |more: &[&str]| {
        let arguments = ["run", "scenarios/cellular.toml", "--json", "--out", &out];
        let output = lockgate(&[&arguments[..], more].concat(), "1");
        results(&output)
    };
    let with = run(&[]);
    let headline = with["verdict"]["headline"].as_str().unwrap_or_default().to_owned();
    assert!(headline.contains(", without it, the other changes made, "), "{headline}");
    assert_eq!(with["verdict"]["change_first"], true);
    let value = &with["phases"][1]["without"]["values"]["flow.game.owd.p50"];
    assert_eq!(value["is_effect"], true, "{value}");
    let without = run(&["--no-ghost"]);
    let told = without["verdict"].to_string();
    assert!(told.contains(" before, ") && !told.contains("without it"), "{told}");
    assert!(without["phases"][1].get("without").is_none());
    assert_eq!(with["flows"], without["flows"]);
}
