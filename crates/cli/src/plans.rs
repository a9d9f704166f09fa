//! Plans of the command line: what varies, over which seeds, which metrics; checks, and runs with progress.

mod metrics;
pub(crate) mod outputs;
pub(crate) mod tuned;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::ProgressBar;
use lockgate::files::Beside;
use lockgate::{Files, Options, Scenario, Seed};
use lockgate_experiment::{Plan, Row, Task, digest, row};
use lockgate_measure::recording::Recording;
use lockgate_scenario::{Override, Reader, Vary, VaryError};

pub(crate) use self::values::seeds;
use crate::arguments::Variations;
use crate::exit::Failure;
use crate::{interrupt, runs, terminal};

/// A plan with what its runs are read from.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    /// Title of the scenario.
    pub(crate) title: String,
    /// Scenario without the variations.
    pub(crate) base: Scenario,
    /// Estimate of the memory of a run of the largest variant, in bytes.
    pub(crate) memory: u64,
    pub(crate) source: Source,
}

/// Scenario as its runs read it: the text, and where its files are.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Name in messages.
    name: String,
    text: String,
    /// Path of the scenario's file: the files that it names are beside it.
    beside: PathBuf,
    memory: u64,
}

/// Files of a scenario, with the hash of each that was loaded.
struct HashedFiles {
    files: Beside,
    hashes: Mutex<BTreeMap<String, String>>,
}

impl Files for HashedFiles {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        let bytes = self.files.load(path)?;
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        hashes.insert(path.to_owned(), digest(&bytes));
        Ok(bytes)
    }
}

impl Source {
    /// Creates the source of a text whose files are beside `path`.
    pub(crate) fn new(path: &Path, text: String, memory: u64) -> Self {
        Self { name: path.display().to_string(), text, beside: path.to_path_buf(), memory }
    }

    /// Reads the scenario with settings.
    fn read(&self, settings: &[String], files: &dyn Files) -> Result<Scenario, lockgate::Error> {
        let overrides: Vec<Override> = lockgate::parse_settings(settings)?;
        Ok(Reader { files, overrides: &overrides, memory: self.memory }.read(&self.text, &self.name)?)
    }

    /// Checks that the files that the scenario names are those of a plan.
    ///
    /// # Errors
    /// If one is missing or has changed.
    pub(crate) fn check_files(&self, hashes: &BTreeMap<String, String>) -> Result<(), Failure> {
        let files = Beside::new(&self.beside);
        for (name, hash) in hashes {
            let changed = match files.load(name) {
                Ok(bytes) if digest(&bytes) == *hash => continue,
                Ok(_) => "has changed since the sweep began".to_owned(),
                Err(why) => format!("cannot be read: {why}"),
            };
            let help = "put it back, or sweep into another directory";
            return Err(Failure::usage(format!("the file `{name}` {changed}"), help));
        }
        Ok(())
    }

    /// Simulates a task. Returns the plan's metrics; `None` if the run was interrupted.
    ///
    /// # Errors
    /// If the scenario cannot be read, or the run fails.
    pub(crate) fn run(&self, task: &Task, metrics: &[String]) -> Result<Option<Row>, lockgate::Error> {
        let Some(recording) = self.record(task)? else { return Ok(None) };
        Ok(Some(row(&lockgate_measure::summarise(&[recording]), metrics)?))
    }

    /// Simulates a task. Returns its recording; `None` if the run was interrupted.
    ///
    /// # Errors
    /// If the scenario cannot be read, or the run fails.
    pub(crate) fn record(&self, task: &Task) -> Result<Option<Recording>, lockgate::Error> {
        if interrupt::is_requested() {
            return Ok(None);
        }
        let scenario = self.read(&task.settings, &Beside::new(&self.beside))?;
        let options = Options {
            seeds: vec![Seed(task.seed)],
            threads: Some(1),
            memory: Some(self.memory),
            stop: &interrupt::is_requested,
            ..Options::default()
        };
        let runs = lockgate::run(&scenario, &options)?;
        Ok(if runs.stopped_early { None } else { runs.recordings.into_iter().next() })
    }
}

/// Makes the plan of `arguments`: reads every variant once, so that nothing runs if one of them is wrong.
pub(crate) fn plan(file: &Path, arguments: &Variations) -> Result<Planned, Failure> {
    // Also the errors of a file that is missing, too long or not text.
    let base = runs::read_file(file, &arguments.overrides, arguments.memory.as_deref())?;
    let text = lockgate::files::text(file).map_err(|why| Failure::usage(why, "name a scenario file"))?;
    let source = Source::new(file, text, base.memory);
    let mut plan = Plan {
        engine: env!("CARGO_PKG_VERSION").to_owned(),
        text: source.text.clone(),
        settings: arguments.overrides.clone(),
        vary: values::variations(arguments, &base)?,
        seeds: values::seeds(&arguments.seeds)?,
        ..Plan::default()
    };
    let files = HashedFiles { files: Beside::new(file), hashes: Mutex::default() };
    let mut wanted = metrics::Wanted::new(&arguments.show);
    let mut memory = 0;
    for variant in plan.variants()? {
        let settings = [plan.settings.as_slice(), &variant.settings].concat();
        let scenario = source.read(&settings, &files).map_err(varied)?;
        memory = memory.max(lockgate::memory::of_run(&scenario));
        wanted.look_in(&scenario);
    }
    plan.metrics = wanted.found()?;
    plan.files = files.hashes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Planned { plan, title: base.title.clone(), base, memory, source })
}

/// Checks every value of the scenario's own variations, one at a time.
///
/// # Errors
/// The problems of the first that is wrong.
pub(crate) fn check(file: &Path, settings: &[String], base: &Scenario) -> Result<(), Failure> {
    if base.vary.is_empty() {
        return Ok(());
    }
    let text = base.to_toml();
    let document: toml::Table = toml::from_str(&text).unwrap_or_default();
    let source = Source::new(file, text, base.memory);
    for vary in &base.vary {
        let values = vary.values.texts().map_err(|error| failure(&error))?;
        for value in values {
            let mut all = settings.to_vec();
            all.extend(vary.settings(&value, &document).map_err(|error| failure(&error))?);
            source.read(&all, &Beside::new(file)).map_err(varied)?;
        }
    }
    Ok(())
}

/// Converts an error of a variation.
fn failure(error: &VaryError) -> Failure {
    Failure::usage(error, error.help())
}

/// Converts an error of a variant: a value was set by `--vary`, not by `--set`.
fn varied(error: lockgate::Error) -> Failure {
    match error {
        lockgate::Error::Scenario(problems) => {
            match problems.iter().find(|one| one.message().contains("`--set ")) {
                Some(first) => Failure::usage(
                    first.message().replacen("`--set ", "varying `", 1),
                    first.help_text().unwrap_or("a path is written as for `--set`, such as `link.wan.rate`"),
                ),
                None => Failure::Scenario(problems),
            }
        }
        other => other.into(),
    }
}

impl Planned {
    /// Returns the names of the variations that tables show: one that always equals an earlier one of its
    /// group is left out.
    pub(crate) fn columns(&self) -> Vec<(usize, &Vary)> {
        let vary = &self.plan.vary;
        let texts = |one: &Vary| one.values.texts().unwrap_or_default();
        let shown = |one: &Vary| {
            texts(one).iter().map(|text| lockgate_scenario::vary::shown(text).to_owned()).collect::<Vec<_>>()
        };
        let repeats = |index: usize| {
            let one = &vary[index];
            one.together.is_some()
                && vary[..index]
                    .iter()
                    .any(|other| other.together == one.together && shown(other) == shown(one))
        };
        (0..vary.len()).filter(|index| !repeats(*index)).map(|index| (index, &vary[index])).collect()
    }
}

/// Creates a progress bar over runs on stderr, with rate and time left; hidden if that is no terminal.
pub(crate) fn progress(tasks: usize, quiet: bool) -> ProgressBar {
    let bar = terminal::progress(tasks as u64, quiet);
    let style = indicatif::ProgressStyle::with_template("{bar:32} {pos}/{len} runs  {per_sec}  ETA {eta}");
    bar.set_style(style.unwrap_or_else(|_| indicatif::ProgressStyle::default_bar()));
    bar
}

/// Calls `work` on a pool of this many threads; by default on as many as there are processors.
pub(crate) fn on_threads<R: Send>(threads: Option<usize>, work: impl FnOnce() -> R + Send) -> R {
    let pool = threads.map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
    match pool {
        Some(Ok(pool)) => pool.install(work),
        // The default, or no thread can be started here.
        _ => work(),
    }
}
