//! Observations of one queue of a port: counters, bands, and series.

use lockgate_engine::node::{Band, Counters, Node, Tally};
use lockgate_engine::port::RingInput;
use lockgate_engine::units::{Duration, Instant};

use crate::series::QueueSeries;

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
    /// Bands within it at the last sample, with their accounts at the last sample not later than the end of
    /// the warm-up; empty if it has none.
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
    /// Series; one row for each of [`PortRecord::ends`](super::PortRecord::ends), unless it is recorded
    /// briefly.
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

impl QueueRecord {
    /// Returns the time between the end of the warm-up and `end` during which the queue was in the port's
    /// tree.
    pub(super) fn lifetime_until(&self, end: Instant, warmup: Instant) -> Duration {
        self.lifetime + self.since.map_or(Duration::ZERO, |since| end.since(since.max(warmup)))
    }

    /// Reads the accounts of the bands within the queue.
    pub(super) fn read_bands(&mut self, node: &Node, now: Instant, warmup: Instant) {
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
    pub(super) fn hand(&mut self, handed: RingInput, now: Instant, warmup: Instant) {
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

    pub(super) fn sample(&mut self, counters: Counters, peak: Tally, now: Instant, warmup: Instant) {
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

/// Returns the larger packets and the larger bytes of two tallies.
pub(super) fn larger(one: Tally, other: Tally) -> Tally {
    Tally { packets: one.packets.max(other.packets), bytes: one.bytes.max(other.bytes) }
}
