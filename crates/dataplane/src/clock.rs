//! Clocks of the machine: monotonic time, the wall clock beside it, processor time, and sleep until a time.

use lockgate_engine::units::{Duration, Instant};

use system::{monotonic, process, thread, wall};

const NANOS: i128 = 1_000_000_000;

/// Nanoseconds of a wall clock's day (without leap seconds).
const DAY: i128 = 86_400 * NANOS;

/// Readings of the system's clocks, in nanoseconds.
#[cfg(unix)]
mod system {
    use rustix::time::{ClockId, clock_gettime};

    fn read(clock: ClockId) -> i128 {
        let time = clock_gettime(clock);
        i128::from(time.tv_sec) * super::NANOS + i128::from(time.tv_nsec)
    }

    pub(super) fn monotonic() -> i128 {
        read(ClockId::Monotonic)
    }

    pub(super) fn wall() -> i128 {
        read(ClockId::Realtime)
    }

    pub(super) fn process() -> i128 {
        read(ClockId::ProcessCPUTime)
    }

    pub(super) fn thread() -> i128 {
        read(ClockId::ThreadCPUTime)
    }
}

/// Other systems: only the time, enough to show a simulation. Processor time is unknown.
#[cfg(not(unix))]
mod system {
    use std::sync::LazyLock;
    use std::time::{Instant, SystemTime};

    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) fn monotonic() -> i128 {
        BEGUN.elapsed().as_nanos().cast_signed()
    }

    pub(super) fn wall() -> i128 {
        SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos().cast_signed())
    }

    pub(super) fn process() -> i128 {
        0
    }

    pub(super) fn thread() -> i128 {
        0
    }
}

/// Clock of a program: time since its start by `CLOCK_MONOTONIC`, unaffected by steps of the wall clock.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    /// Zero of this clock on `CLOCK_MONOTONIC`, in nanoseconds.
    start: i128,
}

impl MonotonicClock {
    /// Creates a clock that shows zero now.
    pub fn start() -> Self {
        Self { start: monotonic() }
    }

    /// Creates a clock whose zero is `wait` from now; it shows zero until then.
    pub fn start_in(wait: Duration) -> Self {
        Self { start: monotonic() + i128::from(wait.as_picos() / 1_000) }
    }

    /// Returns the current time; clamped at its zero.
    pub fn now(&self) -> Instant {
        Instant::ZERO + span(monotonic() - self.start)
    }

    /// Returns the current offset of the wall clock from this clock.
    pub fn wall_offset(&self) -> WallOffset {
        let before = monotonic();
        let wall = wall();
        let after = monotonic();
        WallOffset(wall - i128::midpoint(before, after) + self.start)
    }

    /// Converts nanoseconds of `CLOCK_MONOTONIC` to this clock; clamped at its zero.
    pub fn at(&self, monotonic: u64) -> Instant {
        Instant::ZERO + span(i128::from(monotonic) - self.start)
    }

    /// Sleeps until this clock shows `at`, or a signal arrives.
    #[cfg(target_os = "linux")]
    pub fn sleep_until(&self, at: Instant) {
        use rustix::thread::{ClockId, clock_nanosleep_absolute};
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &self.deadline(at));
    }

    /// Converts `at` of this clock to `CLOCK_MONOTONIC`, as a deadline for a sleep.
    #[cfg(target_os = "linux")]
    fn deadline(&self, at: Instant) -> rustix::time::Timespec {
        let nanos = self.start + i128::from(at.as_picos() / 1_000);
        let seconds = i64::try_from(nanos.div_euclid(NANOS)).unwrap_or(i64::MAX);
        rustix::time::Timespec { tv_sec: seconds, tv_nsec: nanos.rem_euclid(NANOS) as _ }
    }
}

/// Offset of the wall clock from a monotonic one, in nanoseconds. The kernel stamps packets by the wall
/// clock, which may step, so the offset must be measured often. The default is 0: both clocks start in 1970.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallOffset(i128);

impl WallOffset {
    /// Converts a wall clock reading to the monotonic clock; clamped at its zero.
    pub fn to_monotonic(self, seconds: i64, nanoseconds: u32) -> Instant {
        Instant::ZERO + span(i128::from(seconds) * NANOS + i128::from(nanoseconds) - self.0)
    }

    /// Returns the milliseconds from midnight UT to `at` of the monotonic clock.
    pub fn millis_of_day(self, at: Instant) -> u32 {
        let nanos = self.0 + i128::from(at.as_picos() / 1_000);
        (nanos.rem_euclid(DAY) / 1_000_000) as u32
    }
}

/// Returns the processor time used by all threads of this process.
pub fn cpu_time() -> Duration {
    span(process())
}

/// Returns the processor time used by the calling thread.
pub fn thread_cpu_time() -> Duration {
    span(thread())
}

/// Converts nanoseconds; zero if negative.
fn span(nanos: i128) -> Duration {
    Duration::from_picos(u64::try_from(nanos.max(0) * 1_000).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward() {
        let clock = MonotonicClock::start();
        let (before, used) = (clock.now(), cpu_time());
        let work: u64 = (0..1_000_000u64).map(core::hint::black_box).sum();
        assert!(work > 0);
        assert!(clock.now() > before);
        assert!(cpu_time() >= used);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_deadline_is_as_the_kernel_wants_it() {
        let clock = MonotonicClock { start: 100_999_999_999 };
        let deadline = clock.deadline(Instant::from_picos(2_000));
        assert_eq!((deadline.tv_sec, deadline.tv_nsec), (101, 1));
    }

    #[test]
    fn wall_time_becomes_monotonic() {
        let offset = WallOffset(1_000 * NANOS + 5);
        assert_eq!(offset.to_monotonic(1_002, 6).as_picos(), 2_000_000_001_000);
        assert_eq!(offset.to_monotonic(3, 0), Instant::ZERO, "never before its zero");
        assert_eq!(offset.millis_of_day(Instant::from_picos(2_345_999_999_000)), 1_002_346);
        assert_eq!(WallOffset(-1).millis_of_day(Instant::ZERO), 86_399_999, "the day before");
        // Both clocks advance between the readings, so that they agree only to within that time.
        let clock = MonotonicClock::start();
        let early = clock.now();
        let wall = system::wall();
        let seen = clock.wall_offset().to_monotonic((wall / NANOS) as i64, (wall % NANOS) as u32);
        assert!(seen <= clock.now() && seen >= early - Duration::from_millis(1));
    }
}
