//! Prague: DCTCP for the wide internet, in the L4S service.
//!
//! Packets carry ECT(1), the receiver counts marks exactly, segments are paced, and growth on round trips
//! shorter than 25 ms is as slow as at 25 ms (RFC 9331 section 4.3: reduce dependence on the round-trip
//! time). After a loss the window halves as Reno's does.
//!
//! Differs: each segment is paced, whereas hosts send bursts of up to 250 us; no fallback to classic
//! behaviour at a classic bottleneck queue.

use lockgate_engine::units::{Bytes, Duration, Rate};

use super::{Ack, BurstBounds, Cause, CongestionControl, Dctcp, Phase, Window};

/// Reference round-trip time: growth on shorter ones is as slow as on this.
const REFERENCE: Duration = Duration::from_millis(25);

/// Prague (RFC 9330, RFC 9331; draft-briscoe-iccrg-prague-congestion-control).
#[derive(Clone, Debug, Default)]
pub struct Prague {
    marks: Dctcp,
    frame: u32,
    pacing: Option<Rate>,
}

impl CongestionControl for Prague {
    fn summary(&self) -> &'static str {
        "scalable congestion control of L4S: exact marks, paced, less dependent on the round-trip time"
    }

    fn source(&self) -> &'static str {
        "RFC 9331, draft-briscoe-iccrg-prague-congestion-control"
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.marks.observe(ack);
        if ack.may_grow && ack.phase < Phase::Recovery {
            let clean = ack.acked.saturating_sub(ack.marked);
            let left = if window.is_in_slow_start() { window.slow_start(clean) } else { clean };
            if left > 0 {
                window.grow(grown_each(window.cwnd, ack.smoothed_rtt), left);
            }
        }
        self.pacing = ack.smoothed_rtt.map(|rtt| {
            let bytes = u64::from(window.cwnd) * u64::from(self.frame);
            let bits = bytes as f64 * 8.0 / rtt.as_secs_f64().max(1e-6);
            Rate::from_bits((bits * if window.is_in_slow_start() { 2.0 } else { 1.0 }) as u64)
        });
    }

    fn reduce(&mut self, window: &Window, cause: Cause) -> u32 {
        self.marks.reduce(window, cause)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn burst_bounds(&self) -> BurstBounds {
        BurstBounds { least: 1, most: 1 }
    }

    fn ecn_codepoint(&self) -> Option<u8> {
        Some(0b01)
    }

    fn set_segment(&mut self, frame_bytes: u32) {
        self.frame = Bytes(u64::from(frame_bytes)).0 as u32;
    }
}

/// Returns the number of acknowledged segments for which the window grows by one: `cwnd (REFERENCE / rtt)^2`
/// instead of `cwnd`, so that it grows as fast per second as at the reference.
fn grown_each(cwnd: u32, rtt: Option<Duration>) -> u32 {
    let Some(rtt) = rtt.filter(|rtt| *rtt < REFERENCE && !rtt.is_zero()) else { return cwnd };
    let ratio = REFERENCE.as_secs_f64() / rtt.as_secs_f64();
    (f64::from(cwnd) * ratio * ratio).min(f64::from(u32::MAX / 4)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_round_trips_grow_no_faster_than_the_reference() {
        // Windows a second = acknowledged segments a second / each = (cwnd / rtt) / each.
        for millis in [1, 5, 25] {
            let rtt = Duration::from_millis(millis);
            let cwnd = 40 * millis as u32;
            let growth = f64::from(cwnd) / rtt.as_secs_f64() / f64::from(grown_each(cwnd, Some(rtt)));
            assert!((growth * 0.025 - 0.025 * 1000.0 * millis as f64 / 625.0).abs() < 0.2, "{growth}");
        }
        assert_eq!(grown_each(100, Some(Duration::from_millis(50))), 100);
    }
}
