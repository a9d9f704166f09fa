//! Store of a plan's results: a directory with a file for each finished task.
//!
//! ```text
//! plan.json           the plan: variations, seeds, metrics, version of the engine
//! scenario.toml       the scenario's text
//! parts/KEY.parquet   the row of a finished task
//! failed/KEY.json     seed, error and repeating command of a failed one
//! runs.parquet        all rows, in the order of the plan's tasks: written by `collect`
//! ```
//!
//! A task is finished if its part is present; nothing else is remembered. Parts are written aside and renamed,
//! so that one is whole or absent, and a task made twice leaves the same bytes. Any number of processes can
//! therefore share a store, be killed and be started again.

mod leftovers;

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use lockgate_measure::export::parquet::{self, Column};
use lockgate_scenario::Vary;
use lockgate_scenario::vary::Values;
use serde::{Deserialize, Serialize};

use crate::{Error, Plan, Row, Task};

/// Number of the layout.
const SCHEMA: u32 = 1;

/// Store of a plan's results.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
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
    /// Those with a part.
    pub finished: usize,
    /// Those that failed and are not finished.
    pub failed: usize,
}

impl Store {
    /// Creates the store of a plan in a new or empty directory, or opens the one that is there. `scenario` is
    /// the path of the plan's scenario.
    ///
    /// # Errors
    /// If the directory holds another plan or other files, or cannot be written.
    pub fn create(folder: &Path, plan: &Plan, scenario: &str) -> Result<Self, Error> {
        let store = Self { folder: folder.to_path_buf() };
        match store.read_plan() {
            Ok((known, _)) if is_same(&known, plan)? => {
                store.remove_leftovers();
                return Ok(store);
            }
            Ok((known, _)) => return Err(store.another(&known, plan)),
            Err(Error::NoStore { .. }) => {}
            Err(error) => return Err(error),
        }
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(store.wrong("it holds other files, and no plan.json"));
        }
        for folder in [store.parts(), store.failed()] {
            fs::create_dir_all(&folder).map_err(|error| store.io(&folder, &error))?;
        }
        store.write("scenario.toml", plan.text.as_bytes())?;
        let text = serde_json::to_string_pretty(&PlanFile::of(plan, scenario)?).map_err(Error::runner)?;
        // Last: a directory with a plan is a whole store.
        store.write("plan.json", format!("{text}\n").as_bytes())?;
        Ok(store)
    }

    /// Opens a store. Returns its plan, and the path of the plan's scenario.
    ///
    /// # Errors
    /// Fails if the directory is no store, or its plan cannot be read.
    pub fn open(folder: &Path) -> Result<(Self, Plan, String), Error> {
        let store = Self { folder: folder.to_path_buf() };
        let (plan, scenario) = store.read_plan()?;
        store.remove_leftovers();
        Ok((store, plan, scenario))
    }

    fn read_plan(&self) -> Result<(Plan, String), Error> {
        let path = self.folder.join("plan.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Error::NoStore { folder: self.folder.clone() });
            }
            Err(error) => return Err(self.io(&path, &error)),
        };
        let file: PlanFile =
            serde_json::from_str(&text).map_err(|error| self.wrong(&format!("plan.json: {error}")))?;
        if file.schema != SCHEMA {
            return Err(
                self.wrong(&format!("its layout is {}, and this version reads {SCHEMA}", file.schema))
            );
        }
        let path = self.folder.join("scenario.toml");
        let text = fs::read_to_string(&path).map_err(|error| self.io(&path, &error))?;
        let scenario = file.scenario.clone();
        Ok((file.into_plan(text), scenario))
    }

    /// Returns the keys of the finished tasks.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn finished(&self) -> Result<BTreeSet<String>, Error> {
        self.keys(&self.parts(), "parquet")
    }

    /// Returns the keys of the tasks that failed.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn failures(&self) -> Result<BTreeSet<String>, Error> {
        self.keys(&self.failed(), "json")
    }

    fn keys(&self, folder: &Path, ending: &str) -> Result<BTreeSet<String>, Error> {
        let entries = fs::read_dir(folder).map_err(|error| self.io(folder, &error))?;
        let paths = entries.flatten().map(|entry| entry.path());
        let of = paths.filter(|path| path.extension().is_some_and(|found| found == ending));
        Ok(of.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect())
    }

    /// Counts the tasks of the store's plan.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn status(&self, tasks: &[Task]) -> Result<Status, Error> {
        let (finished, failed) = (self.finished()?, self.failures()?);
        let count = |keys: &BTreeSet<String>| tasks.iter().filter(|task| keys.contains(&task.key)).count();
        let failed = failed.difference(&finished).cloned().collect();
        Ok(Status { tasks: tasks.len(), finished: count(&finished), failed: count(&failed) })
    }

    /// Returns the failure of a task, if it is noted.
    pub fn failure(&self, task: &Task) -> Option<FailedTask> {
        let text = fs::read_to_string(self.failed().join(format!("{}.json", task.key))).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Keeps the row of a finished task, and removes the note of an earlier failure.
    ///
    /// # Errors
    /// If it cannot be written; then nothing is left.
    pub fn keep(&self, plan: &Plan, task: &Task, row: &Row) -> Result<(), Error> {
        let columns = row.iter().zip(&plan.metrics);
        let columns: Vec<(String, Column)> =
            columns.map(|(value, path)| (path.clone(), Column::Real(vec![*value]))).collect();
        let bytes = parquet::table(&columns, &[], Vec::new()).map_err(Error::runner)?;
        self.write(&format!("parts/{}.parquet", task.key), &bytes)?;
        let _ = fs::remove_file(self.failed().join(format!("{}.json", task.key)));
        Ok(())
    }

    /// Notes the failure of a task.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note_failure(&self, task: &Task, failure: &FailedTask) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(failure).map_err(Error::runner)?;
        self.write(&format!("failed/{}.json", task.key), format!("{text}\n").as_bytes())
    }

    /// Writes `runs.parquet`: a row for each finished task, in the order of the plan's tasks, with the
    /// variables, the seed and the metrics by their addresses. Returns its path and the number of rows.
    ///
    /// # Errors
    /// If a part is damaged, or the file cannot be written.
    pub fn collect(&self, plan: &Plan) -> Result<(PathBuf, usize), Error> {
        let (variants, all) = (plan.variants()?, plan.tasks()?);
        let (tasks, rows): (Vec<&Task>, Vec<Row>) = self.rows(plan, &all)?.into_iter().unzip();
        let variable = |(index, vary): (usize, &Vary)| {
            let values = tasks.iter().map(|task| Some(variants[task.variant].values[index].clone()));
            (vary.name.clone(), Column::Text(values.collect()))
        };
        let mut columns: Vec<(String, Column)> = plan.vary.iter().enumerate().map(variable).collect();
        columns.push(("seed".into(), Column::Integer(tasks.iter().map(|task| Some(task.seed)).collect())));
        for (index, path) in plan.metrics.iter().enumerate() {
            columns.push((path.clone(), Column::Real(rows.iter().map(|row| row[index]).collect())));
        }
        let notes = [("lockgate.engine".to_owned(), plan.engine.clone())];
        let bytes = parquet::table(&columns, &notes, Vec::new()).map_err(Error::runner)?;
        self.write("runs.parquet", &bytes)?;
        Ok((self.folder.join("runs.parquet"), rows.len()))
    }

    /// Returns the finished ones of these tasks of `plan`, each with its row.
    ///
    /// # Errors
    /// If a part is damaged.
    pub fn rows<'t>(&self, plan: &Plan, tasks: &'t [Task]) -> Result<Vec<(&'t Task, Row)>, Error> {
        let finished = self.finished()?;
        let tasks = tasks.iter().filter(|task| finished.contains(&task.key));
        tasks.map(|task| Ok((task, self.part(plan, task)?))).collect()
    }

    /// Reads the row of a finished task.
    fn part(&self, plan: &Plan, task: &Task) -> Result<Row, Error> {
        let path = self.parts().join(format!("{}.parquet", task.key));
        let bytes = fs::read(&path).map_err(|error| self.io(&path, &error))?;
        let damaged = |why: &str| {
            self.wrong(&format!("`parts/{}.parquet` {why}; remove it and make its run again", task.key))
        };
        let row = parquet::first_row(bytes).map_err(|error| damaged(&error.to_string()))?;
        if row.iter().map(|(name, _)| name).ne(&plan.metrics) {
            return Err(damaged("has other metrics than the plan"));
        }
        Ok(row.into_iter().map(|(_, value)| value).collect())
    }

    /// Writes a file aside and renames it.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.folder.join(name);
        let aside = leftovers::aside(&path);
        let written = fs::File::create(&aside)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_data()))
            .and_then(|()| fs::rename(&aside, &path));
        written.map_err(|error| {
            let _ = fs::remove_file(&aside);
            self.io(&path, &error)
        })
    }

    /// Removes what killed processes left half written.
    fn remove_leftovers(&self) {
        for folder in [self.folder.clone(), self.parts(), self.failed()] {
            leftovers::remove(&folder);
        }
    }

    fn parts(&self) -> PathBuf {
        self.folder.join("parts")
    }

    fn failed(&self) -> PathBuf {
        self.folder.join("failed")
    }

    fn io(&self, path: &Path, error: &std::io::Error) -> Error {
        self.wrong(&format!("`{}`: {error}", path.display()))
    }

    fn wrong(&self, why: &str) -> Error {
        Error::Store { folder: self.folder.clone(), why: why.to_owned() }
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

/// Returns true if two plans make the same runs and keep the same of them: a range and the list of its values
/// are alike.
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
    use super::*;

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
            let store = Store::create(folder.path(), &plan, "s.toml").expect("a store");
            for index in order {
                store.keep(&plan, &tasks[*index], &row(&tasks[*index])).expect("kept");
            }
            let (store, plan, _) = Store::open(folder.path()).expect("a store");
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
        let store = Store::create(path, &plan, "s.toml").expect("a store");
        Store::create(path, &plan, "s.toml").expect("the same plan");
        let refused = |plan: &Plan| Store::create(path, plan, "s.toml").expect_err("another").to_string();
        assert!(refused(&Plan { seeds: vec![1], ..plan.clone() }).contains("other seeds"));
        assert!(refused(&Plan { engine: "2".into(), ..plan.clone() }).contains("version 1"));
        assert!(refused(&Plan { vary: Vec::new(), ..plan.clone() }).contains("variations"));
        let task = &plan.tasks().expect("tasks")[0];
        fs::write(path.join(format!("parts/{}.parquet", task.key)), b"half").expect("written");
        assert!(store.collect(&plan).is_err_and(|error| error.to_string().contains("remove it")));
        let other = tempfile::tempdir().expect("a directory");
        fs::write(other.path().join("mine"), b"x").expect("written");
        assert!(
            Store::create(other.path(), &plan, "s")
                .is_err_and(|error| error.to_string().contains("other files"))
        );
        assert!(matches!(Store::open(other.path()), Err(Error::NoStore { .. })));
    }
}
