//! Baseline: the delay of a line without a queue, and its changes.

use lockgate_engine::units::{Duration, Instant, Rate};

use crate::ratio::Ratio;
use crate::window::Smallest;

/// Length of the window of the minimum.
const SPAN: Duration = Duration::from_secs(10);

/// Smallest excess that can be a change of the path: below it no law brakes.
const LEAST_CHANGE: Duration = Duration::from_millis(4);

/// Besides a quarter of it, the difference by which an excess may move and still be the same.
const NOISE: Duration = Duration::from_millis(1);

/// Besides twice the excess, the time of a queue that must have drained: the delay answers a round trip late.
const MARGIN: Duration = Duration::from_millis(10);

/// Delay of a line without a queue: the minimum of the last 10 s.
///
/// **A change of the path** raises every delay at once. It is told from a queue by its effect: a queue
/// shrinks while less is sent than has been delivered since it was there. If as much as the excess would have
/// drained, and the excess has stayed, it was no queue.
#[derive(Clone, Debug)]
pub struct Baseline {
    smallest: Smallest,
    /// Test that runs: an excess has stayed the same.
    test: Option<Test>,
}

/// Test for a change of the path.
#[derive(Clone, Copy, Debug)]
struct Test {
    /// Excess at its start.
    excess: Duration,
    /// Largest rate that was delivered since.
    most: Rate,
    /// Time of a queue that would have drained since.
    drained: Duration,
}

/// Rates of the last steps beside a round trip.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Rate that was sent.
    pub sent: Rate,
    /// Rate that was delivered.
    pub delivered: Rate,
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

    /// Tests by a round trip and the `rates` for a change of the path; `elapsed` is the time since the last
    /// call. Returns true if the baseline is now this round trip.
    pub fn test(&mut self, now: Instant, elapsed: Duration, rtt: Duration, rates: Rates) -> bool {
        let excess = self.excess(rtt);
        if excess < LEAST_CHANGE {
            self.test = None;
            return false;
        }
        let begun = Test { excess, most: rates.delivered, drained: Duration::ZERO };
        let mut test = self.test.unwrap_or(begun);
        let tolerance = Duration::from_picos(test.excess.as_picos() / 4) + NOISE;
        if excess + tolerance < test.excess || excess > test.excess + tolerance {
            self.test = Some(begun);
            return false;
        }
        test.most = test.most.max(rates.delivered);
        if !test.most.is_zero() {
            let used = Ratio::between(rates.sent.as_bits(), test.most.as_bits());
            test.drained += Ratio::ONE.minus(used).of_time(elapsed);
        }
        self.test = Some(test);
        if test.drained < test.excess + test.excess + MARGIN {
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

    fn rates(sent: u64, delivered: u64) -> Rates {
        Rates { sent: Rate::from_bits(1_000_000 * sent), delivered: Rate::from_bits(1_000_000 * delivered) }
    }

    #[test]
    fn an_excess_that_does_not_drain_is_a_change_of_the_path() {
        for (more, expected) in [(60, Some(26)), (8, Some(6)), (3, None)] {
            let mut baseline = Baseline::default();
            assert_eq!(baseline.excess(ms(40)), Duration::ZERO, "nothing is known yet");
            baseline.push(Instant::ZERO, ms(40));
            // 10 Mbit/s were delivered, then half of it is sent: 5 ms would drain in each step.
            let changed_at = (1..100).find(|step| {
                let delivered = if *step == 1 { 10 } else { 5 };
                baseline.test(Instant::ZERO + ms(10 * step), ms(10), ms(40 + more), rates(5, delivered))
            });
            assert_eq!(changed_at, expected, "{more} ms twice, and 10 ms more, at 5 ms a step");
        }
    }

    #[test]
    fn a_queue_that_drains_is_none() {
        let mut baseline = Baseline::default();
        baseline.push(Instant::ZERO, ms(40));
        for step in 0..60 {
            let now = Instant::ZERO + ms(10 * step);
            assert!(!baseline.test(now, ms(10), ms(100 - step), rates(9, 10)), "step {step}");
        }
        assert_eq!(baseline.get(), Some(ms(40)));
    }

    #[test]
    fn a_queue_that_is_sent_as_much_as_is_delivered_is_no_path() {
        let mut baseline = Baseline::default();
        baseline.push(Instant::ZERO, ms(40));
        for step in 0..1000 {
            // A line that has become slower: what it delivered before the queue says nothing of it.
            let delivered = if step == 0 { 20 } else { 10 };
            let rtt = ms(40 + 10 * step.min(5));
            let now = Instant::ZERO + ms(10 * step);
            assert!(!baseline.test(now, ms(10), rtt, rates(10, delivered)), "step {step}");
        }
    }
}
