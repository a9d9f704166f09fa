//! `lockgate attack`: search for the traffic that makes a metric worst.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockgate::attack::{self, Budget};
use lockgate::{Options, Override, Scenario, figures};
use lockgate_measure::metric::Quantity;

use crate::arguments::Attack;
use crate::exit::{Exit, Failure};
use crate::{interrupt, runs, terminal};

/// Name of the scenario that is written.
const FOUND: &str = "attack.toml";

pub(crate) fn attack(arguments: &Attack) -> Result<Exit, Failure> {
    let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
    let scenario = arguments.reading.read(file)?;
    let that = target(arguments, &scenario)?;
    let (runs, time) = budget(&arguments.budget)?;
    let begun = Instant::now();
    let is_over = || time.is_some_and(|time| begun.elapsed() >= time);
    let stop = || interrupt::is_requested();
    let memory = Some(scenario.memory);
    let options = Options { threads: arguments.threads, memory, stop: &stop, ..Options::default() };
    let budget = Budget {
        runs,
        seed: arguments.seed,
        flows: arguments.flows,
        random: arguments.random,
        is_over: &is_over,
    };
    let expected = scenario.expects.iter().find(|expect| expect.that == that);
    let found = attack::attack(&scenario, &that, expected, budget, &options)?;
    let unit = Quantity::parse(&that).map(|quantity| quantity.of.unit().symbol()).unwrap_or_default();
    let value = |value: Option<f64>| figures::quantity(value, unit);
    terminal::heading(&format!("{that}: worst traffic found"));
    terminal::sentence(&format!("the scenario's own traffic: {}", value(found.own)));
    if found.is_worse {
        terminal::sentence(&format!("worst found: {}", value(found.worst)));
    } else {
        let search = value(found.worst);
        terminal::sentence(&format!("no worse traffic was found: the search came to {search}"));
    }
    if arguments.random {
        terminal::sentence(&format!("random search with as many runs: {}", value(found.random)));
    }
    match &found.proven {
        Some(Ok(proven)) => {
            let worst = found.worst_known();
            let share = worst.map_or(0.0, |worst| worst / proven);
            let open = figures::ratio(Some((1.0 - share).max(0.0)));
            let interval = format!("[{}, {}]", value(worst), value(Some(*proven)));
            terminal::sentence(&format!("[worst found, proven] = {interval}: {open} of the bound is open"));
        }
        Some(Err(why)) => terminal::sentence(&format!("no bound: {why}")),
        None => {}
    }
    let kept = match found.kept {
        kept if kept == found.worst => String::new(),
        kept => format!(", {} of it is kept", value(kept)),
    };
    terminal::sentence(&format!("in {}{kept}:", figures::count(found.lines.len() as u64, "line")));
    found.lines.iter().for_each(|line| terminal::sentence(&format!("  {line}")));
    let best: Vec<String> =
        found.history.iter().map(|(runs, worst)| format!("{} after {runs}", value(Some(*worst)))).collect();
    terminal::sentence(&format!("best over runs: {}", best.join(", ")));
    let [made, shrinking] = found.runs;
    let random = if arguments.random { format!(", {made} at random") } else { String::new() };
    terminal::sentence(&format!(
        "effort: {made} runs of the search, {shrinking} to shrink what it found{random}, in {:.1} s",
        begun.elapsed().as_secs_f64()
    ));
    if let Some(directory) = &arguments.out {
        let path = write(directory, file, &arguments.reading.overrides, &found)?;
        terminal::sentence(&format!("found traffic: {}", path.display()));
    }
    Ok(Exit::Ok)
}

/// Returns the metric to attack.
fn target(arguments: &Attack, scenario: &Scenario) -> Result<String, Failure> {
    let expected = || scenario.expects.first().map(|expect| expect.that.clone());
    arguments.that.clone().or_else(expected).ok_or_else(|| {
        let help = "name a metric: `--that flow.NAME.owd.max`".to_owned();
        Failure::usage("the scenario expects nothing that could be missed".to_owned(), help)
    })
}

/// Reads a budget: runs, or a time.
pub(super) fn budget(text: &str) -> Result<(u64, Option<Duration>), Failure> {
    if let Ok(runs) = text.parse::<u64>() {
        if runs == 0 {
            let why = "an attack of 0 runs finds nothing".to_owned();
            return Err(Failure::usage(
                why,
                "give a number of runs, such as `200`, or a time, such as `20s`",
            ));
        }
        return Ok((runs, None));
    }
    let time = runs::time(text)?;
    Ok((u64::MAX, Some(Duration::from_secs_f64(time.as_secs_f64()))))
}

/// Writes the found scenario and its captures; returns the scenario's path. `overrides` are those with which
/// `file` was read.
pub(super) fn write(
    directory: &Path,
    file: &Path,
    overrides: &[String],
    found: &attack::Attack,
) -> Result<PathBuf, Failure> {
    let failed = |path: &Path, why: &std::io::Error| {
        Failure::usage(
            format!("cannot write `{}`: {}", path.display(), lockgate::io_error::of_writing(why)),
            "name another directory".to_owned(),
        )
    };
    std::fs::create_dir_all(directory).map_err(|why| failed(directory, &why))?;
    for (name, bytes) in &found.captures {
        let path = directory.join(name);
        std::fs::write(&path, bytes).map_err(|why| failed(&path, &why))?;
    }
    let mut settings = runs::parse_overrides(overrides)?;
    let text = std::fs::read_to_string(file).map_err(|why| failed(file, &why))?;
    let beside = lockgate::files::Beside::new(&directory.join(FOUND));
    let text = found.scenario(|own: &[Override]| {
        settings.extend(own.iter().cloned());
        lockgate::read_text(&text, FOUND, &beside, &settings)
    })?;
    let path = directory.join(FOUND);
    std::fs::write(&path, text).map_err(|why| failed(&path, &why))?;
    Ok(path)
}
