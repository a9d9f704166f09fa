//! Widths of texts in columns of a terminal: cutting and wrapping.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the number of columns of a line.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Returns a line of at most `columns` columns; one that is cut ends with `…`.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = head(text, columns.saturating_sub(1)).to_owned();
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Returns the longest start of a line that has at most `columns` columns.
fn head(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, letter)| {
        taken += letter.width().unwrap_or(0);
        taken > columns
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// Returns a text in lines of at most `columns` columns, broken between words; the second and later lines of
/// each line of the text begin with `indent`. A longer word is broken itself.
pub fn wrapped(text: &str, columns: usize, indent: &str) -> Vec<String> {
    let columns = columns.max(width(indent) + 1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        // Its own indentation stays, and is that of all its lines.
        let own = &paragraph[..paragraph.len() - paragraph.trim_start().len()];
        let mut line = own.to_owned();
        let mut is_empty = true;
        for word in words(paragraph) {
            if !is_empty && width(&line) + 1 + width(word) > columns {
                lines.push(std::mem::replace(&mut line, format!("{own}{indent}")));
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            let mut rest = word;
            while width(&line) + width(rest) > columns {
                let part = head(rest, columns.saturating_sub(width(&line)));
                if part.is_empty() {
                    break;
                }
                line.push_str(part);
                rest = &rest[part.len()..];
                lines.push(std::mem::replace(&mut line, format!("{own}{indent}")));
            }
            line.push_str(rest);
            is_empty = false;
        }
        lines.push(line);
    }
    lines
}

/// Returns the words of a paragraph; a number and its unit are one, such as `0.36 %`.
fn words(paragraph: &str) -> impl Iterator<Item = &str> {
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let mut rest = paragraph.trim();
    std::iter::from_fn(move || {
        let mut end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if is_number(&rest[..end]) && rest[end..].starts_with(' ') {
            let unit = &rest[end + 1..];
            end += 1 + unit.find(char::is_whitespace).unwrap_or(unit.len());
        }
        let (word, after) = rest.split_at(end);
        rest = after.trim_start();
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_by_its_columns() {
        assert_eq!(cut("router:client", 8), "router:…");
        assert_eq!(cut("router", 6), "router");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("x", 0), "");
    }

    #[test]
    fn lines_break_between_words_and_within_long_ones() {
        let lines = wrapped("one two three four", 9, "  ");
        assert_eq!(lines, ["one two", "  three", "  four"]);
        assert_eq!(wrapped("it is 0.36 % dropped", 11, ""), ["it is", "0.36 %", "dropped"]);
        assert_eq!(wrapped("abcdefghij", 4, "  "), ["abcd", "  ef", "  gh", "  ij"]);
        assert_eq!(wrapped("  a b\n\nc", 3, ""), ["  a", "  b", "", "c"]);
        assert_eq!(wrapped("日本", 1, ""), ["日本"], "a letter that does not fit is not lost");
        for columns in 1..30 {
            let lines = wrapped("the call waits 950 ms, and 12345678901234567890", columns, " ");
            let letters: String = lines.concat().split_whitespace().collect();
            assert_eq!(letters, "thecallwaits950ms,and12345678901234567890", "{columns}");
            assert!(lines.iter().all(|line| width(line) <= columns.max(2)), "{columns}: {lines:?}");
        }
    }
}
