//! Sweep: a plan whose results are kept in a store, which is its only state.

use std::path::Path;
use std::sync::Arc;

use lockgate_engine::units::Bytes;
use lockgate_experiment::store::{FailedTask, Status, Storage};
use lockgate_experiment::{Error, Plan, Row, Store, Task};
use lockgate_scenario::MEMORY;

use super::{ENGINE, PlanError, Planned, Source};
use crate::files::Beside;
use crate::shell::quoted;

/// Plan with its store.
#[derive(Debug)]
pub struct Sweep {
    /// The plan.
    pub plan: Plan,
    /// Tasks of the plan, in its order.
    pub tasks: Vec<Task>,
    store: Store,
    /// Path of the scenario's file.
    scenario: String,
    source: Source,
}

impl Sweep {
    /// Creates the store of a plan in an empty storage, or opens the existing one. `scenario` is the path of
    /// the plan's scenario.
    ///
    /// # Errors
    /// If the storage holds another plan or other files, or cannot be written.
    pub fn create(storage: Arc<dyn Storage>, planned: Planned, scenario: &str) -> Result<Self, PlanError> {
        let store = Store::create(storage, &planned.plan, scenario)?;
        let tasks = planned.plan.tasks()?;
        Ok(Self { plan: planned.plan, tasks, store, scenario: scenario.to_owned(), source: planned.source })
    }

    /// Opens the sweep of a store. Each of its runs may take `memory` bytes.
    ///
    /// # Errors
    /// If the storage holds no store, or its plan cannot be read.
    pub fn open(storage: Arc<dyn Storage>, memory: u64) -> Result<Self, PlanError> {
        let (store, plan, scenario) = Store::open(storage)?;
        let files = Arc::new(Beside::new(Path::new(&scenario)));
        let source = Source::new(scenario.as_str(), plan.text.as_str(), files, memory);
        let tasks = plan.tasks()?;
        Ok(Self { plan, tasks, store, scenario, source })
    }

    /// Returns the path of the scenario's file, as it was given.
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// Returns where the runs are read from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Checks that this version can make the plan's runs.
    ///
    /// # Errors
    /// If the store is of another version.
    pub fn check_version(&self) -> Result<(), PlanError> {
        if self.plan.engine == ENGINE {
            return Ok(());
        }
        Err(PlanError::Version { store: self.plan.engine.clone(), this: ENGINE })
    }

    /// Checks that the files that the scenario names are those of the plan.
    ///
    /// # Errors
    /// If one is missing or has changed.
    pub fn check_files(&self) -> Result<(), PlanError> {
        self.source.load(&self.plan.files).map(drop)
    }

    /// Checks that the finished runs are those of the plan and the scenario that the store has now, so that
    /// no run is made whose table cannot be written.
    ///
    /// # Errors
    /// If one is not, or the store cannot be read.
    pub fn check_parts(&self) -> Result<(), Error> {
        self.store.check_parts(&self.tasks)
    }

    /// Returns the tasks that are not finished, failed ones included, of part `part.0` (from 1) of `part.1`:
    /// those whose index modulo `part.1` is `part.0 - 1`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn missing(&self, part: (usize, usize)) -> Result<Vec<&Task>, Error> {
        Ok(self.missing_indices(part)?.into_iter().map(|index| &self.tasks[index]).collect())
    }

    /// The same as [`missing`](Self::missing), as indices in [`tasks`](Self::tasks).
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn missing_indices(&self, part: (usize, usize)) -> Result<Vec<usize>, Error> {
        let finished = self.store.finished()?;
        let mine = self.tasks.iter().enumerate().filter(|(index, _)| index % part.1 == part.0 - 1);
        Ok(mine.filter(|(_, task)| !finished.contains(&task.key)).map(|(index, _)| index).collect())
    }

    /// Makes a task and keeps its row or its failure. Returns true if it is finished, false if it failed,
    /// `None` if `stop` ended it.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn make(&self, task: &Task, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<bool>, Error> {
        match self.source.run(task, &self.plan.metrics, stop) {
            Ok(Some(row)) => self.keep(task, &row).map(|()| Some(true)),
            Ok(None) => Ok(None),
            Err(error) => self.note_failure(task, error.to_string()).map(|()| Some(false)),
        }
    }

    /// Keeps the row of a finished task.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn keep(&self, task: &Task, row: &Row) -> Result<(), Error> {
        self.store.keep(&self.plan, task, row)
    }

    /// Stores the failure of a task, with the command that repeats it.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn note_failure(&self, task: &Task, error: String) -> Result<(), Error> {
        let (settings, command) = (task.settings.clone(), repeat(&self.scenario, task, self.source.memory()));
        self.store.note_failure(task, &FailedTask { settings, seed: task.seed, error, command })
    }

    /// Counts the tasks.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn status(&self) -> Result<Status, Error> {
        self.store.status(&self.tasks)
    }

    /// Returns the failures, in the order of the tasks.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn failures(&self) -> Result<Vec<FailedTask>, Error> {
        self.store.failures(&self.tasks)
    }

    /// Returns the finished tasks, each with its row.
    ///
    /// # Errors
    /// If a part is damaged.
    pub fn rows(&self) -> Result<Vec<(&Task, Row)>, Error> {
        self.store.rows(&self.plan, &self.tasks)
    }

    /// Writes the table of all finished runs. Returns its path or address, and the number of rows.
    ///
    /// # Errors
    /// If a part is damaged, or the table cannot be written.
    pub fn collect(&self) -> Result<(String, usize), Error> {
        self.store.collect(&self.plan)
    }
}

/// Returns the command that repeats a run of the scenario at this path, with this limit on its memory in
/// bytes.
pub fn repeat(scenario: &str, task: &Task, memory: u64) -> String {
    let settings: Vec<String> = task.settings.iter().map(|one| format!(" --set {}", quoted(one))).collect();
    let memory = if memory == MEMORY { String::new() } else { format!(" --memory {}", Bytes(memory)) };
    format!("lockgate run {} --seed {}{memory}{}", quoted(scenario), task.seed, settings.concat())
}
