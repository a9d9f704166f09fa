//! Rounds of classes: `drr` (tc-drr(8)) and `qfq` (systemd.network(5) has its limits).

use super::sort::DECIMAL;
use super::word::{Word, number, size, words};
use super::{Classes, Language};

pub(super) const DRR: Language =
    Language::new("drr", &[]).class(&[size("quantum")]).classes(Classes::ByCommands);

pub(super) const QFQ: Language = Language::new("qfq", &[]).class(QFQ_CLASS).classes(Classes::ByCommands);

const QFQ_CLASS: &[Word] = words! {
    number: "weight".read_as(DECIMAL).short(1).limits(1.0, 1024.0);
    size: "maxpkt".read_as(DECIMAL).short(1).limits(512.0, 65_536.0);
};
