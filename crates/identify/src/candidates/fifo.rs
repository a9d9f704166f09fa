//! First in, first out; full, it drops at the tail.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "fifo",
    sentence: "one queue for all, which drops the packet that arrives when it is full",
    unknown: &[Unknown::Wait, Unknown::Unit],
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let limit = setting.limit();
    format!("queue.q = {{ kind = \"fifo\", limit = \"{limit}\" }}\n")
}
