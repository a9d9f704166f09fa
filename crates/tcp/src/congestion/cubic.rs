//! CUBIC: the window is a cubic function of the time since the last loss, flat at the window of that loss.
//!
//! ```text
//! W(t) = C (t - K)^3 + Wmax      K = cbrt((Wmax - cwnd) / C)      C = 0.4 segments / s^3
//! ```
//!
//! Slow start ends by `HyStart`: when acknowledgements have come back to back for half the smallest
//! round-trip time, or when the round-trip time has grown by an eighth of it (4 to 16 ms). Both are judged
//! per round, and a round begins with the first acknowledgement of what was sent in it, at any window
//! ("`tcp_cubic`: fix incorrect `HyStart` round start detection", Linux 6.14 and stable versions since 2025).
//! Before that commit rounds began in the middle of a flight, behind its own queue, so that long paths left
//! slow start early.
//!
//! Differs, as in Linux: the window after a loss is 717/1024 of the one before; Reno's window grows by one
//! segment for 15/8 of a window acknowledged; the curve is evaluated in the host's ticks and grows at most by
//! one segment for two acknowledged; the first epoch, without a Wmax, grows by at most 5 % a round trip.

use libm::cbrt;
use lockgate_engine::units::{Duration, Instant};

use super::{Ack, Cause, CongestionControl, Window};
use crate::timer_wheel::TimerWheel;

/// Segments per cubic second (RFC 9438 section 4.1).
const C: f64 = 0.4;
/// Multiplicative decrease (RFC 9438 section 4.6: 0.7).
const BETA: f64 = 717.0 / 1024.0;
/// Lifetime of a cached result while the window stays the same, rounded down to whole ticks.
const STANDS: Duration = Duration::from_micros(31_250);
/// Window below which `HyStart` is inactive, in segments.
const HYSTART_LOW_WINDOW: u32 = 16;
/// Samples of a round by which the delay is judged.
const HYSTART_SAMPLES: u32 = 8;
/// Longest gap between acknowledgements of a train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// Most by which bursts and merged acknowledgements may lengthen a train ("`tcp_cubic`: tweak Hystart
/// detection for short RTT flows", 2019) ...
const LONGEST_CUSHION: Duration = Duration::from_millis(1);
/// ... which is the time of so many bytes at the pacing rate: four bursts of 64 KiB.
const CUSHION_BYTES: u64 = 4 * 65_536;

/// CUBIC (RFC 9438).
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Window before the last reduction, lowered if it had not been reached again.
    last_max: u32,
    origin: u32,
    /// Start of the epoch.
    epoch: Option<Instant>,
    /// Seconds from the epoch to the plateau.
    k: f64,
    /// Segments acknowledged in this epoch, and the window Reno would have.
    acked: u32,
    reno: u32,
    delay_min: Option<Duration>,
    hystart: HyStart,
    /// Length of a full frame, and whether bursts are paced.
    frame: u32,
    paced: bool,
    /// Cached result, with the time and the window for which it was computed.
    each: u32,
    reckoned: Option<(Instant, u32)>,
    /// Ticks of the host's clock, by which the curve is evaluated.
    wheel: TimerWheel,
}

#[derive(Clone, Debug, Default)]
struct HyStart {
    found: bool,
    round_end: u64,
    round_start: Instant,
    last_ack: Instant,
    samples: u32,
    smallest: Option<Duration>,
}

impl Default for Cubic {
    fn default() -> Self {
        Self {
            last_max: 0,
            origin: 0,
            epoch: None,
            k: 0.0,
            acked: 0,
            reno: 0,
            delay_min: None,
            hystart: HyStart::default(),
            frame: 1514,
            paced: false,
            each: 1,
            reckoned: None,
            wheel: TimerWheel::EXACT,
        }
    }
}

impl Cubic {
    /// Returns the number of acknowledged segments for which the window grows by one.
    fn segments_each(&mut self, now: Instant, window: &Window, acked: u32) -> u32 {
        let cwnd = window.cwnd;
        let now = self.wheel.read(now);
        self.acked = self.acked.saturating_add(acked);
        // The curve is evaluated some thirty times a second, or when the window has changed.
        if let Some((at, of)) = self.reckoned
            && of == cwnd
            && now.since(at) <= self.wheel.round_down(STANDS)
        {
            return self.each;
        }
        if self.epoch.is_some() && self.reckoned.is_some_and(|(at, _)| at == now) {
            return self.friendly(cwnd);
        }
        self.reckoned = Some((now, cwnd));
        let epoch = if let Some(epoch) = self.epoch { epoch } else { self.begin(now, cwnd, acked) };
        let ahead = self.delay_min.unwrap_or(Duration::ZERO);
        let t = (now + ahead).since(epoch).as_secs_f64() - self.k;
        //= https://www.rfc-editor.org/rfc/rfc9438#section-4.2
        // W_cubic(t) = C * (t - K)^3 + W_max
        // In whole segments: within one of the plateau the window hardly moves.
        let above = i64::from(self.origin) + (C * t * t * t) as i64 - i64::from(cwnd);
        self.each = if above > 0 { (i64::from(cwnd) / above) as u32 } else { cwnd.saturating_mul(100) };
        if self.last_max == 0 {
            self.each = self.each.min(20);
        }
        self.friendly(cwnd)
    }

    fn begin(&mut self, now: Instant, cwnd: u32, acked: u32) -> Instant {
        self.epoch = Some(now);
        self.acked = acked;
        self.reno = cwnd;
        if self.last_max <= cwnd {
            (self.k, self.origin) = (0.0, cwnd);
        } else {
            self.k = cbrt(f64::from(self.last_max - cwnd) / C);
            self.origin = self.last_max;
        }
        now
    }

    /// Returns at least the window of Reno with the same decrease.
    fn friendly(&mut self, cwnd: u32) -> u32 {
        //= https://www.rfc-editor.org/rfc/rfc9438#section-4.3
        // alpha_cubic = 3 * (1 - beta) / (1 + beta): one segment more for cwnd / alpha acknowledged. Linux
        // reckons 1 / alpha in whole eighths: 15/8, where 1.89 is exact.
        let each = (cwnd.saturating_mul(15) / 8).max(1);
        while self.acked > each {
            self.acked -= each;
            self.reno += 1;
        }
        if self.reno > cwnd {
            self.each = self.each.min(cwnd / (self.reno - cwnd));
        }
        self.each = self.each.max(2);
        self.each
    }

    /// Returns the length of a train of acknowledgements that fills the path.
    fn full_train(&self, ack: &Ack, delay_min: Duration, cwnd: u32) -> Duration {
        // Pacing in slow start: two windows a round trip.
        let rtt = ack.smoothed_rtt.map_or(u128::MAX, |rtt| u128::from(rtt.as_picos()));
        let bytes = u128::from(cwnd.max(1)) * u128::from(self.frame) * 2;
        let cushion = rtt.saturating_mul(u128::from(CUSHION_BYTES)) / bytes;
        let cushion = cushion.min(u128::from(LONGEST_CUSHION.as_picos())) as u64;
        let whole = delay_min + Duration::from_picos(cushion);
        // Paced, a flight that fills half the path takes the whole of it ("tcp_cubic: make Hystart aware of
        // pacing", 2019).
        if self.paced { whole } else { whole / 2 }
    }

    fn look_at_delay(&mut self, ack: &Ack, rtt: Duration, window: &mut Window) {
        let delay_min = *self.delay_min.get_or_insert(rtt);
        if self.hystart.found || !window.is_in_slow_start() {
            return;
        }
        if ack.una > self.hystart.round_end {
            self.hystart = HyStart {
                round_end: ack.next,
                round_start: ack.now,
                last_ack: ack.now,
                ..HyStart::default()
            };
        }
        if window.cwnd < HYSTART_LOW_WINDOW {
            return;
        }
        let full = self.full_train(ack, delay_min, window.cwnd);
        let start = &mut self.hystart;
        if ack.now.since(start.last_ack) <= TRAIN_GAP {
            start.last_ack = ack.now;
            start.found = ack.now.since(start.round_start) > full;
        }
        let smallest = start.smallest.map_or(rtt, |smallest| smallest.min(rtt));
        start.smallest = Some(smallest);
        if start.samples < HYSTART_SAMPLES {
            start.samples += 1;
        } else {
            let margin = (delay_min / 8).clamp(Duration::from_millis(4), Duration::from_millis(16));
            start.found |= smallest > delay_min + margin;
        }
        if start.found {
            window.ssthresh = window.cwnd;
        }
    }
}

impl CongestionControl for Cubic {
    fn summary(&self) -> &'static str {
        "the window is a cubic function of the time since the last loss"
    }

    fn source(&self) -> &'static str {
        "RFC 9438; HyStart: Ha and Rhee 2011"
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if let Some(rtt) = ack.rtt {
            // Within a second after a loss, queues have not settled.
            let early = self.epoch.is_some_and(|epoch| ack.now.since(epoch) < Duration::from_secs(1));
            if !early {
                self.delay_min = Some(self.delay_min.map_or(rtt, |smallest| smallest.min(rtt)));
                self.look_at_delay(ack, rtt, window);
            }
        }
        if !ack.may_grow {
            return;
        }
        let left = if window.is_in_slow_start() { window.slow_start(ack.acked) } else { ack.acked };
        if left > 0 {
            let each = self.segments_each(ack.now, window, left);
            window.grow(each, left);
        }
    }

    fn reduce(&mut self, window: &Window, _: Cause) -> u32 {
        self.epoch = None;
        self.reckoned = None;
        let cwnd = f64::from(window.cwnd);
        //= https://www.rfc-editor.org/rfc/rfc9438#section-4.7
        // Fast convergence: a window that did not come back to its maximum makes room.
        self.last_max =
            if window.cwnd < self.last_max { (cwnd * (1.0 + BETA) / 2.0) as u32 } else { window.cwnd };
        ((cwnd * BETA) as u32).max(2)
    }

    fn on_timeout(&mut self) {
        *self = Self { wheel: self.wheel, frame: self.frame, paced: self.paced, ..Self::default() };
    }

    fn on_restart(&mut self, idle: Duration) {
        // Idle time does not advance the curve.
        self.epoch = self.epoch.map(|epoch| epoch + idle);
    }

    fn set_segment(&mut self, frame_bytes: u32) {
        self.frame = frame_bytes;
    }

    fn set_paced(&mut self, paced: bool) {
        self.paced = paced;
    }

    fn set_wheel(&mut self, wheel: TimerWheel) {
        self.wheel = wheel;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::reno::tests::ack;

    #[test]
    fn the_window_follows_the_curve_between_two_losses() {
        let rtt = Duration::from_millis(100);
        let mut cubic = Cubic::default();
        let mut window = Window { cwnd: 1000, ssthresh: 1000, counted: 0 };
        window.ssthresh = cubic.reduce(&window, Cause::Loss);
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 700);
        // K = cbrt(300 / 0.4) = 9.09 s. Acknowledgements of two, a window a round trip.
        let k = cbrt(300.0 / 0.4);
        let start = Instant::ZERO + Duration::from_secs(5);
        let mut now = start;
        while now < start + Duration::from_secs(14) {
            let gap = Duration::from_picos(rtt.as_picos() * 2 / u64::from(window.cwnd));
            now = now + gap;
            cubic.on_ack(&ack(now, rtt, 2), &mut window);
            let t = now.since(start).as_secs_f64() + 0.1 - k;
            let curve = 1000.0 + 0.4 * t * t * t;
            // One round trip behind its target at most.
            let slope = 0.4 * 3.0 * t * t * 0.1 + 1.0 + 0.01 * curve;
            assert!((f64::from(window.cwnd) - curve).abs() < slope + 5.0, "{} {curve} at {t}", window.cwnd);
        }
    }

    #[test]
    fn renos_window_grows_by_one_for_fifteen_eighths_of_it() {
        let mut cubic = Cubic { acked: 32, reno: 17, each: 1700, ..Cubic::default() };
        assert_eq!(cubic.friendly(17), 17, "32 acknowledged are more than 17 * 15 / 8 = 31");
        assert_eq!((cubic.reno, cubic.acked), (18, 1));
    }

    #[test]
    fn the_curve_is_read_once_a_tick() {
        let ms = Duration::from_millis;
        let wheel = TimerWheel::new(ms(4), Duration::ZERO);
        let mut cubic = Cubic { last_max: 300, wheel, ..Cubic::default() };
        let start = Instant::ZERO + ms(2000);
        let at = |cwnd| Window { cwnd, ssthresh: 100, counted: 0 };
        cubic.segments_each(start + ms(1), &at(200), 2);
        let reckoned = cubic.reckoned;
        cubic.segments_each(start + ms(3), &at(201), 2);
        assert_eq!((cubic.epoch, cubic.reckoned), (Some(start), reckoned), "the same tick of 4 ms");
        cubic.segments_each(start + ms(4), &at(201), 2);
        assert_eq!(cubic.reckoned, Some((start + ms(4), 201)), "the window has moved");
        cubic.segments_each(start + ms(35), &at(201), 2);
        assert_eq!(cubic.reckoned, Some((start + ms(4), 201)), "seven ticks later");
        cubic.segments_each(start + ms(36), &at(201), 2);
        assert_eq!(cubic.reckoned, Some((start + ms(36), 201)));
    }

    /// Acknowledges flights of 10, 20, 40 ... segments on a path of 500 ms, each segment `gap` after the one
    /// before; if it `waits`, half of that longer in a queue. Returns the window at the end of slow start.
    fn slow_start(gap: Duration, waits: bool, paced: bool) -> u32 {
        let mut cubic = Cubic::default();
        cubic.set_paced(paced);
        let mut window = Window::new(10);
        let (mut una, mut next) = (1, 11);
        let mut begin = Instant::ZERO + Duration::from_secs(1);
        let rtt = Duration::from_millis(500);
        while window.is_in_slow_start() && window.cwnd < 10_000 {
            for step in 0..next - una {
                let queued = if waits { gap * step / 2 } else { Duration::ZERO };
                let now = begin + gap * step;
                let one = Ack { una: una + step + 1, next: next + 2 * step, ..ack(now, rtt + queued, 1) };
                cubic.on_ack(&one, &mut window);
            }
            (una, next) = (next, next + 2 * (next - una));
            begin = begin + rtt;
        }
        window.ssthresh
    }

    #[test]
    fn a_round_is_judged_from_its_first_acknowledgement_on() {
        // Half of a flight waits behind the other half, and its first behind no packet: only the train of
        // 250.5 ms ends slow start, in the round of 640.
        let gap = Duration::from_micros(600);
        let window = slow_start(gap, true, false);
        assert!((640 + 416..=640 + 420).contains(&window), "{window}: 250.5 ms of 0.6 ms");
        // Paced, the whole round trip.
        let window = slow_start(gap, true, true);
        assert!((1280 + 833..=1280 + 837).contains(&window), "{window}: 501 ms of 0.6 ms");
    }

    #[test]
    fn a_longer_round_trip_ends_slow_start() {
        let mut cubic = Cubic::default();
        let mut window = Window::new(20);
        let ms = Duration::from_millis;
        let mut one = ack(Instant::ZERO + ms(40), ms(40), 1);
        (one.una, one.next) = (1, 20);
        cubic.on_ack(&one, &mut window);
        for n in 0..10 {
            one.now = one.now + ms(5);
            one.una = 21 + n;
            one.next = 60;
            one.rtt = Some(ms(46));
            cubic.on_ack(&one, &mut window);
        }
        assert!(!window.is_in_slow_start(), "46 ms are more than 40 + 40/8");
    }
}
