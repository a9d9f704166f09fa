//! Runs of a worker: several seeds of one variant, read once.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockgate::plans::Source;
use lockgate_experiment::{Row, Task};
use pyo3::prelude::*;

use crate::interrupt::interruptible;

/// Result of a run: its row, or why it failed.
#[derive(IntoPyObject)]
pub(crate) enum Made {
    Row(Row),
    Failed(String),
}

/// Makes a run for each seed of the scenario with these settings. Returns the metrics of each, or its error.
/// The files that the scenario names are those of `files`.
#[pyfunction]
#[pyo3(signature = (text, name, files, settings, seeds, metrics, memory))]
#[expect(clippy::too_many_arguments, reason = "one call for each task of a worker, by keywords")]
pub(crate) fn run_batch(
    py: Python<'_>,
    text: String,
    name: String,
    files: BTreeMap<String, Vec<u8>>,
    settings: Vec<String>,
    seeds: Vec<u64>,
    metrics: Vec<String>,
    memory: u64,
) -> PyResult<Vec<Made>> {
    let files = files.into_iter().map(|(name, bytes)| (name, Arc::from(bytes)));
    let files: BTreeMap<String, Arc<[u8]>> = files.collect();
    let source = Source::new(name, text, Arc::new(files), memory);
    interruptible(py, &|_| Ok(()), |stop| {
        let run = |seed: u64| {
            let task = Task { key: String::new(), variant: 0, settings: settings.clone(), seed };
            match source.run(&task, &metrics, stop) {
                Ok(Some(row)) => Made::Row(row),
                Ok(None) => Made::Failed("the run was interrupted".to_owned()),
                Err(error) => Made::Failed(error.to_string()),
            }
        };
        seeds.into_iter().map(run).collect()
    })
}
