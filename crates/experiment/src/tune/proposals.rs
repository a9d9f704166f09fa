//! Proposals of points: anywhere by the optimiser, then beside the best one by a pattern search.
//!
//! A model of the whole space is too coarse near the best point, which is often at the edge of a cliff. With
//! one goal, the last part of the points therefore refines the best one (decision 104).

use optimizer::Trial;

use super::found::{Request, Search, Tried};
use super::goal::Goal;
use super::optimiser::Optimiser;
use super::pattern::{Outcome, Pattern};
use super::space::{Coordinate, Point};
use crate::Error;

/// Number of proposals in succession that were all tried before, after which the search has converged.
const REPEATED: usize = 100;

/// A point that is to be tried.
pub(super) struct Proposal {
    pub(super) point: Point,
    pub(super) coordinates: Vec<Coordinate>,
    /// Record of the optimiser; `None` for a step beside the best point.
    trial: Option<Trial>,
}

/// Both sources of proposals, used in succession.
pub(super) struct Proposals<'a> {
    request: Request<'a>,
    optimiser: Optimiser,
    /// Number of points proposed by the optimiser; those beside the best follow.
    global: usize,
    /// `None` until then.
    pattern: Option<Pattern>,
    /// Index of the point beside which steps are proposed: the best one, or the last that is as good.
    base: usize,
}

impl<'a> Proposals<'a> {
    /// Creates the proposals of a search.
    ///
    /// # Errors
    /// If the optimiser does not take the space.
    pub(super) fn new(request: &Request<'a>) -> Result<Self, Error> {
        let most = request.points();
        let global = if request.goals.len() == 1 { most - most / 2 } else { most };
        let optimiser = Optimiser::new(request)?;
        Ok(Self { request: *request, optimiser, global, pattern: None, base: 0 })
    }

    /// Proposes a point that was not tried; `None` once the search has ended. If one source has converged,
    /// the other gets the rest of the points.
    ///
    /// # Errors
    /// If a point is outside the space.
    pub(super) fn next(&mut self, found: &Search) -> Result<Option<Proposal>, Error> {
        if found.tried.len() < self.global {
            if let Some(proposal) = self.anywhere(found)? {
                return Ok(Some(proposal));
            }
            self.global = found.tried.len();
        }
        if self.pattern.is_none() {
            self.pattern = self.begin(found);
            self.base = found.best(self.request.goals).unwrap_or_default();
        }
        match self.beside_best(found)? {
            Some(proposal) => Ok(Some(proposal)),
            None => self.anywhere(found),
        }
    }

    fn anywhere(&self, found: &Search) -> Result<Option<Proposal>, Error> {
        for _ in 0..REPEATED {
            let (trial, coordinates) = self.optimiser.ask()?;
            let point = self.request.space.point(&coordinates)?;
            if !is_tried(found, &point) {
                return Ok(Some(Proposal { point, coordinates, trial: Some(trial) }));
            }
        }
        Ok(None)
    }

    /// Starts the pattern search with a step of half the distance between as many evenly spread points, which
    /// is the resolution of the optimiser. The distance from the best point to its nearest neighbour is
    /// unsuitable, because the optimiser's last points are close together.
    fn begin(&self, found: &Search) -> Option<Pattern> {
        // Several goals have a front, and no single point to search beside.
        if self.request.goals.len() > 1 {
            return None;
        }
        let dimensions = self.request.space.dimensions();
        let spacing = (found.tried.len() as f64).powf(-1.0 / dimensions.len() as f64);
        Pattern::new(dimensions, spacing / 2.0)
    }

    fn beside_best(&mut self, found: &Search) -> Result<Option<Proposal>, Error> {
        let (Some(base), Some(pattern)) = (found.tried.get(self.base), &mut self.pattern) else {
            return Ok(None);
        };
        while let Some(coordinates) = pattern.propose(&base.coordinates) {
            let point = self.request.space.point(&coordinates)?;
            if !is_tried(found, &point) {
                return Ok(Some(Proposal { point, coordinates, trial: None }));
            }
            pattern.tell(Outcome::Known);
        }
        Ok(None)
    }

    /// Adds the result of a proposal to the found points, and passes it to the source of the proposal.
    ///
    /// # Errors
    /// If the optimiser refuses the result.
    pub(super) fn tell(&mut self, proposal: Proposal, tried: Tried, found: &mut Search) -> Result<(), Error> {
        let goals = self.request.goals;
        let is_step = proposal.trial.is_none();
        if let Some(trial) = proposal.trial {
            self.optimiser.tell(trial, &tried, goals, found.extremes(goals))?;
        }
        found.tried.push(tried);
        if let Some(pattern) = self.pattern.as_mut().filter(|_| is_step) {
            let outcome = outcome(found, self.base, goals);
            pattern.tell(outcome);
            if matches!(outcome, Outcome::Better | Outcome::Worse(0.0)) {
                self.base = found.tried.len() - 1;
            }
        }
        Ok(())
    }
}

/// Returns the outcome of the last point, a step from the point at `base`.
fn outcome(found: &Search, base: usize, goals: &[Goal]) -> Outcome {
    let last = found.tried.len() - 1;
    if found.best(goals) == Some(last) {
        return Outcome::Better;
    }
    let (base, tried) = (&found.tried[base], &found.tried[last]);
    if !base.is_feasible() {
        return Outcome::Worse(tried.violation - base.violation);
    }
    let cost = |one: &Tried| one.costs(goals).map_or(f64::MAX, |costs| costs[0]);
    match cost(tried) - cost(base) {
        less if less < 0.0 => Outcome::Beyond,
        _ if !tried.is_feasible() => Outcome::Worse(f64::MAX),
        more => Outcome::Worse(more),
    }
}

fn is_tried(found: &Search, point: &Point) -> bool {
    found.tried.iter().any(|tried| tried.point == *point)
}
