//! `lockgate sweep`: any number of runs into a store that can be stopped, resumed and shared.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use lockgate::figures;
use lockgate_experiment::store::{FailedTask, Status};
use lockgate_experiment::{Error, Plan, Store, Task, run_tasks};

use crate::arguments::Sweep;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::plans::tuned::check_memory;
use crate::plans::{self, Source};
use crate::{interrupt, runs};

/// Plan with its store.
struct Opened {
    store: Store,
    plan: Plan,
    tasks: Vec<Task>,
    /// Path of the scenario's file.
    scenario: String,
    source: Source,
}

pub(crate) fn sweep(arguments: &Sweep) -> Result<Exit, Failure> {
    let opened = open(arguments)?;
    if arguments.status {
        return opened.status();
    }
    if arguments.collect {
        return opened.collect();
    }
    let part = arguments.shard.unwrap_or((1, 1));
    let finished = opened.store.finished()?;
    let mine = opened.tasks.iter().enumerate().filter(|(index, _)| index % part.1 == part.0 - 1);
    let missing: Vec<&Task> =
        mine.map(|(_, task)| task).filter(|task| !finished.contains(&task.key)).collect();
    interrupt::listen();
    let bar = plans::progress(missing.len(), arguments.variations.quiet);
    let (done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let made = plans::on_threads(arguments.variations.jobs, || {
        run_tasks(&missing, |task| {
            match opened.make(task)? {
                Some(true) => done.fetch_add(1, Ordering::Relaxed),
                Some(false) => failed.fetch_add(1, Ordering::Relaxed),
                None => return Ok(()),
            };
            bar.inc(1);
            Ok::<(), Error>(())
        })
    });
    bar.finish_and_clear();
    made?;
    let (done, failed) = (done.into_inner(), failed.into_inner());
    let into = arguments.into.display();
    let plural = figures::plural(done as f64);
    say!("{done} run{plural} made, {failed} failed, {} were there", opened.tasks.len() - missing.len());
    if interrupt::is_requested() && done + failed < missing.len() {
        let status = opened.store.status(&opened.tasks)?;
        tell!("stopped: {} of {} runs are finished and kept", status.finished, status.tasks);
        tell!("`lockgate sweep --into {into} --resume` makes the rest");
        return Ok(Exit::Interrupted);
    }
    if arguments.shard.is_some() {
        say!("when all shards have ended: lockgate sweep --into {into} --collect");
        return Ok(if failed > 0 { Exit::Failed } else { Exit::Ok });
    }
    opened.collect()
}

/// Opens the store, or makes it for the plan of the command line.
fn open(arguments: &Sweep) -> Result<Opened, Failure> {
    let opens = arguments.resume || arguments.status || arguments.collect;
    let (store, plan, scenario) = match (&arguments.file, opens) {
        (Some(file), false) => {
            let planned = plans::plan(file, &arguments.variations)?;
            let limit = runs::memory_limit(arguments.variations.memory.as_deref())?;
            check_memory(planned.memory, arguments.variations.jobs, usize::MAX, limit)?;
            let scenario = file.display().to_string();
            (Store::create(&arguments.into, &planned.plan, &scenario)?, planned.plan, scenario)
        }
        (None, true) => Store::open(&arguments.into)?,
        (None, false) => return Err(runs::no_file()),
        (Some(_), true) => {
            return Err(Failure::usage(
                "--resume, --status and --collect take the scenario from the store",
                "leave out the file and what varies",
            ));
        }
    };
    if plan.engine != env!("CARGO_PKG_VERSION") && !arguments.status && !arguments.collect {
        return Err(Failure::usage(
            format!("the store is of version {}, and this is {}", plan.engine, env!("CARGO_PKG_VERSION")),
            "resume it with that version, or sweep into another directory",
        ));
    }
    let memory = runs::memory_limit(arguments.variations.memory.as_deref())?;
    let source = Source::new(Path::new(&scenario), plan.text.clone(), memory);
    source.check_files(&plan.files)?;
    let tasks = plan.tasks()?;
    Ok(Opened { store, plan, tasks, scenario, source })
}

impl Opened {
    /// Makes a task. Returns true if it is finished, false if it failed, `None` if it was interrupted.
    fn make(&self, task: &Task) -> Result<Option<bool>, Error> {
        match self.source.run(task, &self.plan.metrics) {
            Ok(Some(row)) => self.store.keep(&self.plan, task, &row).map(|()| Some(true)),
            Ok(None) => Ok(None),
            Err(error) => {
                let failure = FailedTask {
                    settings: task.settings.clone(),
                    seed: task.seed,
                    error: error.to_string(),
                    command: self.repeat(task),
                };
                self.store.note_failure(task, &failure).map(|()| Some(false))
            }
        }
    }

    /// Returns the command that repeats a run.
    fn repeat(&self, task: &Task) -> String {
        let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
        let settings: Vec<String> =
            task.settings.iter().map(|one| format!(" --set {}", quoted(one))).collect();
        format!("lockgate run {} --seed {}{}", quoted(&self.scenario), task.seed, settings.concat())
    }

    /// Prints the counts and the failures.
    fn status(&self) -> Result<Exit, Failure> {
        const SHOWN: usize = 10;
        let Status { tasks, finished, failed } = self.store.status(&self.tasks)?;
        say!("{finished} of {tasks} runs finished, {failed} failed, {} missing", tasks - finished - failed);
        let failures = self.tasks.iter().filter_map(|task| self.store.failure(task));
        for failure in failures.take(SHOWN) {
            say!("failed: {}\n  {}", failure.error, failure.command);
        }
        Ok(if failed > 0 { Exit::Failed } else { Exit::Ok })
    }

    /// Writes the table of all runs.
    fn collect(&self) -> Result<Exit, Failure> {
        let (path, rows) = self.store.collect(&self.plan)?;
        say!("{}: {rows} of {} runs", path.display(), self.tasks.len());
        match self.store.status(&self.tasks)? {
            Status { failed: 0, .. } => Ok(Exit::Ok),
            _ => self.status(),
        }
    }
}
