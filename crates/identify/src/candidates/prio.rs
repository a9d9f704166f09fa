//! Strict priority by code point, a FIFO for each of three classes.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "prio",
    sentence: "a queue for each class of service, the most urgent always first",
    unknown: &[Unknown::Wait, Unknown::Unit],
    simpler: &["drr", "fifo"],
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let limit = setting.limit();
    let fifo = format!("kind = \"fifo\", limit = \"{limit}\"");
    format!(
        "root = \"q\"\nqueue.q = {{ kind = \"prio\", children = [\"urgent\", \"usual\", \"late\"] }}\n\
         queue.urgent = {{ {fifo}, match = [{{ dscp = \"EF\" }}] }}\nqueue.usual = {{ {fifo}, match = [{{ dscp = 0 }}] }}\n\
         queue.late = {{ {fifo} }}\n"
    )
}
