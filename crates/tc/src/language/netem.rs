//! `netem` (tc-netem(8)), the line behind a device. Its values are of several words, which `parse` and
//! `judge` read.

use super::sort::Sort;
use super::word::{Word, only, packets, rate, time, word, words};
use super::{Classes, Language};
use crate::value::ValueType;

pub(super) const NETEM: Language = Language::new("netem", WORDS).classes(Classes::One).device();

/// Distributions of a delay whose curve is known; `paretonormal` is a table of the tool's own.
const DISTRIBUTIONS: &[&str] = &["uniform", "normal", "pareto"];

const WORDS: &[Word] = words! {
    packets: "limit".read_as(Sort::Size);
    time: "delay".read_as(Sort::Ticks).aka(&["latency"]);
    = word("loss", ValueType::Percent, Sort::Percent).aka(&["drop"]);
    only(Sort::Flag): "ecn";
    = word("reorder", ValueType::Percent, Sort::Percent);
    only(Sort::Percent): "corrupt";
    only(Sort::Whole(0, u32::MAX as u64)): "gap";
    = word("duplicate", ValueType::Percent, Sort::Percent);
    = word("distribution", ValueType::Choice(DISTRIBUTIONS), Sort::Any);
    rate: "rate";
    = word("slot", ValueType::Time, Sort::Any);
};
