//! Variables of a script: values that are known, and what may have changed the others.

use std::collections::BTreeMap;

use super::tokens::{Token, TokenKind};

/// Values of variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    known: BTreeMap<String, String>,
    /// Values that hold for variables that the script does not assign, or that only a shell knows.
    given: BTreeMap<String, String>,
    /// Command that may have changed a variable, with its line.
    lost: BTreeMap<String, (String, u32)>,
}

impl Variables {
    /// Returns variables of which only `definitions` have a value.
    pub(super) fn new(definitions: &[(String, String)]) -> Self {
        Self { given: definitions.iter().cloned().collect(), ..Self::default() }
    }

    /// Returns the value of a variable, if it is known.
    pub(super) fn get(&self, name: &str) -> Option<&String> {
        self.known.get(name).or_else(|| self.given.get(name))
    }

    /// Assigns a value.
    pub(super) fn set(&mut self, name: &str, value: String) {
        self.lost.remove(name);
        self.known.insert(name.to_owned(), value);
    }

    /// Returns true if the script assigned a variable, and only a shell knows its value.
    pub(super) fn is_lost(&self, name: &str) -> bool {
        self.lost.contains_key(name) && self.get(name).is_none()
    }

    /// Takes the values from variables that a command may change; `command` is its first word.
    pub(super) fn lose(&mut self, changes: &Changes, command: &Token<'_>) {
        let names: Vec<String> =
            if changes.all { self.known.keys().cloned().collect() } else { changes.names.clone() };
        for name in names {
            self.known.remove(&name);
            self.lost.insert(name, (command.text().chars().take(40).collect(), command.at.line));
        }
    }

    /// Returns why a variable has no value.
    pub(super) fn why_unknown(&self, name: &str) -> String {
        match self.lost.get(name) {
            Some((command, line)) => {
                format!("`${name}` has a value that only a shell knows, since `{command}` of line {line}")
            }
            None => format!("`${name}` has no value in this file"),
        }
    }
}

/// `NAME=VALUE` or `NAME+=VALUE`.
pub(super) struct Assignment<'a> {
    pub name: &'a str,
    pub value: &'a str,
    pub is_appended: bool,
}

impl<'a> Assignment<'a> {
    /// Splits a word; `None` if it is no assignment.
    pub(super) fn read(word: &'a str) -> Option<Self> {
        let (name, value) = word.split_once('=')?;
        let (name, is_appended) = match name.strip_suffix('+') {
            Some(name) => (name, true),
            None => (name, false),
        };
        is_name(name).then_some(Self { name, value, is_appended })
    }
}

/// Variables that commands may change.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    names: Vec<String>,
    /// True if they may change every variable.
    all: bool,
}

/// Commands that assign to the variables that they name.
const ASSIGNERS: [&str; 9] =
    ["read", "unset", "let", "printf", "mapfile", "readarray", "getopts", "for", "select"];

impl Changes {
    /// Returns a change of one variable.
    pub(super) fn one(name: &str) -> Self {
        Self { names: vec![name.to_owned()], all: false }
    }

    /// Returns what commands and blocks may change; `functions` are known by what they change.
    pub(super) fn of(tokens: &[Token<'_>], functions: &BTreeMap<String, Self>) -> Self {
        let mut changes = Self::default();
        let mut is_assigner = false;
        for token in tokens {
            let TokenKind::Word(word) = token.kind else {
                is_assigner = false;
                continue;
            };
            if let Some(assignment) = Assignment::read(word.trim_matches(['"', '\''])) {
                changes.names.push(assignment.name.to_owned());
            }
            if is_assigner {
                changes.add_names(word);
            }
            is_assigner |= ASSIGNERS.contains(&word);
            changes.all |= [".", "source", "eval"].contains(&word);
            if let Some(function) = functions.get(word) {
                changes.names.extend(function.names.iter().cloned());
                changes.all |= function.all;
            }
            if let Some(inner) = word.split_once(":=").and_then(|(before, _)| before.rsplit("${").next()) {
                changes.add_names(inner);
            }
        }
        changes
    }

    /// Returns what `(( ))` may change.
    pub(super) fn in_arithmetic(tokens: &[Token<'_>]) -> Self {
        let mut changes = Self::default();
        for token in tokens {
            changes.add_names(token.text());
        }
        changes
    }

    /// Adds each name in a text.
    fn add_names(&mut self, text: &str) {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        self.names.extend(words.filter(|word| is_name(word)).map(str::to_owned));
    }
}

/// Returns true for a word that can name a variable.
fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
