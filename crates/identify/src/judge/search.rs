//! Search for the settings that fit: a coarse grid, walks along one parameter at a time, and scans over
//! valleys.

use super::{FRESH, Judge, LEAST_ODDS, SEEDS, Seeds};
use crate::candidates::{Candidate, ONE_FRAME, Setting, Unknown};
use crate::estimate::Estimate;
use crate::fit::{Fit, TEMPER, is_free, odds, others};
use crate::moments::{Moments, moments};
use crate::probe::{FULL, Observation};

/// Seeds of a scan and of the walk after it, which draw the unknowns too.
const COARSE: Seeds = 21..=22;
const SMOOTH: Seeds = 21..=24;

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

impl Judge<'_> {
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
                let mut fit = Fit::new(candidate, setting, others, length, count);
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
