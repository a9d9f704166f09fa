//! Runs in two halves: nothing tells them from runs of the whole network.

use std::sync::mpsc::{Receiver, Sender, channel};

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::Recording;
use lockgate_sim::{Control, EVENTS_BETWEEN_STOPS, Half, InTurn, Worker, can_split, run, run_side_by_side};

use crate::common::{assert_same, scenario};

/// Seven hundred members behind three routers, of which the first two are the transit part. The second has a
/// class for each member and a lossy link; it drops, and so does the slow processor of the first. Packets
/// arrive where others start at the same instant: at 100 Mbit/s and 10 ms of delay an integer number of
/// frames of 500 bytes is in flight.
const TEXT: &str = r#"
title = "seven hundred members"
duration = "1200ms"
warmup = "200ms"
node.server = {}
node.edge = { service = { per_packet = "38us", limit = "300p" } }
node.spine = {}
node.hub = {}
node.member = { count = 700 }
link.core = { between = ["server", "edge"], rate = "200mbit", delay = "11ms" }
link.short = { between = ["edge", "spine"], rate = "1gbit", delay = "10us" }
link.metro = { between = ["spine", "hub"], rate = "100mbit", delay = "10ms", loss = "0.1%" }
link.last = { between = ["hub", "member/*"], rate = "20mbit", delay = ["2.4ms", "40ms", "0s"], loss = ["0%", "1%"] }
port."spine:hub".root = "shaper"
port."spine:hub".queue.shaper = { kind = "htb", children = ["all", "rest"] }
port."spine:hub".queue.all = { kind = "class", rate = "98mbit", children = ["plan"], match = [{ destination = "10.0.0.0/8" }] }
port."spine:hub".queue.plan = { count = "member", kind = "fq_codel", limit = "12p", rate = "50kbit", ceil = ["2mbit", "20mbit"], match = [{ destination = "member/$i" }] }
port."spine:hub".queue.rest = { kind = "fifo", rate = "1mbit" }
flow.video = { from = "server", to = "member/*", count = 500, transport = "udp", size = "500B", gap = ["20ms", "33ms"] }
flow.burst = { from = "server", to = "member/*", count = 20, transport = "udp", size = "500B", gap = { distribution = "exponential", mean = "2ms" } }
flow.download = { from = "server", to = "member/*", count = 60, transport = "tcp", bytes = "unlimited", start = { distribution = "uniform", min = "0s", max = "100ms" } }
flow.upload = { from = "member/*", to = "server", count = 20, transport = "tcp", file = "60kB", start = { distribution = "uniform", min = "0s", max = "500ms" } }
flow.ping = { from = "server", to = "member/*", count = 40, transport = "udp", size = "100B", gap = "10ms", echo = true }
"#;

/// Eleven hundred members, and few packets: most arrive before anything else happens. Trains of frames of 500
/// bytes are 20 us apart behind the first link and take 40 us on the next but one, so that they arrive when
/// others have just left. The packets to one member come from both halves.
const SPARSE: &str = r#"
title = "eleven hundred members, few packets"
duration = "900ms"
node.server = {}
node.edge = {}
node.spine = {}
node.hub = {}
node.member = { count = 1100 }
link.core = { between = ["server", "edge"], rate = "200mbit", delay = "11ms" }
link.short = { between = ["edge", "spine"], rate = "1gbit", delay = "10us" }
link.metro = { between = ["spine", "hub"], rate = "100mbit", delay = "10ms" }
link.last = { between = ["hub", "member/*"], rate = "20mbit", delay = "2.4ms" }
port."spine:hub" = { root = "q", queue.q = { kind = "fifo", limit = "60p" } }
node.cache = {}
link.cache = { between = ["cache", "hub"], rate = "100mbit", delay = "7ms" }
flow.near = { from = "cache", to = "member/1", transport = "udp", size = "500B", gap = { distribution = "exponential", mean = "2ms" } }
flow.far = { from = "server", to = "member/1", transport = "udp", size = "500B", gap = { distribution = "exponential", mean = "3ms" } }
flow.train = { from = "server", to = "member/*", count = 9, transport = "udp", size = "500B", gap = "5us", packets = "90p", start = { distribution = "uniform", min = "0s", max = "700ms" } }
flow.ping = { from = "server", to = "member/*", count = 2, transport = "udp", size = "100B", gap = "35ms", echo = true }
flow.download = { from = "server", to = "member/*", count = 2, transport = "tcp", bytes = "1MB", start = "400ms" }
"#;

/// Advances the half when it is waited for: after the other one.
#[derive(Default)]
struct Late(Option<Half>);

impl Worker for Late {
    fn start(&mut self, half: Half) {
        self.0 = Some(half);
    }

    fn wait(&mut self) -> Half {
        let mut half = self.0.take().expect("a half was started");
        half.advance();
        half
    }
}

/// Advances the half on another thread.
struct Thread {
    halves: Sender<Half>,
    advanced: Receiver<Half>,
    starts: u32,
}

impl Worker for Thread {
    fn start(&mut self, half: Half) {
        self.starts += 1;
        self.halves.send(half).expect("the thread receives");
    }

    fn wait(&mut self) -> Half {
        self.advanced.recv().expect("the thread sends")
    }
}

fn whole(text: &str) -> Recording {
    run(&scenario(text), Seed(5), &mut |_| Control::Continue).expect("a run").recording
}

fn halves(text: &str, worker: &mut dyn Worker) -> Recording {
    let scenario = scenario(text);
    assert!(can_split(&scenario));
    run_side_by_side(&scenario, Seed(5), worker, &mut |_| Control::Continue).expect("a run").recording
}

#[test]
fn a_run_in_halves_is_the_run_of_the_whole() {
    let expected = whole(TEXT);
    assert!(expected.engine.events > 30 * EVENTS_BETWEEN_STOPS, "{} events", expected.engine.events);
    let lost: u64 = expected.flows.iter().map(|flow| flow.lost_by().map(|(_, lost)| lost).sum::<u64>()).sum();
    assert!(lost > 500, "{lost} lost");
    assert_same(&halves(TEXT, &mut InTurn::default()), &expected);
    assert_same(&halves(TEXT, &mut Late::default()), &expected);
    let expected = whole(SPARSE);
    assert_same(&halves(SPARSE, &mut InTurn::default()), &expected);
    assert_same(&halves(SPARSE, &mut Late::default()), &expected);
    // Every packet is recorded in full, and intervals are short.
    let all = format!("{TEXT}\n[record]\ndetail = \"all\"\ninterval = \"10ms\"\n");
    assert_same(&halves(&all, &mut Late::default()), &whole(&all));
}

#[test]
fn on_two_threads_too() {
    let ((halves_in, to_advance), (to_take, advanced)) = (channel::<Half>(), channel());
    let mut thread = Thread { halves: halves_in, advanced, starts: 0 };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for mut half in to_advance {
                half.advance();
                if to_take.send(half).is_err() {
                    return;
                }
            }
        });
        assert_same(&halves(TEXT, &mut thread), &whole(TEXT));
        assert!(thread.starts > 50, "{} windows", thread.starts);
        drop(thread);
    });
}

#[test]
fn a_run_in_halves_stops_soon_and_balances() {
    let scenario = scenario(TEXT);
    let times = [Duration::from_micros(333_333), Duration::from_micros(700_000)];
    for stop in times.map(|after| Instant::ZERO + after) {
        let mut calls = 0;
        let outcome = run_side_by_side(&scenario, Seed(5), &mut InTurn::default(), &mut |now| {
            calls += u32::from(now >= stop);
            if now >= stop { Control::Stop } else { Control::Continue }
        });
        let outcome = outcome.expect("a balanced account");
        assert!(outcome.stopped_early);
        assert_eq!(calls, 1);
        let late = outcome.recording.duration.saturating_sub(stop.since(Instant::ZERO));
        assert!(late < Duration::from_millis(150), "{late:?}");
    }
}

#[test]
fn a_flood_does_not_delay_a_stop() {
    let flood = "from = \"server\", to = \"hub\", transport = \"udp\", size = \"100B\", gap = \"1ps\", start = \"500.5ms\"";
    let scenario = scenario(&format!("{TEXT}flow.flood = {{ {flood} }}\n"));
    let mut calls = 0;
    let begin = Instant::ZERO + Duration::from_micros(500_500);
    let outcome = run_side_by_side(&scenario, Seed(5), &mut InTurn::default(), &mut |now| {
        calls += u32::from(now >= begin);
        if now >= begin { Control::Stop } else { Control::Continue }
    });
    let outcome = outcome.expect("a balanced account");
    assert!(outcome.stopped_early);
    assert_eq!(calls, 1);
    let flood = outcome.recording.flows.last().expect("the flood");
    let sent = flood.totals(lockgate_measure::recording::Window::WholeRun).sent.packets;
    assert!((1..300_000).contains(&sent), "{sent} packets of the flood");
}

#[test]
fn what_cannot_be_split_is_simulated_as_a_whole() {
    let rows = format!("{TEXT}\n[record]\npackets = true\n");
    let change = format!("{TEXT}\n[[change]]\nat = \"1s\"\nset = {{ \"link.metro.rate\" = \"50mbit\" }}\n");
    for text in [rows, change] {
        let scenario = scenario(&text);
        assert!(!can_split(&scenario));
        let outcome =
            run_side_by_side(&scenario, Seed(5), &mut InTurn::default(), &mut |_| Control::Continue);
        assert_same(&outcome.expect("a run").recording, &whole(&text));
    }
}
