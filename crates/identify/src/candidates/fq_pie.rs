//! Fair queueing with PIE in each queue.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "fq_pie",
    sentence: "a queue for each flow, each with PIE",
    unknown: &[Unknown::Target, Unknown::Room, Unknown::Unit, Unknown::Flavour],
    simpler: &["sfq"],
    is_fair: true,
    draws: true,
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let (limit, target, flavour) = (setting.limit(), setting.target(), setting.flavour());
    format!(
        "queue.q = {{ kind = \"fq_pie\", limit = \"{limit}\", target = \"{target}\", flavour = \"{flavour}\" }}\n"
    )
}
