//! FIFOs: `pfifo`, `pfifo_head_drop` and `bfifo` (tc-fifo(8)).

use super::Language;
use super::sort::Sort;
use super::word::{Word, packets, size, words};

pub(super) const PFIFO: Language = Language::new("pfifo", PACKETS).scenario("fifo");

pub(super) const PFIFO_HEAD_DROP: Language = Language { name: "pfifo_head_drop", ..PFIFO };

pub(super) const BFIFO: Language = Language::new("bfifo", &[size("limit")]).scenario("fifo");

const PACKETS: &[Word] = words! {
    packets: "limit".read_as(Sort::Size);
};
