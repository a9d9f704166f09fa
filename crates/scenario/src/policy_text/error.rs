//! Errors of the text of a policy.

use crate::diagnostic::Problem;
use crate::embedding::UnreadableTable;
use crate::path::PathError;

/// Error of writing a value into a policy, or of taking a policy out of a scenario.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyTextError {
    /// A setting is malformed.
    #[error(transparent)]
    Setting(#[from] PathError),
    /// A setting does not name a value of a policy.
    #[error("`{setting}` is not a value of a policy: {why}")]
    NotAValue {
        /// The setting.
        setting: String,
        /// Reason.
        why: Box<PolicyTextError>,
    },
    /// The scenario is no TOML.
    #[error("the scenario cannot be read")]
    Scenario,
    /// The setting is not of a port.
    #[error("it is of no port")]
    NotOfAPort,
    /// The setting is of a port without a policy.
    #[error("it is of no port that names one")]
    NotOfAPolicy,
    /// The file of a policy cannot be loaded: the reason.
    #[error("{0}")]
    Load(String),
    /// The file of a policy cannot be loaded.
    #[error("`{file}` cannot be read: {why}")]
    Unreadable {
        /// The file, as the scenario names it.
        file: String,
        /// Reason.
        why: String,
    },
    /// The file of a policy, whose only port is wanted, is no TOML.
    #[error("`{0}` cannot be read")]
    File(String),
    /// The file of a policy is no TOML.
    #[error("`{0}` is no TOML")]
    FileNotToml(String),
    /// A policy has several ports, of which the scenario names none.
    #[error("`{0}` has several ports, and the scenario names none of them")]
    SeveralPorts(String),
    /// The policy is no TOML.
    #[error("it is no TOML")]
    NotToml,
    /// A value cannot be written into the policy.
    #[error("{}", with_help(.0))]
    Value(Box<Problem>),
    /// A table of subscribers or sites cannot be embedded.
    #[error(transparent)]
    Table(#[from] UnreadableTable),
    /// The text is no valid policy: the first problem.
    #[error("{0}")]
    Policy(String),
    /// The scenario has no such port.
    #[error("the scenario has no port `{port}`{}", behind_colon(near.as_deref()))]
    NoPort {
        /// Name that was given.
        port: String,
        /// Suggestion, if a name is near.
        near: Option<String>,
    },
    /// The port cannot be one of a policy.
    #[error("the port `{port}` cannot be one of a policy, {why}")]
    NotAPort {
        /// Name of the port.
        port: String,
        /// First problem.
        why: String,
    },
    /// The framing of the link cannot be written.
    #[error("the link's framing")]
    Framing,
}

fn with_help(problem: &Problem) -> String {
    format!("{problem}{}", behind_colon(problem.help_text()))
}

fn behind_colon(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!(": {text}"))
}
