//! One policy, `house.toml`: checked, tested in two laboratories, compared with another, tuned, and run on its own, as
//! docs/guides/router.md tells it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const HOUSE: &str = r#"title = "house"
[router]
mode = "both"
interfaces = { wan = "eth0" }

# A little under the 10 Mbit/s of the line, whose cells are counted.
[port.wan]
rate = "9.5mbit"
overhead = "pppoe-llcsnap"
queue.cake = { kind = "cake" }

[port."wan:in"]
rate = "45mbit"
overhead = "pppoe-llcsnap"
queue.cake-in = { kind = "cake", ingress = true }
"#;

/// The same line behind a single queue.
const QUEUE: &str = r#"[router]
mode = "both"
interfaces = { wan = "eth0" }
[port.wan]
rate = "9.5mbit"
overhead = "pppoe-llcsnap"
queue.fifo = { kind = "fifo", limit = "1000p" }
[port."wan:in"]
queue.fifo-in = { kind = "fifo" }
"#;

/// A laboratory: a line of 50 Mbit/s down and 10 Mbit/s up that charges as LINE says.
const LABORATORY: &str = r#"title = "LINE"
duration = "6s"
warmup = "2s"
node = { users = {}, router = {}, modem = {}, isp = {} }
link.lan = { between = ["users", "router"], rate = "1gbit" }
link.home = { between = ["router", "modem"], rate = "1gbit" }
link.line = { between = ["modem", "isp"], rate = { up = "10mbit", down = "50mbit" }, delay = "8ms", overhead = "LINE" }

[port."modem:isp".queue.buffer]
kind = "fifo"
limit = "250kB"
[port."router:modem"]
policy = "house.toml:wan"
[port."router:users"]
policy = "house.toml:wan:in"

[flow]
call = { from = "users", to = "isp", profile = "g711", dscp = "EF" }
ping = { from = "users", to = "isp", transport = "udp", size = "98B", gap = "20ms", echo = true }
upload = { from = "users", to = "isp", transport = "tcp", bytes = "unlimited", start = "1s" }

[[expect]]
that = "flow.call.owd.p99"
below = "40ms"
[[expect]]
name = "the line stays clear"
that = "flow.ping.rtt.p95 - flow.ping.rtt.min"
grade = "A"
[[expect]]
that = "flow.upload.goodput"
above = "7mbit"
"#;

fn lockgate(folder: &Path, arguments: &[&str]) -> Output {
    let run = Command::new(env!("CARGO_BIN_EXE_lockgate")).args(arguments).current_dir(folder).output();
    run.expect("lockgate runs")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("house.toml", HOUSE);
    write("queue.toml", QUEUE);
    write("cable.toml", &LABORATORY.replace("LINE", "docsis"));
    write("dsl.toml", &LABORATORY.replace("LINE", "pppoe-llcsnap"));
    folder
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn one_policy_is_checked_and_tested_in_two_laboratories() {
    let folder = folder();
    let run = |arguments: &[&str]| lockgate(folder.path(), arguments);
    let checked = run(&["check", "house.toml", "cable.toml", "dsl.toml"]);
    assert!(checked.status.success(), "{}", text(&checked));
    let tested = run(&["test", "cable.toml", "dsl.toml"]);
    assert_eq!(tested.status.code(), Some(0), "{}", text(&tested));
    let other = run(&["test", "cable.toml", "dsl.toml", "--policy", "queue.toml"]);
    let said = text(&other);
    assert_eq!(other.status.code(), Some(3), "{said}");
    assert!(
        said.contains("expected grade A or better (below 30.0 ms) by Waveform's scale of bufferbloat"),
        "{said}"
    );
    assert!(said.contains("the line stays clear") && said.contains(", grade "), "{said}");
    // A line whose cells the policy does not count is overrun, and the queue is in the modem.
    let frames = HOUSE.replace("overhead = \"pppoe-llcsnap\"\n", "");
    fs::write(folder.path().join("frames.toml"), frames).expect("written");
    let overrun = run(&["test", "dsl.toml", "--policy", "frames.toml"]);
    assert_eq!(overrun.status.code(), Some(3), "{}", text(&overrun));
    let wrong = run(&["test", "dsl.toml", "--policy", "absent.toml"]);
    assert!(wrong.status.code() == Some(1) && text(&wrong).contains("absent.toml"), "{}", text(&wrong));
}

#[test]
fn policies_are_compared_and_a_value_of_one_is_tuned() {
    let folder = folder();
    let vary = "port.router:modem.policy=queue.toml:wan,house.toml:wan";
    let arguments = [
        "compare",
        "dsl.toml",
        "--vary",
        vary,
        "--seeds",
        "1..2",
        "--show",
        "flow.ping.rtt.p95",
        "--json",
        "-",
    ];
    let compared = lockgate(folder.path(), &arguments);
    assert!(compared.status.success(), "{}", text(&compared));
    let json: serde_json::Value = serde_json::from_slice(&compared.stdout).expect("JSON");
    assert_eq!(json["metrics"][0]["comparison"]["best"], 1, "{json}");
    let tuned = lockgate(
        folder.path(),
        &[
            "tune",
            "dsl.toml",
            "--vary",
            "port.router:modem.rate=8mbit,9.5mbit,11mbit",
            "--goal",
            "max flow.upload.goodput",
            "--subject-to",
            "flow.ping.rtt.p95 <= 60ms",
            "--runs",
            "5",
            "--seeds",
            "1",
            "--validate",
            "101..102",
            "--json",
            "-",
        ],
    );
    assert_eq!(tuned.status.code(), Some(0), "{}", text(&tuned));
    assert!(text(&tuned).contains("9.5mbit"), "{}", text(&tuned));
}

/// A policy alone is run in a laboratory that is made around it.
#[test]
fn a_policy_is_run_in_a_laboratory() {
    let folder = folder();
    let ran = lockgate(folder.path(), &["run", "house.toml", "--out", "results"]);
    let said = text(&ran);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(said.contains("3 of 3 hold"), "{said}");
    let scenario = fs::read_to_string(folder.path().join("results/scenario.toml")).expect("a scenario");
    assert!(scenario.contains("policy = \"house.toml:wan:in\""), "{scenario}");
}
