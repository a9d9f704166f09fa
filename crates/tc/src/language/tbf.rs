//! `tbf` (tc-tbf(8)).

use super::sort::{Sort, U16};
use super::word::{When, Word, cell, link_layer, rate, size, time, words};
use super::{Classes, Language};

pub(super) const TBF: Language = Language::new("tbf", WORDS).classes(Classes::One);

const WORDS: &[Word] = words! {
    rate: "rate".once();
    size: "burst".read_as(Sort::Cells).short(1).once().aka(&["buffer", "maxburst"])
        "limit".short(1).once();
    time: "latency".once();
    rate: "peakrate".short(1).once();
    size:
        "mtu".read_as(Sort::Cells).once().aka(&["minburst"]).left_out_when(When::Without("peakrate"), "there is no `peakrate`")
        "mpu".once() "overhead".read_as(U16).short(1).once();
    = cell().read_as(Sort::Unread);
    = link_layer().short(1);
};
