//! Looks at the kernel's counters become samples of the live view.
//!
//! The kernel reports no times of packets. The mean delay of a sample is therefore that of Little's law, mean
//! backlog over rate, except for disciplines that report a delay of their own.

use std::borrow::Cow;
use std::collections::BTreeMap;

use lockgate_measure::monitor::{PortSample, QueueSample, QueueTotal, Sample};

use super::own::OwnStatistics;
use super::queue::KernelQueue;
use super::tree::{Branch, Tree};

/// Identity of a queue: interface, whether it is a class, handle, parent (of those without a handle), and
/// tin.
type Key = (u32, bool, u32, u32, u8);

/// Counters since the start of a queue, in 64 bits.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    bytes: u64,
    packets: u64,
    dropped: u64,
    marked: u64,
    overlimits: u64,
    requeued: u64,
}

impl Counters {
    fn of(queue: &KernelQueue) -> Self {
        let statistics = &queue.statistics;
        Self {
            bytes: statistics.sent_bytes,
            packets: statistics.sent_packets,
            dropped: statistics.queue.dropped.into(),
            marked: statistics.own.marked(),
            overlimits: statistics.queue.overlimits.into(),
            requeued: statistics.queue.requeued.into(),
        }
    }

    /// Continues counters of 32 bits beyond their width.
    fn continued(self, now: &Self, is_wide: bool) -> Self {
        let wrapped = |before: u64, now: u64| before + u64::from((now as u32).wrapping_sub(before as u32));
        Self {
            bytes: now.bytes,
            packets: if is_wide { now.packets } else { wrapped(self.packets, now.packets) },
            dropped: wrapped(self.dropped, now.dropped),
            marked: wrapped(self.marked, now.marked),
            overlimits: wrapped(self.overlimits, now.overlimits),
            requeued: wrapped(self.requeued, now.requeued),
        }
    }
}

/// State of a queue between looks.
#[derive(Clone, Debug, Default)]
struct State {
    index: u32,
    /// Counters at the end of the last interval, and now.
    closed: Counters,
    now: Counters,
    /// Counters of its kind at the end of the last interval.
    own: Vec<(&'static str, f64)>,
    /// Backlogs of this interval: looks, sums, peaks.
    looks: u64,
    packets: u64,
    bytes: u64,
    peak_packets: u64,
    peak_bytes: u64,
    /// Backlog at the end of the last interval, in packets and bytes.
    waited: (u64, u64),
    /// Number of the sample in which it was seen.
    seen: u64,
}

impl State {
    fn look(&mut self, packets: u64, bytes: u64) {
        self.looks += 1;
        self.packets += packets;
        self.bytes += bytes;
        self.peak_packets = self.peak_packets.max(packets);
        self.peak_bytes = self.peak_bytes.max(bytes);
    }
}

/// Collects looks at trees, and makes samples of them.
#[derive(Debug, Default)]
pub struct Looks {
    states: BTreeMap<Key, State>,
    indices: u32,
    number: u64,
    closed_s: f64,
}

fn key(interface: u32, queue: &KernelQueue, tin: u8) -> Key {
    let parent = if queue.handle == 0 { queue.parent } else { 0 };
    (interface, queue.is_class, queue.handle, parent, tin)
}

impl Looks {
    /// Adds a look at the queues of a device.
    pub fn look<'a>(&mut self, interface: u32, queues: impl IntoIterator<Item = &'a KernelQueue>) {
        for queue in queues {
            let state = Self::state(&mut self.states, &mut self.indices, key(interface, queue, 0));
            let now = Counters::of(queue);
            // A discipline that was set up anew counts from 0.
            let is_new = state.looks == 0 && state.seen == 0 || now.bytes < state.now.bytes;
            state.now = if is_new { now } else { state.now.continued(&now, queue.statistics.is_wide) };
            if is_new {
                (state.closed, state.own) = (now, Vec::new());
            }
            let waits = &queue.statistics.queue;
            state.look(waits.backlog_packets.into(), waits.backlog_bytes.into());
            if let OwnStatistics::Cake(cake) = &queue.statistics.own {
                for (index, tin) in cake.tins.iter().enumerate() {
                    let key = key(interface, queue, index as u8 + 1);
                    let state = Self::state(&mut self.states, &mut self.indices, key);
                    let now = Counters {
                        bytes: tin.sent_bytes,
                        packets: tin.sent_packets.into(),
                        dropped: u64::from(tin.dropped_packets) + u64::from(tin.acks_dropped_packets),
                        marked: tin.ecn_marked_packets.into(),
                        ..Counters::default()
                    };
                    let is_new = state.looks == 0 && state.seen == 0 || now.bytes < state.now.bytes;
                    state.now = if is_new { now } else { state.now.continued(&now, false) };
                    if is_new {
                        (state.closed, state.own) = (now, Vec::new());
                    }
                    state.look(tin.backlog_packets.into(), tin.backlog_bytes.into());
                }
            }
        }
    }

    fn state<'a>(states: &'a mut BTreeMap<Key, State>, indices: &mut u32, key: Key) -> &'a mut State {
        states.entry(key).or_insert_with(|| {
            *indices += 1;
            State { index: *indices - 1, ..State::default() }
        })
    }

    /// Ends the interval at `at_s`, in seconds since the start. `trees` are those of the last look.
    pub fn close(&mut self, trees: &[Tree], at_s: f64) -> Sample {
        let interval_s = (at_s - self.closed_s).max(1e-9);
        self.number += 1;
        let ports =
            trees.iter().enumerate().map(|(index, tree)| self.port(index, tree, interval_s)).collect();
        // Queues that are gone.
        let number = self.number;
        self.states.retain(|_, state| state.seen == number);
        self.closed_s = at_s;
        Sample { number: self.number - 1, at_s, interval_s, ports, ..Sample::default() }
    }

    fn port(&mut self, index: usize, tree: &Tree, interval_s: f64) -> PortSample {
        let mut queues: Vec<QueueSample> = Vec::with_capacity(tree.queues.len());
        let mut indices: Vec<u32> = Vec::with_capacity(tree.queues.len());
        let mut sent_bps = 0.0;
        for branch in &tree.queues {
            let Branch { queue, above, .. } = branch;
            let parent = above.and_then(|above| indices.get(above).copied());
            let number = self.number;
            let Some(state) = self.states.get_mut(&key(tree.interface, queue, 0)) else { continue };
            let mut figures = Vec::new();
            queue.statistics.own.emit(&mut |name, value, counts| figures.push((name, value, counts)));
            let waits = &queue.statistics.queue;
            let waiting = (u64::from(waits.backlog_packets), u64::from(waits.backlog_bytes));
            let mut sample = close(state, number, waiting, &figures, interval_s);
            sample.name = queue.name();
            sample.kind = kind(queue);
            sample.parent = parent;
            if let Some(delay_s) = queue.statistics.own.delay_s() {
                sample.sojourn_mean_s = Some(delay_s);
            }
            if let Some(htb) = &queue.htb {
                sample.gauges.push((Cow::Borrowed("rate_bps"), htb.rate_bps as f64));
                sample.gauges.push((Cow::Borrowed("ceil_bps"), htb.ceil_bps as f64));
            }
            indices.push(sample.index);
            if parent.is_none() {
                sent_bps += sample.sent_bps;
            }
            let own = sample.index;
            queues.push(sample);
            if let OwnStatistics::Cake(cake) = &queue.statistics.own {
                for (index, tin) in cake.tins.iter().enumerate() {
                    let tin_key = key(tree.interface, queue, index as u8 + 1);
                    let Some(state) = self.states.get_mut(&tin_key) else { continue };
                    let mut figures = Vec::new();
                    tin.emit(&mut |name, value, counts| figures.push((name, value, counts)));
                    let waiting = (u64::from(tin.backlog_packets), u64::from(tin.backlog_bytes));
                    let mut sample = close(state, number, waiting, &figures, interval_s);
                    sample.name = format!("{} {}", queue.name(), cake.tin_name(index));
                    sample.kind = Cow::Borrowed("tin");
                    sample.parent = Some(own);
                    sample.sojourn_mean_s = Some(f64::from(tin.avg_delay_us) / 1e6);
                    queues.push(sample);
                }
            }
        }
        PortSample { name: tree.device.clone(), index, sent_bps, ring_packets: 0, queues }
    }
}

/// Returns the kind of a queue, as `watch` shows it.
fn kind(queue: &KernelQueue) -> Cow<'static, str> {
    if queue.is_class { Cow::Owned(format!("{} class", queue.kind)) } else { Cow::Owned(queue.kind.clone()) }
}

/// Ends the interval of a queue.
fn close(
    state: &mut State,
    number: u64,
    (waiting_packets, waiting_bytes): (u64, u64),
    figures: &[(&'static str, f64, bool)],
    interval_s: f64,
) -> QueueSample {
    let (before, now) = (state.closed, state.now);
    let looks = state.looks.max(1) as f64;
    let sent_bps = now.bytes.saturating_sub(before.bytes) as f64 * 8.0 / interval_s;
    let mean_bytes = state.bytes as f64 / looks;
    let dropped = now.dropped - before.dropped;
    let sent_packets = now.packets.saturating_sub(before.packets);
    // Bytes of drops are not reported: those of a packet that was sent stand for them.
    let mean_size =
        if sent_packets == 0 { 0.0 } else { (now.bytes - before.bytes) as f64 / sent_packets as f64 };
    let grown = waiting_bytes as f64 - state.waited.1 as f64;
    let offered_bps = sent_bps + (dropped as f64 * mean_size + grown) * 8.0 / interval_s;
    let per_second = |before: u64, now: u64| (now - before) as f64 / interval_s;
    let mut gauges: Vec<(Cow<'static, str>, f64)> = Vec::new();
    for (name, before, now) in [
        ("overlimits_per_s", before.overlimits, now.overlimits),
        ("requeued_per_s", before.requeued, now.requeued),
    ] {
        if now > 0 {
            gauges.push((Cow::Borrowed(name), per_second(before, now)));
        }
    }
    for (index, (name, value, counts)) in figures.iter().enumerate() {
        if *counts {
            let before = state.own.get(index).map_or(*value, |(_, before)| *before);
            // Counters of 32 bits wrap.
            let grown = if *value < before { value + 4_294_967_296.0 - before } else { value - before };
            gauges.push((Cow::Borrowed(*name), grown / interval_s));
        } else {
            gauges.push((Cow::Borrowed(*name), *value));
        }
    }
    let sample = QueueSample {
        index: state.index,
        packets: waiting_packets,
        bytes: waiting_bytes,
        mean_packets: state.packets as f64 / looks,
        mean_bytes,
        peak_packets: state.peak_packets,
        peak_bytes: state.peak_bytes,
        offered_bps: offered_bps.max(0.0),
        sent_bps,
        sent_packets,
        dropped_packets: dropped,
        marked_packets: now.marked - before.marked,
        sojourn_mean_s: (sent_bps > 0.0).then(|| mean_bytes * 8.0 / sent_bps),
        gauges,
        total: QueueTotal {
            offered_packets: now.packets + now.dropped + waiting_packets,
            offered_bytes: now.bytes + waiting_bytes,
            sent_packets: now.packets,
            sent_bytes: now.bytes,
            dropped_packets: now.dropped,
            marked_packets: now.marked,
            ..QueueTotal::default()
        },
        ..QueueSample::default()
    };
    *state = State {
        index: state.index,
        closed: now,
        now,
        own: figures.iter().map(|(name, value, _)| (*name, *value)).collect(),
        waited: (waiting_packets, waiting_bytes),
        seen: number,
        ..State::default()
    };
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{CakeStatistics, CakeTin, HtbStatistics};

    fn queue(bytes: u64, dropped: u32, lends: u32, backlog: u32) -> Tree {
        let mut class = KernelQueue {
            handle: 0x0001_0010,
            parent: u32::MAX,
            is_class: true,
            kind: "htb".to_owned(),
            ..KernelQueue::default()
        };
        class.statistics.sent_bytes = bytes;
        class.statistics.sent_packets = bytes / 1000;
        class.statistics.queue.dropped = dropped;
        class.statistics.queue.backlog_packets = backlog;
        class.statistics.queue.backlog_bytes = backlog * 1000;
        class.statistics.own = OwnStatistics::Htb(HtbStatistics { lends, ..HtbStatistics::default() });
        Tree::of(3, "eth0", vec![class])
    }

    fn look(looks: &mut Looks, tree: &Tree) {
        looks.look(tree.interface, tree.queues.iter().map(|branch| &branch.queue));
    }

    #[test]
    fn differences_are_those_of_the_interval_also_beyond_32_bits() {
        let mut looks = Looks::default();
        let first = queue(1_000_000, u32::MAX - 1, 10, 0);
        look(&mut looks, &first);
        let sample = looks.close(&[first], 1.0);
        let of = &sample.ports[0].queues[0];
        // What was counted before the first look is not a rate.
        assert_eq!(
            (of.sent_bps, of.dropped_packets, of.total.dropped_packets),
            (0.0, 0, u64::from(u32::MAX - 1))
        );
        look(&mut looks, &queue(1_125_000, 0, 60, 4));
        let last = queue(1_250_000, 1, 110, 2);
        look(&mut looks, &last);
        let sample = looks.close(&[last], 3.0);
        let of = &sample.ports[0].queues[0];
        assert_eq!((of.sent_bps, of.sent_packets, of.dropped_packets), (1_000_000.0, 250, 3));
        assert_eq!(of.total.dropped_packets, u64::from(u32::MAX) + 2);
        assert_eq!((of.mean_packets, of.peak_packets, of.packets), (3.0, 4, 2));
        // 3000 bytes at 1 Mbit/s.
        assert_eq!(of.sojourn_mean_s, Some(0.024));
        assert!(of.gauges.contains(&(Cow::Borrowed("lends_per_s"), 50.0)), "{:?}", of.gauges);
        // Set up anew: no rate from what was counted before.
        let fresh = queue(5_000, 0, 1, 0);
        look(&mut looks, &fresh);
        let sample = looks.close(&[fresh], 4.0);
        assert_eq!((sample.ports[0].queues[0].sent_bps, sample.ports[0].queues[0].dropped_packets), (0.0, 0));
    }

    #[test]
    fn tins_are_queues_with_the_delays_that_cake_reports() {
        let mut cake = KernelQueue {
            handle: 0x8001_0000,
            parent: u32::MAX,
            kind: "cake".to_owned(),
            ..KernelQueue::default()
        };
        let tin = CakeTin { avg_delay_us: 1500, backlog_packets: 7, ..CakeTin::default() };
        let statistics = CakeStatistics {
            tins: vec![CakeTin::default(), tin, CakeTin::default()],
            ..CakeStatistics::default()
        };
        cake.statistics.own = OwnStatistics::Cake(Box::new(statistics));
        let tree = Tree::of(3, "eth0", vec![cake]);
        let mut looks = Looks::default();
        look(&mut looks, &tree);
        let sample = looks.close(&[tree], 1.0);
        let names: Vec<_> = sample.ports[0].queues.iter().map(|queue| queue.name.as_str()).collect();
        assert_eq!(names, ["8001:", "8001: bulk", "8001: best effort", "8001: voice"]);
        let tin = &sample.ports[0].queues[2];
        assert_eq!((tin.sojourn_mean_s, tin.packets, tin.parent), (Some(0.0015), 7, Some(0)));
    }
}
