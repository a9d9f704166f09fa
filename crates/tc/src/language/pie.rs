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
    packets: "limit";
    time: "target" "tupdate";
    gain: "alpha" "beta";
    switch: "ecn" "bytemode";
    flag: "dq_rate_estimator";
    = no_estimator();
};

const FQ_PIE_WORDS: &[Word] = words! {
    packets: "limit";
    number: "flows";
    time: "target" "tupdate";
    gain: "alpha" "beta";
    size: "quantum" "memory_limit";
    number: "ecn_prob";
    switch: "ecn" "bytemode";
    flag: "dq_rate_estimator";
    = no_estimator();
};
