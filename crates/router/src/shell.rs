//! Commands that messages recommend: names of interfaces as one word of a shell, whatever they contain.

use std::borrow::Cow;

/// Returns text as one word of a POSIX shell.
pub(crate) fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "._-+".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) && !text.starts_with('-') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_word_each() {
        for plain in ["eth0", "eth0.100", "br-lan", "é"] {
            assert_eq!(word(plain), plain);
        }
        assert_eq!(word("$(id)"), "'$(id)'");
        assert_eq!(word("a;b"), "'a;b'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!((word(""), word("-x")), ("''".into(), "'-x'".into()));
    }
}
