//! Reason that there is no bound.

use core::fmt;
use std::borrow::Cow;

/// Error: the reason that a delay, a backlog or an envelope has no bound, in words for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoBound(Cow<'static, str>);

impl NoBound {
    /// Returns the words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NoBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for NoBound {}

impl From<&'static str> for NoBound {
    fn from(why: &'static str) -> Self {
        Self(why.into())
    }
}

impl From<String> for NoBound {
    fn from(why: String) -> Self {
        Self(why.into())
    }
}
