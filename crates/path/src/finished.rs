//! Results of a path.

#[cfg(feature = "export")]
use lockgate_export::ExportError;
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

    /// Writes the packets at all queues as a capture for Wireshark: one interface a port; the waiting time of
    /// each packet, its mark or the reason of its loss as a comment. Packets have headers, but not their
    /// contents.
    ///
    /// # Errors
    /// If the path did not [keep packets](crate::PathBuilder::keep_packets), or if writing fails.
    #[cfg(feature = "export")]
    pub fn write_pcapng(&self, to: impl std::io::Write) -> Result<(), ExportError> {
        lockgate_export::pcapng::packets(&self.recording, to).map(drop)
    }

    /// Writes what happened to the packets at all queues as qlog (JSON text sequences), to be read beside the
    /// logs of the stacks at the ends.
    ///
    /// # Errors
    /// Those of [`write_pcapng`](Self::write_pcapng).
    #[cfg(feature = "export")]
    pub fn write_qlog(&self, to: impl std::io::Write) -> Result<(), ExportError> {
        lockgate_export::qlog::queues(&self.recording, to).map(drop)
    }

    /// Returns the scenario, with the changes made to it.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}
