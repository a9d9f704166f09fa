//! Runs on real packets.

use lockgate_engine::units::Instant;
use lockgate_scenario::Scenario;

use crate::{Advance, Error, Options, ProgramOutput, Runs};

/// Prepares live runs for an ordinary user. Must be called before any thread is started.
///
/// # Errors
/// If this host permits no network namespaces.
pub fn prepare_live() -> Result<(), Error> {
    Ok(lockgate_live::prepare().map_err(lockgate_live::Failure::from)?)
}

/// Runs `scenario` on real packets once for each seed, one after the other, in real time. Uses the seeds and
/// the callbacks of `options`.
///
/// # Errors
/// If this host lacks a capability, or a run fails.
pub fn run_live(scenario: &Scenario, options: &Options<'_>) -> Result<Runs, Error> {
    let end = scenario.end();
    let mut runs = Runs::default();
    for seed in &options.seeds {
        let mut last = Instant::ZERO;
        let outcome = lockgate_live::run(scenario, *seed, &mut |now| {
            let now = now.max(last);
            (options.progress)(Advance { from: last, to: now, end });
            last = now;
            (options.stop)()
        })?;
        runs.recordings.push(outcome.recording);
        runs.unfaithful.extend(outcome.unfaithful);
        runs.programs.extend(outcome.programs.into_iter().map(ProgramOutput::from));
        if (options.stop)() {
            break;
        }
    }
    runs.stopped_early = (options.stop)();
    Ok(runs)
}

impl From<lockgate_live::ProgramResult> for ProgramOutput {
    fn from(ran: lockgate_live::ProgramResult) -> Self {
        Self { node: ran.node, command: ran.command, ended: ran.ended, output: ran.output }
    }
}
