//! Splits a text into commands, and commands into words with their positions.

use crate::handle::Handle;
use crate::position::{Located, Position};
use crate::problem::Problem;

/// Words of a command.
pub(crate) type Words<'a> = Vec<Located<&'a str>>;

/// Splits a text into commands: one a line, unless the line ends with the word `\`. A word that begins with
/// `#` begins a comment, which ends with the line.
pub(crate) fn commands(text: &str) -> Vec<Words<'_>> {
    let mut commands = Vec::new();
    let mut command = Words::new();
    for (index, line) in text.lines().enumerate() {
        let (mut words, is_continued) = split(line, u32::try_from(index + 1).unwrap_or(u32::MAX));
        command.append(&mut words);
        if !is_continued && !command.is_empty() {
            commands.push(core::mem::take(&mut command));
        }
    }
    if !command.is_empty() {
        commands.push(command);
    }
    commands
}

/// Splits a line into words, and returns true if the next line continues it.
fn split(line: &str, number: u32) -> (Words<'_>, bool) {
    let mut words = Words::new();
    let mut column = 1;
    for piece in line.split(char::is_whitespace) {
        if piece.starts_with('#') {
            return (words, false);
        }
        if !piece.is_empty() {
            words.push(Located::new(piece, Position { line: number, column }));
        }
        column += u32::try_from(piece.chars().count()).unwrap_or(u32::MAX - 1) + 1;
    }
    let is_continued = words.pop_if(|last| last.value == "\\").is_some();
    (words, is_continued)
}

/// The words of a command that are not read yet.
pub(crate) struct Cursor<'a, 'b> {
    rest: &'b [Located<&'a str>],
    /// Position of the word that was read last.
    pub at: Position,
}

impl<'a, 'b> Cursor<'a, 'b> {
    /// Creates a cursor before the first of these words.
    pub(crate) fn new(words: &'b [Located<&'a str>]) -> Self {
        Self { rest: words, at: words.first().map(|word| word.at).unwrap_or_default() }
    }

    /// Returns the next word without reading it.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        self.rest.first().map(|word| word.value)
    }

    /// Returns the word after the next one without reading it.
    pub(crate) fn peek_second(&self) -> Option<&'a str> {
        self.rest.get(1).map(|word| word.value)
    }

    /// Reads the next word.
    pub(crate) fn next(&mut self) -> Option<Located<&'a str>> {
        let (word, rest) = self.rest.split_first()?;
        (self.rest, self.at) = (rest, word.at);
        Some(*word)
    }

    /// Reads the next word if it is `word`.
    pub(crate) fn skip(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        if is_next {
            self.next();
        }
        is_next
    }

    /// Reads the value that must follow `word`.
    pub(crate) fn value(&mut self, word: &str) -> Result<Located<&'a str>, Problem> {
        self.next().ok_or_else(|| Problem::new(self.at, format!("`{word}` has no value")))
    }

    /// Reads the handle that must follow `word`.
    pub(crate) fn handle(&mut self, word: &str) -> Result<Located<Handle>, Problem> {
        let value = self.value(word)?;
        let handle = value.parse::<Handle>().map_err(|error| Problem::new(value.at, error.to_string()))?;
        Ok(Located::new(handle, value.at))
    }
}
