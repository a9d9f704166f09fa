//! Deficit round robin between three classes by code point.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "drr",
    sentence: "a queue for each class of service, served in turn",
    unknown: &[Unknown::Wait, Unknown::Unit],
    simpler: &["fifo", "sfq"],
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let limit = setting.limit();
    let fifo = format!("kind = \"fifo\", limit = \"{limit}\"");
    format!(
        "root = \"q\"\nqueue.q = {{ kind = \"drr\", children = [\"urgent\", \"usual\", \"late\"] }}\n\
         queue.urgent = {{ {fifo}, match = [{{ dscp = \"EF\" }}] }}\nqueue.usual = {{ {fifo}, match = [{{ dscp = 0 }}] }}\n\
         queue.late = {{ {fifo} }}\n"
    )
}
