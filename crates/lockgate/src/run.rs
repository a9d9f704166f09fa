//! Simulated runs of a scenario, one for each seed.

use std::cell::Cell;

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_measure::recording::Recording;
use lockgate_scenario::Scenario;
use lockgate_sim::{Control, Failure, Outcome};
#[cfg(feature = "threads")]
use rayon::prelude::*;

use crate::Error;
use crate::cost::Stopwatch;
use crate::memory::Guard;

/// Limit on the threads of runs: more only take memory and time, on any machine.
#[cfg(feature = "threads")]
pub(crate) const MOST_THREADS: usize = 256;

/// Options of runs.
#[derive(Clone)]
pub struct Options<'a> {
    /// Seeds: one run for each. One run with seed 1 by default.
    pub seeds: Vec<Seed>,
    /// Number of threads that simulate; by default as many as there are processors. Several runs are
    /// simulated on a thread each; a single one on two, if its network [can be
    /// split](lockgate_sim::can_split). The recordings are the same for any number.
    pub threads: Option<usize>,
    /// Limit on the resident memory of the process while it simulates, in bytes; unlimited by default.
    pub memory: Option<u64>,
    /// Callback that receives the progress of each run, on the thread that makes it.
    pub progress: &'a (dyn Fn(Advance) + Sync),
    /// Callback that ends all runs early by returning true. Called some thousand times a second.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { seeds: vec![Seed(1)], threads: None, memory: None, progress: &|_| {}, stop: &|| false }
    }
}

/// Progress of one run since the last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// Time in the run at the last call; zero at the first.
    pub from: Instant,
    /// Time in the run now.
    pub to: Instant,
    /// End of the run.
    pub end: Instant,
}

impl Advance {
    /// Returns how many of `steps` equal parts of the run ended in between.
    pub fn steps(&self, steps: u64) -> u64 {
        let end = u128::from(self.end.as_picos().max(1));
        let reached = |at: Instant| u128::from(at.as_picos()) * u128::from(steps) / end;
        (reached(self.to) - reached(self.from)) as u64
    }
}

/// Results of runs.
#[derive(Debug, Default)]
pub struct Runs {
    /// One for each seed, in the order of the seeds.
    pub recordings: Vec<Recording>,
    /// True if the callback stopped them.
    pub stopped_early: bool,
    /// Reasons why live runs are outside their fidelity limits; empty if they are within.
    pub unfaithful: Vec<String>,
    /// Results of the hosts' programs, in live runs.
    pub programs: Vec<ProgramOutput>,
}

/// Result of a program that ran on a host of a live run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramOutput {
    /// The host's name.
    pub node: String,
    /// The command.
    pub command: String,
    /// End of the program, in words.
    pub ended: String,
    /// Standard output and standard error, up to one mebibyte.
    pub output: Vec<u8>,
}

/// Simulates `scenario` once for each seed.
///
/// # Errors
/// If a run takes more than [`Options::memory`], or fails, which is a fault of Lockgate.
pub fn run(scenario: &Scenario, options: &Options<'_>) -> Result<Runs, Error> {
    let guard = options.memory.map(Guard::new);
    let one = |seed: &Seed| run_one(scenario, *seed, options, guard.as_ref());
    let recordings = on_threads(&options.seeds, options.threads, one)?;
    Ok(Runs { recordings, stopped_early: (options.stop)(), ..Runs::default() })
}

/// Returns the number of threads that simulate: by default one a processor.
#[cfg(feature = "threads")]
pub(crate) fn threads_of(threads: Option<usize>) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    threads.unwrap_or_else(processors).clamp(1, MOST_THREADS)
}

/// Returns the number of threads that simulate: one.
#[cfg(not(feature = "threads"))]
pub(crate) fn threads_of(_: Option<usize>) -> usize {
    1
}

/// Calls `one` with each item, on so many threads or on one a processor. Results are in the order of the
/// items; the first error ends all.
#[cfg(feature = "threads")]
pub(crate) fn on_threads<T: Sync, R: Send>(
    items: &[T],
    threads: Option<usize>,
    one: impl Fn(&T) -> Result<R, Error> + Sync + Send,
) -> Result<Vec<R>, Error> {
    let on_all = || items.par_iter().map(&one).collect();
    match (threads, items.len()) {
        (Some(0 | 1), _) | (_, 0 | 1) => items.iter().map(&one).collect(),
        (None, _) => on_all(),
        (Some(threads), many) => {
            let threads = threads.min(many).min(MOST_THREADS);
            match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
                Ok(pool) => pool.install(on_all),
                // No thread can be started here.
                Err(_) => items.iter().map(&one).collect(),
            }
        }
    }
}

/// Calls `one` with each item, in turn; the first error ends all.
#[cfg(not(feature = "threads"))]
pub(crate) fn on_threads<T, R>(
    items: &[T],
    _: Option<usize>,
    one: impl Fn(&T) -> Result<R, Error>,
) -> Result<Vec<R>, Error> {
    items.iter().map(one).collect()
}

/// Simulates a run, a single one of a large network on two threads. Returns the processor time of other
/// threads in seconds as well.
fn simulate(
    scenario: &Scenario,
    seed: Seed,
    options: &Options<'_>,
    watch: &mut dyn FnMut(Instant) -> Control,
) -> (Result<Outcome, Failure>, f64) {
    #[cfg(feature = "threads")]
    if options.seeds.len() == 1
        && options.threads.is_none_or(|threads| threads > 1)
        && std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
        && lockgate_sim::can_split(scenario)
    {
        return crate::helper_thread::run_on_two_threads(scenario, seed, watch);
    }
    let _ = options;
    (lockgate_sim::run(scenario, seed, watch), 0.0)
}

fn run_one(
    scenario: &Scenario,
    seed: Seed,
    options: &Options<'_>,
    guard: Option<&Guard>,
) -> Result<Recording, Error> {
    let end = scenario.end();
    let last = Cell::new(Instant::ZERO);
    let watch = Stopwatch::start();
    let mut exceeded = None;
    let mut watch_run = |now| {
        (options.progress)(Advance { from: last.replace(now), to: now, end });
        exceeded = guard.and_then(Guard::exceeded);
        if (options.stop)() || exceeded.is_some() { Control::Stop } else { Control::Continue }
    };
    let (outcome, helper_cpu_s) = simulate(scenario, seed, options, &mut watch_run);
    if let (Some(limit), Some(taken)) = (options.memory, exceeded) {
        return Err(Error::Memory { taken, limit });
    }
    let mut recording = outcome?.recording;
    watch.record(&mut recording, helper_cpu_s);
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        let text = r#"
title = "t"
duration = "1s"
node.a = {}
node.b = {}
link.line = { between = ["a", "b"], rate = "1mbit" }
flow.f = { from = "a", to = "b", transport = "udp", size = "500B", gap = { distribution = "exponential", mean = "5ms" } }
"#;
        crate::read_text(text, "t", &crate::no_files(), &[]).expect("a valid scenario")
    }

    #[test]
    fn recordings_are_in_the_order_of_the_seeds_on_any_number_of_threads() {
        let scenario = scenario();
        let sent = |threads| {
            let seeds = (1..=6).map(Seed).collect();
            let runs = run(&scenario, &Options { seeds, threads, ..Options::default() }).expect("runs");
            let sent = |recording: &Recording| {
                crate::summarise(&scenario, std::slice::from_ref(recording)).expect("a summary").flows["f"]
                    .sent_packets
            };
            runs.recordings.iter().map(|one| (one.seed.0, sent(one))).collect::<Vec<_>>()
        };
        let alone = sent(Some(1));
        assert_eq!(alone.iter().map(|(seed, _)| *seed).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(alone, sent(Some(3)));
        assert_eq!(alone, sent(None));
    }

    #[test]
    fn a_single_run_of_a_large_network_is_the_same_on_one_thread_and_on_two() {
        let text = r#"
title = "t"
duration = "100ms"
node.server = {}
node.edge = {}
node.member = { count = 1000 }
link.core = { between = ["server", "edge"], rate = "1gbit", delay = "10ms" }
link.last = { between = ["edge", "member/*"], rate = "10mbit", delay = "10ms" }
flow.f = { from = "server", to = "member/*", count = 1000, transport = "udp", size = "500B", gap = { distribution = "exponential", mean = "6ms" } }
"#;
        let scenario = crate::read_text(text, "t", &crate::no_files(), &[]).expect("a valid scenario");
        assert!(lockgate_sim::can_split(&scenario));
        let on = |threads| {
            let mut runs = run(&scenario, &Options { threads, ..Options::default() }).expect("a run");
            for recording in &mut runs.recordings {
                let cost = core::mem::take(&mut recording.engine);
                assert!(cost.cpu_s > 0.0 && cost.events > 10_000, "{cost:?}");
                recording.engine.events = cost.events;
            }
            runs.recordings
        };
        assert_eq!(on(Some(1)), on(Some(2)));
    }

    #[test]
    fn callbacks_receive_the_whole_run_and_stop_it() {
        let scenario = scenario();
        let steps = std::sync::atomic::AtomicU64::new(0);
        let progress = |advance: Advance| {
            steps.fetch_add(advance.steps(1000), std::sync::atomic::Ordering::Relaxed);
        };
        let runs = run(&scenario, &Options { progress: &progress, ..Options::default() }).expect("runs");
        assert!(!runs.stopped_early);
        assert!((990..=1000).contains(&steps.into_inner()));
        let stopped = run(&scenario, &Options { stop: &|| true, ..Options::default() }).expect("runs");
        assert!(stopped.stopped_early);
        assert_eq!(stopped.recordings.len(), 1);
    }
}
