//! How fast the simulator is: the chain of three routers of `papers/caqt`, beside a bare event loop.
//!
//! ```text
//! cargo bench -p lockgate-sim --bench s1 [-- REPETITIONS]
//! ```
//!
//! The same network, load and duration go through the ordinary path (scenario, ports, nodes, delay
//! histograms of every flow) and through a program that has nothing but events, rings and counters. The
//! two take turns, so that the machine's moods hit both; the ratio of the medians is what to compare.
//! Where the bare loop is not to be had, ours alone is printed.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
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
    let limit = build_limit();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for repetition in 0..repetitions {
        if let Some(program) = &limit {
            bare.push(run_limit(program, repetition + 1));
        }
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
    if bare.is_empty() {
        println!("skipped: the bare event loop (its source or rustc is not there)");
        return;
    }
    let bare = median(&mut bare);
    println!("bare loop  {:6.2} M packet-hops per CPU-second ({:.1} ns each)", bare / 1e6, 1e9 / bare);
    println!("ratio      {:6.2}", ours / bare);
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn scenario() -> Scenario {
    let text = include_str!("../../../papers/caqt/caqt.toml");
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

/// Compiles the bare loop into the target directory.
fn build_limit() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench/s1-limit.rs");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("s1-limit");
    let built = source.exists()
        && Command::new("rustc")
            .args(["-C", "opt-level=3", "-C", "codegen-units=1", "--edition=2021", "-o"])
            .arg(&program)
            .arg(&source)
            .status()
            .is_ok_and(|status| status.success());
    built.then_some(program)
}

/// Packet-hops per CPU-second of one run of the bare loop.
fn run_limit(program: &Path, seed: u64) -> f64 {
    let output = Command::new(program)
        .args([MEAN_GAP_MS.to_string(), SECONDS.to_string(), "1".into(), "1".into(), seed.to_string()])
        .output()
        .expect("the bare loop runs");
    String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .find_map(|word| word.strip_prefix("hops_all_per_cpu_s=")?.parse().ok())
        .expect("the bare loop prints its speed")
}
