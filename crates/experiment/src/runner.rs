//! Running of tasks, by functions that the caller gives.

use lockgate_engine::units::Duration;
use lockgate_measure::recording::Recording;
use lockgate_measure::summary::{Summary, summarise};
use lockgate_scenario::{Scale, Scenario};
#[cfg(feature = "threads")]
use rayon::prelude::*;

use crate::Error;

/// Runs all tasks on the threads of the current pool; without the feature `threads`, in turn. Returns the
/// results in the order of the tasks.
///
/// # Errors
/// An error of `run`. Tasks that have not started are then skipped.
pub fn run_tasks<T: Sync, R: Send, E: Send>(
    tasks: &[T],
    run: impl Fn(&T) -> Result<R, E> + Sync + Send,
) -> Result<Vec<R>, E> {
    #[cfg(feature = "threads")]
    return tasks.par_iter().with_max_len(1).map(run).collect();
    #[cfg(not(feature = "threads"))]
    tasks.iter().map(run).collect()
}

/// Result of a run.
#[derive(Debug)]
pub struct Run {
    /// Observed data.
    pub recording: Recording,
    /// Statistics of the recording.
    pub summary: Summary,
    /// Simulated time; shorter than the scenario if the run was stopped.
    pub simulated: Duration,
}

impl Run {
    /// Summarises a recording.
    pub fn new(recording: Recording, simulated: Duration) -> Self {
        let summary = summarise(core::slice::from_ref(&recording));
        Self { recording, summary, simulated }
    }
}

/// Source of an experiment's scenarios and runs.
pub trait Runner: Sync {
    /// Reads a scenario with these settings. With a scale, all rates are multiplied and all times divided by
    /// it.
    ///
    /// # Errors
    /// If the scenario cannot be read.
    fn read(&self, scenario: &str, settings: &[String], scale: Option<Scale>) -> Result<Scenario, Error>;

    /// Simulates a run. Called on several threads.
    ///
    /// # Errors
    /// If the run fails.
    fn run(&self, scenario: &Scenario, seed: u64) -> Result<Run, Error>;

    /// Called before the first run with their number.
    fn start(&self, runs: usize) {
        let _ = runs;
    }

    /// Called after the last run.
    fn finish(&self) {}

    /// Returns the limit in bytes on the memory of the experiment.
    fn memory(&self) -> u64 {
        lockgate_scenario::MEMORY
    }

    /// True if no further run should start.
    fn is_stopped(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration as WallTime;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_tasks_whatever_order_they_end_in() {
        let tasks: Vec<u64> = (0..20).collect();
        let results = run_tasks(&tasks, |task| {
            // The first tasks end last.
            std::thread::sleep(WallTime::from_millis(20 - *task));
            Ok::<_, Error>(task * 10)
        });
        assert_eq!(results.expect("results"), tasks.iter().map(|task| task * 10).collect::<Vec<_>>());
        let failed = run_tasks(&tasks, |task| if *task == 7 { Err(*task) } else { Ok(()) });
        assert_eq!(failed, Err(7));
    }
}
