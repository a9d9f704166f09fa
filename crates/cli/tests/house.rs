//! One policy, `house.toml`: checked, tested in two laboratories, compared with another, tuned, and run on
//! its own, as docs/guides/router.md tells it. The files are those of examples/house; `promises/house.rs`
//! puts the policy on veths.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const HOUSE: &str = include_str!("../../../examples/house/house.toml");

fn lockgate(folder: &Path, arguments: &[&str]) -> Output {
    let run = Command::new(env!("CARGO_BIN_EXE_lockgate")).args(arguments).current_dir(folder).output();
    run.expect("lockgate runs")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("house.toml", HOUSE);
    write("queue.toml", include_str!("../../../examples/house/queue.toml"));
    write("cable.toml", include_str!("../../../examples/house/cable.toml"));
    write("dsl.toml", include_str!("../../../examples/house/dsl.toml"));
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
            "port.router:modem.rate=8mbit,9.3mbit,11mbit",
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
            "--write",
        ],
    );
    assert_eq!(tuned.status.code(), Some(0), "{}", text(&tuned));
    // The winner is in the policy, and nothing else has changed, comments among it.
    let house = fs::read_to_string(folder.path().join("house.toml")).expect("a policy");
    assert_eq!(house, HOUSE.replace("rate = \"9.5mbit\"", "rate = \"9.3mbit\""), "{}", text(&tuned));
    let other = [
        "tune",
        "dsl.toml",
        "--vary",
        "link.line.delay=1ms,2ms",
        "--goal",
        "min flow.ping.rtt.p95",
        "--write",
    ];
    let refused = lockgate(folder.path(), &other);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(
        text(&refused).contains("is not a value of a policy: it is of no port that names one"),
        "{}",
        text(&refused)
    );
}

/// The way to a laboratory and back: one around a policy, and the policy of the ports of one.
#[test]
fn a_laboratory_is_written_around_a_policy_and_a_policy_taken_out_of_one() {
    let folder = folder();
    let run = |arguments: &[&str]| lockgate(folder.path(), arguments);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
    let made = run(&["new", "lab", "--from", "house.toml"]);
    assert!(made.status.success() && text(&made).contains("lab-house.toml"), "{}", text(&made));
    assert!(read("lab-house.toml").contains("policy = \"house.toml:wan:in\""));
    let again = run(&["new", "lab", "--from", "house.toml"]);
    assert_eq!(again.status.code(), Some(1), "nothing is overwritten");
    let no_policy = run(&["new", "lab", "--from", "cable.toml", "--to", "x.toml"]);
    assert!(text(&no_policy).contains("it is not a policy of a router"), "{}", text(&no_policy));
    let not_lab = run(&["new", "home", "--from", "house.toml"]);
    assert_eq!(not_lab.status.code(), Some(2), "{}", text(&not_lab));

    let export = ["export", "policy", "dsl.toml", "--interface", "eth0", "--port"];
    let both = ["router:modem", "--arriving", "router:users", "--to", "out.toml"];
    let out = run(&[&export[..], &both[..]].concat());
    assert!(out.status.success(), "{}", text(&out));
    for line in [
        "mode = \"both\"",
        "rate = \"9.5mbit\"",
        "overhead = \"pppoe-llcsnap\"",
        "[port.\"wan:in\"]",
        "ingress = true",
    ] {
        assert!(read("out.toml").contains(line), "{line} in {}", read("out.toml"));
    }
    // The buffer of the modem has no rate: the line's, with its cells.
    let out = run(&[
        &export[..],
        &["modem:isp", "--set", "port.modem:isp.queue.buffer.limit=100kB", "--to", "modem.toml"],
    ]
    .concat());
    assert!(out.status.success(), "{}", text(&out));
    for line in [
        "rate = \"9.5mbit\"   # 95 % of the 10mbit of the link `line`",
        "framing = \"atm\"",
        "limit = \"100kB\"",
    ] {
        assert!(read("modem.toml").contains(line), "{line} in {}", read("modem.toml"));
    }
    let checked = run(&["check", "lab-house.toml", "out.toml", "modem.toml"]);
    assert!(checked.status.success(), "{}", text(&checked));
    let unknown = run(&[&export[..], &["router:modm"]].concat());
    assert!(text(&unknown).contains("did you mean `router:modem`"), "{}", text(&unknown));
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
