//! Bands: `prio` (tc-prio(8)), `pfifo_fast` (tc-pfifo_fast(8)) and `ets` (tc-ets(8)).

use super::sort::Sort;
use super::word::{Meaning, Word, number, only, size, word, words};
use super::{Classes, Language};
use crate::value::ValueType;

pub(super) const PRIO: Language = Language::new("prio", PRIO_WORDS).classes(Classes::Bands);

/// Queue of a device, which takes no words; `tc` prints some.
pub(super) const PFIFO_FAST: Language = Language::new("pfifo_fast", PRIO_WORDS).scenario("prio").wordless();

pub(super) const ETS: Language =
    Language::new("ets", ETS_WORDS).class(&[size("quantum")]).classes(Classes::Bands).since(5, 6);

const PRIO_WORDS: &[Word] = words! {
    number: "bands".read_as(Sort::Signed(10)).limits(2.0, 16.0).sets(Meaning::Tree);
    = word("priomap", ValueType::Numbers, Sort::Bands).sets(Meaning::Tree);
    only(Sort::Flag): "multiqueue";
};

const ETS_WORDS: &[Word] = words! {
    number: "bands".sets(Meaning::Tree) "strict";
    = word("quanta", ValueType::Sizes, Sort::Numbers);
    = word("priomap", ValueType::Numbers, Sort::Numbers).sets(Meaning::Tree);
};
