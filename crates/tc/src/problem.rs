//! Problems of a text: what is not understood, and where.

use core::fmt;

use crate::position::Position;

/// One problem, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct Problem {
    /// Position of the word that causes it.
    pub at: Position,
    /// Message in lower case without a full stop; quotes the word.
    pub message: String,
}

impl Problem {
    /// Creates a problem at a position.
    pub fn new(at: Position, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

/// All problems of a text, in its order; at least one. Displayed one a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Returns the result without problems, or all problems in the order of the text.
    pub(crate) fn unless<T>(value: T, mut problems: Vec<Problem>) -> Result<T, Self> {
        problems.sort_by_key(|problem| problem.at);
        if problems.is_empty() { Ok(value) } else { Err(Self(problems)) }
    }

    /// Returns the problems, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// Returns the first problem of the text.
    pub fn first(&self) -> &Problem {
        &self.0[0]
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
