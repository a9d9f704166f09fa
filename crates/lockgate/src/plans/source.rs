//! Source of a plan's runs: the text of the scenario and the files that it names.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use lockgate_experiment::{Row, Task, digest, row};
use lockgate_measure::recording::Recording;
use lockgate_scenario::{Files, Override, Reader, Scenario};

use super::{Hashes, PlanError};
use crate::{Error, Options, Seed, memory};

/// Files that several threads load.
pub type SharedFiles = Arc<dyn Files + Send + Sync>;

/// Scenario as its runs read it. Clones share the scenarios that were read last.
#[derive(Clone)]
pub struct Source {
    /// Name in messages.
    name: String,
    text: Arc<str>,
    files: SharedFiles,
    memory: u64,
    recent: Arc<Recent>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

impl Source {
    /// Creates the source of a text called `name` in messages. Its files and each of its runs may take
    /// `memory` bytes.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>, files: SharedFiles, memory: u64) -> Self {
        Self { name: name.into(), text: text.into(), files, memory, recent: Arc::default() }
    }

    /// Returns the text of the scenario, without settings.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the limit on the memory of a run, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Reads the scenario with settings, each `PATH=VALUE`.
    ///
    /// # Errors
    /// If a setting is malformed, or the scenario has problems.
    pub fn read(&self, settings: &[String]) -> Result<Scenario, Error> {
        self.read_from(settings, self.files.as_ref())
    }

    /// Reads the scenario with settings and the files of `files`.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_from(&self, settings: &[String], files: &dyn Files) -> Result<Scenario, Error> {
        let overrides: Vec<Override> = crate::parse_settings(settings)?;
        Ok(Reader { files, overrides: &overrides, memory: self.memory }.read(&self.text, &self.name)?)
    }

    /// Returns the same files, with a wrapper that stores the hash of each loaded file.
    pub(super) fn hashed(&self) -> HashedFiles {
        HashedFiles { files: Arc::clone(&self.files), hashes: Mutex::default() }
    }

    /// Loads the files of a plan, by their names, for a run on another machine.
    ///
    /// # Errors
    /// If one is missing or has changed.
    pub fn load(&self, hashes: &BTreeMap<String, String>) -> Result<BTreeMap<String, Arc<[u8]>>, PlanError> {
        let load = |(name, hash): (&String, &String)| {
            let why = match self.files.load(name) {
                Ok(bytes) if digest(&bytes) == *hash => return Ok((name.clone(), bytes)),
                Ok(_) => "has changed since the sweep began".to_owned(),
                Err(why) => format!("cannot be read: {why}"),
            };
            Err(PlanError::File { name: name.clone(), why })
        };
        hashes.iter().map(load).collect()
    }

    /// Simulates a task. Returns the metrics at `addresses`; `None` if `stop` ended the run.
    ///
    /// # Errors
    /// If the scenario cannot be read, its run would take too much memory, or fails.
    pub fn run(
        &self,
        task: &Task,
        addresses: &[String],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Row>, Error> {
        let Some(recording) = self.record(task, addresses, stop)? else { return Ok(None) };
        let seed = recording.seed;
        let mut summary = lockgate_measure::summarise(&[recording]);
        crate::proof::add(&*self.scenario(task, addresses)?, &mut summary, &[seed]);
        Ok(Some(row(&summary, addresses)?))
    }

    /// Returns the scenario of a task, whose runs observe the parts that `addresses` name.
    ///
    /// # Errors
    /// If it cannot be read, or its run would take too much memory.
    pub fn scenario(&self, task: &Task, addresses: &[String]) -> Result<Arc<Scenario>, Error> {
        self.recent.get(&task.settings, || {
            let mut scenario = self.read(&task.settings)?;
            scenario.observe(addresses.iter().map(String::as_str));
            memory::estimate(&scenario, 1).map(|_| scenario)
        })
    }

    /// Simulates a task, observing the parts of the run that `addresses` name. Returns its recording; `None`
    /// if `stop` ended the run.
    ///
    /// # Errors
    /// If the scenario cannot be read, its run would take too much memory, or fails.
    pub fn record(
        &self,
        task: &Task,
        addresses: &[String],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Recording>, Error> {
        if stop() {
            return Ok(None);
        }
        let scenario = self.scenario(task, addresses)?;
        let options = Options {
            seeds: vec![Seed(task.seed)],
            threads: Some(1),
            memory: Some(self.memory),
            stop,
            ..Options::default()
        };
        let runs = crate::run(&scenario, &options)?;
        Ok(if runs.stopped_early { None } else { runs.recordings.into_iter().next() })
    }
}

/// Recently read scenarios, by their settings: the tasks of a variant differ only in their seed.
#[derive(Default)]
struct Recent {
    /// The latest last.
    scenarios: Mutex<VecDeque<(Vec<String>, Arc<Scenario>)>>,
}

impl Recent {
    /// Returns the scenario with these settings: a recent one, or the result of `read`. Threads that need it
    /// at the same time may read it twice.
    fn get(
        &self,
        settings: &[String],
        read: impl FnOnce() -> Result<Scenario, Error>,
    ) -> Result<Arc<Scenario>, Error> {
        let lock = || self.scenarios.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = lock().iter().find(|(of, _)| of == settings) {
            return Ok(Arc::clone(known));
        }
        let scenario = Arc::new(read()?);
        let mut scenarios = lock();
        // One scenario for each thread, because each may work on another variant.
        #[cfg(feature = "threads")]
        let threads = rayon::current_num_threads();
        #[cfg(not(feature = "threads"))]
        let threads = 1;
        if scenarios.len() > threads {
            scenarios.pop_front();
        }
        scenarios.push_back((settings.to_vec(), Arc::clone(&scenario)));
        Ok(scenario)
    }
}

/// Files of a scenario, with the hash of each that was loaded.
pub(super) struct HashedFiles {
    files: SharedFiles,
    hashes: Mutex<Hashes>,
}

impl HashedFiles {
    /// Returns the hashes, by name.
    pub(super) fn into_hashes(self) -> Hashes {
        self.hashes.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files for HashedFiles {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        let bytes = self.files.load(path)?;
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        hashes.insert(path.to_owned(), digest(&bytes));
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const TEXT: &str = r#"
duration = "100ms"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], trace = "trace.txt" }
flow.f = { from = "a", to = "b", size = "500B", gap = "10ms" }
"#;

    /// A file, with the number of times that it was loaded.
    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Files for Counted {
        fn load(&self, _: &str) -> Result<Arc<[u8]>, String> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Arc::from(&b"1\n2\n3\n"[..]))
        }
    }

    #[test]
    fn tasks_that_differ_by_the_seed_read_the_scenario_once() {
        let files = Arc::new(Counted::default());
        let source = Source::new("counted", TEXT, files.clone(), lockgate_scenario::MEMORY);
        let run = |size: &str, seed| {
            let settings = vec![format!("flow.f.size={size}")];
            let task = Task { key: String::new(), variant: 0, settings, seed };
            source.run(&task, &["flow.f.sent_bytes".to_owned()], &|| false).expect("a run")
        };
        let rows: Vec<_> = (1..=4).map(|seed| run("500B", seed)).collect();
        assert_eq!(files.0.load(Ordering::Relaxed), 1);
        assert_eq!(rows[0], Some(vec![Some(4500.0)]), "nine packets: the first comes after a gap");
        assert_ne!(run("400B", 1), rows[0], "the settings of another variant");
        assert_eq!(files.0.load(Ordering::Relaxed), 2);
        assert_eq!(run("500B", 1), rows[0]);
    }
}
