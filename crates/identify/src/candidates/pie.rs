//! PIE.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "pie",
    sentence: "one queue with PIE: random drops that hold the delay at a target",
    unknown: &[Unknown::Target, Unknown::Room, Unknown::Unit, Unknown::Flavour],
    simpler: &["fifo"],
    draws: true,
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let (limit, target, flavour) = (setting.limit(), setting.target(), setting.flavour());
    format!(
        "queue.q = {{ kind = \"pie\", limit = \"{limit}\", target = \"{target}\", flavour = \"{flavour}\" }}\n"
    )
}
