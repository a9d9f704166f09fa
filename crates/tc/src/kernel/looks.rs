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

/// Identity of a queue at its device: whether it is a class, handle, parent (of those without a handle).
type Key = (bool, u32, u32);

/// Kinds of which a device has many: their names are not copied for each sample.
const KINDS: [&str; 7] = ["htb class", "hfsc class", "drr class", "qfq class", "pfifo", "fq_codel", "sfq"];

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
#[derive(Debug, Default)]
struct State {
    key: Key,
    index: u32,
    name: String,
    kind: Cow<'static, str>,
    /// False before the first look.
    is_known: bool,
    /// Counters at the end of the last interval, and now.
    closed: Counters,
    now: Counters,
    /// Figures of its kind at the end of the last interval.
    own: Vec<f64>,
    /// Backlogs of this interval: looks, sums, peaks.
    looks: u64,
    packets: u64,
    bytes: u64,
    peak_packets: u64,
    peak_bytes: u64,
    /// Bytes that waited at the end of the last interval.
    waited_bytes: u64,
    /// Of `cake`: its tins.
    tins: Vec<Self>,
}

/// Collects looks at trees, and makes samples of them.
#[derive(Debug, Default)]
pub struct Looks {
    /// States of the queues of a device, in the order of its tree.
    states: BTreeMap<u32, Vec<State>>,
    indices: u32,
    number: u64,
    closed_s: f64,
}

impl Looks {
    /// Adds a look at the queues of a device.
    pub fn look(&mut self, tree: &Tree) {
        let states = self.states.entry(tree.interface).or_default();
        align(states, tree, &mut self.indices);
        for (state, Branch { queue, .. }) in states.iter_mut().zip(&tree.queues) {
            let waits = &queue.statistics.queue;
            let waiting = (waits.backlog_packets.into(), waits.backlog_bytes.into());
            state.look(Counters::of(queue), queue.statistics.is_wide, waiting);
            if let OwnStatistics::Cake(cake) = &queue.statistics.own {
                state.tins.resize_with(cake.tins.len(), || State {
                    index: next(&mut self.indices),
                    kind: Cow::Borrowed("tin"),
                    ..State::default()
                });
                for (state, tin) in state.tins.iter_mut().zip(&cake.tins) {
                    let now = Counters {
                        bytes: tin.sent_bytes,
                        packets: tin.sent_packets.into(),
                        dropped: u64::from(tin.dropped_packets) + u64::from(tin.acks_dropped_packets),
                        marked: tin.ecn_marked_packets.into(),
                        ..Counters::default()
                    };
                    state.look(now, false, (tin.backlog_packets.into(), tin.backlog_bytes.into()));
                }
            }
        }
    }

    /// Ends the interval at `at_s`, in seconds since the start. `trees` are those of the last look.
    pub fn close<'a>(&mut self, trees: impl IntoIterator<Item = &'a Tree>, at_s: f64) -> Sample {
        let interval_s = (at_s - self.closed_s).max(1e-9);
        let mut before = core::mem::take(&mut self.states);
        let mut ports = Vec::new();
        for (index, tree) in trees.into_iter().enumerate() {
            let mut states = before.remove(&tree.interface).unwrap_or_default();
            align(&mut states, tree, &mut self.indices);
            ports.push(port(index, tree, &mut states, interval_s));
            self.states.insert(tree.interface, states);
        }
        self.closed_s = at_s;
        self.number += 1;
        Sample { number: self.number - 1, at_s, interval_s, ports, ..Sample::default() }
    }
}

/// Returns the next index of a queue.
fn next(indices: &mut u32) -> u32 {
    *indices += 1;
    *indices - 1
}

/// Puts the states into the order of the tree; queues that are gone lose theirs.
fn align(states: &mut Vec<State>, tree: &Tree, indices: &mut u32) {
    let mut both = states.iter().zip(&tree.queues);
    if states.len() == tree.queues.len() && both.all(|(state, branch)| state.is_of(&branch.queue)) {
        return;
    }
    let mut before: BTreeMap<Key, State> = states.drain(..).map(|state| (state.key, state)).collect();
    states.extend(tree.queues.iter().map(|Branch { queue, .. }| {
        let known = before.remove(&key(queue)).filter(|state| state.is_of(queue));
        known.unwrap_or_else(|| State {
            key: key(queue),
            index: next(indices),
            name: queue.name(),
            kind: kind(queue),
            ..State::default()
        })
    }));
}

fn key(queue: &KernelQueue) -> Key {
    (queue.is_class, queue.handle, if queue.handle == 0 { queue.parent } else { 0 })
}

/// Returns the kind, as `watch` shows it.
fn kind(queue: &KernelQueue) -> Cow<'static, str> {
    let kind = format!("{}{}", queue.kind, suffix(queue));
    KINDS.iter().find(|known| **known == kind).map_or(Cow::Owned(kind), |known| Cow::Borrowed(known))
}

/// Returns the end of a kind.
fn suffix(queue: &KernelQueue) -> &'static str {
    if queue.is_class { " class" } else { "" }
}

/// Ends the interval of the queues of a device.
fn port(index: usize, tree: &Tree, states: &mut [State], interval_s: f64) -> PortSample {
    let mut queues: Vec<QueueSample> = Vec::with_capacity(tree.queues.len());
    let mut sent_bps = 0.0;
    // The kernel counts the backlog of a class at its leaves: that of one above is not known, nor its delay.
    let mut inner = vec![false; tree.queues.len()];
    for Branch { above, .. } in tree.queues.iter().filter(|branch| branch.queue.is_class) {
        if let Some(above) = above {
            inner[*above] = tree.queues[*above].queue.is_class;
        }
    }
    // Of each queue of the tree: its index among the samples, which have tins besides, and its rate.
    let (mut slots, mut sent) = (Vec::with_capacity(tree.queues.len()), Vec::new());
    for (position, Branch { queue, above, .. }) in tree.queues.iter().enumerate() {
        let parent = above.and_then(|above| states.get(above)).map(|above| above.index);
        let Some(state) = states.get_mut(position) else { continue };
        let waits = &queue.statistics.queue;
        let waiting = (waits.backlog_packets.into(), waits.backlog_bytes.into());
        let mut sample = state.close(waiting, interval_s, |emit| queue.statistics.own.emit(emit));
        sample.parent = parent;
        if inner[position] {
            sample.sojourn_mean_s = None;
        }
        if let Some(delay_s) = queue.statistics.own.delay_s() {
            sample.sojourn_mean_s = Some(delay_s);
        }
        if let Some(htb) = &queue.htb {
            sample.gauges.push((Cow::Borrowed("rate_bps"), htb.rate_bps as f64));
            sample.gauges.push((Cow::Borrowed("ceil_bps"), htb.ceil_bps as f64));
            sample.ceil_bps = Some(htb.ceil_bps as f64);
        }
        if parent.is_none() {
            sent_bps += sample.sent_bps;
        }
        slots.push(queues.len());
        sent.push(sample.sent_bps);
        queues.push(sample);
        if let OwnStatistics::Cake(cake) = &queue.statistics.own {
            for (index, (tin_state, tin)) in state.tins.iter_mut().zip(&cake.tins).enumerate() {
                let waiting = (tin.backlog_packets.into(), tin.backlog_bytes.into());
                let mut sample = tin_state.close(waiting, interval_s, |emit| tin.emit(emit));
                sample.name = format!("{} {}", state.name, cake.tin_name(index));
                sample.parent = Some(state.index);
                sample.sojourn_mean_s = Some(f64::from(tin.avg_delay_us) / 1e6);
                queues.push(sample);
            }
        }
    }
    for (index, slot) in slots.into_iter().enumerate() {
        if let Some(reason) = tree.reason(index, &sent) {
            queues[slot].why = reason.to_string();
        }
    }
    PortSample {
        name: tree.device.clone(),
        index,
        sent_bps,
        rate_bps: rate(tree),
        queues,
        ..PortSample::default()
    }
}

/// Returns the rate to which the queues of a device are shaped: the ceiling of the only class at the root of
/// an `htb`; `None` if there is no such limit, or it is not known.
fn rate(tree: &Tree) -> Option<f64> {
    let is_root = |above: Option<usize>| above.is_some_and(|above| tree.queues[above].above.is_none());
    let mut classes = tree.queues.iter().filter(|branch| branch.queue.htb.is_some() && is_root(branch.above));
    let only = classes.next().and_then(|branch| branch.queue.htb)?;
    classes.next().is_none().then_some(only.ceil_bps as f64)
}

impl State {
    fn is_of(&self, queue: &KernelQueue) -> bool {
        self.key == key(queue) && self.kind.strip_prefix(&*queue.kind) == Some(suffix(queue))
    }

    /// Adds a look: counters, and packets and bytes that wait.
    fn look(&mut self, now: Counters, is_wide: bool, (packets, bytes): (u64, u64)) {
        if self.is_known && now.bytes >= self.now.bytes {
            self.now = self.now.continued(&now, is_wide);
        } else {
            // A discipline that was set up anew counts from 0.
            (self.closed, self.now, self.is_known) = (now, now, true);
            self.own.clear();
        }
        self.looks += 1;
        self.packets += packets;
        self.bytes += bytes;
        self.peak_packets = self.peak_packets.max(packets);
        self.peak_bytes = self.peak_bytes.max(bytes);
    }

    /// Ends the interval. `figures` passes those of its kind on.
    fn close(
        &mut self,
        (packets, bytes): (u64, u64),
        interval_s: f64,
        figures: impl FnOnce(&mut dyn FnMut(&'static str, f64, bool)),
    ) -> QueueSample {
        let (before, now) = (self.closed, self.now);
        let looks = self.looks.max(1) as f64;
        let sent_bps = now.bytes.saturating_sub(before.bytes) as f64 * 8.0 / interval_s;
        let mean_bytes = self.bytes as f64 / looks;
        let dropped = now.dropped - before.dropped;
        let sent_packets = now.packets.saturating_sub(before.packets);
        // Bytes of drops are not reported: those of a packet that was sent stand for them.
        let mean_size =
            if sent_packets == 0 { 0.0 } else { (now.bytes - before.bytes) as f64 / sent_packets as f64 };
        let grown = bytes as f64 - self.waited_bytes as f64;
        let offered_bps = sent_bps + (dropped as f64 * mean_size + grown) * 8.0 / interval_s;
        let sample = QueueSample {
            name: self.name.clone(),
            kind: self.kind.clone(),
            index: self.index,
            packets,
            bytes,
            mean_packets: self.packets as f64 / looks,
            mean_bytes,
            peak_packets: self.peak_packets,
            peak_bytes: self.peak_bytes,
            offered_bps: offered_bps.max(0.0),
            sent_bps,
            sent_packets,
            dropped_packets: dropped,
            marked_packets: now.marked - before.marked,
            sojourn_mean_s: (sent_bps > 0.0).then(|| mean_bytes * 8.0 / sent_bps),
            gauges: self.gauges(interval_s, figures),
            total: QueueTotal {
                offered_packets: now.packets + now.dropped + packets,
                offered_bytes: now.bytes + bytes,
                sent_packets: now.packets,
                sent_bytes: now.bytes,
                dropped_packets: now.dropped,
                marked_packets: now.marked,
                ..QueueTotal::default()
            },
            ..QueueSample::default()
        };
        (self.closed, self.waited_bytes) = (now, bytes);
        (self.looks, self.packets, self.bytes) = (0, 0, 0);
        (self.peak_packets, self.peak_bytes) = (0, 0);
        sample
    }

    /// Returns levels, and the rates of counters.
    fn gauges(
        &mut self,
        interval_s: f64,
        figures: impl FnOnce(&mut dyn FnMut(&'static str, f64, bool)),
    ) -> Vec<(Cow<'static, str>, f64)> {
        let (before, now) = (self.closed, self.now);
        // Those of `htb` have their rates besides.
        let mut gauges = Vec::with_capacity(self.own.len() + 4);
        for (name, before, now) in [
            ("overlimits_per_s", before.overlimits, now.overlimits),
            ("requeued_per_s", before.requeued, now.requeued),
        ] {
            if now > 0 {
                gauges.push((Cow::Borrowed(name), (now - before) as f64 / interval_s));
            }
        }
        let mut count = 0;
        figures(&mut |name, value, counts| {
            if self.own.len() == count {
                self.own.push(value);
            }
            let before = core::mem::replace(&mut self.own[count], value);
            count += 1;
            // Counters of 32 bits wrap.
            let grown = if value < before { value + 4_294_967_296.0 - before } else { value - before };
            gauges.push((Cow::Borrowed(name), if counts { grown / interval_s } else { value }));
        });
        // What is not there now begins anew when it comes back.
        self.own.truncate(count);
        gauges
    }
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

    #[test]
    fn differences_are_those_of_the_interval_also_beyond_32_bits() {
        let mut looks = Looks::default();
        let first = queue(1_000_000, u32::MAX - 1, 10, 0);
        looks.look(&first);
        let sample = looks.close(&[first], 1.0);
        let of = &sample.ports[0].queues[0];
        // What was counted before the first look is not a rate.
        assert_eq!(
            (of.sent_bps, of.dropped_packets, of.total.dropped_packets),
            (0.0, 0, u64::from(u32::MAX - 1))
        );
        looks.look(&queue(1_125_000, 0, 60, 4));
        let last = queue(1_250_000, 1, 110, 2);
        looks.look(&last);
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
        looks.look(&fresh);
        let sample = looks.close(&[fresh], 4.0);
        assert_eq!((sample.ports[0].queues[0].sent_bps, sample.ports[0].queues[0].dropped_packets), (0.0, 0));
    }

    #[test]
    fn a_class_above_others_has_no_delay() {
        let class = |handle, parent, sent_bytes| {
            let mut class = KernelQueue {
                handle,
                parent,
                is_class: true,
                kind: "htb".to_owned(),
                ..KernelQueue::default()
            };
            class.statistics.sent_bytes = sent_bytes;
            class
        };
        let mut looks = Looks::default();
        let tree = |bytes| {
            let root = KernelQueue {
                handle: 0x0001_0000,
                parent: u32::MAX,
                kind: "htb".to_owned(),
                ..KernelQueue::default()
            };
            let above = class(0x0001_0001, u32::MAX, bytes);
            let mut leaf = class(0x0001_0010, 0x0001_0001, bytes);
            leaf.statistics.queue.backlog_bytes = 1000;
            Tree::of(3, "eth0", vec![root, above, leaf])
        };
        looks.look(&tree(0));
        looks.close(&[tree(0)], 1.0);
        looks.look(&tree(125_000));
        let sample = looks.close(&[tree(125_000)], 2.0);
        let [_, above, leaf] = &sample.ports[0].queues[..] else { panic!("{sample:?}") };
        assert_eq!((above.name.as_str(), above.sent_bps, above.sojourn_mean_s), ("1:1", 1e6, None));
        assert_eq!((leaf.name.as_str(), leaf.sojourn_mean_s), ("1:10", Some(0.008)));
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
        looks.look(&tree);
        let sample = looks.close(&[tree], 1.0);
        let names: Vec<_> = sample.ports[0].queues.iter().map(|queue| queue.name.as_str()).collect();
        assert_eq!(names, ["8001:", "8001: bulk", "8001: best effort", "8001: voice"]);
        let tin = &sample.ports[0].queues[2];
        assert_eq!((tin.sojourn_mean_s, tin.packets, tin.parent), (Some(0.0015), 7, Some(0)));
    }
}
