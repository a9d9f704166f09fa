//! A scenario with all rates multiplied and all times divided is the same experiment: the same packets meet
//! the same queues.

use lockgate_engine::random::Seed;
use lockgate_measure::summary::{Summary, summarise};
use lockgate_scenario::{Scale, read};
use lockgate_sim::Control;

/// Clock models, a token bucket, classes above a ring, a change, random laws: everything that has a time or a
/// rate.
const SCENARIO: &str = r#"
title = "all that goes with time"
duration = "20s"
warmup = "2s"
[record]
interval = "500ms"
[node]
a = {}
r = { service = { per_packet = "100us", rate = "40mbit", limit = "50p" } }
b = {}
[link]
in = { between = ["a", "r"], rate = "100mbit", delay = "2ms" }
out = { between = ["r", "b"], rate = "10mbit", delay = "7ms", overhead = "24B" }
[port."r->b"]
root = "cbq"
ring = 4
clock = { source = "jiffies", hz = 100 }
[port."r->b".queue.cbq]
kind = "cbq"
flavour = "linux-2.2"
bandwidth = "10mbit"
avpkt = "1000B"
children = ["one", "two"]
[port."r->b".queue.one]
kind = "tbf"
rate = "900kbit"
share = { rate = "1mbit" }
burst = "3kB"
limit = "30kB"
match = [{ flow = "one" }]
[port."r->b".queue.two]
kind = "fifo"
limit = "40p"
rate = "6mbit"
bounded = true
[flow]
one = { from = "a", to = "b", size = "1000B", gap = { distribution = "exponential", mean = "8ms" } }
two = { from = "a", to = "b", size = "1000B", rate = "9mbit", start = "3s" }
[[change]]
at = "10s"
set = { "port.r->b.queue.two.rate" = "3mbit", "flow.one.gap.mean" = "4ms" }
"#;

fn run(scale: f64) -> Summary {
    let text = Scale::new(scale).expect("in range").text(SCENARIO, "t", &[]).expect("valid");
    let none = std::collections::BTreeMap::new();
    let scenario = read(&text, "t", &none, &[]).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let outcome = lockgate_sim::run(&scenario, Seed(7), &mut |_| Control::Continue).expect("runs");
    summarise(&[outcome.recording])
}

#[test]
fn a_scaled_experiment_is_the_same_experiment() {
    let as_written = run(1.0);
    let metric = |summary: &Summary, path: &str| summary.metric(path).expect(path);
    assert!(
        metric(&as_written, "flow.two.loss") > 0.2 && metric(&as_written, "flow.one.loss") > 0.2,
        "it is a strain"
    );
    for scale in [10.0, 100.0, 0.5] {
        let scaled = run(scale);
        for (path, factor) in [
            ("flow.one.received_packets", 1.0),
            ("flow.two.received_packets", 1.0),
            ("flow.one.loss", 1.0),
            ("flow.one.throughput", 1.0 / scale),
            ("flow.two.throughput", 1.0 / scale),
            ("flow.one.owd.mean", scale),
            ("flow.two.owd.p99", scale),
            ("flow.one.ipdv.mean", scale),
        ] {
            let (expected, found) = (metric(&as_written, path), metric(&scaled, path) * factor);
            // Times are rounded to picoseconds, quantiles to a class of a histogram.
            let allowed = if path.ends_with("p99") { 0.01 } else { 0.002 };
            assert!(
                (found / expected - 1.0).abs() < allowed,
                "{path} {scale} times faster: {expected}, {found}"
            );
        }
    }
}
