//! Errors of a router.

use lockgate_dataplane::error::{InterfaceError, Refusal};

use crate::control::Misfit;

/// Why a router cannot start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The policy does not fit this host.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// The kernel refused a step of the setup.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// An interface failed while the router ran.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The system refused a thread.
    #[error("cannot start the thread `{name}`: {why}")]
    NoThread {
        /// Name of the thread.
        name: &'static str,
        /// The system's error.
        why: std::io::Error,
    },
    /// A thread of the router ended by a panic: its name.
    #[error("the router's thread `{0}` failed by a panic")]
    Panicked(&'static str),
}

impl Failure {
    pub(crate) fn misfit(problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Misfit(Misfit { problem: problem.into(), help: help.into() })
    }
}
