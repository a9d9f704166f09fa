//! Problems of a text: what is not understood, and where.

use core::fmt::{self, Write as _};

use crate::position::Position;

/// One problem, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct Problem {
    /// Position of the word that causes it.
    pub at: Position,
    /// Message in lower case without a full stop; quotes the word.
    pub message: String,
    /// How to fix it, if more than the message says.
    pub help: Option<String>,
}

impl Problem {
    /// Returns the problem with its line of the text, the word underlined, and its help.
    pub fn shown(&self, name: &str, text: &str) -> String {
        let mut shown = format!("error: {}", self.message);
        let line = self.at.line.checked_sub(1).and_then(|index| text.lines().nth(index as usize));
        if let Some(line) = line {
            let Position { line: number, column } = self.at;
            let margin = " ".repeat(number.to_string().len());
            let before = column.saturating_sub(1) as usize;
            let word = line.chars().skip(before).take_while(|letter| !letter.is_whitespace()).count().max(1);
            let plain: String =
                line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
            let _ = write!(
                shown,
                "\n{margin}--> {name}:{number}:{column}\n{margin} |\n{number} | {plain}\n{margin} | {}{}",
                " ".repeat(before),
                "^".repeat(word)
            );
        }
        if let Some(help) = &self.help {
            let _ = write!(shown, "\nhelp: {help}");
        }
        shown
    }

    /// Returns true if it is a limit of the import, and not a fault of the commands.
    pub fn is_limit(&self) -> bool {
        let signs = ["not understood", "not known yet", "has no place in a scenario"];
        signs.iter().any(|sign| self.message.contains(sign))
    }

    /// Makes it a limit of the import: `tc` takes the command.
    pub(crate) fn limit(&mut self) {
        if !self.is_limit() {
            self.message = format!("not understood, though `tc` takes it: {}", self.message);
        }
    }

    /// Creates a problem at a position.
    pub fn new(at: Position, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), help: None }
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
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

    /// Joins the problems of several steps, in the order of the text; `None` if there are none.
    pub fn joined(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort_by_key(|problem| problem.at);
        problems.dedup();
        (!problems.is_empty()).then_some(Self(problems))
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
