//! The policy of a house on veths, both directions at once: what the simulation says of it, a change on
//! trial, and the queues that are watched.
//!
//! `LOCKGATE_SECONDS` is the length of the run.

use std::thread;
use std::time::{Duration, Instant};

use lockgate_router::control::Engine;

use super::setting::{PATIENCE, Running, head, network, number};
use super::stream::{Ended, Stream};
use super::twin::{RATE, STREAMS, port, received_rate, simulated};

/// Policy of a house whose interface to the line is `eth2`.
fn house() -> String {
    include_str!("../../../../examples/house/house.toml").replace("eth0", "eth2")
}

/// Both ports of a policy are loaded at once, and each has the rate and the waits of a simulation of it
/// alone: the directions share nothing but the machine.
#[test]
fn both_directions_on_veths_are_those_of_the_laboratory() {
    let Some(network) = network("egress") else { return };
    let seconds = number("LOCKGATE_SECONDS", 4);
    let ports =
        ["wan", "wan:in"].map(|name| port(name, "cake").replace("queue.q", "rate = \"10mbit\"\nqueue.q"));
    let (mut router, _) = network.start(&format!("{}{}", head("both", ""), ports.concat()));
    let streams = ["egress", "ingress"].map(|direction| {
        let first = if direction == "egress" { 5_000 } else { 5_100 };
        let start = |(to, (_, rate, payload)): (u16, (&str, u64, usize))| {
            Stream::start(&network, direction, rate, payload, to)
        };
        (first..).zip(STREAMS).map(start).collect::<Vec<Stream>>()
    });
    let mut p99s: [Vec<Duration>; 2] = Default::default();
    let (begun, mut number) = (Instant::now(), None);
    while begun.elapsed() < Duration::from_secs(seconds) {
        std::thread::sleep(Duration::from_millis(100));
        if let Some(sample) = router.sample().filter(|sample| number != Some(sample.number)) {
            number = Some(sample.number);
            for (port, p99s) in sample.ports.iter().zip(&mut p99s) {
                p99s.extend(port.queues[0].sojourn_p99_s.map(Duration::from_secs_f64));
            }
        }
    }
    let streams = streams.map(|streams| streams.into_iter().map(Stream::end).collect::<Vec<Ended>>());
    assert_eq!(router.stop().expect("drained").total(), 0);
    let (p99, ..) = simulated("cake", seconds);
    println!("port     rate        of the policy's   sojourn p99 a second, simulated");
    for ((name, streams), p99s) in ["wan", "wan:in"].iter().zip(&streams).zip(&mut p99s) {
        let rate = received_rate(streams);
        // During the first second the queue fills.
        let later = p99s.get_mut(1..).unwrap_or_default();
        later.sort_unstable();
        let (low, high) =
            (later.first().copied().unwrap_or_default(), later.last().copied().unwrap_or_default());
        println!(
            "{name:8} {:.4} Mbit/s {:+.3} %         {low:?} to {high:?}, {p99:?}",
            rate / 1e6,
            (rate / RATE - 1.0) * 100.0
        );
        // If the machine stalls for longer than the pacing makes up for, the rate is lower, never higher.
        assert!(rate < RATE * 1.002 && rate > RATE * 0.8, "{name}: {rate}");
    }
}

/// The policy runs, a tuned one is tried, watched and confirmed, and the line is the tuned policy's.
#[test]
fn the_policy_of_the_house_is_tried_watched_and_confirmed() {
    let Some(network) = network("egress") else { return };
    let router = Running::start(&network, &house(), &[]);
    let tuned = house().replace("rate = \"9.5mbit\"", "rate = \"9.3mbit\"");
    router.apply(&tuned, &["--confirm-within", "60s"]);
    let status = router.status();
    assert!(!status["trial"].is_null(), "{status}");
    assert_eq!(status["mode"], "both", "{status}");
    // Queues are shown from the first sample on.
    let until = Instant::now() + PATIENCE;
    loop {
        let watched = router.control(&["status"]);
        let watched = String::from_utf8_lossy(&watched.stdout).into_owned();
        if watched.contains("cake") && watched.contains("wan:in") {
            break;
        }
        assert!(Instant::now() < until, "{watched}");
        thread::sleep(Duration::from_millis(50));
    }
    assert!(router.control(&["confirm"]).status.success());
    let status = router.status();
    assert!(
        status["trial"].is_null() && status["policy"].as_str().is_some_and(|text| text == tuned),
        "{status}"
    );
    router.stop();
}
