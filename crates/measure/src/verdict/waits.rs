//! Sentence on where packets waited longest, and where most were dropped.

use std::collections::BTreeSet;

use serde::Serialize;

use super::words;
use crate::figures;
use crate::monitor::{self, Condition};
use crate::summary::{Distribution, QueueSummary, Summary};

/// A queue, and its port.
pub(super) struct Leaf<'a> {
    pub(super) port: &'a str,
    name: &'a str,
    pub(super) queue: &'a QueueSummary,
}

impl Leaf<'_> {
    fn words(&self) -> String {
        words::queue(self.port, self.name, &self.queue.kind)
    }
}

/// Formats a share of the packets that a queue handled.
fn drop_share(queue: &QueueSummary, dropped: u64) -> String {
    figures::ratio(Some(dropped as f64 / queue.handled_packets().max(1) as f64))
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
    /// Statistic of the wait: `p99`, or `largest` if no queue has a p99 above 0.
    pub statistic: &'static str,
    /// Time in the queue, in seconds.
    pub wait_s: f64,
}

impl Wait {
    /// Returns the queue in which packets of a run waited longest; `None` if none waited.
    pub fn longest(summary: &Summary) -> Option<Self> {
        let leaves = leaves(summary);
        let (wait_s, statistic, leaf) = longest(&leaves)?;
        let (port, queue) = (leaf.port.to_owned(), leaf.name.to_owned());
        Some(Self { port, queue, kind: leaf.queue.kind.clone(), statistic, wait_s })
    }

    /// Returns the queue in words: `the fifo at isp:modem`.
    pub fn queue_in_words(&self) -> String {
        words::queue(&self.port, &self.queue, &self.kind)
    }
}

/// Returns the longest wait, its statistic and its queue: of the 99th percentiles, or of the largest waits if
/// fewer than one packet in a hundred waited in every queue.
fn longest<'a>(leaves: &'a [Leaf<'a>]) -> Option<(f64, &'static str, &'a Leaf<'a>)> {
    let by = |of: fn(&Distribution) -> (Option<f64>, &'static str)| {
        let waits = leaves.iter().filter_map(|leaf| {
            let (wait, statistic) = of(&leaf.queue.sojourn_s);
            Some((wait.filter(|wait| *wait > 0.0)?, statistic, leaf))
        });
        waits.max_by(|one, other| one.0.total_cmp(&other.0))
    };
    let largest = |sojourn: &Distribution| (sojourn.max, "largest");
    by(|sojourn| match sojourn.p99 {
        Some(wait) => (Some(wait), "p99"),
        None => (sojourn.max, "largest"),
    })
    .or_else(|| by(largest))
}

/// Returns the queue that dropped most packets itself, and how many: a queue counts those of the queues below
/// it, too, but a policer or a shaper drops some of its own. `None` if none was dropped.
fn most_dropped(summary: &Summary) -> Option<(Leaf<'_>, u64)> {
    let all = summary.ports.iter().flat_map(|(port, results)| {
        results.queues.iter().map(move |(name, queue)| {
            let below = results.queues.values().filter(|below| below.parent.as_ref() == Some(name));
            let below: u64 = below.map(|below| below.dropped_packets).sum();
            (Leaf { port, name, queue }, queue.dropped_packets.saturating_sub(below))
        })
    });
    all.filter(|(_, dropped)| *dropped > 0).max_by_key(|(_, dropped)| *dropped)
}

/// Returns what is worth a trial in place of the queue in which packets waited longest, if it hurts.
pub(super) fn advice(summary: &Summary) -> Option<String> {
    let leaves = leaves(summary);
    let (wait, _, worst) = longest(&leaves)?;
    let loss = worst.queue.dropped_packets as f64 / worst.queue.handled_packets().max(1) as f64;
    let condition = Condition { wait_s: Some(wait), loss, ..Condition::default() };
    condition.pain().and_then(|_| monitor::advice(&worst.queue.kind))
}

/// Returns true if a queue's tree was replaced, and did not come back.
fn is_replaced(summary: &Summary, leaf: &Leaf<'_>) -> bool {
    let queues = summary.ports.get(leaf.port).map(|port| &port.queues);
    let parent = |name: &&str| queues?.get(*name)?.parent.as_deref();
    let root = core::iter::successors(Some(leaf.name), parent).last();
    let set = format!("{} = ", leaf.port);
    let changes = summary.phases.iter().flat_map(|phase| &phase.changes);
    let last = changes.filter_map(|change| change.strip_prefix(&set)).next_back();
    leaf.queue.moved_out_packets > 0 && (last.is_none() || last != root)
}

/// Returns the sentence on the queue in which packets waited longest, with its drops, and on the queue that
/// dropped most, if it is another.
pub fn longest_wait(summary: &Summary) -> String {
    let leaves = leaves(summary);
    let longest = longest(&leaves);
    let other = most_dropped(summary)
        .filter(|(most, _)| !longest.is_some_and(|(.., worst)| core::ptr::eq(most.queue, worst.queue)))
        .map_or_else(String::new, |(most, dropped)| {
            format!("; {} dropped {dropped} ({})", most.words(), drop_share(most.queue, dropped))
        });
    let Some((wait, statistic, worst)) = longest else {
        return format!("No packet waited in a queue{other}.");
    };
    let wait = figures::seconds(Some(wait));
    let dropped = match worst.queue.dropped_packets {
        0 => "nothing dropped there".to_owned(),
        dropped => format!("{} dropped there", drop_share(worst.queue, dropped)),
    };
    let swapped = if is_replaced(summary, worst) { " until it was replaced" } else { "" };
    format!("Longest wait: {wait} ({statistic}) in {}{swapped}, {dropped}{other}.", worst.words())
}
