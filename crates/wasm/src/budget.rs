//! Work in steps: what a job does, and the limit on the work of a step.

use lockgate::units::Instant;
use lockgate::{Control, Progress, Simulation};

use crate::answer::Wrong;

/// Events of a simulation between two calls of its callback, about.
const EVENTS: u64 = 4096;

/// Limit on the work of a step.
pub(crate) struct Budget {
    /// Calls of the simulation's callback that are left.
    calls: u64,
}

impl Budget {
    /// Returns the budget of a step of so many events, about.
    pub(crate) fn of(events: u64) -> Self {
        Self { calls: events.div_ceil(EVENTS).max(1) }
    }

    pub(crate) fn unlimited() -> Self {
        Self { calls: u64::MAX }
    }

    pub(crate) fn is_unlimited(&self) -> bool {
        self.calls > u64::MAX / 2
    }

    /// Advances a run until `until`, to its end, or until the budget is spent. Returns false if it was spent.
    pub(crate) fn advance(&mut self, run: &mut Simulation<'_>, until: Instant) -> Result<bool, Wrong> {
        if self.calls == 0 {
            return Ok(false);
        }
        let mut watch = |_| {
            self.calls -= 1;
            if self.calls == 0 { Control::Stop } else { Control::Continue }
        };
        let progress = run.step_while(until, &mut watch).map_err(lockgate::Error::from)?;
        Ok(progress != Progress::Stopped)
    }
}

/// Work that is made in steps.
pub(crate) trait Job {
    /// Continues until the budget is spent, or all runs are made.
    fn step(&mut self, budget: &mut Budget) -> Result<(), Wrong>;

    /// Returns the number of runs that are made, with the fraction of the current one.
    fn done(&self) -> f64;

    /// Returns the number of runs that are known so far.
    fn runs(&self) -> usize;

    /// True if all runs are made.
    fn has_ended(&self) -> bool;
}
