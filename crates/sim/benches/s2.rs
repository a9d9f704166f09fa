//! How fast TCP is: a hundred bulk flows through one router, 1 Gbit/s, 20 ms round trip, ten seconds.
//!
//! ```text
//! cargo bench -p lockgate-sim --bench s2 [-- REPETITIONS]
//! ```
//!
//! Packet-hops (one packet on one link, acknowledgements too) per CPU-second, with a FIFO of 1000 packets and
//! with FQ-CoDel; SACK, delay histograms and the senders' series on, as in any run. Then the memory that ten
//! thousand flows take.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_dataplane::clock::cpu_time;
use lockgate_engine::random::Seed;
use lockgate_scenario::{Scenario, read};
use lockgate_sim::{Control, run};

/// The command's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let repetitions = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(5);
    for (name, queue) in
        [("fifo 1000p", "kind = \"fifo\", limit = \"1000p\""), ("fq_codel", "kind = \"fq_codel\"")]
    {
        let scenario = scenario(100, "10s", queue);
        let mut speeds = Vec::new();
        for repetition in 0..repetitions {
            let before = cpu_time();
            let outcome = run(&scenario, Seed(repetition + 1), &mut |_| Control::Continue).expect("runs");
            let seconds = (cpu_time().as_secs_f64() - before.as_secs_f64()).max(1e-9);
            let recording = outcome.recording;
            if repetition == 0 {
                let bits: u64 = recording.flows.iter().map(|flow| flow.payload_in_window().0 * 8).sum();
                let again: u64 = recording
                    .flows
                    .iter()
                    .filter_map(|flow| flow.tcp.as_ref()?.last())
                    .map(|last| last.retransmissions)
                    .sum();
                println!(
                    "{name}: {} packet-hops, {} events, goodput {:.1} Mbit/s, {again} retransmissions",
                    recording.packet_hops(),
                    recording.engine.events,
                    bits as f64 / 10.0 / 1e6
                );
            }
            speeds.push(recording.packet_hops() as f64 / seconds);
        }
        speeds.sort_by(f64::total_cmp);
        let median = speeds[speeds.len() / 2];
        println!("{name}: {:6.2} M packet-hops per CPU-second ({:.1} ns each)", median / 1e6, 1e9 / median);
    }
    let before = resident();
    let scenario = scenario(10_000, "2s", "kind = \"fifo\", limit = \"1000p\"");
    let outcome = run(&scenario, Seed(1), &mut |_| Control::Continue).expect("runs");
    println!(
        "10000 flows: {} packet-hops, peak resident set {:.0} MiB (before: {:.0})",
        outcome.recording.packet_hops(),
        resident() / 1024.0,
        before / 1024.0
    );
}

/// The process' peak resident set in KiB, where the system tells.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

fn scenario(flows: u32, duration: &str, queue: &str) -> Scenario {
    let text = format!(
        r#"
duration = "{duration}"
node.senders = {{}}
node.router = {{}}
node.receivers = {{}}
link.in = {{ between = ["senders", "router"], rate = "10gbit" }}
link.out = {{ between = ["router", "receivers"], rate = "1gbit", delay = "10ms" }}
port."router->receivers".root = "q"
port."router->receivers".queue.q = {{ {queue} }}
[flow.bulk]
from = "senders"
to = "receivers"
transport = "tcp"
congestion = "reno"
bytes = "unlimited"
count = {flows}
"#
    );
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    read(&text, "s2.toml", &files, &[]).expect("a valid scenario")
}
