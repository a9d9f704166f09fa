//! Runs of the command: scenarios and limits as named on the command line, progress bars, interruption.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant as WallInstant;

use lockgate::units::Instant;
use lockgate::{Advance, Files, Options, Override, Runs, Scenario, Seed, Summary, figures};
use lockgate_measure::report::Ghost;
use lockgate_scenario::MEMORY;
use lockgate_scenario::laboratory::{self, LINE};

use crate::exit::Failure;
use crate::output::tell;
use crate::{interrupt, terminal};

/// Steps of the progress bar for one run.
pub(crate) const STEPS: u64 = 1000;

/// Reads a scenario file with the settings of the command line. `--memory` limits its files here, and its
/// runs later.
pub(crate) fn read_file(file: &Path, overrides: &[String], memory: u64) -> Result<Scenario, Failure> {
    if !file.exists() {
        return Err(no_such_file(file));
    }
    Ok(lockgate::read_within(file, &parse_overrides(overrides)?, memory)?)
}

/// Prints which line is around a policy, which of its rates are assumed, and which circuits have no traffic.
/// `settings` are those of the command, each `PATH=VALUE`. Prints nothing of a scenario.
pub(crate) fn tell_line(file: &Path, scenario: &Scenario, settings: &[String]) {
    if !is_policy(file) {
        return;
    }
    let Some(line) = scenario.links.iter().find(|link| link.name == LINE) else { return };
    let rates = [0, 1].map(|direction| figures::rate(Some(line.mean_rate(direction).as_bits() as f64)));
    let [up, down] = rates;
    let assumed = match ["up", "down"].map(|direction| sets_line(settings, direction)) {
        [true, true] => "",
        [true, false] => {
            ": the second is assumed, as a policy does not say it; `--set link.line.rate.down=...` says yours"
        }
        [false, true] => {
            ": the first is assumed, as a policy does not say it; `--set link.line.rate.up=...` says yours"
        }
        [false, false] => {
            ": assumed, as a policy does not say it; `--set link.line.rate.up=...` and `link.line.rate.down=...` say yours"
        }
    };
    let file = file.display();
    tell!("`{file}` is run in a laboratory, before a line of {up} up and {down} down{assumed}");
    if let Some(active) = laboratory::active(&scenario.to_toml()) {
        tell!("{active}; `lockgate new lab --from {file}` writes the laboratory, to load others");
    }
}

/// True if settings have the rate of the line in a direction, `up` or `down`.
fn sets_line(settings: &[String], direction: &str) -> bool {
    let whole = ["link", LINE, "rate", direction];
    let paths = settings.iter().filter_map(|text| Override::parse(text).ok());
    paths.into_iter().any(|setting| {
        let path = setting.path();
        (2..=whole.len()).contains(&path.len()) && path.iter().zip(whole).all(|(own, part)| own == part)
    })
}

/// True if a file is a policy of a router.
pub(crate) fn is_policy(file: &Path) -> bool {
    peek(file).is_some_and(|text| lockgate_scenario::is_policy(&text))
}

/// Returns the settings that put a policy in place of those that the ports of the scenario in `file` name.
pub(crate) fn policy_settings(file: &Path, policy: &Path) -> Result<Vec<String>, Failure> {
    let text = lockgate::files::scenario_text(file, MEMORY, &[])?.text;
    // Named from here, not from the folder of the scenario.
    let policy = std::path::absolute(policy).unwrap_or_else(|_| policy.to_path_buf());
    lockgate_scenario::policy_settings(&text, &policy.display().to_string()).map_err(|why| {
        let message = format!("`{}` cannot be tested with a policy", file.display());
        Failure::usage(message, why)
    })
}

/// Returns the usage error of a command without a scenario. Its help lists the scenarios found here, and a
/// command that needs none.
pub(crate) fn no_file() -> Failure {
    Failure::usage("no scenario file was named", scenarios_here())
}

/// Returns the failure of a scenario file that is not there, with the scenario of the nearest name.
pub(crate) fn no_such_file(file: &Path) -> Failure {
    let wrong = format!("cannot read `{}`: there is no such file", file.display());
    let known = scenarios();
    let named = file.display().to_string();
    let near = lockgate_scenario::nearest(&named, known.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let help = near + &scenarios_here();
    Failure::usage(wrong, help)
}

/// Returns the scenarios in this directory and below `scenarios`.
fn scenarios() -> Vec<String> {
    let files = |folder: &str| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml") && is_scenario(path))
    };
    let mut found: Vec<String> = files(".")
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .chain(files("scenarios").map(|path| path.display().to_string()))
        .collect();
    found.sort();
    found
}

/// Returns the scenarios in this directory and below `scenarios`, in a sentence.
fn scenarios_here() -> String {
    const SHOWN: usize = 8;
    let mut found = scenarios();
    let more = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    let demo = "`lockgate demo` shows one that needs no file";
    match (found.is_empty(), more) {
        (true, _) => format!("name a scenario file; there is none here; {demo}"),
        (false, 0) => format!("here are {}; {demo}", found.join(", ")),
        (false, more) => format!("here are {} and {more} more; {demo}", found.join(", ")),
    }
}

/// True if a file looks like a scenario, wrong or right: neither a policy nor another program's file.
pub(crate) fn is_scenario(file: &Path) -> bool {
    peek(file).is_some_and(|text| lockgate_scenario::is_scenario(&text))
}

/// Returns the text of a file that can be a scenario, read before the command that it is for reads it. `None`
/// for a pipe, which has its text once and may have no writer, and for a file that is too long.
pub(crate) fn peek(file: &Path) -> Option<String> {
    let found = file.metadata().ok()?;
    let is_readable = found.is_file() && found.len() <= lockgate_scenario::longest_text(MEMORY);
    if is_readable { lockgate::files::text(file).ok() } else { None }
}

/// Reads a scenario's text.
pub(crate) fn read_text(
    text: &str,
    name: &str,
    files: &dyn Files,
    overrides: &[Override],
) -> Result<Scenario, Failure> {
    Ok(lockgate::read_text(text, name, files, overrides)?)
}

/// Parses `PATH=VALUE` of the command line.
pub(crate) fn parse_overrides(texts: &[String]) -> Result<Vec<Override>, Failure> {
    Ok(lockgate::parse_settings(texts)?)
}

/// Simulates `scenario` once for each seed, on `threads` or all processors, with a progress bar unless
/// `quiet`.
pub(crate) fn simulate(
    scenario: &Scenario,
    seeds: &[Seed],
    threads: Option<usize>,
    quiet: bool,
) -> Result<Runs, Failure> {
    let bar = terminal::progress(STEPS * seeds.len() as u64, quiet);
    let simulated = AtomicU64::new(0);
    let all = scenario.duration.as_secs_f64() * seeds.len() as f64;
    let started = WallInstant::now();
    let progress = |advance: Advance| {
        let picos = advance.to.since(advance.from).as_picos();
        let total = Instant::from_picos(simulated.fetch_add(picos, Ordering::Relaxed) + picos).as_secs_f64();
        let real = started.elapsed().as_secs_f64().max(1e-9);
        bar.inc(advance.steps(STEPS));
        bar.set_message(simulated_so_far(total, all, real));
    };
    let runs = lockgate::run(
        scenario,
        &Options {
            seeds: seeds.to_vec(),
            threads,
            memory: Some(scenario.memory),
            progress: &progress,
            stop: &interrupt::is_requested,
        },
    );
    bar.finish_and_clear();
    Ok(runs?)
}

/// Adds to the summary of simulated runs what each change did: runs without it, and further ones that tell an
/// effect from chance. Returns the series without each change.
pub(crate) fn add_effects(
    scenario: &Scenario,
    runs: &Runs,
    threads: Option<usize>,
    quiet: bool,
    summary: &mut Summary,
) -> Result<Vec<Ghost>, Failure> {
    if runs.stopped_early && interrupt::is_requested() {
        return Ok(Vec::new());
    }
    let bar = terminal::progress(0, quiet);
    bar.set_message("the same without each change");
    let options = Options {
        threads,
        memory: Some(scenario.memory),
        stop: &interrupt::is_requested,
        ..Options::default()
    };
    let ghosts = lockgate::add_effects(scenario, runs, &options, summary);
    bar.finish_and_clear();
    Ok(ghosts?)
}

/// Returns how much is simulated, of how much, and how fast: `3.2 of 20.0 s simulated, 12 times real time`.
fn simulated_so_far(done: f64, all: f64, real: f64) -> String {
    let times = done / real;
    let times = if times < 9.95 { format!("{times:.1}") } else { format!("{times:.0}") };
    let decimals = usize::from(all < 99.95);
    format!("{done:.decimals$} of {all:.decimals$} s simulated, {times} times real time")
}

/// Runs `scenario` on real packets once for each seed, one after the other, in real time.
pub(crate) fn live(scenario: &Scenario, seeds: &[Seed], quiet: bool) -> Result<Runs, Failure> {
    let bar = terminal::progress(STEPS * seeds.len() as u64, quiet);
    let all = scenario.duration.as_secs_f64();
    let progress = |advance: Advance| {
        bar.inc(advance.steps(STEPS));
        let (done, run) = (advance.to.as_secs_f64(), bar.position() / STEPS + 1);
        let of = if seeds.len() > 1 { format!(", run {run} of {}", seeds.len()) } else { String::new() };
        bar.set_message(format!("{done:.0} of {all:.0} s on real packets{of}"));
    };
    let runs = lockgate::run_live(
        scenario,
        &Options {
            seeds: seeds.to_vec(),
            progress: &progress,
            stop: &interrupt::is_requested,
            ..Options::default()
        },
    );
    bar.finish_and_clear();
    Ok(runs?)
}

/// Reads a time with its unit, such as that of `--for`.
pub(crate) fn time(text: &str) -> Result<lockgate::units::Duration, Failure> {
    text.parse()
        .map_err(|_| Failure::usage(format!("`{text}` is not a time"), "write one such as `30s` or `10min`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_of_how_many() {
        assert_eq!(simulated_so_far(3.21, 20.0, 0.25), "3.2 of 20.0 s simulated, 13 times real time");
        assert_eq!(simulated_so_far(0.4, 120.0, 1.0), "0 of 120 s simulated, 0.4 times real time");
    }
}
