//! Sentence on where packets waited longest, and where most were dropped.

use std::collections::BTreeSet;

use super::words;
use crate::figures;
use crate::summary::{QueueSummary, Summary};

/// A queue with none below it, and its port.
struct Leaf<'a> {
    port: &'a str,
    name: &'a str,
    queue: &'a QueueSummary,
}

impl Leaf<'_> {
    fn words(&self) -> String {
        words::queue(self.port, self.name, &self.queue.kind)
    }

    fn drop_share(&self) -> String {
        let offered = (self.queue.enqueued_packets + self.queue.moved_in_packets).max(1);
        figures::ratio(Some(self.queue.dropped_packets as f64 / offered as f64))
    }
}

/// Returns the queues with none below them: a packet that waits in a queue also waits in those above it.
fn leaves(summary: &Summary) -> Vec<Leaf<'_>> {
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

/// Returns the sentence on the queue in which packets waited longest, with its drops, and on the queue that
/// dropped most, if it is another.
pub fn longest_wait(summary: &Summary) -> String {
    let leaves = leaves(summary);
    let waits = leaves.iter().filter_map(|leaf| {
        let wait = leaf.queue.sojourn_s.p99.or(leaf.queue.sojourn_s.max).filter(|wait| *wait > 0.0)?;
        Some((wait, leaf))
    });
    let Some((wait, worst)) = waits.max_by(|one, other| one.0.total_cmp(&other.0)) else {
        return "No packet waited in a queue.".to_owned();
    };
    let wait = figures::seconds(Some(wait));
    let statistic = if worst.queue.sojourn_s.p99.is_some() { "p99" } else { "largest" };
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
