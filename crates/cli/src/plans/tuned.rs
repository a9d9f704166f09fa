//! Searches of the command line: the space, the goals and constraints, checked before anything runs.

use std::path::Path;
use std::sync::Arc;

use lockgate::Scenario;
use lockgate::files::Beside;
use lockgate_experiment::Row;
use lockgate_experiment::tune::{Constraint, Goal, Point, Space};
use lockgate_experiment::{Task, run_tasks};
use lockgate_scenario::Vary;
use lockgate_scenario::vary::{self, Range, Spacing, Values};

use crate::arguments::Tune;
use crate::exit::Failure;
use crate::{interrupt, runs};
use lockgate::plans::{PlanError, Source, Wanted, on_threads};

/// A search with the scenario and settings of its runs.
pub(crate) struct Tuned {
    /// Scenario without the variations.
    pub(crate) base: Scenario,
    pub(crate) space: Space,
    pub(crate) goals: Vec<Goal>,
    pub(crate) constraints: Vec<Constraint>,
    /// Addresses of the goals' metrics, then of the constraints'.
    pub(crate) metrics: Vec<String>,
    /// Estimate of the memory of a run, in bytes.
    pub(crate) memory: u64,
    /// Settings of all runs.
    settings: Vec<String>,
    source: Source,
}

/// Creates the search of `arguments`. Reads the scenario at each corner of the space once.
pub(crate) fn tuned(file: &Path, arguments: &Tune) -> Result<Tuned, Failure> {
    let base = runs::read_file(file, &arguments.limits.overrides, arguments.limits.memory.as_deref())?;
    let text = lockgate::files::scenario_text(file, base.memory)?;
    let (goals, constraints) = targets(arguments)?;
    let vary = variations(arguments, &base)?;
    let source = Source::new(file.display().to_string(), text, Arc::new(Beside::new(file)), base.memory);
    let vary =
        vary.into_iter().map(|one| with_fractions(one, &source, &arguments.limits.overrides)).collect();
    let space = Space::new(vary, source.text())?;
    let paths = goals.iter().map(|goal| &goal.path).chain(constraints.iter().map(|one| &one.path));
    let mut wanted = Wanted::new(&paths.cloned().collect::<Vec<_>>());
    let mut memory = lockgate::memory::of_run(&base);
    for corner in space.corners()? {
        let settings = [arguments.limits.overrides.as_slice(), &corner.settings].concat();
        let scenario = source.read(&settings).map_err(PlanError::of_variant)?;
        memory = memory.max(lockgate::memory::of_run(&scenario));
        wanted.look_in(&scenario);
    }
    let metrics = wanted.found()?;
    let settings = arguments.limits.overrides.clone();
    Ok(Tuned { base, space, goals, constraints, metrics, memory, settings, source })
}

/// Reads the goals and the constraints.
fn targets(arguments: &Tune) -> Result<(Vec<Goal>, Vec<Constraint>), Failure> {
    let goals = arguments.goals.iter().map(|text| Goal::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let constraints = arguments.constraints.iter().map(|text| Constraint::parse(text));
    Ok((goals, constraints.collect::<Result<Vec<_>, _>>()?))
}

/// Returns the variations of the command line; without any, those of the scenario.
fn variations(arguments: &Tune, base: &Scenario) -> Result<Vec<Vary>, Failure> {
    let read = |text: &String| {
        let wrong = |error: lockgate_scenario::VaryError| {
            Failure::usage(format!("`--vary {text}`: {error}"), error.help())
        };
        Vary::parse_space(text).map_err(wrong)
    };
    let given = arguments.vary.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let varies = if given.is_empty() { base.vary.clone() } else { given };
    for (index, one) in varies.iter().enumerate() {
        if varies[..index].iter().any(|known| known.name == one.name) {
            return Err(Failure::usage(
                format!("`{}` varies twice", one.name),
                "give all its values in one `--vary`",
            ));
        }
    }
    if varies.is_empty() {
        return Err(Failure::usage(
            "nothing varies: there is no `--vary`, and the scenario has no [[vary]]",
            "name a path and its range, such as `--vary 'link.wan.delay=1ms..20ms log'`",
        ));
    }
    Ok(varies)
}

/// Returns a variation over whole numbers, such as `0..1`, as one over every value between, if the scenario
/// takes a fraction there: a loss, unlike a number of packets.
fn with_fractions(vary: Vary, source: &Source, overrides: &[String]) -> Vary {
    let Values::Range(range) = &vary.values else { return vary };
    let ends = (vary::number(&range.low), vary::number(&range.high));
    let (Spacing::Whole, (Some(low), Some(high))) = (&range.spacing, ends) else { return vary };
    let all = Range { spacing: Spacing::All(false), ..range.clone() };
    let document: toml::Table = toml::from_str(source.text()).unwrap_or_default();
    let is_taken = || {
        let settings = vary.settings(&all.at(0.5 / (high - low)).ok()?, &document).ok()?;
        source.read(&[overrides, &settings].concat()).ok()
    };
    if is_taken().is_some() { Vary { values: Values::Range(all), ..vary } } else { vary }
}

impl Tuned {
    /// Runs points with every seed. Returns the rows of each point; `None` if it was interrupted.
    ///
    /// # Errors
    /// If a scenario cannot be read, or a run fails.
    pub(crate) fn run(
        &self,
        points: &[Point],
        seeds: &[u64],
        jobs: Option<usize>,
        done: &(impl Fn() + Sync),
    ) -> Result<Option<Vec<Vec<Row>>>, lockgate_experiment::Error> {
        let task = |(variant, point): (usize, &Point)| {
            let settings = [self.settings.as_slice(), &point.settings].concat();
            seeds.iter().map(move |seed| Task {
                key: String::new(),
                variant,
                settings: settings.clone(),
                seed: *seed,
            })
        };
        let tasks: Vec<Task> = points.iter().enumerate().flat_map(task).collect::<Vec<_>>();
        let one = |task: &Task| {
            let row = self.source.run(task, &self.metrics, &interrupt::is_requested);
            done();
            row
        };
        let rows = on_threads(jobs, || run_tasks(&tasks, one)).map_err(lockgate_experiment::Error::runner)?;
        let rows = rows.into_iter().collect::<Option<Vec<Row>>>();
        Ok(rows.map(|rows| rows.chunks(seeds.len()).map(<[Row]>::to_vec).collect()))
    }

    /// Returns the text of the scenario.
    pub(crate) fn text(&self) -> &str {
        self.source.text()
    }

    /// Returns the settings of a point as options of a command.
    pub(crate) fn options(&self, point: &Point) -> String {
        let all = self.settings.iter().chain(&point.settings);
        all.map(|one| format!("--set '{}'", one.replace('\'', r"'\''"))).collect::<Vec<_>>().join(" ")
    }
}

/// Checks that this number of runs at the same time stays within the limit on memory.
///
/// # Errors
/// If they exceed it. The error says how many runs fit, or that not even one does.
pub(crate) fn check_memory(one: u64, jobs: Option<usize>, runs: usize, limit: u64) -> Result<(), Failure> {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let together = jobs.unwrap_or_else(processors).min(runs).max(1);
    let needed = one.saturating_mul(together as u64);
    if needed <= limit {
        return Ok(());
    }
    let memory = lockgate::figures::memory;
    if one > limit {
        return Err(Failure::usage(
            format!("a run takes about {}, and the limit is {}", memory(one), memory(limit)),
            format!("allow more (`--memory {}GiB`), or make it smaller", one.div_ceil(1 << 30)),
        ));
    }
    let fits = limit / one.max(1);
    Err(Failure::usage(
        format!(
            "{together} runs at the same time take about {}, and the limit is {}",
            memory(needed),
            memory(limit)
        ),
        format!(
            "make fewer at the same time (`--jobs {fits}`), or allow more (`--memory {}GiB`)",
            needed.div_ceil(1 << 30)
        ),
    ))
}
