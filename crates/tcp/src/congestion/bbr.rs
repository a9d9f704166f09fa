//! BBR, version 1: a model of the path (bandwidth and smallest round-trip time) sets pacing rate and window.
//!
//! ```text
//! STARTUP --(bandwidth grew < 25 % in 3 rounds)--> DRAIN --(in flight <= BDP)--> PROBE_BW <--> PROBE_RTT
//! pacing rate = gain * bandwidth         window = gain * bandwidth * smallest round-trip time
//! ```
//!
//! As in Linux, the window has additional room for bursts (three of the sender's) and for recently aggregated
//! acknowledgements, those that came faster than the bandwidth.
//!
//! Differs: no detection of token-bucket policers.

use lockgate_engine::units::{Duration, Instant, Rate};

use super::{Ack, BurstBounds, Cause, CongestionControl, Phase, Window};

/// 2 / ln 2: the smallest gain that doubles the rate each round.
const HIGH_GAIN: f64 = 2.885;
/// Gains of the phases of `PROBE_BW`, a smallest round-trip time each.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Rounds over which the maximum bandwidth is taken.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Lifetime of the smallest round-trip time.
const RTT_MEMORY: Duration = Duration::from_secs(10);
/// Time in which the window stays small to measure it again.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Rounds of each of the two periods over which the maximum aggregation is taken.
const AGGREGATION_ROUNDS: u32 = 5;
/// Bound of the aggregation: the bandwidth times this time, in seconds.
const AGGREGATION_TIME: f64 = 0.1;
/// Smallest window, in segments.
const LEAST_WINDOW_SEGMENTS: u32 = 4;
/// Largest target, in segments: windows have 32 bits.
const LARGEST_TARGET_SEGMENTS: f64 = 1e9;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// BBR, as in draft-cardwell-iccrg-bbr-congestion-control-00.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "the draft's own state")]
pub struct Bbr {
    mode: Mode,
    frame: f64,
    /// Running maximum of the bandwidth over the last rounds: the three best as (round, segments a second).
    best: [(u64, f64); 3],
    round: u64,
    round_end: u64,
    round_start: bool,
    smallest_rtt: Option<Duration>,
    smallest_rtt_at: Instant,
    full_bandwidth: f64,
    full_rounds: u32,
    full: bool,
    cycle: usize,
    cycle_at: Instant,
    probe_rtt_done: Option<Instant>,
    probe_rtt_round: bool,
    prior_window: u32,
    phase: Phase,
    conserve: bool,
    pacing: Option<f64>,
    /// Maximum of segments acknowledged beyond the bandwidth's share, in this period and the one before.
    extra: [u32; 2],
    extra_rounds: u32,
    /// Segments acknowledged since acknowledgements last came no faster than the bandwidth, and that time.
    aggregated: u64,
    aggregated_from: Instant,
}

impl Bbr {
    fn bandwidth(&self) -> f64 {
        self.best[0].1
    }

    /// Updates the running maximum of the bandwidth.
    fn remember(&mut self, sample: f64) {
        let now = self.round;
        if sample >= self.best[0].1 || now - self.best[2].0 > BANDWIDTH_ROUNDS {
            self.best = [(now, sample); 3];
            return;
        }
        if sample >= self.best[1].1 {
            self.best[1] = (now, sample);
            self.best[2] = (now, sample);
        } else if sample >= self.best[2].1 {
            self.best[2] = (now, sample);
        }
        let age = now - self.best[0].0;
        if age > BANDWIDTH_ROUNDS {
            self.best = [self.best[1], self.best[2], (now, sample)];
            if now - self.best[0].0 > BANDWIDTH_ROUNDS {
                self.best = [self.best[1], self.best[2], (now, sample)];
            }
        } else if self.best[1].0 == self.best[0].0 && age > BANDWIDTH_ROUNDS / 4 {
            self.best[1] = (now, sample);
            self.best[2] = (now, sample);
        } else if self.best[2].0 == self.best[1].0 && age > BANDWIDTH_ROUNDS / 2 {
            self.best[2] = (now, sample);
        }
    }

    /// Returns bandwidth times smallest round-trip time times `gain`, plus `extra`, in segments.
    fn target(&self, gain: f64, extra: u32) -> u32 {
        match self.smallest_rtt {
            Some(rtt) if self.bandwidth() > 0.0 => {
                let segments = libm::ceil(self.bandwidth() * rtt.as_secs_f64() * gain)
                    .min(LARGEST_TARGET_SEGMENTS) as u32;
                let segments = segments + extra.min(LARGEST_TARGET_SEGMENTS as u32);
                //= https://datatracker.ietf.org/doc/html/draft-cardwell-iccrg-bbr-congestion-control-00#section-4.2.3.2
                // Room for three bursts. Linux makes it an even number, two more while it probes for
                // bandwidth.
                let probing = self.mode == Mode::ProbeBandwidth && self.cycle == 0;
                (segments + 3 * self.burst()).next_multiple_of(2) + if probing { 2 } else { 0 }
            }
            _ => 10,
        }
    }

    /// Returns the segments of a burst, without the allowance for short paths.
    fn burst(&self) -> u32 {
        self.burst_bounds().size(self.pacing_rate(), None, self.frame as u32)
    }

    /// Returns the segments of aggregated acknowledgements for which the window has room.
    fn aggregation(&self) -> u32 {
        if !self.full {
            return 0;
        }
        self.extra[0].max(self.extra[1]).min((self.bandwidth() * AGGREGATION_TIME) as u32)
    }

    /// Measures the aggregation of acknowledgements: segments beyond the bandwidth's share since
    /// acknowledgements last came no faster than it.
    fn update_aggregation(&mut self, ack: &Ack, cwnd: u32) {
        if ack.acked == 0 || ack.rate.interval.is_zero() {
            return;
        }
        if self.round_start {
            self.extra_rounds += 1;
            if self.extra_rounds >= AGGREGATION_ROUNDS {
                self.extra_rounds = 0;
                self.extra = [0, self.extra[0]];
            }
        }
        let mut expected = (self.bandwidth() * ack.now.since(self.aggregated_from).as_secs_f64()) as u64;
        if self.aggregated <= expected {
            (self.aggregated, self.aggregated_from, expected) = (0, ack.now, 0);
        }
        self.aggregated += u64::from(ack.acked);
        let surplus = (self.aggregated - expected).min(u64::from(cwnd)) as u32;
        self.extra[0] = self.extra[0].max(surplus);
    }

    fn update_bandwidth(&mut self, ack: &Ack) {
        self.round_start = false;
        let rate = &ack.rate;
        if rate.interval.is_zero() || rate.delivered == 0 {
            return;
        }
        if rate.prior_delivered >= self.round_end {
            self.round_end = ack.delivered;
            self.round += 1;
            self.round_start = true;
            self.conserve = false;
        }
        let sample = rate.delivered as f64 / rate.interval.as_secs_f64();
        if !rate.application_limited || sample >= self.bandwidth() {
            self.remember(sample);
        }
    }

    fn check_full(&mut self, ack: &Ack) {
        if self.full || !self.round_start || ack.rate.application_limited {
            return;
        }
        if self.bandwidth() >= self.full_bandwidth * 1.25 {
            self.full_bandwidth = self.bandwidth();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= 3;
    }

    fn probe_bandwidth(&mut self, now: Instant) {
        self.mode = Mode::ProbeBandwidth;
        // Any phase but the draining one may come first. The draft draws one at random; this starts with the
        // third.
        (self.cycle, self.cycle_at) = (2, now);
    }

    fn advance_cycle(&mut self, ack: &Ack) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let full_length = ack.now.since(self.cycle_at) > self.smallest_rtt.unwrap_or_default();
        let gain = CYCLE[self.cycle];
        let over = if gain > 1.0 {
            full_length && (ack.losses > 0 || ack.in_flight_before >= self.target(gain, 0))
        } else if gain < 1.0 {
            full_length || ack.in_flight_before <= self.target(1.0, 0)
        } else {
            full_length
        };
        if over {
            self.cycle = (self.cycle + 1) % CYCLE.len();
            self.cycle_at = ack.now;
        }
    }

    fn update_rtt(&mut self, ack: &Ack, window: &mut Window) {
        let expired = ack.now > self.smallest_rtt_at + RTT_MEMORY;
        // An equal sample does not renew the estimate, or a path without noise would never be measured again
        // ("tcp: only postpone PROBE_RTT if RTT is < current min_rtt estimate", Linux 5.10).
        if let Some(rtt) = ack.rtt
            && (self.smallest_rtt.is_none_or(|smallest| rtt < smallest) || expired)
        {
            (self.smallest_rtt, self.smallest_rtt_at) = (Some(rtt), ack.now);
        }
        if expired && self.smallest_rtt.is_some() && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.prior_window = self.prior_window.max(window.cwnd);
            self.probe_rtt_done = None;
        }
        if self.mode != Mode::ProbeRtt {
            return;
        }
        match self.probe_rtt_done {
            None if ack.in_flight <= LEAST_WINDOW_SEGMENTS => {
                self.probe_rtt_done = Some(ack.now + PROBE_RTT_TIME);
                self.probe_rtt_round = false;
                self.round_end = ack.delivered;
            }
            None => {}
            Some(done) => {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round && ack.now > done {
                    self.smallest_rtt_at = ack.now;
                    window.cwnd = window.cwnd.max(self.prior_window);
                    if self.full {
                        self.probe_bandwidth(ack.now);
                    } else {
                        self.mode = Mode::Startup;
                    }
                }
            }
        }
    }

    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.cycle], 2.0),
            Mode::ProbeRtt => (1.0, 1.0),
        }
    }

    fn set_window(&mut self, ack: &Ack, gain: f64, window: &mut Window) {
        let was = self.phase;
        self.phase = ack.phase;
        window.cwnd = window.cwnd.saturating_sub(ack.losses).max(1);
        if ack.phase >= Phase::Recovery && was < Phase::Recovery {
            // First round of a recovery, packet conservation: one sent for each delivered.
            self.conserve = true;
            self.round_end = ack.delivered;
            self.prior_window = self.prior_window.max(window.cwnd);
            window.cwnd = ack.in_flight + ack.acked.max(1);
        } else if ack.phase < Phase::Recovery && was >= Phase::Recovery {
            window.cwnd = window.cwnd.max(self.prior_window);
            self.conserve = false;
        } else if self.conserve {
            window.cwnd = window.cwnd.max(ack.in_flight + ack.acked);
        } else {
            let target = self.target(gain, self.aggregation());
            if self.full {
                window.cwnd = (window.cwnd + ack.acked).min(target);
            } else if window.cwnd < target || ack.delivered < 10 {
                window.cwnd += ack.acked;
            }
            window.cwnd = window.cwnd.max(LEAST_WINDOW_SEGMENTS);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_WINDOW_SEGMENTS);
        } else if ack.phase < Phase::Recovery {
            self.prior_window = window.cwnd;
        }
    }
}

impl CongestionControl for Bbr {
    fn summary(&self) -> &'static str {
        "rate and window from a model of the path: its bandwidth and its smallest round-trip time"
    }

    fn source(&self) -> &'static str {
        "draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al., ACM Queue 14(5) 2016"
    }

    fn on_connected(&mut self, now: Instant, rtt: Option<Duration>, window: &Window) {
        //= https://datatracker.ietf.org/doc/html/draft-cardwell-iccrg-bbr-congestion-control-00#section-4.2.1
        // The first window in a round trip, of a millisecond if none is known. The handshake's round trip is
        // also the first estimate of the smallest (section 4.1.2).
        (self.smallest_rtt, self.smallest_rtt_at) = (rtt, now);
        let rtt = rtt.unwrap_or(Duration::from_millis(1)).as_secs_f64().max(1e-6);
        self.pacing = Some(HIGH_GAIN * f64::from(window.cwnd) / rtt * self.frame * 8.0 * 0.99);
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.update_bandwidth(ack);
        self.update_aggregation(ack, window.cwnd);
        self.advance_cycle(ack);
        self.check_full(ack);
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.target(1.0, 0) {
            self.probe_bandwidth(ack.now);
        }
        self.update_rtt(ack, window);
        let (pacing_gain, window_gain) = self.gains();
        // Before the first bandwidth sample: window divided by round-trip time.
        let bandwidth = if self.bandwidth() > 0.0 {
            self.bandwidth()
        } else {
            f64::from(window.cwnd)
                / ack.smoothed_rtt.unwrap_or(Duration::from_millis(1)).as_secs_f64().max(1e-6)
        };
        // One percent less, so that rounding builds no queue at the bottleneck.
        let pacing = pacing_gain * bandwidth * self.frame * 8.0 * 0.99;
        if self.full || self.pacing.is_none_or(|known| pacing > known) {
            self.pacing = Some(pacing);
        }
        self.set_window(ack, window_gain, window);
        window.ssthresh = super::NO_THRESHOLD;
    }

    fn reduce(&mut self, window: &Window, _: Cause) -> u32 {
        self.prior_window = self.prior_window.max(window.cwnd);
        super::NO_THRESHOLD
    }

    fn on_timeout(&mut self) {
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        self.round_start = true;
        self.phase = Phase::Loss;
        self.conserve = false;
    }

    fn undo(&mut self, window: &Window, _: u32) -> u32 {
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        window.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.map(|bits| Rate::from_bits(bits as u64))
    }

    fn burst_bounds(&self) -> BurstBounds {
        //= https://datatracker.ietf.org/doc/html/draft-cardwell-iccrg-bbr-congestion-control-00#section-4.2.2
        // One segment below 1.2 Mbit/s.
        let slow = self.pacing.is_some_and(|bits| bits < 1.2e6);
        BurstBounds { least: if slow { 1 } else { 2 }, ..BurstBounds::default() }
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn set_segment(&mut self, frame_bytes: u32) {
        self.frame = f64::from(frame_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RateSample;
    use crate::congestion::reno::tests::ack;

    /// Returns one that has measured 416 segments a second in 40 ms: 16.64 segments on the path, 5 Mbit/s.
    fn probing() -> Bbr {
        Bbr {
            mode: Mode::ProbeBandwidth,
            cycle: 2,
            best: [(0, 416.0); 3],
            smallest_rtt: Some(Duration::from_millis(40)),
            frame: 1514.0,
            full: true,
            pacing: Some(5e6),
            ..Bbr::default()
        }
    }

    #[test]
    fn the_window_has_room_for_three_bursts() {
        let mut bbr = probing();
        assert_eq!(bbr.target(2.0, 0), 40, "34 and three bursts of two");
        bbr.cycle = 0;
        assert_eq!(bbr.target(2.0, 0), 42, "two more while it probes");
        bbr.pacing = Some(1e6);
        assert_eq!(bbr.target(2.0, 0), 40, "34, three bursts of one, made even, and two");
    }

    #[test]
    fn what_is_acknowledged_at_once_beyond_the_bandwidth_is_remembered_for_ten_rounds() {
        let mut bbr = probing();
        let mut now = Instant::ZERO + Duration::from_secs(1);
        let mut acknowledge = |bbr: &mut Bbr, ms, acked, round_start| {
            now = now + Duration::from_millis(ms);
            bbr.round_start = round_start;
            let rate = RateSample { interval: Duration::from_millis(1), ..RateSample::default() };
            bbr.update_aggregation(&Ack { rate, ..ack(now, Duration::from_millis(40), acked) }, 50);
        };
        acknowledge(&mut bbr, 0, 2, false);
        // Twelve arrive 5 ms later; the bandwidth gives two.
        acknowledge(&mut bbr, 5, 12, false);
        assert_eq!(bbr.aggregation(), 12);
        for round in 0..10 {
            assert_eq!(bbr.aggregation(), 12, "round {round}");
            acknowledge(&mut bbr, 100, 2, true);
        }
        assert_eq!(bbr.aggregation(), 2);
    }
}
