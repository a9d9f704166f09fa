//! Search for the best values of a scenario's parameters: checked before anything runs, then made and judged.

use std::collections::BTreeSet;

use lockgate_experiment::tune::{Constraint, Goal, Point, Space};
use lockgate_experiment::{Error, Row, Task, run_tasks};
use lockgate_scenario::vary::{self, Range, Spacing, Values};
use lockgate_scenario::{Scenario, Vary};

use super::{PlanError, Source, Wanted, on_threads};
use crate::shell::quoted;

/// Smallest number of points of a search.
const FEWEST_POINTS: usize = 5;

/// Request for a search.
#[derive(Clone, Debug)]
pub struct TuneRequest {
    /// Settings of all runs, each `PATH=VALUE`.
    pub settings: Vec<String>,
    /// Variations that make the space; without any, those of the scenario.
    pub vary: Vec<Vary>,
    /// Goals, such as `min flow.call.owd.p99`.
    pub goals: Vec<String>,
    /// Constraints, such as `group.backup.goodput.sum >= 8mbit`.
    pub constraints: Vec<String>,
    /// Fraction of each bound by which a point must stay away from it.
    pub margin: f64,
    /// Seeds that every point is run with.
    pub seeds: Vec<u64>,
    /// Other seeds, on which the best points are judged.
    pub unseen: Vec<u64>,
    /// Limit on the runs of the search: points times seeds.
    pub runs: usize,
    /// Ends the search after this many points in succession that were no better; `None`: never.
    pub patience: Option<usize>,
    /// Seed of the search's own draws.
    pub seed: u64,
}

/// A search that was checked, with the scenario of its runs.
#[derive(Debug)]
pub struct Tuning {
    /// Scenario without the variations.
    pub base: Scenario,
    /// Space of the points.
    pub space: Space,
    /// Goals.
    pub goals: Vec<Goal>,
    /// Constraints.
    pub constraints: Vec<Constraint>,
    /// Addresses of the goals' metrics, then of the constraints'.
    pub metrics: Vec<String>,
    /// Estimate of the memory of a run, in bytes.
    pub memory: u64,
    /// The request.
    pub request: TuneRequest,
    source: Source,
}

/// Callbacks of a search.
pub struct TuneOptions<'a> {
    /// Number of threads; `None`: one a processor.
    pub threads: Option<usize>,
    /// Called before runs are made, with the largest number of them: once for the search, then for each part
    /// of the judgement.
    pub begins: &'a (dyn Fn(usize) + Sync),
    /// Called after each run.
    pub ran: &'a (dyn Fn() + Sync),
    /// Returns true to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// A search that the caller stopped: nothing is kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Number of points that were tried.
    pub points: usize,
    /// True if it was stopped while the best points were judged.
    pub was_judging: bool,
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.was_judging {
            return f.write_str("stopped while the best points were judged; nothing is kept of a search");
        }
        write!(f, "stopped after {} points; nothing is kept of a search", self.points)
    }
}

impl Tuning {
    /// Creates a search. Reads the scenario at each corner of the space once. `base` is the scenario of
    /// `source` with the request's settings.
    ///
    /// # Errors
    /// If nothing varies, a goal, constraint or corner is wrong, or the seeds are not those of a search.
    pub fn new(source: Source, base: &Scenario, request: TuneRequest) -> Result<Self, PlanError> {
        check_seeds(&request)?;
        let goals = request.goals.iter().map(|text| Goal::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if goals.is_empty() {
            return Err(PlanError::NoGoal);
        }
        let constraints =
            request.constraints.iter().map(|text| Ok(Constraint::parse(text)?.with_margin(request.margin)));
        let constraints = constraints.collect::<Result<Vec<_>, PlanError>>()?;
        let vary = space(request.vary.clone(), base)?;
        let vary = vary.into_iter().map(|one| with_fractions(one, &source, &request.settings)).collect();
        let space = Space::new(vary, source.text())?;
        let paths = goals.iter().map(|goal| &goal.path).chain(constraints.iter().map(|one| &one.path));
        let mut wanted = Wanted::new(&paths.cloned().collect::<Vec<_>>());
        let mut memory = crate::memory::of_run(base);
        for corner in space.corners()? {
            let settings = [request.settings.as_slice(), &corner.settings].concat();
            let scenario = source.read(&settings).map_err(PlanError::of_variant)?;
            memory = memory.max(crate::memory::of_run(&scenario));
            wanted.look_in(&scenario);
        }
        let metrics = wanted.found()?;
        Ok(Self { base: base.clone(), space, goals, constraints, metrics, memory, request, source })
    }

    /// Reads the scenario with settings.
    ///
    /// # Errors
    /// If a setting is malformed, or the scenario has problems.
    pub fn read(&self, settings: &[String]) -> Result<Scenario, crate::Error> {
        self.source.read(settings)
    }

    /// Runs points with every seed. Returns the rows of each point; `None` if the caller stopped.
    pub(super) fn run(
        &self,
        points: &[Point],
        seeds: &[u64],
        options: &TuneOptions<'_>,
    ) -> Result<Option<Vec<Vec<Row>>>, Error> {
        let task = |(variant, point): (usize, &Point)| {
            let settings = [self.request.settings.as_slice(), &point.settings].concat();
            seeds.iter().map(move |seed| Task {
                key: String::new(),
                variant,
                settings: settings.clone(),
                seed: *seed,
            })
        };
        let tasks: Vec<Task> = points.iter().enumerate().flat_map(task).collect();
        let one = |task: &Task| {
            let row = self.source.run(task, &self.metrics, options.stop);
            (options.ran)();
            row
        };
        let rows = on_threads(options.threads, || run_tasks(&tasks, one)).map_err(Error::runner)?;
        let rows = rows.into_iter().collect::<Option<Vec<Row>>>();
        Ok(rows.map(|rows| rows.chunks(seeds.len()).map(<[Row]>::to_vec).collect()))
    }

    /// Returns the text of the scenario.
    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// Returns the settings of a point as options of a command.
    pub fn options(&self, point: &Point) -> String {
        let all = self.request.settings.iter().chain(&point.settings);
        all.map(|one| format!("--set {}", quoted(one))).collect::<Vec<_>>().join(" ")
    }
}

/// Checks that the seeds of the judgement are others than those of the search, and that the runs are enough.
fn check_seeds(request: &TuneRequest) -> Result<(), PlanError> {
    let seen: BTreeSet<&u64> = request.seeds.iter().collect();
    if let Some(seed) = request.unseen.iter().find(|seed| seen.contains(seed)) {
        return Err(PlanError::SeedSeen(*seed));
    }
    if request.seeds.is_empty() || request.unseen.is_empty() {
        return Err(PlanError::NoSeeds);
    }
    if request.runs < FEWEST_POINTS * request.seeds.len() {
        return Err(PlanError::TooFewRuns { runs: request.runs, seeds: request.seeds.len() });
    }
    Ok(())
}

/// Returns the variations `given`; without any, those of the scenario.
fn space(given: Vec<Vary>, base: &Scenario) -> Result<Vec<Vary>, PlanError> {
    let varies = if given.is_empty() { base.vary.clone() } else { given };
    for (index, one) in varies.iter().enumerate() {
        if varies[..index].iter().any(|known| known.name == one.name) {
            return Err(PlanError::Twice(one.name.clone()));
        }
    }
    if varies.is_empty() { Err(PlanError::NothingVaries) } else { Ok(varies) }
}

/// Returns a variation over whole numbers, such as `0..1`, as one over every value between, if the scenario
/// takes a fraction there: a loss, unlike a number of packets.
fn with_fractions(vary: Vary, source: &Source, settings: &[String]) -> Vary {
    let Values::Range(range) = &vary.values else { return vary };
    let ends = (vary::number(&range.low), vary::number(&range.high));
    let (Spacing::Whole, (Some(low), Some(high))) = (&range.spacing, ends) else { return vary };
    let all = Range { spacing: Spacing::All(false), ..range.clone() };
    let document: toml::Table = toml::from_str(source.text()).unwrap_or_default();
    let is_taken = || {
        let varied = vary.settings(&all.at(0.5 / (high - low)).ok()?, &document).ok()?;
        source.read(&[settings, &varied].concat()).ok()
    };
    if is_taken().is_some() { Vary { values: Values::Range(all), ..vary } } else { vary }
}
