//! Errors of a network: a part cannot be built, or the packet account does not balance.

use lockgate_measure::recording::Imbalance;

/// Error of a network.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A part of the network cannot be built. Reading the scenario normally finds this first.
    #[error("`{part}` cannot be built: {why}")]
    Build {
        /// Port or flow.
        part: String,
        /// Reason.
        why: String,
    },
    /// The packet account does not balance: a fault of Lockgate, never of the scenario.
    #[error("the account of the run does not balance, which is a fault of Lockgate: {0}")]
    Imbalance(String),
}

impl Failure {
    pub(crate) fn build(part: &str, why: &impl ToString) -> Self {
        Self::Build { part: part.to_owned(), why: why.to_string() }
    }
}

impl From<Imbalance> for Failure {
    fn from(imbalance: Imbalance) -> Self {
        Self::Imbalance(imbalance.to_string())
    }
}
