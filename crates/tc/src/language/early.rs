//! Disciplines that drop by an average: `red` (tc-red(8)) and `choke` (tc-choke(8)).

use super::sort::Sort;
use super::word::{Word, flag, number, only, packets, rate, size, word, words};
use super::{Classes, Language};
use crate::value::ValueType;

pub(super) const RED: Language = Language::new("red", RED_WORDS).classes(Classes::One);

pub(super) const CHOKE: Language = Language::new("choke", CHOKE_WORDS);

const RED_WORDS: &[Word] = words! {
    size: "limit" "min" "max" "avpkt";
    number: "burst";
    rate: "bandwidth".read_as(Sort::LineRate32);
    = word("probability", ValueType::Real, Sort::Share);
    flag: "ecn" "harddrop" "adaptive" "nodrop";
    only(Sort::Flag): "adaptative";
    only(Sort::Any): "qevent";
};

const CHOKE_WORDS: &[Word] = words! {
    packets: "limit".limits(0.0, 131_071.0) "min" "max";
    size: "avpkt";
    number: "burst";
    rate: "bandwidth".read_as(Sort::LineRate32);
    = word("probability", ValueType::Real, Sort::Real);
    flag: "ecn";
};
