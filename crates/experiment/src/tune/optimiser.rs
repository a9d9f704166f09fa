//! Optimiser of the crate `optimizer`: proposes points anywhere in the space (decision 104).

use optimizer::multi_objective::MultiObjectiveStudy;
use optimizer::parameter::{CategoricalParam, FloatParam, Parameter};
use optimizer::sampler::{GpSampler, MotpeSampler, TpeSampler};
use optimizer::{Direction, Study, Trial};

use super::found::{Request, Tried};
use super::goal::Goal;
use super::space::{Coordinate, Dimension};
use crate::Error;

/// Candidates of which the Gaussian process proposes the best.
const CANDIDATES: usize = 2000;
/// Variance of a point's mean over the seeds, as a part of the variance of all points.
const NOISE: f64 = 1e-3;
/// Width of the kernels of the Parzen estimators, as a part of a dimension. Widths derived from the points
/// alone would become so small that proposals stay at the first good points.
const KERNEL: f64 = 0.1;

/// Optimiser with the parameters of a space.
pub(super) struct Optimiser {
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

/// Returns the study of one goal: a Gaussian process, or a Parzen estimator if a dimension has words, for
/// which the process would draw values at random.
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
    pub(super) fn new(request: &Request<'_>) -> Result<Self, Error> {
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
        // The samplers identify a parameter by its limits, so each dimension needs different ones.
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
    pub(super) fn ask(&self) -> Result<(Trial, Vec<Coordinate>), Error> {
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

    /// Passes the result of a point. `feasible` are the smallest and the largest cost of the feasible points
    /// before it.
    pub(super) fn tell(
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

/// Returns the cost that is passed to the optimiser. An infeasible point costs as much as the middle of the
/// known feasible costs, and more the farther it exceeds its bounds. A cost far above all others would
/// flatten the model near the bound, where the best points often are.
fn penalised(cost: f64, violation: f64, feasible: Option<(f64, f64)>) -> f64 {
    if violation <= 0.0 {
        return cost;
    }
    match feasible {
        Some((low, high)) if high > low => low + (high - low) * (0.5 + 0.2 * violation.min(1.0)),
        _ => cost + cost.abs() * violation.min(1.0),
    }
}
