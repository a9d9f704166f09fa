//! Request of a search, and its results: tried points, the best of them, the front.

use lockgate_measure::comparison::front;

use super::goal::{Constraint, Goal};
use super::space::{Coordinate, Point, Space};
use crate::Row;

/// Space, goals and limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Space of the points.
    pub space: &'a Space,
    /// Goals, at least one.
    pub goals: &'a [Goal],
    /// Constraints.
    pub constraints: &'a [Constraint],
    /// Number of seeds that each point is run with.
    pub seeds: usize,
    /// Limit on the runs: points times seeds.
    pub runs: usize,
    /// Ends the search after this many points in succession that were no better; `None`: never.
    pub patience: Option<usize>,
    /// Seed of the optimiser's own draws.
    pub seed: u64,
}

/// A point with its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The point.
    pub point: Point,
    /// Rows of the seeds: the goals' metrics, then the constraints'.
    pub rows: Vec<Row>,
    /// Mean of each metric over the seeds; `None` if a run has no value.
    pub means: Vec<Option<f64>>,
    /// Sum of the violations of the constraints, as fractions of their bounds; infinite without a value.
    pub violation: f64,
    /// Coordinates in the space.
    pub(super) coordinates: Vec<Coordinate>,
}

/// Reason why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The next points would exceed the limit on the runs.
    Runs,
    /// This many points in succession were no better.
    NoProgress(usize),
    /// All further proposals are points that were tried, or steps around the best point are below the
    /// smallest size.
    Converged,
    /// The caller stopped it.
    Interrupted,
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Points in the order in which they were tried.
    pub tried: Vec<Tried>,
    /// Reason of the end.
    pub stop: Stop,
    /// Index of the last point that was better than all before it.
    pub last_progress: usize,
}

impl Request<'_> {
    /// Returns the limit on the points.
    pub(super) fn points(&self) -> usize {
        (self.runs / self.seeds.max(1)).max(1)
    }
}

impl Tried {
    pub(super) fn new(
        request: &Request<'_>,
        point: Point,
        coordinates: Vec<Coordinate>,
        rows: Vec<Row>,
    ) -> Self {
        let metrics = request.goals.len() + request.constraints.len();
        let mean = |index: usize| {
            let values = rows.iter().map(|row| row.get(index).copied().flatten());
            let values: Vec<f64> = values.collect::<Option<_>>()?;
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let means: Vec<Option<f64>> = (0..metrics).map(mean).collect();
        let (goals, bounded) = means.split_at(request.goals.len());
        let violation = |(constraint, mean): (&Constraint, &Option<f64>)| {
            mean.map_or(f64::INFINITY, |mean| constraint.violation(mean))
        };
        let lacks = if goals.iter().any(Option::is_none) { f64::INFINITY } else { 0.0 };
        let violation = lacks + request.constraints.iter().zip(bounded).map(violation).sum::<f64>();
        Self { point, rows, means, violation, coordinates }
    }

    /// Returns true if every constraint holds in the mean over the seeds.
    pub fn is_feasible(&self) -> bool {
        self.violation <= 0.0
    }

    /// Returns the smallest distance by which all seeds keep all bounds, as a fraction of the bound; infinite
    /// without a bound.
    fn slack(&self, request: &Request<'_>) -> f64 {
        let goals = request.goals.len();
        let slack = |row: &Row| {
            let bounded = request.constraints.iter().zip(row.iter().skip(goals));
            bounded
                .map(|(one, value)| value.map_or(f64::NEG_INFINITY, |value| one.slack(value)))
                .fold(f64::INFINITY, f64::min)
        };
        self.rows.iter().map(slack).fold(f64::INFINITY, f64::min)
    }

    /// Returns the costs of the goals: less is better. `None` if one has no value.
    pub fn costs(&self, goals: &[Goal]) -> Option<Vec<f64>> {
        goals.iter().zip(&self.means).map(|(goal, mean)| mean.map(|mean| goal.cost(mean))).collect()
    }
}

impl Search {
    /// Returns the indices of the Pareto front: feasible points of which no other feasible point is at least
    /// as good in all goals and better in one. With one goal, this is the best point. The first goal's best
    /// point is first.
    pub fn front(&self, goals: &[Goal]) -> Vec<usize> {
        let costs: Vec<Option<Vec<f64>>> =
            self.tried.iter().map(|one| one.costs(goals).filter(|_| one.is_feasible())).collect();
        let mut indices = front(&costs);
        indices.sort_by(|one, other| {
            let first = |index: &usize| costs[*index].as_ref().map_or(f64::INFINITY, |costs| costs[0]);
            first(one).total_cmp(&first(other))
        });
        indices
    }

    /// Returns the least and the greatest cost of the first goal among feasible points.
    pub(super) fn extremes(&self, goals: &[Goal]) -> Option<(f64, f64)> {
        let feasible = self.tried.iter().filter(|one| one.is_feasible());
        let mut costs = feasible.filter_map(|one| one.costs(goals)).map(|costs| costs[0]);
        let first = costs.next()?;
        Some(costs.fold((first, first), |(low, high), cost| (low.min(cost), high.max(cost))))
    }

    /// Returns the indices of the points of one goal that are to be judged on other seeds. Half of them are
    /// the best ones. Points close to the best may owe their rank to the seeds of the search, or exceed a
    /// bound with others. The other half are therefore the best points that differ from all those chosen
    /// before by at least 2 % of a dimension. The last of these keeps every bound by at least 2 % with each
    /// seed, if such a point exists.
    pub fn finalists(&self, request: &Request<'_>, most: usize) -> Vec<usize> {
        const APART: f64 = 0.02;
        let ranked = self.ranked(request.goals);
        let mut chosen: Vec<usize> = ranked.iter().copied().take(most.div_ceil(2)).collect();
        while chosen.len() < most.min(ranked.len()) {
            let rest = ranked.iter().copied().filter(|index| !chosen.contains(index));
            let is_apart = |index: &usize| {
                let from = |other: &usize| {
                    request.space.distance(&self.tried[*other].coordinates, &self.tried[*index].coordinates)
                };
                chosen.iter().map(from).fold(f64::INFINITY, f64::min) >= APART
            };
            let is_last = chosen.len() + 1 == most;
            let is_within = |index: &usize| !is_last || self.tried[*index].slack(request) >= APART;
            let next = rest.clone().find(|index| is_apart(index) && is_within(index));
            let next = next.or_else(|| rest.clone().find(is_apart)).or_else(|| rest.clone().next());
            chosen.extend(next);
        }
        chosen
    }

    /// Returns these points as a search of their own, with the rows of further seeds: one list for each
    /// point.
    #[must_use]
    pub fn confirmed(&self, request: &Request<'_>, points: &[usize], more: Vec<Vec<Row>>) -> Self {
        let point = |(index, more): (&usize, Vec<Row>)| {
            let known = &self.tried[*index];
            let rows = [known.rows.as_slice(), &more].concat();
            Tried::new(request, known.point.clone(), known.coordinates.clone(), rows)
        };
        Self { tried: points.iter().zip(more).map(point).collect(), ..*self }
    }

    /// Returns the index of the least infeasible point; `None` without points.
    pub fn nearest(&self) -> Option<usize> {
        let all = self.tried.iter().enumerate();
        all.min_by(|one, other| one.1.violation.total_cmp(&other.1.violation)).map(|(index, _)| index)
    }

    /// Returns the index of the best point of the first goal; the least infeasible one if none is feasible.
    /// `None` without points.
    pub(super) fn best(&self, goals: &[Goal]) -> Option<usize> {
        self.ranked(goals).first().copied().or_else(|| self.nearest())
    }

    /// Returns the indices of the feasible points by the first goal, the best first.
    pub fn ranked(&self, goals: &[Goal]) -> Vec<usize> {
        let cost = |index: usize| self.tried[index].costs(goals).map(|costs| costs[0]);
        let feasible = (0..self.tried.len()).filter(|index| self.tried[*index].is_feasible());
        let mut ranked: Vec<(usize, f64)> =
            feasible.filter_map(|index| Some((index, cost(index)?))).collect();
        ranked.sort_by(|one, other| one.1.total_cmp(&other.1));
        ranked.into_iter().map(|(index, _)| index).collect()
    }
}
