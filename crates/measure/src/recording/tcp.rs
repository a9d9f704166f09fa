//! Observations of a TCP sender besides its packets: window, timeout, retransmissions.

use lockgate_engine::units::{Bytes, Duration, Instant};

/// The reason why a sender does not send more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpLimit {
    /// Nothing to send.
    Application,
    /// The receiver's window is full.
    ReceiveWindow,
    /// The congestion window is full.
    CongestionWindow,
    /// The next segment waits for its time.
    Pacing,
}

/// State of a sender at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpSample {
    /// Congestion window, in payload bytes.
    pub cwnd: Bytes,
    /// Slow-start threshold; `None` before the first loss.
    pub ssthresh: Option<Bytes>,
    /// Payload bytes in flight, by the sender's own accounting.
    pub in_flight: Bytes,
    /// Smoothed round-trip time; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// Retransmission timeout, doublings included.
    pub rto: Duration,
    /// Retransmitted segments so far.
    pub retransmissions: u64,
    /// Timeouts so far.
    pub timeouts: u64,
    /// Fast recoveries so far.
    pub recoveries: u64,
    /// Reductions for ECN marks so far.
    pub mark_reductions: u64,
    /// Reductions undone so far.
    pub undone: u64,
    /// The reason why it does not send more; `None` if it is not observed.
    pub limit: Option<TcpLimit>,
}

/// A sender over time: one row per sampling interval, at its end. All columns have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpRecord {
    /// Name of its congestion control.
    pub congestion: String,
    /// Times of the samples.
    pub end: Vec<Instant>,
    /// Samples that differ from the one before, each with the number of its first row.
    changes: Vec<(u32, TcpSample)>,
    warmup: Instant,
    /// Last sample at or before the end of the warm-up.
    before: TcpSample,
}

impl TcpRecord {
    /// Creates an empty record of a sender with this congestion control.
    pub fn new(congestion: impl Into<String>, warmup: Instant) -> Self {
        Self { congestion: congestion.into(), warmup, ..Self::default() }
    }

    /// Adds a sample.
    pub fn push(&mut self, now: Instant, sample: TcpSample) {
        if self.last() != Some(&sample) {
            self.changes.push((self.end.len() as u32, sample));
        }
        self.end.push(now);
        if now <= self.warmup {
            self.before = sample;
        }
    }

    /// Adds the last sample again for each of these times that the record does not have yet: `ends` are those
    /// of all samplings so far.
    pub fn repeat(&mut self, ends: &[Instant]) {
        let Some(last) = self.last().copied() else { return };
        for end in ends.get(self.end.len()..).unwrap_or_default() {
            self.push(*end, last);
        }
    }

    /// Returns the last sample.
    pub fn last(&self) -> Option<&TcpSample> {
        self.changes.last().map(|(_, sample)| sample)
    }

    /// Returns all samples.
    pub fn samples(&self) -> impl Iterator<Item = &TcpSample> + Clone {
        let ends = self.changes.iter().skip(1).map(|(row, _)| *row).chain([self.end.len() as u32]);
        let runs = self.changes.iter().zip(ends);
        runs.flat_map(|((row, sample), end)| core::iter::repeat_n(sample, end.saturating_sub(*row) as usize))
    }

    /// Returns the samples after the warm-up.
    pub fn window(&self) -> impl Iterator<Item = &TcpSample> + Clone {
        let ends = self.end.iter().zip(self.samples());
        ends.filter(|(end, _)| **end > self.warmup).map(|(_, sample)| sample)
    }

    /// Returns the growth of a counter since the end of the warm-up.
    pub fn counted(&self, counter: fn(&TcpSample) -> u64) -> u64 {
        self.last().map_or(0, counter).saturating_sub(counter(&self.before))
    }
}
