//! Baseline: the delay of a line without a queue, and its changes.

use lockgate_engine::units::{Duration, Instant};

use crate::window::Smallest;

/// Length of the window of the minimum.
const SPAN: Duration = Duration::from_secs(10);

/// Smallest excess that can be a change of the path: below it a law hardly brakes.
const LEAST_CHANGE: Duration = Duration::from_millis(15);

/// Delay of a line without a queue: the minimum of the last 10 s.
///
/// **A change of the path** raises every delay at once. It is told from a queue by its effect: a queue
/// shrinks while less is sent than it was once drained by. If as much as the excess would have drained, and
/// the excess has stayed, it was no queue.
#[derive(Clone, Debug)]
pub struct Baseline {
    smallest: Smallest,
    /// Excess at the start of the current test, and the time that would have drained so far.
    test: Option<(Duration, Duration)>,
}

impl Default for Baseline {
    fn default() -> Self {
        Self { smallest: Smallest::new(SPAN), test: None }
    }
}

impl Baseline {
    /// Adds a round trip.
    pub fn push(&mut self, now: Instant, rtt: Duration) {
        self.smallest.push(now, rtt);
    }

    /// Returns the baseline; `None` before the first round trip.
    pub fn get(&self) -> Option<Duration> {
        self.smallest.get()
    }

    /// Returns the part of a round trip above the baseline.
    pub fn excess(&self, rtt: Duration) -> Duration {
        rtt.saturating_sub(self.get().unwrap_or(rtt))
    }

    /// Tests for a change of the path: of the excess of `rtt`, `drained` would have gone since the last call.
    /// Returns true if the baseline is now this round trip.
    pub fn test(&mut self, now: Instant, rtt: Duration, drained: Duration) -> bool {
        let excess = self.excess(rtt);
        if excess < LEAST_CHANGE {
            self.test = None;
            return false;
        }
        let (start, sum) = self.test.unwrap_or((excess, Duration::ZERO));
        let tolerance = Duration::from_picos(start.as_picos() / 4);
        if excess + tolerance < start || excess > start + tolerance {
            self.test = Some((excess, Duration::ZERO));
            return false;
        }
        let sum = sum + drained;
        self.test = Some((start, sum));
        if sum < start + start + Duration::from_millis(50) {
            return false;
        }
        self.smallest.restart(now, rtt);
        self.test = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn an_excess_that_does_not_drain_is_a_change_of_the_path() {
        let mut baseline = Baseline::default();
        assert_eq!(baseline.excess(ms(40)), Duration::ZERO, "nothing is known yet");
        baseline.push(Instant::ZERO, ms(40));
        let mut changed_at = None;
        for step in 1..100 {
            let now = Instant::ZERO + ms(10 * step);
            if baseline.test(now, ms(100), ms(5)) {
                changed_at = Some(step);
                break;
            }
        }
        assert_eq!(changed_at, Some(34), "60 ms twice, and 50 ms more, at 5 ms a step");
        assert_eq!(baseline.get(), Some(ms(100)));
    }

    #[test]
    fn a_queue_that_drains_is_none() {
        let mut baseline = Baseline::default();
        baseline.push(Instant::ZERO, ms(40));
        for step in 0..60 {
            let now = Instant::ZERO + ms(10 * step);
            assert!(!baseline.test(now, ms(100 - step), ms(1)), "step {step}");
        }
        assert_eq!(baseline.get(), Some(ms(40)));
    }
}
