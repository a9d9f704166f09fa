//! Sleep that ends when it should: the thread's timer slack taken away, its priority raised where allowed.
//!
//! A thread that sleeps most of the time gets real-time priority: it then wakes up beside a busy machine, too.
//! One that does not sleep would keep everything else from running, until the kernel stops it for 50 ms each
//! second; so it gives that priority up as long as it has no time to sleep.
#![allow(unsafe_code, reason = "sched_setscheduler")]

use lockgate_engine::units::{Duration, Instant};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

use crate::clock::Monotonic;

/// For how long real-time priority is given up at least.
const GIVEN_UP: Duration = Duration::from_millis(10);

/// What is shorter was no sleep: something was there already.
const SLEEP: Duration = Duration::from_micros(20);

/// Who comes first among those with real-time priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// The ends of flows.
    End = 1,
    /// The driver.
    Driver = 2,
}

impl Rank {
    /// How long a thread may go without sleep before it gives real-time priority up. The driver is given longer: it
    /// catches up after a stall, and would only be held up again by those that it works for.
    const fn may_be_awake(self) -> Duration {
        match self {
            Self::End => Duration::from_millis(10),
            Self::Driver => Duration::from_millis(50),
        }
    }
}

/// The punctuality of the thread that made it.
#[derive(Debug)]
pub(crate) struct Punctual {
    rank: Rank,
    is_real_time: bool,
    /// Whether real-time priority is refused.
    is_refused: bool,
    /// When it last awoke.
    awoke: Instant,
    /// When it lay down, where it has.
    lay_down: Option<Instant>,
    /// When it gave real-time priority up.
    gave_up: Option<Instant>,
}

impl Punctual {
    /// Lets the calling thread's sleep end on time. What is refused makes it less exact, not wrong: the run's
    /// fidelity shows it.
    pub(crate) fn new(rank: Rank) -> Self {
        let _ = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
        // A thread's own niceness on Linux, for when it has no real-time priority.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), -15);
        Self {
            rank,
            is_real_time: false,
            is_refused: false,
            awoke: Instant::ZERO,
            lay_down: None,
            gave_up: None,
        }
    }

    /// The thread is about to sleep.
    pub(crate) fn on_sleep(&mut self, now: Instant) {
        self.lay_down = Some(now);
        let may = self.gave_up.is_none_or(|since| now.since(since) > GIVEN_UP);
        if !self.is_real_time && !self.is_refused && may {
            self.is_real_time = schedule(libc::SCHED_FIFO, self.rank as i32);
            self.is_refused = !self.is_real_time;
            self.awoke = now;
        }
    }

    /// The thread is awake.
    pub(crate) fn on_awake(&mut self, now: Instant) {
        if self.lay_down.take().is_some_and(|since| now.since(since) > SLEEP) {
            self.awoke = now;
        }
        if self.is_real_time && now.since(self.awoke) > self.rank.may_be_awake() {
            self.is_real_time = !schedule(libc::SCHED_OTHER, 0);
            self.gave_up = Some(now);
        }
    }
}

/// Sets how the calling thread is scheduled. What it starts is scheduled as usual.
fn schedule(policy: libc::c_int, priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: 0 is the calling thread, and the kernel reads one `sched_param`.
    unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0 }
}

/// Sleeps until `clock` shows `at`, or a signal comes.
pub(crate) fn sleep_until(clock: &Monotonic, at: Instant) {
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &clock.deadline(at));
}
