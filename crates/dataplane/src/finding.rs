//! Findings of an examination of this host.

/// State of a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Present.
    Good,
    /// Absent or reduced: what needs it works, less well or not in each mode.
    Weak,
    /// Absent, and needed.
    Missing,
}

impl State {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Weak => "weak",
            Self::Missing => "missing",
        }
    }
}

/// Fact about the host or an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Subject, such as `eth0 queues`.
    pub what: String,
    /// State.
    pub state: State,
    /// Observation, in words.
    pub found: String,
    /// Remedy; empty if nothing needs to be done.
    pub help: String,
}

impl Finding {
    /// Creates a finding.
    pub fn new(
        what: impl Into<String>,
        state: State,
        found: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), state, found: found.into(), help: help.into() }
    }

    /// Creates the finding of a capability that is present.
    pub fn good(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(what, State::Good, found, "")
    }
}
