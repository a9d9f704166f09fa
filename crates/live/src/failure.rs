//! Errors of a live run: this host lacks something, or the run itself failed.

use std::io;

use lockgate_dataplane::error::{InterfaceError, Refusal};

/// Error of a live run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// This host lacks a capability.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// A part of the network cannot be built. Reading the scenario normally finds this first.
    #[error("`{part}` cannot be built: {why}")]
    Build {
        /// Port or flow.
        part: String,
        /// Reason.
        why: String,
    },
    /// The scenario needs something that real packets cannot have.
    #[error("{what}")]
    Unsuited {
        /// The requirement.
        what: String,
        /// Remedy.
        help: String,
    },
    /// The packet account does not balance: a fault of Lockgate, never of the scenario.
    #[error("the account of the run does not balance, which is a fault of Lockgate: {0}")]
    Imbalance(String),
    /// A wire disappeared during the run.
    #[error("the run broke off: {0}")]
    Broken(#[from] InterfaceError),
}

impl From<lockgate_network::Failure> for Failure {
    fn from(failure: lockgate_network::Failure) -> Self {
        match failure {
            lockgate_network::Failure::Build { part, why } => Self::Build { part, why },
            lockgate_network::Failure::Imbalance(why) => Self::Imbalance(why),
        }
    }
}

impl From<Refusal> for Missing {
    fn from(refusal: Refusal) -> Self {
        Self::refused(&refusal.what, &refusal.why)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Missing(refusal.into())
    }
}

/// Capability that this host lacks.
#[derive(Debug, thiserror::Error)]
#[error("this host cannot {what}: {why}")]
pub struct Missing {
    /// Action that failed, as in "make a network namespace".
    pub what: String,
    /// The kernel's error, with its usual cause.
    pub why: String,
    /// Remedy.
    pub help: String,
}

impl Missing {
    /// Creates one from the kernel's error, with the usual causes of that error.
    pub fn refused(what: &str, error: &io::Error) -> Self {
        let (why, help) = match error.raw_os_error() {
            Some(1 | 13) => (
                "permission denied".to_owned(),
                "run it as root, or where the kernel allows user namespaces to ordinary users \
                 (`/proc/sys/kernel/unprivileged_userns_clone`, \
                 `/proc/sys/kernel/apparmor_restrict_unprivileged_userns`); `lockgate doctor` says what is there",
            ),
            Some(28) => (
                "there are no more namespaces to be had".to_owned(),
                "raise `/proc/sys/user/max_net_namespaces` and `/proc/sys/user/max_user_namespaces`",
            ),
            Some(38 | 93 | 94 | 95 | 97) => (
                format!("the kernel does not know how ({error})"),
                "`lockgate doctor` says what this kernel can do",
            ),
            Some(105 | 12) => (
                format!("there is no memory for it ({error})"),
                "raise the limit of locked memory (`ulimit -l`), or free some memory",
            ),
            Some(24 | 23) => {
                (format!("too many files are open ({error})"), "raise the limit of open files (`ulimit -n`)")
            }
            _ => (error.to_string(), "`lockgate doctor` says what this host can do"),
        };
        Self { what: what.to_owned(), why, help: help.to_owned() }
    }
}
