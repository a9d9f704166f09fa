//! `pie` (tc-pie(8)) and `fq_pie` (tc-fq_pie(8)).

use super::Language;
use super::sort::Sort;
use super::word::{Word, flag, number, packets, size, switch, time, words};

pub(super) const PIE: Language = Language::new("pie", PIE_WORDS).keeps_settings();

pub(super) const FQ_PIE: Language = Language::new("fq_pie", FQ_PIE_WORDS).keeps_settings().since(5, 6);

const fn gain(name: &'static str) -> Word {
    number(name).read_as(Sort::Whole(0, 32))
}

const fn no_estimator() -> Word {
    flag("no_dq_rate_estimator").left_out("waits are measured here")
}

const PIE_WORDS: &[Word] = words! {
    packets: "limit".zero_is_none();
    time: "target".zero_is_none() "tupdate".zero_is_none();
    gain: "alpha".zero_is_none() "beta".zero_is_none();
    switch: "ecn" "bytemode";
    flag: "dq_rate_estimator";
    = no_estimator();
};

const FQ_PIE_WORDS: &[Word] = words! {
    packets: "limit".zero_is_none();
    number: "flows".zero_is_none();
    time: "target".zero_is_none() "tupdate".zero_is_none();
    gain: "alpha".zero_is_none() "beta".zero_is_none();
    size: "quantum".zero_is_none() "memory_limit".zero_is_none();
    number: "ecn_prob".zero_is_none();
    switch: "ecn" "bytemode";
    flag: "dq_rate_estimator";
    = no_estimator();
};
