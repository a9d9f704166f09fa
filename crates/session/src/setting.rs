//! Settings: their text, the answer to them, and their refusal.

use lockgate_scenario::Override;
use lockgate_scenario::diagnostic::Problems;
use serde::Serialize;

/// Result of a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Done {
    /// Time from which it holds, in seconds since the start of the run.
    pub at_s: f64,
    /// Settings that restore the previous values, one for each: `PATH=` removes a value that was not written.
    pub before: Vec<String>,
    /// Time at which they are restored, if they are.
    pub until_s: Option<f64>,
}

/// Refusal of a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Refused {
    /// Problems, each with its remedy.
    pub problems: Vec<Wrong>,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Wrong {
    /// Description.
    pub message: String,
    /// Remedy.
    pub help: String,
}

impl Refused {
    /// Creates a refusal with one problem.
    pub fn because(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { problems: vec![Wrong { message: message.into(), help: help.into() }] }
    }

    /// Converts the problems of reading a scenario.
    pub fn of(problems: &Problems) -> Self {
        let wrong = |problem: &lockgate_scenario::Problem| Wrong {
            message: problem.message().to_owned(),
            help: problem.help_text().unwrap_or_default().to_owned(),
        };
        Self { problems: problems.iter().map(wrong).collect() }
    }
}

/// Parses settings `PATH=VALUE`, at least one.
///
/// # Errors
/// The first one that is not a setting.
pub(crate) fn parse(settings: &[String]) -> Result<Vec<Override>, Refused> {
    if settings.is_empty() {
        return Err(Refused::because("nothing is to be set", "give PATH=VALUE"));
    }
    let read = |text: &String| {
        let refuse = |why: lockgate_scenario::PathError| {
            Refused::because(why.to_string(), "write PATH=VALUE, such as link.wan.rate=2mbit")
        };
        let setting = Override::parse(text).map_err(refuse)?;
        // Conversion to TOML keeps a value one value.
        if text.contains(['\n', '\r']) {
            return Err(Refused::because("a setting is one line", "write PATH=VALUE"));
        }
        Ok(setting)
    };
    settings.iter().map(read).collect()
}
