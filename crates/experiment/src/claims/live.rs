//! Runs of a paper on real packets: which ones are possible, at which scale, and their observations converted
//! to the paper's time.
//!
//! ```text
//! runs that claims need --> scenario at its scale --> live, in parallel --> observed, scaled back
//! ```

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use lockgate_engine::units::Instant;
use lockgate_measure::metric::{Address, Unit};
use lockgate_measure::recording::Recording;
use lockgate_measure::summary;
use lockgate_scenario::{Scale, Scenario, Transport};

use super::experiment::Experiment;
use super::expression::{Clause, Observation};
use super::observation::{Curve, at, curve, observe};
use super::results::{Live, Observations};
use crate::Error;

/// Options of live runs.
#[derive(Clone, Copy)]
pub struct LiveRequest<'a> {
    /// Function that makes them.
    pub runner: &'a dyn LiveRunner,
    /// Scale of all runs that may be scaled, instead of their own.
    pub scale: Option<Scale>,
}

/// Maker of runs on real packets.
pub trait LiveRunner: Sync {
    /// Checks that a scenario can be run on real packets.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn check(&self, scenario: &Scenario) -> Result<(), String>;

    /// Runs a scenario in real time. Calls `reached` with the time in the run every few milliseconds.
    ///
    /// # Errors
    /// If the run fails.
    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        reached: &mut (dyn FnMut(Instant) + Send),
    ) -> Result<LiveRun, Error>;

    /// Called with the progress of all runs.
    fn report(&self, event: LiveEvent<'_>) {
        let _ = event;
    }

    /// True if no further run should start.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Result of a live run.
#[derive(Debug)]
pub struct LiveRun {
    /// Observed data.
    pub recording: Recording,
    /// Fidelity limits that it exceeds.
    pub unfaithful: Vec<String>,
}

/// Progress of live runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveEvent<'a> {
    /// The runs are planned.
    Planned {
        /// Number of runs.
        runs: usize,
        /// Sum of their lengths in ms.
        length_ms: u64,
        /// Real time that they take in ms, as some run in parallel.
        takes_ms: u64,
    },
    /// A run starts.
    Started {
        /// Number of the run, from 1.
        number: usize,
        /// Number of all runs.
        runs: usize,
        /// Name of the run.
        name: &'a str,
        /// Length of the run in ms, if it is repeated.
        again_ms: Option<u64>,
    },
    /// A run advanced by these ms.
    Advanced(u64),
    /// All runs have ended.
    Ended,
}

/// Run to be made.
struct Planned {
    name: String,
    seed: u64,
    scenario: Scenario,
    scale: Scale,
    together: usize,
}

/// Time between runs in ms: hosts are built, threads start.
const BETWEEN_MS: u64 = 500;

impl Planned {
    fn length_ms(&self) -> u64 {
        self.scenario.end().as_picos() / 1_000_000_000 + BETWEEN_MS
    }
}

/// Runs are repeated within the total length of all runs divided by this.
const AGAIN: u64 = 3;

/// Makes those of the runs `needed` that are possible. A run outside the fidelity limits is repeated once, as
/// long as the time for repetitions lasts. The better of the two is chosen by its fidelity, never by its
/// values.
///
/// # Errors
/// If a scenario is invalid, this host lacks a capability, or a run fails.
pub(crate) fn run(
    experiment: &Experiment<'_>,
    needed: &BTreeSet<String>,
    request: LiveRequest<'_>,
    seed: u64,
) -> Result<Live, Error> {
    let mut live = Live::default();
    let mut planned = Vec::new();
    for name in needed {
        match plan(experiment, name, request)? {
            Ok(plan) => planned.push(plan),
            Err(why) => {
                live.not.insert(name.clone(), why);
            }
        }
    }
    planned.sort_by_key(|plan| plan.together);
    let length = planned.iter().map(Planned::length_ms).sum::<u64>();
    let takes = planned.iter().map(|plan| plan.length_ms() / plan.together as u64).sum::<u64>();
    let runner = request.runner;
    runner.report(LiveEvent::Planned { runs: planned.len(), length_ms: length, takes_ms: takes });
    let work = Work {
        experiment,
        runner,
        seed,
        spare: AtomicU64::new(takes / AGAIN),
        begun: AtomicUsize::new(0),
        count: planned.len(),
    };
    for batch in planned.chunk_by(|a, b| a.together == b.together) {
        for (plan, made) in work.all(batch)? {
            live.scales.insert(plan.name.clone(), plan.scale);
            live.real_s += made.real_s;
            if !made.outside.is_empty() {
                live.outside.insert(plan.name.clone(), made.outside);
            }
            live.seen.add(made.seen);
        }
    }
    runner.report(LiveEvent::Ended);
    Ok(live)
}

/// State shared by the threads that make runs.
struct Work<'a> {
    experiment: &'a Experiment<'a>,
    runner: &'a dyn LiveRunner,
    seed: u64,
    /// Milliseconds left for repeating runs.
    spare: AtomicU64,
    begun: AtomicUsize,
    count: usize,
}

impl Work<'_> {
    /// Makes runs, as many in parallel as permitted.
    fn all<'p>(&self, batch: &'p [Planned]) -> Result<Vec<(&'p Planned, Made)>, Error> {
        let waiting = Mutex::new(batch.iter());
        let next = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
        let work = || -> Result<Vec<_>, Error> {
            let mut made = Vec::new();
            while let Some(plan) = next().filter(|_| !self.runner.is_stopped()) {
                made.push((plan, self.best(plan)?));
            }
            Ok(made)
        };
        let workers = batch.first().map_or(1, |plan| plan.together).min(batch.len());
        let made = thread::scope(|scope| {
            let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(made.into_iter().flatten().collect())
    }

    /// Makes a run, and repeats it if it is outside the limits and there is time. Returns the better one.
    fn best(&self, plan: &Planned) -> Result<Made, Error> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        self.started(number, plan, None);
        let made = self.make(plan)?;
        if made.outside.is_empty() || self.runner.is_stopped() || !self.spend(plan.length_ms()) {
            return Ok(made);
        }
        self.started(number, plan, Some(plan.length_ms()));
        let again = self.make(plan)?;
        Ok(if again.outside.len() < made.outside.len() { again } else { made })
    }

    fn started(&self, number: usize, plan: &Planned, again_ms: Option<u64>) {
        self.runner.report(LiveEvent::Started { number, runs: self.count, name: &plan.name, again_ms });
    }

    fn spend(&self, length: u64) -> bool {
        let less = |spare: u64| spare.checked_sub(length);
        self.spare.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn make(&self, plan: &Planned) -> Result<Made, Error> {
        let mut shown = 0;
        let mut reached = |picos: u64| {
            let now = (picos / 1_000_000_000).min(plan.length_ms()).max(shown);
            self.runner.report(LiveEvent::Advanced(now - shown));
            shown = now;
        };
        let seed = self.seed.wrapping_add(plan.seed);
        let run = self.runner.run(&plan.scenario, seed, &mut |now| reached(now.as_picos()))?;
        reached(plan.length_ms() * 1_000_000_000);
        let recording = run.recording;
        let summary = summary::summarise(std::slice::from_ref(&recording));
        let value = |wanted: &Observation| {
            let times = back(wanted, plan.scale);
            let values = observe(&at(wanted, plan.scale), &recording, &summary);
            values.into_iter().map(|value| value * times).collect()
        };
        let drawn = |wanted: &Observation, kind: Curve| {
            let points = curve(&at(wanted, plan.scale), kind, &recording);
            let (x, y) = axes(wanted, kind, plan.scale);
            points.into_iter().map(|(a, b)| (a * x, b * y)).collect()
        };
        Ok(Made {
            seen: self.experiment.observed(&plan.name, &value, &drawn, recording.packet_hops()),
            outside: run.unfaithful,
            real_s: plan.scenario.end().as_secs_f64(),
        })
    }
}

/// Returns the run of this name, or the reason why it is not made.
fn plan(
    experiment: &Experiment<'_>,
    name: &str,
    request: LiveRequest<'_>,
) -> Result<Result<Planned, String>, Error> {
    let Some((how, seed)) = experiment.on_packets(name) else {
        return Ok(Err("no run of a claim".to_owned()));
    };
    let not = how.not.as_ref().or(how.not_quick.as_ref().filter(|_| experiment.quick));
    if let Some(why) = not {
        return Ok(Err(why.clone()));
    }
    let set = if experiment.quick && !how.quick.is_empty() { &how.quick } else { &how.set };
    let scenario = experiment.read_at(name, set, Scale::ONE)?;
    if let Err(why) = request.runner.check(&scenario) {
        return Ok(Err(why));
    }
    // A run over the kernel's TCP cannot be scaled: its timers are absolute.
    let is_tcp = scenario.flows.iter().any(|flow| matches!(flow.transport, Transport::Tcp(_)));
    let scale = if is_tcp { Scale::ONE } else { request.scale.or(how.scale).unwrap_or(Scale::ONE) };
    let scenario = if scale == Scale::ONE { scenario } else { experiment.read_at(name, set, scale)? };
    let together = usize::from(how.together.unwrap_or(1).max(1));
    Ok(Ok(Planned { name: name.to_owned(), seed, scenario, scale, together }))
}

/// Result of one run.
struct Made {
    seen: Observations,
    outside: Vec<String>,
    real_s: f64,
}

/// Dimension of a quantity, which says how it scales.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Rate,
    /// Counts, sizes and fractions: independent of the scale.
    Same,
}

fn kind(wanted: &Observation) -> Kind {
    let name = wanted.path.rsplit('.').next().unwrap_or_default();
    match (wanted.clause, name) {
        (Clause::Within(..), _) => Kind::Same,
        (_, "first_received" | "longest_silence" | "owd_p50" | "owd_max" | "scheduling_mean") => Kind::Time,
        (Clause::Over(..), "throughput" | "offered") => Kind::Rate,
        (Clause::Over(..), _) => Kind::Same,
        (Clause::Metric, _) => match Address::parse(&wanted.path).map(|address| address.unit()) {
            Ok(Unit::Seconds) => Kind::Time,
            Ok(Unit::BitsPerSecond) => Kind::Rate,
            _ => Kind::Same,
        },
    }
}

fn factor(kind: Kind, scale: Scale) -> f64 {
    match kind {
        Kind::Time => scale.times(),
        Kind::Rate => 1.0 / scale.times(),
        Kind::Same => 1.0,
    }
}

/// Returns the factor that converts a value at `scale` to the unscaled one.
pub(crate) fn back(wanted: &Observation, scale: Scale) -> f64 {
    factor(kind(wanted), scale)
}

/// Returns the factors of a curve's axes. Distributions are of times.
fn axes(wanted: &Observation, drawn: Curve, scale: Scale) -> (f64, f64) {
    match drawn {
        Curve::OverTime => (scale.times(), factor(kind(&drawn.as_observed(wanted)), scale)),
        Curve::Density => (scale.times(), 1.0 / scale.times()),
        Curve::Cumulative => (scale.times(), 1.0),
    }
}
