//! Token bucket with a queue, as tbf and a class of htb have it.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "shaper",
    sentence: "a token bucket that lets a burst pass at once and queues the rest in one queue",
    unknown: &[Unknown::Bucket, Unknown::Wait, Unknown::Unit],
    simpler: &["fifo"],
    has_bucket: true,
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let (rate, burst, limit) = (setting.rate(), setting.bucket(), setting.limit());
    format!("queue.q = {{ kind = \"tbf\", rate = \"{rate}\", burst = \"{burst}\", limit = \"{limit}\" }}\n")
}
