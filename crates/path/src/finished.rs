//! Results of a path.

use lockgate_measure::recording::Recording;
use lockgate_measure::summary::{self, Summary};
use lockgate_scenario::Scenario;

use crate::error::Error;

/// A path at its end: all that was observed.
#[derive(Debug)]
pub struct Finished {
    /// Observed data of all flows and queues.
    pub recording: Recording,
    pub(crate) scenario: Scenario,
}

impl Finished {
    /// Returns the statistics of all flows and queues, with the scenario's expectations judged.
    ///
    /// # Errors
    /// If an expectation names a metric that the path does not have, such as the window of a TCP flow that
    /// was taken over.
    pub fn summary(&self) -> Result<Summary, Error> {
        let mut summary = summary::summarise(core::slice::from_ref(&self.recording));
        summary.judge(&self.scenario.expects)?;
        Ok(summary)
    }

    /// Returns the scenario, with the changes made to it.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}
