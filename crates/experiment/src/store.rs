//! Store of a plan's results: a directory with a file for each finished task.
//!
//! ```text
//! scenario.toml       the scenario's text
//! plan.json           the plan: variations, seeds, metrics, version of the engine; makes a storage a store
//! parts/KEY.parquet   the row of a finished task
//! failed/KEY.json     seed, error and repeating command of a failed one
//! runs.parquet        all rows, in the order of the plan's tasks: written by `collect`
//! ```
//!
//! A task is finished if its part exists; there is no other state. A [`Storage`] writes a part whole or not
//! at all, and a task made twice yields the same bytes. Any number of processes can therefore create and
//! share a store, be killed and be restarted. [`Directory`] is the storage in a directory; callers can
//! provide another, such as one in an object store.

mod directory;
mod leftovers;
mod part;
mod storage;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;

use lockgate_export::parquet::{self, Column};
use lockgate_scenario::Vary;
use lockgate_scenario::vary::Values;
use serde::{Deserialize, Serialize};

pub use self::directory::Directory;
pub use self::storage::Storage;
use crate::{Error, Plan, Row, Task, numbers};

/// Number of the layout.
const SCHEMA: u32 = 2;
/// Files of the scenario and of the plan.
const SCENARIO: &str = "scenario.toml";
const PLAN: &str = "plan.json";
/// Table of all runs.
const TABLE: &str = "runs.parquet";
/// Digits of a task's key.
const KEY: usize = 64;
/// Folders of the finished and of the failed tasks.
const PARTS: &str = "parts";
const FAILED: &str = "failed";
/// Number of parts that are read at a time.
const TOGETHER: usize = 1000;

/// Store of a plan's results.
#[derive(Clone, Debug)]
pub struct Store {
    storage: Arc<dyn Storage>,
}

/// Contents of `plan.json`. The scenario's text is beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PlanFile {
    schema: u32,
    lockgate: String,
    /// Path of the scenario's file.
    scenario: String,
    files: std::collections::BTreeMap<String, String>,
    settings: Vec<String>,
    vary: Vec<VaryFile>,
    seeds: Vec<u64>,
    metrics: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct VaryFile {
    name: String,
    paths: Vec<String>,
    values: Vec<String>,
    together: Option<String>,
}

/// Contents of `failed/KEY.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTask {
    /// Settings of the run.
    pub settings: Vec<String>,
    /// Seed of the run.
    pub seed: u64,
    /// Error.
    pub error: String,
    /// Command that repeats the run.
    pub command: String,
}

/// Counts of a store's tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Tasks of the plan.
    pub tasks: usize,
    /// Tasks with a part.
    pub finished: usize,
    /// Tasks that failed and are not finished.
    pub failed: usize,
    /// Parts of no task of the plan: of another version, or of another plan.
    pub foreign: usize,
}

impl Store {
    /// Creates the store of a plan in an empty storage, or opens the existing one. `scenario` is the path of
    /// the plan's scenario.
    ///
    /// # Errors
    /// If the storage holds another plan or other files, or cannot be written.
    pub fn create(storage: Arc<dyn Storage>, plan: &Plan, scenario: &str) -> Result<Self, Error> {
        let store = Self { storage };
        let known = match store.read_plan() {
            Err(Error::NoStore { .. }) => {
                store.begin(plan, scenario)?;
                // That of the process whose plan was first, if several create the store at the same time.
                store.read_plan()?.0
            }
            known => known?.0,
        };
        if !is_same(&known, plan)? {
            return Err(store.another(&known, plan));
        }
        store.remove_leftovers();
        Ok(store)
    }

    /// Makes an empty storage, or one in which another process began or was killed in this, a store.
    fn begin(&self, plan: &Plan, scenario: &str) -> Result<(), Error> {
        let files = self.storage.list("").map_err(|error| self.io("", error))?;
        let is_own =
            |name: &String| [PARTS, FAILED, SCENARIO].contains(&name.as_str()) || leftovers::is_aside(name);
        // With a plan, another process has just made it a store.
        if !files.iter().any(|name| name == PLAN) && !files.iter().all(is_own) {
            return Err(self.wrong("it holds other files, and no plan.json"));
        }
        for folder in [PARTS, FAILED] {
            self.storage.create_folder(folder).map_err(|error| self.io(folder, error))?;
        }
        let create = |name: &str, text: &str| {
            self.storage.create(name, text.as_bytes()).map_err(|error| self.io(name, error))
        };
        if !create(SCENARIO, &plan.text)? {
            let known = self.storage.read(SCENARIO).map_err(|error| self.io(SCENARIO, error))?;
            if known != plan.text.as_bytes() {
                return Err(self.wrong("it holds another scenario.toml, and no plan.json"));
            }
        }
        let text = serde_json::to_string_pretty(&PlanFile::of(plan, scenario)?).map_err(Error::runner)?;
        // Written last: a storage with a plan is a complete store.
        create(PLAN, &format!("{text}\n")).map(drop)
    }

    /// Opens a store. Returns its plan, and the path of the plan's scenario.
    ///
    /// # Errors
    /// Fails if the storage holds no store, or its plan cannot be read.
    pub fn open(storage: Arc<dyn Storage>) -> Result<(Self, Plan, String), Error> {
        let store = Self { storage };
        let (plan, scenario) = store.read_plan()?;
        store.remove_leftovers();
        Ok((store, plan, scenario))
    }

    fn read_plan(&self) -> Result<(Plan, String), Error> {
        let text = match self.storage.read(PLAN) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Error::NoStore { address: self.storage.address() });
            }
            Err(error) => return Err(self.io(PLAN, error)),
        };
        let file: PlanFile = serde_json::from_slice(&text)
            .map_err(|error| self.wrong(&format!("plan.json is damaged: {error}")))?;
        if file.schema != SCHEMA {
            return Err(
                self.wrong(&format!("its layout is {}, and this version reads {SCHEMA}", file.schema))
            );
        }
        if file.seeds.is_empty() {
            return Err(self.wrong("plan.json has no seeds"));
        }
        let text = self.storage.read(SCENARIO).map_err(|error| self.io(SCENARIO, error))?;
        let text = String::from_utf8(text).map_err(|_| self.wrong("scenario.toml is not UTF-8"))?;
        let scenario = file.scenario.clone();
        Ok((file.into_plan(text), scenario))
    }

    /// Returns the keys of the finished tasks.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn finished(&self) -> Result<BTreeSet<String>, Error> {
        self.keys(PARTS, ".parquet")
    }

    /// Returns the keys of the tasks that failed and are not finished.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn failed(&self) -> Result<BTreeSet<String>, Error> {
        let mut failed = self.keys(FAILED, ".json")?;
        if !failed.is_empty() {
            let finished = self.finished()?;
            failed.retain(|key| !finished.contains(key));
        }
        Ok(failed)
    }

    fn keys(&self, folder: &str, ending: &str) -> Result<BTreeSet<String>, Error> {
        let names = self.storage.list(folder).map_err(|error| self.io(folder, error))?;
        let key = |name: &String| name.strip_suffix(ending).filter(|key| is_key(key)).map(str::to_owned);
        Ok(names.iter().filter_map(key).collect())
    }

    /// Counts the tasks of the store's plan.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn status(&self, tasks: &[Task]) -> Result<Status, Error> {
        let count = |keys: &BTreeSet<String>| tasks.iter().filter(|task| keys.contains(&task.key)).count();
        let parts = self.finished()?;
        let (finished, failed) = (count(&parts), count(&self.failed()?));
        // A plan may have several tasks of one key: a value that varies twice.
        let keys: BTreeSet<&str> = tasks.iter().map(|task| task.key.as_str()).collect();
        let foreign = parts.iter().filter(|key| !keys.contains(key.as_str())).count();
        Ok(Status { tasks: tasks.len(), finished, failed, foreign })
    }

    /// Returns the failures of those of these tasks that are not finished, in their order.
    ///
    /// # Errors
    /// If the storage cannot be read.
    pub fn failures(&self, tasks: &[Task]) -> Result<Vec<FailedTask>, Error> {
        let failed = self.failed()?;
        let failed = tasks.iter().filter(|task| failed.contains(&task.key));
        // A task that has been finished meanwhile no longer has this file.
        Ok(failed
            .filter_map(|task| self.storage.read(&failure_name(task)).ok())
            .filter_map(|bytes| serde_json::from_slice(&bytes).ok())
            .collect())
    }

    /// Writes the row of a finished task, and removes the file of an earlier failure.
    ///
    /// # Errors
    /// If it cannot be written; no part is left then.
    pub fn keep(&self, plan: &Plan, task: &Task, row: &Row) -> Result<(), Error> {
        let bytes = part::write(task, &plan.metrics, row).map_err(Error::runner)?;
        self.write(&part_name(task), &bytes)?;
        // Ignored: the file of a failure does not count once its task is finished.
        let _ = self.storage.remove(&failure_name(task));
        Ok(())
    }

    /// Stores the failure of a task.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note_failure(&self, task: &Task, failure: &FailedTask) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(failure).map_err(Error::runner)?;
        self.write(&failure_name(task), format!("{text}\n").as_bytes())
    }

    /// Checks that every finished run is one of these tasks. Otherwise the plan or the scenario of the store
    /// was changed since, and their table cannot be written.
    ///
    /// # Errors
    /// If one is not.
    pub fn check_parts(&self, tasks: &[Task]) -> Result<(), Error> {
        match self.status(tasks)?.foreign {
            0 => Ok(()),
            foreign => Err(self.wrong(&format!(
                "{foreign} of its finished runs are of another version or plan than plan.json and scenario.toml; \
                 runs.parquet stays as it is"
            ))),
        }
    }

    /// Writes `runs.parquet`: a row for each finished task, in the order of the plan's tasks, with the
    /// variables, the seed and the metrics by their addresses. Returns its path or address, and the number of
    /// rows.
    ///
    /// # Errors
    /// If a part is damaged or of no task of the plan, or the file cannot be written.
    pub fn collect(&self, plan: &Plan) -> Result<(String, usize), Error> {
        let (variants, all) = (plan.variants()?, plan.tasks()?);
        self.check_parts(&all)?;
        let (tasks, rows): (Vec<&Task>, Vec<Row>) = self.rows(plan, &all)?.into_iter().unzip();
        let mut columns: Vec<(String, Column)> = Vec::new();
        for (index, vary) in plan.vary.iter().enumerate() {
            let values = tasks.iter().map(|task| variants[task.variant].values[index].as_str());
            let texts = values.clone().map(|value| Some(value.to_owned()));
            columns.push((vary.name.clone(), Column::Text(texts.collect())));
            let numbers = numbers(&vary.name, values);
            let column = |(name, numbers): (_, Vec<f64>)| {
                (name, Column::Real(numbers.into_iter().map(Some).collect()))
            };
            columns.extend(numbers.map(column));
        }
        columns.push(("seed".into(), Column::Integer(tasks.iter().map(|task| Some(task.seed)).collect())));
        for (index, path) in plan.metrics.iter().enumerate() {
            columns.push((path.clone(), Column::Real(rows.iter().map(|row| row[index]).collect())));
        }
        let notes = [("lockgate.engine".to_owned(), plan.engine.clone())];
        let bytes = parquet::table(&columns, &notes, Vec::new()).map_err(Error::runner)?;
        self.write(TABLE, &bytes)?;
        Ok((self.storage.path(TABLE), rows.len()))
    }

    /// Returns the finished ones of these tasks of `plan`, each with its row.
    ///
    /// # Errors
    /// If a part is damaged.
    pub fn rows<'t>(&self, plan: &Plan, tasks: &'t [Task]) -> Result<Vec<(&'t Task, Row)>, Error> {
        let finished = self.finished()?;
        let tasks: Vec<&Task> = tasks.iter().filter(|task| finished.contains(&task.key)).collect();
        let mut rows = Vec::with_capacity(tasks.len());
        for tasks in tasks.chunks(TOGETHER) {
            let names: Vec<String> = tasks.iter().map(|task| part_name(task)).collect();
            let parts = self.storage.read_many(&names).map_err(|error| self.io(PARTS, error))?;
            for (task, bytes) in tasks.iter().zip(parts) {
                rows.push((*task, self.row(plan, task, bytes)?));
            }
        }
        Ok(rows)
    }

    /// Reads the row of a finished task from the bytes of its part.
    fn row(&self, plan: &Plan, task: &Task, bytes: Vec<u8>) -> Result<Row, Error> {
        let damaged =
            |why: &str| self.wrong(&format!("`{}` {why}; remove it and make its run again", part_name(task)));
        let row = part::read(task, bytes).map_err(|why| damaged(&format!("is damaged: it {why}")))?;
        if row.iter().map(|(name, _)| name).ne(&plan.metrics) {
            return Err(damaged("has other metrics than the plan"));
        }
        Ok(row.into_iter().map(|(_, value)| value).collect())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.storage.write(name, bytes).map_err(|error| self.io(name, error))
    }

    /// Removes partly written files of killed processes.
    fn remove_leftovers(&self) {
        for folder in ["", PARTS, FAILED] {
            self.storage.remove_leftovers(folder);
        }
    }

    fn io(&self, name: &str, source: std::io::Error) -> Error {
        Error::Storage { path: self.storage.path(name), source }
    }

    fn wrong(&self, why: &str) -> Error {
        Error::Store { address: self.storage.address(), why: why.to_owned() }
    }

    /// Returns the error that the store holds another plan, with the first part that differs.
    fn another(&self, known: &Plan, wanted: &Plan) -> Error {
        let what = if known.engine != wanted.engine {
            format!("version {} of the engine, and this is {}", known.engine, wanted.engine)
        } else if known.text != wanted.text || known.files != wanted.files {
            "another scenario, or other files of it".to_owned()
        } else if known.seeds != wanted.seeds {
            "other seeds".to_owned()
        } else if known.metrics != wanted.metrics {
            "other metrics".to_owned()
        } else {
            "other variations or settings".to_owned()
        };
        self.wrong(&format!("it holds another plan: {what}"))
    }
}

/// Returns the name of a finished task's file.
fn part_name(task: &Task) -> String {
    format!("{PARTS}/{}.parquet", task.key)
}

/// Returns the name of a failed task's file.
fn failure_name(task: &Task) -> String {
    format!("{FAILED}/{}.json", task.key)
}

/// Returns true for a task's key, in hexadecimal.
fn is_key(text: &str) -> bool {
    text.len() == KEY && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Returns true if two plans make the same runs and keep the same metrics. A range equals the list of its
/// values.
fn is_same(one: &Plan, other: &Plan) -> Result<bool, Error> {
    Ok(one.text == other.text && PlanFile::of(one, "")? == PlanFile::of(other, "")?)
}

impl PlanFile {
    fn of(plan: &Plan, scenario: &str) -> Result<Self, Error> {
        let vary = |one: &Vary| {
            let (name, paths, together) = (one.name.clone(), one.paths.clone(), one.together.clone());
            Ok::<_, Error>(VaryFile { name, paths, values: one.values.texts()?, together })
        };
        Ok(Self {
            schema: SCHEMA,
            lockgate: plan.engine.clone(),
            scenario: scenario.to_owned(),
            files: plan.files.clone(),
            settings: plan.settings.clone(),
            vary: plan.vary.iter().map(vary).collect::<Result<_, _>>()?,
            seeds: plan.seeds.clone(),
            metrics: plan.metrics.clone(),
        })
    }

    fn into_plan(self, text: String) -> Plan {
        let vary = |one: VaryFile| Vary {
            name: one.name,
            paths: one.paths,
            values: Values::List(one.values),
            together: one.together,
        };
        Plan {
            engine: self.lockgate,
            text,
            files: self.files,
            settings: self.settings,
            vary: self.vary.into_iter().map(vary).collect(),
            seeds: self.seeds,
            metrics: self.metrics,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn at(folder: &Path) -> Arc<dyn Storage> {
        Arc::new(Directory::new(folder))
    }

    fn plan() -> Plan {
        Plan {
            engine: "1".into(),
            vary: vec![Vary::parse("link.a.delay=1ms..3ms step 1ms").expect("a variation")],
            seeds: vec![1, 2],
            metrics: vec!["jain_index".into(), "flow.\"a.b\".loss".into()],
            ..Plan::default()
        }
    }

    #[test]
    fn the_table_is_the_same_in_whatever_order_and_how_often_parts_were_made() {
        let plan = plan();
        let tasks = plan.tasks().expect("tasks");
        let row = |task: &Task| vec![Some(0.1 + task.seed as f64), (task.variant > 0).then_some(1.0 / 3.0)];
        let table = |order: &[usize]| {
            let folder = tempfile::tempdir().expect("a directory");
            let store = Store::create(at(folder.path()), &plan, "s.toml").expect("a store");
            for index in order {
                store.keep(&plan, &tasks[*index], &row(&tasks[*index])).expect("kept");
            }
            let (store, plan, _) = Store::open(at(folder.path())).expect("a store");
            let (path, rows) = store.collect(&plan).expect("a table");
            (fs::read(path).expect("bytes"), rows)
        };
        let (whole, rows) = table(&[0, 1, 2, 3, 4, 5]);
        assert_eq!(rows, 6);
        assert_eq!(table(&[5, 3, 1, 1, 0, 2, 4, 5]).0, whole);
        assert_ne!(table(&[0, 1, 2, 3, 4]).0, whole);
    }

    #[test]
    fn a_store_refuses_another_plan_and_says_what_differs() {
        let (folder, plan) = (tempfile::tempdir().expect("a directory"), plan());
        let path = folder.path();
        let store = Store::create(at(path), &plan, "s.toml").expect("a store");
        Store::create(at(path), &plan, "s.toml").expect("the same plan");
        let refused = |plan: &Plan| Store::create(at(path), plan, "s.toml").expect_err("another").to_string();
        assert!(refused(&Plan { seeds: vec![1], ..plan.clone() }).contains("other seeds"));
        assert!(refused(&Plan { engine: "2".into(), ..plan.clone() }).contains("version 1"));
        assert!(refused(&Plan { vary: Vec::new(), ..plan.clone() }).contains("variations"));
        let task = &plan.tasks().expect("tasks")[0];
        fs::write(path.join(format!("parts/{}.parquet", task.key)), b"half").expect("written");
        assert!(store.collect(&plan).is_err_and(|error| error.to_string().contains("remove it")));
        let other = tempfile::tempdir().expect("a directory");
        fs::write(other.path().join("mine"), b"x").expect("written");
        assert!(
            Store::create(at(other.path()), &plan, "s")
                .is_err_and(|error| error.to_string().contains("other files"))
        );
        assert!(matches!(Store::open(at(other.path())), Err(Error::NoStore { .. })));
    }

    #[test]
    fn a_store_whose_creation_was_cut_short_is_created() {
        let plan = plan();
        // The files after each step of the creation, the last with a file written aside.
        let steps: [&[&str]; 4] =
            [&["parts"], &["parts", "failed"], &["failed", "scenario.toml"], &["plan.json.elsewhere-7.tmp"]];
        for step in steps {
            let folder = tempfile::tempdir().expect("a directory");
            for name in step {
                let path = folder.path().join(name);
                if name.contains('.') {
                    fs::write(path, &plan.text).expect("written");
                } else {
                    fs::create_dir(path).expect("a folder");
                }
            }
            Store::create(at(folder.path()), &plan, "s.toml").expect("a store");
            Store::open(at(folder.path())).expect("a store");
        }
        let folder = tempfile::tempdir().expect("a directory");
        fs::write(folder.path().join("scenario.toml"), "title = \"another\"").expect("written");
        let error = Store::create(at(folder.path()), &plan, "s.toml").expect_err("another");
        assert!(error.to_string().contains("another scenario.toml"), "{error}");
        let kept = fs::read_to_string(folder.path().join("scenario.toml")).expect("the file");
        assert_eq!(kept, "title = \"another\"");
    }

    #[test]
    fn processes_that_create_one_store_at_the_same_time_agree_on_one_plan() {
        let plans = [plan(), Plan { seeds: vec![7], ..plan() }];
        for _ in 0..20 {
            let folder = tempfile::tempdir().expect("a directory");
            let start = std::sync::Barrier::new(8);
            let create = |plan: &Plan| {
                start.wait();
                Store::create(at(folder.path()), plan, "s.toml").map(drop)
            };
            let results: Vec<Vec<Result<(), Error>>> = std::thread::scope(|scope| {
                let threads = (0..8).map(|index| {
                    let (create, plan) = (&create, &plans[index % 2]);
                    (index % 2, scope.spawn(move || create(plan)))
                });
                let threads: Vec<_> = threads.collect();
                let mut results = vec![Vec::new(), Vec::new()];
                for (plan, thread) in threads {
                    results[plan].push(thread.join().expect("no panic"));
                }
                results
            });
            let (_, kept, _) = Store::open(at(folder.path())).expect("a store");
            for (plan, results) in plans.iter().zip(results) {
                let is_kept = plan.seeds == kept.seeds;
                for result in results {
                    match result {
                        Ok(()) => assert!(is_kept),
                        Err(error) => {
                            assert!(!is_kept && error.to_string().contains("other seeds"), "{error}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_table_is_not_replaced_by_one_without_the_runs_of_another_version() {
        let (folder, plan) = (tempfile::tempdir().expect("a directory"), plan());
        let store = Store::create(at(folder.path()), &plan, "s.toml").expect("a store");
        let tasks = plan.tasks().expect("tasks");
        for task in &tasks {
            store.keep(&plan, task, &vec![Some(1.0), None]).expect("kept");
        }
        let (path, rows) = store.collect(&plan).expect("a table");
        assert_eq!(rows, tasks.len());
        let table = fs::read(&path).expect("bytes");
        let other = Plan { engine: "2".into(), ..plan };
        let status = store.status(&other.tasks().expect("tasks")).expect("counts");
        assert_eq!((status.finished, status.foreign), (0, tasks.len()));
        assert!(
            store.collect(&other).is_err_and(|error| error.to_string().contains("6 of its finished runs"))
        );
        assert_eq!(fs::read(&path).expect("bytes"), table);
    }
}
