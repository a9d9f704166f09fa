//! Plan: every variant of a scenario with every seed. Runs are made here on threads, or task by task by
//! workers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, UInt64Array};
use lockgate::plans::{self, Compared, ENGINE, Planned, Request, Source, Sweep, on_threads};
use lockgate_experiment::store::FailedTask;
use lockgate_experiment::{Row, Task, Variant, numbers, run_tasks};
use lockgate_scenario::Vary;
use lockgate_scenario::vary::Values;
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays::{real, text};
use crate::error;
use crate::interrupt::{Stop, interruptible};
use crate::scenario::Scenario;
use crate::seeds::Seeds;
use crate::storage::StorageArgument;
use crate::table::{Table, fault};

/// Results of tasks, by their index: the row, or the reason why the run failed.
type Results = BTreeMap<usize, Result<Row, String>>;

/// Failed task: its settings, its seed, the error, and the command that repeats it.
type FailedRun = (Vec<String>, u64, String, String);

/// A plan, its tasks, and the place of their results.
#[pyclass(frozen, module = "lockgate._lockgate")]
pub(crate) struct Plan {
    kept: Kept,
    variants: Vec<Variant>,
    title: String,
    /// Path of the scenario's file.
    path: PathBuf,
}

enum Kept {
    /// In memory, until the program ends.
    Memory(Box<Memory>),
    /// In a directory, or at an address.
    Store(Box<Sweep>),
}

struct Memory {
    planned: Planned,
    tasks: Vec<Task>,
    results: Mutex<Results>,
}

impl Memory {
    fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Paths, values (a list, or a range as text), and the group that advances together.
#[derive(FromPyObject)]
pub(crate) struct Variation(pub(crate) Vec<String>, pub(crate) VariedValues, Option<String>);

#[derive(FromPyObject)]
pub(crate) enum VariedValues {
    Range(String),
    List(Vec<String>),
}

impl Variation {
    pub(crate) fn into_vary(self) -> PyResult<Vary> {
        let values = match self.1 {
            VariedValues::Range(text) => Values::parse(&text).map_err(|error| error::plan(error.into()))?,
            VariedValues::List(values) => Values::List(values),
        };
        let paths: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let vary = Vary::new(&paths, values).map_err(|error| error::plan(error.into()))?;
        Ok(Vary { together: self.2, ..vary })
    }
}

impl Plan {
    fn plan(&self) -> &lockgate_experiment::Plan {
        match &self.kept {
            Kept::Memory(memory) => &memory.planned.plan,
            Kept::Store(sweep) => &sweep.plan,
        }
    }

    fn tasks(&self) -> &[Task] {
        match &self.kept {
            Kept::Memory(memory) => &memory.tasks,
            Kept::Store(sweep) => &sweep.tasks,
        }
    }

    fn source(&self) -> &Source {
        match &self.kept {
            Kept::Memory(memory) => memory.planned.source(),
            Kept::Store(sweep) => sweep.source(),
        }
    }

    fn task(&self, index: usize) -> PyResult<&Task> {
        let many = self.tasks().len();
        self.tasks()
            .get(index)
            .ok_or_else(|| error::run(format_args!("there is no task {index}: there are {many}")))
    }

    /// Makes one task and keeps its result. Returns false if it failed, `None` if it was interrupted.
    fn make(&self, index: usize, stop: Stop<'_>) -> Result<Option<bool>, lockgate_experiment::Error> {
        match &self.kept {
            Kept::Store(sweep) => sweep.make(&sweep.tasks[index], stop),
            Kept::Memory(memory) => {
                let result = match memory.planned.run(&memory.tasks[index], stop) {
                    Ok(Some(row)) => Ok(row),
                    Ok(None) => return Ok(None),
                    Err(error) => Err(error.to_string()),
                };
                let is_done = result.is_ok();
                memory.results().insert(index, result);
                Ok(Some(is_done))
            }
        }
    }

    /// Returns the finished tasks by index, each with its row.
    fn rows(&self) -> PyResult<Vec<(usize, Row)>> {
        match &self.kept {
            Kept::Memory(memory) => {
                let results = memory.results();
                Ok(results
                    .iter()
                    .filter_map(|(index, row)| Some((*index, row.as_ref().ok()?.clone())))
                    .collect())
            }
            Kept::Store(sweep) => {
                let rows = sweep.rows().map_err(error::experiment)?;
                let indices: BTreeMap<&str, usize> =
                    sweep.tasks.iter().enumerate().map(|(index, task)| (task.key.as_str(), index)).collect();
                Ok(rows
                    .into_iter()
                    .filter_map(|(task, row)| Some((*indices.get(task.key.as_str())?, row)))
                    .collect())
            }
        }
    }
}

impl Plan {
    /// Returns a row for each of these finished tasks.
    fn table_of(&self, rows: &[(usize, Row)]) -> PyResult<Table> {
        let plan = self.plan();
        let tasks: Vec<&Task> = rows.iter().map(|(index, _)| &self.tasks()[*index]).collect();
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        for (index, varied) in plan.vary.iter().enumerate() {
            let values = tasks.iter().map(|task| self.variants[task.variant].values[index].as_str());
            columns.push((varied.name.clone(), text(values.clone())));
            let numbers = numbers(&varied.name, values);
            columns.extend(numbers.map(|(name, numbers)| (name, real(numbers.into_iter().map(Some)))));
        }
        let seeds: UInt64Array = tasks.iter().map(|task| task.seed).collect();
        columns.push(("seed".to_owned(), Arc::new(seeds)));
        for (index, address) in plan.metrics.iter().enumerate() {
            columns.push((address.clone(), real(rows.iter().map(|(_, row)| row[index]))));
        }
        Table::new(columns).map_err(|error| fault(&error))
    }
}

#[pymethods]
impl Plan {
    /// Makes a plan: reads every variant once; Ctrl-C ends that. Each variation is its paths, its values and
    /// the group that advances together. With `into`, results are kept in the store in that directory.
    #[staticmethod]
    #[pyo3(signature = (scenario, vary, seeds, metrics, into = None))]
    fn create(
        py: Python<'_>,
        scenario: &Scenario,
        vary: Vec<Variation>,
        seeds: Seeds,
        metrics: Vec<String>,
        into: Option<StorageArgument>,
    ) -> PyResult<Self> {
        let vary = vary.into_iter().map(Variation::into_vary).collect::<PyResult<Vec<_>>>()?;
        let request = Request { settings: scenario.settings.clone(), vary, seeds: seeds.0, show: metrics };
        let (source, base) = (scenario.source.clone(), Arc::clone(&scenario.model));
        // A store contains the text of a scenario without a file; without a store, users save the text
        // themselves.
        let path = match (&into, scenario.path.as_os_str().is_empty()) {
            (_, false) => scenario.path.clone(),
            (Some(StorageArgument::Directory(folder)), true) => folder.join("scenario.toml"),
            _ => PathBuf::from("scenario.toml"),
        };
        let storage = into.map(|into| into.storage(py)).transpose()?;
        let planned = interruptible(py, &|_| Ok(()), |stop| Planned::unless(source, &base, request, stop))?;
        let planned = planned.map_err(error::plan)?;
        let (kept, variants) = py
            .detach(|| {
                let (variants, tasks) = (planned.plan.variants()?, planned.plan.tasks()?);
                let kept = match storage {
                    Some(storage) => {
                        let sweep = Sweep::create(storage, planned, &path.display().to_string())?;
                        sweep.check_version()?;
                        Kept::Store(Box::new(sweep))
                    }
                    None => Kept::Memory(Box::new(Memory { planned, tasks, results: Mutex::default() })),
                };
                Ok((kept, variants))
            })
            .map_err(error::plan)?;
        Ok(Self { kept, variants, title: scenario.model.title.clone(), path })
    }

    /// Opens the store of an earlier sweep. Each of its runs may take `memory` bytes.
    #[staticmethod]
    fn open(py: Python<'_>, into: StorageArgument, memory: u64) -> PyResult<Self> {
        let storage = into.storage(py)?;
        py.detach(|| {
            let title = storage.address();
            let sweep = Sweep::open(storage, memory)?;
            let variants = sweep.plan.variants()?;
            let path = PathBuf::from(sweep.scenario());
            Ok(Self { kept: Kept::Store(Box::new(sweep)), variants, title, path })
        })
        .map_err(error::plan)
    }

    /// Title of the scenario.
    #[getter]
    fn title(&self) -> &str {
        &self.title
    }

    /// Version that makes the runs.
    #[getter]
    fn engine(&self) -> &str {
        &self.plan().engine
    }

    /// Names of the variations.
    #[getter]
    fn variables(&self) -> Vec<&str> {
        self.plan().vary.iter().map(|vary| vary.name.as_str()).collect()
    }

    /// Values of each variant, in the order of the variations.
    #[getter]
    fn variants(&self) -> Vec<Vec<String>> {
        self.variants.iter().map(|variant| variant.values.clone()).collect()
    }

    /// Seeds of each variant.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.plan().seeds.clone()
    }

    /// Addresses of the metrics.
    #[getter]
    fn metrics(&self) -> Vec<String> {
        self.plan().metrics.clone()
    }

    fn __len__(&self) -> usize {
        self.tasks().len()
    }

    /// Checks that this version and these files can make the plan's runs.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| match &self.kept {
            Kept::Store(sweep) => sweep
                .check_version()
                .and_then(|()| sweep.check_parts().map_err(Into::into))
                .and_then(|()| sweep.check_files()),
            Kept::Memory(_) => Ok(()),
        })
        .map_err(error::plan)
    }

    /// Returns the indices of the tasks without a row, failed ones included.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        py.detach(|| match &self.kept {
            Kept::Memory(memory) => {
                let results = memory.results();
                Ok((0..memory.tasks.len())
                    .filter(|index| !results.get(index).is_some_and(Result::is_ok))
                    .collect())
            }
            Kept::Store(sweep) => sweep.missing_indices((1, 1)).map_err(error::experiment),
        })
    }

    /// Returns the failed tasks.
    fn failed(&self, py: Python<'_>) -> PyResult<Vec<FailedRun>> {
        py.detach(|| match &self.kept {
            Kept::Memory(memory) => {
                let failure = |(index, result): (&usize, &Result<Row, String>)| {
                    let (task, error) = (&memory.tasks[*index], result.as_ref().err()?);
                    let path = self.path.display().to_string();
                    let command = plans::repeat(&path, task, memory.planned.source().memory());
                    Some((task.settings.clone(), task.seed, error.clone(), command))
                };
                Ok(memory.results().iter().filter_map(failure).collect())
            }
            Kept::Store(sweep) => {
                let failures = sweep.failures().map_err(error::experiment)?;
                let fields = |one: FailedTask| (one.settings, one.seed, one.error, one.command);
                Ok(failures.into_iter().map(fields).collect())
            }
        })
    }

    /// Makes these tasks on `threads` threads, by default on as many as there are processors. `progress` is
    /// called with the number of ended ones some times a second. Returns how many finished, and how many
    /// failed.
    #[pyo3(signature = (tasks, threads = None, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        tasks: Vec<usize>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(usize, usize)> {
        for index in &tasks {
            self.task(*index)?;
        }
        let (done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let tell = |py: Python<'_>| match &progress {
            Some(progress) => {
                let ended = done.load(Ordering::Relaxed) + failed.load(Ordering::Relaxed);
                progress.call1(py, (ended,)).map(drop)
            }
            None => Ok(()),
        };
        let made = interruptible(py, &tell, |stop| {
            on_threads(threads, || {
                run_tasks(&tasks, |index| {
                    match self.make(*index, stop)? {
                        Some(true) => done.fetch_add(1, Ordering::Relaxed),
                        Some(false) => failed.fetch_add(1, Ordering::Relaxed),
                        None => 0,
                    };
                    Ok::<(), lockgate_experiment::Error>(())
                })
            })
        })?;
        made.map_err(error::experiment)?;
        Ok((done.into_inner(), failed.into_inner()))
    }

    /// Returns the variant, the settings and the seed of a task.
    fn task_of(&self, index: usize) -> PyResult<(usize, Vec<String>, u64)> {
        let task = self.task(index)?;
        Ok((task.variant, task.settings.clone(), task.seed))
    }

    /// Returns what every worker needs besides settings and seeds: the version, the scenario's text, its
    /// name, the contents of its files, the metrics, and the limit on memory in bytes.
    fn worker_input(&self, py: Python<'_>) -> PyResult<WorkerInput> {
        let plan = self.plan();
        let files = py.detach(|| self.source().load(&plan.files)).map_err(error::plan)?;
        let files = files.into_iter().map(|(name, bytes)| (name, bytes.to_vec())).collect();
        let name = self.path.display().to_string();
        Ok((ENGINE, plan.text.clone(), name, files, plan.metrics.clone(), self.source().memory()))
    }

    /// Keeps the row of a task that a worker made.
    fn keep(&self, py: Python<'_>, index: usize, row: Row) -> PyResult<()> {
        let (task, expected) = (self.task(index)?, self.plan().metrics.len());
        if row.len() != expected {
            return Err(error::run(format_args!(
                "a row has {} values, and the plan {expected} metrics",
                row.len()
            )));
        }
        py.detach(|| match &self.kept {
            Kept::Memory(memory) => {
                memory.results().insert(index, Ok(row));
                Ok(())
            }
            Kept::Store(sweep) => sweep.keep(task, &row).map_err(error::experiment),
        })
    }

    /// Notes the failure of a task.
    fn note_failure(&self, py: Python<'_>, index: usize, why: String) -> PyResult<()> {
        let task = self.task(index)?;
        py.detach(|| match &self.kept {
            Kept::Memory(memory) => {
                memory.results().insert(index, Err(why));
                Ok(())
            }
            Kept::Store(sweep) => sweep.note_failure(task, why).map_err(error::experiment),
        })
    }

    /// Writes `runs.parquet` of the store. Returns its path and the number of rows; `None` without a store.
    fn collect(&self, py: Python<'_>) -> PyResult<Option<(String, usize)>> {
        py.detach(|| match &self.kept {
            Kept::Memory(_) => Ok(None),
            Kept::Store(sweep) => sweep.collect().map(Some).map_err(error::experiment),
        })
    }

    /// Returns a row for each finished run: variables, as text and where they are numbers of one unit as
    /// such, seed, and metrics by their addresses in base units.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| self.table_of(&self.rows()?))
    }

    /// Compares the variants, as JSON: the comparison of each metric, the table and its sentences. The others
    /// are compared with the variant `base`, counted from 0, by default with the best. Failed and missing
    /// runs have no values. The table of the same runs comes with it.
    #[pyo3(signature = (base = None))]
    fn compare(&self, py: Python<'_>, base: Option<usize>) -> PyResult<(String, Table)> {
        py.detach(|| {
            let (plan, rows) = (self.plan(), self.rows()?);
            let table = self.table_of(&rows)?;
            let mut all: Vec<Row> = vec![vec![None; plan.metrics.len()]; self.tasks().len()];
            for (index, row) in rows {
                all[index] = row;
            }
            let compared = Compared::new(plan, &self.title, &self.variants, &all, base)
                .within(lockgate_measure::comparison::Practical::default());
            let compared = match &self.kept {
                Kept::Memory(memory) => compared.expecting(&memory.planned.base.expects),
                // A store keeps the values of runs, not the scenario that was read.
                Kept::Store(_) => compared,
            };
            let document = json!({
                "metrics": compared.metrics,
                "size": compared.size(),
                "table": compared.table(),
                "decision": compared.decision(),
                "sentences": compared.sentences(),
            });
            Ok((serde_json::to_string(&document).map_err(error::run)?, table))
        })
    }
}

/// Version, text, name, files, metrics, memory in bytes.
type WorkerInput = (&'static str, String, String, BTreeMap<String, Vec<u8>>, Vec<String>, u64);
