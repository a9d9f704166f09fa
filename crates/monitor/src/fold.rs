//! Folding of samples: readers of a large network get the queues and flows with the worst figures, and those
//! that they follow. The whole sample of two thousand subscribers is 4 MB of text.
//!
//! ```text
//! up to 400 queues and 400 flows     as they are
//! beyond                             the 100 worst leaves and 100 worst flows, those followed, the queues
//!                                    above them, percentiles over the members of each group of flows
//! ```
//!
//! Worst: furthest beyond the bounds of what hurts, then most packets dropped in the interval, then the
//! longest backlog.

use std::cmp::Reverse;
use std::sync::Arc;

use lockgate_measure::monitor::{Condition, FlowSample, LeftOut, PortSample, QueueSample, Sample, groups};
use serde::Serialize;

/// Largest number of queues, and of flows, for which a sample is not folded.
const UNFOLDED: usize = 400;

/// Number of worst leaves, and of worst flows, in a folded sample; also the number kept for each followed
/// text.
const KEPT_LEAVES: usize = 100;

/// Queue found by a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Found<'a> {
    /// Index of its port, in the scenario's order.
    pub(crate) port_index: usize,
    /// Name of its port.
    pub(crate) port: &'a str,
    /// The queue, as in a sample.
    pub(crate) queue: &'a QueueSample,
}

/// Returns the part of `sample` that readers get. `followed` are texts in lower case: a queue is kept if its
/// name or its port's contains one.
pub(crate) fn fold(sample: &Arc<Sample>, followed: &[String]) -> Arc<Sample> {
    let queues: usize = sample.ports.iter().map(|port| port.queues.len()).sum();
    if queues <= UNFOLDED && sample.flows.len() <= UNFOLDED {
        return sample.clone();
    }
    let mut kept = leaves(sample);
    worst_first(&mut kept, sample.interval_s);
    let mut chosen: Vec<(usize, usize)> = kept.iter().take(KEPT_LEAVES).map(|leaf| leaf.position).collect();
    for text in followed {
        let found = kept.iter().filter(|leaf| is_in(text, &leaf.port.name) || is_in(text, &leaf.queue.name));
        chosen.extend(found.take(KEPT_LEAVES).map(|leaf| leaf.position));
    }
    let ports = ports_of(sample, chosen);
    let flows = flows(&sample.flows, followed);
    let left_out = LeftOut {
        ports: sample.ports.len() - ports.len(),
        queues: queues - ports.iter().map(|port| port.queues.len()).sum::<usize>(),
        flows: sample.flows.len() - flows.len(),
    };
    Arc::new(Sample {
        number: sample.number,
        at_s: sample.at_s,
        interval_s: sample.interval_s,
        dropped_samples: sample.dropped_samples,
        ports,
        flows,
        left_out,
        groups: groups(&sample.flows),
        judged: sample.judged.clone(),
        hurts: sample.hurts.clone(),
        events: sample.events.clone(),
        fidelity: sample.fidelity.clone(),
        router: sample.router.clone(),
    })
}

/// Returns the leaves whose name, or whose port's name, contains `text` (in lower case): the worst first, at
/// most `most`.
pub(crate) fn search<'a>(sample: &'a Sample, text: &str, most: usize) -> Vec<Found<'a>> {
    let mut found = leaves(sample);
    found.retain(|leaf| is_in(text, &leaf.port.name) || is_in(text, &leaf.queue.name));
    worst_first(&mut found, sample.interval_s);
    let found = found.into_iter().take(most);
    found
        .map(|leaf| Found { port_index: leaf.port.index, port: &leaf.port.name, queue: leaf.queue })
        .collect()
}

/// Leaf of a port's tree.
struct Leaf<'a> {
    /// Indices of its port and of itself in the sample.
    position: (usize, usize),
    port: &'a PortSample,
    queue: &'a QueueSample,
}

/// True if `text`, which is in lower case, is in `name`.
fn is_in(text: &str, name: &str) -> bool {
    name.contains(text) || name.to_lowercase().contains(text)
}

fn leaves(sample: &Sample) -> Vec<Leaf<'_>> {
    let mut leaves = Vec::new();
    for (index, port) in sample.ports.iter().enumerate() {
        let count = port.queues.iter().map(|queue| queue.index).max().map_or(0, |last| last as usize + 1);
        let mut is_parent = vec![false; count];
        for parent in port.queues.iter().filter_map(|queue| queue.parent) {
            if let Some(is_parent) = is_parent.get_mut(parent as usize) {
                *is_parent = true;
            }
        }
        let own = port.queues.iter().enumerate().filter(|(_, queue)| !is_parent[queue.index as usize]);
        leaves.extend(own.map(|(position, queue)| Leaf { position: (index, position), port, queue }));
    }
    leaves
}

/// Sorts leaves by how far they are beyond the bounds of what hurts, in thousandths.
fn worst_first(leaves: &mut [Leaf<'_>], interval_s: f64) {
    leaves.sort_by_key(|leaf| {
        let badness = (1e3 * Condition::of_queue(leaf.queue, interval_s).badness()) as u64;
        Reverse((badness, leaf.queue.dropped_packets, leaf.queue.peak_packets))
    });
}

/// Returns a delay as a number that can be ordered.
fn nanos(seconds: Option<f64>) -> u64 {
    (seconds.unwrap_or(0.0) * 1e9) as u64
}

/// Returns the ports of the chosen queues, with these and the queues above them, in the order of the sample.
fn ports_of(sample: &Sample, mut chosen: Vec<(usize, usize)>) -> Vec<PortSample> {
    chosen.sort_unstable();
    chosen.dedup();
    let mut ports = Vec::new();
    for of_port in chosen.chunk_by(|one, next| one.0 == next.0) {
        let port = &sample.ports[of_port[0].0];
        let mut is_kept = vec![false; port.queues.len()];
        for &(_, queue) in of_port {
            is_kept[queue] = true;
        }
        // Parents come before their children. In reverse order, all children of a queue have been handled
        // when it is reached.
        for index in (0..port.queues.len()).rev().filter(|index| *index > 0) {
            if is_kept[index]
                && let Some(parent) = port.queues[index].parent
                && let Some(above) = port.queues[..index].iter().rposition(|queue| queue.index == parent)
            {
                is_kept[above] = true;
            }
        }
        let queues = port.queues.iter().zip(&is_kept).filter(|(_, kept)| **kept);
        ports.push(PortSample {
            name: port.name.clone(),
            index: port.index,
            sent_bps: port.sent_bps,
            rate_bps: port.rate_bps,
            is_full: port.is_full,
            ring_packets: port.ring_packets,
            queues: queues.map(|(queue, _)| queue.clone()).collect(),
        });
    }
    ports
}

/// Returns the worst flows and those followed, in the order of the sample.
fn flows(all: &[FlowSample], followed: &[String]) -> Vec<FlowSample> {
    if all.len() <= UNFOLDED {
        return all.to_vec();
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&flow| Reverse((all[flow].lost_packets, nanos(all[flow].owd_p99_s))));
    let mut kept: Vec<usize> = order.iter().take(KEPT_LEAVES).copied().collect();
    for text in followed {
        kept.extend(order.iter().filter(|&&flow| is_in(text, &all[flow].name)).take(KEPT_LEAVES));
    }
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|flow| all[flow].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Port `olt` with a shaper, classes `all` and `spare`, and 1000 leaves `plan/N` below `all`; a second
    /// one with one queue.
    fn large() -> Arc<Sample> {
        let queue =
            |name: String, index, parent| QueueSample { name, index, parent, ..QueueSample::default() };
        let mut queues = vec![
            queue("shaper".to_owned(), 0, None),
            queue("all".to_owned(), 1, Some(0)),
            queue("spare".to_owned(), 2, Some(0)),
        ];
        for plan in 0..1000 {
            let mut leaf = queue(format!("plan/{plan}"), 3 + plan, Some(1));
            leaf.peak_packets = u64::from(plan);
            queues.push(leaf);
        }
        queues[3].dropped_packets = 1;
        let idle = vec![queue("fifo".to_owned(), 0, None)];
        let port = |name: &str, index, queues| PortSample {
            name: name.to_owned(),
            index,
            queues,
            ..PortSample::default()
        };
        let ports = vec![port("idle", 0, idle), port("OLT", 1, queues)];
        let flow = |number| FlowSample {
            name: format!("call/{number}"),
            lost_packets: number,
            ..FlowSample::default()
        };
        Arc::new(Sample { ports, flows: (0..500).map(flow).collect(), ..Sample::default() })
    }

    fn names(sample: &Sample) -> Vec<&str> {
        sample.ports.iter().flat_map(|port| &port.queues).map(|queue| &*queue.name).collect()
    }

    #[test]
    fn a_small_network_is_left_as_it_is() {
        let small = Arc::new(Sample { flows: vec![FlowSample::default(); UNFOLDED], ..Sample::default() });
        assert!(Arc::ptr_eq(&fold(&small, &[]), &small));
    }

    #[test]
    fn the_worst_are_kept_with_the_queues_above_them() {
        let folded = fold(&large(), &[]);
        let names = names(&folded);
        // The queue with drops, and the 99 fullest; of the queues above them the shaper and `all`.
        assert_eq!(names[..4], ["shaper", "all", "plan/0", "plan/901"]);
        assert_eq!(names.len(), 2 + KEPT_LEAVES);
        assert_eq!(folded.ports[0].index, 1, "the other port is left out");
        assert_eq!(folded.left_out, LeftOut { ports: 1, queues: 1004 - 102, flows: 400 });
        assert_eq!(folded.flows[0].name, "call/400");
    }

    #[test]
    fn what_is_followed_is_kept() {
        let folded = fold(&large(), &["plan/77".to_owned(), "idle".to_owned(), "call/7".to_owned()]);
        let names = names(&folded);
        assert_eq!(names[0], "fifo");
        assert!(names.contains(&"plan/77") && names.contains(&"plan/770") && !names.contains(&"plan/78"));
        assert!(folded.flows.iter().any(|flow| flow.name == "call/7"));
    }

    #[test]
    fn a_search_finds_leaves_by_their_name_or_their_ports() {
        let sample = large();
        let found = search(&sample, "plan/77", 3);
        let names: Vec<&str> = found.iter().map(|found| &*found.queue.name).collect();
        assert_eq!(names, ["plan/779", "plan/778", "plan/777"]);
        assert_eq!(search(&sample, "olt", 2000).len(), 1001);
        assert!(search(&sample, "plan/x", 3).is_empty());
    }
}
