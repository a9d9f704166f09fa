//! A kernel that routes and masquerades, with the router's queues at its egress, beside a simulation of the
//! same port.
//!
//! `LOCKGATE_SECONDS` is the length of each run.

use std::time::{Duration, Instant};

use lockgate_router::control::Engine;
use lockgate_router::router::Router;
use serde_json::Value;

use super::common::{Network, ROUTER_ADDRESSES};
use super::setting::{dotted, has, head, lockgate, network, number, quantile, run_well};
use super::stream::{Ended, Stream};

/// Streams: name, datagrams a second, and payload in bytes; 12.2 Mbit/s for a port of 10 Mbit/s.
pub(crate) const STREAMS: [(&str, u64, usize); 3] =
    [("bulk", 830, 1_200), ("other", 390, 1_200), ("voice", 50, 160)];
pub(crate) const RATE: f64 = 10e6;

/// Bytes of a frame beyond the payload: UDP, IPv4, Ethernet.
const HEADERS: usize = 42;

/// Returns the gap between the datagrams of a stream, in picoseconds: the nearest to `rate` a second.
fn gap_picos(rate: u64) -> u64 {
    (1_000_000_000_000 + rate / 2) / rate
}

/// Returns the table of the port, for a policy and for a scenario.
pub(crate) fn port(name: &str, kind: &str) -> String {
    format!("[port.\"{name}\"]\nqueue.q = {{ kind = \"{kind}\" }}\n")
}

/// Simulates the port between two hosts with the same streams. Returns the p99 of its sojourn times, its
/// drops, and the packets offered.
pub(crate) fn simulated(kind: &str, seconds: u64) -> (Duration, u64, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = format!(
        "title = \"twin\"\nduration = \"{seconds}s\"\nwarmup = \"1s\"\nnode = {{ a = {{}}, b = {{}} }}\nlink.line = {{ between = [\"a\", \
         \"b\"], rate = \"10mbit\" }}\n{}",
        port("a->b", kind)
    );
    for (name, rate, payload) in STREAMS {
        let (size, gap) = (payload + HEADERS, gap_picos(rate));
        let flow =
            format!("[flow.{name}]\nfrom = \"a\"\nto = \"b\"\nsize = \"{size}B\"\ngap = \"{gap}ps\"\n");
        text.push_str(&flow);
    }
    std::fs::write(folder.path().join("twin.toml"), text).expect("written");
    let output = lockgate(folder.path()).args(["run", "twin.toml", "--json"]).output().expect("run");
    let summary: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let queue = &summary["ports"]["a:b"]["queues"]["q"];
    let count = |key: &str| queue[key].as_u64().unwrap_or_else(|| panic!("no `{key}` in {queue}"));
    let p99 = queue["sojourn_s"]["p99"].as_f64().unwrap_or_else(|| panic!("no p99 in {queue}"));
    (Duration::from_secs_f64(p99), count("dropped_packets"), count("enqueued_packets"))
}

/// Returns the rate of all arrivals after the first second, in bit/s.
pub(crate) fn received_rate(streams: &[Ended]) -> f64 {
    let sized = streams.iter().zip(STREAMS).flat_map(|(stream, (_, _, payload))| {
        stream.arrived.iter().map(move |(_, at)| (*at, (payload + HEADERS) as f64 * 8.0))
    });
    let mut all: Vec<(Instant, f64)> = sized.collect();
    all.sort_unstable_by_key(|(at, _)| *at);
    let begun = all[0].0 + Duration::from_secs(1);
    let end = streams.iter().filter_map(|stream| stream.sent.last()).min().copied().expect("datagrams");
    all.retain(|(at, _)| (begun..end).contains(at));
    let bits: f64 = all.iter().skip(1).map(|(_, bits)| bits).sum();
    bits / (all[all.len() - 1].0 - all[0].0).as_secs_f64()
}

#[test]
fn the_simulation_offers_the_rates_of_the_streams() {
    let seconds = 61;
    let (_, _, offered) = simulated("fifo", seconds);
    // The second of warm-up is not counted. A gap of whole microseconds would offer 33 packets more.
    let expected: u64 = STREAMS.iter().map(|(_, rate, _)| rate * (seconds - 1)).sum();
    assert!(offered.abs_diff(expected) <= 3, "{offered} offered of {expected}");
}

/// Lets the router's kernel write its own address into what leaves by `eth2`.
fn masquerade(network: &Network) {
    for rule in [
        "add table ip nat",
        "add chain ip nat post { type nat hook postrouting priority 100; }",
        "add rule ip nat post oifname eth2 masquerade",
    ] {
        run_well(&network.router, "nft", &[rule]);
    }
}

/// Returns the 99th percentile of the sojourn times of each sample during this time.
fn sojourns(router: &mut Router, lasting: Duration) -> Vec<Duration> {
    let (mut p99s, mut number, begun) = (Vec::new(), None, Instant::now());
    while begun.elapsed() < lasting {
        std::thread::sleep(Duration::from_millis(100));
        if let Some(sample) = router.sample().filter(|sample| number != Some(sample.number)) {
            number = Some(sample.number);
            p99s.extend(sample.ports[0].queues[0].sojourn_p99_s.map(Duration::from_secs_f64));
        }
    }
    p99s
}

#[test]
fn a_masquerading_kernel_gets_the_simulated_queue() {
    if !has(&["nft"]) {
        return;
    }
    let seconds = number("LOCKGATE_SECONDS", 4);
    for kind in ["cake", "fq_codel"] {
        let Some(network) = network("egress") else { return };
        masquerade(&network);
        let text = format!("{}{}", head("egress", ""), port("wan", kind));
        let (mut router, _) = network.start(&text.replace("queue.q", "rate = \"10mbit\"\nqueue.q"));
        let streams: Vec<Stream> = (5_000..)
            .zip(STREAMS)
            .map(|(to, (_, rate, payload))| Stream::start(&network, "egress", rate, payload, to))
            .collect();
        let mut p99s = sojourns(&mut router, Duration::from_secs(seconds));
        let total = router.sample().expect("samples").ports[0].queues[0].total.clone();
        let streams: Vec<Ended> = streams.into_iter().map(Stream::end).collect();
        assert_eq!(router.stop().expect("drained").total(), 0);
        let masked = run_well(&network.router, "nft", &["list", "ruleset"]);
        assert!(masked.contains("masquerade"), "{masked}");
        let sources = streams.iter().map(|stream| stream.source);
        let gateway = std::net::IpAddr::from(ROUTER_ADDRESSES[1]);
        assert!(
            sources.clone().all(|source| source == Some(gateway)),
            "not {}: {:?}",
            dotted(ROUTER_ADDRESSES[1]),
            sources.collect::<Vec<_>>()
        );
        let rate = received_rate(&streams);
        // During the first second the queue fills.
        let later = p99s.get_mut(1..).unwrap_or_default();
        later.sort_unstable();
        let (p99, drops, offered) = simulated(kind, seconds);
        // While the other streams send; they end before this one.
        let until = streams[0].sent[streams[0].sent.len() - 1];
        let [bulk, voice] = [0, 2].map(|stream: usize| streams[stream].delays_until(until));
        println!(
            "{kind}: {:.4} Mbit/s, {:+.3} % off; sojourn p99 a second {:?} to {:?}, simulated {p99:?}; dropped {} of {}, simulated \
             {drops} of {}; voice p50 {:?}, p99 {:?}",
            rate / 1e6,
            (rate / RATE - 1.0) * 100.0,
            later.first(),
            later.last(),
            total.dropped_packets,
            total.offered_packets,
            offered,
            quantile(&voice, 0.5),
            quantile(&voice, 0.99),
        );
        // If the machine stalls for longer than the pacing makes up for, the rate is lower, never higher.
        assert!(rate < RATE * 1.002, "{kind}: {rate}");
        assert!(rate > RATE * 0.8, "{kind}: {rate}");
        // Voice has a queue of its own.
        let [waited, own] = [&bulk, &voice].map(|delays| quantile(delays, 0.5));
        assert!(own < waited / 4, "{kind}: the call waits {own:?}, the largest stream {waited:?}");
        let lost = total.dropped_packets as f64 / total.offered_packets as f64;
        let expected = drops as f64 / offered as f64;
        assert!((lost - expected).abs() < 0.1, "{kind}: {lost} of the packets, simulated {expected}");
    }
}
