//! Results as this command writes them: with the command line that repeats them.

use lockgate_measure::report::ReportData;
use serde::Serialize;
use serde_json::json;

use crate::exit::Failure;
use crate::output;

pub(crate) use lockgate::results::{ResultsDirectory, RunResults, SavedFile, hash, now, template, topology};

/// Returns the command as typed, for repeating it.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| lockgate::shell::word(&word.to_string_lossy()));
    std::iter::once("lockgate".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Returns the head of a report: everything except its runs and figures.
pub(crate) fn report_head(title: &str, scenario: &str) -> ReportData {
    lockgate::results::report_head(title, scenario, &command_line())
}

/// Adds to a report the time, this host and the command.
pub(crate) fn signed(report: ReportData) -> ReportData {
    lockgate::results::signed(report, &command_line())
}

/// Writes all files of runs and moves the directory to its place. Returns its path.
pub(crate) fn write(
    directory: ResultsDirectory,
    mut results: RunResults<'_>,
) -> Result<std::path::PathBuf, Failure> {
    results.command = command_line();
    Ok(lockgate::results::write(directory, &results)?)
}

/// Moves the directory of several runs to its place, with a manifest of these seeds. Returns the page's path.
pub(crate) fn finish(
    directory: ResultsDirectory,
    title: &str,
    scenario: &str,
    seeds: &[u64],
) -> Result<std::path::PathBuf, Failure> {
    let manifest = json!({
        "lockgate": crate::version::NUMBER,
        "title": title,
        "command": command_line(),
        "scenario_sha256": hash(scenario),
        "seeds": seeds,
        "finished": now(),
    });
    Ok(directory.finish(&manifest)?.join("report.html"))
}

/// Returns indented JSON with a line end.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Failure> {
    lockgate::results::json(value).map_err(|error| Failure::fault(&error))
}

/// Prints a JSON document.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    output::document(json(value)?.as_bytes());
    Ok(())
}
