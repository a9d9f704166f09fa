//! Failures of a view of the kernel's queues, by what has to be done about them.

use std::fmt::Display;

use lockgate::results::SavedFileError;

/// Failure of a view of the kernel's queues: the reason and a remedy, which may name options of `lockgate
/// top`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// Wrong usage.
    #[error("{message}")]
    Usage {
        /// The reason.
        message: String,
        /// The remedy.
        help: String,
    },
    /// The view failed under way.
    #[error("{message}")]
    Run {
        /// The reason.
        message: String,
        /// The remedy.
        help: String,
    },
    /// This host lacks a capability.
    #[error("{message}")]
    Missing {
        /// The reason.
        message: String,
        /// The remedy.
        help: String,
    },
    /// The page of a recording cannot be written.
    #[error(transparent)]
    Recording(#[from] SavedFileError),
    /// A line cannot be written as JSON: a fault of Lockgate.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl KernelError {
    pub(super) fn usage(message: impl Display, help: impl Display) -> Self {
        Self::Usage { message: message.to_string(), help: help.to_string() }
    }

    pub(super) fn run(message: impl Display, help: impl Display) -> Self {
        Self::Run { message: message.to_string(), help: help.to_string() }
    }
}
