//! The machine's clocks: monotonic time, and the processor time this process has used.

use lockgate_engine::clock::Clock;
use lockgate_engine::units::{Duration, Instant};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time since it was started, by `CLOCK_MONOTONIC`: steps of the wall clock do not move it.
#[derive(Debug)]
pub struct Monotonic {
    start: Timespec,
}

impl Monotonic {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self { start: clock_gettime(ClockId::Monotonic) }
    }
}

impl Clock for Monotonic {
    fn now(&self) -> Instant {
        Instant::ZERO + span(self.start, clock_gettime(ClockId::Monotonic))
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

/// From `earlier` to `later`, zero where they stand the other way round.
fn span(earlier: Timespec, later: Timespec) -> Duration {
    let nanos = i128::from(later.tv_sec - earlier.tv_sec) * 1_000_000_000
        + i128::from(later.tv_nsec - earlier.tv_nsec);
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
}
