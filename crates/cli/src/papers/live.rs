//! Runs of a paper on real packets, with a progress bar.

use std::sync::OnceLock;

use indicatif::ProgressBar;
use lockgate::units::Instant;
use lockgate::{Scenario, Seed};
use lockgate_experiment::Error;
use lockgate_experiment::claims::{LiveEvent, LiveRun, LiveRunner};

use crate::output::tell;
use crate::{interrupt, terminal};

/// Runner of scenarios on real packets.
pub(crate) struct PacketRunner {
    pub(crate) quiet: bool,
    /// Set when the runs are planned.
    bar: OnceLock<ProgressBar>,
}

impl PacketRunner {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, bar: OnceLock::new() }
    }

    fn plan(&self, runs: usize, length_ms: u64, takes_ms: u64) {
        self.bar.get_or_init(|| terminal::progress(length_ms, self.quiet));
        if !self.quiet && runs > 0 {
            tell!("live: {runs} runs, about {} min", takes_ms.div_ceil(60_000));
        }
    }
}

impl LiveRunner for PacketRunner {
    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        lockgate_live::preflight::check(scenario).map_err(|failure| failure.to_string())
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        reached: &mut (dyn FnMut(Instant) + Send),
    ) -> Result<LiveRun, Error> {
        let mut stop = |now| {
            reached(now);
            interrupt::is_requested()
        };
        let outcome = lockgate_live::run(scenario, Seed(seed), &mut stop)
            .map_err(|failure| Error::runner(lockgate::Error::from(failure)))?;
        Ok(LiveRun { recording: outcome.recording, unfaithful: outcome.unfaithful })
    }

    fn report(&self, event: LiveEvent<'_>) {
        if let LiveEvent::Planned { runs, length_ms, takes_ms } = event {
            return self.plan(runs, length_ms, takes_ms);
        }
        let Some(bar) = self.bar.get() else { return };
        match event {
            LiveEvent::Planned { .. } => {}
            LiveEvent::Started { number, runs, name, again_ms } => {
                bar.inc_length(again_ms.unwrap_or(0));
                let again = if again_ms.is_some() { ", again" } else { "" };
                bar.set_message(format!("live {number} of {runs}: {name}{again}"));
            }
            LiveEvent::Advanced(ms) => bar.inc(ms),
            LiveEvent::Ended => bar.finish_and_clear(),
        }
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_requested()
    }
}
