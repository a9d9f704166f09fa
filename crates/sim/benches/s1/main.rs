//! How fast the simulator is: the chain of three routers of `papers/caqt`, beside a bare event loop.
//!
//! ```text
//! cargo bench -p lockgate-sim --bench s1 [-- REPETITIONS]
//! ```
//!
//! The same network, load and duration go through the ordinary path (scenario, ports, nodes, delay
//! histograms of every flow) and through [`limit`], which has nothing but events, rings and counters. The
//! two take turns, so that the machine's moods hit both; the ratio of the medians is what to compare.
#![allow(clippy::print_stdout, reason = "a bench prints")]

mod limit;

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_dataplane::clock::cpu_time;
use lockgate_engine::random::Seed;
use lockgate_scenario::{Override, Scenario, read};
use lockgate_sim::{Control, run};

/// The command's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MEAN_GAP_MS: u64 = 55;
const SECONDS: u64 = 6000;

fn main() {
    let repetitions = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(9);
    let scenario = scenario();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for repetition in 0..repetitions {
        bare.push(limit::run(MEAN_GAP_MS, SECONDS, repetition + 1));
        let before = cpu_time();
        let outcome = run(&scenario, Seed(repetition + 1), &mut |_| Control::Continue).expect("runs");
        let seconds = (cpu_time().as_secs_f64() - before.as_secs_f64()).max(1e-9);
        let received: u64 = outcome
            .recording
            .flows
            .iter()
            .map(|flow| flow.totals(lockgate_measure::recording::Window::WholeRun).received.packets)
            .sum();
        if repetition == 0 {
            println!(
                "{} packet-hops, {} events, {received} packets delivered",
                outcome.recording.packet_hops(),
                outcome.recording.engine.events
            );
        }
        ours.push(outcome.recording.packet_hops() as f64 / seconds);
    }
    let ours = median(&mut ours);
    println!("lockgate   {:6.2} M packet-hops per CPU-second ({:.1} ns each)", ours / 1e6, 1e9 / ours);
    let bare = median(&mut bare);
    println!("bare loop  {:6.2} M packet-hops per CPU-second ({:.1} ns each)", bare / 1e6, 1e9 / bare);
    println!("ratio      {:6.2}", ours / bare);
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn scenario() -> Scenario {
    let text = include_str!("../../../../papers/caqt/caqt.toml");
    let mut overrides: Vec<String> = ["a1", "a2", "a3", "b1", "b2", "c1", "c2"]
        .iter()
        .map(|flow| format!("flow.{flow}.gap.mean={MEAN_GAP_MS}ms"))
        .collect();
    overrides.push(format!("duration={SECONDS}s"));
    overrides.push("warmup=0s".to_owned());
    let overrides: Vec<Override> =
        overrides.iter().map(|text| Override::parse(text).expect("a path and a value")).collect();
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    read(text, "caqt.toml", &files, &overrides).expect("a valid scenario")
}
