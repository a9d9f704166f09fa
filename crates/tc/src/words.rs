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

/// Words of a command, by option: the import accounts for each. Equality ignores them like positions.
#[derive(Clone, Debug, Default)]
pub struct CommandWords {
    /// Number of the command in its text.
    pub number: usize,
    /// Options, each a word with its values; the first one is the command itself.
    pub all: Vec<Vec<Located<String>>>,
}

impl CommandWords {
    /// Returns the words of an option.
    pub fn text(&self, option: usize) -> String {
        let words = self.all.get(option).into_iter().flatten().map(|word| word.value.as_str());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns all words.
    pub fn whole(&self) -> String {
        (0..self.all.len()).map(|option| self.text(option)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the option to which the word at a position belongs.
    pub fn option_at(&self, at: Position) -> Option<usize> {
        self.all.iter().position(|words| words.iter().any(|word| word.at == at))
    }

    /// Takes over the words of an object whose settings hold on.
    pub(crate) fn absorb(&mut self, old: Self) {
        let mut old = old.all.into_iter();
        if let (Some(own), Some(first)) = (self.all.first_mut(), old.next()) {
            own.extend(first);
        }
        self.all.extend(old);
    }
}

impl PartialEq for CommandWords {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Words that are options of their own before the kind of an object, and after that of a filter.
const ASIDE: [&str; 11] = [
    "est",
    "estimator",
    "stab",
    "chain",
    "order",
    "skip_hw",
    "skip_sw",
    "not_in_hw",
    "in_hw",
    "verbose",
    "sample",
];

/// The words of a command that are not read yet, and the options to which those belong that are.
pub(crate) struct Cursor<'a, 'b> {
    rest: &'b [Located<&'a str>],
    /// Position of the word that was read last.
    pub at: Position,
    options: Vec<Vec<Located<&'a str>>>,
    /// Index of the option to which the next word belongs.
    current: usize,
}

impl<'a, 'b> Cursor<'a, 'b> {
    /// Creates a cursor before the first of these words.
    pub(crate) fn new(words: &'b [Located<&'a str>]) -> Self {
        let at = words.first().map(|word| word.at).unwrap_or_default();
        Self { rest: words, at, options: vec![Vec::new()], current: 0 }
    }

    /// Returns the options that were read, the words that were not among the last one.
    pub(crate) fn options(mut self) -> CommandWords {
        while self.next().is_some() {}
        let located = |word: &Located<&str>| Located::new(word.value.to_owned(), word.at);
        let all = self.options.iter().map(|option| option.iter().map(located).collect());
        CommandWords { number: 0, all: all.collect() }
    }

    /// Returns the next word without reading it.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        self.rest.first().map(|word| word.value)
    }

    /// Returns the word after the next one without reading it.
    pub(crate) fn peek_second(&self) -> Option<&'a str> {
        self.rest.get(1).map(|word| word.value)
    }

    /// Reads the next word, which belongs to the same option as the one before.
    pub(crate) fn next(&mut self) -> Option<Located<&'a str>> {
        let (word, rest) = self.rest.split_first()?;
        (self.rest, self.at) = (rest, word.at);
        self.options[self.current].push(*word);
        Some(*word)
    }

    /// Reads the next word, which begins an option.
    pub(crate) fn next_option(&mut self) -> Option<Located<&'a str>> {
        if self.peek().is_some() {
            self.current = self.options.len();
            self.options.push(Vec::new());
        }
        self.next()
    }

    /// Reads the next word, which belongs to the command itself unless it is one of [`ASIDE`].
    pub(crate) fn next_of_command(&mut self) -> Option<Located<&'a str>> {
        if self.peek().is_some_and(|word| ASIDE.contains(&word)) {
            return self.next_option();
        }
        self.current = 0;
        self.next()
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
        // A discipline's handle needs no colon, and what stands after it is not read.
        let handle = if word == "handle" { Handle::of_qdisc(value.value) } else { None };
        if let Some(handle) = handle {
            return Ok(Located::new(handle, value.at));
        }
        let handle = value.parse::<Handle>().map_err(|error| Problem::new(value.at, error.to_string()))?;
        Ok(Located::new(handle, value.at))
    }
}
