//! Queue that hurts most: the leaf whose packets wait longest, or are lost most, beyond what a call bears. If
//! packets wait for the whole interval and none leaves, their wait is as long as the interval at least.

use core::fmt;

use super::pain::{Condition, active_leaves, advice, ceiling_of, held_words, starved};
use super::{PortSample, QueueSample, Sample};
use crate::figures;

/// Condition of the worst queue of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Hurt {
    /// Port.
    pub port: String,
    /// Queue.
    pub queue: String,
    /// Discipline of the queue.
    pub kind: String,
    /// 99th percentile of the time in the port; `None` if nothing was sent, or packets are not timed.
    pub wait_s: Option<f64>,
    /// Mean of the time in the port.
    pub mean_s: Option<f64>,
    /// Time for which packets have waited and none was sent or dropped: the interval at least; `None` if one
    /// was.
    pub starved_s: Option<f64>,
    /// Share of the packets that were dropped of those that left; 0 for few.
    pub loss: f64,
    /// Bits per second sent.
    pub sent_bps: f64,
    /// Packets that wait.
    pub packets: u64,
    /// Ceiling that holds it back, in bits per second, if one does.
    ceil_bps: Option<f64>,
    /// Rate of the port that is left, in bits per second; `None` if it is not known, or all is used.
    left_bps: Option<f64>,
    /// Delay and loss that are judged.
    condition: Condition,
}

/// Least share of a port's rate left over that a sentence names.
const LEFT: f64 = 0.05;

/// Least loss that a sentence names: a smaller one would be 0.0 %.
const TOLD_LOSS: f64 = 0.0005;

impl Hurt {
    fn of(port: &PortSample, queue: &QueueSample, interval_s: f64) -> Self {
        let condition = Condition::of_queue(queue, interval_s);
        Self {
            port: port.name.clone(),
            queue: queue.name.clone(),
            kind: queue.kind.to_string(),
            wait_s: queue.sojourn_p99_s,
            mean_s: queue.sojourn_mean_s,
            starved_s: starved(queue, interval_s),
            loss: condition.loss,
            sent_bps: queue.sent_bps,
            packets: queue.packets,
            ceil_bps: ceiling_of(port, queue),
            left_bps: port
                .rate_bps
                .map(|rate| (rate, rate - port.sent_bps))
                .filter(|(rate, left)| *left >= LEFT * rate)
                .map(|(_, left)| left),
            condition,
        }
    }

    /// True if it is beyond the bounds.
    pub fn hurts(&self) -> bool {
        self.condition.pain().is_some()
    }

    /// Returns the sentence on it, and that on the cause and what is worth a trial.
    pub fn advised(&self) -> String {
        self.advice().map_or_else(|| self.to_string(), |advice| format!("{self}. {advice}"))
    }

    /// Returns the cause, and what is worth a trial: if a ceiling holds it back, no other discipline helps.
    fn advice(&self) -> Option<String> {
        let Some(ceil) = self.ceil_bps else { return advice(&self.kind) };
        let left = self.left_bps.map_or_else(String::new, |left| {
            format!(" while the port has {} left", figures::rate(Some(left)))
        });
        Some(format!("It is {}{left}: raise the ceiling, or offer it less.", held_words(ceil)))
    }
}

impl fmt::Display for Hurt {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { port, queue, wait_s, mean_s, starved_s, loss, sent_bps, packets, .. } = self;
        let waiting = figures::count(*packets, "packet");
        if starved_s.is_some() {
            let interval = figures::seconds(*starved_s);
            return write!(
                to,
                "`{queue}` of port {port}: none left in the last {interval}, {waiting} waiting"
            );
        }
        write!(to, "`{queue}` of port {port}: ")?;
        if let Some((wait, statistic)) =
            wait_s.map(|wait| (wait, "p99")).or(mean_s.map(|mean| (mean, "mean")))
        {
            write!(to, "packets waited {} ({statistic}), ", figures::seconds(Some(wait)))?;
        }
        if *loss >= TOLD_LOSS {
            write!(to, "{:.1} % lost, ", loss * 100.0)?;
        }
        write!(to, "{} sent, {waiting} waiting", figures::rate(Some(*sent_bps)))
    }
}

/// Returns the worst leaf of a sample; `None` if no leaf sent or dropped a packet, and none is starved.
pub fn worst(sample: &Sample) -> Option<Hurt> {
    let mut worst: Option<(f64, &PortSample, &QueueSample)> = None;
    for port in &sample.ports {
        for queue in active_leaves(port, sample.interval_s) {
            let badness = Condition::of_queue(queue, sample.interval_s).badness();
            if worst.is_none_or(|(most, ..)| badness > most) {
                worst = Some((badness, port, queue));
            }
        }
    }
    worst.map(|(_, port, queue)| Hurt::of(port, queue, sample.interval_s))
}

#[cfg(test)]
mod tests {
    use lockgate_engine::disciplines::KINDS;

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
        Sample { ports, interval_s: 1.0, ..Sample::default() }
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
        // The kernel tells means alone.
        let kernels =
            QueueSample { kind: "pfifo".into(), sojourn_p99_s: None, ..queue("b", 0, None, 0.0, 0) };
        let found = |mean_s| {
            worst(&sample(vec![QueueSample { sojourn_mean_s: mean_s, ..kernels.clone() }])).expect("active")
        };
        let told = found(Some(0.132)).advised();
        assert!(told.starts_with("`b` of port wan: packets waited 132 ms (mean), 0 bit/s sent"), "{told}");
        assert!(
            told.ends_with(". A pfifo holds packets until it is full: try fq_codel or cake in its place."),
            "{told}"
        );
        let advised = KINDS.iter().filter(|kind| advice(kind).is_some());
        assert_eq!(advised.collect::<Vec<_>>(), [&"fifo"], "others limit the wait by themselves");
        assert!(
            found(None).to_string().starts_with("`b` of port wan: 0 bit/s sent"),
            "nothing is known of the wait"
        );
        let idle = QueueSample { sent_packets: 0, ..queue("idle", 1, Some(0), 0.0, 0) };
        assert_eq!(worst(&sample(vec![root, idle])), None);
        // One drop of few packets is not a share.
        let few = QueueSample { sent_packets: 5, ..queue("few", 0, None, 1.0, 5) };
        assert!(!worst(&sample(vec![few])).expect("active").hurts());
    }

    #[test]
    fn a_class_at_its_ceiling_is_told_the_ceiling_and_what_the_port_has_left() {
        let class = |sent_bps| QueueSample {
            sent_bps,
            ceil_bps: Some(1.5e6),
            kind: "fifo".into(),
            ..queue("guests", 1, Some(0), 1_110.0, 18)
        };
        let told = |queues: Vec<QueueSample>, rate_bps| {
            let port = PortSample {
                name: "wan".to_owned(),
                sent_bps: 6.8e6,
                rate_bps,
                queues,
                ..PortSample::default()
            };
            worst(&Sample { ports: vec![port], interval_s: 1.0, ..Sample::default() })
                .expect("active")
                .advised()
        };
        let root = queue("root", 0, None, 5.0, 0);
        let held = told(vec![root.clone(), class(1.499e6)], Some(9.5e6));
        let cause = ". It is held to its ceiling of 1.50 Mbit/s while the port has 2.70 Mbit/s left: raise the ceiling, \
                     or offer it less.";
        assert!(held.ends_with(cause), "{held}");
        assert!(told(vec![root.clone(), class(1.499e6)], None).contains("1.50 Mbit/s: raise the ceiling"));
        // A full port holds its classes back itself, and a class below its ceiling waits for another reason.
        for (sent_bps, rate) in [(1.499e6, 1.5e6), (0.9e6, 9.5e6)] {
            let other = told(vec![root.clone(), class(sent_bps)], Some(rate));
            assert!(other.contains("try fq_codel"), "{other}");
        }
        // Below a class that has it alone, as the kernel's disciplines are; not below one of two.
        let leaf = QueueSample { sent_bps: 1.499e6, ceil_bps: None, ..queue("20:", 2, Some(1), 1_110.0, 18) };
        let alone = vec![root.clone(), class(1.499e6), leaf.clone()];
        assert!(told(alone.clone(), Some(9.5e6)).contains("held to its ceiling"));
        let beside = QueueSample { name: "30:".to_owned(), index: 3, sojourn_p99_s: None, ..leaf };
        assert!(!told([alone, vec![beside]].concat(), Some(9.5e6)).contains("ceiling"));
        // Parents in a circle, which a stream may hold, end the search.
        let circle = QueueSample { parent: Some(0), ..root };
        let alone = QueueSample { ceil_bps: None, ..class(1e6) };
        assert!(!told(vec![circle, alone], None).contains("ceiling"));
    }

    #[test]
    fn a_queue_whose_packets_wait_for_the_whole_interval_is_starved() {
        // Three packets of 1000 bytes wait; this many bytes arrived in the interval.
        let of = |arrived: f64, interval_s: f64, sent: u64| {
            let queue = QueueSample {
                name: "low".to_owned(),
                packets: 3,
                bytes: 3_000,
                offered_bps: arrived * 8.0 / interval_s,
                sent_packets: sent,
                ..QueueSample::default()
            };
            worst(&Sample { interval_s, ..sample(vec![queue]) })
        };
        let found = of(2_000.0, 1.0, 0).expect("one was there before");
        assert!(found.hurts() && found.starved_s == Some(1.0), "{found:?}");
        assert_eq!(found.to_string(), "`low` of port wan: none left in the last 1.00 s, 3 packets waiting");
        assert_eq!(of(3_000.0, 1.0, 0), None, "all have just arrived");
        assert_eq!(of(3_000.0, 0.3, 0), None, "all have just arrived, in an interval that is rounded");
        assert_eq!(of(2_000.0, 1.0, 1).expect("active").starved_s, None, "it is served");
        assert!(!of(2_000.0, 0.01, 0).expect("starved").hurts(), "for 10 ms, which a packet may wait");
        let queue = QueueSample { packets: 3, bytes: 3_000, still_s: 0.35, ..QueueSample::default() };
        let found = worst(&Sample { interval_s: 0.01, ..sample(vec![queue]) }).expect("starved");
        assert!(found.hurts() && found.starved_s == Some(0.35), "for many short intervals: {found:?}");
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
