//! The knobs on real packets and the kernel's TCP. Skipped if this machine does not permit live runs.
//!
//! Only counts and the run's own time are judged, never the machine's speed. `LOCKGATE_LOAD=50000` runs the
//! reconfiguration at that many packets a second for a minute; its figures are printed.
#![allow(clippy::print_stdout, reason = "figures are printed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::host::{is_possible, traces};
use crate::lockgate;
use crate::watched::{PATIENCE, Watched, alone};

const TCP: &str = r#"
title = "two connections"
duration = "5min"
node.a = {}
node.b = {}
link.l = { between = ["a", "b"], rate = "10mbit", delay = "5ms" }
[port."a->b"]
root = "q"
alternatives = ["q", "fair"]
queue.q = { kind = "drr", children = ["one", "two"] }
queue.one = { kind = "fifo", quantum = "1514B", limit = "60p", match = [{ flow = "one" }] }
queue.two = { kind = "fifo", quantum = "1514B", limit = "60p" }
queue.fair = { kind = "fq_codel" }
[flow.one]
from = "a"
to = "b"
transport = "tcp"
congestion = "cubic"
bytes = "unlimited"
[flow.two]
from = "a"
to = "b"
transport = "tcp"
congestion = "cubic"
bytes = "unlimited"
"#;

fn file(folder: &Path, text: &str) -> PathBuf {
    let file = folder.join("scenario.toml");
    fs::write(&file, text).expect("written");
    file
}

fn at(state: &Value) -> f64 {
    state["sample"]["at_s"].as_f64().unwrap_or(-1.0)
}

/// Returns the bytes sent by a queue, and the number and sum of its sojourn times, since the start.
fn total(state: &Value, name: &str) -> [f64; 3] {
    let ports = state["sample"]["ports"].as_array().expect("ports");
    let queues = ports.iter().flat_map(|port| port["queues"].as_array().expect("queues"));
    let queue = queues.into_iter().find(|queue| queue["name"] == name).unwrap_or_else(|| panic!("{name}"));
    ["sent_bytes", "sojourn_count", "sojourn_sum_s"]
        .map(|key| queue["total"][key].as_f64().expect("a number"))
}

/// Returns, for the interval from 2 s to 5 s after `from`, the bytes that each queue sent and its mean
/// sojourn time.
fn window<const N: usize>(watched: &Watched, from: f64, names: [&str; N]) -> [(f64, f64); N] {
    let start = watched.until(|state| at(state) > from + 2.0);
    let end = watched.until(|state| at(state) > from + 5.0);
    names.map(|name| {
        let (then, now) = (total(&start, name), total(&end, name));
        (now[0] - then[0], (now[2] - then[2]) / (now[1] - then[1]))
    })
}

/// Returns the events of the log: time, kind, and value.
fn events(folder: &Path) -> Vec<(f64, String, String)> {
    let text = fs::read_to_string(folder.join("events.ndjson")).expect("events");
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let changes = events.filter(|event| event["kind"] == "change");
    let word = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    changes
        .map(|event| (event["at_s"].as_f64().unwrap_or(-1.0), word(&event, "path"), word(&event, "value")))
        .collect()
}

/// Two connections of the kernel share a link by weight. A changed weight changes the rates, and replacing
/// FIFOs by FQ-CoDel lowers the delay. The saved session has every change at the time at which it was made,
/// and nothing is left on the host.
#[test]
fn weights_and_trees_change_under_real_tcp() {
    if !is_possible() {
        return;
    }
    let _alone = alone();
    let before = traces();
    let folder = tempfile::tempdir().expect("a folder");
    let (scenario, out, saved) =
        (file(folder.path(), TCP), folder.path().join("out"), folder.path().join("saved.toml"));
    let more = ["--out", out.to_str().expect("text"), "--save", saved.to_str().expect("text")];
    let mut watched = Watched::begin("--live", &scenario, &more, None);
    let [one, two] = window(&watched, 1.0, ["one", "two"]);
    let equal = one.0 / two.0;
    assert!((0.7..1.4).contains(&equal), "equal weights: {one:?}, {two:?}");
    let (status, done) = watched.set(&json!({ "set": ["port.a:b.queue.one.quantum=4542B"] }));
    assert_eq!(status, 200, "{done}");
    assert_eq!(done["before"], json!(["port.a:b.queue.one.quantum=1514B"]));
    let [one, two, all] = window(&watched, done["at_s"].as_f64().expect("a time"), ["one", "two", "q"]);
    let ratio = one.0 / two.0;
    assert!((2.4..3.6).contains(&ratio), "three to one: {one:?}, {two:?}");
    let (status, done) = watched.set(&json!({ "set": ["port.a:b.root=fair"] }));
    assert_eq!(status, 200, "{done}");
    let [fair] = window(&watched, done["at_s"].as_f64().expect("a time"), ["fair"]);
    assert!(fair.1 < all.1 / 2.0, "FIFOs of 60 packets: {} s; FQ-CoDel: {} s", all.1, fair.1);
    println!(
        "shares {equal:.2}, then {ratio:.2}; sojourn {:.1} ms, then {:.1} ms",
        all.1 * 1e3,
        fair.1 * 1e3
    );
    let state = watched.until(|state| state["sample"]["flows"][0]["cwnd_bytes"].is_u64());
    assert_eq!((&state["mode"], state["events"].as_array().map(Vec::len)), (&json!("live"), Some(2)));
    assert!(state["events"][1]["moved_packets"].as_u64() > Some(0), "{}", state["events"]);
    let (status, answer) = watched.post("/api/control", "", r#"{"held":true}"#);
    assert_eq!(status, 422, "a clock does not wait: {answer}");
    let _ = watched.interrupt();
    assert_eq!(traces(), before, "nothing is left");
    let replay = folder.path().join("replay");
    let done = lockgate().args(["run", "-q", "--duration", "30s", "--out"]).arg(&replay).arg(&saved).output();
    assert!(done.is_ok_and(|done| done.status.success()));
    assert_eq!(events(&replay), events(&out), "the saved session has the same events");
    assert_eq!(events(&out).len(), 2);
}

/// Load of a run, and its numbers of changes.
struct Load {
    seconds: u64,
    flows: u64,
    /// Gap between two packets of a flow, in nanoseconds.
    gap: u64,
    sets: u64,
    swaps: u64,
}

impl Load {
    fn wanted() -> Self {
        match std::env::var("LOCKGATE_LOAD").ok().and_then(|rate| rate.parse::<u64>().ok()) {
            Some(rate) => {
                Self { seconds: 60, flows: 5, gap: 5_000_000_000 / rate.max(1), sets: 1_000, swaps: 100 }
            }
            None => Self { seconds: 8, flows: 4, gap: 1_000_000, sets: 60, swaps: 6 },
        }
    }

    /// Returns the offered rate in bit/s.
    fn bits(&self) -> u64 {
        self.flows * 800 * 1_000_000_000 / self.gap
    }

    fn text(&self) -> String {
        let flow = |n| {
            format!(
                "[flow.f{n}]\nfrom = \"a\"\nto = \"b\"\nsize = \"100B\"\ngap = \"{}ns\"\nstop = \"{}s\"\n",
                self.gap,
                self.seconds - 1
            )
        };
        let flows: String = (0..self.flows).map(flow).collect();
        format!(
            r#"
title = "changes under load"
duration = "{}s"
node.a = {{}}
node.b = {{}}
link.l = {{ between = ["a", "b"], rate = "{}bit", delay = "2ms" }}
[port."a->b"]
root = "q"
alternatives = ["q", "other"]
queue.q = {{ kind = "drr", children = ["one", "two"] }}
queue.one = {{ kind = "fifo", quantum = "1514B", limit = "50000p", match = [{{ flow = "f0" }}] }}
queue.two = {{ kind = "fifo", quantum = "1514B", limit = "50000p" }}
queue.other = {{ kind = "prio", children = ["high", "low"] }}
queue.high = {{ kind = "fifo", limit = "50000p", match = [{{ flow = "f1" }}] }}
queue.low = {{ kind = "fifo", limit = "50000p" }}
{flows}"#,
            self.seconds,
            self.bits()
        )
    }
}

/// Returns change number `number`: pseudo-random, but the same in each run.
fn change(number: u64, load: &Load) -> String {
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let queue = ["one", "two", "high", "low"][(random % 4) as usize];
    match random / 4 % 4 {
        0 => format!(
            "port.a:b.queue.{}.quantum={}B",
            ["one", "two"][(random % 2) as usize],
            200 + random % 9_000
        ),
        1 => format!("port.a:b.queue.{queue}.limit={}p", 50_000 + random % 20_000),
        // Alternately less and more than the offered rate, so that queues build up at times.
        2 => format!("link.l.rate={}bit", load.bits() * (95 + random % 60) / 100),
        _ => format!("link.l.delay={}us", 500 + random % 5_000),
    }
}

/// Asserts that no packet was lost by a queue or overtaken. Losses of the machine itself are printed, not
/// judged.
fn assert_nothing_lost(out: &Path) {
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(out.join("summary.json")).expect("a summary"))
            .expect("JSON");
    let (mut sent, mut host) = (0, 0);
    for (name, flow) in summary["flows"].as_object().expect("flows") {
        let lost = flow["lost_by"].as_object().expect("losses");
        assert!(lost.keys().all(|reason| reason == "host"), "{name} lost packets: {lost:?}");
        let reordered = flow["reordered_ratio"].as_f64();
        assert!(reordered.is_none_or(|ratio| ratio <= 0.0), "{name} was reordered: {reordered:?}");
        sent += flow["sent_packets"].as_u64().expect("a number");
        host += lost.values().filter_map(Value::as_u64).sum::<u64>();
    }
    println!(
        "{sent} packets: none lost or overtaken by changes; {host} lost by this machine; fidelity {}",
        summary["fidelity"]
    );
}

/// Random changes of parameters, links and whole trees under load: no packet is lost or overtaken because of
/// them, and each is in the log at its promised time.
#[test]
fn changes_under_load_lose_nothing() {
    if !is_possible() {
        return;
    }
    let _alone = alone();
    let load = Load::wanted();
    let folder = tempfile::tempdir().expect("a folder");
    let (scenario, out) = (file(folder.path(), &load.text()), folder.path().join("out"));
    let mut watched = Watched::begin(
        "--live",
        &scenario,
        &["--out", out.to_str().expect("text"), "--every", "100ms"],
        None,
    );
    watched.until(|state| at(state) > 0.5);
    let mut wanted = Vec::new();
    let (mut root, mut slowest) = (0, Duration::ZERO);
    let every = (load.sets + load.swaps) / load.swaps;
    let end = load.seconds as f64 - 1.5;
    for number in 0..load.sets + load.swaps {
        let text = if number % every == every - 1 {
            root = 1 - root;
            format!("port.a:b.root={}", ["q", "other"][root])
        } else {
            change(number, &load)
        };
        let since = Instant::now();
        let (status, done) = watched.set(&json!({ "set": [text] }));
        slowest = slowest.max(since.elapsed());
        assert_eq!(status, 200, "{text}: {done}");
        let at = done["at_s"].as_f64().expect("a time");
        let (path, value) = text.split_once('=').expect("a setting");
        wanted.push((at, path.to_owned(), value.to_owned()));
        // Spread evenly over the rest of the run, as far as the machine keeps up.
        let left = (end - at).max(0.0) / (load.sets + load.swaps - number) as f64;
        std::thread::sleep(Duration::from_secs_f64(left).saturating_sub(since.elapsed()));
        if at > end {
            break;
        }
    }
    watched.until(|state| state["ended"] == json!(true));
    let _ = watched.interrupt();
    let swaps = wanted.iter().filter(|(_, path, _)| path.ends_with("root")).count();
    println!("{} sets and {swaps} swaps, the slowest answer {slowest:?}", wanted.len() - swaps);
    assert_nothing_lost(&out);
    assert_eq!(events(&out), wanted, "every change, when it was said");
    // A machine with other work to do gets through fewer of them.
    assert!(swaps > 0 && swaps < wanted.len(), "both kinds of change");
}

/// A run that was stopped for five seconds at full load and continued goes on, and accounts for every packet.
#[test]
fn a_stopped_run_goes_on() {
    if !is_possible() {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let load = Load { seconds: 60, ..Load::wanted() };
    let (scenario, out) = (file(folder.path(), &load.text()), folder.path().join("out"));
    let mut watched =
        Watched::begin("--live", &scenario, &["--out", out.to_str().expect("text"), "--every", "20ms"], None);
    let received = |state: &Value| state["sample"]["flows"][0]["received_packets"].as_u64().unwrap_or(0);
    watched.until(|state| at(state) > 1.0 && received(state) > 0);
    watched.signal("STOP");
    std::thread::sleep(Duration::from_secs(5));
    let then = Instant::now();
    watched.signal("CONT");
    let state = watched.until(|_| true);
    let before = received(&state);
    watched.until(|state| received(state) > before);
    println!("traffic again after {:?}", then.elapsed());
    assert!(then.elapsed() < PATIENCE);
    let noted = |state: &Value| {
        let events = state["events"].as_array().expect("events").clone();
        events.iter().any(|event| event["text"].as_str().is_some_and(|text| text.contains("driver stalled")))
    };
    watched.until(noted);
    let (status, done) = watched.set(&json!({ "set": ["link.l.delay=3ms"] }));
    assert_eq!(status, 200, "{done}");
    let _ = watched.interrupt();
    // A run whose account does not balance has no summary.
    assert!(out.join("summary.json").is_file());
}
