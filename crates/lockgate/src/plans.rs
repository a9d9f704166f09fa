//! Plans: many runs of a scenario under its variations, checked before the first one and made on any thread.
//!
//! ```text
//! Source (text, files) + Request -> Planned { plan } -> tasks -> Planned::run -> rows -> Compared
//!                                        '-> Sweep { store } -> make: the row, or the failure, is kept
//! Source (text, files) + TuneRequest -> Tuning -> make -> Tuned: points, judgement, recommended settings
//! files, seeds -> test::Tested -> verdicts, JUnit, the differences from a baseline
//! ```
//!
//! The command and the Python package both make their runs here, so their stores have the same bytes.

mod compared;
mod curves;
mod error;
#[cfg(feature = "plans")]
mod largest;
mod metrics;
mod source;
#[cfg(feature = "plans")]
mod sweep;
#[cfg(feature = "plans")]
pub mod test;
#[cfg(feature = "plans")]
mod tuned;
#[cfg(feature = "plans")]
mod tuning;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use lockgate_experiment::{Plan, Row, Task, Variant, row, run_tasks};
use lockgate_measure::metric::MetricError;
use lockgate_measure::recording::Recording;
use lockgate_measure::verdict::{Wait, Words};
use lockgate_scenario::{Scenario, Vary, vary};

pub use self::compared::Compared;
pub use self::curves::Curves;
pub use self::error::PlanError;
#[cfg(feature = "plans")]
pub use self::largest::{LargestSearch, TriedNumber};
pub use self::metrics::Wanted;
pub use self::source::{SharedFiles, Source};
#[cfg(feature = "plans")]
pub use self::sweep::{Sweep, repeat};
#[cfg(feature = "plans")]
pub use self::tuned::{NO_WINNER, Tuned};
#[cfg(feature = "plans")]
pub use self::tuning::{Stopped, TuneOptions, TuneRequest, Tuning};
use crate::verdict;

/// Limit on the seeds of a plan, and of the runs of one scenario.
pub const MOST_SEEDS: usize = 10_000;

/// Variants that are read at the same time.
const READ_TOGETHER: usize = 64;

/// Version of the engine that makes the runs: part of the key of every task.
pub const ENGINE: &str = env!("CARGO_PKG_VERSION");

/// Request for runs of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Settings of all runs, each `PATH=VALUE`, applied before those of a variant.
    pub settings: Vec<String>,
    /// Variations; without any, those of the scenario.
    pub vary: Vec<Vary>,
    /// Seeds of each variant.
    pub seeds: Vec<u64>,
    /// Addresses of the metrics that are kept; without any, those of the scenario's expectations, or the p99
    /// delay and goodput of its first flows.
    pub show: Vec<String>,
}

/// A plan with the scenario and files of its runs.
#[derive(Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Title of the scenario.
    pub title: String,
    /// Scenario without the variations.
    pub base: Scenario,
    /// Estimate of the memory of a run of the largest variant, in bytes.
    pub memory: u64,
    source: Source,
}

/// Values that a comparison keeps of a run: those of the plan's metrics, and the queue in which its packets
/// waited longest.
pub type RunValues = (Row, Option<Wait>);

impl Planned {
    /// Returns the values of a task's recording for a comparison, and adds the run to the curves.
    ///
    /// # Errors
    /// If the address of a metric is malformed.
    pub fn values(
        &self,
        task: &Task,
        recording: Recording,
        curves: Option<&Curves>,
    ) -> Result<RunValues, MetricError> {
        if let Some(curves) = curves {
            curves.add(task, &recording);
        }
        let seed = recording.seed;
        let mut summary = lockgate_measure::summarise(&[recording]);
        // The scenario was read before its run.
        if let Ok(scenario) = self.source.scenario(task, &self.plan.metrics) {
            crate::proof::add(&scenario, &mut summary, &[seed]);
        }
        Ok((row(&summary, &self.plan.metrics)?, Wait::longest(&summary)))
    }
}

impl Planned {
    /// Creates a plan. Reads every variant once, so that nothing runs if one of them is wrong. `base` is the
    /// scenario of `source` with the request's settings.
    ///
    /// # Errors
    /// If nothing varies, a variant is invalid, or no variant has one of the metrics.
    pub fn new(source: Source, base: &Scenario, request: Request) -> Result<Self, PlanError> {
        Self::unless(source, base, request, &|| false)
    }

    /// The same as [`new`](Self::new), until `stop` returns true.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and that it was stopped.
    pub fn unless(
        source: Source,
        base: &Scenario,
        request: Request,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, PlanError> {
        let mut plan = Plan {
            engine: ENGINE.to_owned(),
            text: source.text().to_owned(),
            settings: request.settings,
            vary: variations(request.vary, base)?,
            seeds: request.seeds,
            ..Plan::default()
        };
        let hashes = source.hashed();
        let mut wanted = Wanted::new(&request.show);
        let mut memory = 0;
        let variants = plan.variants()?;
        let mut known = BTreeSet::new();
        if let Some(twice) = variants.iter().find(|one| !known.insert(values(&one.settings))) {
            return Err(PlanError::VariantTwice(twice.values.join(" ")));
        }
        let read = |variant: &Variant| {
            if stop() {
                return Err(PlanError::Stopped);
            }
            let settings = [plan.settings.as_slice(), &variant.settings].concat();
            source.read_from(&settings, &hashes).map_err(PlanError::of_variant)
        };
        for several in variants.chunks(READ_TOGETHER) {
            // The first problem in the order of the variants is returned, so none ends the reading early.
            let Ok(scenarios) = run_tasks(several, |variant| Ok::<_, Infallible>(read(variant)));
            for scenario in scenarios {
                let scenario = scenario?;
                memory = memory.max(crate::memory::of_run(&scenario));
                wanted.look_in(&scenario);
            }
        }
        plan.metrics = wanted.found()?;
        plan.files = hashes.into_hashes();
        Ok(Self { plan, title: base.title.clone(), base: base.clone(), memory, source })
    }

    /// Returns where the runs are read from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Simulates a task. Returns the plan's metrics; `None` if `stop` ended the run.
    ///
    /// # Errors
    /// If the scenario cannot be read, or the run fails.
    pub fn run(&self, task: &Task, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Row>, crate::Error> {
        self.source.run(task, &self.plan.metrics, stop)
    }
}

/// Returns settings with their quantities in base units: `1mbit` and `1000kbit` are one value.
fn values(settings: &[String]) -> Vec<String> {
    let value = |setting: &String| {
        let Some((path, value)) = setting.split_once('=') else { return setting.clone() };
        let Some(number) = vary::number(value) else { return setting.clone() };
        format!("{path}={number} {}", vary::unit(value))
    };
    settings.iter().map(value).collect()
}

/// Column of a table of variants: a variation, or several that always have the same value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Index of the variation, or of the first.
    pub index: usize,
    /// Name in words, or as the scenario names it: `cake bandwidth`.
    pub name: String,
    /// Paths of the settings; empty if the scenario names the variation.
    pub path: String,
}

/// Returns the columns of variations.
fn columns(vary: &[Vary]) -> Vec<Column> {
    let texts = |one: &Vary| one.values.texts().unwrap_or_default();
    let shown = |one: &Vary| -> Vec<String> {
        texts(one).iter().map(|text| lockgate_scenario::vary::shown(text).to_owned()).collect()
    };
    let is_same = |one: &Vary, known: &Vary| {
        one.together.is_some() && known.together == one.together && shown(known) == shown(one)
    };
    let mut columns: Vec<Column> = Vec::new();
    for (index, column) in all_columns(vary).into_iter().enumerate() {
        match columns.iter_mut().find(|known| is_same(&vary[index], &vary[known.index])) {
            Some(known) => {
                known.name = format!("{} = {}", known.name, column.name);
                if !column.path.is_empty() {
                    known.path = format!("{} {}", known.path, column.path);
                }
            }
            None => columns.push(column),
        }
    }
    columns
}

/// Returns a column for each variation.
fn all_columns(vary: &[Vary]) -> Vec<Column> {
    let words = verdict::settings(vary.iter().map(|one| one.name.as_str()));
    let column = |(index, (one, words)): (usize, (&Vary, String))| {
        // Without a name of its own, it has its first path's.
        let is_path = one.paths.first() == Some(&one.name);
        let (name, path) =
            if is_path { (words, one.name.clone()) } else { (one.name.clone(), String::new()) };
        Column { index, name, path }
    };
    vary.iter().zip(words).enumerate().map(column).collect()
}

/// Returns the sentence on a metric that some seeds have no value of, by the points or variants with which
/// they have none; `None` without any.
fn without_values(path: &str, seeds: usize, lacking: &[(usize, String)]) -> Option<String> {
    let ((seeds_without, name), others) = lacking.split_first()?;
    let words = Words::of(path).in_sentence();
    let others: Vec<String> = others.iter().map(|(seeds, name)| format!(", {seeds} with {name}")).collect();
    let others = others.concat();
    Some(format!("{words} has no value on {seeds_without} of {seeds} seeds with {name}{others}"))
}

/// Returns the bound of a constraint in words: `at least 8 Mbit/s`.
#[cfg(feature = "plans")]
fn bound_words(constraint: &lockgate_experiment::tune::Constraint) -> String {
    let side = if constraint.is_at_least { "at least" } else { "at most" };
    let bound = verdict::quantity(&constraint.path, Some(constraint.bound));
    format!("{side} {}", crate::figures::without_zeros(&bound))
}

/// Collects seeds, up to the limit on their number.
///
/// # Errors
/// If there are none or more, or one is named twice.
pub fn seeds(named: impl IntoIterator<Item = u64>) -> Result<Vec<u64>, PlanError> {
    let seeds: Vec<u64> = named.into_iter().take(MOST_SEEDS + 1).collect();
    match seeds.len() {
        0 => return Err(PlanError::NoSeeds),
        1..=MOST_SEEDS => {}
        _ => return Err(PlanError::TooManySeeds),
    }
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(PlanError::SeedTwice(pair[0])),
        None => Ok(seeds),
    }
}

/// Returns the variations `given`; without any, those of the scenario.
///
/// # Errors
/// If there are none, two have one name, or one has no values.
pub fn variations(given: Vec<Vary>, scenario: &Scenario) -> Result<Vec<Vary>, PlanError> {
    let varies = if given.is_empty() { scenario.vary.clone() } else { given };
    for (index, vary) in varies.iter().enumerate() {
        if varies[..index].iter().any(|known| known.name == vary.name) {
            return Err(PlanError::Twice(vary.name.clone()));
        }
        vary.values.texts()?;
    }
    if varies.is_empty() { Err(PlanError::NothingVaries) } else { Ok(varies) }
}

/// Checks every value of the variations that a scenario called `name` defines, one at a time. `settings` are
/// those with which it was read.
///
/// # Errors
/// The problems of the first value that is wrong.
pub fn check_values(
    name: &str,
    files: SharedFiles,
    settings: &[String],
    base: &Scenario,
) -> Result<(), PlanError> {
    if base.vary.is_empty() {
        return Ok(());
    }
    let text = base.to_toml();
    let document: toml::Table = toml::from_str(&text).unwrap_or_default();
    let source = Source::new(name, text, files, base.memory);
    for vary in &base.vary {
        for value in vary.values.texts()? {
            let mut all = settings.to_vec();
            all.extend(vary.settings(&value, &document)?);
            source.read(&all).map_err(PlanError::of_variant)?;
        }
    }
    Ok(())
}

/// Calls `work` on a pool of this many threads, at most 256; by default on as many as there are
/// processors.
#[cfg(feature = "threads")]
pub fn on_threads<R: Send>(threads: Option<usize>, work: impl FnOnce() -> R + Send) -> R {
    let pool = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads.min(crate::run::MOST_THREADS)).build()
    };
    let pool = threads.map(pool);
    match pool {
        Some(Ok(pool)) => pool.install(work),
        // The default, or no thread can be started here.
        _ => work(),
    }
}

/// Hash of each file that a plan's scenario names, by its name.
pub(crate) type Hashes = BTreeMap<String, String>;
