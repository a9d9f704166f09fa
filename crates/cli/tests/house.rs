//! One policy, `house.toml`: checked, tested in two laboratories, compared with another, tuned, and run on
//! its own, as docs/guides/router.md tells it. The files are those of examples/house; `promises/house.rs`
//! puts the policy on veths.

mod command;

use std::fs;

use command::{both as text, lockgate};

const HOUSE: &str = include_str!("../../../examples/house/house.toml");

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("house.toml", HOUSE);
    write("queue.toml", include_str!("../../../examples/house/queue.toml"));
    write("cable.toml", include_str!("../../../examples/house/cable.toml"));
    write("dsl.toml", include_str!("../../../examples/house/dsl.toml"));
    folder
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
            "port.router:modem.rate=8mbit,9.7mbit,11mbit",
            "--goal",
            "max flow.upload.goodput",
            "--subject-to",
            "flow.ping.rtt.p95 <= 60ms",
            "--runs",
            "5",
            "--seeds",
            "1",
            "--validate",
            "101..105",
            "--json",
            "-",
            "--write",
        ],
    );
    assert_eq!(tuned.status.code(), Some(0), "{}", text(&tuned));
    // The winner is in the policy, and nothing else has changed, comments among it.
    let house = fs::read_to_string(folder.path().join("house.toml")).expect("a policy");
    assert_eq!(house, HOUSE.replace("rate = \"9.5mbit\"", "rate = \"9.7mbit\""), "{}", text(&tuned));
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
    assert!(text(&no_policy).contains("name a policy file"), "{}", text(&no_policy));
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
        "overhead = \"pppoe-llcsnap\"",
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
    assert!(said.contains("7 of 7 hold"), "{said}");
    assert!(said.contains("before a line of 10.0 Mbit/s up and 47.4 Mbit/s down"), "{said}");
    let scenario = fs::read_to_string(folder.path().join("results/scenario.toml")).expect("a scenario");
    assert!(scenario.contains("policy = \"house.toml:wan:in\""), "{scenario}");
}

/// `run`, `check` and `test` take the same settings of a policy, and say the same of a wrong one, in the
/// policy.
#[test]
fn settings_of_a_policy_are_the_same_in_every_command() {
    let folder = folder();
    for command in ["run", "check", "test"] {
        let with = |set: &str| {
            let out = ["--out", "results"].into_iter().filter(|_| command == "run");
            let arguments: Vec<&str> = [command, "house.toml", "--set", "duration=3s", "--set", set]
                .into_iter()
                .chain(out)
                .collect();
            lockgate(folder.path(), &arguments)
        };
        for set in [
            "port.wan.rate=9mbit",
            "port.wan:in.rate=40mbit",
            "port.router:modem.rate=9mbit",
            "link.line.rate.up=20mbit",
        ] {
            let done = with(set);
            // Of a run of three seconds, not all must hold: it must be judged.
            assert!(matches!(done.status.code(), Some(0 | 3)), "{command} {set}: {}", text(&done));
        }
        for (set, said) in [
            ("port.wan.rat=9mbit", "`port.wan` has no key `rat`"),
            ("port.wan.rate=fast", "fast"),
            ("link.lin.rate.up=20mbit", "`link` has no `lin`"),
        ] {
            let wrong = with(set);
            assert!(
                !wrong.status.success() && text(&wrong).contains(said),
                "{command} {set}: {}",
                text(&wrong)
            );
        }
        if command != "test" {
            let wrong = text(&with("port.wan.rat=9mbit"));
            assert!(wrong.contains("[house.toml:12:1]"), "the place in the user's file: {wrong}");
        }
    }
}

/// A search around a policy ends below the line, and nothing beyond it is ever written.
#[test]
fn a_rate_beyond_the_line_is_neither_found_nor_written() {
    let folder = folder();
    let tune = |file: &str, vary: &str, more: &[&str]| {
        let fixed = [
            "tune",
            file,
            "--vary",
            vary,
            "--goal",
            "max group.upload.goodput.sum",
            "--runs",
            "16",
            "--seeds",
            "1",
        ];
        let output =
            lockgate(folder.path(), &[&fixed[..], &["--validate", "101..102", "--json", "-"], more].concat());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (json, output)
    };
    // A line of 10 Mbit/s: from 80 to 120 %.
    let limit = ["--subject-to", "flow.ping.rtt.p95 <= 60ms"];
    let (json, output) = tune("house.toml", "port.wan.rate=8mbit..12mbit", &limit);
    let winner = json["winner"].as_u64().unwrap_or_else(|| panic!("{}", text(&output)));
    let value = json["tried"][winner as usize]["values"][0].as_str().unwrap_or_default().to_owned();
    let rate = value.trim_end_matches("mbit").parse::<f64>().unwrap_or_else(|_| panic!("{value}"));
    assert!((9.0..=9.9).contains(&rate), "{value}: {}", text(&output));
    // Without the condition, the search may end anywhere: what is beyond the line is not written, even by its
    // number. All that a full line carries is the same.
    let beyond = "port.wan.rate=11mbit,12mbit,13mbit,14mbit,15mbit";
    let (json, output) = tune("house.toml", beyond, &["--write"]);
    assert!(text(&output).contains("nothing is written: nothing is better"), "{}", text(&output));
    let winner = json["winner"].as_u64().unwrap_or_else(|| panic!("{}", text(&output)));
    let (_, output) = tune("house.toml", beyond, &[&format!("--write={}", winner + 1)]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    for said in [
        "nothing is written: the port `router:modem` would send 1",
        "the link `line`",
        "--set link.line.rate.up=",
    ] {
        assert!(text(&output).contains(said), "{said}: {}", text(&output));
    }
    assert_eq!(fs::read_to_string(folder.path().join("house.toml")).expect("a policy"), HOUSE);
}

/// What is worse in a goal than the file is written only by its number.
#[test]
fn no_point_is_written_over_a_file_that_is_better_in_a_goal() {
    let folder = folder();
    let tune = |more: &[&str]| {
        let fixed = [
            "tune",
            "house.toml",
            "--vary",
            "port.wan.rate=8.6mbit,8.8mbit,9mbit,9.1mbit,9.2mbit",
            "--goal",
            "max group.upload.goodput.sum",
            "--runs",
            "5",
            "--seeds",
            "1",
            "--validate",
            "101..104",
        ];
        lockgate(folder.path(), &[&fixed[..], more].concat())
    };
    let policy = || fs::read_to_string(folder.path().join("house.toml")).expect("a policy");
    let delay = ["--goal", "min flow.ping.rtt.p95"];
    let both = tune(&[&delay[..], &["--write"]].concat());
    assert_eq!(both.status.code(), Some(0), "{}", text(&both));
    let why = "nothing is better than the file as it is: no point is better in one goal and worse in none; `--write=";
    let said = text(&both);
    assert!(said.contains(&format!("nothing is written: {why}")), "{said}");
    assert_eq!(policy(), HOUSE, "{said}");
    let single = text(&tune(&["--write"]));
    assert!(
        single.contains("nothing is written: nothing is better than the file as it is; `--write="),
        "{single}"
    );
    assert!(single.contains("Nothing is better than the file as it is. The best point"), "{single}");
    assert_eq!(policy(), HOUSE, "{single}");
    let unknown = tune(&[&delay[..], &["--write=9"]].concat());
    assert_eq!(unknown.status.code(), Some(1), "{}", text(&unknown));
    assert!(text(&unknown).contains("nothing is written: #9 is not recommended"), "{}", text(&unknown));
    assert_eq!(policy(), HOUSE);
    let (_, number) = said.split_once(why).expect("a number");
    let number = number.split('`').next().expect("a number");
    let written = tune(&[&delay[..], &[&format!("--write={number}")]].concat());
    assert_eq!(written.status.code(), Some(0), "{}", text(&written));
    assert!(policy() != HOUSE && policy().contains("rate = \""), "{}", text(&written));
}

/// A difference of two metrics is a constraint and a goal as it is an expectation.
#[test]
fn a_search_takes_differences() {
    let folder = folder();
    let difference = "flow.ping.rtt.p95 - flow.ping.rtt.min";
    let bound = format!("{difference} <= 30ms");
    let tuned = lockgate(
        folder.path(),
        &[
            "tune",
            "house.toml",
            "--vary",
            "port.wan.rate=8mbit,9mbit,9.5mbit,11mbit,12mbit",
            "--goal",
            "max group.upload.goodput.sum",
            "--subject-to",
            &bound,
            "--runs",
            "5",
            "--seeds",
            "1",
            "--validate",
            "101",
            "--json",
            "-",
        ],
    );
    let json: serde_json::Value = serde_json::from_slice(&tuned.stdout).unwrap_or_default();
    assert_eq!(json["metrics"][1], difference, "{}", text(&tuned));
    for point in json["tried"].as_array().expect("points") {
        let is_below = ["8mbit", "9mbit", "9.5mbit"].iter().any(|rate| point["values"][0] == *rate);
        assert_eq!(point["feasible"], is_below, "the line has 10 Mbit/s: {point}");
    }
    let units = [
        "tune",
        "house.toml",
        "--vary",
        "port.wan.rate=8mbit,9mbit",
        "--goal",
        "min flow.ping.rtt.p95 - flow.ping.loss",
    ];
    let refused = text(&lockgate(folder.path(), &units));
    assert!(refused.contains("a difference has one unit"), "{refused}");
}

/// A search in which nothing differs names no winner, and the reason.
#[test]
fn a_search_over_a_queue_that_is_out_of_use_has_no_winner() {
    let folder = folder();
    let scenario = "title = \"two roots\"\nduration = \"1s\"\nnode = { a = {}, b = {} }\n\
                    link.l = { between = [\"a\", \"b\"], rate = \"5mbit\" }\n\
                    flow.f = { from = \"a\", to = \"b\", transport = \"udp\", size = \"500B\", rate = \"6mbit\" }\n\
                    [port.\"a:b\"]\nroot = \"fifo\"\nalternatives = [\"cake\"]\nqueue.fifo = { kind = \"fifo\" }\n\
                    queue.cake = { kind = \"cake\", bandwidth = \"4mbit\" }\n";
    fs::write(folder.path().join("roots.toml"), scenario).expect("written");
    let arguments = [
        "tune",
        "roots.toml",
        "--vary",
        "port.a:b.queue.cake.bandwidth=1mbit..5mbit",
        "--goal",
        "max flow.f.goodput",
    ];
    let tuned = lockgate(folder.path(), &[&arguments[..], &["--runs", "10"]].concat());
    let said = text(&tuned);
    assert_eq!(tuned.status.code(), Some(3), "{said}");
    assert!(said.contains("Take any: all ") && !said.contains("The winner"), "{said}");
    assert!(said.contains("The queue `cake` of `a:b` is out of use: the root there is `fifo`."), "{said}");
}
