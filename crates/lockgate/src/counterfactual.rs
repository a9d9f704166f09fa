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

use std::collections::BTreeMap;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::recording::{Mode, Recording};
use lockgate_measure::report::Ghost;
use lockgate_measure::summary::{Pairs, Summary, Values, values_by_phase};
use lockgate_scenario::Scenario;
use lockgate_sim::{Control, Simulation};

use crate::memory::{self, Guard};
use crate::run::{on_threads, threads_of};
use crate::{Error, Options, Runs};

/// Limit on the events of all further pairs together, so that a large run does not take many times as long.
/// Above it, values with and without a change are told, and no effect.
const MOST_EVENTS: u64 = 40_000_000;

/// Limit on the random time by which flows of further pairs start later, and on its share of the run: where
/// nothing is drawn, all seeds would be the same.
const MOST_SHIFT: (Duration, u64) = (Duration::from_millis(100), 100);

/// A run to be made: the further seed by its number, and the phase whose changes are left out.
type Life = (usize, Option<usize>);

/// Scenario, recordings and options that all other lives of runs have in common.
struct Lives<'a> {
    scenario: &'a Scenario,
    recordings: &'a [Recording],
    options: &'a Options<'a>,
    guard: Option<Guard>,
    /// Starts of the phases.
    starts: Vec<Instant>,
    /// Addresses of the values.
    paths: Vec<String>,
}

/// Outcome of a run without a change, of a seed that is shown.
struct Shown {
    values: Values,
    same_packets: bool,
    ghost: Option<Ghost>,
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
    let recordings = &runs.recordings;
    let Some(first) = recordings.first().filter(|first| first.mode == Mode::Sim) else {
        return Ok(Vec::new());
    };
    let starts = first.phases().to_vec();
    let paths: Vec<String> =
        summary.phases.first().iter().flat_map(|phase| phase.values.keys().cloned()).collect();
    if starts.len() < 2 || recordings.iter().any(|one| one.phases() != starts) {
        return Ok(Vec::new());
    }
    let together = threads_of(options.threads);
    if options.memory.is_some_and(|limit| !memory::allows(scenario, recordings.len() + together, limit)) {
        summary.warnings.push(
            "what the changes did is told before and after, not with and without them: further runs would exceed the \
             limit on memory (`--memory`)"
                .to_owned(),
        );
        return Ok(Vec::new());
    }
    let guard = options.memory.map(Guard::new);
    let lives = Lives { scenario, recordings, options, guard, starts, paths };
    let Some(shown) = lives.shown()? else { return Ok(Vec::new()) };
    let mut ghosts = Vec::new();
    let mut pairs = BTreeMap::new();
    for (phase, of_seeds) in shown {
        let same_packets = of_seeds.iter().all(|one| one.same_packets);
        let mut of_phase = Pairs::default();
        for (recording, shown) in recordings.iter().zip(of_seeds) {
            of_phase.show(lives.values(recording, phase), shown.values);
            ghosts.extend(shown.ghost.filter(|_| !same_packets));
        }
        pairs.insert(phase, (of_phase, same_packets));
    }
    if !lives.tell_from_chance(&mut pairs)? {
        return Ok(Vec::new());
    }
    for (phase, (pairs, same_packets)) in pairs {
        summary.add_without(phase, &pairs, same_packets);
    }
    Ok(ghosts)
}

impl Lives<'_> {
    fn phases(&self) -> core::ops::Range<usize> {
        1..self.starts.len()
    }

    /// Returns the values of a phase of a recording.
    fn values(&self, recording: &Recording, phase: usize) -> Values {
        values_by_phase(recording, self.paths.iter()).into_iter().nth(phase).unwrap_or_default()
    }

    /// Makes the seeds that are shown once more without each change, and returns their values by phase;
    /// `None` if the caller stops.
    fn shown(&self) -> Result<Option<BTreeMap<usize, Vec<Shown>>>, Error> {
        let all: Vec<(usize, usize)> = self
            .phases()
            .flat_map(|phase| (0..self.recordings.len()).map(move |seed| (phase, seed)))
            .collect();
        let one = |&(phase, seed): &(usize, usize)| -> Result<Option<(usize, Shown)>, Error> {
            let with = &self.recordings[seed];
            let end = Instant::ZERO + with.duration;
            let Some(without) = self.run(self.scenario, Some(phase), with.seed, end)? else {
                return Ok(None);
            };
            let ghost = (seed == 0).then(|| Ghost::new(with, &without, phase));
            let values = self.values(&without, phase);
            Ok(Some((phase, Shown { values, same_packets: with.has_same_packets(&without), ghost })))
        };
        let mut found: BTreeMap<usize, Vec<Shown>> = BTreeMap::new();
        for made in on_threads(&all, self.options.threads, one)? {
            let Some((phase, shown)) = made else { return Ok(None) };
            found.entry(phase).or_default().push(shown);
        }
        Ok(Some(found))
    }

    /// Adds the pairs of further seeds that tell an effect from chance, if [`MOST_EVENTS`] allows it. Returns
    /// false if the caller stops.
    fn tell_from_chance(&self, pairs: &mut BTreeMap<usize, (Pairs, bool)>) -> Result<bool, Error> {
        let events = self.recordings.iter().map(|one| one.engine.events).max().unwrap_or(0).max(1);
        let open = pairs.iter().filter(|(_, (_, same_packets))| !same_packets);
        let open: Vec<(usize, usize)> = open
            .map(|(phase, (pairs, _))| (*phase, pairs.needed()))
            .filter(|(_, needed)| *needed > 0)
            .collect();
        let seeds = open.iter().map(|(_, needed)| *needed).max().unwrap_or(0);
        let with = (0..seeds).map(|seed| (seed, None));
        let without = open.iter().flat_map(|(phase, needed)| (0..*needed).map(|seed| (seed, Some(*phase))));
        let lives: Vec<Life> = with.chain(without).collect();
        if (lives.len() as u64).saturating_mul(events) > MOST_EVENTS {
            return Ok(true);
        }
        let made = on_threads(&lives, self.options.threads, |life| self.further(*life))?;
        let Some(made) = made.into_iter().collect::<Option<Vec<Vec<Values>>>>() else { return Ok(false) };
        let (with, without) = made.split_at(seeds);
        for ((seed, phase), values) in lives[seeds..].iter().zip(without) {
            let of =
                |values: &Vec<Values>| phase.and_then(|phase| values.get(phase)).cloned().unwrap_or_default();
            if let Some((pairs, _)) = phase.and_then(|phase| pairs.get_mut(&phase)) {
                pairs.add(of(&with[*seed]), of(values));
            }
        }
        Ok(true)
    }

    /// Makes a run of a further seed, and returns its values by phase; `None` if the caller stops.
    fn further(&self, (number, without): Life) -> Result<Option<Vec<Values>>, Error> {
        let first = &self.recordings[0];
        // Far from the seeds that are shown.
        let seed = Seed(first.seed.0.wrapping_add(1 << 32).wrapping_add(number as u64));
        let (most, share) = MOST_SHIFT;
        let shifted = self.scenario.with_shifted_starts(seed, most.min(self.scenario.duration / share));
        let made = self.run(&shifted, without, seed, Instant::ZERO + first.duration)?;
        let phases = self.starts.len();
        Ok(made.map(|recording| {
            let mut values = values_by_phase(&recording, self.paths.iter());
            values.resize_with(phases, Values::default);
            values
        }))
    }

    /// Simulates a run until `end`, without the changes of a phase. Returns `None` if the caller stops.
    fn run(
        &self,
        scenario: &Scenario,
        without: Option<usize>,
        seed: Seed,
        end: Instant,
    ) -> Result<Option<Recording>, Error> {
        let mut scenario = match without {
            Some(phase) => {
                let until = self.starts.get(phase + 1).copied().unwrap_or(Instant::NEVER);
                scenario.without_changes(self.starts[phase], until, &crate::no_files())
            }
            None => scenario.clone(),
        };
        (scenario.record.packets, scenario.record.capture) = (false, false);
        let is_whole = end == scenario.end();
        let mut exceeded = None;
        let mut simulation = Simulation::new(&scenario, seed)?;
        let end = if is_whole { Instant::NEVER } else { end };
        simulation.step_while(end, &mut |_| {
            exceeded = self.guard.as_ref().and_then(Guard::exceeded);
            let is_over = (self.options.stop)() || exceeded.is_some();
            if is_over { Control::Stop } else { Control::Continue }
        })?;
        if let (Some(limit), Some(taken)) = (self.options.memory, exceeded) {
            return Err(Error::Memory { taken, limit });
        }
        if (self.options.stop)() {
            return Ok(None);
        }
        Ok(Some(simulation.finish()?.recording))
    }
}
