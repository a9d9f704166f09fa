//! Reno: the window grows by one segment a round trip and halves after a loss.

use super::{Ack, Cause, CongestionControl, Window};

/// Reno (RFC 5681).
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl CongestionControl for Reno {
    fn summary(&self) -> &'static str {
        "one segment more a round trip, half the window after a loss"
    }

    fn source(&self) -> &'static str {
        "RFC 5681, RFC 6582"
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if !ack.may_grow {
            return;
        }
        let left = if window.is_in_slow_start() { window.slow_start(ack.acked) } else { ack.acked };
        if left > 0 {
            //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
            // Congestion avoidance: one full-sized segment a round-trip time.
            window.grow(window.cwnd, left);
        }
    }

    fn reduce(&mut self, window: &Window, _: Cause) -> u32 {
        //= https://www.rfc-editor.org/rfc/rfc5681#section-3.1
        //# ssthresh = max (FlightSize / 2, 2*SMSS)
        // Differs: half the window instead of half the flight; they are equal while the window limits
        // sending.
        (window.cwnd / 2).max(2)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::RateSample;
    use crate::congestion::Phase;
    use lockgate_engine::units::{Duration, Instant};

    pub(crate) fn ack(now: Instant, rtt: Duration, acked: u32) -> Ack {
        Ack {
            now,
            acked,
            in_flight_before: 100,
            in_flight: 100,
            rtt: Some(rtt),
            smoothed_rtt: Some(rtt),
            smallest_rtt: Some(rtt),
            una: 0,
            next: 0,
            marked: 0,
            may_grow: true,
            phase: Phase::Open,
            losses: 0,
            rate: RateSample::default(),
            delivered: 0,
        }
    }

    #[test]
    fn doubles_a_round_then_adds_one() {
        let mut window = Window { cwnd: 10, ssthresh: 16, counted: 0 };
        let one = ack(Instant::ZERO, Duration::from_millis(10), 1);
        for _ in 0..6 {
            Reno.on_ack(&one, &mut window);
        }
        assert_eq!(window.cwnd, 16);
        for _ in 0..16 {
            Reno.on_ack(&one, &mut window);
        }
        assert_eq!(window.cwnd, 17);
        assert_eq!(Reno.reduce(&window, Cause::Loss), 8);
    }
}
