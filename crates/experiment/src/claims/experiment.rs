//! Runs of a paper (defined and needed ones), and their observations.
//!
//! ```text
//! claims, figures, tables, today --> observations --> runs that are needed --> values, curves
//! ```

use std::collections::{BTreeMap, BTreeSet};

use lockgate_engine::units::Duration;
use lockgate_scenario::{Scale, Scenario};

use super::definition::{Definition, Definitions};
use super::expression::{Expression, Observation};
use super::file::{Claims, OnPackets, Runs};
use super::folder::Folder;
use super::observation::{Curve, Names, addresses_of_parts, at, curve, observe};
use super::results::{Live, Observations, Points};
use crate::{ClaimsError, Error, Runner, run_tasks};

/// Bytes of memory of a run that the file defines, besides its texts, and of an observation, each with its
/// results, tables and figures.
const RUN: u64 = 16 << 10;
const OBSERVATION: u64 = 2 << 10;

/// Requested observations and, after the runs, their results.
pub(crate) struct Experiment<'a> {
    folder: &'a Folder,
    runner: &'a dyn Runner,
    pub(crate) quick: bool,
    defined: Definitions,
    wanted: BTreeSet<Observation>,
    drawn: BTreeSet<(Observation, Curve)>,
    /// Bytes of memory that runs and observations may still take.
    room: u64,
    /// Results of the simulation.
    pub(crate) seen: Observations,
    /// Results on real packets, if requested.
    pub(crate) live: Option<Live>,
    /// Simulated time and packet-hops of all runs.
    pub(crate) cost: Cost,
}

/// Total of the runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Number of runs.
    pub runs: usize,
    /// Simulated time in seconds.
    pub simulated_s: f64,
    /// Packets times the ports they passed.
    pub packet_hops: u64,
}

impl<'a> Experiment<'a> {
    /// Creates the runs that the file defines.
    pub(crate) fn new(
        folder: &'a Folder,
        runner: &'a dyn Runner,
        claims: &Claims,
        quick: bool,
    ) -> Result<Self, Error> {
        let mut experiment = Self {
            folder,
            runner,
            quick,
            defined: Definitions::new(),
            wanted: BTreeSet::new(),
            drawn: BTreeSet::new(),
            room: runner.memory(),
            seen: Observations::default(),
            live: None,
            cost: Cost::default(),
        };
        for runs in &claims.runs {
            experiment.define(runs).map_err(|why| folder.invalid(why))?;
        }
        Ok(experiment)
    }

    /// Adds the runs of a `[[run]]`.
    fn define(&mut self, runs: &Runs) -> Result<(), ClaimsError> {
        let all = Definition::all(runs, self.quick)?;
        all.into_iter().try_for_each(|run| self.add(run)).map_err(ClaimsError::of("run", &runs.name))
    }

    /// Takes the memory of something that the file asks for.
    ///
    /// # Errors
    /// If that is not left, or the caller stops the experiment.
    fn take(&mut self, bytes: u64) -> Result<(), ClaimsError> {
        if self.runner.is_stopped() {
            return Err(ClaimsError::Stopped);
        }
        let memory = self.runner.memory() >> 20;
        self.room = self.room.checked_sub(bytes).ok_or(ClaimsError::Memory(memory))?;
        Ok(())
    }

    fn add(&mut self, run: Definition) -> Result<(), ClaimsError> {
        let texts: usize = run.settings.iter().map(|text| text.len() + size_of::<String>()).sum();
        // On real packets a run has its settings again.
        self.take(RUN + 2 * (texts + run.name.len()) as u64)?;
        let name = run.name.clone();
        match self.defined.insert(name.clone(), run) {
            Some(_) => Err(ClaimsError::RunTwice(name)),
            None => Ok(()),
        }
    }

    /// Adds a run, if its scenario is valid with these settings.
    pub(crate) fn try_run(&mut self, name: &str, scenario: &str, set: Vec<String>) -> Result<(), Error> {
        let run = Definition::new(name, scenario, set);
        self.read(&run)?;
        self.add(run).map_err(|why| self.folder.invalid(why))
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
    ) -> Result<(), ClaimsError> {
        let name = format!("{prefix}{}", observation.run);
        if !self.defined.contains_key(&name) {
            let original = self.defined.get(&observation.run);
            let original = original.ok_or_else(|| observation.without_run())?;
            let mut run = Definition { name: name.clone(), live: None, ..original.clone() };
            run.settings.extend_from_slice(set);
            self.add(run)?;
        }
        self.take(OBSERVATION)?;
        self.wanted.insert(Observation { run: name, ..observation });
        Ok(())
    }

    /// Requests all observations of a formula.
    ///
    /// # Errors
    /// If they take more memory than is allowed. Those that are requested again count too: they take time.
    pub(crate) fn want(&mut self, formula: &Expression) -> Result<(), ClaimsError> {
        let mut count = 0;
        formula.each_observation(&mut |_| count += 1);
        self.take(count * OBSERVATION)?;
        formula.each_observation(&mut |observation| {
            self.wanted.insert(observation.clone());
        });
        Ok(())
    }

    /// Requests a curve.
    ///
    /// # Errors
    /// If it takes more memory than is allowed.
    pub(crate) fn want_curve(&mut self, observation: Observation, curve: Curve) -> Result<(), ClaimsError> {
        self.take(OBSERVATION)?;
        self.drawn.insert((observation, curve));
        Ok(())
    }

    fn read(&self, run: &Definition) -> Result<Scenario, Error> {
        let scenario = self.runner.read(&run.scenario, &run.settings, None)?;
        Ok(self.observing(scenario, &run.name, Scale::ONE))
    }

    /// Returns the scenario of a run at this scale, with the parts that its observations name.
    fn observing(&self, mut scenario: Scenario, run: &str, scale: Scale) -> Scenario {
        let wanted = self.wanted.iter().filter(|wanted| wanted.run == run);
        let scaled: Vec<Observation> = wanted.map(|wanted| at(wanted, scale)).collect();
        let addresses = addresses_of_parts(scaled.iter(), &scenario);
        scenario.observe(addresses.iter().map(String::as_str));
        scenario
    }

    /// Reads the scenario of a run with additional settings, at another scale.
    pub(crate) fn read_at(&self, run: &str, set: &[String], scale: Scale) -> Result<Scenario, Error> {
        let defined =
            self.defined.get(run).ok_or_else(|| self.folder.invalid(ClaimsError::NoRun(run.to_owned())))?;
        let settings = [defined.settings.as_slice(), set].concat();
        let scenario = self.runner.read(&defined.scenario, &settings, Some(scale))?;
        Ok(self.observing(scenario, run, scale))
    }

    /// Returns a run's options on real packets, and the offset of its seed.
    pub(crate) fn on_packets(&self, run: &str) -> Option<(&OnPackets, u64)> {
        let defined = self.defined.get(run)?;
        defined.live.as_ref().map(|live| (live, defined.offset))
    }

    /// Returns the runs of which observations are requested.
    pub(crate) fn wanted_runs(&self) -> BTreeSet<String> {
        self.wanted.iter().map(|observation| observation.run.clone()).collect()
    }

    /// Reads the needed runs and checks that every observation is possible. Returns their names, and not
    /// their scenarios: many together take much memory.
    ///
    /// # Errors
    /// If the file or a scenario is invalid.
    pub(crate) fn check(&self) -> Result<Vec<String>, Error> {
        let drawn = self.drawn.iter().map(|(observation, curve)| curve.as_observed(observation));
        let mut wanted: BTreeMap<String, Vec<Observation>> = BTreeMap::new();
        for observation in self.wanted.iter().cloned().chain(drawn) {
            wanted.entry(observation.run.clone()).or_default().push(observation);
        }
        let mut needed = Vec::new();
        for (name, observations) in wanted {
            if self.runner.is_stopped() {
                return Err(self.folder.invalid(ClaimsError::Stopped));
            }
            let defined = self.defined.get(&name);
            let defined = defined.ok_or_else(|| self.folder.invalid(observations[0].without_run()))?;
            let names = Names::of(&self.read(defined)?);
            observations
                .iter()
                .try_for_each(|observation| names.check(observation))
                .map_err(|why| self.folder.invalid(why))?;
            needed.push(name);
        }
        Ok(needed)
    }

    /// Simulates the needed runs on all processors.
    ///
    /// # Errors
    /// As for [`check`](Self::check), or if a run fails.
    pub(crate) fn run(&mut self, seed: u64) -> Result<(), Error> {
        let needed = self.check()?;
        self.runner.start(needed.len());
        let observed = run_tasks(&needed, |name| self.observe(name, seed));
        self.runner.finish();
        let observed = observed?;
        let simulated: u64 = observed.iter().map(|(_, simulated)| simulated.as_picos()).sum();
        self.cost = Cost {
            runs: needed.len(),
            simulated_s: simulated as f64 / 1e12,
            packet_hops: observed.iter().map(|(seen, _)| seen.packet_hops).sum(),
        };
        for (seen, _) in observed {
            self.seen.add(seen);
        }
        Ok(())
    }

    /// Simulates a run, unless the experiment is stopped. Returns its observations and the simulated time.
    fn observe(&self, name: &str, seed: u64) -> Result<(Observations, Duration), Error> {
        let defined = self.defined.get(name).filter(|_| !self.runner.is_stopped());
        let Some(defined) = defined else { return Ok((Observations::default(), Duration::ZERO)) };
        let run = self.runner.run(&self.read(defined)?, seed.wrapping_add(defined.offset))?;
        let value = |wanted: &Observation| observe(wanted, &run.recording, &run.summary);
        let drawn = |wanted: &Observation, kind: Curve| curve(wanted, kind, &run.recording);
        Ok((self.observed(name, &value, &drawn, run.recording.packet_hops()), run.simulated))
    }

    /// Makes all requested observations of a run.
    pub(crate) fn observed(
        &self,
        run: &str,
        value: &dyn Fn(&Observation) -> Vec<f64>,
        drawn: &dyn Fn(&Observation, Curve) -> Points,
        packet_hops: u64,
    ) -> Observations {
        let values = self.wanted.iter().filter(|wanted| wanted.run == run);
        let curves = self.drawn.iter().filter(|(wanted, _)| wanted.run == run);
        Observations {
            values: values.map(|wanted| (wanted.clone(), value(wanted))).collect(),
            curves: curves.map(|(wanted, kind)| ((wanted.clone(), *kind), drawn(wanted, *kind))).collect(),
            packet_hops,
        }
    }
}
