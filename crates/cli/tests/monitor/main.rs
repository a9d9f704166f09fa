//! The monitor from outside: a paced simulation has the results of an unpaced one, a saved session replays
//! the knobs set over HTTP, and forbidden requests are refused.

mod attacks;
#[cfg(target_os = "linux")]
#[path = "../host/mod.rs"]
mod host;
#[cfg(target_os = "linux")]
mod live;
#[allow(clippy::duplicate_mod, reason = "`host` includes it, too, on Linux alone")]
mod tools;
mod undo;
mod watched;
mod weights;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use watched::Watched;

const TEXT: &str = r#"
title = "two classes"
duration = "20s"
node.a = {}
node.b = {}
link.l = { between = ["a", "b"], rate = "8mbit", delay = "5ms" }
[port."a->b"]
root = "q"
alternatives = ["q", "fair"]
queue.q = { kind = "drr", children = ["one", "two"] }
queue.one = { kind = "fifo", quantum = "1500B", limit = "50p", match = [{ flow = "one" }] }
queue.two = { kind = "fifo", quantum = "1500B", limit = "50p" }
queue.fair = { kind = "fq_codel" }
[flow.one]
from = "a"
to = "b"
transport = "udp"
size = "1000B"
rate = "8mbit"
[flow.two]
from = "a"
to = "b"
transport = "udp"
size = "1000B"
rate = "8mbit"
"#;

/// The command under test; `LOCKGATE` names another build of it.
fn lockgate() -> Command {
    let built = env!("CARGO_BIN_EXE_lockgate");
    let mut command = Command::new(std::env::var_os("LOCKGATE").unwrap_or_else(|| built.into()));
    command.env_remove("LOCKGATE_TOKEN").stdin(Stdio::null());
    command
}

/// Returns a scenario in a folder of its own.
fn scenario() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("two.toml");
    fs::write(&file, TEXT).expect("written");
    (folder, file)
}

/// Waits until the results of a run are written: what its changes did is found out after its end, unless it
/// is interrupted.
fn await_results(folder: &Path) {
    let start = Instant::now();
    while !folder.join("summary.json").exists() {
        assert!(start.elapsed() < Duration::from_mins(5), "no results in {}", folder.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Reads the summary of a run.
fn summary(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

fn events(folder: &Path) -> String {
    fs::read_to_string(folder.join("events.ndjson")).expect("events")
}

#[test]
fn a_paced_simulation_is_the_simulation() {
    let (folder, file) = scenario();
    let (run, watch) = (folder.path().join("run"), folder.path().join("watch"));
    assert!(
        lockgate().args(["run", "-q", "--out"]).arg(&run).arg(&file).output().expect("runs").status.success()
    );
    let output = lockgate()
        .args(["watch", "--sim", "--pace", "0", "--every", "1s", "--out"])
        .arg(&watch)
        .arg(&file)
        .output()
        .expect("watches");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(summary(&run), summary(&watch));
    let lines = String::from_utf8(output.stdout).expect("text");
    assert_eq!(lines.lines().count(), 20, "a line a sample, the last at the end:\n{lines}");
    assert!(lines.lines().all(|line| line.contains("a:b q") && line.contains("one")), "{lines}");
}

/// The weight of a class is doubled during the run, its rate follows, and the saved session replays it.
#[test]
fn a_session_at_the_knobs_is_a_scenario_that_replays_it() {
    let (folder, file) = scenario();
    let session = folder.path().join("session");
    let out = session.to_str().expect("text").to_owned();
    let mut watched = Watched::start(&file, &["--pace", "4", "--every", "50ms", "--out", &out], None);
    watched.until(|state| state["sample"]["at_s"].as_f64().is_some_and(|at| at > 0.5));
    let (status, done) = watched.set(&json!({ "set": ["port.a->b.queue.one.quantum=4500B"] }));
    assert_eq!(status, 200, "{done}");
    assert_eq!(done["before"], json!(["port.a:b.queue.one.quantum=1500B"]));
    let at = done["at_s"].as_f64().expect("a time");
    let (status, _) = watched.set(&json!({ "set": ["link.l.delay=9ms"], "for": "500ms" }));
    assert_eq!(status, 200);
    let state = watched.until(|state| state["sample"]["at_s"].as_f64().is_some_and(|now| now > at + 2.0));
    let rate = |name: &str| {
        let queues = state["sample"]["ports"][0]["queues"].as_array().expect("queues").clone();
        let queue = queues.into_iter().find(|queue| queue["name"] == name).expect("the queue");
        queue["sent_bps"].as_f64().expect("a rate")
    };
    let ratio = rate("one") / rate("two");
    assert!((2.2..4.0).contains(&ratio), "shares are 3 to 1, within the packets of 50 ms: {ratio}");
    assert_eq!(state["events"].as_array().map(Vec::len), Some(3), "set, set, and back by itself");
    // A setting by the command has the same effect.
    let to = watched.address.to_string();
    let set = lockgate().args(["set", "port.a->b.root=fair", "--to", &to]).output().expect("sets");
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    let wrong = lockgate().args(["set", "port.a->b.root=none", "--to", &to]).output().expect("answers");
    assert_eq!(wrong.status.code(), Some(2), "{}", String::from_utf8_lossy(&wrong.stderr));
    let state = watched.until(|state| state["events"].as_array().is_some_and(|events| events.len() == 4));
    assert!(
        state["events"][3]["moved_packets"].as_u64().is_some_and(|moved| moved > 0),
        "{}",
        state["events"][3]
    );
    let (status, saved) = watched.get("/api/scenario");
    assert_eq!((status, saved.matches("[[change]]").count()), (200, 4), "{saved}");
    let (status, answer) = watched.post("/api/control", "", r#"{"pace":0}"#);
    assert_eq!(status, 200, "{answer}");
    watched.until(|state| state["ended"] == json!(true));
    await_results(&session);
    // The page can save the report, with a directory of results and without.
    watched.until(|state| state["verdict"].is_object());
    let (status, report) = watched.get("/api/report");
    assert!(status == 200 && report.contains("id=\"lockgate-data\" data-encoding"), "{status}");
    watched.interrupt();
    let replay_file = folder.path().join("saved.toml");
    fs::write(&replay_file, saved).expect("written");
    let replay = folder.path().join("replay");
    assert!(
        lockgate()
            .args(["run", "-q", "--out"])
            .arg(&replay)
            .arg(&replay_file)
            .output()
            .expect("runs")
            .status
            .success()
    );
    assert_eq!(events(&replay), events(&session));
    assert_eq!(summary(&replay), summary(&session));
}

#[test]
fn other_programs_read_the_same_numbers() {
    let (_folder, file) = scenario();
    let watched = Watched::start(&file, &["--pace", "0", "--set", "duration=2s"], None);
    let state =
        watched.until(|state| state["ended"] == json!(true) && state["sample"]["at_s"].as_f64() > Some(1.85));
    let root = &state["sample"]["ports"][0]["queues"][0];
    let sent = root["total"]["sent_packets"].as_u64().expect("a count");
    let (status, metrics) = watched.get("/metrics");
    assert_eq!(status, 200);
    let line = r#"node_qdisc_packets_total{device="a:b",kind="drr",parent="root",queue="q"} "#;
    let value = metrics.lines().find_map(|found| found.strip_prefix(line)).expect("the root's packets");
    assert_eq!(value.parse::<u64>().ok(), Some(sent));
    for name in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        assert_eq!(metrics.matches(&format!("# HELP {name} ")).count(), 1, "{name}");
    }
    // Every metric of the dashboard for Grafana exists.
    let dashboard = include_str!("../../../../docs/grafana/qostat.json");
    let dashboard: Value = serde_json::from_str(dashboard).expect("JSON");
    let targets = dashboard["panels"].as_array().expect("panels").iter().flat_map(|panel| {
        panel["targets"]
            .as_array()
            .expect("targets")
            .iter()
            .map(|target| target["expr"].as_str().expect("text"))
    });
    for expression in targets {
        let words = expression.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let asked: Vec<&str> =
            words.filter(|word| word.starts_with("node_qdisc_") || word.starts_with("lockgate_")).collect();
        assert!(!asked.is_empty(), "{expression}");
        for name in asked {
            let line = format!("\n{name}");
            assert!(metrics.contains(&line), "{name} of {expression}");
        }
    }
    let infinite = metrics
        .lines()
        .find(|line| line.contains("parent=\"root\"") && line.contains("+Inf"))
        .expect("a bucket");
    assert!(infinite.ends_with(&format!(" {sent}")), "every packet sent has a sojourn time: {infinite}");
    let tc: Value = serde_json::from_str(&watched.get("/api/tc").1).expect("JSON");
    assert_eq!(
        (&tc[0]["kind"], &tc[0]["root"], &tc[0]["packets"]),
        (&json!("drr"), &json!(true), &json!(sent))
    );
    assert_eq!(tc[1]["parent"], json!("1:"));
    let api: Value = serde_json::from_str(&watched.get("/api/openapi.json").1).expect("JSON");
    // The report is there when the verdict is.
    watched.until(|state| state["verdict"].is_object());
    for path in api["paths"].as_object().expect("paths").keys().filter(|path| *path != "/api/stream") {
        let (status, _) = watched.get(path);
        // They require the name of a queue, and the index of a port.
        let is_of_part = path == "/api/knobs" || path == "/api/past";
        let expected = if is_of_part { status == 400 } else { status == 200 || status == 405 };
        assert!(expected, "{path}: {status}");
    }
    // A method that the server does not serve.
    let trace = format!("TRACE /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", watched.address);
    assert_eq!(watched.raw(&trace).0, 405);
}

/// The results exist when the run has ended; the page stays, and Ctrl-C then ends the command normally.
#[test]
fn a_page_outlives_its_run() {
    let (folder, file) = scenario();
    let out = folder.path().join("out");
    let mut command = lockgate();
    command.args(["watch", "--sim", "--pace", "0", "--web", "127.0.0.1:0", "--out"]).arg(&out).arg(&file);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut said = BufReader::new(child.stderr.take().expect("stderr")).lines().map_while(Result::ok);
    let page =
        said.find_map(|line| line.strip_prefix("page: http://").map(str::to_owned)).expect("its address");
    let end = said.find(|line| line.starts_with("ended; the page")).expect("it says so");
    assert_eq!(end, format!("ended; the page stays until Ctrl-C; results in {}", out.display()));
    assert!(out.join("summary.json").is_file() && out.join("report.html").is_file());
    let manifest = fs::read_to_string(out.join("manifest.json")).expect("a manifest");
    assert!(manifest.contains(r#""interrupted": false"#), "{manifest}");
    let mut watched = Watched { child, address: page.trim_end_matches('/').parse().expect("an address") };
    watched.until(|state| state["ended"] == json!(true));
    assert_eq!(watched.interrupt(), Some(0));
    assert_eq!(said.next(), None, "nothing is stopped early");
}
