//! What is observed of a TCP sender beside its packets: its window, its timeout, what it repeated.

use lockgate_engine::units::{Bytes, Duration, Instant};

/// A sender as it is at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpSample {
    /// Congestion window, in payload bytes.
    pub cwnd: Bytes,
    /// Threshold of slow start; `None` before the first loss.
    pub ssthresh: Option<Bytes>,
    /// In flight, in payload bytes, as the sender reckons.
    pub in_flight: Bytes,
    /// Smoothed round-trip time; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// Retransmission timeout, doublings included.
    pub rto: Duration,
    /// Segments sent again so far.
    pub retransmissions: u64,
    /// Timeouts so far.
    pub timeouts: u64,
    /// Fast recoveries so far.
    pub recoveries: u64,
    /// Reductions for congestion marks so far.
    pub mark_reductions: u64,
    /// Reductions taken back so far.
    pub undone: u64,
}

/// A sender over time: one row a sampling interval, at its end. All columns have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpRecord {
    /// Name of its congestion control.
    pub congestion: String,
    /// When each sample was taken.
    pub end: Vec<Instant>,
    /// The samples.
    pub samples: Vec<TcpSample>,
    warmup: Instant,
    /// The last sample at or before the end of the warm-up.
    before: TcpSample,
}

impl TcpRecord {
    /// A record without samples of a sender with this congestion control.
    pub fn new(congestion: impl Into<String>, warmup: Instant) -> Self {
        Self { congestion: congestion.into(), warmup, ..Self::default() }
    }

    /// Keeps a sample.
    pub fn push(&mut self, now: Instant, sample: TcpSample) {
        self.end.push(now);
        self.samples.push(sample);
        if now <= self.warmup {
            self.before = sample;
        }
    }

    /// The samples after the warm-up.
    pub fn window(&self) -> impl Iterator<Item = &TcpSample> + Clone {
        let ends = self.end.iter().zip(&self.samples);
        ends.filter(|(end, _)| **end > self.warmup).map(|(_, sample)| sample)
    }

    /// A counter's growth since the end of the warm-up.
    pub fn counted(&self, counter: fn(&TcpSample) -> u64) -> u64 {
        self.samples.last().map_or(0, counter).saturating_sub(counter(&self.before))
    }
}
