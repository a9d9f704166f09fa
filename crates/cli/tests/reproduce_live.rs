//! `lockgate reproduce --live`: the same claims in simulation and on real packets. Skipped if this machine
//! does not permit live runs.
//!
//! No test here judges wall-clock times: neither verdicts on a busy machine nor the fidelity of its runs. The
//! tests check that each claim has a verdict.
#![cfg(target_os = "linux")]

mod host;
mod page;

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use host::{LOCKGATE, is_possible, skipped, traces};
use serde_json::Value;

const SCENARIO: &str = r#"
title    = "two flows on a line"
duration = "4s"
[record]
interval = "100ms"
[node]
a = {}
r = {}
b = {}
[link]
in = { between = ["a", "r"], rate = "10mbit" }
line = { between = ["r", "b"], rate = "500kbit" }
[port."r->b"]
root = "one"
queue.one = { kind = "fifo", limit = "20p" }
[flow]
one = { from = "a", to = "b", size = "1000B", rate = "400kbit" }
two = { from = "a", to = "b", size = "1000B", rate = "400kbit" }
[flow.echo]
from = "a"
to = "b"
echo = true
size = "100B"
gap = "100ms"
"#;

const CLAIMS: &str = r#"
title = "two flows on a line"
paper = "A paper of our own"
scenario = "line.toml"

[[run]]
name = "full"
scenario = "line.toml"
set = ["flow.echo="]
live = { scale = 4, quick = ["duration=2s"] }
[[run]]
name = "echo"
scenario = "line.toml"
set = ["flow.echo.transport=tcp", "flow.echo.initial_sequence=run2c"]
[[run]]
name = "never"
scenario = "line.toml"
set = ["flow.echo="]
live = { not = "it needs a punched tape" }
[[run]]
name = "drawn"
scenario = "line.toml"
set = ["flow.echo="]

[[claim]]
id = "rate"
where = "Figure 1"
text = "the line carries its rate, and no more"
paper = "500 kbit/s"
decide = "both flows from 1 to 2 s"
value = "sum([full: flow.{one,two}.throughput @ 1s..2s]) / 1000"
unit = "kbit/s"
at_least = 1
at_most = 600
[[claim]]
id = "delay"
where = "Figure 1"
text = "a packet takes 16 ms on the line"
paper = "more than 16 ms"
decide = "least delay"
value = "[full: flow.one.owd.min] * 1000"
unit = "ms"
at_least = 16
[[claim]]
id = "echo"
where = "Figure 2"
text = "echoes come back"
paper = "they do"
decide = "loss of echoes"
value = "[echo: flow.echo.rtt_loss]"
at_most = 1
[[claim]]
id = "never"
where = "Figure 3"
text = "the tape is read"
paper = "it is"
decide = "loss"
value = "[never: flow.one.loss]"
at_most = 1
[[claim]]
id = "sum"
where = "Table 1"
text = "the sum is right"
paper = "4"
decide = "2 and 2"
value = "2 + 2"
expected = [4]

[[figure]]
id = "figure-1"
title = "Figure 1"
x = { label = "time", unit = "s" }
y = { label = "throughput", unit = "bit/s" }
[[figure.series]]
name = "one"
over_time = "[full: flow.one.throughput]"
[[figure.series]]
name = "not live"
over_time = "[drawn: flow.one.throughput]"

[[today]]
title = "the same line"
scenario = "line.toml"
set = ["flow.echo="]
ports = ["r->b"]
kinds = ["fq_codel"]
[[today.column]]
head = "one"
value = "[$run: flow.one.throughput]"
"#;

struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("mine")).expect("a folder");
        fs::write(folder.path().join("mine/line.toml"), SCENARIO).expect("written");
        fs::write(folder.path().join("mine/claims.toml"), CLAIMS).expect("written");
        Self(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(LOCKGATE);
        command
            .args(["reproduce", "./mine", "--live", "--out", "out"])
            .args(arguments)
            .current_dir(self.0.path());
        command
    }
}

fn json(done: &Output) -> Value {
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

#[test]
fn every_claim_says_what_real_packets_say_of_it() {
    if !is_possible() {
        return;
    }
    let (directory, before) = (Directory::new(), traces());
    let done = directory.command(&["--quick", "--json", "--quiet"]).output().expect("runs");
    // 3 and 5 are possible on a busy machine.
    assert!(matches!(done.status.code(), Some(0 | 3 | 5)), "{done:?}");
    let paper = &json(&done)["papers"][0];
    assert_eq!(paper["mode"], "twin");
    assert_eq!(
        paper["live"]["scales"],
        serde_json::json!({ "full": 4.0 }),
        "only what claims need, at its scale"
    );
    let claims = paper["claims"].as_array().expect("claims");
    let live = |id: &str| &claims.iter().find(|claim| claim["id"] == id).expect(id)["live"];
    for id in ["rate", "delay"] {
        assert_eq!(live(id)["state"], "judged", "{}", live(id));
        // A machine that sends too late may observe nothing, and says so.
        let is_late = live(id)["outside"].as_array().is_some_and(|outside| !outside.is_empty());
        assert!(is_late || live(id)["values"][0][1].is_number(), "it was observed: {}", live(id));
    }
    // A physical bound that no machine can break, in the time of the unscaled scenario, which is four times
    // slower.
    assert!(live("delay")["values"][0][1].as_f64().is_none_or(|delay| delay >= 16.0), "{}", live("delay"));
    for (id, why) in [("echo", "first sequence number"), ("never", "punched tape"), ("sum", "arithmetic")] {
        assert_eq!(live(id)["state"], "not", "{}", live(id));
        assert!(live(id)["why"].as_str().is_some_and(|text| text.contains(why)), "{}", live(id));
    }
    let report = page::report_data(&directory.0.path().join("out/report.html")).to_string();
    assert!(
        report.contains("Runs on real packets") && report.contains("\"mode\":\"live\""),
        "both are drawn"
    );
    assert_eq!(traces(), before);
}

#[test]
fn one_scale_for_all_and_a_table_of_both() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let done = directory.command(&["--scale", "8", "--claim", "rate"]).output().expect("runs");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(matches!(done.status.code(), Some(0 | 3 | 5)), "{done:?}");
    assert!(text.contains("simulation") && text.contains("live"), "{text}");
    let claims = fs::read_to_string(directory.0.path().join("out/claims.json")).expect("claims");
    let claims: Value = serde_json::from_str(&claims).expect("JSON");
    assert_eq!(claims["live"]["scales"]["full"], 8.0);
    for (arguments, code) in [(&["--scale", "0"][..], 2), (&["--scale", "fast"], 2)] {
        let done = directory.command(arguments).output().expect("runs");
        assert_eq!(done.status.code(), Some(code), "{done:?}");
    }
}

#[test]
fn an_interrupted_one_leaves_nothing() {
    if !is_possible() {
        return;
    }
    let (directory, before) = (Directory::new(), traces());
    let child = directory
        .command(&["--scale", "0.05"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    std::thread::sleep(Duration::from_millis(1500));
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.is_ok_and(|status| status.success()));
    let done = child.wait_with_output().expect("ends");
    assert_eq!(done.status.code(), Some(130), "{done:?}");
    let left: Vec<_> = fs::read_dir(directory.0.path())
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["mine"], "no half of a result");
    assert_eq!(traces(), before);
}

#[test]
fn where_live_runs_are_not_allowed_that_is_said() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let limited = format!(
        "echo 1 > /proc/sys/user/max_net_namespaces && exec {LOCKGATE} reproduce ./mine --live --quiet --out out"
    );
    let done =
        Command::new("unshare").args(["-Ur", "sh", "-c", &limited]).current_dir(directory.0.path()).output();
    let Ok(done) = done else {
        skipped("`unshare` is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&done.stderr);
    if said.contains("unshare") {
        skipped(said);
        return;
    }
    assert_eq!(done.status.code(), Some(4), "{said}");
    assert!(
        said.contains("cannot make a network namespace") && said.contains("max_net_namespaces"),
        "{said}"
    );
    assert!(!directory.0.path().join("out").exists(), "nothing was written");
}
