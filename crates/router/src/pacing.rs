//! Pacing: when a port of a given rate may send the next frame.
//!
//! ```text
//! free = max(free, now - SLACK) + length on the link / rate
//! ```
//!
//! The rate is kept exactly: a frame that is sent late by up to `SLACK` does not delay the ones after it.

use lockgate_engine::disciplines::cake::Compensation;
use lockgate_engine::units::{Bytes, Duration, Instant, Rate};

/// Largest lateness that is made up for. It bounds the burst after a pause: as many bytes as the rate carries
/// in this time.
pub(crate) const SLACK: Duration = Duration::from_millis(1);

/// Pacing of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacing {
    /// `None`: as fast as the interface takes frames.
    rate: Option<Rate>,
    charge: Compensation,
    /// Time from which the next frame may be sent.
    free: Instant,
}

impl Pacing {
    pub(crate) fn new(rate: Option<Rate>, charge: Compensation) -> Self {
        Self { rate, charge, free: Instant::ZERO }
    }

    /// Changes rate and charge, and returns the old ones. The frames sent so far stay charged.
    pub(crate) fn change(
        &mut self,
        rate: Option<Rate>,
        charge: Compensation,
    ) -> (Option<Rate>, Compensation) {
        let old = (self.rate, self.charge);
        (self.rate, self.charge) = (rate, charge);
        old
    }

    /// Returns the time from which the next frame may be sent; `None` if it may be sent at `now`.
    #[inline]
    pub(crate) fn waits(&self, now: Instant) -> Option<Instant> {
        (self.free > now).then_some(self.free)
    }

    /// Charges a frame of this length that is sent at `now`.
    #[inline]
    pub(crate) fn charge(&mut self, now: Instant, frame: Bytes) {
        let Some(rate) = self.rate else { return };
        let takes = rate.time_for(self.charge.on_link(frame));
        self.free =
            self.free.max(Instant::from_picos(now.as_picos().saturating_sub(SLACK.as_picos()))) + takes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn a_late_frame_delays_none_after_it_and_a_pause_is_not_saved_up() {
        // 1250 bytes at 10 Mbit/s: a millisecond each.
        let mut pacing = Pacing::new(Some(Rate::from_bits(10_000_000)), Compensation::default());
        pacing.charge(at(10_000), Bytes(1250));
        assert_eq!(pacing.waits(at(9_999)), Some(at(10_000)), "of the millisecond before");
        pacing.charge(at(10_000), Bytes(1250));
        assert_eq!(pacing.waits(at(10_000)), Some(at(11_000)));
        // 300 us late: the frame after it is due as if it had been punctual.
        pacing.charge(at(11_300), Bytes(1250));
        assert_eq!(pacing.waits(at(11_300)), Some(at(12_000)));
        // After a second without frames, one is let through ahead of the rate, not a thousand.
        pacing.charge(at(1_000_000), Bytes(1250));
        pacing.charge(at(1_000_000), Bytes(1250));
        assert_eq!(pacing.waits(at(1_000_000)), Some(at(1_001_000)));
        pacing.change(None, Compensation::default());
        pacing.charge(at(2_000_000), Bytes(1250));
        assert_eq!(pacing.waits(at(2_000_000)), None);
    }
}
