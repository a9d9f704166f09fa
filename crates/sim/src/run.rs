//! Whole runs: a scenario from its beginning to its end, with a callback or an observer.
//!
//! Both stand on [`Simulation`], which is advanced step by step.

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_measure::recording::{Event, FlowRecord, Imbalance, Recording};
use lockgate_scenario::model::Scenario;

use crate::link::Link;
use crate::simulation::{Progress, Simulation};

/// Decision to continue or stop a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Continue.
    Continue,
    /// Stop now and close the account.
    Stop,
}

/// Observer of a run, with control over it.
pub trait Observer {
    /// Returns the time of the next look after `now`; [`Instant::NEVER`] for none.
    fn next(&self, now: Instant) -> Instant;

    /// Observes the run, after all events at this instant. The run waits for it.
    fn look(&mut self, view: RunView<'_>) -> Command;

    /// Returns true to end the run before the next look. Called every [`EVENTS_BETWEEN_STOPS`] events,
    /// however little simulated time they take.
    fn stops(&mut self) -> bool {
        false
    }
}

/// Number of events after which a run can be stopped: some tenths of a millisecond of real time.
pub const EVENTS_BETWEEN_STOPS: u64 = 4096;

/// State of a run at one instant.
pub struct RunView<'a> {
    /// The instant.
    pub now: Instant,
    /// Scenario from here on, with the changes made so far.
    pub scenario: &'a Scenario,
    /// Links and their ports, in the order of the scenario's ports.
    pub links: &'a mut [Link],
    /// Records of the flows.
    pub flows: &'a mut [FlowRecord],
    /// Log of events so far.
    pub events: &'a [Event],
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

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Observed data.
    pub recording: Recording,
    /// True if the run was stopped before its time.
    pub stopped_early: bool,
}

/// Error of a run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A part of the network cannot be built. Reading the scenario normally finds this first.
    #[error("`{place}` cannot be built: {why}")]
    Build {
        /// Port or flow.
        place: String,
        /// Reason.
        why: String,
    },
    /// The packet account does not balance: a fault of Lockgate, never of the scenario.
    #[error("the account of the run does not balance, which is a fault of Lockgate: {0}")]
    Imbalance(String),
}

impl From<Imbalance> for Failure {
    fn from(imbalance: Imbalance) -> Self {
        Self::Imbalance(imbalance.to_string())
    }
}

/// Simulates `scenario` with the random draws of `seed`.
///
/// `watch` is called with the current time at every sampling (some six hundred times a run) and every
/// [`EVENTS_BETWEEN_STOPS`] events, and may stop the run. A run stopped between two samplings ends before the
/// instant given to `watch`.
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
        let mut stops = |_| if watcher.stops() { Control::Stop } else { Control::Continue };
        if simulation.step_while(look, &mut stops)? != Progress::Reached {
            break;
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
