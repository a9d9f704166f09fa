//! Search for the best values of parameters.

use std::sync::atomic::{AtomicUsize, Ordering};

use lockgate::plans::{TuneOptions, TuneRequest, Tuned, Tuning};
use lockgate_scenario::Vary;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;

use crate::error;
use crate::interrupt::interruptible;
use crate::plan::{Variation, VariedValues};
use crate::scenario::Scenario;
use crate::seeds::Seeds;

impl Variation {
    /// Returns the variation as one of a search: a range stands for every value in it.
    fn into_space(self) -> PyResult<Vary> {
        match &self.1 {
            VariedValues::Range(text) => Vary::parse_space(&format!("{}={text}", self.0.join(",")))
                .map_err(|error| error::plan(error.into())),
            VariedValues::List(_) => self.into_vary(),
        }
    }
}

/// Searches, and judges the best points on unseen seeds. `progress` is called with the number of runs so far
/// some times a second. Returns a JSON document: the search as of `--json`, its tables and its sentences.
#[pyfunction]
#[pyo3(signature = (scenario, vary, goals, constraints, runs, seeds, unseen, patience, seed, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "those of the search")]
pub(crate) fn tune(
    py: Python<'_>,
    scenario: &Scenario,
    vary: Vec<Variation>,
    goals: Vec<String>,
    constraints: Vec<String>,
    runs: usize,
    seeds: Seeds,
    unseen: Seeds,
    patience: Option<usize>,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let request = TuneRequest {
        settings: scenario.settings.clone(),
        vary: vary.into_iter().map(Variation::into_space).collect::<PyResult<_>>()?,
        goals,
        constraints,
        margin: 0.0,
        seeds: seeds.0,
        unseen: unseen.0,
        runs,
        patience,
        seed,
    };
    let (source, base) = (scenario.source.clone(), scenario.model.clone());
    let tuning = py.detach(|| Tuning::new(source, &base, request)).map_err(error::plan)?;
    let ended = AtomicUsize::new(0);
    let tell = |py: Python<'_>| match &progress {
        Some(progress) => progress.call1(py, (ended.load(Ordering::Relaxed),)).map(drop),
        None => Ok(()),
    };
    let made = interruptible(py, &tell, |stop| {
        let ran = || {
            ended.fetch_add(1, Ordering::Relaxed);
        };
        Tuned::make(&tuning, &TuneOptions { threads, begins: &|_| {}, ran: &ran, stop })
    })?;
    let tuned = made.map_err(error::plan)?;
    let tuned = tuned.map_err(|stopped| PyKeyboardInterrupt::new_err(stopped.to_string()))?;
    let file = if scenario.path.as_os_str().is_empty() {
        "scenario.toml".to_owned()
    } else {
        scenario.path.display().to_string()
    };
    let recommended: Vec<_> = tuned
        .recommended()
        .into_iter()
        .map(|(role, point)| json!({ "role": role, "point": point, "command": tuned.command(&file, point) }))
        .collect();
    let document = json!({
        "search": tuned.json(),
        "size": tuned.size(),
        "points": tuned.points(),
        "finalists": tuned.finalists(),
        "recommended": recommended,
        "sentences": tuned.sentences(&file),
    });
    serde_json::to_string(&document).map_err(error::run)
}
