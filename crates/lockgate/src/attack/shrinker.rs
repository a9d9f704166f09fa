//! Shrinker: fewer bursts, flows and packets that do as much harm.

use super::genome::Genome;
use super::{Range, Scored};
use crate::Error;

/// Number of lines of an attack from which more of its harm may be given up to have fewer.
const FEW_LINES: usize = 10;

/// Limit on the runs of each of the two passes.
const MOST_RUNS: u64 = 150;

/// Share of the harm that may be given up if no expectation is broken.
const GIVEN_UP: f64 = 0.1;

/// Shrunk genome with its value, and the runs that were made.
pub(super) struct Shrunk {
    pub(super) found: Scored,
    pub(super) runs: u64,
}

impl Range<'_> {
    /// Returns the smallest genome that is as bad, as far as tried. If it has more than ten lines, it may be
    /// less bad, as long as it breaks the expectation or, without a broken one, does most of the harm.
    pub(super) fn shrunk(&self, found: Scored) -> Result<Shrunk, Error> {
        let best = found.0;
        let mut shrunk = self.pass(Shrunk { found, runs: 0 }, &|value| value >= best)?;
        if best.is_finite() && shrunk.found.1.lines(&self.rules.starts) > FEW_LINES {
            let expected = self.expected.as_ref().filter(|expected| !expected.holds(best * self.sign));
            shrunk = self.pass(shrunk, &|value| match expected {
                Some(expected) => value.is_finite() && !expected.holds(value * self.sign),
                None => value >= best - best.abs() * GIVEN_UP,
            })?;
        }
        Ok(shrunk)
    }

    /// Takes the first smaller genome that is bad enough, until none is.
    fn pass(&self, mut shrunk: Shrunk, is_bad: &dyn Fn(f64) -> bool) -> Result<Shrunk, Error> {
        let end = shrunk.runs + MOST_RUNS;
        let mut tried: Vec<Genome> = Vec::new();
        'smaller: loop {
            for smaller in self.rules.smaller(&shrunk.found.1) {
                if tried.contains(&smaller) {
                    continue;
                }
                if shrunk.runs >= end || (self.options.stop)() {
                    return Ok(shrunk);
                }
                shrunk.runs += 1;
                tried.push(smaller.clone());
                let found = self.score(vec![smaller])?.pop();
                if let Some(found) = found.filter(|(value, _)| is_bad(*value)) {
                    shrunk.found = found;
                    continue 'smaller;
                }
            }
            return Ok(shrunk);
        }
    }
}
