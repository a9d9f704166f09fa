//! Observations of one port: each queue's counters, sojourn times and backlog, and its link's load.

mod part;
mod queue;
mod results;
mod samples;

use lockgate_engine::discipline::DropReason;
use lockgate_engine::node::{Count, Node, Tally};
use lockgate_engine::port::{Port, Requests};
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

use self::part::PortPart;
use self::queue::larger;
pub use self::queue::{BandRecord, QueueRecord};
pub use self::results::FULL;
use super::Detail;
use super::sojourns::Sojourns;
use super::watch::{QueueFigures, Watch};
use crate::metric::During;

/// Properties of a port known before the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortSetup {
    /// Name in the scenario, such as `home:server`.
    pub name: String,
    /// Rate of its link at the start.
    pub rate: Rate,
    /// Propagation delay of its link at the start.
    pub delay: Duration,
    /// Name of the port of the line behind, if a controller steps the rate of this one for it.
    pub line: Option<String>,
}

/// State of a link's line at one instant; the driver reads it when it samples a port.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line {
    /// Bits of the packet in transmission that are not on the line yet. The packet counts as fully
    /// transmitted.
    pub unsent_bits: f64,
    /// Bits that packets took on the line beyond their own length since the start of the run; negative if the
    /// line leaves out a part of them.
    pub overhead_bits: i64,
    /// Bits that the line could have carried since the start of the run, if it follows a trace; `None` if
    /// it has a rate.
    pub offered_bits: Option<f64>,
}

impl Line {
    /// Leaves out the bits of packets that begin at this very instant, `bytes` without overhead: all of them
    /// are still to be sent, and count for what follows.
    fn without(self, bytes: Bytes) -> Self {
        Self { unsent_bits: self.unsent_bits - bytes.0 as f64 * 8.0, ..self }
    }
}

/// Observations of one port. The fields that each packet touches come first, in one cache line.
#[derive(Clone, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct PortRecord {
    transmitted: Count,
    warmup: Instant,
    /// Time before which a packet takes the cold path: the end of the warm-up, and the end of time once the
    /// port's tree was replaced, because packets that it handed over may follow.
    special_until: Instant,
    /// Sojourn times in ps, by index of the queue that transmitted.
    sojourns: Vec<Sojourns>,
    /// Recording detail of queues that are members of groups.
    detail: Detail,
    /// True if the port itself is one of a group of nodes, and recorded briefly.
    is_brief: bool,
    /// True for each queue that has others below it.
    is_parent: Vec<bool>,
    /// True for each queue that is a member of a group, and has no series.
    is_member: Vec<bool>,
    /// Indices of the queues with series.
    with_series: Vec<u32>,
    /// Number of trees that the port had when its queues were last read.
    trees: u32,
    /// Packets transmitted before the end of the warm-up.
    transmitted_early: Count,
    /// Dropped packets by reason, by index of the queue that dropped.
    drops: Vec<[u64; DropReason::ALL.len()]>,
    queues: Vec<QueueRecord>,
    ends: Vec<Instant>,
    /// Rate of the link over time: start and rate.
    rates: Vec<(Instant, Rate)>,
    /// Bits that the line could have carried since the start, at each of `ends`; empty if it has a rate.
    offered: Vec<f64>,
    /// State of the line at the end of the warm-up, and at the last sample.
    line: [Line; 2],
    /// Outcome of the device ring's requests: at the last sample, and at the last one not later than the
    /// end of the warm-up.
    requests: [Requests; 2],
    /// Parts of the run, each with a record of its own.
    parts: Vec<PortPart>,
    /// Additional counters, while an observer is attached.
    watch: Option<Box<Watch>>,
    /// Properties known before the run.
    pub setup: PortSetup,
}

impl PortRecord {
    pub(super) fn new(setup: PortSetup, warmup: Instant, detail: Detail) -> Self {
        Self {
            warmup,
            special_until: warmup,
            detail,
            is_brief: detail.is_brief_port(&setup.name),
            is_parent: Vec::new(),
            is_member: Vec::new(),
            with_series: Vec::new(),
            trees: 0,
            transmitted: Count::default(),
            transmitted_early: Count::default(),
            sojourns: Vec::new(),
            drops: Vec::new(),
            queues: Vec::new(),
            ends: Vec::new(),
            rates: vec![(Instant::ZERO, setup.rate)],
            offered: Vec::new(),
            line: [Line::default(); 2],
            requests: [Requests::default(); 2],
            parts: Vec::new(),
            watch: None,
            setup,
        }
    }

    /// Records that the link begins to send a packet that spent `sojourn` in the port; `node` is the queue
    /// it was in.
    #[inline(always)]
    pub fn on_transmit(&mut self, node: u32, sojourn: Duration, bytes: Bytes, now: Instant) {
        self.transmitted.add(bytes);
        if now <= self.special_until {
            return self.on_transmit_special(node, sojourn, bytes, now);
        }
        self.note_sojourn(node, sojourn);
    }

    #[inline(always)]
    fn note_sojourn(&mut self, node: u32, sojourn: Duration) {
        match self.sojourns.get_mut(node as usize) {
            Some(sojourns) => sojourns.note(sojourn),
            None => self.on_transmit_first(node, sojourn),
        }
    }

    /// Records a packet of the warm-up, or one after a replacement of the port's tree. A packet that an
    /// earlier tree handed over waited mostly there: it is not in the distribution of the queue that sends
    /// it.
    #[cold]
    #[inline(never)]
    fn on_transmit_special(&mut self, node: u32, sojourn: Duration, bytes: Bytes, now: Instant) {
        let is_early = now < self.warmup;
        if is_early {
            self.transmitted_early = self.transmitted;
        }
        let since = self.queues.get(node as usize).and_then(|queue| queue.since);
        let was_moved = since.is_some_and(|since| now.since(since) < sojourn);
        for part in &mut self.parts {
            if part.during.contains(now) {
                part.record.transmitted.add(bytes);
                if !was_moved {
                    part.record.note_sojourn(node, sojourn);
                }
            } else if now == part.during.to {
                part.begun_at_end += bytes;
            }
        }
        if !is_early && !was_moved {
            self.note_sojourn(node, sojourn);
        } else if let Some(watch) = &mut self.watch {
            watch.on_transmit(node, sojourn);
        }
    }

    /// Records that the port's tree was replaced at `now`.
    pub fn on_replaced(&mut self, now: Instant, port: &mut Port) {
        let known = self.queues.len();
        self.learn_queues(port);
        let mut is_present = vec![false; self.queues.len()];
        port.each_node(&mut |node| {
            if let Some(is_present) = is_present.get_mut(node.id() as usize) {
                *is_present = true;
            }
        });
        for (index, (queue, is_present)) in self.queues.iter_mut().zip(is_present).enumerate() {
            let since = queue.since.filter(|_| index < known);
            if !is_present {
                queue.lifetime = queue.lifetime_until(now, self.warmup);
                for part in &mut self.parts {
                    part.on_removed(index, queue.since, now);
                }
            }
            queue.since = is_present.then(|| since.unwrap_or(now));
        }
        self.special_until = Instant::NEVER;
    }

    #[cold]
    #[inline(never)]
    fn on_transmit_first(&mut self, node: u32, sojourn: Duration) {
        let sojourns = if let Some(watch) = &mut self.watch {
            watch.on_transmit(node, sojourn);
            &mut watch.recorded
        } else {
            &mut self.sojourns
        };
        let count = self.queues.len().max(node as usize + 1);
        sojourns.reserve_exact(count.saturating_sub(sojourns.len()));
        for queue in sojourns.len()..=node as usize {
            let is_member = self.is_member.get(queue).copied().unwrap_or(self.is_brief);
            sojourns.push(Sojourns::new(is_member, self.detail));
        }
        sojourns[node as usize].note(sojourn);
    }

    /// Starts to count sojourn times and drops by interval as well.
    pub fn watch(&mut self) {
        if self.watch.is_none() {
            let recorded = core::mem::take(&mut self.sojourns);
            self.watch = Some(Box::new(Watch { recorded, ..Watch::default() }));
        }
    }

    /// Stops counting by interval. The recording is the same as if it had not been observed.
    pub fn unwatch(&mut self) {
        if let Some(watch) = self.watch.take() {
            self.sojourns = watch.recorded;
        }
    }

    /// Returns the largest backlog of a queue since the last observation, and starts over. The next sample
    /// of the recording is not affected.
    pub fn take_peak(&mut self, node: &mut Node) -> Tally {
        let peak = node.take_peak();
        let Some(watch) = &mut self.watch else { return peak };
        let queue = watch.queue(node.id());
        queue.peak = larger(queue.peak, peak);
        larger(peak, core::mem::take(&mut queue.unseen))
    }

    /// Adds the figures of the queues with indices in `range` to their entries in `all`, and to those of the
    /// queues above them; their next interval begins. Returns the number of queues that have such figures:
    /// none while no observer is attached.
    pub fn add_seen(&mut self, all: &mut [QueueFigures], range: &core::ops::Range<usize>) -> usize {
        let Self { watch: Some(watch), queues, .. } = self else { return 0 };
        let count = watch.queues.len();
        let range = range.start.min(count)..range.end.min(count);
        for (node, watched) in range.clone().zip(&mut watch.queues[range.clone()]) {
            let mut at = Some(node);
            // A chain of parents is at most as long as the number of queues.
            for _ in 0..=queues.len() {
                let Some(seen) = at.and_then(|queue| all.get_mut(queue)) else { break };
                seen.add(watched);
                at = at.and_then(|queue| queues.get(queue)?.parent).map(|parent| parent as usize);
            }
            watched.sojourn.clear();
        }
        count
    }

    /// Records a packet dropped by the queue `node`.
    #[inline(never)]
    pub fn on_drop(&mut self, node: u32, reason: DropReason, now: Instant) {
        let index = DropReason::ALL.iter().position(|known| *known == reason).unwrap_or(0);
        if let Some(watch) = &mut self.watch {
            watch.queue(node).drops[index] += 1;
        }
        if now < self.warmup {
            return;
        }
        for part in self.parts.iter_mut().filter(|part| part.during.contains(now)) {
            part.record.on_drop(node, reason, now);
        }
        let queue = node as usize;
        if queue >= self.drops.len() {
            self.drops.resize(queue + 1, Default::default());
        }
        self.drops[queue][index] += 1;
    }

    /// Records a change of the link's rate.
    pub fn on_rate(&mut self, now: Instant, rate: Rate) {
        self.rates.push((now, rate));
    }

    /// Sets the state of the line at `now`; must precede the sample of this instant.
    pub fn on_line(&mut self, now: Instant, line: Line) {
        self.line[1] = line;
        if now <= self.warmup {
            // A packet that begins at this instant belongs to the window already.
            let begun = self.transmitted.tally().bytes.saturating_sub(self.transmitted_early.tally().bytes);
            self.line[0] = line.without(begun);
        }
    }

    /// Observes a part of the run as well; called before the run.
    pub(super) fn add_part(&mut self, during: During) {
        self.special_until = self.special_until.max(during.to);
        let record = Self::new(self.setup.clone(), during.from, self.detail);
        self.parts.push(PortPart::new(during, record));
    }

    /// Returns its record of a part of the run; an empty one if the part is not observed.
    pub(super) fn of_part(&self, during: During) -> Self {
        let part = self.parts.iter().find(|part| part.during == during);
        part.map_or_else(
            || Self::new(self.setup.clone(), during.from, self.detail),
            |part| Self { rates: self.rates.clone(), ..part.record.clone() },
        )
    }
}
