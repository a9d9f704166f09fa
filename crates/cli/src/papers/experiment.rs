//! Runs of a paper: those defined, those needed, and their observations.
//!
//! ```text
//! claims, figures, tables, today --> observations --> runs that are needed --> values, curves
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use lockgate_measure::summary;
use lockgate_scenario::{Scale, Scenario};
use rayon::prelude::*;

use super::claims::{Claims, OnPackets, Runs};
use super::expression::{Expression, Observation, Values};
use super::folder::Folder;
use super::live::Live;
use super::matrix::{combinations, fill};
use super::observation::{Curve, Names, curve, observe};
use crate::exit::Failure;
use crate::{interrupt, runs, terminal};

/// Definition of a run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    scenario: String,
    set: Vec<String>,
    /// Offset of the seed.
    seed: u64,
    /// Options on real packets; `None` if it is not made there.
    live: Option<OnPackets>,
}

/// Requested observations and, after the runs, their results.
pub(crate) struct Experiment<'a> {
    folder: &'a Folder,
    pub(crate) quick: bool,
    plans: BTreeMap<String, Plan>,
    wanted: BTreeSet<Observation>,
    drawn: BTreeSet<(Observation, Curve)>,
    /// Results of the simulation.
    pub(crate) seen: Seen,
    /// Results on real packets, if requested.
    pub(crate) live: Option<Live>,
    /// Simulated time and packet-hops of all runs.
    pub(crate) cost: Cost,
}

/// Total of the runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) runs: usize,
    pub(crate) simulated_s: f64,
    pub(crate) packet_hops: u64,
}

pub(crate) fn damaged(folder: &Folder, why: &str) -> Failure {
    Failure::usage(format!("{}: {why}", folder.shown("claims.toml")), "CONTRIBUTING.md says what it may have")
}

impl<'a> Experiment<'a> {
    /// Creates the runs that the file defines.
    pub(crate) fn new(folder: &'a Folder, claims: &Claims, quick: bool) -> Result<Self, Failure> {
        let mut experiment = Self {
            folder,
            quick,
            plans: BTreeMap::new(),
            wanted: BTreeSet::new(),
            drawn: BTreeSet::new(),
            seen: Seen::default(),
            live: None,
            cost: Cost::default(),
        };
        for runs in &claims.runs {
            experiment.plan(runs).map_err(|why| damaged(folder, &why))?;
        }
        Ok(experiment)
    }

    fn plan(&mut self, runs: &Runs) -> Result<(), String> {
        for variables in combinations(&runs.each, &runs.rows) {
            let name = fill(&runs.name, &variables)?;
            let quick: &[String] = if self.quick { &runs.quick } else { &[] };
            let set =
                runs.set.iter().chain(quick).map(|text| fill(text, &variables)).collect::<Result<_, _>>()?;
            let seed = match variables.get("seed") {
                Some(seed) => seed
                    .parse::<u64>()
                    .map_err(|_| format!("run `{name}`: `seed` is a whole number from 1"))?,
                None => 1,
            };
            let filled =
                |texts: &[String]| texts.iter().map(|text| fill(text, &variables)).collect::<Result<_, _>>();
            let mut live = runs.live.clone();
            (live.set, live.quick) = (filled(&live.set)?, filled(&live.quick)?);
            let live = Some(live);
            let plan = Plan { scenario: runs.scenario.clone(), set, seed: seed.saturating_sub(1), live };
            self.add(&name, plan)?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str, plan: Plan) -> Result<(), String> {
        match self.plans.insert(name.to_owned(), plan) {
            Some(_) => Err(format!("there are two runs called `{name}`")),
            None => Ok(()),
        }
    }

    /// Adds a run, if its scenario is valid with these settings.
    pub(crate) fn try_run(&mut self, name: &str, scenario: &str, set: Vec<String>) -> Result<(), Failure> {
        let plan = Plan { scenario: scenario.to_owned(), set, seed: 0, live: None };
        self.read(&plan)?;
        self.add(name, plan).map_err(|why| damaged(self.folder, &why))
    }

    /// Requests an observation of a variant of its run, which has the additional settings `set` and a name
    /// that begins with `prefix`.
    ///
    /// # Errors
    /// If there is no such run.
    pub(crate) fn want_variant(
        &mut self,
        prefix: &str,
        set: &[String],
        observation: Observation,
    ) -> Result<(), String> {
        let name = format!("{prefix}{}", observation.run);
        if !self.plans.contains_key(&name) {
            let original = self.plans.get(&observation.run);
            let mut plan = original
                .ok_or_else(|| format!("{observation}: there is no run `{}`", observation.run))?
                .clone();
            plan.set.extend_from_slice(set);
            plan.live = None;
            self.plans.insert(name.clone(), plan);
        }
        self.wanted.insert(Observation { run: name, ..observation });
        Ok(())
    }

    /// Requests all observations of a formula.
    pub(crate) fn want(&mut self, formula: &Expression) {
        formula.each_observation(&mut |observation| {
            self.wanted.insert(observation.clone());
        });
    }

    /// Requests a curve.
    pub(crate) fn want_curve(&mut self, observation: Observation, curve: Curve) {
        self.drawn.insert((observation, curve));
    }

    fn read(&self, plan: &Plan) -> Result<Scenario, Failure> {
        let overrides = runs::parse_overrides(&plan.set)?;
        let name = self.folder.shown(&plan.scenario);
        runs::read_text(self.folder.text(&plan.scenario)?, &name, self.folder, &overrides)
    }

    /// Reads the scenario of a run with additional settings, at another scale.
    pub(crate) fn read_at(&self, run: &str, set: &[String], scale: Scale) -> Result<Scenario, Failure> {
        let plan =
            self.plans.get(run).ok_or_else(|| damaged(self.folder, &format!("there is no run `{run}`")))?;
        let overrides = runs::parse_overrides(&[plan.set.as_slice(), set].concat())?;
        let name = self.folder.shown(&plan.scenario);
        let text = scale
            .text(self.folder.text(&plan.scenario)?, &name, &overrides)
            .map_err(|problems| Failure::Scenario(Box::new(problems)))?;
        runs::read_text(&text, &name, self.folder, &[])
    }

    /// Returns a run's options on real packets, and the offset of its seed.
    pub(crate) fn on_packets(&self, run: &str) -> Option<(&OnPackets, u64)> {
        let plan = self.plans.get(run)?;
        plan.live.as_ref().map(|live| (live, plan.seed))
    }

    /// Returns the runs of which observations are requested.
    pub(crate) fn wanted_runs(&self) -> BTreeSet<String> {
        self.wanted.iter().map(|observation| observation.run.clone()).collect()
    }

    /// Reads the needed runs and checks that every observation is possible.
    ///
    /// # Errors
    /// If the file or a scenario is invalid.
    pub(crate) fn check(&self) -> Result<Vec<(String, u64, Scenario)>, Failure> {
        let drawn = self.drawn.iter().map(|(observation, curve)| curve.as_observed(observation));
        let mut needed: BTreeMap<String, Vec<Observation>> = BTreeMap::new();
        for observation in self.wanted.iter().cloned().chain(drawn) {
            needed.entry(observation.run.clone()).or_default().push(observation);
        }
        let mut runs = Vec::new();
        for (name, observations) in needed {
            let plan = self.plans.get(&name).ok_or_else(|| {
                damaged(self.folder, &format!("{}: there is no run `{name}`", observations[0]))
            })?;
            let scenario = self.read(plan)?;
            let names = Names::of(&scenario);
            observations
                .iter()
                .try_for_each(|observation| names.check(observation))
                .map_err(|why| damaged(self.folder, &why))?;
            runs.push((name, plan.seed, scenario));
        }
        Ok(runs)
    }

    /// Simulates the needed runs on all processors.
    ///
    /// # Errors
    /// As for [`check`](Self::check), or if a run fails.
    pub(crate) fn run(&mut self, seed: u64, quiet: bool) -> Result<(), Failure> {
        let runs = self.check()?;
        let bar = terminal::progress(1000 * runs.len() as u64, quiet);
        let simulated = AtomicU64::new(0);
        let count = runs.len();
        let observed: Vec<Seen> = runs
            .into_par_iter()
            .with_max_len(1)
            .map(|(name, offset, scenario)| {
                let advance = |steps: u64, picos: u64| {
                    let total = simulated.fetch_add(picos, Ordering::Relaxed) + picos;
                    bar.inc(steps);
                    bar.set_message(format!("{count} runs, {:.0} s simulated", total as f64 / 1e12));
                };
                if interrupt::is_requested() {
                    return Ok(Seen::default());
                }
                let recording = simulate_one(&scenario, seed.wrapping_add(offset), &advance)?;
                let summary = summary::summarise(std::slice::from_ref(&recording));
                let value = |wanted: &Observation| observe(wanted, &recording, &summary);
                let drawn = |wanted: &Observation, kind: Curve| curve(wanted, kind, &recording);
                Ok(self.observed(&name, &value, &drawn, recording.packet_hops()))
            })
            .collect::<Result<_, Failure>>()?;
        bar.finish_and_clear();
        self.cost = Cost {
            runs: count,
            simulated_s: simulated.into_inner() as f64 / 1e12,
            packet_hops: observed.iter().map(|seen| seen.packet_hops).sum(),
        };
        for seen in observed {
            self.seen.add(seen);
        }
        Ok(())
    }

    /// Makes all requested observations of a run.
    pub(crate) fn observed(
        &self,
        run: &str,
        value: &dyn Fn(&Observation) -> Vec<f64>,
        drawn: &dyn Fn(&Observation, Curve) -> Points,
        packet_hops: u64,
    ) -> Seen {
        let values = self.wanted.iter().filter(|wanted| wanted.run == run);
        let curves = self.drawn.iter().filter(|(wanted, _)| wanted.run == run);
        Seen {
            values: values.map(|wanted| (wanted.clone(), value(wanted))).collect(),
            curves: curves.map(|(wanted, kind)| ((wanted.clone(), *kind), drawn(wanted, *kind))).collect(),
            packet_hops,
        }
    }
}

/// Points of a curve.
pub(crate) type Points = Vec<(f64, f64)>;

/// Observations of runs.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) values: Values,
    pub(crate) curves: BTreeMap<(Observation, Curve), Points>,
    packet_hops: u64,
}

impl Seen {
    /// Adds the observations of other runs.
    pub(crate) fn add(&mut self, other: Self) {
        self.values.extend(other.values);
        self.curves.extend(other.curves);
        self.packet_hops += other.packet_hops;
    }
}

/// Simulates one run. `advance` is called with the progress since the last call: the number of steps and the
/// picoseconds.
fn simulate_one(
    scenario: &Scenario,
    seed: u64,
    advance: &(dyn Fn(u64, u64) + Sync),
) -> Result<lockgate::Recording, Failure> {
    let progress = |made: lockgate::Advance| advance(made.steps(1000), made.to.since(made.from).as_picos());
    let options = lockgate::Options {
        seeds: vec![lockgate::Seed(seed)],
        progress: &progress,
        stop: &interrupt::is_requested,
        ..lockgate::Options::default()
    };
    let mut runs = lockgate::run(scenario, &options)?;
    Ok(runs.recordings.remove(0))
}
