//! Pacing: when a port of a given rate may send the next frame, in a laboratory and in a router.
//!
//! ```text
//! free = max(free, now - SLACK) + length on the link / rate
//! ```
//!
//! The rate is kept exactly: a frame that is sent late by up to `SLACK` does not delay the ones after it.

use crate::overhead::FrameOverhead;
use crate::units::{Bytes, Duration, Instant, Rate};

/// Largest lateness that is made up for. It bounds the burst after a pause: as many bytes as the rate carries
/// in this time.
pub const SLACK: Duration = Duration::from_millis(1);

/// Rate of a port of its own, and the overhead of its frames. The default is no rate and no overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Rate that the port sends at most; `None`: as fast as the link takes frames.
    pub rate: Option<Rate>,
    /// Overhead of a frame.
    pub overhead: FrameOverhead,
}

/// Pacing of a port. By default it never waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacing {
    pace: Pace,
    /// Time from which the next frame may be sent.
    free: Instant,
}

impl Pacing {
    /// Creates the pacing of a port of this rate.
    pub fn new(pace: Pace) -> Self {
        Self { pace, free: Instant::ZERO }
    }

    /// Changes the rate, and returns the old one. The frames sent so far stay charged.
    pub fn change(&mut self, pace: Pace) -> Pace {
        core::mem::replace(&mut self.pace, pace)
    }

    /// Returns the rate, and the overhead of a frame.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Returns the time for which frames sent by `now` still take the rate.
    pub fn owed(&self, now: Instant) -> Duration {
        self.free.since(now)
    }

    /// Returns true if it never waits.
    pub fn is_unlimited(&self) -> bool {
        self.pace.rate.is_none() && self.free == Instant::ZERO
    }

    /// Returns the time from which the next frame may be sent; `None` if it may be sent at `now`.
    #[inline]
    pub fn waits(&self, now: Instant) -> Option<Instant> {
        (self.free > now).then_some(self.free)
    }

    /// Charges a frame of this length that is sent at `now`.
    #[inline]
    pub fn charge(&mut self, now: Instant, frame: Bytes) {
        let Some(rate) = self.pace.rate else { return };
        let takes = rate.time_for(self.pace.overhead.on_link(frame));
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
        let mut pacing = Pacing::new(Pace { rate: Some(Rate::from_bits(10_000_000)), ..Pace::default() });
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
        pacing.change(Pace::default());
        pacing.charge(at(2_000_000), Bytes(1250));
        assert_eq!(pacing.waits(at(2_000_000)), None);
    }
}
