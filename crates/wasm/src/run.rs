//! Runs of a scenario, one for each seed.

use lockgate::units::{Duration, Instant};
use lockgate::{Recording, Runs, Scenario, Seed, Simulation, Summary, Told, memory, report, verdict};
use lockgate_measure::report::Ghost;
use serde::{Deserialize, Serialize};

use crate::answer::{ProblemData, Wrong};
use crate::budget::{Budget, Job};
use crate::effects::Effects;
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
    /// Time at which each run is ended, such as `2s`, for a preview without the effects of changes; by
    /// default the end of the scenario.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub until: Option<String>,
}

fn default_seeds() -> Vec<u64> {
    vec![1]
}

/// Result of runs, with what each change did, as other runs without it tell. Its parts are `summary`, the
/// text of the command's summary.json, and `report`, the data of its report.html
/// ([`ReportData`](lockgate_measure::report::ReportData)).
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
    /// Summary of the runs, once they are made, and their other lives, if there are any.
    made: Option<(Summary, Option<Effects>)>,
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
        let recordings = Vec::new();
        Ok(Self { scenario, seeds, until, recordings, current: None, stopped_early: false, made: None })
    }

    /// True if the runs are made, and some of their other lives are not: [`result`](Self::result) returns
    /// everything else.
    pub(crate) fn has_result(&self) -> bool {
        matches!(&self.made, Some((_, Some(effects))) if !effects.has_ended())
    }

    /// Returns the result of the runs before their other lives are made.
    ///
    /// # Errors
    /// If a run is not made.
    pub(crate) fn result(&mut self) -> Result<Value<Ran>, Wrong> {
        let Some((summary, _)) = &self.made else { return Err(Wrong::new("the runs are not made yet")) };
        let summary = summary.clone();
        self.value(&summary, Vec::new())
    }

    /// Returns the result of the runs made so far.
    ///
    /// # Errors
    /// If none was begun, or one fails.
    pub(crate) fn finish(mut self) -> Result<Value<Ran>, Wrong> {
        if let Some(simulation) = self.current.take() {
            self.close(simulation)?;
        }
        let (mut summary, effects) = match self.made.take() {
            Some(made) => made,
            None => (lockgate::summarise(&self.scenario, &self.recordings)?, None),
        };
        let effects = effects.filter(Effects::has_ended);
        let ghosts = effects.map_or_else(Vec::new, |effects| effects.add_to(&mut summary));
        self.value(&summary, ghosts)
    }

    fn value(&mut self, summary: &Summary, ghosts: Vec<Ghost>) -> Result<Value<Ran>, Wrong> {
        let Some(first) = self.recordings.first() else { return Err(Wrong::new("no run was begun")) };
        let mut report = report::of_runs(&self.scenario, summary, first);
        if let Some(run) = report.runs.first_mut() {
            run.ghosts = ghosts;
        }
        let report = serde_json::to_vec(&report.readable())?;
        let packet_hops = self.recordings.iter().map(Recording::packet_hops).sum();
        let summary_text = report::json(&summary.written())?;
        let recordings = core::mem::take(&mut self.recordings);
        let runs = Runs { recordings, stopped_early: self.stopped_early, ..Runs::default() };
        let value = Ran {
            verdict: verdict::line(summary, &runs),
            holds: verdict::holds(summary),
            stopped_early: runs.stopped_early,
            packet_hops,
            warnings: self.scenario.warnings.iter().map(ProblemData::from).collect(),
        };
        self.recordings = runs.recordings;
        Ok(Value { value, parts: vec![("summary", summary_text.into_bytes()), ("report", report)] })
    }

    fn close(&mut self, simulation: Simulation<'static>) -> Result<(), Wrong> {
        let outcome = simulation.finish().map_err(lockgate::Error::from)?;
        self.stopped_early |= outcome.stopped_early;
        self.recordings.push(outcome.recording);
        Ok(())
    }

    fn effects(&self) -> Option<&Effects> {
        self.made.as_ref()?.1.as_ref()
    }

    /// Continues the runs. Returns false if the budget was spent.
    fn step_runs(&mut self, budget: &mut Budget) -> Result<bool, Wrong> {
        while let Some(seed) = self.seeds.get(self.recordings.len()) {
            let mut simulation = match self.current.take() {
                Some(simulation) => simulation,
                None => Simulation::owning(self.scenario.clone(), *seed).map_err(lockgate::Error::from)?,
            };
            if !budget.advance(&mut simulation, self.until)? {
                self.current = Some(simulation);
                return Ok(false);
            }
            self.close(simulation)?;
        }
        Ok(true)
    }
}

impl Job for Running {
    fn step(&mut self, budget: &mut Budget) -> Result<(), Wrong> {
        if !self.step_runs(budget)? {
            return Ok(());
        }
        let of = Told { scenario: &self.scenario, recordings: &self.recordings };
        if self.made.is_none() {
            let mut summary = lockgate::summarise(of.scenario, of.recordings)?;
            // A preview is replaced soon.
            let has_effects = self.until == Instant::NEVER;
            let effects = if has_effects { Effects::new(of, &mut summary) } else { None };
            self.made = Some((summary, effects));
            // The caller shows the result first, if more is to be made.
            if self.has_result() && !budget.is_unlimited() {
                return Ok(());
            }
        }
        match &mut self.made {
            Some((_, Some(effects))) => effects.step(of, budget),
            _ => Ok(()),
        }
    }

    fn done(&self) -> f64 {
        let end = self.until.min(self.scenario.end());
        let part = self.current.as_ref().map_or(0.0, |run| run.now().as_secs_f64() / end.as_secs_f64());
        self.recordings.len() as f64 + part.min(1.0) + self.effects().map_or(0.0, Effects::done)
    }

    fn runs(&self) -> usize {
        self.seeds.len() + self.effects().map_or(0, Effects::runs)
    }

    fn has_ended(&self) -> bool {
        self.made.as_ref().is_some_and(|(_, effects)| effects.as_ref().is_none_or(Effects::has_ended))
    }
}
