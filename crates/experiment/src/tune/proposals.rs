//! Proposals of points: anywhere by the optimiser, then beside the best one by a pattern search.
//!
//! A model of the whole space is too coarse near the best point, which is often at the edge of a cliff; so the last
//! part of the points of one goal refines it (decision 112).

use optimizer::Trial;

use super::found::{Request, Search, Tried};
use super::optimiser::Optimiser;
use super::pattern::Pattern;
use super::space::{Coordinate, Point};
use crate::Error;

/// Proposals in succession that were all tried before; then the search has converged.
const REPEATED: usize = 100;

/// A point that is to be tried.
pub(super) struct Proposal {
    pub(super) point: Point,
    pub(super) coordinates: Vec<Coordinate>,
    /// The optimiser's own record; `None` of a step beside the best point.
    trial: Option<Trial>,
}

/// Both ways of proposing points, one after the other.
pub(super) struct Proposals<'a> {
    request: Request<'a>,
    optimiser: Optimiser,
    /// Number of points after which those beside the best begin.
    global: usize,
    /// `None` until then.
    pattern: Option<Pattern>,
}

impl<'a> Proposals<'a> {
    /// Creates the proposals of a search.
    ///
    /// # Errors
    /// If the optimiser does not take the space.
    pub(super) fn new(request: &Request<'a>) -> Result<Self, Error> {
        let most = request.points();
        // The best of several goals is a front, which has no point beside which to search.
        let global = if request.goals.len() == 1 { most - most / 3 } else { most };
        let optimiser = Optimiser::new(request)?;
        Ok(Self { request: *request, optimiser, global, pattern: None })
    }

    /// Proposes a point that was not tried; `None` once the search has ended.
    ///
    /// # Errors
    /// If a point is outside the space.
    pub(super) fn next(&mut self, found: &Search) -> Result<Option<Proposal>, Error> {
        if found.tried.len() < self.global {
            return self.anywhere(found);
        }
        if self.pattern.is_none() {
            self.pattern = self.begin(found);
        }
        if self.pattern.is_some() { self.beside_best(found) } else { self.anywhere(found) }
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

    /// Begins the pattern search with half the distance from the best point to the nearest other one: what the
    /// optimiser has resolved.
    fn begin(&self, found: &Search) -> Option<Pattern> {
        let best = found.best(self.request.goals)?;
        let (space, from) = (self.request.space, &found.tried[best].coordinates);
        let others = found.tried.iter().enumerate().filter(|(index, _)| *index != best);
        let nearest = others.map(|(_, other)| space.distance(from, &other.coordinates)).fold(1.0, f64::min);
        Pattern::new(space.dimensions(), nearest / 2.0)
    }

    fn beside_best(&mut self, found: &Search) -> Result<Option<Proposal>, Error> {
        let (Some(best), Some(pattern)) = (found.best(self.request.goals), &mut self.pattern) else {
            return Ok(None);
        };
        while let Some(coordinates) = pattern.propose(&found.tried[best].coordinates) {
            let point = self.request.space.point(&coordinates)?;
            if !is_tried(found, &point) {
                return Ok(Some(Proposal { point, coordinates, trial: None }));
            }
            pattern.tell(false);
        }
        Ok(None)
    }

    /// Adds the result of a proposal to what was found, and tells it to its proposer.
    ///
    /// # Errors
    /// If the optimiser does not take it.
    pub(super) fn tell(&mut self, proposal: Proposal, tried: Tried, found: &mut Search) -> Result<(), Error> {
        let goals = self.request.goals;
        if let Some(trial) = proposal.trial {
            self.optimiser.tell(trial, &tried, goals, found.extremes(goals))?;
        }
        found.tried.push(tried);
        if let Some(pattern) = &mut self.pattern {
            pattern.tell(found.best(goals) == Some(found.tried.len() - 1));
        }
        Ok(())
    }
}

fn is_tried(found: &Search, point: &Point) -> bool {
    found.tried.iter().any(|tried| tried.point == *point)
}
