//! Judgement of a search: its best points are chosen again with more seeds, and compared on seeds that
//! nothing was chosen by.
//!
//! ```text
//! search with few seeds -> candidates -> more seeds -> finalists, in an order -> unseen seeds -> winner, or knee
//! ```

use lockgate_measure::comparison::{MetricComparison, Reference, front};
use lockgate_measure::figures;

use super::{Point, Request, Search, knee};
use crate::{Error, Row};

/// Best points of a search that are run with more seeds.
const CANDIDATES: usize = 8;
/// Seeds that a candidate has been run with when the finalists are chosen.
const CONFIRMED: usize = 10;
/// Points of one goal that are judged on unseen seeds.
const FINALISTS: usize = 4;
/// Points of a front that are judged on unseen seeds.
const MOST_FRONT: usize = 8;

/// Points judged on unseen seeds.
#[derive(Clone, Debug)]
pub struct JudgedFinalists {
    /// Index of each finalist in the search; `None` for the scenario as it is, which is the last.
    pub finalists: Vec<Option<usize>>,
    /// Comparison of each metric: with the winner or, without one, with the scenario as it is.
    pub metrics: Vec<MetricComparison>,
    /// Index of the winner of one goal among the finalists; `None` if none of them keeps every constraint.
    pub winner: Option<usize>,
    /// Indices of the front of several goals among the finalists.
    pub front: Vec<usize>,
    /// Index of the front's knee among the finalists.
    pub knee: Option<usize>,
    /// Number of points that were run with more seeds.
    pub candidates: usize,
    /// Seeds that the candidates were run with in addition.
    pub more: Vec<u64>,
}

/// Rows of each point; `None` if the caller stopped.
type Rows = Option<Vec<Vec<Row>>>;

/// Runs the best points with more seeds, and the best of those, and the scenario as it is, with the unseen
/// seeds. `run` makes the runs of some points with some seeds, and returns the rows of each point. Returns
/// `None` if the caller stopped.
///
/// # Errors
/// Those of `run`.
pub fn judge(
    request: &Request<'_>,
    found: &Search,
    seeds: &[u64],
    unseen: &[u64],
    mut run: impl FnMut(&[Point], &[u64]) -> Result<Rows, Error>,
) -> Result<Option<JudgedFinalists>, Error> {
    let candidates = best(found, request, CANDIDATES);
    let more = more_seeds(seeds, unseen);
    let points: Vec<Point> = candidates.iter().map(|index| found.tried[*index].point.clone()).collect();
    let rows = if more.is_empty() { Some(vec![Vec::new(); points.len()]) } else { run(&points, &more)? };
    let Some(rows) = rows else { return Ok(None) };
    let confirmed = found.confirmed(request, &candidates, rows);
    // The best first, so that the winner is the first that keeps every constraint.
    let mut finalists =
        best(&confirmed, request, if request.goals.len() == 1 { FINALISTS } else { MOST_FRONT });
    let ranked = confirmed.ranked(request.goals);
    let rank = |index: &usize| ranked.iter().position(|one| one == index).unwrap_or(usize::MAX);
    finalists.sort_by_key(rank);
    let mut points: Vec<Point> =
        finalists.iter().map(|index| confirmed.tried[*index].point.clone()).collect();
    points.push(Point::default());
    let Some(rows) = run(&points, unseen)? else { return Ok(None) };
    let finalists = finalists.iter().map(|index| Some(candidates[*index])).chain([None]).collect();
    let judged = JudgedFinalists {
        finalists,
        metrics: Vec::new(),
        winner: None,
        front: Vec::new(),
        knee: None,
        candidates: candidates.len(),
        more,
    };
    Ok(Some(judged.compared(request, &rows)))
}

impl JudgedFinalists {
    /// Finds the winner or the front by the rows of the unseen seeds, and compares the others with it.
    fn compared(mut self, request: &Request<'_>, rows: &[Vec<Row>]) -> Self {
        let last = rows.len() - 1;
        let metrics = request.goals.len() + request.constraints.len();
        let values = |metric: usize| -> Vec<Vec<Option<f64>>> {
            rows.iter().map(|rows| rows.iter().map(|row| row[metric]).collect()).collect()
        };
        let means: Vec<Vec<Option<f64>>> =
            rows[..last].iter().map(|rows| (0..metrics).map(|at| mean(rows, at)).collect()).collect();
        let goals = request.goals.len();
        let holds = |means: &[Option<f64>]| {
            let mut bounded = request.constraints.iter().zip(&means[goals..]);
            bounded.all(|(one, mean)| mean.is_some_and(|mean| one.violation(mean) <= 0.0))
        };
        let costs: Vec<Option<Vec<f64>>> = means
            .iter()
            .map(|means| {
                let costs =
                    request.goals.iter().zip(means).map(|(goal, mean)| mean.map(|mean| goal.cost(mean)));
                costs.collect::<Option<Vec<f64>>>().filter(|_| holds(means))
            })
            .collect();
        let reference = if goals == 1 {
            self.winner = costs.iter().position(Option::is_some);
            match self.winner {
                // The best of the seeds before: nothing of these chose it.
                Some(0) => Reference::Given(0),
                Some(winner) => Reference::Chosen(winner),
                None => Reference::Given(last),
            }
        } else {
            self.front = front(&costs);
            let on: Vec<Vec<f64>> = self.front.iter().filter_map(|index| costs[*index].clone()).collect();
            self.knee = knee(&on).map(|at| self.front[at]);
            Reference::Given(last)
        };
        let better = |metric: usize| request.goals.get(metric).map(|goal| goal.better);
        let compared = |metric| MetricComparison::new(&values(metric), better(metric), reference);
        self.metrics = (0..metrics).map(compared).collect();
        self
    }

    /// Returns the points to use, as indices among the finalists: the winner, or the knee and the rest of the
    /// front.
    pub fn recommended(&self) -> Vec<usize> {
        let rest = self.front.iter().copied().filter(|index| Some(*index) != self.knee);
        self.winner.into_iter().chain(self.knee).chain(rest).collect()
    }

    /// Returns the runs that the candidates have in addition: `the best 8 with 8 more seeds (3..10)`.
    pub fn confirmation(&self) -> Option<String> {
        let (first, last) = (self.more.first()?, self.more.last()?);
        let (points, seeds) = (self.candidates, self.more.len());
        let plural = figures::plural(seeds as f64);
        Some(format!("the best {points} with {seeds} more seed{plural} ({first}..{last})"))
    }
}

/// Returns the best points of a search, at most so many: of one goal the finalists, of several the front,
/// spread along its length with both ends. Without a feasible point, the one nearest to feasible.
fn best(found: &Search, request: &Request<'_>, most: usize) -> Vec<usize> {
    let mut best = match request.goals {
        [_] => found.finalists(request, most),
        several => found.front(several),
    };
    if best.len() > most {
        let last = best.len() - 1;
        best = (0..most).map(|index| best[index * last / (most - 1)]).collect();
    }
    if best.is_empty() {
        best.extend(found.nearest());
    }
    best
}

/// Returns the seeds that the candidates are run with in addition: the next after those of the search,
/// without the unseen ones.
fn more_seeds(seeds: &[u64], unseen: &[u64]) -> Vec<u64> {
    let after = seeds.iter().max().map_or(1, |seed| seed.saturating_add(1));
    let free = (after..=u64::MAX).filter(|seed| !unseen.contains(seed));
    free.take(CONFIRMED.saturating_sub(seeds.len())).collect()
}

fn mean(rows: &[Row], metric: usize) -> Option<f64> {
    let values: Vec<f64> = rows.iter().map(|row| row[metric]).collect::<Option<_>>()?;
    Some(values.iter().sum::<f64>() / values.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_seeds_are_neither_those_of_the_search_nor_the_unseen() {
        assert_eq!(more_seeds(&[1, 2], &[101]), (3..=10).collect::<Vec<u64>>());
        assert_eq!(more_seeds(&[5, 1], &[6, 8]), [7, 9, 10, 11, 12, 13, 14, 15]);
        assert!(more_seeds(&(1..=10).collect::<Vec<u64>>(), &[11]).is_empty());
        assert_eq!(more_seeds(&[u64::MAX - 1], &[1]), [u64::MAX]);
    }
}
