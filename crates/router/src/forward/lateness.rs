//! Lateness of a forwarder: from when a frame may leave its queue to when it does. It grows where the thread
//! gets no processor in time.

use lockgate_engine::units::Instant;
use lockgate_measure::histogram::Histogram;

/// Lateness in an interval.
#[derive(Debug)]
pub(super) struct Lateness {
    /// Time for which the thread went to sleep; `Instant::NEVER`: no frame was due.
    due: Instant,
    histogram: Histogram<32>,
}

impl Lateness {
    pub(super) fn new() -> Self {
        Self { due: Instant::NEVER, histogram: Histogram::new() }
    }

    /// Notes a round at `now`, after which the next frame is due at `next`.
    #[inline]
    pub(super) fn on_round(&mut self, now: Instant, next: Instant) {
        if self.due <= now {
            self.histogram.record(now.since(self.due).as_picos());
        }
        self.due = if next > now { next } else { Instant::NEVER };
    }

    /// Returns the 99th percentile since the last call, in seconds; `None` if no frame was due.
    pub(super) fn take_p99(&mut self) -> Option<f64> {
        let [picos] = self.histogram.quantiles_in_place([0.99])?;
        self.histogram.clear();
        Some(picos as f64 * 1e-12)
    }
}

#[cfg(test)]
mod tests {
    use lockgate_engine::units::Duration;

    use super::*;

    #[test]
    fn only_what_is_due_is_late() {
        let at = |micros| Instant::ZERO + Duration::from_micros(micros);
        let mut lateness = Lateness::new();
        lateness.on_round(at(0), Instant::NEVER);
        assert_eq!(lateness.take_p99(), None, "nothing was due");
        lateness.on_round(at(10), at(100));
        // A frame arrives before.
        lateness.on_round(at(50), at(100));
        lateness.on_round(at(2_100), Instant::NEVER);
        lateness.on_round(at(9_000), Instant::NEVER);
        let late = lateness.take_p99().expect("a frame was due");
        assert!((late - 2e-3).abs() < 0.1e-3, "{late}");
        assert_eq!(lateness.take_p99(), None, "an interval of its own");
    }
}
