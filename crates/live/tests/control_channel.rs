//! A run with an observer equals the run without; a change by the observer equals a change in the file;
//! looking allocates nothing.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Faults, Simulated, wires};
use etherparse::PacketBuilder;
use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_live::control_channel::{Answer, ObserverEnd, Order, control_channel};
use lockgate_live::driver::drive;
use lockgate_live::frames::Frames;
use lockgate_live::network::Network;
use lockgate_measure::Recording;
use lockgate_measure::monitor::{Monitor, Sample};
use lockgate_measure::recording::Window;
use lockgate_scenario::{Override, Scenario, read};

/// Counts the allocations of this thread.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

#[allow(unsafe_code, reason = "an allocator")]
// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.with(|count| count.set(count.get() + 1));
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATED.with(|count| count.set(count.get() + 1));
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocated() -> u64 {
    ALLOCATED.with(Cell::get)
}

const SCENARIO: &str = r#"
title = "watched"
duration = "400ms"
[node]
a = {}
r = {}
c = {}
[link.la]
between = ["a", "r"]
rate = "100mbit"
delay = "100us"
[link.lc]
between = ["r", "c"]
rate = "10mbit"
delay = "3ms"
[port."r->c"]
root = "tree"
alternatives = ["tree", "other"]
[port."r->c".queue.tree]
kind = "drr"
children = ["first", "second"]
[port."r->c".queue.first]
kind = "fifo"
limit = "30p"
match = [{ flow = "one" }]
[port."r->c".queue.second]
kind = "fifo"
limit = "30p"
[port."r->c".queue.other]
kind = "fq_codel"
[flow.one]
from = "a"
to = "c"
size = "1442B"
gap = "1300us"
[flow.two]
from = "a"
to = "c"
size = "700B"
gap = "800us"
[[change]]
at = "250ms"
set = { "link.lc.rate" = "7mbit" }
"#;

fn files() -> BTreeMap<String, Arc<[u8]>> {
    BTreeMap::new()
}

fn scenario() -> Scenario {
    read(SCENARIO, "watched.toml", &files(), &[]).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn after(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Actions at the observer's end during a run.
type Meanwhile<'a> = dyn FnMut(Instant, &mut ObserverEnd) + 'a;

/// Runs the scenario under a kernel without faults. `meanwhile` is called every 5 ms.
fn run(scenario: &Scenario, meanwhile: Option<&mut Meanwhile<'_>>) -> (Recording, Vec<Sample>) {
    let (wires, is_host) = wires(scenario);
    let mut network =
        Network::new(scenario, Seed(1), is_host, Frames::new(1 << 12, 1600)).expect("a network");
    let mut machine = Simulated::new(scenario, 1, Faults::default());
    let mut samples = Vec::new();
    if let Some(meanwhile) = meanwhile {
        let (mut driver_end, mut observer_end) = control_channel(Duration::from_millis(10));
        network.watch();
        let mut stop = |now| {
            meanwhile(now, &mut observer_end);
            samples.extend(std::iter::from_fn(|| observer_end.sample()));
            false
        };
        drive(&mut network, &mut machine, &wires, &mut stop, Some(&mut driver_end)).expect("driven");
    } else {
        drive(&mut network, &mut machine, &wires, &mut |_| false, None).expect("driven");
    }
    let (recording, _) = network.close().expect("an account that balances");
    (recording, samples)
}

fn assert_same(one: &Recording, other: &Recording) {
    for (one, other) in one.ports.iter().zip(&other.ports) {
        // The difference itself would be too long to print.
        assert!(one == other, "port `{}`", one.setup.name);
    }
    for (one, other) in one.flows.iter().zip(&other.flows) {
        assert_eq!(one.totals(Window::WholeRun), other.totals(Window::WholeRun), "{}", one.setup.name);
        assert!(one.delays() == other.delays(), "flow `{}`", one.setup.name);
    }
    assert_eq!(one.events, other.events);
}

#[test]
fn a_watched_run_is_the_run() {
    let scenario = scenario();
    let (alone, _) = run(&scenario, None);
    let (watched, samples) = run(&scenario, Some(&mut |_, _| {}));
    assert_same(&alone, &watched);
    assert!((38..=40).contains(&samples.len()), "a sample every 10 ms of 400: {}", samples.len());
    assert!(samples.windows(2).all(|pair| pair[1].number == pair[0].number + 1));
    let last = samples.last().expect("a sample");
    let flow = &watched.flows[0];
    assert!(last.flows[0].sent_packets <= flow.totals(Window::WholeRun).sent.packets);
    assert!(last.flows[0].received_packets > 100, "{:?}", last.flows[0]);
    assert!(samples.iter().any(|sample| sample.events.len() == 1), "the change of the file is seen");
    let queues = &last.ports.iter().find(|port| port.name == "r:c").expect("the port").queues;
    assert_eq!(
        queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>(),
        ["tree", "first", "second"]
    );
}

/// Samples that the observer does not read are dropped and counted; the run is the same.
#[test]
fn a_desk_that_sleeps_costs_samples_and_nothing_else() {
    let scenario = read(
        &SCENARIO.replace("duration = \"400ms\"", "duration = \"2s\"").replace("250ms", "900ms"),
        "watched.toml",
        &files(),
        &[],
    )
    .unwrap_or_else(|problems| panic!("{problems:?}"));
    let (alone, _) = run(&scenario, None);
    let (wires, is_host) = wires(&scenario);
    let mut network =
        Network::new(&scenario, Seed(1), is_host, Frames::new(1 << 12, 1600)).expect("a network");
    let mut machine = Simulated::new(&scenario, 1, Faults::default());
    let (mut driver_end, mut observer_end) = control_channel(Duration::from_millis(10));
    network.watch();
    let mut late = Vec::new();
    let mut stop = |now| {
        if now > after(1_500) {
            late.extend(std::iter::from_fn(|| observer_end.sample()));
        }
        false
    };
    drive(&mut network, &mut machine, &wires, &mut stop, Some(&mut driver_end)).expect("driven");
    let (watched, _) = network.close().expect("an account that balances");
    assert_same(&alone, &watched);
    let dropped = late.last().expect("samples").dropped_samples;
    assert!((80..90).contains(&dropped), "150 and 64 places: {dropped}");
    assert!(late.windows(2).any(|pair| pair[1].number - pair[0].number == dropped + 1), "one gap");
    let told: Vec<f64> = late.iter().flat_map(|sample| &sample.events).map(|event| event.at_s).collect();
    assert_eq!(told, [0.9], "what happened in the gap is told after it");
}

/// A setting during a run is a change of the file: a run of the resulting scenario is equal. A setting that
/// comes too late is refused and changes nothing.
#[test]
fn a_change_asked_for_is_one_of_the_file() {
    let scenario = scenario();
    let set = |text: &str| Override::parse(text).expect("an override");
    let asked = [
        (100, after(130), "port.r->c.queue.first.quantum=9000B"),
        (150, after(180), "port.r->c.root=other"),
        (280, after(320), "link.lc.delay=9ms"),
    ];
    let mut saved = scenario.clone();
    let mut next = 0;
    let (mut taken, mut late, mut freed) = (0, 0, 0);
    let (played, _) = run(
        &scenario,
        Some(&mut |now, observer_end| {
            freed += observer_end.free();
            while let Some(answer) = observer_end.answer() {
                match answer {
                    Answer::Taken(_) => taken += 1,
                    Answer::Late(at, _) => {
                        late += 1;
                        assert!(at >= after(150));
                    }
                }
            }
            if let Some((_, at, text)) = asked.get(next).filter(|(when, ..)| now >= after(*when)).copied() {
                let (changed, _) = saved.with_change(at, &[set(text)], &files()).expect("a change");
                let rest = changed.changes.iter().filter(|change| change.at >= at).cloned();
                let timeline = rest.map(|change| change.prepare().expect("built")).collect();
                assert!(observer_end.order(Order::Timeline { from: at, changes: timeline }));
                saved = changed;
                next += 1;
                if next == 2 {
                    // Far in the past: the driver must refuse it.
                    let none = Vec::new();
                    assert!(observer_end.order(Order::Timeline { from: after(50), changes: none }));
                }
            }
        }),
    );
    assert_eq!((taken, late), (3, 1));
    assert_eq!(freed, 4, "what has happened is freed at the observer_end, with the tree that was replaced");
    let (replayed, _) = run(&saved, None);
    assert_eq!(played.events.len(), 4);
    assert_same(&played, &replayed);
}

/// Looks at the queues and writing samples allocate nothing once every queue has been visited, and neither do
/// the packets in these queues.
#[test]
fn looking_allocates_nothing() {
    let scenario = scenario();
    let (_, is_host) = wires(&scenario);
    let mut network =
        Network::new(&scenario, Seed(1), is_host, Frames::new(1 << 12, 1600)).expect("a network");
    network.watch();
    let fields = scenario.flows[1].fields;
    let (std::net::IpAddr::V4(from), std::net::IpAddr::V4(to)) = (fields.source, fields.destination) else {
        panic!("addresses of version 4");
    };
    let mut frame = Vec::new();
    PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4(from.octets(), to.octets(), 64)
        .udp(fields.source_port, fields.destination_port)
        .write(&mut frame, &[0; 200])
        .expect("fits");
    let mut monitor = Monitor::new(Instant::ZERO);
    let mut sample = Sample::default();
    let (mut looking, mut at) = (0, Instant::ZERO);
    for interval in 0..24 {
        let before = allocated();
        let mut inside = 0;
        for look in 0..10 {
            // More than a histogram stores as single values, and more than the queue's limit.
            for _ in 0..40 {
                at = at + Duration::from_micros(25);
                network.play_before_frame(at).expect("played");
                let _ = network.enter(0, at, &frame);
                network.play(at).expect("played");
                while let Some(leaving) = network.leaving.pop() {
                    network.account_delivery(leaving.packet, leaving.at, at, true);
                }
            }
            let before = allocated();
            network.look(&mut monitor);
            if look == 9 {
                network.sample_into(&mut monitor, &mut sample);
            }
            inside += allocated() - before;
        }
        if interval >= 12 {
            looking += inside;
            assert!(sample.flows[1].received_packets > 0, "{:?}", sample.flows);
            assert_eq!(inside, 0, "interval {interval}, of {} in all", allocated() - before);
        }
    }
    assert_eq!(looking, 0);
    let port = sample.ports.iter().find(|port| port.name == "r:c").expect("the port");
    assert!(port.queues[0].dropped_packets > 0 && port.queues[0].sojourn_p99_s > Some(1e-3), "{port:?}");
}
