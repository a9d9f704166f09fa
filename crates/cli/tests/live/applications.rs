//! All kinds of flows besides plain sending, over the kernel's TCP: echoes, pages, files by FTP, numbered
//! bytes.

use std::process::Command;

use serde_json::Value;

use super::{Directory, LOCKGATE, is_possible, summary};

/// Returns a scenario with every kind of flow, on a line with a one-way delay of 5 ms.
fn everything(nodes: &str) -> String {
    format!(
        r#"
title = "applications"
duration = "6s"
[node]
{nodes}
[link]
la = {{ between = ["client", "router"], rate = "100mbit", delay = "1ms" }}
lb = {{ between = ["router", "server"], rate = "20mbit", delay = "4ms" }}
[flow.ping]
from = "client"
to = "server"
size = "200B"
gap = "50ms"
echo = true
[flow.ask]
from = "client"
to = "server"
transport = "tcp"
size = "100B"
gap = "100ms"
echo = true
[flow.user]
from = "client"
to = "server"
transport = "tcp"
pages = {{ objects = 3, object = "5kB", think = "100ms" }}
[flow.put]
from = "client"
to = "server"
transport = "tcp"
bytes = "40kB"
ftp = {{}}
[flow.get]
from = "server"
to = "client"
transport = "tcp"
bytes = "30kB"
ftp = {{ get = true, after = "10ms" }}
[flow.short]
from = "client"
to = "server"
transport = "tcp"
count = 10
file = {{ distribution = "empirical", values = ["2kB", "20kB"] }}
every = {{ distribution = "exponential", mean = "50ms" }}
[flow.listed]
from = "client"
to = "server"
transport = "tcp"
files = "sizes.txt"
"#
    )
}

const FOUR: &str = "client = {}\nrouter = {}\nserver = {}\n";
const SIX: &str = "client = { address = \"fd00::1\" }\nrouter = { address = \"fd00::2\" }\n\
                   server = { address = \"fd00::3\" }\n";

/// One-way delay of the line, in seconds: no packet is faster.
const WAY: f64 = 5e-3;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Returns the bytes that a flow's application received in `seconds`.
fn delivered(flow: &Value, seconds: f64) -> f64 {
    number(&flow["goodput_bps"]) * seconds / 8.0
}

#[test]
fn every_application_runs_on_the_kernels_tcp() {
    if !is_possible() {
        return;
    }
    for nodes in [FOUR, SIX] {
        let directory = Directory::new();
        std::fs::write(directory.0.path().join("sizes.txt"), "12kB\n3kB 200ms\n").expect("written");
        let document = summary(&directory.command(&everything(nodes)).output().expect("runs"));
        let flows = &document["flows"];
        for (name, flow) in flows.as_object().expect("flows") {
            let count = |key: &str| flow[key].as_u64().expect("a number");
            let balance = count("received_packets") + count("lost_packets") + count("inside_packets");
            assert_eq!(count("sent_packets"), balance, "{name}");
        }
        assert!(flows.get("(other)").is_none_or(|other| number(&other["sent_packets"]) < 20.0), "{flows}");
        // The answers arrived, and no sooner than a round trip after their requests.
        for name in ["ping", "ask"] {
            let echo = &flows[name]["echo"];
            let (requests, answers) = (number(&echo["requests"]), number(&echo["answers"]));
            assert!(answers >= 1.0 && answers <= requests && requests < 120.0, "{name}: {echo}");
            assert!(number(&echo["rtt_s"]["min"]) >= 2.0 * WAY, "{name}: {echo}");
        }
        // The first page needs the handshake; each page takes two round trips, one for its first object and
        // one for the others.
        let pages = &flows["user"]["pages"];
        assert!(number(&pages["loaded"]) >= 1.0, "{pages}");
        assert!(number(&pages["load_s"]["min"]) >= 4.0 * WAY, "{pages}");
        let objects = delivered(&flows["user/return"], 6.0);
        assert!(objects >= 15_000.0 * number(&pages["loaded"]) - 1.0, "{objects}");
        // A stored file has arrived after 17 one-way trips, a fetched one after 16 and six pauses of the
        // server.
        for (name, least, bytes) in [("put", 17.0 * WAY, 40_000.0), ("get", 16.0 * WAY + 0.06, 30_000.0)] {
            assert!(number(&flows[name]["fct_s"]) >= least, "{name}: {}", flows[name]);
            assert!((delivered(&flows[name], 6.0) - bytes).abs() < 1.0, "{name}: {}", flows[name]);
        }
        assert!(flows["put/control"]["fct_s"].is_number(), "the dialogue ended: {}", flows["put/control"]);
        // The client's messages: USER anonymous, PASS anonymous@, TYPE I, PASV (EPSV), STOR file.bin, QUIT.
        assert!((delivered(&flows["put/control"], 6.0) - 68.0).abs() < 0.5, "{}", flows["put/control"]);
        let group = |name: &str| document["groups"][name]["all"]["completed"].as_u64();
        assert_eq!((group("short"), group("listed")), (Some(10), Some(2)), "{}", document["groups"]);
        let warnings = document["warnings"].to_string();
        assert!(!warnings.contains("broke"), "{warnings}");
    }
}

#[test]
fn a_twin_of_echoes_asks_the_same() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    std::fs::write(directory.0.path().join("sizes.txt"), "12kB\n").expect("written");
    let file = directory.file(&everything(FOUR));
    let mut command = Command::new(LOCKGATE);
    command.args(["run", "--twin", "--quiet", "--json", "--out"]).arg(directory.out()).arg(file);
    let done = command.output().expect("runs");
    // 3: a tolerance was exceeded, which is possible on a busy machine.
    assert!(matches!(done.status.code(), Some(0 | 3 | 5)), "{done:?}");
    let twin: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let (simulated, live) = (&twin["simulated"]["flows"], &twin["live"]["flows"]);
    let names = |flows: &Value| flows.as_object().expect("flows").keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        names(live).into_iter().filter(|name| name != "(other)").collect::<Vec<_>>(),
        names(simulated),
        "the same flows"
    );
    // The same files, drawn from the same seed, and the same messages of the same dialogue.
    for number in 1..=10 {
        let file = |flows: &Value| flows[format!("short/{number}")]["file"]["bytes"].clone();
        assert_eq!(file(simulated), file(live), "short/{number}");
    }
    for name in ["put/control", "put/control/return", "get/control"] {
        // The addresses in the messages differ in their number of digits.
        let said = |flows: &Value| delivered(&flows[name], 6.0);
        let (simulated, live) = (said(simulated), said(live));
        assert!((simulated - live).abs() < 8.0, "{name}: {simulated} and {live}");
    }
}

/// Senders whose sequence numbers tell how much they have sent: the router's `run2c` classifies 15 360 to 16
/// 383 bytes of each connection, and its SYN, as short. Of connections with random sequence numbers only one
/// in 256 begins in that range.
#[test]
fn bytes_are_numbered_as_a_router_wants_them() {
    if !is_possible() {
        return;
    }
    let text = |sequence: &str| {
        format!(
            r#"
title = "numbers"
duration = "4s"
[node]
client = {{}}
router = {{}}
server = {{}}
[link]
la = {{ between = ["client", "router"], rate = "100mbit", delay = "1ms" }}
lb = {{ between = ["router", "server"], rate = "20mbit", delay = "1ms" }}
[port."router->server"]
root = "classes"
queue.classes = {{ kind = "run2c", children = ["short", "long"] }}
queue.short = {{ kind = "fifo", limit = "1000p" }}
queue.long = {{ kind = "fifo", limit = "1000p" }}
[flow.file]
from = "client"
to = "server"
transport = "tcp"
count = 4
bytes = "60kB"
initial_sequence = "{sequence}"
"#
        )
    };
    let short = |sequence: &str| {
        let document = summary(&Directory::new().command(&text(sequence)).output().expect("runs"));
        assert_eq!(document["groups"]["file"]["all"]["completed"], 4, "{}", document["groups"]);
        number(&document["ports"]["router:server"]["queues"]["short"]["sent_bytes"])
    };
    let (numbered, random) = (short("run2c"), short("random"));
    // 11 or 12 segments each, with 66 bytes of headers; retransmitted segments are short again.
    assert!(numbered >= 4.0 * 15_360.0, "{numbered}");
    assert!(numbered < 4.0 * (16_384.0 + 3_000.0) * 2.0, "{numbered}");
    assert!(random < numbered * 0.7, "{random} and {numbered}");
}

#[test]
fn what_no_kernel_lets_be_chosen_is_refused() {
    if !is_possible() {
        return;
    }
    let directory = Directory::new();
    let text = everything(FOUR).replace("[flow.user]", "[flow.user]\ninitial_sequence = \"run2c\"");
    std::fs::write(directory.0.path().join("sizes.txt"), "12kB\n").expect("written");
    let done = directory.command(&text).output().expect("runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("choose its first sequence number") && said.contains("`user`"), "{said}");
    assert!(!directory.out().exists(), "nothing was written");
}
