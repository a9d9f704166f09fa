//! Scenario: a text with its settings, read and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockgate::Files;
use lockgate::files::Beside;
use lockgate::plans::{SharedFiles, Source};
use lockgate::results::SavedFile;
use pyo3::prelude::*;

use crate::error;

/// A scenario that can be run. The same text, settings and files give the same one.
#[pyclass(frozen, module = "lockgate._lockgate")]
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) model: Arc<lockgate::Scenario>,
    pub(crate) source: Source,
    pub(crate) files: Arc<LoadedFiles>,
    /// Path of its file: the files that it names are beside it. Empty without a file.
    pub(crate) path: PathBuf,
    /// Settings, each `PATH=VALUE`.
    pub(crate) settings: Vec<String>,
    name: String,
    /// Names of the files that it was read from.
    named: BTreeSet<String>,
}

impl Scenario {
    fn create(
        text: String,
        files: Arc<LoadedFiles>,
        name: String,
        path: PathBuf,
        settings: Vec<String>,
        memory: u64,
    ) -> PyResult<Self> {
        let source = Source::new(name.as_str(), text, files.clone() as SharedFiles, memory);
        let noted = NotedFiles { files: &files, named: Mutex::default() };
        let model = Arc::new(source.read_from(&settings, &noted).map_err(error::library)?);
        let named = noted.named.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Self { model, source, files, path, settings, name, named })
    }

    /// Reads another text in its place, such as its own with changes.
    pub(crate) fn with_text(&self, text: String) -> PyResult<Self> {
        let (name, path) = (self.name.clone(), self.path.clone());
        Self::create(text, Arc::clone(&self.files), name, path, Vec::new(), self.source.memory())
    }
}

/// Files, each loaded once: whatever is made from a scenario has the same ones, also if they change on the
/// disk.
pub(crate) struct LoadedFiles {
    disk: Beside,
    loaded: Mutex<BTreeMap<String, Arc<[u8]>>>,
}

impl LoadedFiles {
    fn new(path: &Path, loaded: BTreeMap<String, Vec<u8>>) -> Arc<Self> {
        let loaded = loaded.into_iter().map(|(name, bytes)| (name, Arc::from(bytes))).collect();
        Arc::new(Self { disk: Beside::new(path), loaded: Mutex::new(loaded) })
    }

    /// Held for a moment: never while a file is read, or Python code runs.
    fn loaded(&self) -> MutexGuard<'_, BTreeMap<String, Arc<[u8]>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files for LoadedFiles {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        let known = self.loaded().get(path).cloned();
        if let Some(bytes) = known {
            return Ok(bytes);
        }
        let bytes = self.disk.load(path)?;
        Ok(Arc::clone(self.loaded().entry(path.to_owned()).or_insert(bytes)))
    }
}

/// Files with the names of those that were asked for.
struct NotedFiles<'a> {
    files: &'a LoadedFiles,
    named: Mutex<BTreeSet<String>>,
}

impl Files for NotedFiles<'_> {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        let bytes = self.files.load(path)?;
        self.named.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        Ok(bytes)
    }
}

#[pymethods]
impl Scenario {
    /// Reads a file with settings, each `PATH=VALUE`. Its files and its run may take `memory` bytes.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, settings: Vec<String>, memory: u64) -> PyResult<Self> {
        py.detach(|| {
            let overrides = lockgate::parse_settings(&settings).map_err(error::library)?;
            let read = lockgate::files::scenario_text(&path, memory, &overrides).map_err(error::library)?;
            let files = LoadedFiles::new(&path, BTreeMap::new());
            Self::create(read.text, files, read.name, path, settings, memory)
        })
    }

    /// Reads a text called `name`. The files that it names are those of `files`, or beside `path`.
    #[staticmethod]
    #[pyo3(signature = (text, name, path, settings, memory, files = None))]
    fn parse(
        py: Python<'_>,
        text: String,
        name: String,
        path: PathBuf,
        settings: Vec<String>,
        memory: u64,
        files: Option<BTreeMap<String, Vec<u8>>>,
    ) -> PyResult<Self> {
        py.detach(|| {
            let files = LoadedFiles::new(&path, files.unwrap_or_default());
            Self::create(text, files, name, path, settings, memory)
        })
    }

    /// Returns the scenario with more settings.
    fn with_settings(&self, py: Python<'_>, more: Vec<String>) -> PyResult<Self> {
        let settings = [self.settings.as_slice(), &more].concat();
        py.detach(|| {
            let (text, files) = (self.source.text().to_owned(), Arc::clone(&self.files));
            Self::create(text, files, self.name.clone(), self.path.clone(), settings, self.source.memory())
        })
    }

    /// Contents of the files that it was read from, by their names.
    fn loaded(&self, py: Python<'_>) -> BTreeMap<String, Vec<u8>> {
        py.detach(|| {
            let loaded = self.files.loaded();
            let bytes = |name: &String| Some((name.clone(), loaded.get(name)?.to_vec()));
            self.named.iter().filter_map(bytes).collect()
        })
    }

    /// True if it was read from the same files as `other`.
    fn has_files_of(&self, py: Python<'_>, other: &Self) -> bool {
        if Arc::ptr_eq(&self.files, &other.files) || self.named != other.named {
            return self.named == other.named;
        }
        py.detach(|| {
            let bytes = |of: &Self, name: &str| of.files.loaded().get(name).cloned();
            self.named.iter().all(|name| bytes(self, name) == bytes(other, name))
        })
    }

    /// Text without settings.
    #[getter]
    fn text(&self) -> &str {
        self.source.text()
    }

    /// Name in messages.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Path of its file; empty without one.
    #[getter]
    fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Settings, each `PATH=VALUE`.
    #[getter]
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    /// Limit on the memory of its files and runs, in bytes.
    #[getter]
    fn memory(&self) -> u64 {
        self.source.memory()
    }

    /// Title.
    #[getter]
    fn title(&self) -> &str {
        &self.model.title
    }

    /// Length of the run, in seconds.
    #[getter]
    fn duration(&self) -> f64 {
        self.model.duration.as_secs_f64()
    }

    /// Time at the start that statistics leave out, in seconds.
    #[getter]
    fn warmup(&self) -> f64 {
        self.model.warmup.as_secs_f64()
    }

    /// Names of the nodes.
    #[getter]
    fn nodes(&self) -> Vec<&str> {
        self.model.nodes.iter().map(|node| node.name.as_str()).collect()
    }

    /// Names of the flows.
    #[getter]
    fn flows(&self) -> Vec<&str> {
        self.model.flows.iter().map(|flow| flow.name.as_str()).collect()
    }

    /// Names of the ports, each with those of its queues.
    #[getter]
    fn ports(&self) -> Vec<(&str, Vec<&str>)> {
        let ports = self.model.ports.iter();
        ports.map(|port| (port.name.as_str(), port.queues.iter().map(AsRef::as_ref).collect())).collect()
    }

    /// Links: name, both ends, rate in bit/s of the first direction, delay in seconds.
    #[getter]
    fn links(&self) -> Vec<(&str, &str, &str, f64, f64)> {
        let node = |index: usize| self.model.nodes[index].name.as_str();
        let links = self.model.links.iter();
        links
            .map(|link| {
                let (rate, delay) = (link.rate.as_bits() as f64, link.delay.as_secs_f64());
                (link.name.as_str(), node(link.ends[0]), node(link.ends[1]), rate, delay)
            })
            .collect()
    }

    /// Warnings as the command prints them: valid, but probably not meant.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.model.warnings.iter().map(error::rendered).collect()
    }

    /// Returns the scenario as a file, with its settings applied.
    fn to_toml(&self) -> String {
        self.model.to_toml()
    }

    /// Writes the scenario with its settings to a file: a new one, or a scenario's.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| SavedFile::start_form(&path, is_scenario)?.write(self.model.to_toml()))
            .map_err(error::run)
    }
}

/// Returns true for a text that may be a scenario: it has a duration and nodes.
fn is_scenario(text: &str) -> bool {
    let document: toml::Table = toml::from_str(text).unwrap_or_default();
    ["duration", "node"].iter().all(|key| document.contains_key(*key))
}
