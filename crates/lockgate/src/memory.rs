//! Memory of runs: estimated before they start, and measured while they run.

use std::sync::atomic::{AtomicU32, Ordering};

use lockgate_scenario::Scenario;
use lockgate_sim::Estimate;

use crate::Error;

/// Estimates the bytes that `runs` runs of a scenario take.
///
/// # Errors
/// If they exceed the scenario's limit: names the largest part and the way to make it smaller.
pub fn estimate(scenario: &Scenario, runs: usize) -> Result<u64, Error> {
    let estimate = Estimate::of(scenario);
    // Not the size of the thread pool: reading it would start the pool, and a process with several threads
    // cannot enter a user namespace.
    let together = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let needed = estimate.of_runs(runs as u64, together);
    if needed <= scenario.memory {
        return Ok(needed);
    }
    let (part, part_bytes, remedy) =
        estimate.parts().into_iter().max_by_key(|(_, bytes, _)| *bytes).unwrap_or_default();
    Err(Error::Estimate {
        title: scenario.title.clone(),
        runs,
        needed,
        limit: scenario.memory,
        part,
        part_bytes,
        remedy,
    })
}

/// True if `runs` runs of a scenario, as many at the same time as there are processors, are estimated to take
/// no more than `limit` bytes.
pub(crate) fn allows(scenario: &Scenario, runs: usize, limit: u64) -> bool {
    let together = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    Estimate::of(scenario).of_runs(runs as u64, together) <= limit
}

/// Estimates the bytes that one run of a scenario takes while it goes on.
pub fn of_run(scenario: &Scenario) -> u64 {
    Estimate::of(scenario).of_runs(1, 1)
}

/// Runs at the same time that would exceed the limit on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuchTogether {
    /// Number of runs at the same time.
    pub together: u64,
    /// Estimate of the bytes that they take; of a single run, if not even one fits.
    pub needed: u64,
    /// Limit in bytes.
    pub limit: u64,
    /// Number of runs that fit.
    pub fits: u64,
}

impl std::fmt::Display for TooMuchTogether {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (needed, limit) = (crate::figures::memory(self.needed), crate::figures::memory(self.limit));
        if self.fits == 0 {
            return write!(f, "a run takes about {needed}, and the limit is {limit}");
        }
        write!(f, "{} runs at the same time take about {needed}, and the limit is {limit}", self.together)
    }
}

/// Checks that `runs` runs of `one` bytes each, `threads` at the same time, by default one a processor, stay
/// within a limit in bytes.
///
/// # Errors
/// If they exceed it.
pub fn check_together(
    one: u64,
    threads: Option<usize>,
    runs: usize,
    limit: u64,
) -> Result<(), TooMuchTogether> {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let together = threads.unwrap_or_else(processors).min(runs).max(1) as u64;
    let needed = one.saturating_mul(together);
    if needed <= limit {
        return Ok(());
    }
    let fits = limit / one.max(1);
    Err(TooMuchTogether { together, needed: if fits == 0 { one } else { needed }, limit, fits })
}

/// Returns the resident bytes of this process; `None` if the system does not tell.
fn resident() -> Option<u64> {
    let pages: u64 =
        std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()?;
    // Pages of 4 KiB are assumed; with larger pages, more memory than stated is permitted.
    Some(pages << 12)
}

/// Bytes that the program may take in addition to its runs. If it has more before the run, that amount is
/// permitted instead, because an allocator keeps the memory of earlier runs.
const OWN: u64 = 256 << 20;

/// Compares the growth of the process's resident memory during runs with the limit.
pub(crate) struct Guard {
    limit: u64,
    /// Resident bytes at its start.
    before: u64,
    calls: AtomicU32,
}

impl Guard {
    /// Calls per measurement, because one takes some microseconds.
    const CALLS: u32 = 64;

    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, before: resident().unwrap_or(0), calls: AtomicU32::new(0) }
    }

    /// Returns the bytes that were added, if they exceed the limit.
    pub(crate) fn exceeded(&self) -> Option<u64> {
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        if !calls.is_multiple_of(Self::CALLS) {
            return None;
        }
        added(self.limit, self.before, resident()?)
    }
}

/// Returns the bytes that a process has in addition to those `before`, if they exceed `limit`.
fn added(limit: u64, before: u64, now: u64) -> Option<u64> {
    (now > limit.saturating_add(OWN.max(before))).then(|| now - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_had_before_a_run_does_not_count() {
        let (limit, small, large) = (64 << 20, 50 << 20, 900 << 20);
        assert_eq!(added(limit, small, limit + OWN), None);
        assert_eq!(added(limit, small, limit + OWN + 1), Some(limit + OWN + 1 - small));
        assert_eq!(added(limit, large, large + limit), None, "an earlier run left much");
        assert_eq!(added(limit, large, large + limit + 1), Some(limit + 1));
        assert_eq!(added(u64::MAX, large, u64::MAX), None);
    }
}
