//! Errors as Python exceptions, with the underlined position of each problem.

use std::io::ErrorKind;

use lockgate::plans::PlanError;
use lockgate_scenario::diagnostic::{Problem, Problems};
use pyo3::prelude::*;

/// The exceptions, which are defined in Python.
mod exceptions {
    pyo3::import_exception!(lockgate._errors, ArgumentError);
    pyo3::import_exception!(lockgate._errors, MetricError);
    pyo3::import_exception!(lockgate._errors, PlanError);
    pyo3::import_exception!(lockgate._errors, RunError);
    pyo3::import_exception!(lockgate._errors, ScenarioError);
    pyo3::import_exception!(lockgate._errors, StoreError);
    pyo3::import_exception!(lockgate._errors, VersionError);
}

/// Problem of a scenario: message, help, line, column (both from 1), text as the command prints it.
type ProblemFields = (String, Option<String>, Option<usize>, Option<usize>, String);

/// Returns a problem as the command prints it, without colours.
pub(crate) fn rendered(problem: &Problem) -> String {
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(100).with_links(false);
    let mut text = String::new();
    match handler.render_report(&mut text, problem) {
        Ok(()) => text.trim_end().to_owned(),
        Err(_) => problem.to_string(),
    }
}

/// Returns the exception of a scenario's problems.
pub(crate) fn problems(problems: &Problems) -> PyErr {
    let fields = |problem: &Problem| -> ProblemFields {
        let (line, column) = problem.position().unzip();
        let help = problem.help_text().map(str::to_owned);
        (problem.message().to_owned(), help, line, column, rendered(problem))
    };
    let all: Vec<ProblemFields> = problems.iter().map(fields).collect();
    exceptions::ScenarioError::new_err((problems.to_string(), all))
}

/// Joins an error and its remedy.
fn with_help(error: impl std::fmt::Display, help: impl std::fmt::Display) -> String {
    format!("{error}\nhelp: {help}")
}

/// Returns the exception of an error of the library.
pub(crate) fn library(error: lockgate::Error) -> PyErr {
    use lockgate::Error;
    match error {
        Error::Scenario(found) => problems(&found),
        Error::Unreadable { .. } | Error::NotText { .. } | Error::Setting { .. } => scenario(error),
        Error::Metric(error) => metric(&error),
        Error::Estimate { remedy, .. } => {
            exceptions::RunError::new_err(with_help(&error, format!("{remedy}, or allow more by `memory=`")))
        }
        Error::Memory { .. } => exceptions::RunError::new_err(with_help(
            &error,
            "set smaller limits of queues, or allow more by `memory=`",
        )),
        other => exceptions::RunError::new_err(other.to_string()),
    }
}

/// Returns the exception of a scenario that cannot be used so.
pub(crate) fn scenario(why: impl std::fmt::Display) -> PyErr {
    exceptions::ScenarioError::new_err((why.to_string(), Vec::<ProblemFields>::new()))
}

/// Returns the exception of a metric without a value.
pub(crate) fn metric(error: &lockgate_measure::metric::MetricError) -> PyErr {
    exceptions::MetricError::new_err(error_of_metric(error))
}

fn error_of_metric(error: &lockgate_measure::metric::MetricError) -> String {
    use lockgate_measure::metric::MetricError;
    match error {
        MetricError::Unknown { nearest: Some(nearest), .. } => {
            with_help(error, format!("did you mean `{nearest}`?"))
        }
        _ => error.to_string(),
    }
}

/// Returns the exception of a plan's error.
pub(crate) fn plan(error: PlanError) -> PyErr {
    match error {
        PlanError::Read(error) => library(error),
        PlanError::Experiment(error) => experiment(error),
        PlanError::Metric(_) => {
            exceptions::MetricError::new_err(with_help(&error, error.help().unwrap_or_default()))
        }
        PlanError::Version { .. } => {
            exceptions::VersionError::new_err(with_help(&error, error.help().unwrap_or_default()))
        }
        other => {
            let help = other.help().unwrap_or_default();
            exceptions::PlanError::new_err(with_help(other, help))
        }
    }
}

/// Returns the exception of an error of the store, or of expanding a plan.
pub(crate) fn experiment(error: lockgate_experiment::Error) -> PyErr {
    use lockgate_experiment::Error;
    match error {
        Error::Scenario(found) => problems(&found),
        Error::NoStore { .. } => {
            exceptions::StoreError::new_err(with_help(error, "name the directory that a sweep was made into"))
        }
        Error::Storage { ref source, .. } => {
            let help = match source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    "what is finished is kept: make room, and `run` makes the rest"
                }
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    "name a directory or an address with `into=` that can be written"
                }
                _ => "is it what a sweep was made into, and is its disk still there?",
            };
            exceptions::StoreError::new_err(with_help(error, help))
        }
        Error::Store { .. } => exceptions::StoreError::new_err(with_help(
            error,
            "what is finished is kept; name another directory with `into=` for another plan",
        )),
        Error::Vary(ref of) => {
            let help = of.help();
            exceptions::PlanError::new_err(with_help(of, help))
        }
        Error::Tune(_) => exceptions::PlanError::new_err(with_help(
            error,
            "`lockgate tune --help` has examples of ranges, goals and constraints",
        )),
        Error::Plan(_) => exceptions::PlanError::new_err(with_help(error, "vary less, or name fewer seeds")),
        other => exceptions::RunError::new_err(other.to_string()),
    }
}

/// Returns the exception of an argument of a wrong kind or value.
pub(crate) fn argument(why: impl std::fmt::Display) -> PyErr {
    exceptions::ArgumentError::new_err(why.to_string())
}

/// Returns the exception of a run that failed.
pub(crate) fn run(why: impl std::fmt::Display) -> PyErr {
    exceptions::RunError::new_err(why.to_string())
}

/// Returns the exception of an address of a series that the run does not have.
pub(crate) fn unknown(address: &str, help: impl std::fmt::Display) -> PyErr {
    exceptions::MetricError::new_err(with_help(format!("`{address}` is not a series of this run"), help))
}
