//! Other lives of simulated runs: the same run once more without one of its changes, and with it and without
//! it for further seeds, which tell an effect from chance.
//!
//! ```text
//! recording --for each change--> the same seed without it --> values of the same time, ghost of the report
//!                                 '-- no packet differs? end
//!                                 '-- something differs by a tenth? 8 pairs, of further seeds --> effect?
//! ```
//!
//! A simulation cannot be copied in its middle (a packet cannot), so another life begins at the start.

mod lives;

pub use lives::{Life, LifeOutcome, OtherLives, Told};

use lockgate_measure::report::Ghost;
use lockgate_measure::summary::Summary;
use lockgate_scenario::Scenario;
use lockgate_sim::Control;

use crate::memory::{self, Guard};
use crate::run::{on_threads, threads_of};
use crate::{Error, Options, Runs};

/// Returns the other lives of runs, if they have any and the limit on memory allows so many runs at the same
/// time beside them; otherwise a warning in the summary says so.
pub fn other_lives(
    of: Told<'_>,
    together: usize,
    limit: Option<u64>,
    summary: &mut Summary,
) -> Option<OtherLives> {
    let lives = OtherLives::new(of, summary)?;
    let runs = of.recordings.len() + together;
    if limit.is_some_and(|limit| !memory::allows(of.scenario, runs, limit)) {
        summary.warnings.push(
            "what the changes did is told before and after, not with and without them: further runs would exceed the \
             limit on memory (`--memory`)"
                .to_owned(),
        );
        return None;
    }
    Some(lives)
}

/// Adds to the summary of simulated runs what each change did, and returns the series without each for the
/// report, of those by which a packet differs. Adds nothing for live runs, for runs without a change in the
/// window, if the limit on memory would be exceeded (a warning says so), and if the caller stops.
///
/// # Errors
/// If a run takes more than [`Options::memory`], or fails, which is a fault of Lockgate.
pub fn add_effects(
    scenario: &Scenario,
    runs: &Runs,
    options: &Options<'_>,
    summary: &mut Summary,
) -> Result<Vec<Ghost>, Error> {
    let of = Told { scenario, recordings: &runs.recordings };
    let together = threads_of(options.threads);
    let Some(mut lives) = other_lives(of, together, options.memory, summary) else { return Ok(Vec::new()) };
    let guard = options.memory.map(Guard::new);
    while let Some(round) = lives.begin_round(of) {
        let made =
            on_threads(&round, options.threads, |life| make(&lives, *life, of, options, guard.as_ref()))?;
        let Some(made) = made.into_iter().collect::<Option<Vec<_>>>() else { return Ok(Vec::new()) };
        lives.end_round(of, made);
    }
    Ok(lives.add_to(summary))
}

/// Makes a life. Returns `None` if the caller stops.
fn make(
    lives: &OtherLives,
    life: Life,
    of: Told<'_>,
    options: &Options<'_>,
    guard: Option<&Guard>,
) -> Result<Option<LifeOutcome>, Error> {
    let (mut simulation, end) = lives.begin(life, of)?;
    let mut exceeded = None;
    simulation.step_while(end, &mut |_| {
        exceeded = guard.and_then(Guard::exceeded);
        let is_over = (options.stop)() || exceeded.is_some();
        if is_over { Control::Stop } else { Control::Continue }
    })?;
    if let (Some(limit), Some(taken)) = (options.memory, exceeded) {
        return Err(Error::Memory { taken, limit });
    }
    if (options.stop)() {
        return Ok(None);
    }
    Ok(Some(lives.outcome(life, of, &simulation.finish()?.recording)))
}
