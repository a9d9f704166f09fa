//! Observations of a TCP sender besides its packets: window, timeout, retransmissions.

use lockgate_engine::units::{Bytes, Duration, Instant};

use crate::delta_rows::DeltaRows;
use crate::metric::During;

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

impl TcpLimit {
    /// All of them, in the order of their declaration.
    const ALL: [Self; 4] = [Self::Application, Self::ReceiveWindow, Self::CongestionWindow, Self::Pacing];
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

/// A sender over time: one row per sampling interval, at its end.
///
/// A row is stored as its differences from the one before: some ten bytes instead of 140.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpRecord {
    /// Name of its congestion control.
    pub congestion: &'static str,
    /// Values of the samples, those first that change most often; see [`row_of`].
    rows: DeltaRows<COLUMNS>,
    /// Time of the last sample in picoseconds.
    last_end: u64,
    warmup: Instant,
}

const COLUMNS: usize = 12;

/// Columns of a row of which seven, and so a byte, change often.
fn row_of(step: u64, sample: &TcpSample) -> [u64; COLUMNS] {
    let TcpSample { cwnd, ssthresh, in_flight, rtt, rto, retransmissions, .. } = *sample;
    let TcpSample { timeouts, recoveries, mark_reductions, undone, limit, .. } = *sample;
    [
        cwnd.0,
        in_flight.0,
        // Zero stands for none.
        rtt.map_or(0, |rtt| rtt.as_picos().saturating_add(1)),
        rto.as_picos(),
        // Mostly the same: the interval of sampling.
        step,
        limit.map_or(0, |limit| limit as u64 + 1),
        retransmissions,
        ssthresh.map_or(0, |bytes| bytes.0.saturating_add(1)),
        timeouts,
        recoveries,
        mark_reductions,
        undone,
    ]
}

/// Returns the time in picoseconds since the row before, and the sample.
fn sample_of(row: [u64; COLUMNS]) -> (u64, TcpSample) {
    let [cwnd, in_flight, rtt, rto, step, limit, retransmissions, ssthresh, rest @ ..] = row;
    let [timeouts, recoveries, mark_reductions, undone] = rest;
    let sample = TcpSample {
        cwnd: Bytes(cwnd),
        ssthresh: ssthresh.checked_sub(1).map(Bytes),
        in_flight: Bytes(in_flight),
        rtt: rtt.checked_sub(1).map(Duration::from_picos),
        rto: Duration::from_picos(rto),
        retransmissions,
        timeouts,
        recoveries,
        mark_reductions,
        undone,
        limit: limit.checked_sub(1).and_then(|index| TcpLimit::ALL.get(index as usize).copied()),
    };
    (step, sample)
}

impl TcpRecord {
    /// Creates an empty record of a sender with this congestion control.
    pub fn new(congestion: &'static str, warmup: Instant) -> Self {
        Self { congestion, rows: DeltaRows::default(), last_end: 0, warmup }
    }

    /// Adds a sample.
    pub fn push(&mut self, now: Instant, sample: TcpSample) {
        let end = now.as_picos();
        self.rows.push(row_of(end.wrapping_sub(self.last_end), &sample));
        self.last_end = end;
    }

    /// Adds the last sample again for each of these times that the record does not have yet: `ends` are those
    /// of all samplings so far.
    pub fn repeat(&mut self, ends: &[Instant]) {
        let Some(last) = self.last() else { return };
        for end in ends.get(self.rows.len()..).unwrap_or_default() {
            self.push(*end, last);
        }
    }

    /// Returns the record of a part of the run, at whose ends there are samples.
    pub(super) fn of_part(&self, during: During) -> Self {
        let mut part = Self::new(self.congestion, during.from);
        for (end, sample) in self.timed().filter(|(end, _)| *end <= during.to) {
            part.push(end, sample);
        }
        part
    }

    /// Returns the last sample.
    pub fn last(&self) -> Option<TcpSample> {
        self.rows.last().map(|row| sample_of(row).1)
    }

    /// Returns all samples.
    pub fn samples(&self) -> impl Iterator<Item = TcpSample> + Clone {
        self.rows.iter().map(|row| sample_of(row).1)
    }

    /// Returns the times of the samples.
    pub fn ends(&self) -> Vec<Instant> {
        self.timed().map(|(end, _)| end).collect()
    }

    fn timed(&self) -> impl Iterator<Item = (Instant, TcpSample)> + Clone {
        self.rows.iter().scan(0u64, |end, row| {
            let (step, sample) = sample_of(row);
            *end = end.wrapping_add(step);
            Some((Instant::from_picos(*end), sample))
        })
    }

    /// Returns the samples after the warm-up.
    pub fn window(&self) -> impl Iterator<Item = TcpSample> + Clone {
        self.timed().filter(|(end, _)| *end > self.warmup).map(|(_, sample)| sample)
    }

    /// Returns the growth of a counter since the end of the warm-up.
    pub fn counted(&self, counter: fn(&TcpSample) -> u64) -> u64 {
        let before = self.timed().take_while(|(end, _)| *end <= self.warmup).last();
        let before = before.map_or(0, |(_, sample)| counter(&sample));
        self.last().map_or(0, |last| counter(&last)).saturating_sub(before)
    }
}
