//! Cost of a packet through a path, beside that of the same packet in a simulation, in turns; medians.
//!
//! ```text
//! cargo run --release -p lockgate-path --example cost
//! ```
#![allow(clippy::print_stdout, missing_docs)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant as Clock;

use lockgate_engine::random::Seed;
use lockgate_path::{Dscp, Duration, Ecn, Frame, Instant, Path};
use lockgate_sim::{Control, run};

/// One flow over two routers, 62 500 packets of 1000 bytes a second.
const SCENARIO: &str = r#"
title = "cost"
duration = "2s"
node.a = {}
node.r = {}
node.s = {}
node.b = {}
link.one = { between = ["a", "r"], rate = "1gbit", delay = "1ms" }
link.two = { between = ["r", "s"], rate = "600mbit", delay = "1ms" }
link.three = { between = ["s", "b"], rate = "1gbit", delay = "1ms" }
port."r:s".queue.q = { kind = "fq_codel" }
flow.f = { from = "a", to = "b", transport = "udp", size = "1000B", gap = "16us" }
"#;

fn simulated() -> u64 {
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let scenario = lockgate_scenario::read(SCENARIO, "cost", &files, &[]).expect("a scenario");
    run(&scenario, Seed(1), &mut |_| Control::Continue).expect("a run").recording.packet_hops()
}

/// The same packets from outside, with contents of 958 bytes or without.
fn outside(with_contents: bool) -> Result<u64, lockgate_path::Error> {
    let mut path = Path::from_scenario(SCENARIO, 1).take_over("f").build()?;
    let [a, _] = path.ends();
    let (mut now, end) = (Instant::ZERO, Instant::ZERO + Duration::from_secs(2));
    let contents = [7; 958];
    loop {
        now = now + Duration::from_micros(16);
        while path.receive(now.min(end))?.is_some() {}
        if now >= end {
            return Ok(path.finish()?.recording.packet_hops());
        }
        let frame = if with_contents { Frame::new(&contents) } else { Frame::new(958usize) };
        path.send_frame(now, a, frame.ecn(Ecn::NotCapable).dscp(Dscp::DEFAULT))?;
    }
}

/// Returns nanoseconds a packet-hop.
fn timed(one: impl Fn() -> u64) -> f64 {
    let start = Clock::now();
    let hops = one();
    start.elapsed().as_secs_f64() * 1e9 / hops as f64
}

fn main() {
    let mut turns = Vec::new();
    for _ in 0..15 {
        turns.push([
            timed(simulated),
            timed(|| outside(false).expect("a path")),
            timed(|| outside(true).expect("a path")),
        ]);
    }
    let median = |of: &dyn Fn(&[f64; 3]) -> f64| {
        let mut values: Vec<f64> = turns.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    println!("a packet-hop: simulated {:.0} ns", median(&|turn| turn[0]));
    for (with, index) in [("lengths only", 1), ("958 bytes", 2)] {
        let (own, times) = (median(&|turn| turn[index]), median(&|turn| turn[index] / turn[0]));
        println!("through a path, with {with}: {own:.0} ns, {times:.2} times");
    }
}
