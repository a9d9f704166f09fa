//! Time that a run takes: wall clock and processor.

use lockgate_measure::recording::Recording;

/// Clocks read at the start of a run.
pub(crate) struct Stopwatch {
    #[cfg(not(target_family = "wasm"))]
    wall: std::time::Instant,
    cpu_s: f64,
}

impl Stopwatch {
    /// Reads the clocks.
    pub(crate) fn start() -> Self {
        Self {
            #[cfg(not(target_family = "wasm"))]
            wall: std::time::Instant::now(),
            cpu_s: thread_cpu_s(),
        }
    }

    /// Stores the time since the start in the recording; zero on platforms without a clock. `helper_cpu_s` is
    /// the processor time of other threads of the run.
    pub(crate) fn record(&self, recording: &mut Recording, helper_cpu_s: f64) {
        #[cfg(not(target_family = "wasm"))]
        {
            recording.engine.wall_s = self.wall.elapsed().as_secs_f64();
        }
        recording.engine.cpu_s = thread_cpu_s() - self.cpu_s + helper_cpu_s;
    }
}

/// Returns the processor time of this thread, in seconds.
#[cfg(unix)]
pub(crate) fn thread_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns zero: unsupported.
#[cfg(not(unix))]
pub(crate) fn thread_cpu_s() -> f64 {
    0.0
}
