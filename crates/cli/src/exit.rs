//! Exit codes and failures of commands.

use std::fmt::Display;
use std::process::ExitCode;

use lockgate_scenario::diagnostic::Problems;

/// Exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Ok = 0,
    /// The run failed.
    Failed = 1,
    /// Wrong usage, or a scenario with errors.
    Usage = 2,
    /// An `expect` of the scenario or a required claim of a paper was missed, or a theorem or a comparison
    /// does not hold.
    ExpectMissed = 3,
    /// This host lacks a capability.
    Missing = 4,
    /// The run is outside its fidelity limits.
    Unfaithful = 5,
    /// Interrupted by the user; the results so far were written.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Failure of a command without a result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong usage: the error and its remedy.
    Usage { message: String, help: String },
    /// A scenario with errors, each with its position and remedy.
    Scenario(Box<Problems>),
    /// The run failed.
    Run { message: String, help: String },
    /// This host lacks a capability.
    Missing { message: String, help: String },
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage { message, .. } | Self::Run { message, .. } | Self::Missing { message, .. } => {
                f.write_str(message)
            }
            Self::Scenario(problems) => {
                let words: Vec<String> = (&**problems).into_iter().map(ToString::to_string).collect();
                f.write_str(&words.join("; "))
            }
        }
    }
}

impl Failure {
    pub(crate) fn usage(message: impl Display, help: impl Display) -> Self {
        Self::Usage { message: message.to_string(), help: help.to_string() }
    }

    pub(crate) fn run(message: impl Display, help: impl Display) -> Self {
        Self::Run { message: message.to_string(), help: help.to_string() }
    }

    /// Converts a failure of a live run.
    pub(crate) fn live(failure: lockgate_live::Failure) -> Self {
        use lockgate_live::Failure as Live;
        match failure {
            Live::Missing(missing) => Self::Missing { message: missing.to_string(), help: missing.help },
            Live::Unsuited { what, help } => Self::Usage { message: what, help },
            Live::Broken(_) => Self::run(failure, "the machine changed under the run; run it again"),
            Live::Build { .. } | Live::Imbalance(_) => {
                Self::run(failure, "please report this with the scenario and the seed")
            }
        }
    }

    /// Prints the error on stderr and returns the exit code.
    pub(crate) fn report(self) -> Exit {
        match self {
            Self::Usage { message, help } => {
                crate::terminal::error(&message, &help);
                Exit::Usage
            }
            Self::Scenario(problems) => {
                crate::terminal::problems(*problems);
                Exit::Usage
            }
            Self::Missing { message, help } => {
                crate::terminal::error(&message, &help);
                Exit::Missing
            }
            Self::Run { message, help } => {
                crate::terminal::error(&message, &help);
                Exit::Failed
            }
        }
    }
}
