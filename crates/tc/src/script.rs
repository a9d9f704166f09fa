//! Shell scripts that call `tc`: variables, arithmetic and loops over words are expanded; commands other
//! than `tc` are skipped and listed. Functions, branches and the output of programs need a shell.
//!
//! ```text
//! text --tokens--> statements --expand--> commands of tc, with the position of each word in the text
//! ```

mod arithmetic;
mod expand;
mod tokens;

use std::collections::BTreeMap;

use crate::position::{Located, Position};
use crate::problem::Problem;
use expand::Expansion;
use tokens::{Token, TokenKind, tokens};

/// Limit on the commands of a script after its loops are expanded.
const MOST_COMMANDS: usize = 200_000;

/// Limit on the depth of nested loops.
const DEEPEST: usize = 8;

/// Advice for scripts that a shell must expand.
pub(crate) const NEEDS_SHELL: &str = "let a shell expand the script: put `tc() { echo tc \"$@\"; }` before it, run it, and import what it prints";

/// A line that is not part of the result, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Position of its first word.
    pub at: Position,
    /// Its words.
    pub what: String,
    /// Reason.
    pub why: &'static str,
}

/// Commands of a script.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Words of each command, `tc` left out.
    pub commands: Vec<Vec<Located<String>>>,
    pub skipped: Vec<Skipped>,
    pub problems: Vec<Problem>,
}

/// Expands a script; `definitions` are variables that it does not assign itself.
pub(crate) fn expand(text: &str, definitions: &[(String, String)]) -> Script {
    let mut reader = Reader {
        variables: definitions.iter().cloned().collect(),
        script: Script::default(),
        budget: 4 * MOST_COMMANDS,
    };
    let tokens = tokens(text);
    reader.run(&tokens, 0);
    reader.script
}

struct Reader {
    variables: BTreeMap<String, String>,
    script: Script,
    /// Statements that may still be run.
    budget: usize,
}

/// Words that begin a block, with the word that ends it.
const BLOCKS: [(&str, &str); 6] =
    [("if", "fi"), ("case", "esac"), ("while", "done"), ("until", "done"), ("select", "done"), ("{", "}")];

/// Commands that only run another one.
const PREFIXES: [&str; 6] = ["sudo", "command", "exec", "env", "nice", "doas"];

/// Words before an assignment.
const DECLARATIONS: [&str; 5] = ["export", "readonly", "local", "declare", "typeset"];

impl Reader {
    /// Runs statements in order.
    fn run(&mut self, tokens: &[Token<'_>], depth: usize) {
        let mut rest = tokens;
        while let Some(first) = rest.first() {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            let TokenKind::Word(word) = first.kind else {
                // The command after `||` runs only if the one before it fails.
                let is_alternative = first.kind == TokenKind::Or || first.kind == TokenKind::Pipe;
                rest = &rest[1..];
                if is_alternative {
                    rest = &rest[command_length(rest)..];
                }
                continue;
            };
            let length = match word {
                "for" => self.for_loop(rest, depth),
                _ if is_block(word) || is_function(rest) => self.needs_shell(rest),
                _ => {
                    let length = command_length(rest).max(1);
                    self.command(&rest[..length]);
                    length
                }
            };
            rest = &rest[length.min(rest.len())..];
        }
    }

    /// Skips a block that needs a shell; returns its length.
    fn needs_shell(&mut self, tokens: &[Token<'_>]) -> usize {
        let first = &tokens[0];
        let length = block_length(tokens);
        let holds_tc = tokens[..length].iter().any(
            |token| matches!(token.kind, TokenKind::Word(word) if word.contains("tc") || word.contains("TC")),
        );
        let what = first.text();
        if holds_tc {
            let message = format!("`{what}` needs a shell");
            self.script.problems.push(Problem::new(first.at, message).help(NEEDS_SHELL));
        } else {
            self.skip(first.at, format!("{what} ..."), "it does not call `tc`");
        }
        length
    }

    fn skip(&mut self, at: Position, what: String, why: &'static str) {
        if self.script.skipped.len() < MOST_COMMANDS {
            self.script.skipped.push(Skipped { at, what, why });
        }
    }

    /// Runs `for NAME in WORDS; do ...; done`; returns its length.
    fn for_loop(&mut self, tokens: &[Token<'_>], depth: usize) -> usize {
        let length = block_length(tokens);
        let all = &tokens[..length];
        let head = command_length(all);
        let body_start = (head..length).find(|index| all[*index].kind == TokenKind::Word("do"));
        let is_plain = matches!(all.get(2).map(|token| token.kind), Some(TokenKind::Word("in")));
        let (Some(name), Some(start), true) = (all.get(1), body_start, is_plain && depth < DEEPEST) else {
            return self.needs_shell(tokens);
        };
        let end = length.saturating_sub(1).max(start + 1);
        let mut items = Vec::new();
        for token in &all[3..head.max(3)] {
            match self.words(token) {
                Ok(words) => items.extend(words.into_iter().flat_map(braces)),
                Err(problem) => self.script.problems.push(problem),
            }
        }
        for item in items {
            if self.budget == 0 {
                break;
            }
            self.variables.insert(name.text().to_owned(), item);
            self.run(&all[start + 1..end], depth + 1);
        }
        length
    }

    /// Expands a token to words.
    fn words(&mut self, token: &Token<'_>) -> Result<Vec<String>, Problem> {
        let TokenKind::Word(word) = token.kind else { return Ok(Vec::new()) };
        Expansion { variables: &self.variables }.words(word).map_err(|why| {
            let problem = Problem::new(token.at, why.message);
            if why.needs_shell {
                problem.help(NEEDS_SHELL)
            } else {
                problem.help("assign it in the file, or give `--define NAME=VALUE`")
            }
        })
    }

    /// Runs a simple command.
    fn command(&mut self, tokens: &[Token<'_>]) {
        let mut rest = tokens;
        while let Some(word) = rest.first().map(Token::text).filter(|word| DECLARATIONS.contains(word)) {
            let _ = word;
            rest = &rest[1..];
        }
        let assignments = rest.iter().take_while(|token| assignment(token.text()).is_some()).count();
        for token in &rest[..assignments] {
            self.assign(token);
        }
        rest = &rest[assignments..];
        if rest.len() < tokens.len() && rest.is_empty() {
            return;
        }
        let Some((name, arguments)) = self.program(rest) else {
            if let Some(first) = tokens.first() {
                let what = tokens.iter().map(Token::text).collect::<Vec<_>>().join(" ");
                let what: String = what.chars().take(120).collect();
                self.skip(first.at, what, "it is not a command of `tc`");
            }
            return;
        };
        let mut words = vec![];
        if name.text() == "qdisc" || name.text() == "class" || name.text() == "filter" {
            words.push(Located::new(name.text().to_owned(), name.at));
        }
        for token in arguments {
            match self.words(token) {
                Ok(expanded) => {
                    words.extend(expanded.into_iter().map(|word| Located::new(word, token.at)));
                }
                Err(problem) => {
                    self.script.problems.push(problem);
                    return;
                }
            }
        }
        if words.is_empty() {
            return;
        }
        if self.script.commands.len() >= MOST_COMMANDS {
            if self.budget > 0 {
                let message = format!("the script has more than {MOST_COMMANDS} commands");
                self.script.problems.push(Problem::new(name.at, message));
            }
            self.budget = 0;
            return;
        }
        self.script.commands.push(words);
    }

    fn assign(&mut self, token: &Token<'_>) {
        let Some((name, value)) = assignment(token.text()) else { return };
        match (Expansion { variables: &self.variables }).text(value) {
            Ok(value) => {
                self.variables.insert(name.to_owned(), value);
            }
            // The value matters only if a command of `tc` uses it: that use is then the problem.
            Err(_) => {
                self.variables.remove(name);
            }
        }
    }

    /// Returns the word that names `tc` (or its object, in a batch file) and the words after it; `None` for
    /// other programs.
    fn program<'a, 'b>(&self, tokens: &'a [Token<'b>]) -> Option<(&'a Token<'b>, &'a [Token<'b>])> {
        let mut rest = tokens;
        loop {
            let (first, after) = rest.split_first()?;
            let raw = first.text().trim_matches('"');
            if PREFIXES.contains(&raw) {
                rest = after;
                continue;
            }
            if raw == "ip" && after.len() > 2 && after[0].text() == "netns" && after[1].text() == "exec" {
                rest = &after[3..];
                continue;
            }
            if ["$TC", "${TC}"].contains(&raw) && !self.variables.contains_key("TC") {
                return Some((first, after));
            }
            let name = Expansion { variables: &self.variables }.words(raw);
            let Ok(words) = name else { return None };
            let Some(word) = words.first() else {
                // A variable without a value, such as `$SUDO`.
                rest = after;
                continue;
            };
            if PREFIXES.contains(&word.as_str()) {
                rest = after;
                continue;
            }
            let base = word.rsplit('/').next().unwrap_or(word);
            let is_object = ["qdisc", "class", "filter"].contains(&base);
            return (base == "tc" || is_object).then_some((first, after));
        }
    }
}

/// Splits `NAME=VALUE`.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let mut letters = name.chars();
    let is_name = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_name.then_some((name, value))
}

/// Expands `{1..5}`; other words stay.
fn braces(word: String) -> Vec<String> {
    let read = || {
        let (first, last) = word.strip_prefix('{')?.strip_suffix('}')?.split_once("..")?;
        let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
        let is_short = first.abs_diff(last) < MOST_COMMANDS as u64;
        is_short.then(|| -> Vec<String> {
            if first <= last {
                (first..=last).map(|number| number.to_string()).collect()
            } else {
                (last..=first).rev().map(|number| number.to_string()).collect()
            }
        })
    };
    let numbers = read();
    numbers.unwrap_or_else(|| vec![word])
}

fn is_block(word: &str) -> bool {
    word == "function" || BLOCKS.iter().any(|(start, _)| *start == word) || ["(", "[["].contains(&word)
}

/// Returns true for `name() {`.
fn is_function(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, [_, open, close, ..] if open.kind == TokenKind::Open && close.kind == TokenKind::Close)
}

/// Returns the number of tokens before the end of the first command.
fn command_length(tokens: &[Token<'_>]) -> usize {
    tokens.iter().position(|token| !matches!(token.kind, TokenKind::Word(_))).unwrap_or(tokens.len())
}

/// Returns the number of tokens of the block that begins here; all if it does not end.
fn block_length(tokens: &[Token<'_>]) -> usize {
    let mut open: Vec<&str> = Vec::new();
    let mut is_start = true;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Word(word) => {
                let is_keyword = is_start || word == "}" || word == "{";
                is_start = ["do", "then", "else", "{"].contains(&word) && is_keyword;
                if is_keyword && open.last() == Some(&word) {
                    open.pop();
                    if open.is_empty() {
                        return index + 1;
                    }
                } else if is_keyword {
                    let end = BLOCKS.iter().find(|(start, _)| *start == word).map(|(_, end)| *end);
                    open.extend(end.or_else(|| (word == "for").then_some("done")));
                }
            }
            // `name()` has its block after it.
            TokenKind::Open | TokenKind::Close => is_start = false,
            _ => is_start = true,
        }
    }
    tokens.len()
}
