//! Memory of a TCP connection: both of its ends, its two flows with their records, and its share of the queues.
//!
//! ```text
//! cargo test -p lockgate-sim --test connection_memory -- --nocapture
//! ```
//!
//! Figures are differences between a run with twice as many connections and one with so many, a connection: bulk
//! transfers through one router and a FIFO of 1000 packets, 1 Gbit/s, 20 ms round trip.
#![allow(clippy::print_stdout, reason = "prints a table")]

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::packet::Header;
use lockgate_engine::random::Seed;
use lockgate_measure::recording::{Brief, FlowRecord, TcpRecord};
use lockgate_scenario::model::Flow;
use lockgate_sim::Simulation;
use lockgate_tcp::endpoint::Endpoint;
use lockgate_tcp::segment::Segment;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const CONNECTIONS: usize = 500;

/// Bytes in use: with the scenario, with its network before the first event, at the peak of the run, after it.
fn bytes_in_use(connections: usize, detail: &str) -> [usize; 4] {
    let text = format!(
        r#"
duration = "500ms"
record.detail = "{detail}"
node = {{ senders = {{}}, router = {{}}, receivers = {{}} }}
link.in = {{ between = ["senders", "router"], rate = "10gbit" }}
link.out = {{ between = ["router", "receivers"], rate = "1gbit", delay = "10ms" }}
port."router->receivers".root = "q"
port."router->receivers".queue.q = {{ kind = "fifo", limit = "1000p" }}
[flow.bulk]
from = "senders"
to = "receivers"
transport = "tcp"
congestion = "reno"
bytes = "unlimited"
count = {connections}
"#
    );
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let before = ALLOCATOR.current_usage();
    let in_use = || ALLOCATOR.current_usage() - before;
    let scenario = lockgate_scenario::read(&text, "connections", &files, &[]).expect("a valid scenario");
    let read = in_use();
    let simulation = Simulation::new(&scenario, Seed(1)).expect("a network");
    let built = in_use();
    ALLOCATOR.reset_peak_usage();
    let outcome = simulation.finish_run().expect("a balanced account");
    let peak = ALLOCATOR.peak_usage() - before;
    let ended = in_use();
    drop(outcome);
    [read, built, peak, ended]
}

/// Returns the bytes that each further connection takes.
fn bytes_each(detail: &str) -> [usize; 4] {
    let [few, many] = [1, 2].map(|times| bytes_in_use(times * CONNECTIONS, detail));
    core::array::from_fn(|part| (many[part] - few[part]) / CONNECTIONS)
}

/// The limits are those of ten thousand connections in a run that keeps what its groups need.
#[test]
fn a_connection_takes_a_few_kib() {
    let sizes = [
        ("two flows of the scenario", 2 * size_of::<Flow>()),
        ("two ends", 2 * size_of::<Endpoint>()),
        ("two records", 2 * size_of::<FlowRecord>()),
        ("two brief records", 2 * size_of::<Brief>()),
        ("record of the sender", size_of::<TcpRecord>()),
        ("packet under way", size_of::<Header>() + size_of::<Segment>()),
    ];
    println!("object                         bytes");
    for (what, bytes) in &sizes {
        println!("{what:28} {bytes:7}");
    }
    println!("\nbytes a connection  scenario   built    peak   after");
    for (detail, limit) in [("all", usize::MAX), ("groups", 10_240), ("totals", 6_144)] {
        let [read, built, peak, ended] = bytes_each(detail);
        println!("{detail:18} {read:9} {built:7} {peak:7} {ended:7}");
        assert!(peak <= limit, "{detail}: {peak} bytes");
    }
}
