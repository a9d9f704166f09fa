//! Reading of scenarios, from a file or a text.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lockgate_scenario::{Files, MEMORY, Override, Reader, Scenario};

use crate::Error;
use crate::files::{Beside, ScenarioText, scenario_text};

/// Reads a scenario file with settings such as `link.wan.rate=2mbit`. The files that it names are those
/// beside it, then those in the current directory.
///
/// # Errors
/// If the file cannot be read, a setting is malformed, or the scenario has problems.
pub fn read(path: impl AsRef<Path>, settings: &[&str]) -> Result<Scenario, Error> {
    read_within(path.as_ref(), &parse_settings(settings)?, MEMORY)
}

/// Reads a scenario file whose files, and later its runs, may take `memory` bytes.
///
/// # Errors
/// If the file cannot be read, or the scenario has problems.
pub fn read_within(path: &Path, overrides: &[Override], memory: u64) -> Result<Scenario, Error> {
    let ScenarioText { name, text, .. } = scenario_text(path, memory, overrides)?;
    let files = Beside::new(path);
    let reader = Reader { files: &files, overrides, memory };
    Ok(reader.read(&text, &name)?)
}

/// Reads a scenario called `name` from a text; the files that it names are taken from `files`.
///
/// # Errors
/// Every problem of the scenario.
pub fn read_text(
    text: &str,
    name: &str,
    files: &dyn Files,
    overrides: &[Override],
) -> Result<Scenario, Error> {
    let reader = Reader { files, overrides, memory: MEMORY };
    Ok(reader.read(text, name)?)
}

/// Returns no files, for scenarios that name none.
pub fn no_files() -> impl Files {
    BTreeMap::<String, Arc<[u8]>>::new()
}

/// Parses settings, each `PATH=VALUE`.
///
/// # Errors
/// The first malformed setting.
pub fn parse_settings<S: AsRef<str>>(settings: &[S]) -> Result<Vec<Override>, Error> {
    let parse = |text: &S| {
        let text = text.as_ref();
        Override::parse(text).map_err(|why| Error::Setting { text: text.to_owned(), why })
    };
    settings.iter().map(parse).collect()
}
