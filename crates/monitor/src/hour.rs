//! Last hour of each queue: the samples of five seconds are one interval, with the mean rate, the largest
//! delay and backlog, and the packets lost. A page that opens on a router sees more than the last minutes.
//!
//! ```text
//! samples (10 ms to 5 s)   |.|.|.|.|.|   kept for 15 minutes, as text
//! intervals of this file   |---------|   kept for an hour, as numbers: 100 bytes a queue
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use lockgate_measure::monitor::{QueueSample, Sample};
use serde::Serialize;

/// Length of an interval, in seconds.
const INTERVAL_S: f64 = 5.0;

/// Number of intervals that are kept: an hour.
const INTERVALS: usize = 720;

/// Number of points that are kept, of all queues together: an hour of 277 queues, in some 20 MB.
const POINTS: usize = 200_000;

/// Figures of a queue in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Point {
    /// Length of the samples, in seconds.
    length_s: f64,
    sent_bits: f64,
    offered_bits: f64,
    /// Largest 99th percentile of the samples, or of means where packets are not timed, in seconds.
    delay_s: Option<f64>,
    /// Sum of the samples' median delays, each times its packets, and those packets.
    medians: (f64, u64),
    /// Sum of the samples' mean backlogs, each times its length.
    packet_seconds: f64,
    peak_packets: u64,
    dropped_packets: u64,
    marked_packets: u64,
}

impl Point {
    fn add(&mut self, queue: &QueueSample, interval_s: f64) {
        self.length_s += interval_s;
        self.sent_bits += queue.sent_bps * interval_s;
        self.offered_bits += queue.offered_bps * interval_s;
        let delay = queue.sojourn_p99_s.or(queue.sojourn_mean_s);
        self.delay_s = [self.delay_s, delay].into_iter().flatten().reduce(f64::max);
        if let Some(median) = queue.sojourn_p50_s {
            self.medians.0 += median * queue.sent_packets as f64;
            self.medians.1 += queue.sent_packets;
        }
        self.packet_seconds += queue.mean_packets * interval_s;
        self.peak_packets = self.peak_packets.max(queue.peak_packets);
        self.dropped_packets += queue.dropped_packets;
        self.marked_packets += queue.marked_packets;
    }
}

/// Figures of the queues in an interval that has ended, by their index in [`Hour::names`].
#[derive(Debug)]
struct Interval {
    end_s: f64,
    points: Vec<(usize, Point)>,
}

/// Intervals of the last hour.
#[derive(Debug, Default)]
pub(crate) struct Hour {
    /// Queues that have points: the index of the port, and the name.
    names: Vec<(usize, String)>,
    index: BTreeMap<(usize, String), usize>,
    intervals: VecDeque<Interval>,
    /// Number of points in these.
    points: usize,
    /// Interval that has not ended: its number, the end of its last sample, and its points.
    open: (u64, f64, BTreeMap<usize, Point>),
}

/// Past of the queues of a port: columns with a value for each of `at_s`.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Past {
    /// Ends of the intervals, in seconds of the run.
    pub(crate) at_s: Vec<f64>,
    pub(crate) queues: Vec<QueuePast>,
}

/// Past of a queue; `null` where it was in no sample.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct QueuePast {
    pub(crate) queue: String,
    /// Mean rates, in bits per second.
    pub(crate) sent_bps: Vec<Option<f64>>,
    pub(crate) offered_bps: Vec<Option<f64>>,
    /// Largest delay of the samples, and mean of their medians, in seconds.
    pub(crate) delay_s: Vec<Option<f64>>,
    pub(crate) median_s: Vec<Option<f64>>,
    /// Mean and largest backlog.
    pub(crate) packets: Vec<Option<f64>>,
    pub(crate) peak_packets: Vec<Option<u64>>,
    pub(crate) dropped_packets: Vec<Option<u64>>,
    pub(crate) marked_packets: Vec<Option<u64>>,
}

impl QueuePast {
    fn push(&mut self, point: Option<&Point>) {
        // Short numbers: a page draws a pixel for several of them.
        let rounded = |value: f64, steps: f64| (value * steps).round() / steps;
        let mean = |of: fn(&Point) -> f64| {
            point.filter(|point| point.length_s > 0.0).map(|point| of(point) / point.length_s)
        };
        self.sent_bps.push(mean(|point| point.sent_bits).map(f64::round));
        self.offered_bps.push(mean(|point| point.offered_bits).map(f64::round));
        self.delay_s.push(point.and_then(|point| point.delay_s).map(|delay| rounded(delay, 1e7)));
        let median = |point: &Point| (point.medians.1 > 0).then(|| point.medians.0 / point.medians.1 as f64);
        self.median_s.push(point.and_then(median).map(|delay| rounded(delay, 1e7)));
        self.packets.push(mean(|point| point.packet_seconds).map(|packets| rounded(packets, 100.0)));
        self.peak_packets.push(point.map(|point| point.peak_packets));
        self.dropped_packets.push(point.map(|point| point.dropped_packets));
        self.marked_packets.push(point.map(|point| point.marked_packets));
    }
}

impl Hour {
    /// Adds a sample to the interval in which it ends.
    pub(crate) fn add(&mut self, sample: &Sample) {
        // A sample that ends with an interval belongs to it, not to the next one.
        let number = (sample.at_s / INTERVAL_S - 1e-9).max(0.0) as u64;
        if number > self.open.0 {
            self.close();
            self.open.0 = number;
        }
        self.open.1 = sample.at_s;
        for port in &sample.ports {
            for queue in &port.queues {
                let names = &mut self.names;
                let index = *self.index.entry((port.index, queue.name.clone())).or_insert_with_key(|key| {
                    names.push(key.clone());
                    names.len() - 1
                });
                self.open.2.entry(index).or_default().add(queue, sample.interval_s);
            }
        }
    }

    /// Keeps the open interval, and removes the oldest ones.
    fn close(&mut self) {
        let points: Vec<(usize, Point)> = std::mem::take(&mut self.open.2).into_iter().collect();
        if points.is_empty() {
            return;
        }
        self.points += points.len();
        self.intervals.push_back(Interval { end_s: self.open.1, points });
        while self.intervals.len() > INTERVALS || self.points > POINTS {
            let Some(oldest) = self.intervals.pop_front() else { break };
            self.points -= oldest.points.len();
        }
    }

    /// Returns the past of the queues of a port, without the interval that has not ended.
    pub(crate) fn of_port(&self, port: usize) -> Past {
        let of_port = |index: &usize| self.names.get(*index).is_some_and(|(own, _)| *own == port);
        let kept: BTreeSet<usize> = self
            .intervals
            .iter()
            .flat_map(|interval| interval.points.iter().map(|(index, _)| *index))
            .filter(of_port)
            .collect();
        let mut past =
            Past { at_s: self.intervals.iter().map(|interval| interval.end_s).collect(), queues: Vec::new() };
        for index in kept {
            let mut queue = QueuePast { queue: self.names[index].1.clone(), ..QueuePast::default() };
            for interval in &self.intervals {
                let found = interval.points.binary_search_by_key(&index, |(own, _)| *own);
                queue.push(found.ok().map(|index| &interval.points[index].1));
            }
            past.queues.push(queue);
        }
        past
    }
}

#[cfg(test)]
mod tests {
    use lockgate_measure::monitor::{PortSample, QueueTotal};

    use super::*;

    /// Sample of two queues at a tenth of a second each, in which every figure depends on its number.
    fn sample(number: u64, total: &mut QueueTotal) -> Sample {
        let (sent, dropped) = (10 + number % 7, number % 3);
        total.sent_packets += sent;
        total.sent_bytes += 1000 * sent;
        total.dropped_packets += dropped;
        let queue = QueueSample {
            name: "voice".to_owned(),
            sent_bps: 8e4 * sent as f64,
            offered_bps: 9e4 * sent as f64,
            sent_packets: sent,
            dropped_packets: dropped,
            mean_packets: (number % 5) as f64,
            peak_packets: number % 11,
            sojourn_p50_s: Some(0.001 * (number % 4) as f64),
            sojourn_p99_s: number.is_multiple_of(2).then_some(0.01 * (number % 50) as f64),
            total: total.clone(),
            ..QueueSample::default()
        };
        let other =
            QueueSample { name: "rest".to_owned(), sojourn_mean_s: Some(0.3), ..QueueSample::default() };
        let mut queues = vec![queue];
        queues.extend((number >= 100).then_some(other));
        let port = PortSample { index: 3, queues, ..PortSample::default() };
        Sample {
            number,
            at_s: (number + 1) as f64 / 10.0,
            interval_s: 0.1,
            ports: vec![port],
            ..Sample::default()
        }
    }

    #[test]
    fn intervals_have_the_sums_means_and_largest_values_of_their_samples() {
        let (mut hour, mut total) = (Hour::default(), QueueTotal::default());
        let mut at_last_end = QueueTotal::default();
        for number in 0..230 {
            hour.add(&sample(number, &mut total));
            if number == 199 {
                at_last_end = total.clone();
            }
        }
        let past = hour.of_port(3);
        let ends = (past.at_s.len(), past.at_s.last().copied());
        assert_eq!(ends, (4, Some(20.0)), "the last three seconds are open");
        let [voice, rest] = &past.queues[..] else { panic!("two queues") };
        assert_eq!((voice.queue.as_str(), rest.queue.as_str()), ("voice", "rest"));
        // The totals of the same samples, which `/metrics` has.
        let dropped: u64 = voice.dropped_packets.iter().flatten().sum();
        assert_eq!(dropped, at_last_end.dropped_packets);
        let bytes: f64 = voice.sent_bps.iter().flatten().map(|rate| rate * 5.0 / 8.0).sum();
        assert!((bytes - at_last_end.sent_bytes as f64).abs() < 4.0, "{bytes} {at_last_end:?}");
        assert_eq!(voice.delay_s, [Some(0.48); 4]);
        assert_eq!(voice.peak_packets, [Some(10); 4]);
        assert_eq!(voice.packets, [Some(2.0); 4]);
        assert_eq!(rest.delay_s, [None, None, Some(0.3), Some(0.3)], "the mean, if packets are not timed");
        assert_eq!(rest.peak_packets, [None, None, Some(0), Some(0)]);
        assert!(hour.of_port(0).queues.is_empty());
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let mut hour = Hour::default();
        for number in 0..900 {
            let at_s = f64::from(number) * 5.0;
            let queues = vec![QueueSample { name: "q".to_owned(), ..QueueSample::default() }];
            let ports = vec![PortSample { queues, ..PortSample::default() }];
            hour.add(&Sample { at_s, interval_s: 5.0, ports, ..Sample::default() });
        }
        assert_eq!((hour.intervals.len(), hour.points), (INTERVALS, INTERVALS));
        let past = hour.of_port(0);
        let length_s = past.at_s.last().copied().unwrap_or_default() - past.at_s[0];
        assert!((length_s - 719.0 * 5.0).abs() < 1e-9, "{length_s}");
    }

    #[test]
    fn a_large_network_has_a_shorter_past() {
        let mut hour = Hour::default();
        let queue = |name: usize| QueueSample { name: name.to_string(), ..QueueSample::default() };
        let ports = vec![PortSample { queues: (0..1000).map(queue).collect(), ..PortSample::default() }];
        for number in 1..=300 {
            let ports = ports.clone();
            hour.add(&Sample { at_s: f64::from(number) * 5.0, interval_s: 5.0, ports, ..Sample::default() });
        }
        assert_eq!(hour.intervals.len(), POINTS / 1000);
    }
}
