//! Errors of the library.

use std::path::PathBuf;

use lockgate_measure::metric::MetricError;
use lockgate_scenario::{PathError, Problems};

use crate::figures::memory;

/// Error of reading, running, judging or writing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A scenario's file cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error, in lower case.
        why: String,
    },
    /// A scenario's file is not UTF-8.
    #[error("`{}` is not a scenario: byte {at} is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// Position of the first wrong byte.
        at: usize,
    },
    /// A setting is not `PATH=VALUE`.
    #[error("setting `{text}`: {why}")]
    Setting {
        /// The setting as given.
        text: String,
        /// Reason.
        why: PathError,
    },
    /// Nothing can be attacked.
    #[error("nothing can be attacked: {0}")]
    Attack(String),
    /// The scenario has problems, each with its position and remedy.
    #[error("{}", listed(.0))]
    Scenario(#[source] Box<Problems>),
    /// The runs are estimated to take more memory than their limit.
    #[error(
        "`{title}` takes about {} of memory{}, {} of it for {part}, and {} are allowed",
        memory(*needed),
        if *runs > 1 { format!(" for {runs} runs") } else { String::new() },
        memory(*part_bytes),
        memory(*limit)
    )]
    Estimate {
        /// Title of the scenario.
        title: String,
        /// Number of runs.
        runs: usize,
        /// Estimated bytes.
        needed: u64,
        /// Limit in bytes.
        limit: u64,
        /// Largest part of the estimate.
        part: &'static str,
        /// Bytes of that part.
        part_bytes: u64,
        /// Way to make that part smaller.
        remedy: &'static str,
    },
    /// A run has taken more memory than its limit.
    #[error("the run has taken {} of memory, and {} are allowed", memory(*taken), memory(*limit))]
    Memory {
        /// Resident bytes of the process.
        taken: u64,
        /// Limit in bytes.
        limit: u64,
    },
    /// A simulation failed.
    #[error(transparent)]
    Simulation(#[from] lockgate_sim::Failure),
    /// A live run failed.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Live(#[from] lockgate_live::Failure),
    /// An expectation names a metric without a value.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// Results cannot be written.
    #[cfg(feature = "results")]
    #[error(transparent)]
    Results(#[from] crate::results::WriteError),
}

/// Returns the messages of all problems in a line.
fn listed(problems: &Problems) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl From<Problems> for Error {
    fn from(problems: Problems) -> Self {
        Self::Scenario(Box::new(problems))
    }
}
