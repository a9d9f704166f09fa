//! Difference between two policies, line by line.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// Longest time spent on a minimal difference; a rougher one is returned after it.
const LONGEST_SEARCH: Duration = Duration::from_millis(500);

/// Longest difference that is returned, in bytes.
const LONGEST_TEXT: usize = 256 << 10;

/// Difference between two texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Unified difference, of 256 KiB at most; empty if the texts are equal.
    pub text: String,
    /// Lines that only the new text has.
    pub added: usize,
    /// Lines that only the old text has.
    pub removed: usize,
}

impl Difference {
    /// Computes the difference of `new` from `old`, with these names in its head.
    pub fn new(old: (&str, &str), new: (&str, &str)) -> Self {
        if old.1 == new.1 {
            return Self::default();
        }
        let difference = TextDiff::configure().timeout(LONGEST_SEARCH).diff_lines(old.1, new.1);
        let count = |tag| difference.iter_all_changes().filter(|change| change.tag() == tag).count();
        let mut text = difference.unified_diff().context_radius(3).header(old.0, new.0).to_string();
        if text.len() > LONGEST_TEXT {
            let end = text[..text.floor_char_boundary(LONGEST_TEXT)].rfind('\n').unwrap_or(0);
            text.truncate(end);
            text.push_str("\n(the rest of the difference is left out)\n");
        }
        Self { text, added: count(ChangeTag::Insert), removed: count(ChangeTag::Delete) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_shown_with_their_names() {
        let difference = Difference::new(("running", "a\nb\nc\n"), ("new.toml", "a\nx\nc\n"));
        assert_eq!((difference.added, difference.removed), (1, 1));
        assert_eq!(difference.text, "--- running\n+++ new.toml\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
        assert_eq!(Difference::new(("a", "same"), ("b", "same")), Difference::default());
    }

    #[test]
    fn a_long_difference_is_cut_at_a_line() {
        let lines =
            |letter: char| (0..40_000).fold(String::new(), |text, line| format!("{text}{letter}é {line}\n"));
        let difference = Difference::new(("old", ""), ("new", &lines('x')));
        assert_eq!(difference.added, 40_000);
        assert!(difference.text.len() <= LONGEST_TEXT + 64);
        assert!(difference.text.ends_with("\n(the rest of the difference is left out)\n"));
    }
}
