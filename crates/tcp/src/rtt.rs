//! Round-trip time and retransmission timeout (RFC 6298), with Linux's variance.
//!
//! ```text
//! SRTT <- 7/8 SRTT + 1/8 R        RTO = SRTT + max(minimum, 4 RTTVAR)        doubled at each timeout
//! ```
//!
//! Differs: RTTVAR is the largest smoothed deviation of the last round trip and falls by a quarter a round
//! trip; a sample far below SRTT counts an eighth, so that a draining queue does not raise the timeout. The
//! lower bound is on the variance term, not on the sum. Both are Linux's; RFC 6298 allows both except for its
//! bound of one second on the sum.

use lockgate_engine::units::{Duration, Instant};

use crate::timer_wheel::TimerWheel;

/// RFC 6298 section 2: timeout before the first sample.
const INITIAL: Duration = Duration::from_secs(1);
/// RFC 6298 section 2.5: a maximum may be placed on RTO provided it is at least 60 seconds.
const MAXIMUM: Duration = Duration::from_secs(120);
/// Lifetime of the smallest round-trip time.
const MEMORY: Duration = Duration::from_secs(300);

/// Estimator of one sender.
#[derive(Clone, Debug)]
pub struct Rtt {
    minimum: Duration,
    wheel: TimerWheel,
    smoothed: Option<Duration>,
    /// Four times the smoothed deviation.
    deviation: Duration,
    /// Maximum deviation of the current round trip.
    deviation_max: Duration,
    /// Variance term of the timeout.
    variance: Duration,
    /// Sequence number whose acknowledgement ends the round trip.
    round_end: u64,
    smallest: Duration,
    smallest_at: Instant,
    latest: Duration,
    /// Consecutive timeouts.
    backoff: u32,
}

impl Rtt {
    /// Creates an estimator without samples; the variance term is never below `minimum`, and timeouts are
    /// whole ticks of `wheel`.
    pub fn new(minimum: Duration, wheel: TimerWheel) -> Self {
        Self {
            minimum,
            wheel,
            smoothed: None,
            deviation: Duration::ZERO,
            deviation_max: minimum,
            variance: Duration::ZERO,
            round_end: 0,
            smallest: Duration::MAX,
            smallest_at: Instant::ZERO,
            latest: Duration::ZERO,
            backoff: 0,
        }
    }

    /// Takes a sample: a segment was acknowledged `sample` after it was sent, and was sent once (Karn) or
    /// identified by its timestamp. `una` is the first unacknowledged number, `next` the next to be sent.
    pub fn on_sample(&mut self, sample: Duration, una: u64, next: u64, now: Instant) {
        self.backoff = 0;
        self.latest = sample;
        if sample <= self.smallest || now.since(self.smallest_at) > MEMORY {
            (self.smallest, self.smallest_at) = (sample, now);
        }
        let Some(smoothed) = self.smoothed else {
            //= https://www.rfc-editor.org/rfc/rfc6298#section-2
            //# SRTT <- R
            //# RTTVAR <- R/2
            self.smoothed = Some(sample);
            self.deviation = sample * 2;
            self.variance = self.deviation.max(self.minimum);
            self.deviation_max = self.variance;
            self.round_end = next;
            return;
        };
        let error = sample.as_picos().abs_diff(smoothed.as_picos());
        let deviation = self.deviation.as_picos();
        self.smoothed = Some(if sample < smoothed {
            smoothed.saturating_sub(Duration::from_picos(error / 8))
        } else {
            smoothed + Duration::from_picos(error / 8)
        });
        let surplus = error.saturating_sub(deviation / 4);
        self.deviation = Duration::from_picos(if sample < smoothed && surplus > 0 {
            deviation + surplus / 8
        } else {
            deviation - deviation / 4 + error
        });
        self.deviation_max = self.deviation_max.max(self.deviation);
        self.variance = self.variance.max(self.deviation_max);
        if una > self.round_end {
            let fall = self.variance.saturating_sub(self.deviation_max) / 4;
            self.variance = self.variance.saturating_sub(fall);
            self.round_end = next;
            self.deviation_max = self.minimum;
        }
    }

    /// Returns the retransmission timeout, doublings included.
    pub fn timeout(&self) -> Duration {
        let base = self.wheel.round_up(self.smoothed.map_or(INITIAL, |smoothed| smoothed + self.variance));
        //= https://www.rfc-editor.org/rfc/rfc6298#section-5
        //# The host MUST set RTO <- RTO * 2 ("back off the timer").
        (base * (1 << self.backoff.min(16))).min(MAXIMUM)
    }

    /// Doubles the timeout after it expired.
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Ends the doubling: new data were acknowledged.
    pub fn forget_back_off(&mut self) {
        self.backoff = 0;
    }

    /// Returns the number of consecutive timeouts.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Returns the smoothed round-trip time.
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Returns the smallest round-trip time of the last five minutes; `None` before the first sample.
    pub fn smallest(&self) -> Option<Duration> {
        (self.smallest < Duration::MAX).then_some(self.smallest)
    }

    /// Returns the last sample.
    pub fn latest(&self) -> Duration {
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_sets_and_later_ones_smooth() {
        let ms = Duration::from_millis;
        let mut rtt = Rtt::new(ms(200), TimerWheel::EXACT);
        assert_eq!(rtt.timeout(), ms(1000));
        rtt.back_off();
        assert_eq!(rtt.timeout(), ms(2000));
        rtt.on_sample(ms(100), 1, 10, Instant::ZERO);
        assert_eq!(rtt.smoothed(), Some(ms(100)));
        assert_eq!(rtt.timeout(), ms(300), "100 + max(200, 2 * 100)");
        rtt.on_sample(ms(180), 5, 20, Instant::ZERO);
        // SRTT 110; deviation 4 * (3/4 * 50 + 1/4 * 80) = 230.
        assert_eq!(rtt.smoothed(), Some(ms(110)));
        assert_eq!(rtt.timeout(), ms(340));
        for _ in 0..20 {
            rtt.back_off();
        }
        assert_eq!(rtt.timeout(), ms(120_000));
    }

    #[test]
    fn without_variance_the_timeout_is_the_minimum_above_srtt() {
        let ms = Duration::from_millis;
        let mut rtt = Rtt::new(ms(200), TimerWheel::EXACT);
        for round in 0..200 {
            rtt.on_sample(ms(50), round * 10, round * 10 + 10, Instant::ZERO);
        }
        assert!(rtt.timeout() <= ms(251), "{:?}", rtt.timeout());
        assert_eq!(rtt.smallest(), Some(ms(50)));
    }
}
