//! Runs that are stopped between two samplings, and arrivals that are handled at once: nothing tells them
//! from others.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::Recording;
use lockgate_scenario::Override;
use lockgate_sim::{Control, EVENTS_BETWEEN_STOPS, Progress, Simulation, run};

use crate::common::{assert_same, scenario};

/// Twenty members behind a shared link, each with datagrams without answers, some with downloads and echoes.
/// The delays and rates of the members' links change while packets are in flight; at 3 Mbit/s packets arrive
/// at the instants at which others start.
const TEXT: &str = r#"
title = "twenty members"
duration = "4s"
warmup = "500ms"
node.server = {}
node.hub = {}
node.member = { count = 20 }
link.core = { between = ["server", "hub"], rate = "60mbit", delay = "3ms" }
link.last = { between = ["hub", "member/*"], rate = "20mbit", delay = ["2.4ms", "40ms", "0s"], loss = ["0%", "1%"] }
port."server:hub" = { root = "q", queue.q = { kind = "fq_codel" } }
flow.video = { from = "server", to = "member/*", count = 20, transport = "udp", size = "900B", gap = { distribution = "exponential", mean = "3ms" } }
flow.download = { from = "server", to = "member/*", count = 4, transport = "tcp", bytes = "unlimited" }
flow.ping = { from = "server", to = "member/*", count = 4, transport = "udp", size = "100B", gap = "10ms", echo = true }
[[change]]
at = "1.2345s"
set = { "link.last/1.delay" = "1ms", "link.last/2.delay" = "5ms", "link.last/4.delay" = "1ms" }
[[change]]
at = "2.0001s"
set = { "link.last/1.rate" = "3mbit", "link.last/5.rate" = "3mbit", "link.last/7.rate" = "3mbit" }
[[change]]
at = "2.5s"
set = { "link.last/2.delay" = "30ms", "link.last/8.delay" = "60ms", "link.last/9.delay" = "3ms" }
[[change]]
at = "3s"
set = { "link.last/1.rate" = "20mbit", "link.last/5.rate" = "200mbit" }
"#;

fn whole(text: &str) -> Recording {
    run(&scenario(text), Seed(5), &mut |_| Control::Continue).expect("a run").recording
}

#[test]
fn a_run_is_that_in_which_each_arrival_is_an_event() {
    let at_once = whole(TEXT);
    assert!(at_once.engine.events > 20 * EVENTS_BETWEEN_STOPS, "{} events", at_once.engine.events);
    // With a row for each packet no arrival is handled at once.
    let mut in_time = whole(&format!("{TEXT}\n[record]\npackets = true\n"));
    assert!(in_time.packets.take().is_some());
    assert_same(&at_once, &in_time);
}

#[test]
fn steps_yield_the_run_in_one() {
    let scenario = scenario(TEXT);
    let expected = whole(TEXT);
    let mut random = Random::stream(Seed(1), "steps");
    for longest_us in [300_000, 5_000] {
        let mut simulation = Simulation::new(&scenario, Seed(5)).expect("a network");
        while simulation
            .step_until(simulation.now() + Duration::from_micros(u64::from(random.below(longest_us))))
            .expect("a step")
            == Progress::Reached
        {}
        assert_same(&simulation.finish().expect("a balanced account").recording, &expected);
    }
}

#[test]
fn where_a_run_is_stopped_nothing_later_has_been_recorded() {
    let files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    let settings = [
        Override::new("link.last/7.rate", "2mbit").expect("a path"),
        Override::new("link.last/11.delay", "1us").expect("a path"),
    ];
    for stops_at in [2, 9, 17, 23] {
        let mut simulation = Simulation::owning(scenario(TEXT), Seed(5)).expect("a network");
        let mut calls = 0;
        let progress = simulation.step_while(Instant::NEVER, &mut |now| {
            // Not at a sampling, but between two.
            calls += u32::from(!now.as_picos().is_multiple_of(10_000_000_000));
            if calls == stops_at { Control::Stop } else { Control::Continue }
        });
        assert_eq!(progress.expect("a step"), Progress::Stopped);
        let now = simulation.now();
        simulation.set(&settings, &files).expect("accepted");
        let set = simulation.finish_run().expect("a balanced account");
        let at = now.as_picos() + 1;
        let at = format!("{}.{:012}s", at / 1_000_000_000_000, at % 1_000_000_000_000);
        let changes = format!(
            "[[change]]\nat = \"{at}\"\nset = {{ \"link.last/7.rate\" = \"2mbit\", \"link.last/11.delay\" = \"1us\" }}\n"
        );
        assert_same(&set.recording, &whole(&format!("{TEXT}{changes}")));
    }
}

#[test]
fn a_flood_does_not_delay_a_stop() {
    // It begins between two samplings.
    let flood = "from = \"server\", to = \"hub\", transport = \"udp\", size = \"100B\", gap = \"1ps\", start = \"3.105s\"";
    let scenario = scenario(&TEXT.replace(
        "[[change]]\nat = \"1.2345s\"",
        &format!("flow.flood = {{ {flood} }}\n[[change]]\nat = \"1.2345s\""),
    ));
    let begin = Instant::ZERO + Duration::from_millis(3_105);
    let mut simulation = Simulation::new(&scenario, Seed(5)).expect("a network");
    let mut told = 0;
    let progress = simulation.step_while(Instant::NEVER, &mut |now| {
        told += u32::from(now >= begin);
        if now >= begin { Control::Stop } else { Control::Continue }
    });
    assert_eq!((progress.expect("a step"), told), (Progress::Stopped, 1));
    let passed = simulation.now().since(begin);
    assert!(passed < Duration::from_micros(1), "{passed:?} of the flood");
    simulation.finish().expect("a balanced account");
}
