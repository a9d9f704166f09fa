//! Pattern search: steps along each dimension from the best point, a third as long once none is better.
//!
//! Hooke and Jeeves 1961; Kolda, Lewis and Torczon, "Optimization by Direct Search", SIAM Review 45 (2003).

use super::space::{Coordinate, Dimension};

/// Largest step, as a part of a dimension.
const LARGEST: f64 = 0.25;
/// Step below which the search has converged, as a part of a dimension.
const SMALLEST: f64 = 1e-3;

/// State of the search. Only dimensions with an order are changed.
#[derive(Debug)]
pub(super) struct Pattern {
    /// Index of the dimension, and the sign of the step.
    directions: Vec<(usize, f64)>,
    /// Number of values of each dimension of steps; `None`: a range, or words.
    steps: Vec<Option<usize>>,
    step: f64,
    /// Index of the direction of the next point.
    next: usize,
    /// Directions that have failed since the last better point or shorter step.
    failed: usize,
}

impl Pattern {
    /// Creates the search with a first step of this size, as a part of a dimension. `None` if no dimension has an
    /// order.
    pub(super) fn new(dimensions: &[Dimension], step: f64) -> Option<Self> {
        let ordered = dimensions.iter().enumerate().filter(|(_, one)| !matches!(one, Dimension::Words(_)));
        let directions: Vec<(usize, f64)> =
            ordered.flat_map(|(index, _)| [(index, 1.0), (index, -1.0)]).collect();
        let steps = dimensions.iter().map(|one| match one {
            Dimension::Steps(texts) => Some(texts.len()),
            _ => None,
        });
        let step = step.clamp(2.0 * SMALLEST, LARGEST);
        (!directions.is_empty()).then(|| Self {
            directions,
            steps: steps.collect(),
            step,
            next: 0,
            failed: 0,
        })
    }

    /// Proposes a point beside the best one; `None` once the steps are too small to matter.
    pub(super) fn propose(&mut self, best: &[Coordinate]) -> Option<Vec<Coordinate>> {
        while self.step >= SMALLEST {
            let point = self.beside(best);
            if point != best {
                return Some(point);
            }
            self.tell(false);
        }
        None
    }

    /// Notes whether the proposed point is the best one now.
    pub(super) fn tell(&mut self, is_better: bool) {
        if is_better {
            self.failed = 0;
            return;
        }
        self.next = (self.next + 1) % self.directions.len();
        self.failed += 1;
        if self.failed == self.directions.len() {
            self.step /= 3.0;
            self.failed = 0;
        }
    }

    fn beside(&self, best: &[Coordinate]) -> Vec<Coordinate> {
        let (dimension, sign) = self.directions[self.next];
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

    /// Searches the least of `cost` from `start` with at most `most` points.
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
            pattern.tell(found < least);
            if found < least {
                (best, least) = (point, found);
            }
        }
        least
    }

    #[test]
    fn the_edge_of_a_cliff_and_a_ridge_are_found() {
        let plane = dimensions(&["a.x=0ms..1ms", "a.y=0ms..1ms"]);
        assert!(matches!(&plane[0], Dimension::Range(Range { spacing: Spacing::All(_), .. })));
        // More is better up to 0.7, where the cliff is.
        let cliff = |x: &[f64]| if x[0] > 0.7 { 10.0 } else { 1.0 - x[0] + 0.1 * (x[1] - 0.3).abs() };
        assert!(search(&plane, &[0.6, 0.4], 100, cliff) < 0.302);
        // The least of both counts.
        let ridge = |x: &[f64]| if x[0] > 0.7 || x[1] > 0.7 { 10.0 } else { 1.0 - x[0].min(x[1]) };
        assert!(search(&plane, &[0.6, 0.55], 100, ridge) < 0.302);
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
