//! Token bucket without a queue, as tc-police.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "policer",
    sentence: "a token bucket without a queue: what exceeds the burst is dropped at once",
    unknown: &[Unknown::Bucket],
    simpler: &[],
    has_bucket: true,
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let (rate, burst) = (setting.rate(), setting.bucket());
    format!("queue.q = {{ kind = \"policer\", rate = \"{rate}\", burst = \"{burst}\" }}\n")
}
