//! Splits a script into words and operators. Redirections and comments are left out.

use crate::position::Position;

/// A word or an operator, with its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub kind: TokenKind<'a>,
    pub at: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    /// A word as written, with its quotes.
    Word(&'a str),
    /// End of a command: a line's end, `;` or `&`.
    End,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `|`.
    Pipe,
    /// `(`.
    Open,
    /// `)`.
    Close,
}

impl<'a> Token<'a> {
    /// Returns the word; empty for operators.
    pub(super) fn text(&self) -> &'a str {
        if let TokenKind::Word(word) = self.kind { word } else { "" }
    }
}

struct Lexer<'a> {
    text: &'a str,
    /// Bytes read.
    offset: usize,
    at: Position,
    /// Quote or bracket that the text does not close.
    open: Option<Position>,
}

/// Splits a text into tokens; also returns the position of a quote or bracket that it does not close, which
/// takes the rest of the text as one word.
pub(super) fn tokens(text: &str) -> (Vec<Token<'_>>, Option<Position>) {
    let mut lexer = Lexer { text, offset: 0, at: Position { line: 1, column: 1 }, open: None };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        tokens.push(token);
    }
    (tokens, lexer.open)
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn step(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.offset += letter.len_utf8();
        if letter == '\n' {
            self.at = Position { line: self.at.line.saturating_add(1), column: 1 };
        } else {
            self.at.column = self.at.column.saturating_add(1);
        }
        Some(letter)
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.step();
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with("\\\n") {
                self.skip(2);
            } else if rest.starts_with("\\\r\n") {
                self.skip(3);
            } else if rest.starts_with('#') {
                while self.peek().is_some_and(|letter| letter != '\n') {
                    self.step();
                }
            } else if rest.starts_with(|letter: char| letter.is_ascii_whitespace() && letter != '\n') {
                self.step();
            } else {
                return;
            }
        }
    }

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            self.skip_blanks();
            let at = self.at;
            let rest = self.rest();
            let operator = |kind, length| Some((kind, length));
            let found = match rest.chars().next()? {
                '|' if rest.starts_with("||") => operator(TokenKind::Or, 2),
                '|' => operator(TokenKind::Pipe, 1),
                '&' if rest.starts_with("&&") => operator(TokenKind::And, 2),
                '&' if rest.starts_with("&>") => None,
                '\n' | ';' | '&' => operator(TokenKind::End, 1),
                '(' => operator(TokenKind::Open, 1),
                ')' => operator(TokenKind::Close, 1),
                _ => None,
            };
            if let Some((kind, length)) = found {
                self.skip(length);
                return Some(Token { kind, at });
            }
            if self.redirection() {
                continue;
            }
            let start = self.offset;
            self.word();
            if self.offset == start {
                self.step();
            }
            return Some(Token { kind: TokenKind::Word(&self.text[start..self.offset]), at });
        }
    }

    /// Reads a redirection with its file, if one begins here.
    fn redirection(&mut self) -> bool {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let operator = &rest[digits..];
        let known = ["<<<", ">>", "<<", "&>>", "&>", ">&", "<&", ">|", ">", "<"];
        let Some(length) = known.iter().find(|known| operator.starts_with(**known)).map(|known| known.len())
        else {
            return false;
        };
        self.skip(digits + length);
        while self.peek().is_some_and(|letter| letter == ' ' || letter == '\t') {
            self.step();
        }
        self.word();
        true
    }

    /// Reads a word to its end.
    fn word(&mut self) {
        while let Some(letter) = self.peek() {
            match letter {
                '\\' if self.rest().starts_with("\\\n") || self.rest().starts_with("\\\r\n") => return,
                '\\' => self.skip(2),
                '\'' | '`' => {
                    let start = self.at;
                    self.step();
                    while self.peek().is_some_and(|other| other != letter) {
                        self.step();
                    }
                    self.close(start);
                }
                '"' => self.quoted(),
                '$' => self.dollar(),
                letter if letter.is_ascii_whitespace() || ";|&<>()".contains(letter) => return,
                _ => {
                    self.step();
                }
            }
        }
    }

    /// Reads the letter that closes what began at `start`.
    fn close(&mut self, start: Position) {
        if self.step().is_none() {
            self.open = Some(start);
        }
    }

    fn quoted(&mut self) {
        let start = self.at;
        self.step();
        while let Some(letter) = self.peek() {
            match letter {
                '"' => break,
                '\\' => self.skip(2),
                '$' => self.dollar(),
                _ => {
                    self.step();
                }
            }
        }
        self.close(start);
    }

    /// Reads `$NAME`, `${...}`, `$(...)`, `$((...))` or `$[...]`.
    fn dollar(&mut self) {
        let start = self.at;
        self.step();
        let (open, close) = match self.peek() {
            Some('{') => ('{', '}'),
            Some('(') => ('(', ')'),
            Some('[') => ('[', ']'),
            _ => return,
        };
        let mut depth = 0_usize;
        while let Some(letter) = self.step() {
            if letter == open {
                depth += 1;
            } else if letter == close {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
        }
        self.open = Some(start);
    }
}
