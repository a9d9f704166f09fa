//! Scenario of a request: a text with settings and files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lockgate::files::ScenarioText;
use lockgate::plans::{SharedFiles, Source};
use lockgate::{Error, Override, Scenario};
use lockgate_scenario::{MEMORY, Reader, is_policy};
use serde::Deserialize;

use crate::answer::Wrong;
use crate::message::Message;

/// A scenario, or a policy of a router, which is run in a laboratory.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct ScenarioRequest {
    /// Text of the file.
    pub text: String,
    /// Name of the file, for messages.
    #[serde(default = "default_name")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<String>"))]
    pub name: String,
    /// Settings, each `PATH=VALUE`, as `--set` takes them.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub settings: Vec<String>,
    /// Files that the scenario names: name and length in bytes. Their contents follow the head in this order.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<(String, u32)>>"))]
    pub files: Vec<(String, u32)>,
}

fn default_name() -> String {
    "scenario.toml".to_owned()
}

/// A scenario of a request, not read yet.
#[derive(Clone)]
pub(crate) struct Opened {
    /// Name in messages: the file's, or that of the laboratory around it.
    pub(crate) name: String,
    /// Text of the scenario, or of the laboratory around a policy.
    pub(crate) text: String,
    pub(crate) settings: Vec<String>,
    pub(crate) overrides: Vec<Override>,
    pub(crate) files: SharedFiles,
}

impl Opened {
    /// Opens the scenario of a request.
    ///
    /// # Errors
    /// If a file is cut off, a setting is malformed, or a policy has problems.
    pub(crate) fn new(request: ScenarioRequest, message: &Message<'_>) -> Result<Self, Wrong> {
        let ScenarioRequest { text, name, settings, files } = request;
        let mut files: BTreeMap<String, Arc<[u8]>> = message.files(&files)?;
        let overrides = lockgate::parse_settings(&settings)?;
        let path = Path::new(&name);
        if let (true, Some(file)) = (is_policy(&text), path.file_name()) {
            // The laboratory around a policy names its file.
            files.insert(file.to_string_lossy().into_owned(), text.as_bytes().into());
        }
        let ScenarioText { name, text, .. } = ScenarioText::new(text, path, &files, &overrides)?;
        Ok(Self { name, text, settings, overrides, files: Arc::new(files) })
    }

    /// Reads the scenario.
    ///
    /// # Errors
    /// Every problem of the scenario.
    pub(crate) fn read(&self) -> Result<Scenario, Wrong> {
        let reader = Reader { files: self.files.as_ref(), overrides: &self.overrides, memory: MEMORY };
        reader.read(&self.text, &self.name).map_err(|problems| Error::from(problems).into())
    }

    /// Returns the source of the runs of a comparison.
    pub(crate) fn source(&self) -> Source {
        Source::new(self.name.as_str(), self.text.as_str(), Arc::clone(&self.files), MEMORY)
    }
}
