//! Timer wheel of a host's kernel: timers fire on ticks, and long ones on every eighth, 64th, ... tick.
//!
//! ```text
//! ticks to go      below 63   below 504   below 4032   below 32256
//! a timer fires    each tick  every 8th   every 64th   every 512th
//! at 250 ticks/s   4 ms       32 ms       256 ms       2 s
//! ```
//!
//! A wait is converted to ticks, rounded up, and counted from the last tick. Since that tick may be nearly
//! over, the timer fires on the first tick of its granularity *after* the one that this gives: never early,
//! and less than a tick and a granule late.
//!
//! Source: "timers: Switch to a non-cascading wheel" (Linux 4.8, 2016), whose table gives the granularities
//! and ranges. Differs: the ticks left count from the present tick, where the kernel's wheel may lag one
//! behind.

use lockgate_engine::units::{Duration, Instant};

/// Levels above the first (Linux: nine levels in all).
const COARSER_LEVELS: u32 = 8;
/// Each level is coarser than the one below by this power of two.
const LEVEL_SHIFT: u32 = 3;
/// Timers with fewer ticks to go are on the first level.
const FIRST_LEVEL: u64 = 63;

/// Timer wheel of one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerWheel {
    /// Time between two ticks, in picoseconds; 0: timers are exact.
    tick: u64,
    /// Picoseconds for which the host counted ticks before time zero.
    uptime: u64,
}

impl TimerWheel {
    /// Timers fire exactly when they are due.
    pub const EXACT: Self = Self { tick: 0, uptime: 0 };

    /// Creates the wheel of a host whose kernel counts a tick each `tick`, and has done so for `uptime`
    /// before time zero. A `tick` of zero makes it exact.
    pub const fn new(tick: Duration, uptime: Duration) -> Self {
        Self { tick: tick.as_picos(), uptime: uptime.as_picos() }
    }

    /// Returns the time of the last tick: what the kernel's clock reads at `now`.
    #[inline]
    #[must_use]
    pub fn read(self, now: Instant) -> Instant {
        let since = self.host_time(now).checked_rem(self.tick).unwrap_or(0);
        Instant::from_picos(now.as_picos().saturating_sub(since))
    }

    /// Rounds a wait up to whole ticks.
    #[inline]
    #[must_use]
    pub fn round_up(self, wait: Duration) -> Duration {
        let ticks = wait.as_picos().checked_next_multiple_of(self.tick);
        ticks.map_or(wait, Duration::from_picos)
    }

    /// Rounds a time down to whole ticks.
    #[must_use]
    pub fn round_down(self, time: Duration) -> Duration {
        let rest = time.as_picos().checked_rem(self.tick).unwrap_or(0);
        Duration::from_picos(time.as_picos() - rest)
    }

    /// Returns the time at which a timer fires that is set at `now` to `wait`.
    #[inline]
    #[must_use]
    pub fn expiry(self, now: Instant, wait: Duration) -> Instant {
        if self.tick == 0 {
            return now + wait;
        }
        let ticks = wait.as_picos().div_ceil(self.tick).max(1);
        let mut shift = 0;
        while ticks >= FIRST_LEVEL << shift && shift < COARSER_LEVELS * LEVEL_SHIFT {
            shift += LEVEL_SHIFT;
        }
        let due = (self.host_time(now) / self.tick).saturating_add(ticks);
        let fires = ((due >> shift) + 1) << shift;
        Instant::from_picos(fires.saturating_mul(self.tick).saturating_sub(self.uptime))
    }

    /// Returns the time since the host counts ticks, in picoseconds.
    #[inline]
    fn host_time(self, now: Instant) -> u64 {
        now.as_picos().saturating_add(self.uptime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockgate_engine::random::{Random, Seed};

    const TICK: Duration = Duration::from_millis(4);

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// By hand, at 250 ticks a second, with ticks at 0, 4, 8 ms and so on.
    #[test]
    fn timers_fire_on_the_tick_after_their_granule() {
        let wheel = TimerWheel::new(TICK, Duration::ZERO);
        // Set at, wait, and expiry, in microseconds.
        let table = [
            // Due on tick 1: fires on tick 2, since tick 0 may be nearly over.
            (0, 4_000, 8_000),
            (3_999, 4_000, 8_000),
            (4_000, 4_000, 12_000),
            // 0.1 ms are a tick, and 4.1 are two.
            (0, 100, 8_000),
            (0, 4_100, 12_000),
            (0, 0, 8_000),
            // Linux's delayed acknowledgement: 10 ticks.
            (1_000, 40_000, 44_000),
            // The smallest retransmission timeout of a path of 40 ms: 60 ticks, still the first level.
            (10_000, 240_000, 252_000),
            (10_000, 248_000, 260_000),
            // 63 ticks: the second level, on multiples of 8 ticks. Due on tick 65: fires on tick 72.
            (10_000, 252_000, 288_000),
            // Due on tick 72, a multiple of 8: on the next one, 80.
            (10_000, 280_000, 320_000),
            (10_000, 300_000, 320_000),
            // 503 ticks: due on tick 503, fires on 504. 504 ticks: the third level, on tick 512.
            (0, 2_012_000, 2_016_000),
            (0, 2_016_000, 2_048_000),
            // 4031 ticks: on 4032. 4032 ticks: the fourth level, due on 4032, fires on 4096.
            (0, 16_124_000, 16_128_000),
            (0, 16_128_000, 16_384_000),
            // 120 s, the largest timeout: 30000 ticks, fires on 30208.
            (0, 120_000_000, 120_832_000),
        ];
        for (now, wait, expiry) in table {
            assert_eq!(wheel.expiry(at(now), Duration::from_micros(wait)), at(expiry), "{now} + {wait} us");
        }
    }

    #[test]
    fn the_phase_of_the_ticks_is_the_hosts() {
        // Ticks at 1, 5, 9 ms; the tick at 1 ms is the seventh of the host, that at 5 ms the eighth.
        let wheel = TimerWheel::new(TICK, Duration::from_millis(27));
        assert_eq!(wheel.read(at(4_999)), at(1_000));
        assert_eq!(wheel.read(at(5_000)), at(5_000));
        assert_eq!(wheel.read(at(500)), at(0), "the tick before time zero");
        assert_eq!(wheel.expiry(at(1_000), Duration::from_millis(4)), at(9_000));
        // 63 ticks from the seventh: due on tick 70, fires on 72, which is 65 ticks after 1 ms.
        assert_eq!(wheel.expiry(at(1_000), Duration::from_millis(252)), at(261_000));
    }

    #[test]
    fn without_ticks_all_is_exact() {
        let wait = Duration::from_picos(123_456_789);
        assert_eq!(TimerWheel::EXACT.expiry(at(5), wait), at(5) + wait);
        assert_eq!(TimerWheel::EXACT.read(at(5)), at(5));
        assert_eq!((TimerWheel::EXACT.round_up(wait), TimerWheel::EXACT.round_down(wait)), (wait, wait));
    }

    #[test]
    fn waits_are_rounded_to_whole_ticks() {
        let wheel = TimerWheel::new(TICK, Duration::ZERO);
        let us = Duration::from_micros;
        assert_eq!(wheel.round_up(us(240_001)), us(244_000));
        assert_eq!(wheel.round_up(us(240_000)), us(240_000));
        assert_eq!(wheel.round_down(us(31_250)), us(28_000), "a 32nd of a second");
    }

    /// Law: never early; at most a granule later than the wait in whole ticks.
    #[test]
    fn a_timer_is_never_early_and_at_most_a_granule_late() {
        let mut random = Random::stream(Seed(1), "timers");
        let mut worst = [0.0_f64; 4];
        for _ in 0..200_000 {
            let mut draw = |most: u64| (random.unit() * most as f64) as u64;
            let tick = 1 + draw(10_000_000_000);
            let wheel = TimerWheel::new(Duration::from_picos(tick), Duration::from_picos(draw(4096 * tick)));
            let now = Instant::from_picos(draw(100_000_000_000_000));
            let level = draw(4) as usize;
            let wait = Duration::from_picos(draw(tick * (63 << (3 * level))));
            let ticks = wait.as_picos().div_ceil(tick).max(1);
            // The level by the table at the head, not by the code.
            let granule = [(63, 1), (504, 8), (4032, 64), (32_256, 512)]
                .into_iter()
                .find_map(|(below, granule)| (ticks < below).then_some(granule))
                .unwrap_or(4096);
            let fires = wheel.expiry(now, wait);
            assert!(fires >= now + wait, "early: {wheel:?} {now:?} {wait:?}");
            let late = fires.since(now + Duration::from_picos(ticks * tick)).as_picos();
            assert!(fires > now + Duration::from_picos((ticks - 1) * tick));
            assert!(late <= granule * tick, "late by {late}: {wheel:?} {now:?} {wait:?}");
            assert_eq!((fires.as_picos() + wheel.uptime) % (granule * tick), 0, "not on a tick of its level");
            let share = late as f64 / (granule * tick) as f64;
            if let Some(worst) = worst.get_mut(granule.ilog2() as usize / 3) {
                *worst = worst.max(share);
            }
        }
        assert!(
            worst.iter().all(|share| *share > 0.95),
            "the bound is nearly reached at each level: {worst:?}"
        );
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        for (tick, uptime) in [(1, u64::MAX), (u64::MAX, u64::MAX), (4_000_000_000, 0)] {
            let wheel = TimerWheel::new(Duration::from_picos(tick), Duration::from_picos(uptime));
            let end = Instant::from_picos(u64::MAX - 1);
            let _ = (wheel.expiry(end, Duration::MAX), wheel.read(end), wheel.round_up(Duration::MAX));
        }
    }
}
