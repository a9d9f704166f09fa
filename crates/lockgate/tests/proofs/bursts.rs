//! The worst traffic by hand comes close to its bound, in time and in the buffer.

use std::fmt::Write as _;

use lockgate::Options;

use super::attacks::found_of_bound;
use super::{Files, LINE, capture, flow, held};

/// Name of a flow, its envelope, and its packets: times in nanoseconds, and lengths.
type Greedy<'a> = (&'a str, &'a str, Vec<(u64, u32)>);

/// Returns how near the run comes to the bound of `flow`.
fn tightness(queues: &str, flows: &[Greedy<'_>], flow: &str) -> f64 {
    let mut text = format!("{LINE}{queues}");
    let mut files = Files::new();
    for (name, envelope, packets) in flows {
        let start = packets[0].0;
        writeln!(text, "flow.{name} = {{ from = \"a\", to = \"b\", start = \"{start}ns\", replay = {{ file = \"{name}.pcap\" }}, envelope = {{ {envelope} }} }}").expect("a string");
        files.insert(format!("{name}.pcap"), capture(packets));
    }
    let results = held(&text, &files);
    let (_, longest, bound) = results.iter().find(|(name, ..)| name == flow).expect("the flow");
    let bound = bound.clone().expect("a bound");
    assert!(*longest <= bound * (1.0 + 1e-9), "{longest} s, beyond {bound} s");
    longest / bound
}

#[test]
fn the_worst_traffic_comes_close_to_the_bound() {
    // FIFO: all bursts at once.
    let burst = |at: u64, count: usize, length: u32| vec![(at, length); count];
    let envelope = "rate = \"1mbit\", burst = \"4kB\", longest = \"1000B\"";
    let flows = [
        ("x", envelope, burst(0, 4, 1000)),
        ("y", envelope, burst(0, 4, 1000)),
        ("z", envelope, burst(0, 4, 1000)),
    ];
    assert!(tightness("", &flows, "z") > 0.999);
    // Priority: the longest low packet begins just before all others come, and high ones go on coming.
    let queues = "port.\"a:b\".queue.top = { kind = \"prio\", children = [\"h\", \"m\", \"l\"] }\n\
        port.\"a:b\".queue.h = { kind = \"fifo\", match = [{ flow = \"high\" }] }\n\
        port.\"a:b\".queue.m = { kind = \"fifo\", match = [{ flow = \"middle\" }] }\n\
        port.\"a:b\".queue.l = { kind = \"fifo\" }\n";
    let mut high = burst(1, 4, 500);
    // 2 Mbit/s: 500 bytes each 2 ms.
    high.extend((1..20).map(|number| (1 + number * 2_000_000, 500)));
    let flows = [
        ("low", "rate = \"1mbit\", burst = \"1500B\", longest = \"1500B\"", burst(0, 1, 1500)),
        ("high", "rate = \"2mbit\", burst = \"2kB\", longest = \"500B\"", high),
        (
            "middle",
            "rate = \"1mbit\", burst = \"6kB\", shortest = \"1000B\", longest = \"1000B\"",
            burst(1, 6, 1000),
        ),
    ];
    assert!(tightness(queues, &flows, "middle") > 0.95, "{}", tightness(queues, &flows, "middle"));
    // Deficit round robin: the other's last packet is in service, and it has rejoined the round before.
    let queues = "port.\"a:b\".queue.top = { kind = \"drr\", children = [\"p\", \"q\"] }\n\
        port.\"a:b\".queue.p = { kind = \"fifo\", quantum = \"1000B\", match = [{ flow = \"own\" }] }\n\
        port.\"a:b\".queue.q = { kind = \"fifo\", quantum = \"9000B\" }\n";
    let mut other = burst(0, 1, 1000);
    other.extend(burst(1, 400, 1000));
    let flows = [
        (
            "own",
            "rate = \"400kbit\", burst = \"40kB\", shortest = \"100B\", longest = \"100B\"",
            burst(2, 400, 100),
        ),
        ("other", "rate = \"2mbit\", burst = \"401kB\", shortest = \"1000B\", longest = \"1000B\"", other),
    ];
    assert!(tightness(queues, &flows, "own") > 0.95, "{}", tightness(queues, &flows, "own"));
}

#[test]
fn a_buffer_of_the_bound_never_drops() {
    // Three bursts of 4 kB at once: 12 kB with the packet in service.
    let run = |limit: &str| {
        let envelope = "rate = \"1mbit\", burst = \"4kB\", shortest = \"1000B\", longest = \"1000B\"";
        let mut text = format!("{LINE}port.\"a:b\".queue.q = {{ kind = \"fifo\", limit = \"{limit}\" }}\n");
        let mut files = Files::new();
        for name in ["x", "y", "z"] {
            writeln!(text, "flow.{name} = {{ from = \"a\", to = \"b\", replay = {{ file = \"{name}.pcap\" }}, envelope = {{ {envelope} }} }}").expect("a string");
            files.insert(format!("{name}.pcap"), capture(&[(0, 1000); 4]));
        }
        let scenario = lockgate::read_text(&text, "buffer", &files, &[]).expect("a scenario");
        let runs = lockgate::run(&scenario, &Options::default()).expect("a run");
        let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
        let queue = &summary.ports["a:b"].queues["q"];
        (queue.buffer_bound_bytes, queue.may_overflow, queue.dropped_packets)
    };
    assert_eq!(run("12000B"), (Some(12_000), false, 0));
    // The packet in service is on the line, not in the queue.
    assert_eq!(run("11000B"), (Some(12_000), true, 0));
    assert_eq!(run("10000B"), (Some(12_000), true, 1));
}

#[test]
fn a_class_waits_for_the_bursts_of_the_others() {
    // HTB at 8 Mbit/s: a packet of the last class is in service, then the other class sends its burst
    // and goes into debt. The own packet waits 7 ms; 13 ms are proven, as it might have had a debt, too.
    let class = |name: &str, flow: &str| {
        let rules = format!("match = [{{ flow = \"{flow}\" }}]");
        let share = "rate = \"2mbit\", burst = \"4kB\", cburst = \"4kB\"";
        format!("port.\"a:b\".queue.{name} = {{ kind = \"fifo\", {share}, {rules} }}\n")
    };
    let queues = format!(
        "port.\"a:b\".queue.top = {{ kind = \"htb\", children = [\"c\", \"d\", \"e\"] }}\n{}{}{}",
        class("c", "own").replace("4kB\", match", "4kB\", prio = 1, match"),
        class("d", "other"),
        class("e", "low").replace("4kB\", match", "4kB\", prio = 3, match"),
    );
    let envelope = "rate = \"1mbit\", burst = \"5kB\", shortest = \"1000B\", longest = \"1000B\"";
    let flows = [
        ("low", envelope, vec![(0, 1000)]),
        ("other", envelope, vec![(1, 1000); 5]),
        (
            "own",
            "rate = \"1mbit\", burst = \"1kB\", shortest = \"1000B\", longest = \"1000B\"",
            vec![(2, 1000)],
        ),
    ];
    let near = tightness(&queues, &flows, "own");
    assert!((near - 7.0 / 13.0).abs() < 0.001, "{near}");
    // A packet of 1000 bytes is a debt of 80 s at 100 bit/s, of which 20 s are forgiven.
    let slow = queues.replacen("rate = \"2mbit\"", "rate = \"100bit\"", 2).replacen("100bit", "2mbit", 1);
    let all = ["own", "other", "low"].map(|name| flow(name, [90, 1000, 1000, 1000])).concat();
    let text = format!("{LINE}{slow}{all}");
    let why = found_of_bound(&text, "own", 1).expect_err("no bound");
    assert_eq!(why.as_str(), "`d` is so slow that a part of a packet's debt is forgiven");
}
