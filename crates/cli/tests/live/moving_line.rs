//! Rates that are stepped live, by the acknowledgements of kernels: in the laboratory, and by a router in one
//! of its hosts, before a line that it plays.
//!
//! `LOCKGATE_LINES=20s` runs the router before three lines for so long each, and prints it beside the
//! simulation.

use std::fs;

use serde_json::Value;

use super::host::{LOCKGATE, is_possible, skipped};
use super::{Directory, summary};

/// A line of 16 Mbit/s with a long queue, behind a gateway that begins above it.
fn scenario(keys: &str) -> String {
    format!(
        r#"
title = "a gateway before a modem"
duration = "6s"
[node]
home = {{}}
gateway = {{}}
modem = {{}}
server = {{}}
[link.lan]
between = ["home", "gateway"]
rate = "200mbit"
[link.cable]
between = ["gateway", "modem"]
rate = "200mbit"
[link.radio]
between = ["modem", "server"]
rate = "16mbit"
delay = "10ms"
[port."modem:server"]
queue.buffer = {{ kind = "fifo", limit = "1MB" }}
[port."gateway:modem"]
queue.home = {{ kind = "cake" }}
[port."gateway:modem".autorate]
min = "1mbit"
max = "100mbit"
{keys}
[flow.probe]
from = "home"
to = "server"
transport = "udp"
size = "200B"
gap = "20ms"
[flow.upload]
from = "home"
to = "server"
transport = "tcp"
bytes = "unlimited"
"#
    )
}

#[test]
fn a_rate_is_stepped_live_by_acknowledgements() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let done = directory.command(&scenario("start = \"40mbit\"")).output().expect("run");
    let summary = summary(&done);
    let received = summary["flows"]["upload"]["received_bytes"].as_u64().expect("a number");
    if received < 2_000_000 {
        return skipped("the machine stalled for most of the run");
    }
    let events = fs::read_to_string(directory.out().join("events.ndjson")).expect("events");
    let marks: Vec<&str> = events.lines().filter(|line| line.contains("port gateway:modem: ")).collect();
    println!("{} marks: {}", marks.len(), marks.first().unwrap_or(&""));
    assert!(marks.iter().any(|mark| mark.contains("40mbit -> ")), "{events}");
    // Of the line's buffer, which holds half a second.
    let rate = summary["ports"]["modem:server"]["queues"]["buffer"]["sent_bytes"].as_f64().expect("bytes");
    assert!(rate > 2e6, "{rate}");
}

#[test]
fn probes_of_a_router_are_refused_live() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let done =
        directory.command(&scenario("probes = { to = [\"modem\"], every = \"1s\" }")).output().expect("run");
    let wrong = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && wrong.contains("probes from a router"), "{wrong}");
    assert!(
        wrong.contains("--set port.gateway:modem.autorate.probes=`: acknowledgements are read live"),
        "{wrong}"
    );
}

/// Lines of 16 Mbit/s: name, and keys of the link.
const LINES: [(&str, &str); 3] = [
    ("satellite", "trace = { up = { law = \"leo\", rate = \"16mbit\", swing = 0.5, seed = 3 } }"),
    ("constant", ""),
    (
        "cell",
        "trace = { up = { law = \"cellular\", rate = \"16mbit\", swing = 0.5, hold = \"1s\", seed = 5 } }",
    ),
];

/// Bounds of the rate, for the router and for the simulation.
const BOUNDS: &str = "min = \"1mbit\"\nmax = \"60mbit\"\nstart = \"20mbit\"\n";

/// Returns a line with a long queue from the node `modem` to a server, and an upload by it from `home`.
fn line(nodes: &str, modem: &str, keys: &str, duration: &str) -> String {
    format!(
        "title = \"a line\"\nduration = \"{duration}\"\nwarmup = \"3s\"\n{nodes}\n[link.radio]\n\
         between = [\"{modem}\", \"server\"]\nrate = \"16mbit\"\ndelay = \"20ms\"\n{keys}\n\
         [port.\"{modem}:server\"]\nqueue.buffer = {{ kind = \"fifo\", limit = \"2MB\" }}\n\
         [flow.upload]\nfrom = \"home\"\nto = \"server\"\ntransport = \"tcp\"\nbytes = \"unlimited\"\nstart = \"1s\"\n"
    )
}

/// Returns what a line allowed and was used, and the 95th percentile in its queue, in milliseconds.
fn figures(summary: &Value, modem: &str) -> (f64, f64) {
    let port = &summary["ports"][format!("{modem}:server")];
    let p95 = port["queues"]["buffer"]["sojourn_s"]["p95"].as_f64().unwrap_or(0.0);
    (port["utilisation"].as_f64().unwrap_or(0.0), p95 * 1e3)
}

#[test]
fn a_router_steps_its_rate_before_a_line_as_its_simulation_does() {
    if !is_possible() {
        return;
    }
    let duration = std::env::var("LOCKGATE_LINES").unwrap_or_default();
    let (duration, lines) = if duration.is_empty() { ("7s", &LINES[..1]) } else { (&*duration, &LINES[..]) };
    for (name, keys) in lines {
        let directory = Directory::new();
        let folder = directory.0.path().display().to_string();
        let policy = format!(
            "[router]\nmode = \"egress\"\ninterfaces = {{ wan = \"eth0\" }}\n[port.wan]\n\
             queue.home = {{ kind = \"cake\" }}\n[port.wan.autorate]\n{BOUNDS}"
        );
        fs::write(directory.0.path().join("wan.toml"), policy).expect("written");
        let route =
            format!("{LOCKGATE} route {folder}/wan.toml --state {folder}/state --fresh > {folder}/log 2>&1");
        let nodes = format!("[node]\nhome = {{ command = {route:?} }}\nserver = {{}}");
        let live = summary(&directory.command(&line(&nodes, "home", keys, duration)).output().expect("run"));
        let log = fs::read_to_string(directory.0.path().join("log")).expect("a log");
        if !log.contains("runs policy 1") {
            return skipped(log.lines().last().unwrap_or("the router does not start"));
        }
        let nodes = format!(
            "[node]\nhome = {{}}\ngateway = {{}}\nmodem = {{}}\nserver = {{}}\n\
             [link.lan]\nbetween = [\"home\", \"gateway\"]\nrate = \"10gbit\"\n\
             [link.cable]\nbetween = [\"gateway\", \"modem\"]\nrate = \"10gbit\"\n\
             [port.\"gateway:modem\"]\nqueue.home = {{ kind = \"cake\" }}\n\
             [port.\"gateway:modem\".autorate]\n{BOUNDS}"
        );
        let file = directory.file(&line(&nodes, "modem", keys, duration));
        let simulated = std::process::Command::new(LOCKGATE)
            .args(["run", "--quiet", "--json", "--out"])
            .arg(directory.0.path().join("simulated"))
            .arg(file)
            .output()
            .expect("run");
        let (one, other) = (figures(&summary(&simulated), "modem"), figures(&live, "home"));
        println!(
            "{name}: utilisation {:.3}, simulated {:.3}; p95 in the line's queue {:.1} ms, simulated {:.1} ms; \
             the driver stalled for {:.2} s",
            other.0,
            one.0,
            other.1,
            one.1,
            live["fidelity"]["stood_still_s"].as_f64().unwrap_or(0.0)
        );
        let received = live["flows"]["upload"]["received_bytes"].as_u64().expect("a number");
        if received < 1_000_000 {
            return skipped("the machine stalled for most of the run");
        }
        assert!(log.contains("port wan: 20mbit -> "), "{log}");
    }
}
