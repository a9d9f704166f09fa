//! Effects of changes: the other lives of runs that are made, in steps.

use lockgate::units::Instant;
use lockgate::{Life, LifeOutcome, OtherLives, Simulation, Summary, Told, other_lives};
use lockgate_measure::report::Ghost;

use crate::answer::Wrong;
use crate::budget::Budget;

/// Other lives in progress.
pub(crate) struct Effects {
    lives: OtherLives,
    /// Lives of this round, and the outcomes of those that are made.
    round: Vec<Life>,
    outcomes: Vec<LifeOutcome>,
    current: Option<(Simulation<'static>, Instant)>,
    /// End of the scenario.
    end: Instant,
    /// Number of lives of former rounds.
    before: usize,
    has_ended: bool,
}

impl Effects {
    /// Begins the other lives of runs; `None` if they have none, or if the memory does not hold them, which
    /// the summary then says.
    pub(crate) fn new(of: Told<'_>, summary: &mut Summary) -> Option<Self> {
        let mut lives = other_lives(of, 1, Some(of.scenario.memory), summary)?;
        let round = lives.begin_round(of).unwrap_or_default();
        let (outcomes, current, end) = (Vec::new(), None, of.scenario.end());
        Some(Self { lives, round, outcomes, current, end, before: 0, has_ended: false })
    }

    /// Continues until the budget is spent, or all lives are made.
    pub(crate) fn step(&mut self, of: Told<'_>, budget: &mut Budget) -> Result<(), Wrong> {
        while !self.has_ended {
            let Some(life) = self.round.get(self.outcomes.len()).copied() else {
                self.end_round(of);
                continue;
            };
            let (mut simulation, end) = match self.current.take() {
                Some(current) => current,
                None => self.lives.begin(life, of)?,
            };
            if !budget.advance(&mut simulation, end)? {
                self.current = Some((simulation, end));
                return Ok(());
            }
            let made = simulation.finish().map_err(lockgate::Error::from)?.recording;
            self.outcomes.push(self.lives.outcome(life, of, &made));
        }
        Ok(())
    }

    fn end_round(&mut self, of: Told<'_>) {
        self.lives.end_round(of, core::mem::take(&mut self.outcomes));
        self.before += self.round.len();
        let next = self.lives.begin_round(of);
        self.has_ended = next.is_none();
        self.round = next.unwrap_or_default();
    }

    /// Returns the number of lives that are made, with the fraction of the current one.
    pub(crate) fn done(&self) -> f64 {
        let part = |(run, end): &(Simulation<'_>, Instant)| {
            run.now().as_secs_f64() / self.end.min(*end).as_secs_f64()
        };
        let current = self.current.as_ref().map_or(0.0, part);
        (self.before + self.outcomes.len()) as f64 + current.min(1.0)
    }

    /// Returns the number of lives that are known so far.
    pub(crate) fn runs(&self) -> usize {
        self.before + self.round.len()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Adds to the summary what each change did, and returns the series without each.
    pub(crate) fn add_to(self, summary: &mut Summary) -> Vec<Ghost> {
        self.lives.add_to(summary)
    }
}
