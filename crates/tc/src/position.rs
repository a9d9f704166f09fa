//! Positions of words in a text, and values that carry theirs.

use core::fmt;
use core::ops::Deref;

/// Position of a word in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1. The default, 0, belongs to values that were not read from a text.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A value with the position of its word. Equality compares the values only, so that trees read from
/// different layouts of the same commands are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Located<T> {
    /// Value.
    pub value: T,
    /// Position of the word that it was read from.
    pub at: Position,
}

impl<T> Located<T> {
    /// Creates a value at a position.
    pub const fn new(value: T, at: Position) -> Self {
        Self { value, at }
    }
}

/// A value that was not read from a text.
impl<T> From<T> for Located<T> {
    fn from(value: T) -> Self {
        Self { value, at: Position::default() }
    }
}

impl<T: PartialEq> PartialEq for Located<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Located<T> {}

impl<T> Deref for Located<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}
