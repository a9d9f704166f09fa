//! The lives themselves: which runs are to be made in each round, how each begins, and what is kept of it.
//! Makes no run, so that a caller makes them as it can: on threads, or in steps.

use std::collections::BTreeMap;

use lockgate_engine::random::Seed;
use lockgate_engine::units::{Duration, Instant};
use lockgate_measure::metric::During;
use lockgate_measure::recording::{Mode, Recording};
use lockgate_measure::report::Ghost;
use lockgate_measure::summary::{Pairs, Summary, Values, values_by_phase};
use lockgate_scenario::Scenario;
use lockgate_sim::Simulation;

use crate::Error;

/// Limit on the events of all further pairs together, so that a large run does not take many times as long.
/// Above it, values with and without a change are told, and no effect.
const MOST_EVENTS: u64 = 40_000_000;

/// Limit on the random time by which flows of further pairs start later, and on its share of the run: where
/// nothing is drawn, all seeds would be the same.
const MOST_SHIFT: (Duration, u64) = (Duration::from_millis(100), 100);

/// A run to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    of: Of,
    /// Phase whose changes are left out.
    without: Option<usize>,
}

/// Seed of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// That of a recording, by its index.
    Shown(usize),
    /// A further one, by its number.
    Further(usize),
}

/// Part of a life that is kept.
#[derive(Debug)]
pub struct LifeOutcome {
    life: Life,
    /// Values of each phase.
    values: Vec<Values>,
    same_packets: bool,
    ghost: Option<Ghost>,
}

/// Runs whose changes have other lives.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// Scenario of the runs.
    pub scenario: &'a Scenario,
    /// Recordings of the runs, one for each seed.
    pub recordings: &'a [Recording],
}

/// Other lives of runs, in rounds: first the same seeds without each change, then the pairs of further seeds
/// that tell an effect from chance.
///
/// ```text
/// new -> begin_round -> [begin -> a run -> outcome, ...] -> end_round -> begin_round -> ... none -> add_to
/// ```
#[derive(Debug)]
pub struct OtherLives {
    /// Times of the phases.
    phases: Vec<During>,
    /// Addresses of the values.
    paths: Vec<String>,
    rounds: usize,
    /// By phase: the pairs, and whether no packet differs.
    pairs: BTreeMap<usize, (Pairs, bool)>,
    ghosts: Vec<Ghost>,
}

impl OtherLives {
    /// Returns the other lives of runs; `None` of live ones, and of runs without a change in the window.
    pub fn new(of: Told<'_>, summary: &Summary) -> Option<Self> {
        let first = of.recordings.first().filter(|first| first.mode == Mode::Sim)?;
        let phases = first.phases().to_vec();
        let values = summary.phases.first().iter().flat_map(|phase| phase.values.keys().cloned()).collect();
        let has_changes = !phases.is_empty() && of.recordings.iter().all(|one| one.phases() == phases);
        let (pairs, ghosts) = (BTreeMap::new(), Vec::new());
        has_changes.then_some(Self { phases, paths: values, rounds: 0, pairs, ghosts })
    }

    /// Returns the lives of the next round; `None` after the last one.
    pub fn begin_round(&mut self, of: Told<'_>) -> Option<Vec<Life>> {
        self.rounds += 1;
        match self.rounds {
            1 => Some(self.shown(of)),
            2 => Some(self.further(of)),
            _ => None,
        }
    }

    /// Returns the same seeds without each change.
    fn shown(&self, of: Told<'_>) -> Vec<Life> {
        let seeds = of.recordings.len();
        let of_phase = |phase| (0..seeds).map(move |seed| Life { of: Of::Shown(seed), without: Some(phase) });
        (1..self.phases.len()).flat_map(of_phase).collect()
    }

    /// Returns the pairs of further seeds, if [`MOST_EVENTS`] allows them: first the runs with all changes.
    fn further(&self, of: Told<'_>) -> Vec<Life> {
        let events = of.recordings.iter().map(|one| one.engine.events).max().unwrap_or(0).max(1);
        let open = self.pairs.iter().filter(|(_, (_, same_packets))| !same_packets);
        let open: Vec<(usize, usize)> = open
            .map(|(phase, (pairs, _))| (*phase, pairs.needed()))
            .filter(|(_, needed)| *needed > 0)
            .collect();
        let seeds = open.iter().map(|(_, needed)| *needed).max().unwrap_or(0);
        let life = |number, without| Life { of: Of::Further(number), without };
        let with = (0..seeds).map(|number| life(number, None));
        let without = open
            .iter()
            .flat_map(|(phase, needed)| (0..*needed).map(move |number| life(number, Some(*phase))));
        let lives: Vec<Life> = with.chain(without).collect();
        if (lives.len() as u64).saturating_mul(events) > MOST_EVENTS { Vec::new() } else { lives }
    }

    /// Begins a life, and returns the time at which it is to be ended.
    ///
    /// # Errors
    /// A network that cannot be built, which is a fault of Lockgate.
    pub fn begin(&self, life: Life, of: Told<'_>) -> Result<(Simulation<'static>, Instant), Error> {
        let (seed, duration) = match life.of {
            Of::Shown(index) => (of.recordings[index].seed, of.recordings[index].duration),
            // Far from the seeds that are shown.
            Of::Further(number) => {
                let first = &of.recordings[0];
                (Seed(first.seed.0.wrapping_add(1 << 32).wrapping_add(number as u64)), first.duration)
            }
        };
        let shifted = matches!(life.of, Of::Further(_)).then(|| {
            let (most, share) = MOST_SHIFT;
            of.scenario.with_shifted_starts(seed, most.min(of.scenario.duration / share))
        });
        let scenario = shifted.as_ref().unwrap_or(of.scenario);
        let mut scenario = match life.without {
            Some(phase) => {
                let During { from, to } = self.phases[phase];
                scenario.without_changes(from, to, &crate::no_files())
            }
            None => scenario.clone(),
        };
        (scenario.record.packets, scenario.record.capture) = (false, false);
        let end = Instant::ZERO + duration;
        let end = if end == scenario.end() { Instant::NEVER } else { end };
        Ok((Simulation::owning(scenario, seed)?, end))
    }

    /// Returns what is kept of a life.
    pub fn outcome(&self, life: Life, of: Told<'_>, made: &Recording) -> LifeOutcome {
        let with = match life.of {
            Of::Shown(index) => of.recordings.get(index),
            Of::Further(_) => None,
        };
        let ghost = with.filter(|_| life.of == Of::Shown(0)).zip(life.without);
        LifeOutcome {
            life,
            values: self.values(made),
            same_packets: with.is_some_and(|with| with.has_same_packets(made)),
            ghost: ghost.map(|(with, phase)| Ghost::new(with, made, phase)),
        }
    }

    /// Returns the values of each phase of a recording.
    fn values(&self, recording: &Recording) -> Vec<Values> {
        let mut values = values_by_phase(recording, self.paths.iter());
        values.resize_with(self.phases.len(), Values::default);
        values
    }

    /// Adds all outcomes of a round, in the order of its lives.
    pub fn end_round(&mut self, of: Told<'_>, outcomes: Vec<LifeOutcome>) {
        let (shown, further): (Vec<_>, Vec<_>) =
            outcomes.into_iter().partition(|one| matches!(one.life.of, Of::Shown(_)));
        self.add_shown(of, shown);
        let (with, without): (Vec<_>, Vec<_>) =
            further.into_iter().partition(|one| one.life.without.is_none());
        for mut outcome in without {
            let (Of::Further(number), Some(phase)) = (outcome.life.of, outcome.life.without) else {
                continue;
            };
            let with = with.get(number).and_then(|with| with.values.get(phase)).cloned();
            if let Some((pairs, _)) = self.pairs.get_mut(&phase) {
                pairs.add(with.unwrap_or_default(), outcome.values.swap_remove(phase));
            }
        }
    }

    fn add_shown(&mut self, of: Told<'_>, shown: Vec<LifeOutcome>) {
        let mut by_phase: BTreeMap<usize, Vec<LifeOutcome>> = BTreeMap::new();
        for outcome in shown {
            by_phase.entry(outcome.life.without.unwrap_or(0)).or_default().push(outcome);
        }
        for (phase, of_seeds) in by_phase {
            let same_packets = of_seeds.iter().all(|one| one.same_packets);
            let mut pairs = Pairs::default();
            for (recording, mut one) in of.recordings.iter().zip(of_seeds) {
                pairs.show(self.values(recording).swap_remove(phase), one.values.swap_remove(phase));
                self.ghosts.extend(one.ghost.filter(|_| !same_packets));
            }
            self.pairs.insert(phase, (pairs, same_packets));
        }
    }

    /// Adds to the summary what each change did, and returns the series without each, of those by which a
    /// packet differs.
    pub fn add_to(self, summary: &mut Summary) -> Vec<Ghost> {
        for (phase, (pairs, same_packets)) in self.pairs {
            summary.add_without(phase, &pairs, same_packets);
        }
        self.ghosts
    }
}
