//! `codel` (tc-codel(8)) and `fq_codel` (tc-fq_codel(8)).

use super::Language;
use super::sort::{Sort, U32};
use super::word::{Word, number, only, packets, size, switch, time, words};

pub(super) const CODEL: Language = Language::new("codel", CODEL_WORDS).keeps_settings();

pub(super) const FQ_CODEL: Language = Language::new("fq_codel", FQ_CODEL_WORDS).keeps_settings();

const CODEL_WORDS: &[Word] = words! {
    packets: "limit".zero_is_none();
    time: "target".zero_is_none() "interval".zero_is_none();
    switch: "ecn";
    time: "ce_threshold";
};

const FQ_CODEL_WORDS: &[Word] = words! {
    packets: "limit".zero_is_none();
    number: "flows".limits(0.0, 65_536.0).zero_is_none();
    time: "target".zero_is_none() "interval".zero_is_none();
    size: "quantum".read_as(U32).limits(0.0, 1_048_576.0).zero_is_none();
    switch: "ecn";
    time: "ce_threshold";
    only(Sort::Masked): "ce_threshold_selector";
    size: "memory_limit";
    number: "drop_batch".zero_is_none();
};
