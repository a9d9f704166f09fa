//! Queue that hurts most: the leaf whose packets wait longest, or are lost most, beyond what a call bears.

use core::fmt;
use std::collections::BTreeSet;

use super::{PortSample, QueueSample, Sample};
use crate::figures;

/// 99th percentile of the time in the port, in seconds, from which a queue hurts: a call bears 150 ms each
/// way.
pub const LONGEST_WAIT: f64 = 0.1;

/// Share of lost packets from which a queue hurts: speech is impaired, and TCP well below its rate.
pub const MOST_LOSS: f64 = 0.05;

/// Packets that left in the interval, below which a share says nothing.
const FEW_PACKETS: u64 = 20;

/// Condition of the worst queue of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Hurt {
    /// Port.
    pub port: String,
    /// Queue.
    pub queue: String,
    /// 99th percentile of the time in the port; `None` if nothing was sent.
    pub wait_s: Option<f64>,
    /// Share of the packets that were dropped of those that left; 0 for few.
    pub loss: f64,
    /// Bits per second sent.
    pub sent_bps: f64,
    /// Packets that wait.
    pub packets: u64,
}

impl Hurt {
    fn of(port: &PortSample, queue: &QueueSample) -> Self {
        let left = queue.sent_packets + queue.dropped_packets;
        Self {
            port: port.name.clone(),
            queue: queue.name.clone(),
            wait_s: queue.sojourn_p99_s,
            loss: if left >= FEW_PACKETS { queue.dropped_packets as f64 / left as f64 } else { 0.0 },
            sent_bps: queue.sent_bps,
            packets: queue.packets,
        }
    }

    /// Returns how far it is beyond the bounds: from 1 it hurts.
    fn badness(&self) -> f64 {
        (self.wait_s.unwrap_or(0.0) / LONGEST_WAIT).max(self.loss / MOST_LOSS)
    }

    /// True if it is beyond the bounds.
    pub fn hurts(&self) -> bool {
        self.badness() >= 1.0
    }
}

impl fmt::Display for Hurt {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { port, queue, wait_s, loss, sent_bps, packets } = self;
        let wait = figures::seconds(*wait_s);
        write!(to, "`{queue}` of port {port}: packets waited {wait} (p99), {:.1} % lost, ", loss * 100.0)?;
        write!(to, "{} sent, {} waiting", figures::rate(Some(*sent_bps)), figures::count(*packets, "packet"))
    }
}

/// Returns the worst leaf of a sample; `None` if no leaf sent or dropped a packet.
pub fn worst(sample: &Sample) -> Option<Hurt> {
    let mut worst: Option<(f64, &PortSample, &QueueSample)> = None;
    for port in &sample.ports {
        let parents: BTreeSet<u32> = port.queues.iter().filter_map(|queue| queue.parent).collect();
        let is_active = |queue: &&QueueSample| queue.sent_packets + queue.dropped_packets > 0;
        for queue in port.queues.iter().filter(|queue| !parents.contains(&queue.index)).filter(is_active) {
            let badness = Hurt::of(port, queue).badness();
            if worst.is_none_or(|(most, ..)| badness > most) {
                worst = Some((badness, port, queue));
            }
        }
    }
    worst.map(|(_, port, queue)| Hurt::of(port, queue))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(name: &str, index: u32, parent: Option<u32>, wait_ms: f64, dropped: u64) -> QueueSample {
        QueueSample {
            name: name.to_owned(),
            index,
            parent,
            sent_packets: 90,
            dropped_packets: dropped,
            sojourn_p99_s: Some(wait_ms / 1e3),
            ..QueueSample::default()
        }
    }

    fn sample(queues: Vec<QueueSample>) -> Sample {
        let ports = vec![PortSample { name: "wan".to_owned(), queues, ..PortSample::default() }];
        Sample { ports, ..Sample::default() }
    }

    #[test]
    fn the_worst_leaf_is_named_and_hurts_beyond_the_bounds() {
        let root = queue("root", 0, None, 900.0, 50);
        let shown =
            sample(vec![root.clone(), queue("a", 1, Some(0), 20.0, 0), queue("b", 2, Some(0), 30.0, 0)]);
        let found = worst(&shown).expect("active");
        assert_eq!((found.queue.as_str(), found.port.as_str(), found.hurts()), ("b", "wan", false));
        // 10 of 100 packets weigh more than 150 ms.
        let shown =
            sample(vec![root.clone(), queue("a", 1, Some(0), 150.0, 0), queue("b", 2, Some(0), 1.0, 10)]);
        let found = worst(&shown).expect("active");
        assert_eq!((found.queue.as_str(), found.hurts(), found.loss), ("b", true, 0.1));
        assert!(found.to_string().starts_with("`b` of port wan: packets waited "), "{found}");
        let idle = QueueSample { sent_packets: 0, ..queue("idle", 1, Some(0), 0.0, 0) };
        assert_eq!(worst(&sample(vec![root, idle])), None);
        // One drop of few packets is not a share.
        let few = QueueSample { sent_packets: 5, ..queue("few", 0, None, 1.0, 5) };
        assert!(!worst(&sample(vec![few])).expect("active").hurts());
    }

    #[test]
    fn samples_are_read_as_written() {
        let mut shown = sample(vec![queue("a", 0, None, 1.0, 3)]);
        shown.ports[0].queues[0].gauges.push(("count".into(), 2.5));
        shown.router = Some(super::super::RouterSample { policy: 7, ..Default::default() });
        let text = serde_json::to_string(&shown).expect("JSON");
        assert_eq!(serde_json::from_str::<Sample>(&text).expect("read"), shown);
    }
}
