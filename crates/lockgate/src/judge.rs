//! Summary of runs with the judged expectations of their scenario.

use lockgate_measure::recording::Recording;
use lockgate_measure::summary::{self, Summary};
use lockgate_scenario::Scenario;

use crate::{Error, proof, ties};

/// Returns the summary of the runs of a scenario, with its judged expectations.
///
/// # Errors
/// If an expectation names a metric that the runs do not have.
pub fn summarise(scenario: &Scenario, recordings: &[Recording]) -> Result<Summary, Error> {
    let mut summary = summary::summarise(recordings);
    let ties = ties::warnings(scenario, &summary);
    summary.warnings.extend(ties);
    let seeds: Vec<_> = recordings.iter().map(|recording| recording.seed).collect();
    proof::add(scenario, &mut summary, &seeds);
    judge(scenario, &mut summary)?;
    Ok(summary)
}

/// Judges the scenario's expectations and adds the results to the summary. Returns whether all hold.
///
/// # Errors
/// If an expectation names a metric that the runs do not have.
pub fn judge(scenario: &Scenario, summary: &mut Summary) -> Result<bool, Error> {
    Ok(summary.judge(&scenario.expects)?)
}
