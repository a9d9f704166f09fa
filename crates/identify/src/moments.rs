//! Rate beside others, by simulated moments: the rate and the part of others with which the queue that fits
//! best gives the spacings and the goodput that were seen.
//!
//! ```text
//! rate, others --passes, several seeds--> statistics: mean, slopes, covariance --'
//! observation ---------------------------> statistics ---------------------------+--> Gauss-Newton --> rate
//! ```
//!
//! Two packets that stood in line one behind the other are apart by the time of the second at the rate, and
//! packets of others between them only lengthen that: the short spacings tell the rate, the long ones the
//! others. Jitter blurs single spacings, not those of many packets. Where it hides both, goodput tells the
//! rate: what comes through of two offered rates differs by the rate alone. Which of these tells how much
//! depends on queue and line, so that all are weighed by what passes of the same queue say of them (method of
//! simulated moments, Econometrica 57, 1989). Passes with other draws give the interval.

use lockgate_engine::random::{Random, Seed};

use crate::candidates::Setting;
use crate::estimate::{Estimate, base, goodput, seen, spacings};
use crate::fit::{Fit, LEAST_OTHERS, is_free, line, others};
use crate::line::Others;
use crate::plan::PINGS;
use crate::probe::{FULL, Observation, Probe, Purpose};

/// Rate of a line, and what others send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Rate in bit/s.
    pub rate: f64,
    /// Half width of its interval.
    pub half: f64,
    /// Rate of others in bit/s.
    pub others: f64,
    /// Length of others' frames that fits best, in bytes.
    pub length: u32,
    /// Misfit of a statistic: about 1 for the right queue.
    pub misfit: f64,
}

impl Estimate {
    /// Takes rate and length of others' frames from simulated moments, if there are some.
    pub fn apply(&mut self, known: Option<&Moments>) {
        if let Some(known) = known {
            (self.rate, self.rates[0], self.length) = (known.rate, known.rate, known.length);
        }
    }
}

/// Parts of the sorted spacings whose means are statistics.
const PARTS: [[f64; 2]; 3] = [[0.05, 0.35], [0.35, 0.65], [0.65, 0.95]];

/// Least spacings of which there are statistics.
const LEAST_SPACINGS: usize = 12;

/// Relative error of a spacing or a goodput that even the right queue has.
const FLOOR: f64 = 0.002;

/// The same for a line without a queue, where the bucket's depth and credit blur goodput and spacings.
const UNQUEUED_FLOOR: f64 = 0.01;

/// Passes for the last weights, and as many for the interval.
const SEEDS: u64 = 12;

/// Passes of a step and of its slopes.
const FEW: u64 = 4;

/// Seed before the first pass: not those of the judge.
const FIRST_SEED: u64 = 100;

/// Student's quantile of 97.5 % for the interval's passes.
const STUDENT: f64 = 2.2;

/// Steps of the numerical slopes, by axis.
const STEPS: [f64; AXES] = [0.015, 0.03, 0.2];

/// Standard errors of the axes before anything is seen.
const PRIOR: [f64; AXES] = [1.0, 1.0, 0.3];

/// Longest steps.
const LONGEST: [f64; AXES] = [0.15, 0.2, 0.3];

/// Most part of the rate that others have.
const MOST_OTHERS: f64 = 0.7;

/// Lengths of others' frames that are tried.
pub const LENGTHS: [u32; 2] = [FULL, 600];

/// Degrees of freedom of Student's law: how far statistics may stray.
const FREEDOM: f64 = 6.0;

/// Lengths of a step that are tried: each half of the one before.
const HALVINGS: usize = 3;

/// Misfit up to which a line on which no others were seen has none.
const FITS: f64 = 1.5;

/// Score behind the best up to which a length of others' frames remains possible.
const OPEN: f64 = 4.0;

/// Scope of the statistics: what decides which are taken, the same for the observation and every pass.
struct Scope<'a> {
    probe: &'a Probe,
    jitter: f64,
    /// Excess of a small packet's delay on the idle line above which others delayed it, in seconds.
    threshold: f64,
    /// Spacings that are added up.
    span: usize,
    /// True if spacings count only of packets that stood in line: behind a policer none does.
    is_queued: bool,
}

/// Number of axes of a point.
const AXES: usize = 3;

/// Logarithm of the rate, the part of it that others send, and the logarithm of the jitter over the one that
/// was estimated.
type Point = [f64; AXES];

impl Scope<'_> {
    fn statistics(&self, observed: &Observation) -> Vec<f64> {
        let base = base(self.probe, observed);
        let (mut all, mut single, mut long) = (Vec::new(), Vec::new(), Vec::new());
        let (mut idle, mut waiting) = (0usize, 0usize);
        for (index, round) in self.probe.rounds.iter().enumerate() {
            for ping in seen(self.probe, observed, index).filter(|seen| seen.sent.flow == PINGS) {
                idle += 1;
                waiting += usize::from(ping.delay - base.at(ping.at) > self.threshold);
            }
            if round.purpose == Purpose::Ramp {
                continue;
            }
            if round.purpose != Purpose::Train {
                all.push(goodput(self.probe, observed, index, base.drift).map_or(f64::NAN, libm::log));
            }
            for run in spacings(self.probe, observed, index, &base, self.is_queued) {
                let full = run.iter().filter(|spacing| spacing.length == FULL);
                single.extend(full.map(|spacing| spacing.gap / f64::from(FULL)));
                long.extend(run.chunks_exact(self.span).map(|part| {
                    let bytes: f64 = part.iter().map(|spacing| f64::from(spacing.length)).sum();
                    part.iter().map(|spacing| spacing.gap).sum::<f64>() / bytes
                }));
            }
        }
        for values in [single, long] {
            all.extend(means(values));
        }
        all.push(waiting as f64 / idle.max(1) as f64);
        all
    }
}

/// Returns the logarithms of the means of parts of the sorted values; not numbers of too few.
fn means(mut values: Vec<f64>) -> [f64; PARTS.len()] {
    values.sort_by(f64::total_cmp);
    PARTS.map(|part| {
        let [from, to] = part.map(|share| (share * values.len() as f64).round() as usize);
        let part = values.get(from..to).filter(|_| values.len() >= LEAST_SPACINGS);
        part.map_or(f64::NAN, |part| libm::log(part.iter().sum::<f64>() / part.len() as f64))
    })
}

/// A queue whose rate is sought.
struct Search<'a> {
    scope: Scope<'a>,
    fit: &'a Fit,
    /// Length of others' frames; `None` if there are no others.
    length: Option<u32>,
    /// Standard error of the share of packets lost without a queue.
    loss_error: f64,
    observed: Vec<f64>,
}

/// Statistics that both the observation and passes have, and their weights.
struct Weights {
    used: Vec<usize>,
    /// Inverse of the covariance.
    inverse: Vec<Vec<f64>>,
    /// Logarithm of the covariance's determinant.
    volume: f64,
}

/// Point that a search found.
#[derive(Clone, Copy)]
struct Found {
    point: Point,
    length: Option<u32>,
    /// Variance of the logarithm of the rate.
    variance: f64,
    /// Mean misfit of a statistic.
    misfit: f64,
    /// Twice the negative logarithm of the likelihood, by Student's law.
    score: f64,
}

impl Search<'_> {
    /// Returns the statistics of `seeds` passes with the rate and the others of `point`.
    fn passes(&self, point: Point, seeds: core::ops::Range<u64>) -> Vec<Vec<f64>> {
        self.lossy_passes(point, self.fit.setting.loss, seeds)
    }

    /// Returns the same with this probability of a loss that no queue explains.
    fn lossy_passes(&self, point: Point, loss: f64, seeds: core::ops::Range<u64>) -> Vec<Vec<f64>> {
        let setting = Setting { rate: libm::exp(point[0]), loss, ..self.fit.setting };
        let Some(line) = line(self.fit.candidate, &setting) else { return Vec::new() };
        let others = Others { rate: point[1] * libm::exp(point[0]), length: self.length.unwrap_or(FULL) };
        let jitter = self.scope.jitter * libm::exp(point[2]);
        let mut all = Vec::new();
        for seed in seeds {
            let Some(mut observed) = line.pass(self.scope.probe, others, Seed(FIRST_SEED + seed)) else {
                continue;
            };
            let mut random = Random::stream(Seed(FIRST_SEED + seed), "identify/jitter");
            for arrival in observed.rounds.iter_mut().flatten() {
                let late = -libm::log(1.0 - random.unit()) * jitter;
                if let Some(arrival) = arrival {
                    arrival.at += (late * 1e12) as i64;
                }
            }
            all.push(self.scope.statistics(&observed));
        }
        all
    }

    /// Returns the weights by passes at one point: their covariance, drawn halfway to its diagonal because
    /// they are few.
    fn weights(&self, runs: &[Vec<f64>]) -> Weights {
        let is_known = |index: &usize| {
            let all = core::iter::once(&self.observed).chain(runs);
            !runs.is_empty() && all.map(|run| run[*index]).all(f64::is_finite)
        };
        let used: Vec<usize> = (0..self.observed.len()).filter(is_known).collect();
        let mean = mean(runs);
        let count = (runs.len() as f64 - 1.0).max(1.0);
        let mut covariance = vec![vec![0.0; used.len()]; used.len()];
        for (row, &one) in used.iter().enumerate() {
            for (column, &two) in used.iter().enumerate() {
                let products = runs.iter().map(|run| (run[one] - mean[one]) * (run[two] - mean[two]));
                let half = if row == column { 1.0 } else { 0.5 };
                covariance[row][column] = half * products.sum::<f64>() / count;
            }
            covariance[row][row] += FLOOR * FLOOR;
        }
        let (inverse, volume) = inverse(covariance);
        Weights { used, inverse, volume }
    }

    /// Returns the slopes of the statistics at a point along each axis.
    fn slopes(&self, point: Point, seeds: u64) -> [Vec<f64>; AXES] {
        [0, 1, 2].map(|axis| {
            if axis == 1 && self.length.is_none() {
                return vec![0.0; self.observed.len()];
            }
            let (mut low, mut high) = (point, point);
            low[axis] -= STEPS[axis];
            high[axis] += STEPS[axis];
            low[1] = low[1].max(0.0);
            let width = high[axis] - low[axis];
            let [low, high] = [low, high].map(|point| mean(&self.passes(point, 0..seeds)));
            high.iter().zip(low).map(|(high, low)| (high - low) / width).collect()
        })
    }
}

impl Weights {
    /// Returns the weighted product of two vectors of statistics.
    fn product(&self, one: &[f64], two: &[f64]) -> f64 {
        let row = |row: usize| -> f64 {
            self.used.iter().enumerate().map(|(column, &index)| self.inverse[row][column] * two[index]).sum()
        };
        self.used.iter().enumerate().map(|(index, &own)| one[own] * row(index)).sum()
    }

    /// Returns the change of point that a difference of statistics stands for.
    fn step(&self, slopes: &[Vec<f64>; AXES], difference: &[f64], point: Point) -> Point {
        let curvature = (0..AXES).map(|one| {
            let row = |two: usize| self.product(&slopes[one], &slopes[two]);
            let prior = |two: usize| if one == two { PRIOR[one].powi(-2) } else { 0.0 };
            (0..AXES).map(|two| row(two) + prior(two)).collect()
        });
        let (inverse, _) = inverse(curvature.collect());
        let pull = [0.0, 0.0, point[2] * PRIOR[2].powi(-2)];
        let force = [0, 1, 2].map(|axis| self.product(&slopes[axis], difference) - pull[axis]);
        [0, 1, 2].map(|axis| (0..AXES).map(|other| inverse[axis][other] * force[other]).sum())
    }
}

/// Returns the means of the columns.
fn mean(runs: &[Vec<f64>]) -> Vec<f64> {
    let columns = runs.first().map_or(0, Vec::len);
    (0..columns).map(|index| runs.iter().map(|run| run[index]).sum::<f64>() / runs.len() as f64).collect()
}

fn difference(one: &[f64], two: &[f64]) -> Vec<f64> {
    one.iter().zip(two).map(|(one, two)| one - two).collect()
}

/// Returns the inverse of a positive definite matrix and the logarithm of its determinant, by Gauss and
/// Jordan.
fn inverse(mut matrix: Vec<Vec<f64>>) -> (Vec<Vec<f64>>, f64) {
    let count = matrix.len();
    for (index, row) in matrix.iter_mut().enumerate() {
        row.extend((0..count).map(|column| if column == index { 1.0 } else { 0.0 }));
    }
    let mut volume = 0.0;
    for pivot in 0..count {
        volume += libm::log(matrix[pivot][pivot]);
        let scale = 1.0 / matrix[pivot][pivot];
        for value in &mut matrix[pivot] {
            *value *= scale;
        }
        let own = matrix[pivot].clone();
        for (_, row) in matrix.iter_mut().enumerate().filter(|(index, _)| *index != pivot) {
            let factor = row[pivot];
            for (value, own) in row.iter_mut().zip(&own) {
                *value -= factor * own;
            }
        }
    }
    (matrix.into_iter().map(|row| row[count..].to_vec()).collect(), volume)
}

impl Search<'_> {
    /// Returns the points to begin with: the fit's, and rates from the goodput up, each with the others that
    /// explain it.
    fn starts(&self, estimate: &Estimate) -> Vec<Point> {
        let fit = self.fit;
        if self.length.is_none() {
            return vec![[libm::log(estimate.goodput), 0.0, 0.0]];
        }
        let rates = (0..9).map(|step| estimate.goodput * (1.0 + 0.055 * f64::from(step)));
        let parts = |rate: f64| {
            let own = others(estimate, fit.candidate, rate) / rate;
            if is_free(fit.candidate) { vec![0.0, 0.12, 0.25, own] } else { vec![own] }
        };
        let around =
            rates.flat_map(|rate| parts(rate).into_iter().map(move |part| [libm::log(rate), part, 0.0]));
        // Others delay small packets too, which passes for jitter.
        let own = |jitter| [libm::log(fit.setting.rate), fit.others / fit.setting.rate, jitter];
        [0.0, -0.8, -1.6, -2.4].map(own).into_iter().chain(around).collect()
    }

    /// Finds the point whose statistics are those of the observation, from the best of `starts`.
    fn find(&self, starts: &[Point]) -> Option<Found> {
        let mut point = *starts.first()?;
        let weights = self.weights(&self.passes(point, 0..FEW));
        let mut least = f64::INFINITY;
        for &start in starts {
            let off = difference(&self.observed, &mean(&self.passes(start, 0..1)));
            let misfit = weights.product(&off, &off);
            if misfit < least {
                (least, point) = (misfit, start);
            }
        }
        let mut slopes = self.slopes(point, FEW / 2);
        let mut weights = weights;
        for (step, seeds) in [FEW, FEW, SEEDS].into_iter().enumerate() {
            if step == 1 {
                slopes = self.slopes(point, FEW);
            }
            let runs = self.passes(point, 0..seeds);
            weights = self.weights(&runs);
            if weights.used.len() < 3 {
                return None;
            }
            let step = weights.step(&slopes, &difference(&self.observed, &mean(&runs)), point);
            point = self.damped(point, step, &weights, &runs[..runs.len().min(FEW as usize)])?;
        }
        self.weighed(point, &weights, &slopes)
    }

    /// Returns the square of a mean's weighted distance from the observation.
    fn square(&self, weights: &Weights, runs: &[Vec<f64>]) -> f64 {
        let off = difference(&self.observed, &mean(runs));
        weights.product(&off, &off)
    }

    /// Returns the point a step away, or half or a quarter of one, if passes with the draws of `runs`, which
    /// are at the point itself, are nearer there, or farther by no more than chance; else the point. `None`
    /// if the step is no number.
    fn damped(&self, point: Point, step: Point, weights: &Weights, runs: &[Vec<f64>]) -> Option<Point> {
        let most = self.square(weights, runs) + weights.used.len() as f64;
        let mut length = 1.0;
        for _ in 0..HALVINGS {
            let next = moved(point, step.map(|part| part * length))?;
            let passes = self.passes(next, 0..runs.len() as u64);
            if passes.len() == runs.len() && self.square(weights, &passes) < most {
                return Some(next);
            }
            length /= 2.0;
        }
        Some(point)
    }

    /// Returns a point with its misfit and variance, by passes that had no part in weights and slopes.
    fn weighed(&self, point: Point, weights: &Weights, slopes: &[Vec<f64>; AXES]) -> Option<Found> {
        let runs = self.passes(point, SEEDS..2 * SEEDS);
        let centre = mean(&runs);
        let off = difference(&self.observed, &centre);
        let square = weights.product(&off, &off);
        let count = weights.used.len() as f64;
        let score = (FREEDOM + count) * libm::log(1.0 + square / FREEDOM) + weights.volume;
        let misfit = square / (count - 2.0).max(1.0);
        let move_of = |from: &[f64], to: &[f64]| weights.step(slopes, &difference(to, from), [0.0; AXES])[0];
        let steps = runs.iter().map(|run| move_of(&centre, run));
        let mut variance = steps.map(|step| step * step).sum::<f64>() / (runs.len() as f64 - 1.0).max(1.0);
        // Random losses, of which only so many packets tell, lower the goodput as a lower rate does.
        let lossy = (self.fit.setting.loss + self.loss_error).min(0.5);
        let lossy = self.lossy_passes(point, lossy, SEEDS..SEEDS + FEW);
        if lossy.len() == FEW as usize {
            variance += move_of(&mean(&runs[..lossy.len()]), &mean(&lossy)).powi(2);
        }
        let found = Found { point, length: self.length, variance, misfit, score };
        (variance.is_finite() && score.is_finite()).then_some(found)
    }
}

/// Returns a point moved by a step of bounded length; `None` if the step is no number.
fn moved(point: Point, step: Point) -> Option<Point> {
    let mut next = [0, 1, 2].map(|axis| point[axis] + step[axis].clamp(-LONGEST[axis], LONGEST[axis]));
    next[1] = next[1].clamp(0.0, MOST_OTHERS);
    next.iter().all(|value| value.is_finite()).then_some(next)
}

/// Returns the rate of a line whose queue is that of `fit`, and what others send in frames of one of these
/// `lengths`; `None` if too few packets arrived.
pub fn moments(
    probe: &Probe,
    observed: &Observation,
    estimate: &Estimate,
    fit: &Fit,
    lengths: &[u32],
) -> Option<Moments> {
    let packet_time = f64::from(FULL) * 8.0 / estimate.rate;
    let span = ((6.0 * estimate.jitter / packet_time) as usize).clamp(4, 64);
    let threshold = 4.0 * estimate.jitter + 0.15 * packet_time;
    // Jitter alone lets packets stand in line.
    let is_queued = !estimate.is_unqueued()
        && (0..probe.rounds.len()).any(|index| {
            spacings(probe, observed, index, &estimate.base, true)
                .iter()
                .any(|run| run.len() >= LEAST_SPACINGS)
        });
    let mut all: Vec<Found> = Vec::new();
    for length in core::iter::once(None).chain(lengths.iter().copied().map(Some)) {
        let scope = Scope { probe, jitter: estimate.jitter, threshold, span, is_queued };
        let observed = scope.statistics(observed);
        let search = Search { scope, fit, length, loss_error: estimate.loss_error, observed };
        all.extend(search.find(&search.starts(estimate)));
        if all.iter().any(|found| found.length.is_none() && found.misfit < FITS && estimate.is_quiet()) {
            break;
        }
    }
    all.sort_by(|one, two| one.score.total_cmp(&two.score));
    let Found { point, length, variance, misfit, score } = *all.first()?;
    // Lengths that fit as well leave the rate open between them. What even the best misses by counts less
    // between them, too.
    let open = all.iter().filter(|found| found.score < score + OPEN * misfit.max(1.0));
    let other = open.map(|found| (found.point[0] - point[0]).abs()).fold(0.0, f64::max);
    let rate = libm::exp(point[0]);
    let floor = if is_queued { FLOOR } else { UNQUEUED_FLOOR };
    let error = (variance * (1.0 + 1.0 / SEEDS as f64) + floor * floor / 4.0).sqrt();
    let half = rate * (STUDENT * error * misfit.max(1.0).sqrt() + other);
    let others = if point[1] < LEAST_OTHERS { 0.0 } else { point[1] * rate };
    Some(Moments { rate, half, others, length: length.unwrap_or(FULL), misfit })
}
