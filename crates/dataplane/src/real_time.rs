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
    pub longest_without_sleep: Duration,
}

/// Scheduling state of the thread that created it.
#[derive(Debug)]
pub struct RealTimeThread {
    priority: RealTimePriority,
    is_real_time: bool,
    /// True if the kernel refused real-time priority.
    is_refused: bool,
    /// Last wake-up.
    woke_at: Instant,
    /// Start of the current sleep, if any.
    sleep_started_at: Option<Instant>,
    /// Last time real-time priority was given up.
    gave_up_at: Option<Instant>,
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
            woke_at: Instant::ZERO,
            sleep_started_at: None,
            gave_up_at: None,
        }
    }

    /// Marks the start of a sleep; takes real-time priority if permitted.
    pub fn on_sleep(&mut self, now: Instant) {
        self.sleep_started_at = Some(now);
        let may = self.gave_up_at.is_none_or(|since| now.since(since) > GIVEN_UP);
        if !self.is_real_time && !self.is_refused && may {
            self.is_real_time = schedule(libc::SCHED_FIFO, self.priority.level);
            self.is_refused = !self.is_real_time;
            self.woke_at = now;
        }
    }

    /// Marks the end of a sleep; gives real-time priority up after too long without one.
    pub fn on_wake(&mut self, now: Instant) {
        if self.sleep_started_at.take().is_some_and(|since| now.since(since) > SLEEP) {
            self.woke_at = now;
        }
        if self.is_real_time && now.since(self.woke_at) > self.priority.longest_without_sleep {
            self.is_real_time = !schedule(libc::SCHED_OTHER, 0);
            self.gave_up_at = Some(now);
        }
    }
}

/// True if a thread of this process may have real-time priority of this level.
pub fn is_permitted(level: i32) -> bool {
    // By a thread of its own, so that the caller's is not changed.
    let attempt = std::thread::Builder::new().spawn(move || schedule(libc::SCHED_FIFO, level));
    attempt.is_ok_and(|thread| thread.join().unwrap_or(false))
}

/// Keeps the memory of this process in memory: pages are locked once they are used. Does nothing, and returns
/// false, where there is a limit on locked memory: later allocations would fail at it.
pub fn lock_memory() -> bool {
    use rustix::mm::{MlockAllFlags, mlockall};
    use rustix::process::{Resource, getrlimit};
    use rustix::thread::{CapabilitySet, capabilities};

    let may = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    let is_limited = getrlimit(Resource::Memlock).current.is_some();
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    (may || !is_limited) && mlockall(flags).is_ok()
}

/// Sets the calling thread's scheduling policy; its child processes start with the default one. Returns true
/// if it was permitted.
fn schedule(policy: libc::c_int, priority: i32) -> bool {
    // The kernel's `sched_param`. By the system call: musl's function of this name refuses everything.
    let parameters: libc::c_int = priority;
    let policy = policy | libc::SCHED_RESET_ON_FORK;
    // SAFETY: 0 is the calling thread, and the kernel reads one integer.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameters) == 0 }
}
