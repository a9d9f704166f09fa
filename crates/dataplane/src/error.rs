//! Errors: a refused setup, and the failure of an open interface.

use std::io;

/// Setup step that the kernel refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {why}")]
pub struct Refusal {
    /// Step that failed, as in "open a packet socket (`CAP_NET_RAW`)".
    pub what: String,
    /// The kernel's error.
    pub why: io::Error,
}

impl Refusal {
    /// Creates one from the step and the kernel's error.
    pub fn new(what: impl Into<String>, why: impl Into<io::Error>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// Failure of an open interface: it is gone, or a kernel call on it failed.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct InterfaceError {
    /// Part that failed, with the interface's name.
    pub what: String,
    /// The kernel's error.
    pub why: io::Error,
}
