//! `CoDel` (RFC 8289).

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "codel",
    sentence: "one queue with CoDel: drops at the head ever faster while the delay stays above a target",
    unknown: &[Unknown::Target, Unknown::Room, Unknown::Unit, Unknown::Interval],
    simpler: &["fifo", "fifo-head"],
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let (limit, target, interval) = (setting.limit(), setting.target(), setting.interval());
    format!(
        "queue.q = {{ kind = \"codel\", limit = \"{limit}\", target = \"{target}\", interval = \"{interval}\" }}\n"
    )
}
