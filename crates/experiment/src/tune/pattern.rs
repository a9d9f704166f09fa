//! Pattern search: steps along each dimension from the best point. If none is better, the steps become a
//! third as long.
//!
//! Directions are tried in the order of the results of their last steps. At a point in front of a cliff, the
//! direction of the cliff is therefore tried first, with a smaller step.
//!
//! Hooke and Jeeves 1961; Kolda, Lewis and Torczon, "Optimization by Direct Search", SIAM Review 45 (2003).

use super::space::{Coordinate, Dimension};

/// Largest step, as a part of a dimension.
const LARGEST_STEP: f64 = 0.25;
/// Step below which the search has converged, as a part of a dimension.
const SMALLEST: f64 = 1e-3;

/// Outcome of a proposed point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    /// The point is the best one now.
    Better,
    /// The point costs less than the best one, but exceeds a bound.
    Beyond,
    /// The point is worse by this cost. With 0 it is as good, and the next steps start from it: if the cost
    /// depends on the smaller of two limits (a ridge), both have to rise, one after the other, before a point
    /// is better.
    Worse(f64),
    /// The point is the best one itself, or was tried before.
    Known,
}

impl Outcome {
    /// Returns the sort key of its direction for the next steps: the smallest is tried first.
    fn order(self) -> f64 {
        match self {
            Self::Better => f64::NEG_INFINITY,
            // A shorter step may keep the bound.
            Self::Beyond => f64::MIN,
            Self::Worse(by) => by,
            Self::Known => f64::INFINITY,
        }
    }
}

/// State of the search. Only dimensions with an order are changed.
#[derive(Debug)]
pub(super) struct Pattern {
    directions: Vec<Direction>,
    /// Number of values of each dimension of steps; `None` for a range or words.
    steps: Vec<Option<usize>>,
    step: f64,
    /// Indices of the directions to try before the step becomes shorter, the next one last.
    untried: Vec<usize>,
}

#[derive(Debug)]
struct Direction {
    dimension: usize,
    sign: f64,
    /// Outcome of the last step in this direction.
    last: Outcome,
}

impl Pattern {
    /// Creates the search with a first step of this size, as a part of a dimension. `None` if no dimension
    /// has an order.
    pub(super) fn new(dimensions: &[Dimension], step: f64) -> Option<Self> {
        let ordered = dimensions.iter().enumerate().filter(|(_, one)| !matches!(one, Dimension::Words(_)));
        let directions: Vec<Direction> = ordered
            .flat_map(|(dimension, _)| [1.0, -1.0].map(|sign| (dimension, sign)))
            .map(|(dimension, sign)| Direction { dimension, sign, last: Outcome::Worse(0.0) })
            .collect();
        let steps = dimensions.iter().map(|one| match one {
            Dimension::Steps(texts) => Some(texts.len()),
            _ => None,
        });
        let step = step.clamp(2.0 * SMALLEST, LARGEST_STEP);
        let mut pattern = Self { directions, steps: steps.collect(), step, untried: Vec::new() };
        pattern.try_all();
        (!pattern.directions.is_empty()).then_some(pattern)
    }

    /// Proposes a point beside the best one; `None` once the steps are too small to matter.
    pub(super) fn propose(&mut self, best: &[Coordinate]) -> Option<Vec<Coordinate>> {
        while self.step >= SMALLEST {
            let point = self.beside(best);
            if point != best {
                return Some(point);
            }
            self.tell(Outcome::Known);
        }
        None
    }

    /// Records the outcome of the proposed point. After a better one, all directions are tried again, the
    /// same one first.
    pub(super) fn tell(&mut self, outcome: Outcome) {
        let Some(tried) = self.untried.pop() else { return };
        self.directions[tried].last = outcome;
        if outcome == Outcome::Better {
            self.try_all();
            self.untried.retain(|index| *index != tried);
            self.untried.push(tried);
        } else if self.untried.is_empty() {
            self.step /= 3.0;
            self.try_all();
        }
    }

    /// Sorts all directions by their last outcomes.
    fn try_all(&mut self) {
        self.untried = (0..self.directions.len()).rev().collect();
        let order = |index: &usize| self.directions[*index].last.order();
        self.untried.sort_by(|one, other| order(other).total_cmp(&order(one)));
    }

    fn beside(&self, best: &[Coordinate]) -> Vec<Coordinate> {
        let next = self.untried.last().copied().unwrap_or_default();
        let Direction { dimension, sign, .. } = self.directions[next];
        let mut point = best.to_vec();
        point[dimension] = match (best[dimension], self.steps[dimension]) {
            (Coordinate::Position(position), _) => {
                Coordinate::Position((position + sign * self.step).clamp(0.0, 1.0))
            }
            (Coordinate::Index(index), many) => {
                let last = many.map_or(0.0, |many| (many - 1) as f64);
                let by = sign * (self.step * last).round().max(1.0);
                Coordinate::Index((index as f64 + by).clamp(0.0, last) as usize)
            }
        };
        point
    }
}

#[cfg(test)]
mod tests {
    use lockgate_scenario::vary::{Range, Spacing};

    use super::*;
    use crate::tune::Space;

    fn dimensions(vary: &[&str]) -> Vec<Dimension> {
        let vary = vary.iter().map(|text| lockgate_scenario::Vary::parse_space(text).expect("a variation"));
        Space::new(vary.collect(), "").expect("a space").dimensions().to_vec()
    }

    /// Searches for the minimum of `cost` from `start`, with at most `most` points.
    fn search(dimensions: &[Dimension], start: &[f64], most: usize, cost: impl Fn(&[f64]) -> f64) -> f64 {
        let numbers = |point: &[Coordinate]| -> Vec<f64> {
            point
                .iter()
                .map(|one| match one {
                    Coordinate::Position(position) => *position,
                    Coordinate::Index(index) => *index as f64,
                })
                .collect()
        };
        let mut pattern = Pattern::new(dimensions, 0.05).expect("an order");
        let mut best: Vec<Coordinate> = dimensions
            .iter()
            .zip(start)
            .map(|(one, at)| match one {
                Dimension::Range(_) => Coordinate::Position(*at),
                _ => Coordinate::Index(*at as usize),
            })
            .collect();
        let mut least = cost(&numbers(&best));
        for _ in 0..most {
            let Some(point) = pattern.propose(&best) else { break };
            let found = cost(&numbers(&point));
            pattern.tell(if found < least { Outcome::Better } else { Outcome::Worse(found - least) });
            if found <= least {
                (best, least) = (point, found);
            }
        }
        least
    }

    #[test]
    fn the_edge_of_a_cliff_and_a_ridge_are_found() {
        let plane = dimensions(&["a.x=0ms..1ms", "a.y=0ms..1ms"]);
        assert!(matches!(&plane[0], Dimension::Range(Range { spacing: Spacing::All(_), .. })));
        // Larger is better up to the cliff at 0.7.
        let cliff = |x: &[f64]| if x[0] > 0.7 { 10.0 } else { 1.0 - x[0] + 0.1 * (x[1] - 0.3).abs() };
        assert!(search(&plane, &[0.6, 0.4], 100, cliff) < 0.302);
        // The smaller coordinate counts.
        let ridge = |x: &[f64]| if x[0] > 0.7 || x[1] > 0.7 { 10.0 } else { 1.0 - x[0].min(x[1]) };
        assert!(search(&plane, &[0.6, 0.55], 100, ridge) < 0.302);
    }

    #[test]
    fn a_shorter_step_goes_first_where_the_longer_one_was_beyond_a_bound() {
        let plane = dimensions(&["a.x=0ms..1ms", "a.y=0ms..1ms"]);
        let mut pattern = Pattern::new(&plane, 0.09).expect("an order");
        let best = [Coordinate::Position(0.5), Coordinate::Position(0.5)];
        let mut moved = || {
            let point = pattern.propose(&best).expect("a point");
            let by = |index: usize| match (point[index], best[index]) {
                (Coordinate::Position(to), Coordinate::Position(from)) => ((to - from) * 1e3).round() as i32,
                _ => panic!("positions"),
            };
            let by = (by(0), by(1));
            pattern.tell(match by {
                (0, 1..) => Outcome::Beyond,
                (1.., 0) => Outcome::Worse(2.0),
                _ => Outcome::Worse(1.0),
            });
            by
        };
        let found: Vec<(i32, i32)> = (0..8).map(|_| moved()).collect();
        assert_eq!(found, [(90, 0), (-90, 0), (0, 90), (0, -90), (0, 30), (-30, 0), (0, -30), (30, 0)]);
    }

    #[test]
    fn steps_are_whole_and_words_stay() {
        let mixed = dimensions(&["a.x=0..40", "a.kind=fifo,cake"]);
        let cost = |x: &[f64]| (x[0] - 17.0).abs() + if (x[1] - 1.0).abs() < 0.5 { 0.0 } else { 50.0 };
        let least = search(&mixed, &[10.0, 1.0], 1000, cost);
        assert!(least.abs() < 1e-12, "{least}");
        assert!(Pattern::new(&dimensions(&["a.kind=fifo,cake"]), 0.1).is_none());
    }
}
