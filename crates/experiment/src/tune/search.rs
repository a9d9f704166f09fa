//! The search: points are proposed one at a time, run with every seed, and told back.

use lockgate_measure::comparison::front;

use super::goal::{Constraint, Goal};
use super::proposals::{Proposal, Proposals};
use super::space::{Coordinate, Point, Space};
use crate::{Error, Row};

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
    /// So many points in succession were no better.
    NoProgress(usize),
    /// Only points are proposed that were tried, or steps around the best one are too small to matter.
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
    fn new(request: &Request<'_>, proposal: &Proposal, rows: Vec<Row>) -> Self {
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
        let (point, coordinates) = (proposal.point.clone(), proposal.coordinates.clone());
        Self { point, rows, means, violation, coordinates }
    }

    /// Returns true if every constraint holds in the mean over the seeds.
    pub fn is_feasible(&self) -> bool {
        self.violation <= 0.0
    }

    /// Returns the costs of the goals: less is better. `None` if one has no value.
    pub fn costs(&self, goals: &[Goal]) -> Option<Vec<f64>> {
        goals.iter().zip(&self.means).map(|(goal, mean)| mean.map(|mean| goal.cost(mean))).collect()
    }
}

impl Search {
    /// Returns the indices of the points that no other beats: feasible, and no other feasible one is at least as
    /// good in all goals and better in one. Of one goal, the best. The first goal's best comes first.
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

    /// Returns the indices of the points of one goal that are to be judged on other seeds: the `most` best ones, the
    /// last of which differs from the best by at least 2 % of a dimension. Those beside the best are as good by the
    /// seeds of the search and may all be beyond a bound by others.
    pub fn finalists(&self, space: &Space, goals: &[Goal], most: usize) -> Vec<usize> {
        const APART: f64 = 0.02;
        let ranked = self.ranked(goals);
        let (near, rest) = ranked.split_at(ranked.len().min(most.saturating_sub(1)));
        let Some(best) = near.first() else { return ranked };
        let from = &self.tried[*best].coordinates;
        let is_apart = |index: &&usize| space.distance(from, &self.tried[**index].coordinates) >= APART;
        let last = rest.iter().find(is_apart).or(rest.first());
        near.iter().chain(last).copied().collect()
    }

    /// Returns the index of the best point of the first goal; the least infeasible one if none is feasible. `None`
    /// without points.
    pub(super) fn best(&self, goals: &[Goal]) -> Option<usize> {
        let nearest = || {
            let all = self.tried.iter().enumerate();
            all.min_by(|one, other| one.1.violation.total_cmp(&other.1.violation)).map(|(index, _)| index)
        };
        self.ranked(goals).first().copied().or_else(nearest)
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

/// Searches. `evaluate` runs a point with every seed, and returns their rows; `None` if it was interrupted. One point
/// at a time: without being told of the last, an optimiser proposes nearly the same point again.
///
/// # Errors
/// Those of `evaluate`, and those of a point outside the space.
pub fn search(
    request: &Request<'_>,
    mut evaluate: impl FnMut(&Point) -> Result<Option<Vec<Row>>, Error>,
) -> Result<Search, Error> {
    let mut proposals = Proposals::new(request)?;
    let mut found = Search { tried: Vec::new(), stop: Stop::Runs, last_progress: 0 };
    while found.tried.len() < request.points() {
        let Some(proposal) = proposals.next(&found)? else {
            found.stop = Stop::Converged;
            break;
        };
        let Some(rows) = evaluate(&proposal.point)? else {
            found.stop = Stop::Interrupted;
            break;
        };
        let tried = Tried::new(request, &proposal, rows);
        proposals.tell(proposal, tried, &mut found)?;
        if is_progress(&found, request.goals) {
            found.last_progress = found.tried.len() - 1;
        }
        let without = found.tried.len() - 1 - found.last_progress;
        if let Some(patience) = request.patience.filter(|patience| without >= *patience) {
            found.stop = Stop::NoProgress(patience);
            break;
        }
    }
    Ok(found)
}

/// Returns true if the last point joined the front with costs of its own, or is the least infeasible of only
/// infeasible ones.
fn is_progress(found: &Search, goals: &[Goal]) -> bool {
    let Some((last, before)) = found.tried.split_last() else { return false };
    if last.is_feasible() {
        let is_new = before.iter().all(|one| !one.is_feasible() || one.costs(goals) != last.costs(goals));
        return is_new && found.front(goals).contains(&before.len());
    }
    before.iter().all(|one| !one.is_feasible() && one.violation > last.violation)
}

#[cfg(test)]
mod tests {
    use lockgate_scenario::Vary;

    use super::*;

    fn space(vary: &[&str]) -> Space {
        Space::new(vary.iter().map(|text| Vary::parse_space(text).expect("a variation")).collect(), "")
            .expect("a space")
    }

    fn number(point: &Point, index: usize) -> f64 {
        lockgate_scenario::vary::number(&point.values[index]).expect("a number")
    }

    const RANGES: [&str; 2] = ["a.x=0.0..10.0", "a.y=1ms..1s log"];

    fn request<'a>(space: &'a Space, goals: &'a [Goal], constraints: &'a [Constraint]) -> Request<'a> {
        Request { space, goals, constraints, seeds: 1, runs: 60, patience: None, seed: 1 }
    }

    /// A bowl with its bottom at 3 and 20 ms, of which a constraint cuts off the bottom.
    fn bowl(point: &Point) -> Row {
        let (x, y) = (number(point, 0), number(point, 1));
        let from = libm::log10(y / 0.02);
        vec![Some((x - 3.0) * (x - 3.0) + from * from), Some(x)]
    }

    #[test]
    fn a_search_is_repeatable_and_better_than_random_points_near_a_bound() {
        let space = space(&RANGES);
        let goals = [Goal::parse("min flow.a.owd.p99").expect("a goal")];
        let constraints = [Constraint::parse("flow.a.r_factor >= 4").expect("a constraint")];
        let run = |seed| {
            let request = Request { seed, ..request(&space, &goals, &constraints) };
            search(&request, |point| Ok(Some(vec![bowl(point)]))).expect("a search")
        };
        let costs: Vec<f64> = (0..9)
            .map(|seed| {
                let found = run(seed);
                assert!(found.tried.len() == 60 || found.stop == Stop::Converged, "{found:?}");
                let best = found.front(&goals)[0];
                assert!(number(&found.tried[best].point, 0) >= 4.0, "infeasible");
                found.tried[best].means[0].expect("a value")
            })
            .collect();
        // The least cost is 1. Of 60 random points, the best of half the searches is below 1.4.
        let mut sorted = costs.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted[4] < 1.01, "{sorted:?}");
        assert_eq!(run(3), run(3));
    }

    #[test]
    fn two_goals_give_a_front_and_end_when_all_steps_were_tried() {
        let space = space(&["a.x=0..4", "a.kind=fifo,cake"]);
        let goals =
            [Goal::parse("min flow.a.loss").expect("one"), Goal::parse("max flow.a.goodput").expect("two")];
        let found = search(&request(&space, &goals, &[]), |point| {
            let (x, cake) = (number(point, 0), f64::from(u8::from(point.values[1] == "cake")));
            Ok(Some(vec![vec![Some(x), Some(x + 2.0 * cake)]]))
        })
        .expect("a search");
        assert_eq!((found.stop, found.tried.len()), (Stop::Converged, 10));
        let front = found.front(&goals);
        assert_eq!(front.len(), 5, "{found:?}");
        assert!(front.iter().all(|index| found.tried[*index].point.values[1] == "cake"));
        assert_eq!(found.tried[front[0]].point.values[0], "0");
    }

    #[test]
    fn a_search_ends_without_progress_and_when_interrupted() {
        let space = space(&RANGES);
        let goals = [Goal::parse("min flow.a.owd.p99").expect("a goal")];
        let flat = |_: &Point| Ok(Some(vec![vec![Some(1.0)]]));
        let patient = Request { patience: Some(8), ..request(&space, &goals, &[]) };
        let found = search(&patient, flat).expect("a search");
        assert_eq!(found.stop, Stop::NoProgress(8));
        assert!(found.tried.len() <= 10);
        let stopped = search(&patient, |_| Ok(None)).expect("a search");
        assert_eq!((stopped.stop, stopped.tried.len()), (Stop::Interrupted, 0));
    }
}
