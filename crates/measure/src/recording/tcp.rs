//! Observations of a TCP sender besides its packets: window, timeout, retransmissions.

use lockgate_engine::units::{Bytes, Duration, Instant};

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
}

/// A sender over time: one row per sampling interval, at its end. All columns have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpRecord {
    /// Name of its congestion control.
    pub congestion: String,
    /// Times of the samples.
    pub end: Vec<Instant>,
    /// The samples.
    pub samples: Vec<TcpSample>,
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
        self.end.push(now);
        self.samples.push(sample);
        if now <= self.warmup {
            self.before = sample;
        }
    }

    /// Returns the samples after the warm-up.
    pub fn window(&self) -> impl Iterator<Item = &TcpSample> + Clone {
        let ends = self.end.iter().zip(&self.samples);
        ends.filter(|(end, _)| **end > self.warmup).map(|(_, sample)| sample)
    }

    /// Returns the growth of a counter since the end of the warm-up.
    pub fn counted(&self, counter: fn(&TcpSample) -> u64) -> u64 {
        self.samples.last().map_or(0, counter).saturating_sub(counter(&self.before))
    }
}
