//! Sleep that ends when it should: the thread's timer slack taken away, its priority raised where allowed.

use lockgate_engine::units::Instant;
use rustix::thread::{ClockId, clock_nanosleep_absolute};

use crate::clock::Monotonic;

/// Lets the calling thread's sleep end on time. What is refused makes it less exact, not wrong: the run's
/// fidelity shows it.
pub(crate) fn be_punctual() {
    let _ = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
    // A thread's own niceness on Linux.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), -15);
}

/// Sleeps until `clock` shows `at`, or a signal comes.
pub(crate) fn sleep_until(clock: &Monotonic, at: Instant) {
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &clock.deadline(at));
}
