//! Scenario: a text with its settings, read and checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockgate::files::Beside;
use lockgate::plans::{SharedFiles, Source};
use lockgate::results::SavedFile;
use pyo3::prelude::*;

use crate::error;

/// A scenario that can be run. The same text, settings and files give the same one.
#[pyclass(frozen, module = "lockgate._lockgate")]
pub(crate) struct Scenario {
    pub(crate) model: Arc<lockgate::Scenario>,
    pub(crate) source: Source,
    pub(crate) files: SharedFiles,
    /// Path of its file: the files that it names are beside it. Empty without a file.
    pub(crate) path: PathBuf,
    /// Settings, each `PATH=VALUE`.
    pub(crate) settings: Vec<String>,
    name: String,
}

impl Scenario {
    fn create(
        source: Source,
        files: SharedFiles,
        name: String,
        path: PathBuf,
        settings: Vec<String>,
    ) -> PyResult<Self> {
        let model = Arc::new(source.read(&settings).map_err(error::library)?);
        Ok(Self { model, source, files, path, settings, name })
    }
}

#[pymethods]
impl Scenario {
    /// Reads a file with settings, each `PATH=VALUE`. Its files and its run may take `memory` bytes.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, settings: Vec<String>, memory: u64) -> PyResult<Self> {
        py.detach(|| {
            // Also reports a file that is missing, too long or not text.
            lockgate::read_within(&path, &[], memory)
                .map(drop)
                .or_else(|error| match error {
                    // Ignored here: a setting may add what the file lacks.
                    lockgate::Error::Scenario(_) => Ok(()),
                    other => Err(other),
                })
                .map_err(error::library)?;
            let text = lockgate::files::text(&path).map_err(error::run)?;
            let name = path.display().to_string();
            let files: SharedFiles = Arc::new(Beside::new(&path));
            let source = Source::new(name.as_str(), text, Arc::clone(&files), memory);
            Self::create(source, files, name, path, settings)
        })
    }

    /// Reads a text called `name`. The files that it names are beside `path`, or those of `files`.
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
            let files = shared_files(files, &path);
            let source = Source::new(name.as_str(), text, Arc::clone(&files), memory);
            Self::create(source, files, name, path, settings)
        })
    }

    /// Returns the scenario with more settings.
    fn with_settings(&self, py: Python<'_>, more: Vec<String>) -> PyResult<Self> {
        let settings = [self.settings.as_slice(), &more].concat();
        py.detach(|| {
            let (source, files) = (self.source.clone(), Arc::clone(&self.files));
            Self::create(source, files, self.name.clone(), self.path.clone(), settings)
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

/// Returns the files given, or else those beside a path.
pub(crate) fn shared_files(given: Option<BTreeMap<String, Vec<u8>>>, path: &Path) -> SharedFiles {
    match given {
        Some(files) => {
            let files = files.into_iter().map(|(name, bytes)| (name, Arc::from(bytes)));
            Arc::new(files.collect::<BTreeMap<String, Arc<[u8]>>>())
        }
        None => Arc::new(Beside::new(path)),
    }
}
