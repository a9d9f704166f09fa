//! The machine's clocks: monotonic time, the processor time this process has used, and sleep that ends on time.

use lockgate_engine::clock::Clock;
use lockgate_engine::units::{Duration, Instant};
use rustix::time::{ClockId, Timespec, clock_gettime};

const NANOS: i128 = 1_000_000_000;

/// A day of the wall clock, which knows no leap seconds, in nanoseconds.
const DAY: i128 = 86_400 * NANOS;

/// Time since it was started, by `CLOCK_MONOTONIC`: steps of the wall clock do not move it.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic {
    start: Timespec,
}

impl Monotonic {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self { start: clock_gettime(ClockId::Monotonic) }
    }

    /// A clock that will show zero this much later than now, and shows it until then.
    pub fn start_in(wait: Duration) -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        Self { start: timespec(nanos(now) + i128::from(wait.as_picos() / 1_000)) }
    }

    /// Whether its zero has come.
    pub fn has_started(&self) -> bool {
        nanos(clock_gettime(ClockId::Monotonic)) >= nanos(self.start)
    }

    /// What the wall clock shows now, and this clock.
    pub fn beside_wall(&self) -> WallOffset {
        let before = clock_gettime(ClockId::Monotonic);
        let wall = clock_gettime(ClockId::Realtime);
        let after = clock_gettime(ClockId::Monotonic);
        let middle = i128::midpoint(nanos(before), nanos(after));
        WallOffset(nanos(wall) - middle + nanos(self.start))
    }

    /// What it showed when `CLOCK_MONOTONIC` was at so many nanoseconds; never before its zero.
    pub fn at(&self, monotonic: u64) -> Instant {
        let nanos = i128::from(monotonic) - nanos(self.start);
        Instant::from_picos(u64::try_from(nanos.max(0) * 1_000).unwrap_or(u64::MAX))
    }

    /// The time of `CLOCK_MONOTONIC` at which this clock shows `at`, for sleeping until then.
    pub fn deadline(&self, at: Instant) -> Timespec {
        timespec(nanos(self.start) + i128::from(at.as_picos() / 1_000))
    }
}

impl Clock for Monotonic {
    fn now(&self) -> Instant {
        Instant::ZERO + span(self.start, clock_gettime(ClockId::Monotonic))
    }
}

/// How far the wall clock is ahead of a monotonic one, in nanoseconds. The kernel stamps packets by the wall
/// clock, which may step: take it anew often. By default both began in 1970.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallOffset(i128);

impl WallOffset {
    /// What the monotonic clock showed when the wall clock showed this; never before its zero.
    pub fn to_monotonic(self, seconds: i64, nanoseconds: u32) -> Instant {
        let nanos = i128::from(seconds) * NANOS + i128::from(nanoseconds) - self.0;
        Instant::from_picos(u64::try_from(nanos.max(0) * 1_000).unwrap_or(u64::MAX))
    }

    /// Milliseconds from midnight UT to when the monotonic clock shows `at`.
    pub fn millis_of_day(self, at: Instant) -> u32 {
        let nanos = self.0 + i128::from(at.as_picos() / 1_000);
        (nanos.rem_euclid(DAY) / 1_000_000) as u32
    }
}

/// Processor time used by all threads of this process so far.
pub fn cpu_time() -> Duration {
    span(Timespec { tv_sec: 0, tv_nsec: 0 }, clock_gettime(ClockId::ProcessCPUTime))
}

/// Processor time used by the calling thread so far.
pub fn thread_cpu_time() -> Duration {
    span(Timespec { tv_sec: 0, tv_nsec: 0 }, clock_gettime(ClockId::ThreadCPUTime))
}

fn nanos(time: Timespec) -> i128 {
    i128::from(time.tv_sec) * NANOS + i128::from(time.tv_nsec)
}

fn timespec(nanos: i128) -> Timespec {
    let seconds = i64::try_from(nanos.div_euclid(NANOS)).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: nanos.rem_euclid(NANOS) as _ }
}

/// From `earlier` to `later`, zero where they stand the other way round.
fn span(earlier: Timespec, later: Timespec) -> Duration {
    let nanos = nanos(later) - nanos(earlier);
    Duration::from_picos(u64::try_from(nanos.max(0) * 1_000).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward() {
        let clock = Monotonic::start();
        let (before, used) = (clock.now(), cpu_time());
        let work: u64 = (0..1_000_000u64).map(core::hint::black_box).sum();
        assert!(work > 0);
        assert!(clock.now() > before);
        assert!(cpu_time() >= used);
    }

    #[test]
    fn wall_time_becomes_monotonic() {
        let clock = Monotonic { start: Timespec { tv_sec: 100, tv_nsec: 999_999_999 } };
        let offset = WallOffset(1_000 * NANOS + 5);
        assert_eq!(offset.to_monotonic(1_002, 6).as_picos(), 2_000_000_001_000);
        assert_eq!(offset.to_monotonic(3, 0), Instant::ZERO, "never before its zero");
        assert_eq!(offset.millis_of_day(Instant::from_picos(2_345_999_999_000)), 1_002_346);
        assert_eq!(WallOffset(-1).millis_of_day(Instant::ZERO), 86_399_999, "the day before");
        let deadline = clock.deadline(Instant::from_picos(2_000));
        assert_eq!((deadline.tv_sec, deadline.tv_nsec), (101, 1));
        // Both clocks run on: what is now by the wall is now by the monotonic clock, within the time it takes.
        let clock = Monotonic::start();
        let early = clock.now();
        let wall = clock_gettime(ClockId::Realtime);
        let seen = clock.beside_wall().to_monotonic(wall.tv_sec, wall.tv_nsec as u32);
        assert!(seen <= clock.now() && seen >= early - Duration::from_millis(1));
    }
}
