//! CAKE with its shaper and three tins.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "cake",
    sentence: "CAKE: a queue for each flow, with tins by code point and a control law in each",
    unknown: &[Unknown::Interval],
    simpler: &["fq_codel", "sfq"],
    has_bucket: true,
    is_fair: true,
    draws: true,
    queues,
};

fn queues(setting: &Setting) -> String {
    let (rate, rtt) = (setting.rate(), setting.interval());
    format!("queue.q = {{ kind = \"cake\", bandwidth = \"{rate}\", rtt = \"{rtt}\" }}\n")
}
