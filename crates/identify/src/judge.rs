//! Judgement: each candidate is fitted to the observation by simulating the packets that were really sent,
//! and the families are compared by their odds.
//!
//! ```text
//! candidate, setting --pass, several seeds--> features: mean, variance --'
//! observation ------------------------------> features ------------------+--> misfit --> odds
//! ```
//!
//! The likelihood is synthetic (Wood, Nature 2010): features are taken as normal around the simulated mean,
//! with tails of Student's law, because no simulation has every cause. Features of one run depend on each
//! other, so that their sum is tempered; the temper and the bound of *none of these* were chosen on hidden
//! lines of their own (`tests/hidden_lines.rs`).

use lockgate_engine::random::{Random, Seed};

use crate::candidates::{ALL, Candidate, ONE_FRAME, Setting, Unknown};
use crate::estimate::Estimate;
use crate::features::{Feature, Kind, Noise, features, simulated_base};
use crate::fit::{Fit, TEMPER, is_free, line, others};
use crate::line::{Line, Others};
use crate::moments::{Moments, moments};
use crate::probe::{FULL, Observation, Probe};

/// Degrees of freedom of Student's law: how far a feature may stray.
const FREEDOM: f64 = 6.0;

/// Odds below which nothing is decided.
pub const LEAST_ODDS: f64 = 20.0;

/// Mean misfit of a feature above which a queue is none of the candidates.
pub const MOST_MISFIT: f64 = 1.2;

/// Standard error of the part of the time that small packets wait behind a bucket, where others do not delay
/// them.
const BUSY_ERROR: f64 = 0.08;

/// Variance of the small packets that wait over that of independent ones: one packet of others delays
/// several.
const CLUMPED: f64 = 1.7;

/// Least mean lateness of real packets, in seconds.
const LEAST_LATENESS: f64 = 2e-5;

/// Seeds of a final comparison.
const SEEDS: u64 = 4;

/// Candidates of which rate and others are fitted by simulated moments.
const SETTLED: usize = 3;

/// Misfit behind the best up to which one of them may become the best.
const CLOSE: f64 = 100.0;

/// Misfit behind the best at which a candidate is given up.
pub(crate) const HOPELESS: f64 = 200.0;

/// Judge of one observation.
pub struct Judge<'a> {
    probe: &'a Probe,
    estimate: &'a Estimate,
    noise: Noise,
    observed: Vec<Feature>,
    /// The probe with the times at which its packets may have reached the queue, by seed; none if they are
    /// the stamps.
    late: Vec<Probe>,
    /// Mean lateness in seconds.
    lateness: f64,
    /// Simulated passes so far.
    pub passes: usize,
}

impl<'a> Judge<'a> {
    /// Prepares the judgement of an observation. Which of two flows loses a packet at a full queue depends on
    /// microseconds: if packets are real (`is_real`), each pass of a candidate lets them reach the queue
    /// later than they are stamped, by other draws of the jitter that was seen.
    pub fn new(probe: &'a Probe, observed: &Observation, estimate: &'a Estimate, is_real: bool) -> Self {
        let noise = Noise {
            packet_time: f64::from(FULL) * 8.0 / estimate.rate,
            jitter: estimate.jitter,
            loss: estimate.loss,
            wait: estimate.wait,
            busy: estimate.busy.unwrap_or(0.1),
        };
        let observed = features(probe, observed, &estimate.base, estimate.jitter);
        let lateness = if is_real { estimate.jitter.max(LEAST_LATENESS) } else { 0.0 };
        let late = (1..=SEEDS).filter(|_| is_real).map(|seed| delayed(probe, lateness, Seed(seed))).collect();
        Self { probe, estimate, noise, observed, late, lateness, passes: 0 }
    }

    fn simulate(&mut self, line: &Line, others: Others, seed: u64) -> Option<Vec<Feature>> {
        self.passes += 1;
        let index = seed.saturating_sub(1) as usize;
        let late = self.late.get(index % self.late.len().max(1)).unwrap_or(self.probe);
        let observed = line.pass(late, others, Seed(seed))?;
        // Waits count from the stamps, as those that were observed do.
        let base = simulated_base(self.probe, &observed);
        Some(features(self.probe, &observed, &base, self.lateness))
    }

    /// Returns the misfits of all features for a candidate with a setting, over `seeds` seeds.
    pub fn misfits(
        &mut self,
        candidate: &Candidate,
        setting: &Setting,
        others: Others,
        seeds: u64,
    ) -> Option<Vec<f64>> {
        let compared = self.compare(candidate, setting, others, seeds)?;
        Some(compared.into_iter().map(|(misfit, _)| misfit).collect())
    }

    /// Returns the misfit and the spread of each feature.
    fn compare(
        &mut self,
        candidate: &Candidate,
        setting: &Setting,
        others: Others,
        seeds: u64,
    ) -> Option<Vec<(f64, f64)>> {
        let line = line(candidate, setting)?;
        let is_random = others.rate > 0.0 || candidate.draws || setting.loss > 0.0 || !self.late.is_empty();
        let seeds = if is_random { seeds } else { 1 };
        let mut runs = Vec::new();
        for seed in 1..=seeds {
            runs.push(self.simulate(&line, others, seed)?);
        }
        let misfits = self.observed.iter().enumerate().map(|(index, feature)| {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|run| Some(run.get(index)?.value))
                .filter(|value| value.is_finite())
                .collect();
            misfit(feature, &values, runs.len(), &self.noise)
        });
        Some(misfits.collect())
    }

    fn sum(&mut self, candidate: &Candidate, setting: &Setting, others: Others, seeds: u64) -> f64 {
        // A law whose target is hardly exceeded does nothing: it is the queue without it.
        let has_law = candidate.unknown.contains(&Unknown::Target);
        if has_law && setting.target > 0.5 * self.noise.wait && setting.target > 0.001 {
            return f64::INFINITY;
        }
        // A bucket that let no burst pass is none.
        let is_shaper = [Unknown::Bucket, Unknown::Wait].iter().all(|one| candidate.unknown.contains(one));
        if is_shaper && setting.bucket().0 as f64 > 2.5 * self.estimate.bucket {
            return f64::INFINITY;
        }
        self.misfits(candidate, setting, others, seeds).map_or(f64::INFINITY, |all| all.iter().sum())
    }

    /// Fits a candidate coarsely: the grid of its unknowns, or the fit before. Returns the best for each rate
    /// that the line may have, the best first: they lie in valleys of their own.
    fn coarse(&mut self, candidate: &'static Candidate, from: Option<&Fit>) -> Vec<Fit> {
        let mut seen = self.estimate.setting();
        if !self.late.is_empty() {
            seen.least_bucket = ONE_FRAME;
        }
        let count = self.observed.len();
        let starts = from.map_or_else(|| grid(candidate, &seen), |fit| vec![fit.setting]);
        let mut best: Vec<Fit> = Vec::new();
        for setting in starts.iter().flat_map(|setting| self.rates(setting)).collect::<Vec<_>>() {
            let mut others = vec![others(self.estimate, candidate, setting.rate)];
            if is_free(candidate) {
                others.extend(from.map(|fit| fit.others));
                others.extend([0.12 * setting.rate, 0.25 * setting.rate]);
            }
            for others in others {
                let length = self.estimate.length;
                let (misfit, spread) = (f64::INFINITY, 0.0);
                let mut fit = Fit { candidate, setting, others, length, misfit, spread, count };
                fit.misfit = self.total(&fit, 1);
                match best.iter_mut().find(|other| (other.setting.rate / setting.rate - 1.0).abs() < 0.005) {
                    Some(other) if other.misfit <= fit.misfit => {}
                    Some(other) => *other = fit,
                    None => best.push(fit),
                }
            }
        }
        best.sort_by(|one, two| one.misfit.total_cmp(&two.misfit));
        best
    }

    /// Returns the setting with each rate that the line may have.
    fn rates(&self, setting: &Setting) -> Vec<Setting> {
        let mut all = vec![*setting];
        if self.estimate.is_quiet() {
            return all;
        }
        for rate in self.estimate.rates {
            if all.iter().all(|one| (one.rate / rate - 1.0).abs() > 0.015) {
                // A limit is what was seen in seconds: it stays.
                all.push(Setting { rate, ..*setting });
            }
        }
        all
    }

    /// Returns the misfit of a fit: that of the features, and of the part of the time that others used, if
    /// it was seen. Behind a bucket, small packets do not wait for others.
    fn total(&mut self, fit: &Fit, seeds: u64) -> f64 {
        let features = self.sum(fit.candidate, &fit.setting, fit.of_others(), seeds);
        let behind_bucket = is_free(fit.candidate);
        features
            + self.estimate.busy.map_or(0.0, |seen| {
                let waits = if behind_bucket { 0.0 } else { fit.others / fit.setting.rate };
                let variance =
                    (waits * (1.0 - waits)).max(0.01) * CLUMPED / self.estimate.pings.max(1) as f64;
                let error = if behind_bucket { BUSY_ERROR } else { variance.sqrt() };
                let busy = (waits - seen) / error;
                busy * busy / TEMPER
            })
    }

    /// Improves a fit: each unknown and the rate, in ever smaller steps.
    fn refine(&mut self, fit: &mut Fit, steps: &[f64]) {
        let seeds = if fit.others > 0.0 || !self.late.is_empty() { 2 } else { 1 };
        fit.misfit = self.total(fit, seeds);
        for &step in steps {
            self.walk_unknowns(fit, step, seeds, false);
            self.walk(fit, 1.0 + step * 0.12, seeds, false, &|setting, factor| setting.rate *= factor);
            if is_free(fit.candidate) && fit.others > 0.0 {
                self.walk_others(fit, 1.0 + step * 1.5, seeds);
            }
        }
    }

    /// Moves along each unknown; if `is_settled`, others stay what they are.
    fn walk_unknowns(&mut self, fit: &mut Fit, step: f64, seeds: u64, is_settled: bool) {
        for unknown in fit.candidate.unknown {
            let wide = if matches!(unknown, Unknown::Target | Unknown::Probability) { 2.0 } else { 1.0 };
            self.walk(fit, 1.0 + step * wide, seeds, is_settled, &|setting, factor| {
                if let Some(value) = unknown.get(setting) {
                    unknown.set(setting, value * factor);
                }
            });
        }
    }

    /// Moves along the rate of others, if that does not follow from the goodput.
    fn walk_others(&mut self, fit: &mut Fit, factor: f64, seeds: u64) {
        for factor in [factor, 1.0 / factor] {
            let others = (fit.others * factor).min(0.7 * fit.setting.rate);
            let mut next = Fit { others, ..fit.clone() };
            next.misfit = self.total(&next, seeds);
            if next.misfit < fit.misfit {
                *fit = next;
            }
        }
    }

    /// Moves along one parameter while the misfit falls, at most six steps.
    fn walk(
        &mut self,
        fit: &mut Fit,
        factor: f64,
        seeds: u64,
        is_settled: bool,
        change: &dyn Fn(&mut Setting, f64),
    ) {
        for factor in [factor, 1.0 / factor] {
            let mut moved = false;
            for _ in 0..6 {
                let mut next = fit.clone();
                change(&mut next.setting, factor);
                if next.setting == fit.setting {
                    return;
                }
                if !is_free(next.candidate) && !is_settled {
                    next.others = others(self.estimate, next.candidate, next.setting.rate);
                }
                next.misfit = self.total(&next, seeds);
                if next.misfit >= fit.misfit - 0.05 {
                    break;
                }
                *fit = next;
                moved = true;
            }
            if moved {
                return;
            }
        }
    }

    /// Fits and ranks the candidates, the best first. Those of `before` that were hopeless are left out.
    pub fn rank(&mut self, names: &[&'static Candidate], before: &[Fit]) -> Vec<Fit> {
        let mut valleys: Vec<Vec<Fit>> = names
            .iter()
            .map(|candidate| {
                let from = before.iter().find(|fit| fit.candidate.name == candidate.name);
                self.coarse(candidate, from)
            })
            .filter(|fits| !fits.is_empty())
            .collect();
        valleys.sort_by(|one, two| one[0].misfit.total_cmp(&two[0].misfit));
        // What is far behind after coarse fits stays there.
        let best = valleys.first().map_or(0.0, |fits| fits[0].misfit);
        let mut fits: Vec<Fit> = Vec::new();
        for (rank, mut own) in valleys.into_iter().enumerate() {
            if rank < 6 && own[0].misfit < best * 3.0 + 60.0 {
                own.truncate(3);
                for fit in &mut own {
                    self.refine(fit, &[0.15]);
                }
                own.sort_by(|one, two| one.misfit.total_cmp(&two.misfit));
                self.refine(&mut own[0], &[0.05, 0.02]);
            }
            fits.extend(own.into_iter().next());
        }
        fits.sort_by(|one, two| one.misfit.total_cmp(&two.misfit));
        for fit in fits.iter_mut().take(4) {
            fit.misfit = self.total(fit, SEEDS);
            fit.spread = self.spread(fit);
        }
        fits.sort_by(|one, two| two.log_likelihood().total_cmp(&one.log_likelihood()));
        fits
    }

    /// Fits the best candidates again, beside others: rate and others by simulated moments, and the rest with
    /// them; others' frames have one of these `lengths`. Returns the moments of the best.
    pub fn settle(&mut self, observed: &Observation, fits: &mut [Fit], lengths: &[u32]) -> Option<Moments> {
        let best = fits.first()?.misfit;
        let most = if self.estimate.is_quiet() { 1 } else { SETTLED };
        let mut all: Vec<(&'static str, Moments)> = Vec::new();
        for fit in fits.iter_mut().take(most).filter(|fit| fit.misfit < best + CLOSE) {
            let found = moments(self.probe, observed, self.estimate, fit, lengths);
            let Some(found) = found else { continue };
            all.push((fit.candidate.name, found));
            let mut next = Fit { others: found.others, length: found.length, ..fit.clone() };
            next.setting.rate = found.rate;
            next.misfit = self.total(&next, 2);
            for step in [0.1, 0.03] {
                self.walk_unknowns(&mut next, step, 2, true);
            }
            (next.misfit, next.spread) = (self.total(&next, SEEDS), self.spread(&next));
            if next.misfit < fit.misfit {
                *fit = next;
            }
        }
        fits.sort_by(|one, two| two.log_likelihood().total_cmp(&one.log_likelihood()));
        let name = fits.first()?.candidate.name;
        all.into_iter().find(|(own, _)| *own == name).map(|(_, found)| found)
    }

    /// Returns the sum of the spreads of a fit; zero for lines without real packets, on whose exact stamps a
    /// queue without draws repeats itself.
    fn spread(&mut self, fit: &Fit) -> f64 {
        if self.late.is_empty() {
            return 0.0;
        }
        let compared = self.compare(fit.candidate, &fit.setting, fit.of_others(), SEEDS).unwrap_or_default();
        compared.into_iter().map(|(_, spread)| spread).sum()
    }

    /// Returns the features of the observation.
    pub fn observed(&self) -> &[Feature] {
        &self.observed
    }
}

/// Returns the probe with each packet later by a draw of the exponential distribution of this mean, in the
/// same order.
fn delayed(probe: &Probe, mean: f64, seed: Seed) -> Probe {
    let mut random = Random::stream(seed, "identify/lateness");
    let mut late = probe.clone();
    let mut before = 0;
    for sent in late.rounds.iter_mut().flat_map(|round| &mut round.packets) {
        let lateness = -libm::log(1.0 - random.unit()) * mean;
        sent.at = (sent.at + (lateness * 1e12) as u64).max(before);
        before = sent.at;
    }
    late
}

/// Returns the settings of all combinations of the values that a candidate's unknowns begin with.
fn grid(candidate: &Candidate, seen: &Setting) -> Vec<Setting> {
    let mut all = vec![*seen];
    for unknown in candidate.unknown {
        let values = unknown.grid(seen);
        let with = |setting: &Setting, value: &f64| {
            let mut setting = *setting;
            unknown.set(&mut setting, *value);
            setting
        };
        all = all.iter().flat_map(|setting| values.iter().map(move |value| with(setting, value))).collect();
    }
    all
}

/// Returns the misfit of one feature, about one for the right queue, and its spread: the logarithm of the
/// variance of its simulations over that of its floor.
fn misfit(feature: &Feature, simulated: &[f64], runs: usize, noise: &Noise) -> (f64, f64) {
    let mut spread = 0.0;
    let squared = if feature.value.is_finite() && !simulated.is_empty() {
        let count = simulated.len() as f64;
        let mean = simulated.iter().sum::<f64>() / count;
        let variance = simulated.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>()
            / (count - 1.0).max(1.0);
        let floor = feature.floor(noise);
        let distance = feature.value - mean;
        spread = libm::log(1.0 + variance * (1.0 + 1.0 / count) / (floor * floor));
        distance * distance / (floor * floor + variance * (1.0 + 1.0 / count))
    } else if !feature.value.is_finite() && simulated.len() * 2 <= runs {
        0.0
    } else if matches!(feature.kind, Kind::Run | Kind::Variation) {
        // Too few losses here or there, which other features count.
        1.0
    } else {
        16.0
    };
    (FREEDOM * libm::log(1.0 + squared / FREEDOM), spread)
}

/// Returns all candidates but those named.
pub fn candidates(without: &[&str]) -> Vec<&'static Candidate> {
    ALL.iter().filter(|candidate| !without.contains(&candidate.name)).collect()
}
