//! First in, first out; full, it drops at the head.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "fifo-head",
    sentence: "one queue for all, which drops the oldest packet when it is full",
    unknown: &[Unknown::Wait, Unknown::Unit],
    simpler: &["fifo"],
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let limit = setting.limit();
    format!("queue.q = {{ kind = \"fifo\", limit = \"{limit}\", overflow = \"head\" }}\n")
}
