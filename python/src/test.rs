//! Tests: the expectations of several scenarios, and the differences from a baseline.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use lockgate::plans::test::{Baseline, Tested, Tests, share};
use lockgate::{Options, Seed};
use pyo3::prelude::*;
use serde_json::json;

use crate::error;
use crate::interrupt::interruptible;
use crate::scenario::Scenario;
use crate::seeds::Seeds;

/// A scenario to be tested: its name, and the scenario or the reason why it cannot be read.
type Named = (String, Option<Py<Scenario>>, String);

/// Runs scenarios with every seed and judges their expectations. `baseline` is the file of an earlier test,
/// and `worse` the share, such as `5%`, by which a value may be worse than in it.
/// Returns a JSON document: the results as of `lockgate test --json`, a line each, the `JUnit` document, the
/// text of a new baseline, and with a baseline the table of the differences.
#[pyfunction]
#[pyo3(signature = (scenarios, seeds, baseline, worse, threads, progress))]
pub(crate) fn test(
    py: Python<'_>,
    scenarios: Vec<Named>,
    seeds: Seeds,
    baseline: Option<PathBuf>,
    worse: Option<&str>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let numbers = seeds.0;
    let read_baseline = baseline.as_ref().map(|file| read(file, &numbers)).transpose()?;
    let worse = worse.map(|text| share(text).ok_or_else(|| no_share(text))).transpose()?;
    let scenarios: Vec<(String, Result<_, String>)> = scenarios
        .into_iter()
        .map(|(name, scenario, why)| (name, scenario.map(|one| one.get().model.clone()).ok_or(why)))
        .collect();
    let ended = AtomicUsize::new(0);
    let tell = |py: Python<'_>| match &progress {
        Some(progress) => progress.call1(py, (ended.load(Ordering::Relaxed),)).map(drop),
        None => Ok(()),
    };
    let mut all: Vec<Tested> = interruptible(py, &tell, |stop| {
        let run = |scenario: &lockgate::Scenario| {
            let seeds = numbers.iter().copied().map(Seed).collect();
            let memory = Some(scenario.memory);
            let runs =
                lockgate::run(scenario, &Options { seeds, threads, memory, stop, ..Options::default() })?;
            lockgate::summarise(scenario, &runs.recordings)
        };
        let one = |(file, scenario): (String, Result<std::sync::Arc<lockgate::Scenario>, String>)| {
            let started = std::time::Instant::now();
            let outcome = scenario.and_then(|one| run(&one).map_err(|error| error.to_string()));
            ended.fetch_add(1, Ordering::Relaxed);
            Tested::new(file, outcome, started.elapsed().as_secs_f64())
        };
        scenarios.into_iter().map(one).collect()
    })?;
    if let (Some(baseline), Some(worse)) = (&read_baseline, worse) {
        for tested in &mut all {
            baseline.judge(tested, worse);
        }
    }
    let new = Baseline::of(&all, &numbers).to_text().map_err(error::run)?;
    if let (Some(file), Some(why)) =
        (&baseline, read_baseline.as_ref().and_then(|one| one.compares_nothing(&all)))
    {
        all.push(Tested::unjudged(file.display().to_string(), why));
    }
    let (baseline, tests) = (read_baseline, Tests { all, left_out: Vec::new() });
    let all = &tests.all;
    let document = json!({
        "results": tests.document(baseline.as_ref()),
        "lines": all.iter().map(Tested::line).collect::<Vec<_>>(),
        "holds": all.iter().map(Tested::holds).collect::<Vec<_>>(),
        "sentences": all
            .iter()
            .map(|tested| tested.expectations().iter().map(lockgate::verdict::sentence).collect())
            .collect::<Vec<Vec<String>>>(),
        "junit": tests.junit(),
        "baseline": new,
        "differences": baseline.as_ref().map(|baseline| baseline.table(all)),
        "gaps": baseline.as_ref().map_or_else(Vec::new, |baseline| baseline.gaps(all)),
    });
    serde_json::to_string(&document).map_err(error::run)
}

fn no_share(text: &str) -> PyErr {
    error::run(format_args!("`fail_on_regression` is `{text}`, which is not a share such as `5%`"))
}

/// Reads a baseline, which must be of these seeds.
fn read(file: &std::path::Path, seeds: &[u64]) -> PyResult<Baseline> {
    let shown = file.display();
    let text = lockgate::files::text(file)
        .map_err(|why| error::run(format_args!("the baseline `{shown}` cannot be read: {why}")))?;
    let baseline = Baseline::parse(&text)
        .map_err(|why| error::run(format_args!("`{shown}` is not a baseline: {why}")))?;
    if baseline.seeds() != seeds {
        let of = baseline.seeds();
        return Err(error::run(format_args!(
            "the baseline `{shown}` is of the seeds {of:?}: test with these"
        )));
    }
    Ok(baseline)
}
