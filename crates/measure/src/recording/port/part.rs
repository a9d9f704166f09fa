//! Observations of one port in a part of the run.

use lockgate_engine::node::{Counters, Tally};
use lockgate_engine::port::RingInput;
use lockgate_engine::units::{Bytes, Duration, Instant};

use super::{PortRecord, QueueRecord, larger};
use crate::metric::During;
use crate::series::QueueSeries;

/// Record of a port in a part of the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PortPart {
    pub(super) during: During,
    /// Record whose warm-up ends where the part begins; its queues are added where the part ends.
    pub(super) record: PortRecord,
    /// State of each queue where the part began; none before.
    queues: Vec<Before>,
    /// Bytes of packets whose transmission begins at the instant at which the part ends, and which it leaves
    /// out.
    pub(super) begun_at_end: Bytes,
    has_begun: bool,
    pub(super) is_over: bool,
}

/// State of a queue where a part began, and what was observed of it since.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Before {
    counters: Counters,
    handed: RingInput,
    peak: Tally,
    /// Time in the part during which it was in trees that have been replaced since.
    lifetime: Duration,
}

impl PortPart {
    pub(super) fn new(during: During, record: PortRecord) -> Self {
        // No sample is taken at the start of the run, where all counts are zero.
        let has_begun = during.from == Instant::ZERO;
        Self { during, record, queues: Vec::new(), begun_at_end: Bytes(0), has_begun, is_over: false }
    }

    /// Returns true if the part begins at a sample at `now`.
    pub(super) fn begins_at(&self, now: Instant) -> bool {
        !self.has_begun && now >= self.during.from
    }

    /// Returns true if the part ends at a sample at `now`.
    pub(super) fn ends_at(&self, now: Instant) -> bool {
        self.has_begun && !self.is_over && now >= self.during.to
    }

    pub(super) fn is_bound(&self, now: Instant) -> bool {
        self.begins_at(now) || self.ends_at(now)
    }

    pub(super) fn begin(&mut self, all: &[QueueRecord]) {
        self.has_begun = true;
        self.queues.resize(all.len().max(self.queues.len()), Before::default());
        for (before, queue) in self.queues.iter_mut().zip(all) {
            before.counters = queue.counters;
            before.handed = queue.handed;
            before.peak = Tally::default();
        }
    }

    /// Adds the largest backlogs since the last part began or ended.
    pub(super) fn keep_peaks(&mut self, all: &[QueueRecord]) {
        self.queues.resize(all.len().max(self.queues.len()), Before::default());
        for (before, queue) in self.queues.iter_mut().zip(all) {
            before.peak = larger(before.peak, queue.recent_peak);
        }
    }

    /// Records that the queue of this index, in the port's tree since `since`, is in it no longer.
    pub(super) fn on_removed(&mut self, index: usize, since: Option<Instant>, now: Instant) {
        if index >= self.queues.len() {
            self.queues.resize(index + 1, Before::default());
        }
        let until = now.min(self.during.to);
        let stay = since.map_or(Duration::ZERO, |since| until.since(since.max(self.during.from)));
        self.queues[index].lifetime += stay;
    }

    /// Returns the queues of the part, which ends now.
    pub(super) fn queues(&self, all: &[QueueRecord]) -> Vec<QueueRecord> {
        let queue = |(index, queue): (usize, &QueueRecord)| {
            let before = self.queues.get(index).copied().unwrap_or_default();
            QueueRecord {
                name: queue.name.clone(),
                before: before.counters,
                // Metrics of a part have no bands.
                bands: Vec::new(),
                handed_before: before.handed,
                peak: before.peak,
                lifetime: before.lifetime,
                series: QueueSeries::default(),
                ..*queue
            }
        };
        all.iter().enumerate().map(queue).collect()
    }
}
