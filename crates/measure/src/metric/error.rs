//! Errors of addresses.

/// The error of an address without a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// No such metric.
    #[error("`{path}` is not a metric: {why}")]
    Unknown {
        /// The address.
        path: String,
        /// The problem, and the allowed values.
        why: String,
        /// The nearest address or name that exists.
        nearest: Option<String>,
    },
    /// The metric exists, but the run observed nothing to compute it from.
    #[error("`{path}` has no value: nothing was observed that it could be made of")]
    Empty {
        /// The address.
        path: String,
    },
}

impl MetricError {
    /// Returns the address.
    pub fn path(&self) -> &str {
        match self {
            Self::Unknown { path, .. } | Self::Empty { path } => path,
        }
    }

    /// Returns the reason without the address, with the nearest address that exists.
    pub fn help(&self) -> String {
        match self {
            Self::Unknown { why, nearest: Some(nearest), .. } => format!("{why}; did you mean `{nearest}`?"),
            Self::Unknown { why, nearest: None, .. } => why.clone(),
            Self::Empty { .. } => self.to_string(),
        }
    }
}

/// Returns the error of an address that is not a metric; the address is cut after 200 characters.
pub(super) fn unknown(path: &str, why: impl Into<String>, nearest: Option<String>) -> MetricError {
    MetricError::Unknown { path: path.chars().take(200).collect(), why: why.into(), nearest }
}
