//! `lockgate step`: golden texts of decisions, and textbook exercises whose tags and deficits are known.
//!
//! `LOCKGATE_RENEW=1` writes the texts.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use lockgate::text::width;
use serde_json::Value;

const COLUMNS: usize = 100;

fn lockgate(scenario: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("case.toml"), scenario).expect("written");
    Command::new(env!("CARGO_BIN_EXE_lockgate"))
        .args(["step", "case.toml"])
        .args(arguments)
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .env("COLUMNS", COLUMNS.to_string())
        .output()
        .expect("lockgate runs")
}

/// Three flows that together send more than the line carries, and these queues.
fn mixed(queues: &str) -> String {
    format!(
        r#"title = "three flows"
duration = "1s"
node.a = {{}}
node.b = {{}}
link.line = {{ between = ["a", "b"], rate = "8mbit" }}
[port."a:b".queue]
{queues}
[flow]
voice = {{ from = "a", to = "b", transport = "udp", size = "200B", rate = "400kbit" }}
web = {{ from = "a", to = "b", transport = "udp", size = "1000B", rate = "5mbit", start = "3ms" }}
bulk = {{ from = "a", to = "b", transport = "udp", size = "1500B", rate = "8mbit", start = "5ms" }}
"#
    )
}

/// Three queues, one a flow, below a discipline of this kind and with these shares.
fn classes(kind: &str, shares: [&str; 3]) -> String {
    let [voice, web, bulk] = shares;
    mixed(&format!(
        r#"q = {{ kind = "{kind}", children = ["v", "w", "b"] }}
v = {{ kind = "fifo", limit = "20p", match = [{{ flow = "voice" }}]{voice} }}
w = {{ kind = "fifo", limit = "20p", match = [{{ flow = "web" }}]{web} }}
b = {{ kind = "fifo", limit = "20p"{bulk} }}"#
    ))
}

/// Compares ten steps with the golden text.
fn is_as_known(name: &str, scenario: &str, arguments: &[&str]) {
    let output = lockgate(scenario, &[&["--count", "10"], arguments].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        text.lines().filter(|line| line.contains("why: q:")).count(),
        10 - drops(&text),
        "{name}: {text}"
    );
    for line in text.lines() {
        assert!(width(line) <= COLUMNS, "{name}: {line}");
        assert!(!line.ends_with(' '), "{name}: {line:?}");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/steps/{name}.txt"));
    if std::env::var_os("LOCKGATE_RENEW").is_some() {
        fs::write(&file, &text).expect("written");
    }
    let known = fs::read_to_string(&file).unwrap_or_default();
    assert!(text == known, "{} differs (LOCKGATE_RENEW=1 writes it):\n{text}", file.display());
}

/// Returns the number of steps that are drops on arrival.
fn drops(text: &str) -> usize {
    text.lines().filter(|line| line.contains("s drops ")).count()
}

#[test]
fn decisions_of_disciplines_over_classes() {
    let weights = [", weight = 1", ", weight = 2", ", weight = 4"];
    let late = ["--from", "20ms"];
    is_as_known("prio", &classes("prio", ["", "", ""]), &late);
    let quanta = [", quantum = \"300B\"", ", quantum = \"1500B\"", ", quantum = \"3000B\""];
    is_as_known("drr", &classes("drr", quanta), &late);
    is_as_known("wrr", &classes("wrr", weights), &late);
    is_as_known("scfq", &classes("scfq", weights), &late);
    is_as_known("wf2q+", &classes("wf2q+", weights), &late);
    is_as_known("wfq", &classes("wfq", weights), &late);
    let deadlines = [", deadline = \"5ms\"", ", deadline = \"20ms\"", ", deadline = \"50ms\""];
    is_as_known("edf", &classes("edf", deadlines), &late);
    let htb = mixed(
        r#"q = { kind = "htb", children = ["top"] }
top = { kind = "class", children = ["v", "w", "b"], rate = "7mbit", burst = "1600B" }
v = { kind = "fifo", rate = "500kbit", ceil = "7mbit", match = [{ flow = "voice" }] }
w = { kind = "fifo", rate = "2mbit", ceil = "7mbit", prio = 1, match = [{ flow = "web" }] }
b = { kind = "fifo", rate = "4mbit", ceil = "5mbit", prio = 1 }"#,
    );
    is_as_known("htb", &htb, &late);
}

#[test]
fn decisions_of_single_queues_and_flow_queues() {
    let queue = |text: &str| mixed(&format!("q = {{ {text} }}"));
    is_as_known("fifo", &queue(r#"kind = "fifo", limit = "20p""#), &["--until", "drop"]);
    is_as_known("tbf", &queue(r#"kind = "tbf", rate = "6mbit", burst = "3kB""#), &["--from", "20ms"]);
    is_as_known("codel", &queue(r#"kind = "codel", interval = "20ms""#), &["--until", "drop"]);
    is_as_known("fq_codel", &queue(r#"kind = "fq_codel", interval = "20ms""#), &["--from", "60ms"]);
    is_as_known(
        "red",
        &queue(r#"kind = "red", limit = "60kB", min = "5kB", max = "15kB", avpkt = "1000B""#),
        &["--from", "60ms"],
    );
    is_as_known("pie", &queue(r#"kind = "pie""#), &["--from", "300ms"]);
    is_as_known(
        "cake",
        &queue(r#"kind = "cake", bandwidth = "7mbit", diffserv = "besteffort""#),
        &["--from", "60ms"],
    );
    is_as_known("sfq", &queue(r#"kind = "sfq""#), &["--from", "20ms"]);
}

/// Decisions of a scenario: the flow of each packet sent, and a quantity of the chosen row in the level of a
/// kind.
fn chosen(scenario: &str, kind: &str, field: &str) -> Vec<(String, f64)> {
    let output = lockgate(scenario, &["--count", "100", "--until", "100s", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let steps = document["steps"].as_array().expect("steps");
    let sent = steps.iter().filter(|step| step["step"]["event"] == "departure");
    let chosen = sent.filter_map(|step| {
        let level = step["decision"].as_array()?.iter().find(|level| level["kind"] == kind)?;
        let row = level["choice"]["packet"]["row"].as_u64().expect("a row") as usize;
        let fields = level["rows"][row]["fields"].as_array().expect("fields");
        let quantity = fields.iter().find(|quantity| quantity["name"] == field)?;
        let flow = step["step"]["packet"]["flow"].as_str().expect("a name");
        Some((flow.to_owned(), quantity["value"]["number"].as_f64().expect("a number")))
    });
    chosen.collect()
}

/// A line of a byte a millisecond with these queues, and packets: flow, length, and start in milliseconds.
fn exercise(queues: &str, packets: &[(&str, u32, u32)]) -> String {
    let flows = packets.iter().map(|(name, length, start)| {
        format!(
            "{name} = {{ from = \"a\", to = \"b\", transport = \"udp\", size = \"{length}B\", rate = \"8kbit\", \
             packets = \"1p\", start = \"{start}ms\" }}\n"
        )
    });
    format!(
        "title = \"exercise\"\nduration = \"30s\"\nnode.a = {{}}\nnode.b = {{}}\n\
         link.line = {{ between = [\"a\", \"b\"], rate = \"8kbit\" }}\n[port.\"a:b\".queue]\n{queues}\n[flow]\n{}",
        flows.collect::<String>()
    )
}

fn is(found: &[(String, f64)], expected: &[(&str, f64)]) {
    let names = |(name, number): &(&str, f64)| ((*name).to_owned(), *number);
    let expected: Vec<(String, f64)> = expected.iter().map(names).collect();
    let near =
        |(one, other): (&(String, f64), &(String, f64))| one.0 == other.0 && (one.1 - other.1).abs() < 1e-6;
    assert!(
        found.len() == expected.len() && found.iter().zip(&expected).all(near),
        "{found:?}\n{expected:?}"
    );
}

/// Two connections of weights 1 and 2: the homework of a course on networks, with its finish numbers.
#[test]
fn tags_of_two_weighted_connections_are_those_of_the_homework() {
    let case = |kind: &str| {
        exercise(
            &format!(
                "q = {{ kind = \"{kind}\", children = [\"c1\", \"c2\"] }}\n\
                 c1 = {{ kind = \"fifo\", weight = 1, match = [{{ flow = [\"p11\", \"p12\"] }}] }}\n\
                 c2 = {{ kind = \"fifo\", weight = 2 }}"
            ),
            &[
                ("p11", 3000, 0),
                ("p21", 1000, 1000),
                ("p22", 1000, 2000),
                ("p23", 1000, 2999),
                ("p12", 900, 2999),
            ],
        )
    };
    // Self-clocked: V is 3000 from the first packet on.
    let scfq = [("p11", 3000.0), ("p21", 3500.0), ("p12", 3900.0), ("p22", 4000.0), ("p23", 4500.0)];
    is(&chosen(&case("scfq"), "scfq", "finish tag"), &scfq);
    let wfq = [("p11", 3000.0), ("p21", 1500.0), ("p22", 2000.0), ("p23", 2500.0), ("p12", 3900.0)];
    is(&chosen(&case("wfq"), "wfq", "finish tag"), &wfq);
}

/// Three equal connections; the round number at the end is 7.
#[test]
fn tags_of_three_equal_connections_are_the_finish_numbers_of_the_exercise() {
    let queues = "q = { kind = \"wfq\", children = [\"qa\", \"qb\", \"qc\"] }\n\
                  qa = { kind = \"fifo\", match = [{ flow = \"a1\" }] }\n\
                  qb = { kind = \"fifo\", match = [{ flow = [\"b1\", \"b2\"] }] }\n\
                  qc = { kind = \"fifo\", match = [{ flow = \"c1\" }] }";
    let case =
        exercise(queues, &[("b1", 3000, 0), ("a1", 4000, 0), ("c1", 4000, 2000), ("b2", 3000, 10_000)]);
    let tags = [("b1", 3000.0), ("a1", 4000.0), ("c1", 5000.0), ("b2", 7000.0)];
    is(&chosen(&case, "wfq", "finish tag"), &tags);
}

/// Three buffers of equal weight, packet by packet.
#[test]
fn order_of_three_buffers_is_that_of_packetised_processor_sharing() {
    let queues = "q = { kind = \"wfq\", children = [\"one\", \"two\", \"three\"] }\n\
                  one = { kind = \"fifo\", match = [{ flow = [\"p1a\", \"p1b\"] }] }\n\
                  two = { kind = \"fifo\", match = [{ flow = [\"p2a\", \"p2b\"] }] }\n\
                  three = { kind = \"fifo\" }";
    let packets = [
        ("p1a", 2000, 0),
        ("p2a", 3000, 1000),
        ("p2b", 1000, 2000),
        ("p3a", 5000, 3000),
        ("p1b", 1000, 4000),
    ];
    let tags = [("p1a", 2000.0), ("p2a", 4000.0), ("p1b", 3500.0), ("p2b", 5000.0), ("p3a", 7000.0)];
    is(&chosen(&exercise(queues, &packets), "wfq", "finish tag"), &tags);
}

/// Eight packets of three flows that wait behind another: the order of their cumulative lengths.
#[test]
fn tags_of_eight_waiting_packets_are_their_cumulative_lengths_over_the_weights() {
    let case = |weights: [u32; 3]| {
        let [one, two, three] = weights;
        let queues = format!(
            "first = {{ kind = \"prio\", children = [\"plug\", \"fq\"] }}\n\
             plug = {{ kind = \"fifo\", match = [{{ flow = \"p0\" }}] }}\n\
             fq = {{ kind = \"wfq\", children = [\"q1\", \"q2\", \"q3\"] }}\n\
             q1 = {{ kind = \"fifo\", weight = {one}, match = [{{ flow = [\"p1\", \"p2\"] }}] }}\n\
             q2 = {{ kind = \"fifo\", weight = {two}, match = [{{ flow = [\"p3\", \"p4\", \"p5\"] }}] }}\n\
             q3 = {{ kind = \"fifo\", weight = {three} }}"
        );
        let lengths = [1000, 200, 200, 160, 120, 160, 210, 150, 90];
        let names = ["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"];
        let starts = [0, 500, 500, 500, 500, 500, 500, 500, 500];
        let packets: Vec<_> = (0..9).map(|index| (names[index], lengths[index], starts[index])).collect();
        exercise(&queues, &packets)
    };
    let equal = [
        ("p3", 160.0),
        ("p1", 200.0),
        ("p6", 210.0),
        ("p4", 280.0),
        ("p7", 360.0),
        ("p2", 400.0),
        ("p5", 440.0),
        ("p8", 450.0),
    ];
    is(&chosen(&case([1, 1, 1]), "wfq", "finish tag"), &equal);
    // Weights 2, 4 and 3.
    let weighted = [
        ("p3", 40.0),
        ("p4", 70.0),
        ("p6", 70.0),
        ("p1", 100.0),
        ("p5", 110.0),
        ("p7", 120.0),
        ("p8", 150.0),
        ("p2", 200.0),
    ];
    is(&chosen(&case([2, 4, 3]), "wfq", "finish tag"), &weighted);
}

/// The example of a course's notes on deficit round robin: quantum 500.
#[test]
fn deficits_are_those_of_the_notes() {
    let queues = "first = { kind = \"prio\", children = [\"plug\", \"drr\"] }\n\
                  plug = { kind = \"fifo\", match = [{ flow = \"f0\" }] }\n\
                  drr = { kind = \"drr\", children = [\"q1\", \"q2\", \"q3\"] }\n\
                  q1 = { kind = \"fifo\", quantum = \"500B\", match = [{ flow = [\"f1a\", \"f1b\"] }] }\n\
                  q2 = { kind = \"fifo\", quantum = \"500B\", match = [{ flow = [\"f2a\", \"f2b\", \"f2c\"] }] }\n\
                  q3 = { kind = \"fifo\", quantum = \"500B\" }";
    let packets = [
        ("f0", 1000, 0),
        ("f1a", 200, 500),
        ("f1b", 400, 500),
        ("f2a", 100, 500),
        ("f2b", 200, 500),
        ("f2c", 300, 500),
        ("f3a", 200, 500),
        ("f3b", 200, 500),
        ("f3c", 200, 500),
    ];
    // The deficit counters before each packet, as in the notes: 500 - 200 = 300 < 400 ends the turn of 1.
    let deficits = [
        ("f1a", 500.0),
        ("f2a", 500.0),
        ("f2b", 400.0),
        ("f3a", 500.0),
        ("f3b", 300.0),
        ("f1b", 800.0),
        ("f2c", 700.0),
        ("f3c", 600.0),
    ];
    is(&chosen(&exercise(queues, &packets), "drr", "deficit"), &deficits);
}

#[test]
fn the_port_with_most_waiting_is_the_default_and_wrong_names_and_times_are_refused() {
    let case = mixed("q = { kind = \"fifo\", limit = \"20p\" }");
    let output = lockgate(&case, &["--count", "1"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("port a:b, seed 1\n"), "{text}");
    for (arguments, error) in [
        (&["--port", "a:c"][..], "has no port `a:c`"),
        (&["--until", "dropped"], "`--until dropped` is neither an event nor a time"),
        (&["--from", "2"], "`--from 2` is not a time"),
        (&["--from", "1s"], "`--from 1s` is not within the run"),
        (&["--until", "late", "--late", "soon"], "`--late soon` is not a time"),
        (&["--count", "0"], "0 is not in 1..=65535"),
    ] {
        let output = lockgate(&case, arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(error), "{errors}");
    }
    let output = lockgate(&case, &["--until", "mark", "--count", "1"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("no `mark` until the end of the run at 1s"), "{errors}");
}
