//! Errors of writing results.

use std::io;
use std::path::PathBuf;

/// Error of writing results. Unless it says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The path is not one for results.
    #[error("cannot write results to `{}`: {why}", path.display())]
    Unsuitable {
        /// The path.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// The path is a symbolic link, which is not followed.
    #[error("cannot write results to `{}`: it is a symbolic link to `{}`", path.display(), leads.display())]
    Link {
        /// The path.
        path: PathBuf,
        /// Target of the link.
        leads: PathBuf,
    },
    /// The path holds something else than the results of an earlier run.
    #[error("cannot write results to `{}`: `{entry}` in it is not of an earlier run", path.display())]
    Foreign {
        /// The path.
        path: PathBuf,
        /// First entry of another origin.
        entry: String,
    },
    /// The disk or the quota is full.
    #[error("cannot write {what}: {}", super::words(.source))]
    Full {
        /// File or results that cannot be written, in words.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file of the results cannot be written.
    #[error("cannot write `{}`: {}", file.display(), super::words(.source))]
    File {
        /// The file, at its final path.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The contents of a file cannot be produced.
    #[error("cannot write `{name}`: {why}")]
    Contents {
        /// Name of the file.
        name: String,
        /// Reason.
        why: String,
    },
    /// The results cannot be moved to their path.
    #[error("cannot write results to `{}`: {}", path.display(), super::words(.source))]
    Unplaced {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Something else appeared at the path meanwhile: it is kept, and the results are elsewhere.
    #[error("cannot write results to `{}`: {why}", path.display())]
    SetAside {
        /// The path.
        path: PathBuf,
        /// Reason.
        why: String,
        /// Directory of the results.
        results: PathBuf,
    },
    /// The results cannot be written as JSON: a fault of Lockgate.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Error of writing a file under a name that a user chose.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedFileError {
    /// The file must not be written there.
    #[error("cannot write `{}`: {why}", file.display())]
    Unsuitable {
        /// The file.
        file: PathBuf,
        /// Reason.
        why: String,
    },
    /// Writing failed.
    #[error("cannot write `{}`: {}", file.display(), super::words(.source))]
    Failed {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Something else appeared there meanwhile: it is kept, and the text is in another file.
    #[error("cannot write `{}`: something came there while the run went on", file.display())]
    SetAside {
        /// The file.
        file: PathBuf,
        /// File with the text.
        written: PathBuf,
    },
}
