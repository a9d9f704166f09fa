//! Exit codes and failures of commands.

use std::fmt::Display;
use std::io::ErrorKind;
use std::process::ExitCode;

use lockgate::Error;
use lockgate::results::{SavedFileError, WriteError};
use lockgate_scenario::PathError;
use lockgate_scenario::diagnostic::Problems;

use crate::output;

/// Exit code of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    #[default]
    Ok = 0,
    /// The run failed.
    Failed = 1,
    /// Wrong usage, or a scenario with errors.
    Usage = 2,
    /// An `expect` of the scenario or a required claim of a paper was missed, a theorem or a comparison does
    /// not hold, or two files differ.
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

/// Remedy for a refused thread.
const MORE_THREADS: &str = "end other programs, or permit more threads (TasksMax= of the unit, `ulimit -u`)";

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

impl Exit {
    /// Ends the output. Returns the command's exit code, or [`Exit::Failed`] if the command succeeded but its
    /// output is incomplete.
    pub(crate) fn with_output(self) -> Self {
        let Some(error) = output::finish() else { return self };
        let why = lockgate::files::words(&error);
        crate::terminal::error(
            &format!("cannot write the output: {why}"),
            "what was printed is not whole; send it elsewhere and run the command again",
        );
        match self {
            Self::Ok | Self::ExpectMissed | Self::Unfaithful => Self::Failed,
            other => other,
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

    /// Returns the failure of an error that only a fault of Lockgate can cause.
    pub(crate) fn fault(error: &serde_json::Error) -> Self {
        Self::run(error, "this is a fault of Lockgate: please report it")
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

    /// Converts a failure of a router.
    #[cfg(target_os = "linux")]
    pub(crate) fn router(failure: lockgate_router::failure::Failure) -> Self {
        use lockgate_router::failure::Failure as Router;
        match failure {
            Router::Misfit(misfit) => Self::usage(misfit.problem, misfit.help),
            Router::Refused(refusal) => Self::Missing {
                message: refusal.to_string(),
                help: "`lockgate doctor --router` says what this host can do".to_owned(),
            },
            Router::Interface(_) => Self::run(
                failure,
                "the interfaces are the kernel's again; start the router once they are there",
            ),
            Router::NoThread { .. } => Self::run(failure, MORE_THREADS),
            Router::Panicked(_) => Self::run(
                failure,
                "the interfaces are the kernel's again; this is a fault of Lockgate: please report it with the log",
            ),
        }
    }

    /// Converts an error of a file that `option` names.
    pub(crate) fn saved_file(error: &SavedFileError, option: &str) -> Self {
        match error {
            SavedFileError::Unsuitable { .. } => {
                Self::usage(error, format!("name another file with {option}"))
            }
            SavedFileError::SetAside { written, .. } => {
                Self::run(error, format!("it is in `{}`", written.display()))
            }
            _ => Self::run(error, format!("name another file with {option}")),
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

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Scenario(problems) => Self::Scenario(problems),
            Error::Results(error) => error.into(),
            Error::Live(failure) => Self::live(failure),
            Error::Unreadable { .. } => Self::usage(error, "name a scenario file"),
            Error::NotText { .. } => Self::usage(
                error,
                "save it as text in UTF-8: scenario files are TOML, as `lockgate new home` writes one",
            ),
            Error::Setting { text, why } => setting(&text, &why),
            Error::Estimate { needed, remedy, .. } => Self::usage(
                &error,
                format!("{remedy}; or allow more, such as by `--memory {}`", whole_gib(needed)),
            ),
            Error::Memory { taken, .. } => {
                let enough = whole_gib(taken.saturating_mul(2));
                Self::run(
                    error,
                    format!(
                        "more was to be kept than was foreseen: have fewer flows, packets or parts, or smaller limits of queues, or allow more, such as by `--memory {enough}`"
                    ),
                )
            }
            Error::Attack(_) => Self::usage(
                error,
                "state what a flow may send: `[flow.NAME.envelope]` with `rate` and `burst`",
            ),
            Error::Metric(_) => Self::run(error, "`lockgate list metrics` shows what can be expected"),
            _ => Self::run(error, "please report this with the scenario and the seed"),
        }
    }
}

/// Returns the failure of a malformed setting of the command line.
fn setting(text: &str, why: &PathError) -> Failure {
    let help = match why {
        PathError::CutByShell(_) => "write the port with a colon: `--set port.home:server.root=fair`",
        _ => "write `--set PATH=VALUE`, such as `--set link.wan.rate=2mbit`",
    };
    Failure::usage(format!("`--set {text}`: {why}"), help)
}

/// Formats the whole number of GiB that suffices, as an argument of `--memory`.
fn whole_gib(bytes: u64) -> String {
    format!("{}GiB", (bytes >> 30) + 1)
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        match &error {
            WriteError::Unsuitable { .. } => {
                Self::usage(error, "name a new directory, or that of an earlier run, with --out")
            }
            WriteError::Link { .. } => {
                Self::usage(error, "name the directory itself with --out, or remove the link")
            }
            WriteError::Foreign { .. } => Self::usage(
                error,
                "name a new or empty directory, or that of an earlier run, with --out; or move what is yours elsewhere",
            ),
            // This host's failure, not the run's.
            WriteError::Full { .. } => Self::Missing {
                message: error.to_string(),
                help: "make room, or name another place with --out; nothing was left there".to_owned(),
            },
            WriteError::File { .. } => Self::run(error, "is the disk still there?"),
            WriteError::Contents { .. } => Self::run(error, "is there room on the disk?"),
            WriteError::SetAside { results, .. } => {
                let help = format!("the results are in `{}`", results.display());
                Self::run(error, help)
            }
            WriteError::Json(error) => Self::fault(error),
            _ => Self::run(error, "name another place with --out"),
        }
    }
}

impl From<lockgate_monitor::Error> for Failure {
    fn from(error: lockgate_monitor::Error) -> Self {
        use lockgate_monitor::Error as Monitor;
        match error {
            Monitor::Listen { .. } => Self::usage(error, "name another address with --web"),
            Monitor::Token(_) => Self::run(error, "give one in LOCKGATE_TOKEN"),
            Monitor::Terminal(_) => Self::run(error, "use --plain"),
            Monitor::Thread(_) => Self::run(error, MORE_THREADS),
            Monitor::Client { .. } => {
                Self::run(error, "does `lockgate watch --web` run there? name its address with --to")
            }
            _ => Self::run(error, "please report this"),
        }
    }
}

#[cfg(target_os = "linux")]
impl From<lockgate_monitor::kernel::KernelError> for Failure {
    fn from(error: lockgate_monitor::kernel::KernelError) -> Self {
        use lockgate_monitor::kernel::KernelError as Kernel;
        match error {
            Kernel::Usage { message, help } => Self::Usage { message, help },
            Kernel::Run { message, help } => Self::Run { message, help },
            Kernel::Missing { message, help } => Self::Missing { message, help },
            Kernel::Recording(error) => Self::saved_file(&error, "--record"),
            Kernel::Json(error) => Self::fault(&error),
            _ => Self::run(error, "please report this"),
        }
    }
}

impl From<lockgate_experiment::Error> for Failure {
    fn from(error: lockgate_experiment::Error) -> Self {
        use lockgate_experiment::Error as Experiment;
        match error {
            Experiment::Scenario(problems) => Self::Scenario(problems),
            Experiment::Runner(error) => match error.downcast::<Error>() {
                Ok(error) => (*error).into(),
                Err(error) => Self::run(error, "please report this with the scenario and the seed"),
            },
            Experiment::Vary(ref error) => Self::usage(error, error.help()),
            Experiment::Tune(_) => Self::usage(&error, "`lockgate tune --help` has examples"),
            Experiment::Plan(_) => Self::usage(&error, "vary less, or name fewer seeds"),
            Experiment::NoStore { .. } => {
                Self::usage(&error, "name the directory that `lockgate sweep FILE … --into DIR` made")
            }
            Experiment::Storage { ref path, ref source } => {
                let help = match source.kind() {
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                        "what is finished is kept: make room, and the same command makes the rest"
                    }
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                        "name a directory with --into that can be written"
                    }
                    _ => {
                        "is it the directory that `lockgate sweep FILE … --into DIR` made, and is its disk still there?"
                    }
                };
                Self::run(format!("the store: `{path}`: {}", lockgate::io_error::words(source)), help)
            }
            Experiment::Store { .. } => Self::run(
                &error,
                "what is finished is kept; name another directory with --into for another plan",
            ),
            Experiment::UnknownClaim { ref known, .. } | Experiment::NoFile { ref known, .. } => {
                Self::usage(&error, format!("there are {}", known.join(", ")))
            }
            _ => Self::usage(error, "CONTRIBUTING.md says what it may have"),
        }
    }
}
