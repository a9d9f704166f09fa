//! Dual queue coupled AQM of L4S.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "dualpi2",
    sentence: "DualPI2: a second queue for L4S traffic, which is marked early; PI2 for the rest",
    unknown: &[Unknown::Target, Unknown::Room, Unknown::Unit],
    simpler: &["pie", "fifo"],
    draws: true,
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let (limit, target) = (setting.limit(), setting.target());
    format!("queue.q = {{ kind = \"dualpi2\", limit = \"{limit}\", target = \"{target}\" }}\n")
}
