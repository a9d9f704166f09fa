//! Observations of one port: each queue's counters, sojourn times and backlog, and its link's load.

mod part;

use lockgate_engine::discipline::DropReason;
use lockgate_engine::node::{Band, Count, Counters, Node, Tally};
use lockgate_engine::port::{Port, Requests, Retired, RingInput};
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

use self::part::PortPart;
use super::Detail;
use super::sojourns::Sojourns;
use super::watch::{QueueFigures, Watch};
use crate::histogram::Histogram;
use crate::metric::During;
use crate::series::QueueSeries;

/// Properties of a port known before the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortSetup {
    /// Name in the scenario, such as `home:server`.
    pub name: String,
    /// Rate of its link at the start.
    pub rate: Rate,
    /// Propagation delay of its link at the start.
    pub delay: Duration,
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
    /// Leaves out the bits of packets that begin at this very instant, `bytes` without overhead: all of them are
    /// still to be sent, and count for what follows.
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

/// Observations of one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRecord {
    /// Name in the scenario.
    pub name: String,
    /// Discipline (the latest, if it was replaced).
    pub kind: &'static str,
    /// Index in the port of its parent.
    pub parent: Option<u32>,
    /// Counters at the last sample.
    pub counters: Counters,
    /// Counters at the last sample not later than the end of the warm-up.
    pub before: Counters,
    /// Bands within it at the last sample, with their accounts at the last sample not later than the end of the
    /// warm-up; empty if it has none.
    pub bands: Vec<BandRecord>,
    /// Packets passed to the device ring, at the last sample.
    pub handed: RingInput,
    /// Packets passed to the device ring, at the last sample not later than the end of the warm-up.
    pub handed_before: RingInput,
    /// Largest backlog during the window.
    pub peak: Tally,
    /// Largest backlog since a part of the run last began or ended.
    pub(super) recent_peak: Tally,
    /// Time since which it has been in the port's tree; `None` if it no longer is.
    pub(super) since: Option<Instant>,
    /// Time in the window during which it was in earlier trees of the port.
    pub(super) lifetime: Duration,
    /// True if it has no series, as a member of a group.
    pub is_brief: bool,
    /// Series; one row for each of [`PortRecord::ends`], unless it is recorded briefly.
    pub series: QueueSeries,
}

/// Band within a queue, such as a tin of `cake`.
#[derive(Clone, Debug, PartialEq)]
pub struct BandRecord {
    /// Name.
    pub name: &'static str,
    /// Account at the last sample.
    pub now: Band,
    /// Account at the last sample not later than the end of the warm-up.
    pub before: Band,
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
        self.learn_places(port);
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

    /// Adds the figures of the queues with indices in `range` to their entries in `all`, and to those of the queues
    /// above them; their next interval begins. Returns the number of queues that have such figures: none while no
    /// observer is attached.
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

    /// Returns true if a sample at `now` would record nothing, because the port is recorded briefly: it has
    /// no series, and its counters are read at the end of the warm-up and of the run.
    #[inline]
    pub fn rests(&self, now: Instant) -> bool {
        self.is_brief && now > self.warmup && !self.bounds_part(now)
    }

    /// Returns true if a part of the run begins or ends at a sample at `now`.
    fn bounds_part(&self, now: Instant) -> bool {
        self.parts.iter().any(|part| part.is_bound(now))
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

    /// Begins and ends parts of the run at `now`, when the counters of all queues have been read.
    fn cross_parts(&mut self, now: Instant) {
        let mut parts = core::mem::take(&mut self.parts);
        for part in &mut parts {
            part.keep_peaks(&self.queues);
        }
        for queue in &mut self.queues {
            queue.recent_peak = Tally::default();
        }
        for part in &mut parts {
            if part.ends_at(now) {
                let queues = part.queues(&self.queues);
                part.record.line[1] = self.line[1].without(part.begun_at_end);
                part.record.requests[0] = self.requests[0];
                part.record.is_parent.clone_from(&self.is_parent);
                part.record.queues = queues;
                part.is_over = true;
            } else if part.begins_at(now) {
                part.begin(&self.queues);
                part.record.line[0] = self.line[1].without(part.record.transmitted.tally().bytes);
                part.record.requests[1] = self.requests[0];
            }
        }
        self.parts = parts;
    }

    /// Closes the sampling interval that ends at `now`.
    ///
    /// If a sample is taken at the end of the warm-up, as [`next_sample`](super::Recording::next_sample)
    /// ensures, the window's counters begin exactly there; otherwise at the sample before. Queues without
    /// series are passed over from then on, until [`finish`](Self::finish).
    pub fn sample(&mut self, now: Instant, port: &mut Port) {
        if !self.rests(now) {
            let is_bound = self.bounds_part(now);
            self.read(now, port, true, now <= self.warmup || is_bound);
            if is_bound {
                self.cross_parts(now);
            }
        }
    }

    /// Reads the counters of the port's queues; those without series only if `all`. `closes`: true if an
    /// interval ends.
    fn read(&mut self, now: Instant, port: &mut Port, closes: bool, all: bool) {
        let rows = self.ends.len();
        self.learn_places(port);
        if closes {
            self.ends.push(now);
        }
        let Self { watch, queues, is_member, warmup, .. } = self;
        let warmup = *warmup;
        // A queue with series is read only if a row is added.
        let is_read =
            |queue: usize| if is_member.get(queue).copied().unwrap_or(false) { all } else { closes };
        self.requests[0] = port.requests();
        if now <= warmup {
            self.requests[1] = self.requests[0];
        }
        if port.has_ring() {
            for (queue, record) in queues.iter_mut().enumerate().filter(|(queue, _)| is_read(*queue)) {
                record.hand(port.handed(queue as u32), now, warmup);
            }
        }
        port.each_node(&mut |node| {
            let id = node.id() as usize;
            if !is_read(id) {
                return;
            }
            let mut peak = node.take_peak();
            if let Some(watch) = watch {
                let queue = watch.queue(node.id());
                queue.unseen = larger(queue.unseen, peak);
                peak = larger(peak, core::mem::take(&mut queue.peak));
            }
            if let Some(queue) = queues.get_mut(id) {
                queue.sample(node.counters(), peak, now, warmup);
                queue.read_bands(node, now, warmup);
            }
        });
        for Retired { queue: id, counters, mut peak } in port.take_retired(|id| is_read(id as usize)) {
            if let Some(watch) = watch {
                peak = larger(peak, core::mem::take(&mut watch.queue(id).peak));
            }
            if let Some(queue) = queues.get_mut(id as usize) {
                queue.sample(counters, peak, now, warmup);
            }
        }
        if !closes {
            return;
        }
        // A queue that is neither in the tree nor retired does not exist; its rows stay aligned even so.
        for &queue in &self.with_series {
            let queue = &mut queues[queue as usize];
            if queue.series.len() == rows {
                queue.sample(queue.counters, Tally::default(), now, warmup);
            }
        }
    }

    /// Adds the queues that are new in the port, and updates the others.
    pub fn learn_places(&mut self, port: &Port) {
        if self.trees == port.trees() {
            return;
        }
        self.trees = port.trees();
        let rows = self.ends.len();
        if self.queues.len() != port.queues().len() {
            let count = port.queues().len();
            self.is_parent = vec![false; count];
            // Most ports have one queue; `Vec`'s minimum of four would dominate their memory.
            self.queues.reserve_exact(count.saturating_sub(self.queues.len()));
        }
        for (known, queue) in port.queues().iter().enumerate() {
            if let Some(parent) = queue.parent {
                self.is_parent[parent as usize] = true;
            }
            if let Some(record) = self.queues.get_mut(known) {
                record.kind = queue.kind;
                record.parent = queue.parent;
            } else {
                let is_brief = self.is_brief || self.detail.is_brief(&queue.name);
                self.is_member.push(is_brief);
                if !is_brief {
                    self.with_series.push(known as u32);
                }
                self.queues.push(QueueRecord {
                    name: queue.name.to_string(),
                    kind: queue.kind,
                    parent: queue.parent,
                    counters: Counters::default(),
                    before: Counters::default(),
                    bands: Vec::new(),
                    handed: RingInput::default(),
                    handed_before: RingInput::default(),
                    peak: Tally::default(),
                    recent_peak: Tally::default(),
                    since: Some(Instant::ZERO),
                    lifetime: Duration::ZERO,
                    is_brief,
                    series: if is_brief { QueueSeries::default() } else { QueueSeries::after(rows) },
                });
            }
        }
    }

    /// Takes the last sample of the port, before its packets are flushed. Does nothing if the last sample
    /// was at `now` already.
    pub fn finish(&mut self, now: Instant, port: &mut Port) {
        let closes = self.ends.last().is_none_or(|last| *last < now);
        // After the warm-up, the queues without series have not been read at any sample.
        if closes || now > self.warmup {
            self.read(now, port, closes, true);
        }
        if self.bounds_part(now) {
            self.cross_parts(now);
        }
    }

    /// Returns the packets and bytes sent during the whole run.
    pub fn transmitted(&self) -> Tally {
        self.transmitted.tally()
    }

    /// Returns the packets and bytes sent during the window.
    pub fn transmitted_in_window(&self) -> Tally {
        let (all, early) = (self.transmitted.tally(), self.transmitted_early.tally());
        Tally { packets: all.packets - early.packets, bytes: all.bytes.saturating_sub(early.bytes) }
    }

    /// Returns the utilisation of its link in the window that ends at `end`: bits on the line within the
    /// window, overhead included, divided by the bits that the line could carry. Returns `None` if it could
    /// carry none.
    pub fn utilisation(&self, end: Instant) -> Option<f64> {
        let [early, last] = self.line;
        let frames = self.transmitted_in_window().bytes.0 as f64 * 8.0;
        let overhead = (last.overhead_bits - early.overhead_bits) as f64;
        let bits = frames + overhead + early.unsent_bits - last.unsent_bits;
        let capacity = match last.offered_bits {
            Some(offered) => offered - early.offered_bits.unwrap_or(0.0),
            None => self.capacity_bits(end),
        };
        // Times are whole picoseconds: a full link may exceed its capacity by the bits of one picosecond.
        (capacity > 0.0).then(|| (bits / capacity).clamp(0.0, 1.0))
    }

    /// Returns the bits that a line with a rate can carry in the window that ends at `end`.
    fn capacity_bits(&self, end: Instant) -> f64 {
        let until = self.rates.iter().skip(1).map(|(at, _)| *at).chain([end]);
        self.rates
            .iter()
            .zip(until)
            .map(|((from, rate), until)| {
                let time = until.min(end).since((*from).max(self.warmup));
                time.as_secs_f64() * rate.as_bits() as f64
            })
            .sum()
    }

    /// Returns the outcome of its device ring's requests during the window; all zero without a ring.
    pub fn requests(&self) -> Requests {
        let [all, early] = self.requests;
        Requests {
            made: all.made - early.made,
            met: all.met - early.met,
            contended: all.contended - early.contended,
        }
    }

    /// Returns the mean time in ps from arrival at the port until a packet of this queue, or of one below
    /// it, left for the device ring, during the window; `None` without a ring, and if there were no
    /// packets.
    pub fn scheduling(&self, queue: u32) -> Option<f64> {
        let (mut packets, mut waited) = (0, 0);
        for (_, record) in self.within(&self.queues, queue) {
            packets += record.handed.packets - record.handed_before.packets;
            waited += record.handed.waited_ps - record.handed_before.waited_ps;
        }
        (packets > 0).then(|| waited as f64 / packets as f64)
    }

    /// Returns the part of the window that ends at `end` during which a queue was in the port's tree.
    pub fn lifetime(&self, queue: &QueueRecord, end: Instant) -> Duration {
        queue.lifetime_until(end, self.warmup)
    }

    /// Returns its queues by index, parents before children.
    pub fn queues(&self) -> &[QueueRecord] {
        &self.queues
    }

    /// Returns the end of each sampling interval.
    pub fn ends(&self) -> &[Instant] {
        &self.ends
    }

    /// Returns the sojourn times in ps of the packets sent in the window that were in this queue or below it,
    /// without those that a replaced tree handed over: only sums and extremes if one of these queues has no
    /// distribution.
    pub fn sojourn(&self, queue: u32) -> Histogram {
        let used = || self.within(&self.sojourns, queue).map(|(_, own)| own).filter(|own| !own.is_empty());
        let is_sum = used().any(Sojourns::is_sum);
        let mut all = Histogram::default();
        used().for_each(|own| own.add_to(&mut all, is_sum));
        all
    }

    /// Returns the packets dropped in the window in this queue or below it, by reason, if any.
    pub fn drops_by(&self, queue: u32) -> Vec<(DropReason, u64)> {
        let count =
            |index: usize| -> u64 { self.within(&self.drops, queue).map(|(_, drops)| drops[index]).sum() };
        let all = DropReason::ALL.into_iter().enumerate().map(|(index, reason)| (reason, count(index)));
        all.filter(|(_, packets)| *packets > 0).collect()
    }

    /// Returns the queues from `all` that are `queue` or below it, with their indices. For a queue with none
    /// below it this takes one step.
    fn within<'a, T>(&'a self, all: &'a [T], queue: u32) -> impl Iterator<Item = (usize, &'a T)> {
        let index = queue as usize;
        let is_leaf = !self.is_parent.get(index).copied().unwrap_or(true);
        let range = if is_leaf { index.min(all.len())..(index + 1).min(all.len()) } else { 0..all.len() };
        let first = range.start;
        let within = all[range].iter().enumerate().map(move |(offset, entry)| (first + offset, entry));
        within.filter(move |(node, _)| is_leaf || self.is_within(*node, queue))
    }

    /// Returns true if the queue with the index `node` is `queue` or below it.
    fn is_within(&self, node: usize, queue: u32) -> bool {
        let mut at = Some(node);
        // A chain of parents is at most as long as the number of queues.
        for _ in 0..=self.queues.len() {
            match at {
                Some(current) if current == queue as usize => return true,
                Some(current) => {
                    at = self
                        .queues
                        .get(current)
                        .and_then(|record| record.parent)
                        .map(|parent| parent as usize);
                }
                None => return false,
            }
        }
        false
    }
}

pub(super) fn larger(one: Tally, other: Tally) -> Tally {
    Tally { packets: one.packets.max(other.packets), bytes: one.bytes.max(other.bytes) }
}

impl QueueRecord {
    /// Returns the time between the end of the warm-up and `end` during which the queue was in the port's
    /// tree.
    fn lifetime_until(&self, end: Instant, warmup: Instant) -> Duration {
        self.lifetime + self.since.map_or(Duration::ZERO, |since| end.since(since.max(warmup)))
    }

    /// Reads the accounts of the bands within the queue.
    fn read_bands(&mut self, node: &Node, now: Instant, warmup: Instant) {
        let mut count = 0;
        node.bands(&mut |name, band| {
            // Other bands than at the last sample count anew.
            if self.bands.get(count).is_some_and(|known| known.name != name) {
                self.bands.truncate(count);
            }
            if self.bands.len() == count {
                self.bands.push(BandRecord { name, now: Band::default(), before: Band::default() });
            }
            let record = &mut self.bands[count];
            record.now = band;
            if now <= warmup {
                record.before = band;
            }
            count += 1;
        });
        self.bands.truncate(count);
    }

    /// Samples the counters of packets passed to the device ring.
    fn hand(&mut self, handed: RingInput, now: Instant, warmup: Instant) {
        let packets = handed.packets - self.handed.packets;
        let waited = handed.waited_ps - self.handed.waited_ps;
        let mean = waited.checked_div(u128::from(packets)).and_then(|mean| u64::try_from(mean).ok());
        if !self.is_brief {
            // Its rows begin at the ring's first packet; earlier rows are `None`.
            self.series.scheduling.resize(self.series.len(), None);
            self.series.scheduling.push(mean.map(Duration::from_picos));
        }
        self.handed = handed;
        if now <= warmup {
            self.handed_before = handed;
        }
    }

    fn sample(&mut self, counters: Counters, peak: Tally, now: Instant, warmup: Instant) {
        let last = self.counters;
        self.counters = counters;
        if now <= warmup {
            self.before = counters;
        } else {
            self.peak = larger(self.peak, peak);
            self.recent_peak = larger(self.recent_peak, peak);
        }
        if self.is_brief {
            return;
        }
        self.series.backlog.push(counters.backlog);
        self.series.peak.push(peak);
        self.series.offered_bytes.push(counters.offered.bytes.0 - last.offered.bytes.0);
        self.series.sent_bytes.push(counters.sent.bytes.0 - last.sent.bytes.0);
        self.series.dropped_packets.push(counters.dropped.packets - last.dropped.packets);
        self.series.marked_packets.push(counters.marked_packets - last.marked_packets);
    }
}
