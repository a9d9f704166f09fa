//! Queues of a sample of a running router as text: which one hurts, and the counters of each.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use lockgate_measure::monitor::{Condition, PortSample, QueueSample, Sample, worst};

use super::lines::Lines;
use super::visible;
use crate::figures;

/// Queues up to which all are shown, and those shown of more, beside the roots.
const QUEUES_SHOWN: usize = 40;
const SHOWN: usize = 20;

/// Adds the queue that hurts, and the counters of the queues: of many, unless `is_all`, those of the roots
/// and the worst.
pub fn queues(sample: &Sample, is_all: bool, lines: &mut Lines) {
    lines.line(&match worst(sample) {
        Some(hurt) if hurt.hurts() => format!("HURTS: {}", visible(&hurt.advised())),
        Some(hurt) => format!("no queue hurts; the worst: {}", visible(&hurt.to_string())),
        None => format!("no frame in the last {}", figures::seconds(Some(sample.interval_s))),
    });
    let queues = sample.ports.iter().flat_map(|port| port.queues.iter().map(move |queue| (port, queue)));
    let all: Vec<(&PortSample, &QueueSample)> = queues.collect();
    let shown =
        if is_all || all.len() <= QUEUES_SHOWN { all.clone() } else { worst_of(&all, sample.interval_s) };
    if shown.len() < all.len() {
        let (shown, all) = (shown.len(), all.len());
        lines.heading(&format!("the roots and the worst of {all} queues ({shown} shown; --all shows all)"));
    } else {
        lines.line("");
    }
    let rows: Vec<Vec<String>> = shown.iter().map(|(port, queue)| row(port, queue)).collect();
    lines.table(
        &["port", "queue", "kind", "sent", "now", "waiting", "p99", "dropped", "now", "marked"],
        &rows,
    );
}

/// Returns the roots, and the leaves that hurt most, in the order of the sample; of equal ones those that
/// drop and hold most.
fn worst_of<'a>(
    all: &[(&'a PortSample, &'a QueueSample)],
    interval_s: f64,
) -> Vec<(&'a PortSample, &'a QueueSample)> {
    let parents: BTreeSet<(usize, u32)> =
        all.iter().filter_map(|(port, queue)| Some((port.index, queue.parent?))).collect();
    let mut leaves: Vec<usize> = (0..all.len())
        .filter(|index| !parents.contains(&(all[*index].0.index, all[*index].1.index)))
        .collect();
    leaves.sort_by_key(|index| {
        let queue = all[*index].1;
        let badness = Condition::of_queue(queue, interval_s).badness();
        Reverse(((badness * 1e6) as u64, queue.dropped_packets, queue.packets, queue.total.dropped_packets))
    });
    leaves.truncate(SHOWN);
    let kept: BTreeSet<usize> = leaves.into_iter().collect();
    let is_kept = |index: usize, queue: &QueueSample| queue.parent.is_none() || kept.contains(&index);
    let shown = all.iter().enumerate().filter(|(index, (_, queue))| is_kept(*index, queue));
    shown.map(|(_, pair)| *pair).collect()
}

fn row(port: &PortSample, queue: &QueueSample) -> Vec<String> {
    vec![
        port.name.clone(),
        queue.name.clone(),
        queue.kind.clone().into_owned(),
        figures::count(queue.total.sent_packets, "packet"),
        figures::rate(Some(queue.sent_bps)),
        figures::count(queue.packets, "packet"),
        figures::seconds(queue.sojourn_p99_s),
        queue.total.dropped_packets.to_string(),
        queue.dropped_packets.to_string(),
        queue.total.marked_packets.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_queues_the_roots_and_the_worst_leaves_are_shown() {
        let queue = |index: u32| QueueSample {
            index,
            parent: (index > 0).then_some(0),
            dropped_packets: u64::from(index == 90),
            packets: u64::from(index),
            ..QueueSample::default()
        };
        let port = PortSample { queues: (0..100).map(queue).collect(), ..PortSample::default() };
        let all: Vec<_> = port.queues.iter().map(|queue| (&port, queue)).collect();
        let shown: Vec<u32> = worst_of(&all, 1.0).iter().map(|(_, queue)| queue.index).collect();
        let expected: Vec<u32> = [0].into_iter().chain(80..100).collect();
        assert_eq!(shown, expected);
    }
}
