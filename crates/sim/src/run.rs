//! Whole runs: a scenario from its beginning to its end, with a callback or an observer.
//!
//! Both stand on [`Simulation`], which is advanced step by step.

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_network::Failure;
use lockgate_scenario::model::Scenario;

use crate::simulation::{Control, Outcome, Progress, RunView, Simulation};

/// Observer of a run, with control over it.
pub trait Observer {
    /// Returns the time of the next look after `now`; [`Instant::NEVER`] for none.
    fn next(&self, now: Instant) -> Instant;

    /// Observes the run, after all events at this instant. The run waits for it.
    fn look(&mut self, view: RunView<'_>) -> Command;

    /// Returns true to end the run before the next look. Called every
    /// [`EVENTS_BETWEEN_STOPS`](crate::EVENTS_BETWEEN_STOPS) events, however little simulated time
    /// they take, and at no other time.
    fn stops(&mut self) -> bool {
        false
    }
}

/// Command of an observer to the run.
pub enum Command {
    /// Continue.
    Continue,
    /// Stop the run now.
    Stop,
    /// Continue by this scenario, which must differ from the current one only by changes later than now
    /// ([`Scenario::with_change`]).
    Change(Box<Scenario>),
}

/// Simulates `scenario` with the random draws of `seed`.
///
/// `watch` is called with the current time at every sampling (some six hundred times a run) and every
/// [`EVENTS_BETWEEN_STOPS`](crate::EVENTS_BETWEEN_STOPS) events, and may stop the run as
/// [`Simulation::step_while`] says.
///
/// # Errors
/// See [`Failure`].
pub fn run(
    scenario: &Scenario,
    seed: Seed,
    watch: &mut dyn FnMut(Instant) -> Control,
) -> Result<Outcome, Failure> {
    let mut simulation = Simulation::new(scenario, seed)?;
    simulation.step_while(Instant::NEVER, watch)?;
    simulation.finish()
}

/// Simulates `scenario` as [`run`] does, with an observer that may change it. Without a change, the outcome
/// equals that of `run`, byte for byte; otherwise it equals that of the scenario in the last
/// [`Command::Change`].
///
/// # Errors
/// See [`Failure`].
pub fn watched(scenario: &Scenario, seed: Seed, watcher: &mut dyn Observer) -> Result<Outcome, Failure> {
    let mut simulation = Simulation::new(scenario, seed)?;
    simulation.record_samples();
    let mut look = watcher.next(Instant::ZERO);
    loop {
        match simulation.step_unless(look, &mut || watcher.stops())? {
            Progress::Reached => {}
            Progress::Ended if simulation.now() == look => {
                // The last interval ends with the run, and nothing is left to change.
                let _ = watcher.look(simulation.observe());
                break;
            }
            Progress::Ended | Progress::Stopped => break,
        }
        match watcher.look(simulation.observe()) {
            Command::Continue => {}
            Command::Stop => break,
            Command::Change(scenario) => simulation.change(*scenario),
        }
        // An observer that returns no later time is not called again.
        look = Some(watcher.next(look)).filter(|next| *next > look).unwrap_or(Instant::NEVER);
    }
    simulation.finish()
}
