//! Prague: DCTCP for the wide internet, in the L4S service.
//!
//! ```text
//! alpha <- (1 - g) alpha + g F           once a virtual round trip, g = 1/16
//! cwnd  <- cwnd (1 - alpha / 2)          at a mark, at once, at most once a round trip
//! cwnd  <- cwnd + (R / max(R, V))^2 / cwnd     for each segment acknowledged without a mark, at any time
//! ```
//!
//! R is the smoothed round trip and V the virtual one, 25 ms: the rate on a shorter path is that of a path
//! of 25 ms. Packets carry ECT(1), the receiver counts marks exactly, segments are paced. The window has
//! fractions of a segment, because alpha / 2 of a short window is less than one. After a loss it halves as
//! Reno's does.
//!
//! This is the Prague of draft-briscoe-iccrg-prague-congestion-control-04 (2024). As there, the virtual round
//! trip counts from the 500th round trip of a connection on. The Prague of Linux until 2020 had none:
//! measurements of that time compare with `virtual_rtt = "0s"`.
//!
//! Differs: each segment is paced, whereas hosts send bursts of up to 250 us; no fallback to classic
//! behaviour at a classic bottleneck queue.

use lockgate_engine::units::{Duration, Instant, Rate};

use super::{Ack, BurstBounds, Cause, CongestionControl, Window};

/// Fixed-point 1 of `alpha`, and of a segment.
const ONE: u64 = 1 << 20;
/// Weight of the last fraction of marks in `alpha`, as a shift: g = 1/16.
const G_SHIFT: u32 = 4;
/// Round trips after which the virtual round trip counts: short flows converge faster without it (section
/// 2.4.4).
const TRANSITION: u32 = 500;

/// Prague (draft-briscoe-iccrg-prague-congestion-control-04; RFC 9330, RFC 9331).
#[derive(Clone, Debug, Default)]
pub struct Prague {
    /// Moving average of the fraction of marks; `None` before the first mark.
    alpha: Option<u64>,
    /// Segments acknowledged since the last update of `alpha`, and those of them with a mark.
    acked: u64,
    marked: u64,
    updated: Instant,
    /// Sequence number whose acknowledgement ends the round trip.
    round_end: u64,
    /// Round trips so far, up to [`TRANSITION`].
    rounds: u32,
    /// Part of a segment by which the window is larger than its whole segments, below [`ONE`].
    fraction: u64,
    virtual_rtt: Duration,
    frame: u32,
    pacing: Option<Rate>,
}

impl Prague {
    /// Returns the virtual round trip, if it is longer than `rtt` and counts already.
    fn longer_rtt(&self, rtt: Duration) -> Option<Duration> {
        (self.rounds >= TRANSITION && self.virtual_rtt > rtt).then_some(self.virtual_rtt)
    }

    /// Counts marks and updates alpha at the end of a round trip, or of a virtual one.
    fn observe(&mut self, ack: &Ack) {
        self.acked += u64::from(ack.acked);
        self.marked += u64::from(ack.marked.min(ack.acked));
        if ack.una > self.round_end {
            self.round_end = ack.next;
            self.rounds = (self.rounds + 1).min(TRANSITION);
            let early = |rtt| self.longer_rtt(rtt).is_some_and(|long| ack.now.since(self.updated) < long);
            if !ack.smoothed_rtt.is_some_and(early) {
                self.update_alpha(ack.now);
            }
        }
        if self.alpha.is_none() && ack.marked > 0 {
            // The first mark halves the window.
            self.alpha = Some(ONE);
            (self.acked, self.marked, self.updated) = (0, 0, ack.now);
        }
    }

    fn update_alpha(&mut self, now: Instant) {
        let fraction = (self.marked * ONE).checked_div(self.acked);
        if let (Some(alpha), Some(fraction)) = (&mut self.alpha, fraction) {
            *alpha = *alpha - (*alpha >> G_SHIFT) + (fraction >> G_SHIFT);
        }
        (self.acked, self.marked, self.updated) = (0, 0, now);
    }

    /// Grows the window for `clean` segments acknowledged without a mark.
    fn grow(&mut self, window: &mut Window, clean: u32, rtt: Option<Duration>) {
        let each = rtt.and_then(|rtt| self.longer_rtt(rtt).map(|long| per_round(rtt, long))).unwrap_or(ONE);
        self.fraction += u64::from(clean) * each / u64::from(window.cwnd.max(1));
        window.cwnd = window.cwnd.saturating_add((self.fraction / ONE) as u32);
        self.fraction %= ONE;
    }
}

/// Returns the growth a round trip `rtt` that is as fast per second as one segment a round trip `long`, at
/// equal rates: (rtt / long)^2.
fn per_round(rtt: Duration, long: Duration) -> u64 {
    let ratio = u128::from(rtt.as_picos()) * u128::from(ONE) / u128::from(long.as_picos().max(1));
    (ratio * ratio / u128::from(ONE)) as u64
}

impl CongestionControl for Prague {
    fn summary(&self) -> &'static str {
        "scalable congestion control of L4S: exact marks, paced, less dependent on the round-trip time"
    }

    fn source(&self) -> &'static str {
        "draft-briscoe-iccrg-prague-congestion-control-04, RFC 9331"
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.observe(ack);
        if ack.may_grow {
            let clean = ack.acked.saturating_sub(ack.marked);
            let left = if window.is_in_slow_start() { window.slow_start(clean) } else { clean };
            self.grow(window, left, ack.smoothed_rtt);
        }
        self.pacing = ack.smoothed_rtt.map(|rtt| {
            let bytes = u64::from(window.cwnd) * u64::from(self.frame);
            let bits = bytes as f64 * 8.0 / rtt.as_secs_f64().max(1e-6);
            Rate::from_bits((bits * if window.is_in_slow_start() { 2.0 } else { 1.0 }) as u64)
        });
    }

    fn reduce(&mut self, window: &Window, cause: Cause) -> u32 {
        match cause {
            Cause::Mark => {
                let exact = u64::from(window.cwnd) * ONE + self.fraction;
                let alpha = self.alpha.unwrap_or(ONE);
                let left = exact - (u128::from(exact) * u128::from(alpha) / u128::from(2 * ONE)) as u64;
                let left = left.max(2 * ONE);
                self.fraction = left % ONE;
                (left / ONE) as u32
            }
            Cause::Loss => (window.cwnd / 2).max(2),
        }
    }

    fn reduces_at_once(&self) -> bool {
        true
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
        self.frame = frame_bytes;
    }

    fn set_virtual_rtt(&mut self, virtual_rtt: Duration) {
        self.virtual_rtt = virtual_rtt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Phase;
    use crate::congestion::reno::tests::ack;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn prague() -> Prague {
        Prague { virtual_rtt: MS(25), rounds: TRANSITION, ..Prague::default() }
    }

    /// Segments by which a window of `cwnd` grows in a second of round trips of `rtt`.
    fn growth(prague: &mut Prague, cwnd: u32, rtt: Duration) -> f64 {
        let mut window = Window { cwnd, ssthresh: 2, counted: 0 };
        let rounds = MS(1000).as_picos() / rtt.as_picos();
        for _ in 0..rounds {
            prague.grow(&mut window, cwnd, Some(rtt));
        }
        f64::from(window.cwnd - cwnd) + prague.fraction as f64 / ONE as f64
    }

    #[test]
    fn short_round_trips_grow_as_at_the_virtual_one() {
        // At equal rates (40 segments a millisecond), the rate grows by as much a second at each round trip:
        // one segment a round trip of 25 ms is 40 a second, each worth 1 / 25 ms.
        let reference = growth(&mut prague(), 1_000_000, MS(25)) / 0.025;
        for millis in [1, 5, 10] {
            let rate = growth(&mut prague(), 1_000_000, MS(millis)) / MS(millis).as_secs_f64();
            assert!((rate / reference - 1.0).abs() < 0.03, "{millis} ms: {rate} instead of {reference}");
        }
        assert!((growth(&mut prague(), 1_000_000, MS(50)) - 19.0).abs() <= 1.0, "longer ones as Reno");
    }

    #[test]
    fn the_virtual_round_trip_counts_after_five_hundred() {
        let mut young = Prague { rounds: TRANSITION - 1, ..prague() };
        assert!((growth(&mut young, 1_000_000, MS(10)) - 100.0).abs() <= 1.0);
        let mut one = ack(Instant::ZERO + MS(1), MS(10), 1);
        (one.una, one.next) = (1, 2);
        young.observe(&one);
        assert_eq!(young.longer_rtt(MS(10)), Some(MS(25)));
        assert_eq!(Prague { virtual_rtt: Duration::ZERO, ..prague() }.longer_rtt(MS(10)), None);
    }

    #[test]
    fn a_mark_takes_half_of_alpha_in_fractions_of_a_segment() {
        let mut prague = prague();
        let window = Window { cwnd: 20, ssthresh: 10, counted: 0 };
        assert_eq!(prague.reduce(&window, Cause::Mark), 10, "alpha is 1 at the first mark");
        prague.alpha = Some(ONE / 20);
        // 20 segments less a 40th: 19.5. The half that remains counts at the next mark: 19.0125, then
        // 18.5372.
        assert_eq!(prague.reduce(&window, Cause::Mark), 19);
        assert!(prague.fraction.abs_diff(ONE / 2) < 20, "{}", prague.fraction);
        let window = Window { cwnd: 19, ..window };
        assert_eq!(prague.reduce(&window, Cause::Mark), 19);
        assert_eq!(prague.reduce(&window, Cause::Mark), 18);
        assert_eq!(prague.reduce(&window, Cause::Loss), 9);
    }

    #[test]
    fn alpha_follows_the_fraction_of_marks_once_a_virtual_round_trip() {
        let mut prague = prague();
        let mut now = Instant::ZERO;
        let mut updates = 0;
        for round in 1..=1000u64 {
            now = now + MS(10);
            let mut one = ack(now, MS(10), 8);
            (one.marked, one.una, one.next) = (2, round * 10, round * 10 + 5);
            let before = prague.updated;
            prague.observe(&one);
            updates += u32::from(prague.updated != before);
        }
        // 25 ms are three round trips of 10 ms: 10 s have 333 updates.
        assert!((333..=335).contains(&updates), "{updates}");
        let alpha = prague.alpha.expect("marks came") as f64 / ONE as f64;
        assert!((alpha - 0.25).abs() < 0.001, "{alpha}");
    }

    #[test]
    fn growth_goes_on_in_a_round_trip_with_a_mark() {
        let mut prague = prague();
        let mut window = Window { cwnd: 10, ssthresh: 5, counted: 0 };
        let mut one = ack(Instant::ZERO + MS(1), MS(50), 10);
        one.phase = Phase::Reduction;
        prague.on_ack(&one, &mut window);
        assert_eq!(window.cwnd, 11);
    }
}
