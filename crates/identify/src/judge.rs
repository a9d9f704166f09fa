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
//! lines of their own (`tests/hidden_lines`).

mod search;

use core::ops::RangeInclusive;

use lockgate_engine::random::{Random, Seed};

use crate::candidates::{ALL, Candidate, Setting, Unknown};
use crate::estimate::Estimate;
use crate::features::{Feature, Kind, Noise, features, simulated_base};
use crate::fit::{Fit, TEMPER, is_free, line};
use crate::line::{Line, Others};
use crate::probe::{FULL, Observation, Probe};
pub(crate) use search::HOPELESS;

/// Degrees of freedom of Student's law: how far a feature may stray.
const FREEDOM: f64 = 6.0;

/// Odds below which nothing is decided.
pub(crate) const LEAST_ODDS: f64 = 20.0;

/// Mean misfit of a feature above which a queue is none of the candidates.
const MOST_MISFIT: f64 = 1.2;

/// Mean misfit of the features of one flow of a round above which a queue is none of the candidates. In most
/// rounds many queues look alike, so that the mean over all hides the one round in which it is another.
const MOST_OF_FLOW: f64 = 2.2;

/// The same beside others, whose rate and frames are fitted too: the features of a flow share their errors.
const MOST_BESIDE_OTHERS: f64 = 3.5;

/// Standard error of the part of the time that small packets wait behind a bucket, where others do not delay
/// them.
const BUSY_ERROR: f64 = 0.08;

/// Variance of the small packets that wait over that of independent ones: one packet of others delays
/// several.
const CLUMPED: f64 = 1.7;

/// Full packets for which a shaper has room at least.
const LEAST_ROOM: f64 = 3.0;

/// Least mean lateness of real packets, in seconds.
const LEAST_LATENESS: f64 = 2e-5;

/// Seeds of passes.
type Seeds = RangeInclusive<u64>;

/// Seeds of the comparison after a round.
const SEEDS: u64 = 4;

/// Seeds of the last comparison, by which no setting was chosen: of the draws that it was fitted to, each
/// setting is the best by chance too, and the more so the more parameters it has.
const FRESH: Seeds = SEEDS + 1..=SEEDS + 8;

/// Relative error of an unknown at the end of the search: its last step.
const RESOLUTION: f64 = 0.01;

/// The same of the rate: which of two flows of constant gaps loses a packet at a full queue depends on less.
const RATE_RESOLUTION: f64 = 0.002;

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
        let observed = features(probe, observed, &estimate.base, estimate.jitter, 0.0);
        let lateness = if is_real { estimate.jitter.max(LEAST_LATENESS) } else { 0.0 };
        let late =
            (1..=*FRESH.end()).filter(|_| is_real).map(|seed| delayed(probe, lateness, Seed(seed))).collect();
        Self { probe, estimate, noise, observed, late, lateness, passes: 0 }
    }

    fn simulate(&mut self, line: &Line, others: Others, seed: u64) -> Option<Vec<Feature>> {
        self.passes += 1;
        let index = seed.saturating_sub(1) as usize;
        let late = self.late.get(index % self.late.len().max(1)).unwrap_or(self.probe);
        let observed = line.pass(late, others, Seed(seed))?;
        // Waits count from the stamps, as those that were observed do.
        let base = simulated_base(self.probe, &observed);
        let lack = if self.late.is_empty() { self.estimate.jitter } else { 0.0 };
        Some(features(self.probe, &observed, &base, self.lateness, lack))
    }

    /// Returns the features of a fit's passes with these seeds; of one if all are the same. Seeds beyond
    /// [`SEEDS`] also draw rate, unknowns and the rate of others, within their errors.
    fn passes(&mut self, fit: &Fit, seeds: Seeds) -> Option<Vec<Vec<Feature>>> {
        let is_blurred = *seeds.start() > SEEDS;
        let is_random =
            fit.others > 0.0 || fit.candidate.draws || fit.setting.loss > 0.0 || !self.late.is_empty();
        let count = if is_random || is_blurred { usize::MAX } else { 1 };
        let own = line(fit.candidate, &fit.setting)?;
        let mut passes = Vec::new();
        for seed in seeds.take(count) {
            let pass = if is_blurred {
                let (mut setting, others) = blurred(fit, self.probe.span().as_secs_f64(), Seed(seed));
                setting.loss = stray(setting.loss, self.estimate.loss_error, Seed(seed));
                self.simulate(&line(fit.candidate, &setting)?, others, seed)
            } else {
                self.simulate(&own, fit.of_others(), seed)
            };
            passes.push(pass?);
        }
        Some(passes)
    }

    /// Returns the misfit and the spread of each feature over passes.
    fn compare(&self, passes: &[Vec<Feature>]) -> Vec<(f64, f64)> {
        let misfits = self.observed.iter().enumerate().map(|(index, feature)| {
            let values: Vec<f64> = passes
                .iter()
                .filter_map(|pass| Some(pass.get(index)?.value))
                .filter(|value| value.is_finite())
                .collect();
            misfit(feature, &values, passes.len(), &self.noise)
        });
        misfits.collect()
    }

    /// True if a setting is one that the candidate is not searched with.
    fn is_excluded(&self, candidate: &Candidate, setting: &Setting) -> bool {
        // A law whose target is hardly exceeded does nothing: it is the queue without it.
        let has_law = candidate.unknown.contains(&Unknown::Target);
        let is_idle = has_law && setting.target > 0.5 * self.noise.wait && setting.target > 0.001;
        // A bucket that let no burst pass is none, and a shaper without room for packets is a policer.
        let is_shaper = [Unknown::Bucket, Unknown::Wait].iter().all(|one| candidate.unknown.contains(one));
        let has_burst = setting.bucket().0 as f64 <= 2.5 * self.estimate.bucket;
        let has_room = setting.wait * setting.rate >= LEAST_ROOM * f64::from(FULL) * 8.0;
        is_idle || is_shaper && !(has_burst && has_room)
    }

    /// Weighs a fit by simulations with these seeds: sets its misfit, evidence and spread.
    fn weigh(&mut self, fit: &mut Fit, seeds: Seeds) {
        let excluded = self.is_excluded(fit.candidate, &fit.setting);
        let is_blurred = *seeds.start() > SEEDS;
        let passes = if excluded { None } else { self.passes(fit, seeds) };
        let compared = passes.map(|passes| self.compare(&passes));
        let Some(compared) = compared else {
            (fit.misfit, fit.evidence, fit.cost) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
            return;
        };
        let busy = self.busy(fit);
        fit.misfit = busy + compared.iter().map(|(misfit, _)| misfit).sum::<f64>();
        // What a setting misses by within the error that even the right queue has says nothing.
        fit.evidence = busy + compared.iter().map(|(misfit, _)| misfit.max(1.0)).sum::<f64>();
        fit.worst = self.worst(&compared);
        let spread: f64 = compared.iter().map(|(_, spread)| spread).sum();
        let is_real = !self.late.is_empty();
        fit.cost = fit.misfit + if is_real || is_blurred { spread } else { 0.0 };
        // On exact stamps a queue without draws repeats itself.
        fit.spread = if is_real { spread } else { 0.0 };
    }

    /// Returns the round with the flow whose features are missed most, and their mean misfit.
    fn worst(&self, compared: &[(f64, f64)]) -> (usize, f64) {
        let mut worst = (0, 0.0);
        let pairs: Vec<(&Feature, f64)> =
            self.observed.iter().zip(compared).map(|(feature, (misfit, _))| (feature, *misfit)).collect();
        for flow in pairs.chunk_by(|(one, _), (two, _)| (one.round, one.flow) == (two.round, two.flow)) {
            let mean = flow.iter().map(|(_, misfit)| misfit).sum::<f64>() / flow.len() as f64;
            // A goodput is a single feature.
            if flow.len() > 1 && mean > worst.1 {
                worst = (flow[0].0.round, mean);
            }
        }
        worst
    }

    /// Returns the misfit of the part of the time that others used, if it was seen. Behind a bucket, small
    /// packets do not wait for others.
    fn busy(&self, fit: &Fit) -> f64 {
        let behind_bucket = is_free(fit.candidate);
        self.estimate.busy.map_or(0.0, |seen| {
            let waits = if behind_bucket { 0.0 } else { fit.others / fit.setting.rate };
            let variance = (waits * (1.0 - waits)).max(0.01) * CLUMPED / self.estimate.pings.max(1) as f64;
            let error = if behind_bucket { BUSY_ERROR } else { variance.sqrt() };
            let busy = (waits - seen) / error;
            busy * busy / TEMPER
        })
    }
}

/// Returns true if not even this fit meets what came: the queue is none of the candidates.
pub(crate) fn is_missed(best: &Fit) -> bool {
    let most = if best.others > 0.0 { MOST_BESIDE_OTHERS } else { MOST_OF_FLOW };
    best.mean_misfit() > MOST_MISFIT || best.worst.1 > most
}

/// Returns the setting of a fit with rate and unknowns drawn within what the search resolves, and others
/// whose rate is drawn within what their packets in this many seconds tell.
fn blurred(fit: &Fit, seconds: f64, seed: Seed) -> (Setting, Others) {
    let mut random = Random::stream(seed, "identify/unknowns");
    let (mut setting, mut others) = (fit.setting, fit.of_others());
    let mut draw = || 2.0 * random.unit() - 1.0;
    for unknown in fit.candidate.unknown {
        if let Some(value) = unknown.get(&setting) {
            unknown.set(&mut setting, value * (1.0 + RESOLUTION * draw()));
        }
    }
    setting.rate *= 1.0 + RATE_RESOLUTION * draw();
    let packets = others.rate * seconds / (8.0 * f64::from(others.length));
    // An even draw within the root of three has the variance one.
    others.rate *= 1.0 + (3.0 / packets.max(12.0)).sqrt() * draw();
    (setting, others)
}

/// Returns a draw of the share of packets lost without a queue, within its error: one such loss while a queue
/// fills would pass for the first drop of a law.
fn stray(loss: f64, error: f64, seed: Seed) -> f64 {
    let unit = Random::stream(seed, "identify/share of losses").unit();
    if loss > 0.0 {
        (loss + error * 3.0f64.sqrt() * (2.0 * unit - 1.0)).max(0.0)
    } else {
        -libm::log(1.0 - unit) * error
    }
    .min(0.5)
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
    } else if matches!(feature.kind, Kind::Run | Kind::Variation) {
        // Too few losses here or there, which other features count.
        if feature.value.is_finite() || simulated.len() * 2 > runs { 1.0 } else { 0.0 }
    } else {
        // Nothing arrived here or there: as likely as it is among the passes.
        let same = if feature.value.is_finite() { simulated.len() } else { runs - simulated.len() };
        return (-2.0 * libm::log((same as f64 + 0.5) / (runs as f64 + 1.0)), spread);
    };
    (FREEDOM * libm::log(1.0 + squared / FREEDOM), spread)
}

/// Returns all candidates but those named.
pub fn candidates(without: &[&str]) -> Vec<&'static Candidate> {
    ALL.iter().filter(|candidate| !without.contains(&candidate.name)).collect()
}
