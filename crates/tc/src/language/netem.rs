//! `netem` (tc-netem(8)), the line behind a device. Its values are of several words, which `parse` and
//! `judge` read.

use super::sort::Sort;
use super::word::{Word, only, packets, rate, time, word, words};
use super::{Classes, Language};
use crate::value::ValueType;

pub(super) const NETEM: Language = Language::new("netem", WORDS).classes(Classes::One).device();

const WORDS: &[Word] = words! {
    packets: "limit".read_as(Sort::Size);
    time: "delay".read_as(Sort::Ticks).aka(&["latency"]);
    = word("loss", ValueType::Percent, Sort::Percent).aka(&["drop"]);
    only(Sort::Flag): "ecn";
    only(Sort::Percent): "reorder" "corrupt";
    only(Sort::Whole(0, u32::MAX as u64)): "gap";
    only(Sort::Percent): "duplicate";
    only(Sort::Any): "distribution";
    rate: "rate";
    only(Sort::Any): "slot";
};
