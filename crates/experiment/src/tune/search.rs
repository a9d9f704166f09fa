//! The search: points proposed by the optimiser, run with every seed, and told back.

use lockgate_measure::comparison::front;
use optimizer::multi_objective::MultiObjectiveStudy;
use optimizer::parameter::{CategoricalParam, FloatParam, Parameter};
use optimizer::sampler::{GpSampler, MotpeSampler, TpeSampler};
use optimizer::{Direction, Study, Trial};

use super::goal::{Constraint, Goal};
use super::space::{Coordinate, Dimension, Point, Space};
use crate::{Error, Row};

/// Points that are proposed before the first of them is told. Not more: without being told, the process proposes
/// nearly the same point again. Fixed, so that a search does not depend on the number of processors.
const TOGETHER: usize = 1;
/// Candidates of which the Gaussian process proposes the best.
const CANDIDATES: usize = 2000;
/// Variance of a point's mean over the seeds, as a part of the variance of all points.
const NOISE: f64 = 1e-3;
/// Width of the kernels of the Parzen estimators, as a part of a dimension. Chosen from the points alone they
/// would collapse onto the first good ones.
const KERNEL: f64 = 0.1;
/// Proposals in succession that were all tried before; then the search has converged.
const REPEATED: usize = 100;

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
}

/// Reason why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The next points would exceed the limit on the runs.
    Runs,
    /// So many points in succession were no better.
    NoProgress(usize),
    /// Only points are proposed that were tried.
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
    fn points(&self) -> usize {
        (self.runs / self.seeds.max(1)).max(1)
    }
}

impl Tried {
    fn new(request: &Request<'_>, point: Point, rows: Vec<Row>) -> Self {
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
        Self { point, rows, means, violation }
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
    fn extremes(&self, goals: &[Goal]) -> Option<(f64, f64)> {
        let feasible = self.tried.iter().filter(|one| one.is_feasible());
        let mut costs = feasible.filter_map(|one| one.costs(goals)).map(|costs| costs[0]);
        let first = costs.next()?;
        Some(costs.fold((first, first), |(low, high), cost| (low.min(cost), high.max(cost))))
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

/// Optimiser with the parameters of a space.
struct Optimiser {
    study: Kind,
    parameters: Vec<Parameters>,
}

enum Kind {
    One(Study<f64>),
    Many(MultiObjectiveStudy),
}

enum Parameters {
    /// Position in a dimension, from `low` to `low + 1`; of steps, so many.
    Float {
        parameter: FloatParam,
        low: f64,
        steps: Option<usize>,
    },
    Categorical(CategoricalParam<usize>),
}

/// Returns the study of one goal: a Gaussian process, or a Parzen estimator if a dimension has words, which the
/// process would draw at random.
fn study(request: &Request<'_>, most: usize) -> Result<Study<f64>, Error> {
    let has_words = request.space.dimensions().iter().any(|one| matches!(one, Dimension::Words(_)));
    if has_words {
        let sampler = TpeSampler::builder().n_startup_trials(startup(most)).gamma(0.15).kde_bandwidth(KERNEL);
        let sampler = sampler.seed(request.seed).build().map_err(Error::runner)?;
        return Ok(Study::with_sampler(Direction::Minimize, sampler));
    }
    let sampler = GpSampler::builder().n_startup_trials(startup(most)).n_candidates(CANDIDATES);
    let sampler = sampler.noise_variance(NOISE).seed(request.seed).build();
    Ok(Study::with_sampler(Direction::Minimize, sampler))
}

/// Returns the number of random points that a search of `most` points begins with.
fn startup(most: usize) -> usize {
    (most / 4).clamp(5, 12)
}

impl Optimiser {
    fn new(request: &Request<'_>) -> Result<Self, Error> {
        let most = request.points();
        let study = if request.goals.len() == 1 {
            Kind::One(study(request, most)?)
        } else {
            let builder = MotpeSampler::builder().n_startup_trials(startup(most));
            let sampler = builder.kde_bandwidth(KERNEL).seed(request.seed).build();
            Kind::Many(MultiObjectiveStudy::with_sampler(
                vec![Direction::Minimize; request.goals.len()],
                sampler,
            ))
        };
        // The samplers recognise a parameter by its limits: each dimension has its own.
        let parameter = |(index, dimension): (usize, &Dimension)| match dimension {
            Dimension::Range(_) | Dimension::Steps(_) => {
                let low = index as f64;
                let steps = match dimension {
                    Dimension::Steps(texts) => Some(texts.len()),
                    _ => None,
                };
                Parameters::Float { parameter: FloatParam::new(low, low + 1.0), low, steps }
            }
            Dimension::Words(texts) => {
                Parameters::Categorical(CategoricalParam::new((0..texts.len()).collect()))
            }
        };
        let parameters = request.space.dimensions().iter().enumerate().map(parameter).collect();
        Ok(Self { study, parameters })
    }

    /// Proposes a point.
    fn ask(&self) -> Result<(Trial, Vec<Coordinate>), Error> {
        let mut trial = match &self.study {
            Kind::One(study) => study.ask(),
            Kind::Many(study) => study.ask(),
        };
        let coordinate = |parameter: &Parameters| {
            Ok(match parameter {
                Parameters::Float { parameter, low, steps } => {
                    let position = parameter.suggest(&mut trial).map_err(Error::runner)? - low;
                    match steps {
                        None => Coordinate::Position(position),
                        Some(steps) => {
                            Coordinate::Index(((position * *steps as f64) as usize).min(steps - 1))
                        }
                    }
                }
                Parameters::Categorical(parameter) => {
                    Coordinate::Index(parameter.suggest(&mut trial).map_err(Error::runner)?)
                }
            })
        };
        let coordinates = self.parameters.iter().map(coordinate).collect::<Result<_, Error>>()?;
        Ok((trial, coordinates))
    }

    /// Tells the result of a point; `feasible` are the least and the greatest cost of the feasible ones before it.
    fn tell(
        &self,
        mut trial: Trial,
        tried: &Tried,
        goals: &[Goal],
        feasible: Option<(f64, f64)>,
    ) -> Result<(), Error> {
        let violation = if tried.violation.is_finite() { tried.violation } else { 1e9 };
        let costs = tried.costs(goals).unwrap_or_else(|| vec![0.0; goals.len()]);
        match &self.study {
            Kind::One(study) => {
                study.tell(trial, Ok::<_, &str>(penalised(costs[0], violation, feasible)));
                Ok(())
            }
            Kind::Many(study) => {
                trial.set_constraints(vec![violation]);
                study.tell(trial, Ok::<_, &str>(costs)).map_err(Error::runner)
            }
        }
    }
}

/// Returns the cost that is told of a point. An infeasible one costs as much as a feasible one in the middle of
/// those known, and more the farther it is beyond its bounds: a cost far above all others would flatten the
/// surface that the process sees near the bound, where the best points often are.
fn penalised(cost: f64, violation: f64, feasible: Option<(f64, f64)>) -> f64 {
    if violation <= 0.0 {
        return cost;
    }
    match feasible {
        Some((low, high)) if high > low => low + (high - low) * (0.5 + 0.2 * violation.min(1.0)),
        _ => cost + cost.abs() * violation.min(1.0),
    }
}

/// Searches. `evaluate` runs points with every seed, and returns the rows of each; `None` if it was interrupted.
///
/// # Errors
/// Those of `evaluate`, and those of a point outside the space.
pub fn search(
    request: &Request<'_>,
    mut evaluate: impl FnMut(&[Point]) -> Result<Option<Vec<Vec<Row>>>, Error>,
) -> Result<Search, Error> {
    let optimiser = Optimiser::new(request)?;
    let most = request.points();
    let mut found = Search { tried: Vec::new(), stop: Stop::Runs, last_progress: 0 };
    let mut repeated = 0;
    while found.tried.len() < most {
        let (mut trials, mut points): (Vec<Trial>, Vec<Point>) = (Vec::new(), Vec::new());
        while points.len() < TOGETHER.min(most - found.tried.len()) && repeated < REPEATED {
            let (trial, coordinates) = optimiser.ask()?;
            let point = request.space.point(&coordinates)?;
            if points.contains(&point) || found.tried.iter().any(|tried| tried.point == point) {
                repeated += 1;
            } else {
                trials.push(trial);
                points.push(point);
            }
        }
        if points.is_empty() {
            found.stop = Stop::Converged;
            break;
        }
        repeated = 0;
        let Some(rows) = evaluate(&points)? else {
            found.stop = Stop::Interrupted;
            break;
        };
        for ((trial, point), rows) in trials.into_iter().zip(points).zip(rows) {
            let tried = Tried::new(request, point, rows);
            optimiser.tell(trial, &tried, request.goals, found.extremes(request.goals))?;
            found.tried.push(tried);
            if is_progress(&found, request.goals) {
                found.last_progress = found.tried.len() - 1;
            }
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
            search(&request, |points| Ok(Some(points.iter().map(|point| vec![bowl(point)]).collect())))
                .expect("a search")
        };
        let costs: Vec<f64> = (0..9)
            .map(|seed| {
                let found = run(seed);
                assert_eq!((found.tried.len(), found.stop), (60, Stop::Runs));
                let best = found.front(&goals)[0];
                assert!(number(&found.tried[best].point, 0) >= 4.0, "infeasible");
                found.tried[best].means[0].expect("a value")
            })
            .collect();
        // The least cost is 1. Of 60 random points, the best of half the searches is below 1.4.
        let mut sorted = costs.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted[4] < 1.15, "{sorted:?}");
        assert_eq!(run(3), run(3));
    }

    #[test]
    fn two_goals_give_a_front_and_end_when_all_steps_were_tried() {
        let space = space(&["a.x=0..4", "a.kind=fifo,cake"]);
        let goals =
            [Goal::parse("min flow.a.loss").expect("one"), Goal::parse("max flow.a.goodput").expect("two")];
        let found = search(&request(&space, &goals, &[]), |points| {
            let row = |point: &Point| {
                let (x, cake) = (number(point, 0), f64::from(u8::from(point.values[1] == "cake")));
                vec![Some(x), Some(x + 2.0 * cake)]
            };
            Ok(Some(points.iter().map(|point| vec![row(point)]).collect()))
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
        let flat = |points: &[Point]| Ok(Some(points.iter().map(|_| vec![vec![Some(1.0)]]).collect()));
        let patient = Request { patience: Some(8), ..request(&space, &goals, &[]) };
        let found = search(&patient, flat).expect("a search");
        assert_eq!(found.stop, Stop::NoProgress(8));
        assert!(found.tried.len() <= 10);
        let stopped = search(&patient, |_| Ok(None)).expect("a search");
        assert_eq!((stopped.stop, stopped.tried.len()), (Stop::Interrupted, 0));
    }
}
