//! `dualpi2` (tc-dualpi2(8)), which iproute2 6.1 does not have: as its manual page says.

use super::Language;
use super::sort::Sort;
use super::word::{Meaning, Word, number, packets, size, switch, time, value_of, word, words};
use crate::value::ValueType;

pub(super) const DUALPI2: Language = Language::new("dualpi2", WORDS).keeps_settings().since(6, 17);

const SINGLE: &str = "all packets are single frames";

const WORDS: &[Word] = words! {
    packets: "limit";
    size: "memlimit";
    time: "target" "tupdate" "max_rtt" "typical_rtt".sets(Meaning::Parameters(&["target"]));
    = word("alpha", ValueType::Real, Sort::Any);
    = word("beta", ValueType::Real, Sort::Any);
    number: "coupling_factor".read_as(Sort::Whole(0, 255));
    = word("step_thresh", ValueType::Threshold, Sort::Any);
    packets: "min_qlen_step".read_as(Sort::Any);
    = word("classic_protection", ValueType::Percent, Sort::Percent);
    value_of("overload"): "drop_on_overload" "overflow";
    value_of("drop"): "drop_enqueue" "drop_dequeue";
    value_of("ect"): "l4s_ect" "any_ect";
    switch: "split_gso".left_out(SINGLE);
};
