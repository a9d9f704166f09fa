//! Arithmetic of shells, `$(( ))`: 64-bit integers.

use super::variables::Variables;

/// Limit on the depth of parentheses.
const DEEPEST: usize = 32;

/// Evaluates an expression; `None` if it is not understood, divides by zero or overflows.
pub(super) fn evaluate(text: &str, variables: &Variables) -> Option<i64> {
    let mut parser = Parser { rest: text, variables, depth: 0 };
    let value = parser.sum()?;
    parser.rest.trim_start().is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
    variables: &'a Variables,
    depth: usize,
}

impl Parser<'_> {
    fn operator(&mut self, among: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let operator = self.rest.chars().next().filter(|letter| among.contains(letter))?;
        self.rest = &self.rest[operator.len_utf8()..];
        Some(operator)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(operator) = self.operator(&['+', '-']) {
            let other = self.product()?;
            value = if operator == '+' { value.checked_add(other)? } else { value.checked_sub(other)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.factor()?;
        while let Some(operator) = self.operator(&['*', '/', '%']) {
            let other = self.factor()?;
            value = match operator {
                '*' => value.checked_mul(other)?,
                '/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn factor(&mut self) -> Option<i64> {
        if self.depth > DEEPEST {
            return None;
        }
        self.depth += 1;
        let value = self.operand();
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> Option<i64> {
        if let Some(sign) = self.operator(&['-', '+']) {
            let value = self.factor()?;
            return if sign == '-' { value.checked_neg() } else { Some(value) };
        }
        if self.operator(&['(']).is_some() {
            let value = self.sum()?;
            self.operator(&[')'])?;
            return Some(value);
        }
        let _ = self.operator(&['$']);
        let is_braced = self.operator(&['{']).is_some();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if is_braced {
            self.operator(&['}'])?;
        }
        if word.starts_with(|first: char| first.is_ascii_digit()) {
            return number(word);
        }
        number(self.variables.get(word)?.trim())
    }
}

/// Parses an integer: decimal, hexadecimal with `0x`, or octal with a leading `0`.
fn number(text: &str) -> Option<i64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    i64::from_str_radix(digits, radix).ok()
}
