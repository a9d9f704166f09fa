//! Fair queueing with `CoDel` in each queue.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "fq_codel",
    sentence: "a queue for each flow, each with CoDel",
    unknown: &[Unknown::Target, Unknown::Room, Unknown::Unit, Unknown::Interval],
    simpler: &["sfq"],
    is_fair: true,
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let (limit, target, interval) = (setting.limit(), setting.target(), setting.interval());
    format!(
        "queue.q = {{ kind = \"fq_codel\", limit = \"{limit}\", target = \"{target}\", interval = \"{interval}\" }}\n"
    )
}
