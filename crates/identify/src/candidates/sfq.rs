//! Stochastic fair queueing.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "sfq",
    sentence: "a queue for each flow, served in turn; the longest one drops",
    unknown: &[Unknown::Wait],
    is_fair: true,
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let packets = (setting.wait * setting.rate / 8.0 / 1442.0).max(2.0) as u64;
    format!(
        "queue.q = {{ kind = \"sfq\", limit = \"{packets}p\", depth = {packets}, divisor = 1024, quantum = \"1514B\" }}\n"
    )
}
