//! Proven bounds against simulations: no packet is ever later than the bound of its flow, whatever the flows
//! send within their envelopes, and the worst traffic comes close to it.

mod attacks;
mod bursts;
mod envelopes;
mod networks;

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate::{Options, Scenario, Seed, proof};
use lockgate_calculus::NoBound;

/// Generator of small numbers: the multiplier of Knuth's MMIX.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

type Files = BTreeMap<String, Arc<[u8]>>;

/// Returns a capture of packets, each with its time in nanoseconds and its length.
fn capture(packets: &[(u64, u32)]) -> Arc<[u8]> {
    let mut bytes = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for (nanos, length) in packets {
        for word in [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32, 0, *length] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes.into()
}

/// Returns the delay of each flow that a run had at most, with its bound.
fn held(text: &str, files: &Files) -> Vec<(String, f64, Result<f64, NoBound>)> {
    let scenario: Scenario =
        lockgate::read_text(text, "law", files, &[]).unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    let found = proof::prove(&scenario);
    let options = Options { seeds: vec![Seed(1)], threads: Some(1), ..Options::default() };
    let runs = lockgate::run(&scenario, &options).expect("a run");
    let summary = lockgate::summarise(&scenario, &runs.recordings).expect("a summary");
    assert!(
        !summary.warnings.iter().any(|warning| warning.contains("envelope")),
        "{:?}\n{text}",
        summary.warnings
    );
    // No queue holds more than the buffer that never overflows.
    let shortest = scenario.flows.iter().filter_map(|flow| Some(flow.lengths()?[0].0)).min().unwrap_or(1);
    for (name, queue) in summary.ports.values().flat_map(|port| &port.queues) {
        let least = queue.peak_backlog_packets * shortest;
        let buffer = queue.buffer_bound_bytes.unwrap_or(u64::MAX);
        assert!(least <= buffer, "{name}: {least} bytes or more, and {buffer} are proven\n{text}");
    }
    let of = |(index, flow): (usize, &lockgate_scenario::Flow)| {
        let bound = found.delay(index).map(lockgate_calculus::to_f64).map_err(NoBound::clone);
        let results = &summary.flows[&flow.name];
        assert_eq!(results.owd_bound_s, bound.as_ref().ok().copied());
        (flow.name.clone(), results.owd_s.max.unwrap_or(0.0), bound)
    };
    scenario.flows.iter().enumerate().map(of).collect()
}

/// One line of 8 Mbit/s, so that a byte takes a microsecond.
const LINE: &str =
    "duration = \"1s\"\nnode.a = {}\nnode.b = {}\nlink.l = { between = [\"a\", \"b\"], rate = \"8mbit\" }\n";

/// Flow from `a` to `b` with an envelope: rate in bits a second, burst, shortest and longest packet in bytes.
fn flow(name: &str, [rate, burst, shortest, longest]: [u64; 4]) -> String {
    format!(
        "flow.{name} = {{ from = \"a\", to = \"b\", size = \"{longest}B\", gap = \"200ms\", envelope = {{ rate = \"{rate}bit\", \
         burst = \"{burst}B\", shortest = \"{shortest}B\", longest = \"{longest}B\" }} }}\n"
    )
}
