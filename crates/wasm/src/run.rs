//! Runs of a scenario, one for each seed.

use lockgate::units::{Duration, Instant};
use lockgate::{Recording, Runs, Scenario, Seed, Simulation, memory, report, verdict};
use serde::{Deserialize, Serialize};

use crate::answer::{ProblemData, Wrong};
use crate::budget::{Budget, Job};
use crate::message::{Message, Value};
use crate::scenario::{Opened, ScenarioRequest};

/// Request for runs.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The scenario.
    pub scenario: ScenarioRequest,
    /// Seeds, one for each run; 1 by default.
    #[serde(default = "default_seeds")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<u64>>"))]
    pub seeds: Vec<u64>,
    /// Time at which each run is ended, such as `2s`, for a preview; by default the end of the scenario.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub until: Option<String>,
}

fn default_seeds() -> Vec<u64> {
    vec![1]
}

/// Result of runs. Its parts are `summary`, the text of the command's summary.json, and `report`, the data of
/// its report.html ([`ReportData`](lockgate_measure::report::ReportData)).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Ran {
    /// Verdict in a line.
    pub verdict: String,
    /// True if all expectations hold.
    pub holds: bool,
    /// True if the runs ended before the end of the scenario.
    pub stopped_early: bool,
    /// Packets that arrived at the end of a link, of all runs.
    pub packet_hops: u64,
    /// Warnings of the scenario.
    pub warnings: Vec<ProblemData>,
}

/// Makes runs.
///
/// # Errors
/// If the scenario has problems, or a run fails.
pub fn run(message: &Message<'_>) -> Result<Value<Ran>, Wrong> {
    let mut running = Running::new(message.head()?, message)?;
    running.step(&mut Budget::unlimited())?;
    running.finish()
}

/// Runs in progress.
pub(crate) struct Running {
    scenario: Scenario,
    seeds: Vec<Seed>,
    until: Instant,
    recordings: Vec<Recording>,
    current: Option<Simulation<'static>>,
    stopped_early: bool,
}

impl Running {
    pub(crate) fn new(request: RunRequest, message: &Message<'_>) -> Result<Self, Wrong> {
        let seeds = lockgate::plans::seeds(request.seeds)?.into_iter().map(Seed).collect::<Vec<_>>();
        let until = match request.until.map(|text| text.parse::<Duration>()) {
            Some(Ok(until)) => Instant::ZERO + until,
            Some(Err(error)) => return Err(Wrong::new(format!("`until`: {error}"))),
            None => Instant::NEVER,
        };
        let scenario = Opened::new(request.scenario, message)?.read()?;
        memory::estimate(&scenario, seeds.len())?;
        Ok(Self { scenario, seeds, until, recordings: Vec::new(), current: None, stopped_early: false })
    }

    /// Returns the result of the runs made so far.
    ///
    /// # Errors
    /// If none was begun, or one fails.
    pub(crate) fn finish(mut self) -> Result<Value<Ran>, Wrong> {
        if let Some(simulation) = self.current.take() {
            self.close(simulation)?;
        }
        let Some(first) = self.recordings.first() else { return Err(Wrong::new("no run was begun")) };
        let summary = lockgate::summarise(&self.scenario, &self.recordings)?;
        let report = report::of_runs(&self.scenario, &summary, first).readable();
        let packet_hops = self.recordings.iter().map(Recording::packet_hops).sum();
        let summary_text = report::json(&summary.written())?;
        let runs = Runs { recordings: self.recordings, stopped_early: self.stopped_early, ..Runs::default() };
        let value = Ran {
            verdict: verdict::line(&summary, &runs),
            holds: verdict::holds(&summary),
            stopped_early: runs.stopped_early,
            packet_hops,
            warnings: self.scenario.warnings.iter().map(ProblemData::from).collect(),
        };
        let parts = vec![("summary", summary_text.into_bytes()), ("report", serde_json::to_vec(&report)?)];
        Ok(Value { value, parts })
    }

    fn close(&mut self, simulation: Simulation<'static>) -> Result<(), Wrong> {
        let outcome = simulation.finish().map_err(lockgate::Error::from)?;
        self.stopped_early |= outcome.stopped_early;
        self.recordings.push(outcome.recording);
        Ok(())
    }
}

impl Job for Running {
    fn step(&mut self, budget: &mut Budget) -> Result<(), Wrong> {
        while let Some(seed) = self.seeds.get(self.recordings.len()) {
            let mut simulation = match self.current.take() {
                Some(simulation) => simulation,
                None => Simulation::owning(self.scenario.clone(), *seed).map_err(lockgate::Error::from)?,
            };
            if !budget.advance(&mut simulation, self.until)? {
                self.current = Some(simulation);
                break;
            }
            self.close(simulation)?;
        }
        Ok(())
    }

    fn done(&self) -> f64 {
        let end = self.until.min(self.scenario.end());
        let part = self.current.as_ref().map_or(0.0, |run| run.now().as_secs_f64() / end.as_secs_f64());
        self.recordings.len() as f64 + part.min(1.0)
    }

    fn runs(&self) -> usize {
        self.seeds.len()
    }
}
