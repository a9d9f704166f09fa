//! Expansion of words: quotes, variables, arithmetic, and the two programs `seq` and `echo`.

use super::arithmetic::evaluate;
use super::variables::Variables;

/// Limit on the bytes of a word.
pub(super) const LONGEST_WORD_BYTES: usize = 1 << 16;

/// A word that cannot be expanded.
#[derive(Debug)]
pub(super) struct Unexpanded {
    pub message: String,
    /// True if only a shell can expand it; false for a variable without a value.
    pub needs_shell: bool,
}

/// Words made of one, while it is expanded.
#[derive(Default)]
struct Fields {
    done: Vec<String>,
    /// Word in work; `None` if nothing was added to it.
    open: Option<String>,
}

impl Fields {
    fn add(&mut self, text: &str) {
        self.open.get_or_insert_default().push_str(text);
    }

    /// Adds text that is split at blanks.
    fn add_split(&mut self, text: &str) {
        for (index, part) in text.split(char::is_whitespace).enumerate() {
            if index > 0 {
                self.done.extend(self.open.take());
            }
            if !part.is_empty() {
                self.add(part);
            }
        }
    }

    fn length(&self) -> usize {
        self.done.iter().map(String::len).sum::<usize>() + self.open.as_ref().map_or(0, String::len)
    }
}

/// Expands words with the values of variables.
pub(super) struct Expansion<'a> {
    pub variables: &'a Variables,
}

fn needs_shell(message: String) -> Unexpanded {
    Unexpanded { message, needs_shell: true }
}

impl Expansion<'_> {
    /// Expands a word to none, one or several.
    pub(super) fn words(&self, word: &str) -> Result<Vec<String>, Unexpanded> {
        let mut fields = Fields::default();
        self.expand(word, false, &mut fields)?;
        fields.done.extend(fields.open.take());
        Ok(fields.done)
    }

    /// Expands a word to one text, as the value of an assignment.
    pub(super) fn text(&self, word: &str) -> Result<String, Unexpanded> {
        let mut fields = Fields::default();
        self.expand(word, true, &mut fields)?;
        Ok(fields.open.unwrap_or_default())
    }

    /// Expands `word`; with `is_whole`, values are not split.
    fn expand(&self, word: &str, is_whole: bool, fields: &mut Fields) -> Result<(), Unexpanded> {
        let mut rest = word;
        let mut is_quoted = false;
        while let Some(letter) = rest.chars().next() {
            if fields.length() > LONGEST_WORD_BYTES {
                return Err(needs_shell("a word is too long".to_owned()));
            }
            match letter {
                '"' => {
                    is_quoted = !is_quoted;
                    fields.add("");
                    rest = &rest[1..];
                }
                '\'' if !is_quoted => {
                    let inner = rest[1..].split('\'').next().unwrap_or_default();
                    fields.add(inner);
                    rest = rest.get(inner.len() + 2..).unwrap_or_default();
                }
                '\\' => {
                    let next = rest[1..].chars().next();
                    if let Some(next) = next.filter(|next| *next != '\n') {
                        fields.add(next.encode_utf8(&mut [0; 4]));
                    }
                    rest = &rest[1 + next.map_or(0, char::len_utf8)..];
                }
                '`' => return Err(needs_shell(format!("`{}` is the output of a program", shortened(word)))),
                '$' => {
                    let (value, after) = self.dollar(rest)?;
                    if is_quoted || is_whole {
                        fields.add(&value);
                    } else {
                        fields.add_split(&value);
                    }
                    rest = after;
                }
                _ => {
                    let end =
                        rest.find(['"', '\'', '\\', '`', '$']).unwrap_or(rest.len()).max(letter.len_utf8());
                    fields.add(&rest[..end]);
                    rest = &rest[end..];
                }
            }
        }
        Ok(())
    }

    /// Expands what begins with `$`; returns the value and the text after it.
    fn dollar<'t>(&self, text: &'t str) -> Result<(String, &'t str), Unexpanded> {
        let after = &text[1..];
        let arithmetic = |inner: &str| {
            evaluate(inner, self.variables).map(|value| value.to_string()).ok_or_else(|| {
                needs_shell(format!("the arithmetic `{}` is not understood", shortened(inner.trim())))
            })
        };
        match after.chars().next() {
            Some('(') => {
                let (inner, rest) = enclosed(after, '(', ')');
                if let Some(sum) = inner.strip_prefix('(').and_then(|sum| sum.strip_suffix(')')) {
                    return Ok((arithmetic(sum)?, rest));
                }
                Ok((self.program(inner)?, rest))
            }
            Some('[') => {
                let (inner, rest) = enclosed(after, '[', ']');
                Ok((arithmetic(inner)?, rest))
            }
            Some('{') => {
                let (inner, rest) = enclosed(after, '{', '}');
                Ok((self.parameter(inner)?, rest))
            }
            _ => {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
                if end == 0 {
                    return Err(needs_shell(format!("`{}` needs a shell", shortened(text))));
                }
                // Arguments of the script are `$1` to `$9`: of `$1mbit`, the rest is text.
                let end = if after.starts_with(|c: char| c.is_ascii_digit()) { 1 } else { end };
                let (name, rest) = after.split_at(end);
                Ok((self.value(name)?, rest))
            }
        }
    }

    fn value(&self, name: &str) -> Result<String, Unexpanded> {
        self.variables
            .get(name)
            .cloned()
            .ok_or_else(|| Unexpanded { message: self.variables.why_unknown(name), needs_shell: false })
    }

    /// Expands `${NAME}` and `${NAME:-DEFAULT}`.
    fn parameter(&self, inner: &str) -> Result<String, Unexpanded> {
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
        let (name, operator) = inner.split_at(end);
        if operator.is_empty() {
            return self.value(name);
        }
        let default = [":-", ":=", "-", "="].iter().find_map(|sign| operator.strip_prefix(sign));
        let Some(default) = default else {
            return Err(needs_shell(format!("`${{{}}}` needs a shell", shortened(inner))));
        };
        match self.variables.get(name).filter(|value| !value.is_empty() || !operator.starts_with(':')) {
            Some(value) => Ok(value.clone()),
            None if self.variables.is_lost(name) => self.value(name),
            None => self.text(default),
        }
    }

    /// Runs `seq FIRST LAST` and `echo WORDS`.
    fn program(&self, inner: &str) -> Result<String, Unexpanded> {
        let unknown = || needs_shell(format!("`$({})` is the output of a program", shortened(inner)));
        // The output goes through other programs, or an option changes it.
        if inner.contains(['|', ';', '&', '<', '>', '`']) || inner.contains(" -n ") || inner.contains(" -e ")
        {
            return Err(unknown());
        }
        let mut words = inner.split_whitespace();
        match words.next() {
            Some("echo") => {
                words.map(|word| self.text(word)).collect::<Result<Vec<_>, _>>().map(|all| all.join(" "))
            }
            Some("seq") => {
                let numbers: Result<Vec<_>, _> = words.map(|word| self.text(word)).collect();
                let numbers: Option<Vec<i64>> = numbers?.iter().map(|word| word.parse().ok()).collect();
                let (first, step, last) = match numbers.as_deref() {
                    Some([last]) => (1, 1, *last),
                    Some([first, last]) => (*first, 1, *last),
                    Some([first, step, last]) => (*first, *step, *last),
                    _ => return Err(unknown()),
                };
                if step <= 0 || last.saturating_sub(first) / step > 65_536 {
                    return Err(unknown());
                }
                let count = if last < first { 0 } else { last.saturating_sub(first) / step + 1 };
                let all = (0..count).map(|index| (first + step * index).to_string());
                Ok(all.collect::<Vec<_>>().join(" "))
            }
            _ => Err(unknown()),
        }
    }
}

/// Splits `(inner)rest`.
fn enclosed(text: &str, open: char, close: char) -> (&str, &str) {
    let mut depth = 0_usize;
    for (index, letter) in text.char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == close {
            depth -= 1;
            if depth == 0 {
                return (&text[1..index], &text[index + 1..]);
            }
        }
    }
    (&text[1..], "")
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
