//! Errors of experiments.

mod claims;

use lockgate_scenario::{Problems, VaryError};

pub use self::claims::ClaimsError;

/// Error of an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A plan cannot be expanded into tasks.
    #[error("{0}")]
    Plan(String),
    /// A search cannot be made as it is written.
    #[error("{0}")]
    Tune(String),
    /// A variation is invalid.
    #[error(transparent)]
    Vary(#[from] VaryError),
    /// There is no store in a storage.
    #[error("`{address}` is not a store: it has no plan.json")]
    NoStore {
        /// Path or address of the storage.
        address: String,
    },
    /// A store cannot be used.
    #[error("the store `{address}`: {why}")]
    Store {
        /// Path or address of the store.
        address: String,
        /// Reason.
        why: String,
    },
    /// A file of a store cannot be read or written.
    #[error("`{path}`: {source}")]
    Storage {
        /// Path or address of the file or folder.
        path: String,
        /// Reason.
        source: std::io::Error,
    },
    /// The claims of a paper are invalid.
    #[error("{file}: {why}")]
    Claims {
        /// The file, as it is shown.
        file: String,
        /// Reason.
        why: ClaimsError,
    },
    /// There is no claim of this name.
    #[error("`{paper}` has no claim `{id}`")]
    UnknownClaim {
        /// Name of the paper.
        paper: String,
        /// Name of the claim.
        id: String,
        /// Names of its claims.
        known: Vec<String>,
    },
    /// A paper lacks a file.
    #[error("paper `{paper}` has no file `{file}`")]
    NoFile {
        /// Name of the paper.
        paper: String,
        /// Name of the file.
        file: String,
        /// Names of its files.
        known: Vec<String>,
    },
    /// A scenario or a claims file has problems. The message is that of the first.
    #[error("{}", .0.iter().next().map_or_else(String::new, ToString::to_string))]
    Scenario(Box<Problems>),
    /// The caller's function failed.
    #[error(transparent)]
    Runner(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Wraps an error of the caller's function.
    pub fn runner(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Runner(Box::new(error))
    }
}
