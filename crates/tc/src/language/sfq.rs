//! `sfq` (tc-sfq(8)).

use super::Language;
use super::sort::{Sort, U32};
use super::word::{When, Word, flag, number, packets, size, word, words};
use crate::value::ValueType;

pub(super) const SFQ: Language = Language::new("sfq", WORDS).fixed();

const WORDS: &[Word] = words! {
    packets: "limit";
    = word("perturb", ValueType::Seconds, Sort::Signed(0)).limits(0.0, u32::MAX as f64);
    size: "quantum".zero_is_none();
    number: "divisor".limits(0.0, 65_536.0).left_out_when(When::With("0"), "it is the default")
        "flows".zero_is_none() "depth".zero_is_none();
    flag: "headdrop";
    size: "redflowlimit".read_as(U32) "min".read_as(U32) "max".read_as(U32) "avpkt";
    number: "burst";
    = word("probability", ValueType::Real, Sort::Share);
    flag: "ecn" "harddrop";
};
