//! Random early detection with Linux' arithmetic, and the mean packet that tc-red(8) advises.

use super::{Candidate, Setting, Unknown};

pub(super) const CANDIDATE: Candidate = Candidate {
    name: "red",
    sentence: "one queue with random early detection: random drops that grow with the average backlog",
    unknown: &[Unknown::Threshold, Unknown::Probability, Unknown::Low],
    simpler: &["fifo"],
    draws: true,
    queues,
    ..Candidate::DEFAULT
};

fn queues(setting: &Setting) -> String {
    let bytes = |wait: f64| (wait * setting.rate / 8.0) as u64;
    let max = bytes(setting.target).max(4600);
    let limit = bytes(setting.wait * 1.5).max(4 * max);
    let (rate, percent) = (setting.rate(), setting.probability * 100.0);
    format!(
        "queue.q = {{ kind = \"red\", min = \"{}B\", max = \"{max}B\", limit = \"{limit}B\", avpkt = \"1000B\", \
         probability = \"{percent}%\", bandwidth = \"{rate}\" }}\n",
        (max as f64 * setting.low) as u64
    )
}
