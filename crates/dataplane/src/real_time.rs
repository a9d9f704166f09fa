//! Real-time thread: minimal timer slack, and real-time priority if permitted.
//!
//! A thread that sleeps most of the time gets real-time priority, so that it wakes punctually on a busy
//! machine. A thread that never sleeps would starve all others until the kernel throttles it for 50 ms in
//! each second. It therefore gives up the priority while it has no time to sleep.
#![allow(unsafe_code, reason = "sched_setscheduler")]

use lockgate_engine::units::{Duration, Instant};

/// Minimum time without real-time priority after giving it up.
const GIVEN_UP: Duration = Duration::from_millis(10);

/// Shortest wait that counts as sleep: after a shorter one there was work already.
const SLEEP: Duration = Duration::from_micros(20);

/// Real-time priority of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealTimePriority {
    /// Priority of `SCHED_FIFO`, 1 to 99.
    pub level: i32,
    /// Time without sleep after which the thread gives the priority up.
    pub longest_awake: Duration,
}

/// Scheduling state of the thread that created it.
#[derive(Debug)]
pub struct RealTimeThread {
    priority: RealTimePriority,
    is_real_time: bool,
    /// True if the kernel refused real-time priority.
    is_refused: bool,
    /// Last wake-up.
    awoke: Instant,
    /// Start of the current sleep, if any.
    lay_down: Option<Instant>,
    /// Last time real-time priority was given up.
    gave_up: Option<Instant>,
}

impl RealTimeThread {
    /// Reduces the timer slack and raises the niceness of the calling thread. If the kernel refuses, the
    /// thread wakes up later than it could.
    pub fn new(priority: RealTimePriority) -> Self {
        let _ = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
        // On Linux a thread has its own niceness; it applies without real-time priority.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), -15);
        Self {
            priority,
            is_real_time: false,
            is_refused: false,
            awoke: Instant::ZERO,
            lay_down: None,
            gave_up: None,
        }
    }

    /// Marks the start of a sleep; takes real-time priority if permitted.
    pub fn on_sleep(&mut self, now: Instant) {
        self.lay_down = Some(now);
        let may = self.gave_up.is_none_or(|since| now.since(since) > GIVEN_UP);
        if !self.is_real_time && !self.is_refused && may {
            self.is_real_time = schedule(libc::SCHED_FIFO, self.priority.level);
            self.is_refused = !self.is_real_time;
            self.awoke = now;
        }
    }

    /// Marks the end of a sleep; gives real-time priority up after too long without one.
    pub fn on_awake(&mut self, now: Instant) {
        if self.lay_down.take().is_some_and(|since| now.since(since) > SLEEP) {
            self.awoke = now;
        }
        if self.is_real_time && now.since(self.awoke) > self.priority.longest_awake {
            self.is_real_time = !schedule(libc::SCHED_OTHER, 0);
            self.gave_up = Some(now);
        }
    }
}

/// Sets the calling thread's scheduling policy; its child processes start with the default one. Returns true
/// if it was permitted.
/// permitted.
fn schedule(policy: libc::c_int, priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: 0 is the calling thread, and the kernel reads one `sched_param`.
    unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0 }
}
