//! Memory of a TCP connection: both of its ends, its two flows with their records, and its share of the
//! queues.
//!
//! ```text
//! cargo test -p lockgate-sim --test connection_memory -- --nocapture
//! ```
//!
//! Figures are differences between a run with twice as many connections and one with so many, a connection:
//! bulk transfers through one router and a FIFO of 1000 packets, 1 Gbit/s, 20 ms round trip. Beside them,
//! what is [estimated](lockgate_sim::memory) before a run, and the same of flows of datagrams.
#![allow(clippy::print_stdout, reason = "prints a table")]

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::packet::Header;
use lockgate_engine::random::Seed;
use lockgate_measure::recording::{Brief, FlowRecord, TcpRecord};
use lockgate_scenario::model::Flow;
use lockgate_sim::Simulation;
use lockgate_sim::memory::Estimate;
use lockgate_tcp::endpoint::Endpoint;
use lockgate_tcp::segment::Segment;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const CONNECTIONS: usize = 500;

const TCP: &str = "transport = \"tcp\"\ncongestion = \"reno\"\nbytes = \"unlimited\"";
const UDP: &str = "transport = \"udp\"\nsize = \"500B\"\ngap = \"5ms\"";

/// Bytes in use: with the scenario, with its network before the first event, at the peak of the run, after
/// it; and the estimate of all.
fn bytes_in_use(flows: usize, flow: &str, detail: &str) -> [usize; 5] {
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
{flow}
count = {flows}
"#
    );
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let before = ALLOCATOR.current_usage();
    let in_use = || ALLOCATOR.current_usage() - before;
    let scenario = lockgate_scenario::read(&text, "connections", &files, &[]).expect("a valid scenario");
    let read = in_use();
    let estimate = Estimate::of(&scenario).total() as usize;
    let simulation = Simulation::new(&scenario, Seed(1)).expect("a network");
    let built = in_use();
    ALLOCATOR.reset_peak_usage();
    let outcome = simulation.finish_run().expect("a balanced account");
    let peak = ALLOCATOR.peak_usage() - before;
    let ended = in_use();
    drop(outcome);
    [read, built, peak, ended, estimate]
}

/// Returns the bytes that each further flow takes.
fn bytes_each(flow: &str, detail: &str) -> [usize; 5] {
    let [few, many] = [1, 2].map(|times| bytes_in_use(times * CONNECTIONS, flow, detail));
    core::array::from_fn(|part| (many[part] - few[part]) / CONNECTIONS)
}

/// The limits are those of ten thousand connections in a run that keeps what its groups need. An estimate is
/// high rather than low, but not so high that it refuses what fits.
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
    let mut wrong = Vec::new();
    println!("\nbytes                scenario   built    peak   after  estimate");
    for (name, flow, detail, limit) in [
        ("connection", TCP, "all", usize::MAX),
        ("connection", TCP, "groups", 10_240),
        ("connection", TCP, "totals", 6_144),
        ("datagrams", UDP, "all", usize::MAX),
        ("datagrams", UDP, "groups", 7_168),
        ("datagrams", UDP, "totals", 4_096),
    ] {
        let [read, built, peak, ended, estimate] = bytes_each(flow, detail);
        println!("{name:10} {detail:7} {read:9} {built:7} {peak:7} {ended:7} {estimate:9}");
        if peak > limit {
            wrong.push(format!("{name}, {detail}: {peak} bytes"));
        }
        if !(peak..4 * peak).contains(&estimate) {
            wrong.push(format!("{name}, {detail}: {estimate} bytes estimated for {peak}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
