//! Samples of a port: the counters of its queues at the ends of intervals and of parts of the run.

use lockgate_engine::node::{Counters, Tally};
use lockgate_engine::port::{Port, Retired, RingInput};
use lockgate_engine::units::{Duration, Instant};

use super::PortRecord;
use super::queue::{QueueRecord, larger};
use crate::series::QueueSeries;

impl PortRecord {
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
    /// If a sample is taken at the end of the warm-up, as
    /// [`next_sample`](crate::recording::Recording::next_sample) ensures, the window's counters begin exactly
    /// there; otherwise at the sample before. Queues without series are passed over from then on, until
    /// [`finish`](Self::finish).
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
        self.learn_queues(port);
        if closes {
            self.ends.push(now);
            self.offered.extend(self.line[1].offered_bits);
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
    pub fn learn_queues(&mut self, port: &Port) {
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
}
