//! Runs of a scenario: reads it, simulates each seed on all processors, shows the progress.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant as WallInstant;

use indicatif::ProgressBar;
use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_measure::recording::Recording;
use lockgate_scenario::{MEMORY, Override, PathError, Reader, Scenario, Transport};
use lockgate_sim::Control;
use rayon::prelude::*;

use crate::exit::Failure;
use crate::files::{Beside, scenario_text};
use crate::memory::Guard;
use crate::{expectations, interrupt, memory, terminal};

/// Steps of the progress bar for one run.
const STEPS: u64 = 1000;

/// Reads a scenario file with the settings of the command line. `--memory` limits its files, and later its
/// runs.
pub(crate) fn read_file(
    file: &Path,
    overrides: &[String],
    memory: Option<&str>,
) -> Result<Scenario, Failure> {
    if !file.exists() {
        let wrong = format!("cannot read `{}`: there is no such file", file.display());
        return Err(Failure::usage(wrong, scenarios_here()));
    }
    let memory = memory::limit(memory)?;
    let text = scenario_text(file)?;
    let overrides = parse_overrides(overrides)?;
    let name = file.display().to_string();
    read_within(&text, &name, &Beside::new(file), &overrides, memory)
}

/// Returns the error that no scenario was named: lists those found here, and suggests the command that needs
/// none.
pub(crate) fn no_file() -> Failure {
    Failure::usage("no scenario file was named", scenarios_here())
}

/// Returns the scenarios in this directory and below `scenarios`, in a sentence.
fn scenarios_here() -> String {
    const SHOWN: usize = 8;
    let files = |folder: &str| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
    };
    let mut found: Vec<String> = files(".")
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .chain(files("scenarios").map(|path| path.display().to_string()))
        .collect();
    found.sort();
    let more = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    let demo = "`lockgate demo` shows one that needs no file";
    match (found.is_empty(), more) {
        (true, _) => format!("name a scenario file; there is no *.toml here; {demo}"),
        (false, 0) => format!("here are {}; {demo}", found.join(", ")),
        (false, more) => format!("here are {} and {more} more; {demo}", found.join(", ")),
    }
}

/// Reads a scenario's text.
pub(crate) fn read_text(
    text: &str,
    name: &str,
    files: &dyn lockgate_scenario::Files,
    overrides: &[Override],
) -> Result<Scenario, Failure> {
    read_within(text, name, files, overrides, MEMORY)
}

fn read_within(
    text: &str,
    name: &str,
    files: &dyn lockgate_scenario::Files,
    overrides: &[Override],
    memory: u64,
) -> Result<Scenario, Failure> {
    let reader = Reader { files, overrides, metrics: Some(&expectations::unit_of), memory };
    reader.read(text, name).map_err(|problems| Failure::Scenario(Box::new(problems)))
}

/// Parses `PATH=VALUE` of the command line.
pub(crate) fn parse_overrides(texts: &[String]) -> Result<Vec<Override>, Failure> {
    let parse = |text: &String| {
        Override::parse(text).map_err(|why| {
            let help = match why {
                PathError::CutByShell(_) => "write the port with a colon: `--set port.home:server.root=fair`",
                _ => "write `--set PATH=VALUE`, such as `--set link.wan.rate=2mbit`",
            };
            Failure::usage(format!("`--set {text}`: {why}"), help)
        })
    };
    texts.iter().map(parse).collect()
}

/// Results of runs.
pub(crate) struct Runs {
    /// One for each seed, in the order of the seeds.
    pub(crate) recordings: Vec<Recording>,
    /// True if the user stopped them.
    pub(crate) interrupted: bool,
    /// Reasons why live runs are outside their fidelity limits.
    pub(crate) unfaithful: Vec<String>,
    /// Results of the hosts' programs, in live runs.
    pub(crate) programs: Vec<lockgate_live::Ran>,
}

/// Simulates `scenario` once for each seed, on all processors, with a progress bar unless `quiet`.
pub(crate) fn simulate(scenario: &Scenario, seeds: &[u64], quiet: bool) -> Result<Runs, Failure> {
    let bar = terminal::progress(STEPS * seeds.len() as u64, quiet);
    let simulated = AtomicU64::new(0);
    let started = WallInstant::now();
    let guard = Guard::new(scenario.memory);
    let outcomes: Result<Vec<_>, Failure> = seeds
        .par_iter()
        .map(|seed| {
            simulate_one(scenario, *seed, Some(&guard), &|step: u64, picos: u64| {
                let total = simulated.fetch_add(picos, Ordering::Relaxed) + picos;
                bar.inc(step);
                show_speed(&bar, total, started);
            })
        })
        .collect();
    bar.finish_and_clear();
    let outcomes = outcomes?;
    let interrupted = interrupt::is_requested();
    Ok(Runs { recordings: outcomes, interrupted, unfaithful: Vec::new(), programs: Vec::new() })
}

/// Returns whether a flow of the scenario is TCP; `None` if there is no such flow.
pub(crate) fn is_reliable(scenario: &Scenario, name: &str) -> Option<bool> {
    let flow = scenario.flows.iter().find(|flow| flow.name == name)?;
    match flow.transport {
        Transport::Udp => Some(false),
        Transport::Tcp(_) => Some(true),
        Transport::TcpReturn { .. } | Transport::UdpReturn { .. } => None,
    }
}

/// Prepares live runs for an ordinary user. Must be called before any thread is started.
pub(crate) fn prepare_live() -> Result<(), Failure> {
    lockgate_live::prepare().map_err(|missing| Failure::live(missing.into()))
}

/// Runs `scenario` on real packets once for each seed, one after the other, in real time.
pub(crate) fn live(scenario: &Scenario, seeds: &[u64], quiet: bool) -> Result<Runs, Failure> {
    let bar = terminal::progress(STEPS * seeds.len() as u64, quiet);
    let end = scenario.end().as_picos().max(1);
    let mut runs =
        Runs { recordings: Vec::new(), interrupted: false, unfaithful: Vec::new(), programs: Vec::new() };
    for (place, seed) in seeds.iter().enumerate() {
        let before = STEPS * place as u64;
        let outcome = lockgate_live::run(scenario, Seed(*seed), &mut |now| {
            let reached = (u128::from(now.as_picos()) * u128::from(STEPS) / u128::from(end)) as u64;
            bar.set_position(before + reached);
            interrupt::is_requested()
        });
        let outcome = outcome.map_err(Failure::live)?;
        runs.recordings.push(outcome.recording);
        runs.unfaithful.extend(outcome.unfaithful);
        runs.programs.extend(outcome.programs);
        if interrupt::is_requested() {
            break;
        }
    }
    bar.finish_and_clear();
    runs.interrupted = interrupt::is_requested();
    Ok(runs)
}

fn show_speed(bar: &ProgressBar, picos: u64, started: WallInstant) {
    let simulated = Instant::from_picos(picos).as_secs_f64();
    let real = started.elapsed().as_secs_f64().max(1e-9);
    bar.set_message(format!("{simulated:.0} s simulated, {:.0} times real time", simulated / real));
}

/// Simulates one run; `guard` ends it if it takes too much memory. `advance` is called with the progress
/// since the last call: the number of its [`STEPS`] and the picoseconds.
pub(crate) fn simulate_one(
    scenario: &Scenario,
    seed: u64,
    guard: Option<&Guard>,
    advance: &(dyn Fn(u64, u64) + Sync),
) -> Result<Recording, Failure> {
    let end = scenario.end().as_picos().max(1);
    let (mut last, mut steps) = (0, 0);
    let wall = WallInstant::now();
    let cpu = lockgate_live::clock::thread_cpu_time();
    let mut exceeded = None;
    let outcome = lockgate_sim::run(scenario, Seed(seed), &mut |now| {
        let now = now.as_picos();
        let reached = (u128::from(now) * u128::from(STEPS) / u128::from(end)) as u64;
        advance(reached - steps, now - last);
        (last, steps) = (now, reached);
        exceeded = guard.and_then(Guard::exceeded);
        if interrupt::is_requested() || exceeded.is_some() { Control::Stop } else { Control::Continue }
    });
    if let (Some(guard), Some(bytes)) = (guard, exceeded) {
        return Err(guard.failure(bytes));
    }
    let mut recording = outcome
        .map_err(|failure| Failure::run(failure, "please report this with the scenario and the seed"))?
        .recording;
    recording.engine.wall_s = wall.elapsed().as_secs_f64();
    recording.engine.cpu_s = lockgate_live::clock::thread_cpu_time().as_secs_f64() - cpu.as_secs_f64();
    Ok(recording)
}
