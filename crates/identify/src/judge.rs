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

use core::ops::RangeInclusive;

use lockgate_engine::random::{Random, Seed};

use crate::candidates::{ALL, Candidate, ONE_FRAME, Setting, Unknown};
use crate::estimate::Estimate;
use crate::features::{Feature, Kind, Noise, features, simulated_base};
use crate::fit::{Fit, TEMPER, is_free, line, odds, others};
use crate::line::{Line, Others};
use crate::moments::{Moments, moments};
use crate::probe::{FULL, Observation, Probe};

/// Degrees of freedom of Student's law: how far a feature may stray.
const FREEDOM: f64 = 6.0;

/// Odds below which nothing is decided.
pub const LEAST_ODDS: f64 = 20.0;

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

/// Seeds of a scan and of the walk after it, which draw the unknowns too.
const COARSE: Seeds = 21..=22;
const SMOOTH: Seeds = 21..=24;

/// Relative error of an unknown at the end of the search: its last step.
const RESOLUTION: f64 = 0.01;

/// The same of the rate: which of two flows of constant gaps loses a packet at a full queue depends on less.
const RATE_RESOLUTION: f64 = 0.002;

/// Candidates beside the best that are fitted again from its rate and others before the last comparison.
const RIVALS: usize = 3;

/// Candidates of which rate and others are fitted by simulated moments.
const SETTLED: usize = 3;

/// Factor from one target delay to the next in the search of its interval.
const TARGET_STEP: f64 = 1.4;

/// Logarithm of a likelihood ratio that one parameter reaches by chance in one of twenty cases (Wilks).
const CHANCE: f64 = 1.92;

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
        let settings: Vec<Setting> =
            starts.iter().flat_map(|setting| self.rates(candidate, setting)).collect();
        for setting in settings {
            let mut others = vec![others(self.estimate, candidate, setting.rate)];
            if is_free(candidate) {
                others.extend(from.map(|fit| fit.others));
                others.extend([0.12 * setting.rate, 0.25 * setting.rate]);
            }
            for others in others {
                let length = self.estimate.length;
                let (misfit, evidence, spread) = (f64::INFINITY, f64::INFINITY, 0.0);
                let mut fit = Fit {
                    candidate,
                    setting,
                    others,
                    length,
                    misfit,
                    evidence,
                    spread,
                    count,
                    worst: (0, f64::INFINITY),
                    cost: f64::INFINITY,
                    targets: None,
                };
                self.weigh(&mut fit, 1..=1);
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
    fn rates(&self, candidate: &Candidate, setting: &Setting) -> Vec<Setting> {
        let mut all = vec![*setting];
        if self.estimate.is_quiet() {
            return all;
        }
        let mut rates = self.estimate.rates.to_vec();
        // Where nothing waits, no spacing tells the rate: from the goodput up.
        if is_free(candidate) && !candidate.unknown.contains(&Unknown::Wait) {
            rates.extend((0..8).map(|step| self.estimate.goodput * (1.0 + 0.04 * f64::from(step))));
        }
        for rate in rates {
            if all.iter().all(|one| (one.rate / rate - 1.0).abs() > 0.015) {
                // A limit is what was seen in seconds: it stays.
                all.push(Setting { rate, ..*setting });
            }
        }
        all
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

    /// Improves a fit: each unknown and the rate, in ever smaller steps.
    fn refine(&mut self, fit: &mut Fit, steps: &[f64]) {
        let seeds = &(if fit.others > 0.0 || !self.late.is_empty() { 1..=2 } else { 1..=1 });
        self.weigh(fit, seeds.clone());
        for &step in steps {
            self.walk_unknowns(fit, step, seeds, false);
            self.walk(fit, 1.0 + step * 0.12, seeds, false, &|setting, factor| setting.rate *= factor);
            if is_free(fit.candidate) && fit.others > 0.0 {
                self.walk_others(fit, 1.0 + step * 1.5, seeds);
            }
        }
    }

    /// Moves along each unknown; if `is_settled`, others stay what they are.
    fn walk_unknowns(&mut self, fit: &mut Fit, step: f64, seeds: &Seeds, is_settled: bool) {
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
    fn walk_others(&mut self, fit: &mut Fit, factor: f64, seeds: &Seeds) {
        for factor in [factor, 1.0 / factor] {
            let others = (fit.others * factor).min(0.7 * fit.setting.rate);
            let mut next = Fit { others, ..fit.clone() };
            self.weigh(&mut next, seeds.clone());
            if next.cost < fit.cost {
                *fit = next;
            }
        }
    }

    /// Moves along one parameter while the misfit falls, at most six steps.
    fn walk(
        &mut self,
        fit: &mut Fit,
        factor: f64,
        seeds: &Seeds,
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
                if is_free(next.candidate) && next.others > 0.0 && !is_settled {
                    // What comes through stays the same if others change with the rate.
                    let Estimate { goodput, sent_rate, .. } = *self.estimate;
                    let more = (next.setting.rate - fit.setting.rate) * sent_rate / goodput;
                    next.others = (next.others + more).clamp(0.0, 0.7 * next.setting.rate);
                } else if !is_free(next.candidate) && !is_settled {
                    next.others = others(self.estimate, next.candidate, next.setting.rate);
                }
                self.weigh(&mut next, seeds.clone());
                if next.cost >= fit.cost - 0.05 {
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
            self.weigh(fit, 1..=SEEDS);
        }
        fits.sort_by(|one, two| two.log_likelihood().total_cmp(&one.log_likelihood()));
        fits
    }

    /// Fits the best of `fits` again, beside others: rate and others by simulated moments, and the rest
    /// with them; others' frames have one of these `lengths`. Weighs what is left, and those of `all` that
    /// the best is if its law does not act, by fresh draws. Returns the moments of the best.
    pub fn settle(
        &mut self,
        observed: &Observation,
        fits: &mut Vec<Fit>,
        all: &[&'static Candidate],
        lengths: &[u32],
    ) -> Option<Moments> {
        let best = fits.first()?.misfit;
        let most = if self.estimate.is_quiet() { 1 } else { SETTLED };
        let mut known: Vec<(&'static str, Moments)> = Vec::new();
        for fit in fits.iter_mut().take(most).filter(|fit| fit.misfit < best + CLOSE) {
            let found = moments(self.probe, observed, self.estimate, fit, lengths);
            let Some(found) = found else { continue };
            known.push((fit.candidate.name, found));
            let mut next = Fit { others: found.others, length: found.length, ..fit.clone() };
            next.setting.rate = found.rate;
            self.walk_settled(&mut next, &[0.1, 0.03], &(1..=2));
            // By draws that neither was fitted to.
            self.weigh(&mut next, SMOOTH);
            self.weigh(fit, SMOOTH);
            if next.cost < fit.cost {
                *fit = next;
            }
        }
        fits.sort_by(|one, two| two.log_likelihood().total_cmp(&one.log_likelihood()));
        self.challenge(fits, all);
        for fit in &mut *fits {
            self.weigh(fit, FRESH);
        }
        fits.sort_by(|one, two| two.log_likelihood().total_cmp(&one.log_likelihood()));
        if odds(fits) >= LEAST_ODDS
            && let Some(best) = fits.first_mut()
        {
            best.targets = self.targets(best);
        }
        let fit = fits.first()?;
        let own = known.into_iter().find(|(own, _)| *own == fit.candidate.name).map(|(_, found)| found);
        own.or_else(|| moments(self.probe, observed, self.estimate, fit, lengths))
    }

    /// Returns the least and the longest target delay whose misfit is not above the fit's by more than
    /// chance, and a step beyond, with the interval of the law that then fits best. `None` of a candidate
    /// without one.
    fn targets(&mut self, fit: &Fit) -> Option<[f64; 2]> {
        let unknown = fit.candidate.unknown;
        if !unknown.contains(&Unknown::Target) {
            return None;
        }
        let most = fit.cost + 2.0 * CHANCE / TEMPER;
        Some([1.0 / TARGET_STEP, TARGET_STEP].map(|factor| {
            let (mut near, mut end) = (fit.clone(), fit.setting.target * factor);
            loop {
                let before = near.setting.target;
                Unknown::Target.set(&mut near.setting, before * factor);
                if (near.setting.target / before - 1.0).abs() < 1e-9 {
                    return end;
                }
                if unknown.contains(&Unknown::Interval) {
                    self.weigh(&mut near, SMOOTH);
                    self.walk(&mut near, 1.15, &SMOOTH, true, &|setting, factor| {
                        Unknown::Interval.set(setting, setting.interval * factor);
                    });
                }
                self.weigh(&mut near, FRESH);
                // Beyond a target that does not fit, others may.
                if near.cost <= most {
                    end = near.setting.target * factor;
                }
            }
        }))
    }

    /// Improves a fit of which rate and others are settled.
    fn walk_settled(&mut self, fit: &mut Fit, steps: &[f64], seeds: &Seeds) {
        self.weigh(fit, seeds.clone());
        for &step in steps {
            self.walk_unknowns(fit, step, seeds, true);
        }
    }

    /// Improves a fit of which rate and others are settled, from where it is and from the best of a scan, by
    /// passes that draw the unknowns too: of a law without draws, the misfit has many narrow valleys, and
    /// their mean has one.
    fn search_settled(&mut self, fit: &mut Fit, steps: &[f64]) {
        let mut other = fit.clone();
        self.scan(&mut other);
        self.walk_settled(fit, steps, &SMOOTH);
        if other.setting != fit.setting {
            self.walk_settled(&mut other, &[0.1, 0.03, 0.01], &SMOOTH);
            if other.cost < fit.cost {
                *fit = other;
            }
        }
    }

    /// Tries the values of the unknowns over which a law has valleys: a walk ends in the nearest.
    fn scan(&mut self, fit: &mut Fit) {
        let unknown = fit.candidate.unknown;
        let seen = self.estimate.setting();
        let mut settings = vec![fit.setting];
        for one in [Unknown::Unit, Unknown::Flavour, Unknown::Target] {
            if unknown.contains(&one) {
                settings = with_each(&settings, one, &one.fine(&seen));
            }
        }
        // Of the other unit another limit fits, near the longest wait: bytes let small packets fill what no
        // full one does.
        if unknown.contains(&Unknown::Wait) {
            let frame = f64::from(FULL) * 8.0 / fit.setting.rate;
            let mut waits = Unknown::Wait.fine(&fit.setting);
            waits.extend(Unknown::Wait.fine(&Setting { wait: seen.wait + 0.4 * frame, ..fit.setting }));
            settings = with_each(&settings, Unknown::Wait, &waits);
        }
        self.weigh(fit, COARSE);
        self.take_best(fit, settings);
        if unknown.contains(&Unknown::Room) {
            self.take_best(fit, with_each(&[fit.setting], Unknown::Room, &Unknown::Room.fine(&seen)));
        }
    }

    /// Takes the setting that costs least, if that is less than the fit.
    fn take_best(&mut self, fit: &mut Fit, settings: Vec<Setting>) {
        for setting in settings {
            let mut next = Fit { setting, ..fit.clone() };
            self.weigh(&mut next, COARSE);
            if next.cost < fit.cost {
                *fit = next;
            }
        }
    }

    /// Fits the rivals of the best again from its rate and others, and so the queues that it is if its law
    /// does not act, also those given up before: odds compare the best settings, and a search may have ended
    /// short of one.
    fn challenge(&mut self, fits: &mut Vec<Fit>, all: &[&'static Candidate]) {
        let Some(best) = fits.first().cloned() else { return };
        let rivals = fits[1..].iter().take(RIVALS).map(|fit| fit.candidate.name);
        let mut names: Vec<&str> = rivals.chain(best.candidate.simpler.iter().copied()).collect();
        names.sort_unstable();
        names.dedup();
        if let Some(own) = fits.first_mut() {
            self.search_settled(own, &[0.01]);
        }
        for name in names {
            let Some(&candidate) = all.iter().find(|one| one.name == name) else { continue };
            let index = fits.iter().position(|fit| fit.candidate.name == name);
            let seen = best.setting.wait.min(self.estimate.setting().wait);
            let mut settings: Vec<Setting> =
                [false, true].map(|in_packets| Setting { wait: seen, in_packets, ..best.setting }).to_vec();
            let own = index.map(|index| fits[index].setting);
            settings.extend(own.map(|own| Setting { rate: best.setting.rate, ..own }));
            let mut starts: Vec<Fit> =
                settings.into_iter().map(|setting| Fit { candidate, setting, ..best.clone() }).collect();
            starts.extend(index.map(|index| fits[index].clone()));
            for start in &mut starts {
                self.weigh(start, 1..=2);
            }
            starts.sort_by(|one, two| one.misfit.total_cmp(&two.misfit));
            let Some(mut nearest) = starts.into_iter().next() else { continue };
            if nearest.misfit < best.misfit + HOPELESS {
                self.search_settled(&mut nearest, &[0.1, 0.03, 0.01]);
            }
            match index {
                Some(index) => fits[index] = nearest,
                None => fits.push(nearest),
            }
        }
    }

    /// Returns the features of the observation.
    pub fn observed(&self) -> &[Feature] {
        &self.observed
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

/// Returns the settings of all combinations of the values that a candidate's unknowns begin with.
fn grid(candidate: &Candidate, seen: &Setting) -> Vec<Setting> {
    let unknown = candidate.unknown.iter();
    unknown.fold(vec![*seen], |all, unknown| with_each(&all, *unknown, &unknown.grid(seen)))
}

/// Returns each setting with each of the values of an unknown.
fn with_each(settings: &[Setting], unknown: Unknown, values: &[f64]) -> Vec<Setting> {
    let with = |setting: &Setting, value: &f64| {
        let mut setting = *setting;
        unknown.set(&mut setting, *value);
        setting
    };
    settings.iter().flat_map(|setting| values.iter().map(move |value| with(setting, value))).collect()
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
