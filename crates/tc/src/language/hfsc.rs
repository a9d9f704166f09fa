//! `hfsc` (tc-hfsc(8)).

use super::sort::Sort;
use super::word::{Meaning, Word, word, words};
use super::{Classes, Language};
use crate::value::ValueType;

pub(super) const HFSC: Language = Language::new("hfsc", WORDS).class(CLASS).classes(Classes::ByCommands);

const WORDS: &[Word] = words! {
    = word("default", ValueType::Minor, Sort::Whole(16, 0xffff)).short(1).once().sets(Meaning::Tree);
};

const fn curve(name: &'static str) -> Word {
    word(name, ValueType::Curve, Sort::Curve).short(1)
}

const CLASS: &[Word] = words! {
    curve: "sc".sets(Meaning::Parameters(&["rt", "ls"])) "rt" "ls" "ul";
};
