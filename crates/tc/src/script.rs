//! Shell scripts that call `tc`: variables, arithmetic and loops over words are expanded; commands other
//! than `tc` are skipped and listed. Functions, branches and the output of programs need a shell.
//!
//! ```text
//! text --tokens--> statements --expand--> commands of tc, with the position of each word in the text
//! ```

mod arithmetic;
mod expand;
mod tokens;
mod variables;

use std::collections::BTreeMap;

use crate::position::{Located, Position};
use crate::problem::Problem;
use expand::{Expansion, LONGEST_WORD_BYTES};
use tokens::{Token, TokenKind, tokens};
use variables::{Assignment, Changes, Variables};

/// Limit on the commands of a script after its loops are expanded.
const MOST_COMMANDS: usize = 200_000;

/// Limit on the depth of nested loops.
const DEEPEST: usize = 8;

/// Advice for scripts that a shell must expand.
pub(crate) const NEEDS_SHELL: &str = "let a shell expand the script: put `tc() { echo tc \"$@\"; }` before it, run it, and import what it prints";

/// Advice for scripts that end too early.
const CUT_OFF: &str = "close it, or fetch the whole file; a here-document with such a letter needs a shell";

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
    /// Words of commands of other programs, each with the number of commands before it.
    pub others: Vec<(usize, Vec<String>)>,
    pub skipped: Vec<Skipped>,
    pub problems: Vec<Problem>,
}

/// Expands a script; `definitions` are variables that it does not assign itself.
pub(crate) fn expand(text: &str, definitions: &[(String, String)]) -> Script {
    let mut reader = Reader {
        variables: Variables::new(definitions),
        script: Script::default(),
        functions: BTreeMap::new(),
        outer: Vec::new(),
        flow: Flow::On,
        budget: 4 * MOST_COMMANDS,
    };
    let (tokens, open) = tokens(text);
    reader.run(&tokens, 0);
    if let Some(at) = open {
        let opening = "the quote or bracket that begins here has no end, and takes the rest of the file";
        reader.script.problems.push(Problem::new(at, opening).help(CUT_OFF));
    }
    reader.script
}

struct Reader {
    variables: Variables,
    script: Script,
    /// Variables that functions without `tc` can change, by the functions' names.
    functions: BTreeMap<String, Changes>,
    /// Variables from before each subshell that is open.
    outer: Vec<Variables>,
    flow: Flow,
    /// Statements that may still be run.
    budget: usize,
}

/// Statement that is run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    On,
    /// Of the loop's next word: `continue`.
    NextWord,
    /// After the loop: `break`.
    AfterLoop,
    /// None: `exit`.
    End,
}

/// Condition under which a command runs, by the operator before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// If a test has an outcome that only a shell knows: `[ ... ] &&`.
    Sometimes,
    /// If a command fails that is assumed to succeed: `tc ... ||`.
    AfterFailure,
    /// With the output of the command before it as its input.
    Piped,
}

/// Words that begin a block, with the word that ends it.
const BLOCKS: [(&str, &str); 6] =
    [("if", "fi"), ("case", "esac"), ("while", "done"), ("until", "done"), ("select", "done"), ("{", "}")];

/// Words of a block before a command.
const KEYWORDS: [&str; 10] = ["{", "if", "then", "elif", "else", "while", "until", "do", "function", "!"];

/// Commands that only run another one.
const PREFIXES: [&str; 11] =
    ["sudo", "command", "exec", "env", "nice", "doas", "time", "nohup", "ionice", "builtin", "timeout"];

/// Words before an assignment.
const DECLARATIONS: [&str; 5] = ["export", "readonly", "local", "declare", "typeset"];

/// Commands whose outcome is a test; all others are assumed to succeed.
const TESTS: [&str; 11] =
    ["[", "[[", "test", "grep", "false", "!", "which", "type", "pgrep", "pidof", "mountpoint"];

/// Programs that may have the word `tc` without running it.
const MENTIONS: [&str; 17] = [
    "echo", "printf", "logger", "which", "type", "hash", "man", "apt", "apt-get", "dnf", "yum", "opkg",
    "modprobe", "grep", "[", "test", "trap",
];

impl Reader {
    /// Runs statements in order.
    fn run(&mut self, tokens: &[Token<'_>], depth: usize) {
        let mut rest = tokens;
        let (mut when, mut is_test, mut before) = (When::Always, false, &tokens[..0]);
        while let Some(first) = rest.first() {
            if self.budget == 0 {
                self.stop(first);
                return;
            }
            if self.flow != Flow::On {
                self.unreached(rest);
                return;
            }
            self.budget -= 1;
            match first.kind {
                TokenKind::Word(_) => {
                    let length = self.statement(rest, when, before, depth).clamp(1, rest.len());
                    is_test =
                        when == When::Sometimes || when == When::Always && TESTS.contains(&first.text());
                    before = &rest[..length];
                    rest = &rest[length..];
                    continue;
                }
                TokenKind::Open if is_arithmetic(rest) => {
                    let end = rest.iter().position(|token| token.kind == TokenKind::Close);
                    let (inner, after) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
                    self.variables.lose(&Changes::in_arithmetic(inner), first);
                    rest = after;
                    continue;
                }
                TokenKind::Open => self.outer.push(self.variables.clone()),
                TokenKind::Close => {
                    if let Some(variables) = self.outer.pop() {
                        self.variables = variables;
                    }
                }
                TokenKind::End => (when, is_test) = (When::Always, false),
                TokenKind::And | TokenKind::Or if is_test => when = When::Sometimes,
                TokenKind::And => when = When::Always,
                TokenKind::Or => when = When::AfterFailure,
                TokenKind::Pipe => when = When::Piped,
            }
            rest = &rest[1..];
        }
    }

    /// Runs the statement that begins here, if it runs in any case; returns its length.
    fn statement(&mut self, tokens: &[Token<'_>], when: When, before: &[Token<'_>], depth: usize) -> usize {
        let word = tokens[0].text();
        let is_block = is_block(word) || is_function(tokens);
        if (is_block || word == "for")
            && let Err(end) = block_end(tokens)
        {
            let message = format!("the block that begins here has no `{end}`");
            self.script.problems.push(Problem::new(tokens[0].at, message).help(CUT_OFF));
            return tokens.len();
        }
        if is_block {
            return self.needs_shell(tokens, depth);
        }
        if word == "for" && when == When::Always {
            return self.for_loop(tokens, depth);
        }
        let length = if word == "for" { block_length(tokens) } else { simple_length(tokens) };
        let (command, after) = tokens.split_at(length);
        if when != When::Always {
            self.not_always(command, when, before, depth);
            return length;
        }
        match word {
            "exit" | "return" => self.flow = Flow::End,
            "break" | "continue" if depth > 0 && command.len() == 1 => {
                self.flow = if word == "break" { Flow::AfterLoop } else { Flow::NextWord };
            }
            "break" | "continue" if depth > 0 => self.problem(command),
            _ if after.first().is_some_and(|token| token.kind == TokenKind::Open)
                && command.last().is_some_and(|last| last.text().ends_with('=')) =>
            {
                // `NAME=(...)`: only a shell has arrays.
                self.variables.lose(&Changes::of(command, &self.functions), &tokens[0]);
                let end = after.iter().position(|token| token.kind == TokenKind::Close);
                return length + end.map_or(after.len(), |end| end + 1);
            }
            _ => self.command(command),
        }
        length
    }

    /// Accounts for a command that runs only under a condition.
    fn not_always(&mut self, tokens: &[Token<'_>], when: When, before: &[Token<'_>], depth: usize) {
        let is_loop_end = depth > 0 && ["break", "continue"].contains(&tokens[0].text());
        let calls = calls_tc(tokens);
        match when {
            When::AfterFailure if calls => {
                self.skip(tokens[0].at, joined(tokens), "it runs only if the command before it fails");
            }
            When::Piped => {
                // The lines of a here-document are commands of their own.
                let is_document = matches!(before, [cat] if cat.text() == "cat");
                let is_shell = tokens.iter().any(|token| ["sh", "bash"].contains(&token.text()));
                if calls && !is_document || is_shell {
                    self.problem(tokens);
                }
            }
            _ if calls || is_loop_end => self.problem(tokens),
            _ => {}
        }
        self.note_other(Vec::new());
        if when != When::Piped {
            self.variables.lose(&Changes::of(tokens, &self.functions), &tokens[0]);
        }
    }

    /// Notes that only a shell can run a command.
    fn problem(&mut self, tokens: &[Token<'_>]) {
        let message = format!("`{}` needs a shell", joined(tokens));
        self.script.problems.push(Problem::new(tokens[0].at, message).help(NEEDS_SHELL));
    }

    /// Lists the commands of `tc` that the script ends before.
    fn unreached(&mut self, tokens: &[Token<'_>]) {
        if self.flow != Flow::End {
            return;
        }
        for command in tokens.split(|token| token.text().is_empty()).filter(|command| calls_tc(command)) {
            self.skip(command[0].at, joined(command), "the script ends before it");
        }
    }

    /// Skips a block that needs a shell; returns its length.
    fn needs_shell(&mut self, tokens: &[Token<'_>], depth: usize) -> usize {
        let first = &tokens[0];
        let length = block_length(tokens);
        let block = &tokens[..length];
        let holds_tc = block.split(|token| token.text().is_empty()).any(|command| {
            let is_keyword = |token: &&Token<'_>| KEYWORDS.contains(&token.text());
            calls_tc(&command[command.iter().take_while(is_keyword).count()..])
        });
        let ends_loop = depth > 0 && block.iter().any(|token| ["break", "continue"].contains(&token.text()));
        let changes = Changes::of(block, &self.functions);
        if is_function(tokens) || first.text() == "function" {
            let name = if is_function(tokens) { first.text() } else { tokens.get(1).map_or("", Token::text) };
            self.functions.insert(name.to_owned(), changes);
        } else {
            self.note_other(Vec::new());
            self.variables.lose(&changes, first);
        }
        let what = first.text();
        if holds_tc || ends_loop {
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
            return self.needs_shell(tokens, depth);
        };
        let end = length.saturating_sub(1).max(start + 1);
        let mut items = Vec::new();
        for token in &all[3..head.max(3)] {
            // A pattern stands for the names of files.
            if token.text().contains(['*', '?']) {
                self.problem(&all[..head]);
                return length;
            }
            match self.words(token) {
                Ok(words) => items.extend(words.into_iter().flat_map(braces)),
                Err(problem) => self.script.problems.push(problem),
            }
        }
        for item in items {
            self.variables.set(name.text(), item);
            self.run(&all[start + 1..end], depth + 1);
            match self.flow {
                Flow::On => {}
                Flow::NextWord => self.flow = Flow::On,
                Flow::AfterLoop => {
                    self.flow = Flow::On;
                    break;
                }
                Flow::End => break,
            }
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
        if let Some(token) = tokens.iter().find(|token| token.text().contains(is_other_space)) {
            let first = tokens[0].text().split(is_other_space).next().unwrap_or_default();
            if calls_tc(tokens) || is_object(first) {
                let message = "it has a space that is none for a shell, such as a no-break space of a page";
                self.script
                    .problems
                    .push(Problem::new(token.at, message).help("write a space of the keyboard"));
                return;
            }
        }
        let is_declaration = DECLARATIONS.contains(&tokens[0].text());
        let options = tokens[1..].iter().take_while(|token| token.text().starts_with('-')).count();
        let rest = if is_declaration { &tokens[1 + options..] } else { tokens };
        let assignments = rest.iter().take_while(|token| Assignment::read(token.text()).is_some()).count();
        if assignments > 0 && assignments == rest.len() {
            for token in rest {
                self.assign(token);
            }
            return;
        }
        // Assignments before a command hold for that command alone, after its words are expanded.
        let rest = &rest[assignments..];
        let Some((name, arguments)) = self.program(rest) else {
            self.other_program(tokens, rest);
            return;
        };
        let mut words = vec![];
        if is_object(name.text()) {
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
            self.budget = 0;
            self.stop(name);
            return;
        }
        self.script.commands.push(words);
    }

    /// Ends a script that is too long, with its problem.
    fn stop(&mut self, token: &Token<'_>) {
        if self.flow == Flow::End {
            return;
        }
        self.flow = Flow::End;
        let message = "the script runs too many commands: it is read up to here";
        self.script.problems.push(Problem::new(token.at, message).help("divide it, and import each part"));
    }

    /// Accounts for a command of a program other than `tc`.
    fn other_program(&mut self, tokens: &[Token<'_>], command: &[Token<'_>]) {
        let Some(first) = command.first() else { return };
        if first.text() == ":" {
            for token in command {
                self.assign_default(token);
            }
            return;
        }
        if first.text() == "alias" && joined(command).contains("=tc") || calls_tc(command) {
            self.problem(command);
            return;
        }
        let words: Vec<String> =
            command.iter().filter_map(|token| self.words(token).ok()).flatten().collect();
        self.note_other(words);
        self.variables.lose(&Changes::of(command, &self.functions), first);
        self.skip(tokens[0].at, joined(tokens), "it is not a command of `tc`");
    }

    /// Notes a command that may change devices; no words stand for one that only a shell knows.
    fn note_other(&mut self, mut words: Vec<String>) {
        let is_prefix = |word: &&String| PREFIXES.contains(&word.as_str());
        words.drain(..words.iter().take_while(is_prefix).count());
        if let Some(first) = words.first_mut() {
            *first = first.rsplit('/').next().unwrap_or_default().to_owned();
        }
        if self.script.others.len() < MOST_COMMANDS {
            self.script.others.push((self.script.commands.len(), words));
        }
    }

    fn assign(&mut self, token: &Token<'_>) {
        let Some(Assignment { name, value, is_appended }) = Assignment::read(token.text()) else { return };
        let before = if is_appended { self.variables.get(name).cloned() } else { Some(String::new()) };
        match (Expansion { variables: &self.variables }.text(value), before) {
            (Ok(value), Some(before)) if before.len() + value.len() <= LONGEST_WORD_BYTES => {
                self.variables.set(name, before + &value);
            }
            // The value matters only if a command of `tc` uses it: that use is then the problem.
            _ => self.variables.lose(&Changes::one(name), token),
        }
    }

    /// Assigns the default of `${NAME:=DEFAULT}` to a variable without a value.
    fn assign_default(&mut self, token: &Token<'_>) {
        let word = token.text().trim_matches('"');
        let inner = word.strip_prefix("${").and_then(|word| word.strip_suffix('}'));
        let Some((name, default)) = inner.and_then(|inner| inner.split_once('=')) else { return };
        let name = name.trim_end_matches(':');
        if self.variables.is_lost(name) || self.variables.get(name).is_some_and(|value| !value.is_empty()) {
            return;
        }
        if let Ok(value) = (Expansion { variables: &self.variables }).text(default) {
            self.variables.set(name, value);
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
                rest = after_options(after);
                continue;
            }
            if raw == "ip" && after.len() > 2 && after[0].text() == "netns" && after[1].text() == "exec" {
                rest = &after[3..];
                continue;
            }
            if ["$TC", "${TC}"].contains(&raw) && self.variables.get("TC").is_none() {
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
                rest = after_options(after);
                continue;
            }
            let base = word.rsplit('/').next().unwrap_or(word);
            return (base == "tc" || is_object(base)).then_some((first, after));
        }
    }
}

/// Returns true for the first word of a line of a batch file.
fn is_object(word: &str) -> bool {
    ["qdisc", "class", "filter"].contains(&word)
}

/// Returns true for a space that divides no words in a shell.
fn is_other_space(letter: char) -> bool {
    letter.is_whitespace() && !letter.is_ascii_whitespace()
}

/// Returns the words after the options of a command that runs another one.
fn after_options<'a, 'b>(tokens: &'a [Token<'b>]) -> &'a [Token<'b>] {
    // `command -v` prints where a program is.
    if tokens.first().is_some_and(|token| token.text().eq_ignore_ascii_case("-v")) {
        return &tokens[..0];
    }
    let is_option = |word: &str| {
        word.starts_with('-')
            || Assignment::read(word).is_some()
            || word.trim_end_matches('s').bytes().all(|byte| byte.is_ascii_digit())
    };
    &tokens[tokens.iter().take_while(|token| is_option(token.text())).count()..]
}

/// Returns true if a command runs `tc`, by itself or by another program.
fn calls_tc(tokens: &[Token<'_>]) -> bool {
    let Some(first) = tokens.first() else { return false };
    if MENTIONS.contains(&first.text()) {
        return false;
    }
    if let ["command", "-v" | "-V", ..] = tokens.iter().map(Token::text).take(3).collect::<Vec<_>>()[..] {
        return false;
    }
    tokens.iter().any(|token| {
        token.text().split(|letter: char| letter.is_whitespace() || "\"'(;`".contains(letter)).any(|word| {
            let base = word.rsplit('/').next().unwrap_or(word);
            base == "tc" || base.starts_with('$') && base.to_ascii_lowercase().contains("tc")
        })
    })
}

/// Returns the words of a command as they are written, at most 120 characters.
fn joined(tokens: &[Token<'_>]) -> String {
    let all = tokens.iter().map(Token::text).collect::<Vec<_>>().join(" ");
    all.chars().take(120).collect()
}

/// Returns true for `((`.
fn is_arithmetic(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, [first, second, ..] if second.kind == TokenKind::Open
        && second.at.line == first.at.line && second.at.column == first.at.column + 1)
}

/// Returns the number of tokens of a simple command; `[[ ... ]]` has operators of its own.
fn simple_length(tokens: &[Token<'_>]) -> usize {
    let end = tokens.iter().position(|token| token.text() == "]]");
    match end.filter(|_| tokens[0].text() == "[[") {
        Some(end) => end + 1,
        None => command_length(tokens),
    }
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
    word == "function" || BLOCKS.iter().any(|(start, _)| *start == word)
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
    block_end(tokens).unwrap_or(tokens.len())
}

/// Returns the number of tokens of the block that begins here.
///
/// # Errors
/// The word that is missing at its end.
fn block_end(tokens: &[Token<'_>]) -> Result<usize, &'static str> {
    let mut open: Vec<&'static str> = Vec::new();
    let mut is_start = true;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Word(word) => {
                let is_keyword = is_start || word == "}" || word == "{";
                is_start = ["do", "then", "else", "{"].contains(&word) && is_keyword;
                if is_keyword && open.last() == Some(&word) {
                    open.pop();
                    if open.is_empty() {
                        return Ok(index + 1);
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
    open.last().map_or(Ok(tokens.len()), |end| Err(*end))
}
