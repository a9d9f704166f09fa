//! An observer that only reads changes nothing; one that turns knobs leaves a scenario that says so.

use std::collections::BTreeMap;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::monitor::{Monitor, Pass, Sample};
use lockgate_measure::recording::Recording;
use lockgate_scenario::{Override, Scenario};
use lockgate_sim::{Command, Control, Observer, RunView, run, watched};

use crate::common::{assert_same, scenario};

const TEXT: &str = r#"
duration = "4s"
warmup = "1s"
node.a = {}
node.b = {}
link.l = { between = ["a", "b"], rate = "10mbit", delay = "5ms", loss = 0.01 }
[port."a->b"]
root = "q"
queue.q = { kind = "drr", children = ["one", "two"] }
queue.one = { kind = "fifo", limit = "50p", match = [{ flow = "one" }] }
queue.two = { kind = "fifo", limit = "80p" }
queue.fair = { kind = "fq_codel" }
[flow.one]
from = "a"
to = "b"
transport = "udp"
size = "1000B"
gap = { distribution = "exponential", mean = "1ms" }
[flow.two]
from = "a"
to = "b"
transport = "udp"
size = { distribution = "uniform", min = "100B", max = "1500B" }
gap = { distribution = "exponential", mean = "1ms" }
[[change]]
at = "2s"
set = { "port.a->b.queue.two.limit" = "20p" }
"#;

/// Subscribers that are recorded briefly; two of three are behind their plans all the time.
const GROUPS: &str = r#"
duration = "2s"
warmup = "300ms"
node.a = {}
node.b = {}
node.sub = { count = 3 }
link.core = { between = ["a", "b"], rate = "10mbit", delay = "1ms" }
link.access = { between = ["b", "sub/*"], rate = "2mbit", delay = "2ms" }
[port."a:b"]
root = "q"
[port."a:b".queue]
q = { kind = "htb", children = ["all", "rest"] }
all = { kind = "class", rate = "9mbit", children = ["plan"], match = [{ destination = "10.0.0.0/8" }] }
plan = { count = "sub", kind = "fq_codel", limit = "30p", rate = "500kbit", ceil = ["1mbit", "2mbit", "1mbit"], match = [{ destination = "sub/$i" }] }
rest = { kind = "fifo", rate = "1mbit" }
[flow]
call = { from = "a", to = "sub/*", count = "sub", size = "500B", gap = { distribution = "exponential", mean = "3ms" } }
file = { from = "a", to = "sub/*", count = "sub", transport = "tcp", bytes = "50kB" }
[record]
detail = "groups"
[[change]]
at = "1s"
set = { "link.core.rate" = "3mbit" }
"#;

/// Looks every `step`, closes an interval every tenth look, and sets what is due.
struct Looker {
    step: Duration,
    looks: u64,
    monitor: Monitor,
    samples: Vec<Sample>,
    knobs: Vec<(u64, &'static str)>,
    last: Option<Scenario>,
}

impl Looker {
    fn new(knobs: Vec<(u64, &'static str)>) -> Self {
        Self {
            step: Duration::from_micros(7_001),
            looks: 0,
            monitor: Monitor::default(),
            samples: Vec::new(),
            knobs,
            last: None,
        }
    }
}

impl Observer for Looker {
    fn next(&self, now: Instant) -> Instant {
        now + self.step
    }

    fn look(&mut self, view: RunView<'_>) -> Command {
        self.looks += 1;
        self.monitor.observe(view.links.iter_mut().map(|link| (&mut link.port, &mut link.record)));
        if self.looks.is_multiple_of(10) {
            let ports = view.links.iter_mut().map(|link| (&mut link.port, &mut link.record));
            self.samples.push(self.monitor.close(view.now, ports, view.flows, view.events));
        }
        let looks = self.looks;
        let Some((_, knob)) = self.knobs.iter().find(|(at, _)| *at == looks) else {
            return Command::Continue;
        };
        let settings = [Override::parse(knob).expect("a setting")];
        let files: BTreeMap<String, std::sync::Arc<[u8]>> = BTreeMap::new();
        let (changed, effects) = view
            .scenario
            .with_change(view.now + Duration::from_micros(1), &settings, &files)
            .expect("a valid change");
        assert_eq!(effects.len(), 1);
        self.last = Some(changed.clone());
        Command::Change(Box::new(changed))
    }
}

fn alone(scenario: &Scenario) -> Recording {
    run(scenario, Seed(3), &mut |_| Control::Continue).expect("a run").recording
}

fn looked_at(scenario: &Scenario, looker: &mut Looker) -> Recording {
    watched(scenario, Seed(3), looker).expect("a run").recording
}

#[test]
fn a_run_is_the_same_whether_it_is_watched_or_not() {
    let scenario = scenario(TEXT);
    let mut looker = Looker::new(Vec::new());
    let watched = looked_at(&scenario, &mut looker);
    assert_same(&watched, &alone(&scenario));
    assert!(looker.samples.len() > 50, "{} samples", looker.samples.len());
}

#[test]
fn members_of_groups_are_recorded_the_same_whether_they_are_watched_or_not() {
    let scenario = scenario(GROUPS);
    let mut looker = Looker::new(Vec::new());
    let watched = looked_at(&scenario, &mut looker);
    let alone = alone(&scenario);
    assert_same(&watched, &alone);
    assert_eq!(watched.flows, alone.flows);
}

#[test]
fn queues_without_series_have_the_counters_and_peaks_of_those_with_series() {
    let (brief, full) = (scenario(GROUPS), scenario(&GROUPS.replace("\"groups\"", "\"all\"")));
    let (brief, full) = (alone(&brief), alone(&full));
    let mut peaks = 0;
    for (brief, full) in brief.ports.iter().zip(&full.ports) {
        assert!(brief.ends().len() < full.ends().len());
        for (brief, full) in brief.queues().iter().zip(full.queues()) {
            assert_eq!((&brief.name, brief.peak), (&full.name, full.peak));
            assert_eq!((brief.before, brief.counters), (full.before, full.counters), "{}", brief.name);
            peaks += u64::from(brief.is_brief && brief.peak.packets > 10);
        }
    }
    assert!(peaks >= 2, "{peaks} queues of groups were long");
}

#[test]
fn what_is_set_while_it_runs_is_a_scenario_that_replays_it() {
    let scenario = scenario(TEXT);
    let knobs = vec![
        (100, "port.a->b.queue.one.quantum=3kB"),
        (200, "flow.one.gap={ distribution = \"exponential\", mean = \"600us\" }"),
        (250, "link.l.rate=5mbit"),
        (300, "port.a->b.root=fair"),
    ];
    let mut looker = Looker::new(knobs);
    let session = looked_at(&scenario, &mut looker);
    let saved = looker.last.expect("changes");
    assert_eq!(session.events.len(), 5);
    assert_same(&alone(&crate::common::scenario(&saved.to_toml())), &session);
    assert_ne!(alone(&scenario).flows[0].delays(), session.flows[0].delays());
}

#[test]
fn samples_add_up_to_the_run() {
    let scenario = scenario(TEXT);
    let mut looker = Looker::new(Vec::new());
    let recording = looked_at(&scenario, &mut looker);
    let last = looker.samples.last().expect("samples");
    let port = &last.ports[0];
    let queue = |sample: &Sample, name: &str| {
        sample.ports[0].queues.iter().find(|queue| queue.name == name).cloned().expect("the queue")
    };
    let root = queue(last, "q");
    let (one, two) = (queue(last, "one"), queue(last, "two"));
    assert_eq!(root.total.sent_packets, one.total.sent_packets + two.total.sent_packets);
    assert_eq!(root.total.sojourn_count, root.total.sent_packets, "of every packet sent, warm-up included");
    assert_eq!(root.total.sojourn_count, one.total.sojourn_count + two.total.sojourn_count);
    let sum = |pick: fn(&lockgate_measure::monitor::QueueSample) -> u64, name: &str| -> u64 {
        looker.samples.iter().map(|sample| pick(&queue(sample, name))).sum()
    };
    assert_eq!(sum(|queue| queue.sent_packets, "two"), two.total.sent_packets);
    assert_eq!(sum(|queue| queue.dropped_packets, "q"), root.total.dropped_packets);
    let by_reason = |queue: &lockgate_measure::monitor::QueueSample| -> u64 {
        queue.dropped_by.iter().map(|(_, packets)| packets).sum()
    };
    assert_eq!(sum(by_reason, "q"), root.total.dropped_packets);
    assert!(root.total.dropped_packets > 100, "{}", root.total.dropped_packets);
    let sent: u64 = looker
        .samples
        .iter()
        .map(|sample| (sample.ports[0].sent_bps * sample.interval_s / 8.0).round() as u64)
        .sum();
    assert!(sent <= recording.ports[0].transmitted().bytes.0);
    // The link is full: 10 Mbit/s within a packet an interval, and no queue beyond its limit.
    for sample in looker.samples.iter().skip(2) {
        assert!(
            (sample.ports[0].sent_bps - 10e6).abs() < 1500.0 * 8.0 / 0.07 * 2.0,
            "{}",
            sample.ports[0].sent_bps
        );
        let one = queue(sample, "one");
        // Fifty in the FIFO, and the one that its parent has looked at.
        assert!(one.packets <= one.peak_packets && one.peak_packets <= 51, "{one:?}");
        assert!(one.mean_packets <= one.peak_packets as f64);
    }
    assert_eq!(port.name, "a:b");
    assert_eq!(looker.samples.iter().map(|sample| sample.events.len()).sum::<usize>(), 1);
}

/// Stores the times of its looks.
struct Clock(Duration, Vec<u64>);

impl Observer for Clock {
    fn next(&self, now: Instant) -> Instant {
        now + self.0
    }

    fn look(&mut self, view: RunView<'_>) -> Command {
        self.1.push(view.now.since(Instant::ZERO).as_picos() / 1_000_000_000);
        Command::Continue
    }
}

#[test]
fn the_last_look_is_at_the_end_if_it_is_due_then() {
    let text = r#"
duration = "100ms"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1mbit" }
[flow.f]
from = "a"
to = "b"
size = "500B"
gap = "1ms"
"#;
    for (step, times) in [(25, vec![25, 50, 75, 100]), (40, vec![40, 80])] {
        let mut clock = Clock(Duration::from_millis(step), Vec::new());
        watched(&scenario(text), Seed(1), &mut clock).expect("a run");
        assert_eq!(clock.1, times);
    }
}

/// Closes each interval some queues at a time, and counts the calls.
struct Counter {
    monitor: Monitor,
    calls: usize,
    queues: usize,
}

impl Observer for Counter {
    fn next(&self, now: Instant) -> Instant {
        now + Duration::from_millis(10)
    }

    fn look(&mut self, view: RunView<'_>) -> Command {
        self.monitor.observe(view.links.iter_mut().map(|link| (&mut link.port, &mut link.record)));
        let (mut pass, mut sample) = (Pass::default(), Sample::default());
        self.calls = 0;
        let mut is_closed = false;
        while !is_closed {
            self.calls += 1;
            let ports = view.links.iter_mut().map(|link| (&mut link.port, &mut link.record));
            is_closed = self.monitor.close_some(&mut pass, 100, &mut sample, view.now, ports);
        }
        self.monitor.finish(&mut sample, view.now, view.events);
        self.queues = sample.ports.iter().map(|port| port.queues.len()).sum();
        Command::Continue
    }
}

/// The work of a sample grows with the number of queues: a port with many does not add its own to all others.
#[test]
fn a_port_with_many_queues_does_not_slow_the_others_down() {
    let text = r#"
duration = "30ms"
node = { a = {}, b = {}, sub = { count = 300 } }
link.core = { between = ["a", "b"], rate = "1gbit" }
link.access = { between = ["b", "sub/*"], rate = "1mbit" }
[port."a:b".queue]
q = { kind = "drr", children = ["plan"] }
plan = { count = 1000, kind = "fifo" }
[flow.f]
from = "a"
to = "sub/1"
size = "500B"
gap = "1ms"
"#;
    let mut counter = Counter { monitor: Monitor::default(), calls: 0, queues: 0 };
    watched(&scenario(text), Seed(1), &mut counter).expect("a run");
    assert_eq!(counter.queues, 1000 + 2 + 2 * 300);
    // Each queue is cleared, added and written, 100 at a time; ports share calls.
    assert!(counter.calls <= 3 * counter.queues.div_ceil(100) + 10, "{} calls", counter.calls);
}

/// How long a queue has stood still is added up over intervals, and begins anew when a packet leaves.
#[test]
fn a_queue_stands_still_for_as_long_as_none_of_its_packets_leaves() {
    let text = r#"
duration = "2s"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1mbit" }
[port."a:b".queue]
q = { kind = "prio", children = ["high", "low"] }
high = { kind = "fifo", limit = "9p", match = [{ flow = "flood" }] }
low = { kind = "fifo", limit = "9p" }
[flow.flood]
from = "a"
to = "b"
size = "1000B"
rate = "3mbit"
start = "200ms"
stop = "1s"
[flow.calm]
from = "a"
to = "b"
size = "1000B"
gap = "100ms"
"#;
    let mut looker = Looker { step: Duration::from_millis(1), ..Looker::new(Vec::new()) };
    looked_at(&scenario(text), &mut looker);
    let still = |name: &str, at_s: f64| {
        let sample = looker.samples.iter().find(|sample| sample.at_s >= at_s).expect("a sample");
        assert!((sample.interval_s - 0.01).abs() < 1e-9, "{}", sample.interval_s);
        sample.ports[0].queues.iter().find(|queue| queue.name == name).expect("the queue").still_s
    };
    assert!((still("low", 0.9) - 0.7).abs() < 0.03, "a packet waits since 0.2 s: {}", still("low", 0.9));
    assert_eq!((still("high", 0.9), still("low", 1.5)), (0.0, 0.0), "packets leave");
}
