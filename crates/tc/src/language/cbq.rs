//! `cbq` (tc-cbq(8)).

use super::sort::{Sort, U32};
use super::word::{Word, cell, flag, link_layer, number, only, rate, size, time, words};
use super::{Classes, Language};

pub(super) const CBQ: Language =
    Language::new("cbq", WORDS).class(CLASS).classes(Classes::ByCommands).until(6, 3);

/// A rate in 32 bits of bytes a second.
const fn rate32(name: &'static str) -> Word {
    rate(name).read_as(Sort::LineRate32)
}

const WORDS: &[Word] = words! {
    rate32: "bandwidth";
    size: "avpkt";
    = cell();
    size: "mpu";
    number: "ewma";
    = link_layer();
    // The parser reads words of classes, too.
    only(Sort::LineRate32): "rate" "weight";
    only(U32): "prio";
    only(Sort::Size): "allot";
    only(U32): "maxburst" "minburst";
    only(Sort::Time): "minidle";
    only(Sort::Flag): "bounded" "isolated";
};

const CLASS: &[Word] = words! {
    rate32: "bandwidth" "rate" "weight";
    number: "prio";
    size: "allot" "avpkt";
    = cell();
    size: "mpu";
    number: "ewma" "maxburst" "minburst";
    time: "minidle";
    flag: "bounded" "isolated";
    = link_layer();
};
