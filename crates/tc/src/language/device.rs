//! Kinds that are a device's, and hold no queue of their own: hooks of filters, transmit queues, none.

use super::sort::Sort;
use super::word::{Word, number, only, words};
use super::{Classes, Language};

pub(super) const CLSACT: Language = Language::new("clsact", BLOCKS).hook();

pub(super) const INGRESS: Language = Language::new("ingress", INGRESS_WORDS).hook();

pub(super) const MQ: Language = Language::new("mq", &[]).classes(Classes::Any).device().at_root();

pub(super) const NOQUEUE: Language = Language::new("noqueue", &[]).device().at_root();

/// Block of filters that several devices share: the parser takes it before the kind only.
const fn block(name: &'static str) -> Word {
    number(name).read_as(Sort::Unread)
}

const BLOCKS: &[Word] = words! {
    block: "ingress_block" "egress_block";
};

const INGRESS_WORDS: &[Word] = words! {
    block: "ingress_block" "egress_block";
    only(Sort::Any): "handle";
};
