//! Reason why a text is not a value.

use std::borrow::Cow;

/// Reason why a text is not the value that it stands for: the allowed notation, in lower case without a full
/// stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(Cow<'static, str>);

impl From<&'static str> for Refusal {
    fn from(allowed: &'static str) -> Self {
        Self(allowed.into())
    }
}

impl From<String> for Refusal {
    fn from(allowed: String) -> Self {
        Self(allowed.into())
    }
}
