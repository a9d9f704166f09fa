//! Simulated runs of a paper, with a progress bar.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::ProgressBar;
use lockgate::units::Duration;
use lockgate::{Advance, Options, Scenario, Seed};
use lockgate_experiment::claims::Folder;
use lockgate_experiment::{Error, Run, Runner};
use lockgate_scenario::{Override, Reader, Scale};

use super::PaperFiles;
use crate::runs::STEPS;
use crate::{interrupt, terminal};

/// Runner of a paper's scenarios, on the simulator.
pub(crate) struct PaperRunner<'a> {
    folder: &'a Folder,
    quiet: bool,
    /// Limit on memory in bytes: of all runs of the paper, and of each run.
    memory: u64,
    /// Number of runs, and their bar; set at the start.
    bar: OnceLock<(usize, ProgressBar)>,
    /// Simulated time of all runs in picoseconds.
    simulated: AtomicU64,
}

impl<'a> PaperRunner<'a> {
    pub(crate) fn new(folder: &'a Folder, quiet: bool, memory: u64) -> Self {
        Self { folder, quiet, memory, bar: OnceLock::new(), simulated: AtomicU64::new(0) }
    }

    fn show(&self, made: Advance) {
        let picos = made.to.since(made.from).as_picos();
        let total = self.simulated.fetch_add(picos, Ordering::Relaxed) + picos;
        if let Some((runs, bar)) = self.bar.get() {
            bar.inc(made.steps(STEPS));
            bar.set_message(format!("{runs} runs, {:.0} s simulated", total as f64 / 1e12));
        }
    }
}

impl Runner for PaperRunner<'_> {
    fn read(&self, scenario: &str, settings: &[String], scale: Option<Scale>) -> Result<Scenario, Error> {
        let text = self.folder.text(scenario)?;
        let name = self.folder.shown(scenario);
        let overrides = lockgate::parse_settings(settings).map_err(Error::runner)?;
        let files = PaperFiles(self.folder);
        let read = |text: &str, overrides: &[Override]| {
            let reader = Reader { files: &files, overrides, memory: self.memory };
            let scenario = reader.read(text, &name)?;
            lockgate::memory::estimate(&scenario, 1)?;
            Ok(scenario)
        };
        let read = match scale {
            None => read(text, &overrides),
            Some(scale) => {
                let scaled = scale.text(text, &name, &overrides).map_err(lockgate::Error::from);
                scaled.and_then(|text| read(&text, &[]))
            }
        };
        read.map_err(|error| match error {
            lockgate::Error::Scenario(problems) => Error::Scenario(problems),
            other => Error::runner(other),
        })
    }

    fn start(&self, runs: usize) {
        self.bar.get_or_init(|| (runs, terminal::progress(STEPS * runs as u64, self.quiet)));
    }

    fn run(&self, scenario: &Scenario, seed: u64) -> Result<Run, Error> {
        let simulated = AtomicU64::new(0);
        let progress = |made: Advance| {
            simulated.store(made.to.as_picos(), Ordering::Relaxed);
            self.show(made);
        };
        let options = Options {
            seeds: vec![Seed(seed)],
            memory: Some(self.memory),
            progress: &progress,
            stop: &interrupt::is_requested,
            ..Options::default()
        };
        let runs = lockgate::run(scenario, &options).map_err(Error::runner)?;
        let recordings = runs.recordings.into_iter();
        let simulated = Duration::from_picos(simulated.load(Ordering::Relaxed));
        let run = recordings.map(|recording| Run::new(recording, simulated)).next();
        Ok(run.expect("one seed gives one recording"))
    }

    fn finish(&self) {
        if let Some((_, bar)) = self.bar.get() {
            bar.finish_and_clear();
        }
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_requested()
    }
}
