//! Scenarios drawn at random: what reading accepts runs, with every packet accounted for.
//!
//! Every kind of the list with parameters at the ends of their ranges, trees of up to three levels, coarse
//! clocks and device rings, links and flows at their extremes, changes of the timeline and knobs turned on
//! the way.
//!
//! `LOCKGATE_GENERATED` is how many accepted scenarios are run (200 unless it is set); a failure names the
//! seed of its scenario, and `LOCKGATE_SEED` runs that one alone and prints it. A run ends after some
//! thousand events.

mod text;
mod tree;
mod values;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration as WallTime, Instant as WallInstant};

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::Recording;
use lockgate_measure::summary::{Summary, summarise};
use lockgate_scenario::{Override, read};
use lockgate_sim::{Command, Estimate, Observer, RunView, watched};

use crate::values::Kind;

/// Memory that a scenario may take to be run here.
const MEMORY: u64 = 512 << 20;

/// Times that a run is asked whether to stop before it does: some 16 000 events.
const STOPS: u32 = 4;

type NoFiles = BTreeMap<String, Arc<[u8]>>;

/// Turns a knob at each look, and ends the run in time.
struct Turner<'a> {
    step: Duration,
    knobs: std::slice::Iter<'a, String>,
    left: u32,
    turned: u32,
}

impl Observer for Turner<'_> {
    fn next(&self, now: Instant) -> Instant {
        now + self.step
    }

    fn look(&mut self, view: RunView<'_>) -> Command {
        let Some(knob) = self.knobs.next() else { return Command::Continue };
        let Ok(setting) = Override::parse(knob) else { return Command::Continue };
        let at = view.now + Duration::from_micros(1);
        match view.scenario.with_change(at, &[setting], &NoFiles::new()) {
            Ok((changed, _)) => {
                self.turned += 1;
                Command::Change(Box::new(changed))
            }
            Err(_) => Command::Continue,
        }
    }

    fn stops(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }
}

/// What became of a scenario.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Refused,
    TooLarge,
    Ran { turned: u32 },
}

/// Reads the scenario of a seed and runs it where it is accepted.
fn try_it(kinds: &[Kind], seed: u64) -> Fate {
    let generated = text::generate(kinds, seed);
    let Ok(scenario) = read(&generated.text, "generated", &NoFiles::new(), &[]) else { return Fate::Refused };
    if Estimate::of(&scenario).total() > MEMORY {
        return Fate::TooLarge;
    }
    let step = Duration::from_picos(scenario.duration.as_picos() / 7 + 1);
    let mut turner = Turner { step, knobs: generated.knobs.iter(), left: STOPS, turned: 0 };
    let outcome = watched(&scenario, Seed(seed), &mut turner).unwrap_or_else(|failure| panic!("{failure}"));
    let summary = summarise(std::slice::from_ref(&outcome.recording));
    check(&summary, &outcome.recording);
    Fate::Ran { turned: turner.turned }
}

/// Laws that every summary keeps.
fn check(summary: &Summary, recording: &Recording) {
    for (name, port) in &summary.ports {
        let used = port.utilisation.unwrap_or(0.0);
        assert!((0.0..=1.0).contains(&used), "the utilisation of {name} is {used}");
        for (queue, of) in port.queues.iter().filter(|_| summary.warmup_s == 0.0) {
            let came = of.enqueued_packets + of.moved_in_packets;
            let went = of.sent_packets + of.dropped_packets + of.moved_out_packets;
            assert_eq!(came, went + of.backlog_packets, "the queue {queue} of {name} balances");
            assert!(of.peak_backlog_packets >= of.backlog_packets, "the peak of {queue} of {name}");
        }
    }
    check_shares(summary);
    for flow in &recording.flows {
        let (received, payload) = (flow.received_in_window().bytes, flow.payload_in_window());
        assert!(payload <= received, "the payload of {} is more than its frames", flow.setup.name);
    }
    let Some(rows) = &recording.packets else { return };
    for (index, port) in recording.ports.iter().enumerate() {
        let left = rows.iter().filter(|row| row.port as usize == index && row.departed.is_some()).count();
        assert_eq!(left as u64, port.transmitted().packets, "rows of packets that left {}", port.setup.name);
    }
}

/// Every share is of the packets of which it is a part: none is below 0 or above 1, in the document and in
/// the sentences.
fn check_shares(summary: &Summary) {
    fn ratios(name: &str, value: &serde_json::Value, found: &mut Vec<(String, f64)>) {
        match value {
            serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| ratios(key, value, found)),
            serde_json::Value::Array(list) => list.iter().for_each(|value| ratios(name, value, found)),
            value if name.ends_with("_ratio") => {
                found.extend(value.as_f64().map(|value| (name.to_owned(), value)));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    ratios("", &serde_json::to_value(summary).expect("JSON"), &mut found);
    for (port, results) in &summary.ports {
        for (queue, of) in &results.queues {
            let handled = of.handled_packets();
            assert!(of.dropped_packets <= handled, "the drops of {queue} of {port}");
        }
    }
    for sentence in summary.verdict().sentences() {
        let dropped = sentence.split(" % dropped").next().filter(|before| *before != sentence.as_str());
        let dropped = dropped.and_then(|before| before.rsplit(' ').next());
        found
            .extend(dropped.map(|share| (sentence.clone(), share.parse::<f64>().expect("a number") / 100.0)));
    }
    for (name, share) in found {
        // Used parts of bounds and limits are not shares.
        assert!(name == "used_ratio" || (0.0..=1.0).contains(&share), "{name} is {share}");
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("`{variable}` is a number, not `{text}`")))
}

/// What all scenarios together came to.
#[derive(Default)]
struct Tally {
    next: AtomicU64,
    accepted: AtomicU64,
    turned: AtomicU64,
    too_large: AtomicU64,
    failed: AtomicBool,
    /// The longest time that one took, and its seed.
    slowest: Mutex<(WallTime, u64)>,
    failures: Mutex<Vec<String>>,
}

impl Tally {
    fn work(&self, kinds: &[Kind], wanted: u64) {
        while self.accepted.load(Ordering::Relaxed) < wanted && !self.failed.load(Ordering::Relaxed) {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            let began = WallInstant::now();
            let fate = catch_unwind(AssertUnwindSafe(|| try_it(kinds, seed)));
            let took = began.elapsed();
            let mut slowest = self.slowest.lock().expect("no panic under the lock");
            *slowest = (*slowest).max((took, seed));
            drop(slowest);
            match fate {
                Ok(Fate::Ran { turned }) => {
                    self.accepted.fetch_add(1, Ordering::Relaxed);
                    self.turned.fetch_add(u64::from(turned), Ordering::Relaxed);
                }
                Ok(Fate::TooLarge) => {
                    self.too_large.fetch_add(1, Ordering::Relaxed);
                }
                Ok(Fate::Refused) => {}
                Err(_) => {
                    let mut failures = self.failures.lock().expect("no panic under the lock");
                    failures.push(format!("LOCKGATE_SEED={seed}"));
                    self.failed.store(failures.len() >= 20, Ordering::Relaxed);
                }
            }
        }
    }
}

/// The most memory that this process has had, in MiB, where the system says it.
fn peak_mebibytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? >> 10)
}

#[test]
fn what_is_accepted_runs() {
    let kinds = values::kinds();
    if let Some(seed) = number("LOCKGATE_SEED") {
        let generated = text::generate(&kinds, seed);
        println!("{}\nknobs: {:?}", generated.text, generated.knobs);
        if let Err(problems) = read(&generated.text, "generated", &NoFiles::new(), &[]) {
            problems.iter().for_each(|problem| println!("{problem}: {}", problem.help_text().unwrap_or("")));
        }
        try_it(&kinds, seed);
        return;
    }
    let wanted = number("LOCKGATE_GENERATED").unwrap_or(200);
    let tally = Tally { next: AtomicU64::new(number("LOCKGATE_FROM").unwrap_or(0)), ..Tally::default() };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| tally.work(&kinds, wanted));
        }
    });
    let (took, seed) = *tally.slowest.lock().expect("no panic under the lock");
    let turned = tally.turned.into_inner();
    println!(
        "{} accepted of {} drawn, {} too large; {turned} knobs turned; the slowest took {took:?} (seed {seed}); {} MiB at most",
        tally.accepted.into_inner(),
        tally.next.into_inner(),
        tally.too_large.into_inner(),
        peak_mebibytes().map_or_else(|| "?".to_owned(), |peak| peak.to_string()),
    );
    let failures = tally.failures.into_inner().expect("no panic under the lock");
    assert!(failures.is_empty(), "each shows a failure again: {}", failures.join(", "));
    // Some four runs of ten turn one; none means that the observer is not called.
    assert!(turned > 0 || wanted < 50, "no knob was turned on the way");
}
