//! Sentence on where packets waited longest, and where most were dropped.

use std::collections::BTreeSet;

use serde::Serialize;

use super::words;
use crate::figures;
use crate::monitor::{self, Condition};
use crate::summary::{QueueSummary, Summary};

/// A queue with none below it, and its port.
pub(super) struct Leaf<'a> {
    pub(super) port: &'a str,
    name: &'a str,
    pub(super) queue: &'a QueueSummary,
}

impl Leaf<'_> {
    fn words(&self) -> String {
        words::queue(self.port, self.name, &self.queue.kind)
    }

    fn statistic(&self) -> &'static str {
        if self.queue.sojourn_s.p99.is_some() { "p99" } else { "largest" }
    }

    fn drop_share(&self) -> String {
        let all = self.queue.handled_packets().max(1);
        figures::ratio(Some(self.queue.dropped_packets as f64 / all as f64))
    }
}

/// Returns the queues with none below them: a packet that waits in a queue also waits in those above it.
pub(super) fn leaves(summary: &Summary) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    for (port, results) in &summary.ports {
        let parents: BTreeSet<&str> =
            results.queues.values().filter_map(|queue| queue.parent.as_deref()).collect();
        for (name, queue) in &results.queues {
            if !parents.contains(name.as_str()) {
                found.push(Leaf { port, name, queue });
            }
        }
    }
    found
}

/// Queue in which packets waited longest, and how long.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// Port.
    pub port: String,
    /// Name of the queue.
    pub queue: String,
    /// Discipline of the queue.
    pub kind: String,
    /// Statistic of the wait: `p99`, or `largest` of a queue that has no percentiles.
    pub statistic: &'static str,
    /// Time in the queue, in seconds.
    pub wait_s: f64,
}

impl Wait {
    /// Returns the queue in which packets of a run waited longest; `None` if none waited.
    pub fn longest(summary: &Summary) -> Option<Self> {
        let leaves = leaves(summary);
        let (wait_s, leaf) = longest(&leaves)?;
        let (port, queue) = (leaf.port.to_owned(), leaf.name.to_owned());
        Some(Self { port, queue, kind: leaf.queue.kind.clone(), statistic: leaf.statistic(), wait_s })
    }

    /// Returns the queue in words: `the fifo at isp:modem`.
    pub fn queue_in_words(&self) -> String {
        words::queue(&self.port, &self.queue, &self.kind)
    }
}

fn longest<'a>(leaves: &'a [Leaf<'a>]) -> Option<(f64, &'a Leaf<'a>)> {
    let waits = leaves.iter().filter_map(|leaf| {
        let wait = leaf.queue.sojourn_s.p99.or(leaf.queue.sojourn_s.max).filter(|wait| *wait > 0.0)?;
        Some((wait, leaf))
    });
    waits.max_by(|one, other| one.0.total_cmp(&other.0))
}

/// Returns what is worth a trial in place of the queue in which packets waited longest, if it hurts.
pub(super) fn advice(summary: &Summary) -> Option<String> {
    let leaves = leaves(summary);
    let (wait, worst) = longest(&leaves)?;
    let loss = worst.queue.dropped_packets as f64 / worst.queue.handled_packets().max(1) as f64;
    let condition = Condition { wait_s: Some(wait), loss, ..Condition::default() };
    condition.pain().and_then(|_| monitor::advice(&worst.queue.kind))
}

/// Returns the sentence on the queue in which packets waited longest, with its drops, and on the queue that
/// dropped most, if it is another.
pub fn longest_wait(summary: &Summary) -> String {
    let leaves = leaves(summary);
    let Some((wait, worst)) = longest(&leaves) else {
        return "No packet waited in a queue.".to_owned();
    };
    let wait = figures::seconds(Some(wait));
    let statistic = worst.statistic();
    let dropped = match worst.queue.dropped_packets {
        0 => "nothing dropped there".to_owned(),
        _ => format!("{} dropped there", worst.drop_share()),
    };
    let swapped = if worst.queue.moved_out_packets > 0 { " until it was replaced" } else { "" };
    let most = leaves.iter().filter(|leaf| leaf.queue.dropped_packets > 0);
    let most = most.max_by_key(|leaf| leaf.queue.dropped_packets);
    let other = match most {
        Some(leaf) if !core::ptr::eq(leaf.queue, worst.queue) => {
            format!("; {} dropped {} ({})", leaf.words(), leaf.queue.dropped_packets, leaf.drop_share())
        }
        _ => String::new(),
    };
    format!("Longest wait: {wait} ({statistic}) in {}{swapped}, {dropped}{other}.", worst.words())
}
