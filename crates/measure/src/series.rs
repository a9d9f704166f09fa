//! Time series: one row per sampling interval, stored in columns.

use lockgate_engine::node::Tally;
use lockgate_engine::units::{Duration, Instant};

use crate::lazy::Empty;

/// Series of one flow. All columns have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// End of the interval.
    pub end: Vec<Instant>,
    /// Bytes the source sent.
    pub offered_bytes: Vec<u64>,
    /// Bytes that reached the receiver.
    pub received_bytes: Vec<u64>,
    /// Packets lost.
    pub lost_packets: Vec<u64>,
    /// Median one-way delay of the packets received; `None` if there were none. Relative error at most
    /// 2^-5, exact for up to 128 packets.
    pub owd_p50: Vec<Option<Duration>>,
    /// 99th percentile of the one-way delay, with the same error.
    pub owd_p99: Vec<Option<Duration>>,
    /// Largest one-way delay, exact.
    pub owd_max: Vec<Option<Duration>>,
}

impl Empty for FlowSeries {
    const EMPTY: &'static Self = &Self {
        end: Vec::new(),
        offered_bytes: Vec::new(),
        received_bytes: Vec::new(),
        lost_packets: Vec::new(),
        owd_p50: Vec::new(),
        owd_p99: Vec::new(),
        owd_max: Vec::new(),
    };
}

impl FlowSeries {
    /// Adds the rows of intervals in which nothing happened to the flow.
    pub(crate) fn idle(&mut self, ends: &[Instant]) {
        let rows = self.end.len() + ends.len();
        self.end.extend_from_slice(ends);
        self.offered_bytes.resize(rows, 0);
        self.received_bytes.resize(rows, 0);
        self.lost_packets.resize(rows, 0);
        self.owd_p50.resize(rows, None);
        self.owd_p99.resize(rows, None);
        self.owd_max.resize(rows, None);
    }
}

/// Series of one queue. All columns have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueSeries {
    /// Backlog at the end of the interval.
    pub backlog: Vec<Tally>,
    /// Largest backlog during the interval.
    pub peak: Vec<Tally>,
    /// Bytes offered to the queue.
    pub offered_bytes: Vec<u64>,
    /// Bytes dequeued for transmission.
    pub sent_bytes: Vec<u64>,
    /// Packets dropped here or below.
    pub dropped_packets: Vec<u64>,
    /// Packets marked here or below.
    pub marked_packets: Vec<u64>,
    /// Mean time from arrival at the port until a packet that was here left for the device ring; `None` if
    /// none did. Without a ring the column is empty.
    pub scheduling: Vec<Option<Duration>>,
}

impl QueueSeries {
    /// Returns the series of a queue created after `rows` intervals, with zeros for them.
    pub(crate) fn after(rows: usize) -> Self {
        Self {
            backlog: vec![Tally::default(); rows],
            peak: vec![Tally::default(); rows],
            offered_bytes: vec![0; rows],
            sent_bytes: vec![0; rows],
            dropped_packets: vec![0; rows],
            marked_packets: vec![0; rows],
            scheduling: Vec::new(),
        }
    }

    /// Returns the number of intervals.
    pub(crate) fn len(&self) -> usize {
        self.backlog.len()
    }
}

/// Returns the width of each interval in seconds, from their ends; the first starts at 0.
#[cfg(feature = "page")]
pub(crate) fn widths(ends: &[Instant]) -> impl Iterator<Item = f64> + '_ {
    let starts = core::iter::once(&Instant::ZERO).chain(ends);
    ends.iter().zip(starts).map(|(end, start)| end.since(*start).as_secs_f64())
}

/// Converts bytes per interval to bits per second.
#[cfg(feature = "page")]
pub(crate) fn rates(bytes: &[u64], ends: &[Instant]) -> Vec<f64> {
    bytes
        .iter()
        .zip(widths(ends))
        .map(|(bytes, width)| if width > 0.0 { *bytes as f64 * 8.0 / width } else { 0.0 })
        .collect()
}

/// Returns the length to pass to [`default_interval`] for a run of this length in which members of groups are
/// recorded briefly. It gives a tenth of the intervals.
pub fn brief(duration: Duration) -> Duration {
    Duration::from_picos(duration.as_picos().saturating_mul(10))
}

/// Returns the default sampling interval for a run of this length: about 600 intervals, rounded up to 1, 2
/// or 5 times a power of ten; at least a microsecond.
pub fn default_interval(duration: Duration) -> Duration {
    let least = (duration.as_picos() / 600).max(1_000_000);
    let mut scale: u64 = 1_000_000;
    loop {
        for step in [1, 2, 5] {
            if scale.saturating_mul(step) >= least {
                return Duration::from_picos(scale.saturating_mul(step));
            }
        }
        scale = scale.saturating_mul(10);
    }
}
