//! Decision of a comparison in sentences: the variant to take, what it costs, and which variants keep the
//! scenario's expectations.

use lockgate_measure::comparison::{Difference, Shown, Verdict};
use lockgate_measure::metric::{Better, Quantity, Unit};
use lockgate_measure::summary::{Expectation, Expected};
use lockgate_measure::verdict::Words;

use super::{Column, Compared};
use crate::figures;
use crate::verdict::{quantity, short_bounds, value};

/// Limit on the variants or groups of variants that a sentence names.
const MOST_NAMED: usize = 6;
/// Smallest quotient of two values that is printed as a factor instead of a percentage.
const LEAST_FACTOR: f64 = 2.0;

/// Words after the number of seeds that a decision needs.
const WOULD_DECIDE: &str = "seeds would decide";

/// A metric with a better direction, and the variant that is best in it.
pub(super) struct Aim {
    metric: usize,
    better: Better,
    unit: Unit,
    best: usize,
}

impl Aim {
    /// Returns the mean of a difference from the best, turned so that more is worse.
    fn worse(&self, one: &Difference) -> f64 {
        if self.better == Better::Lower { one.mean } else { -one.mean }
    }
}

impl Compared<'_> {
    /// Judges the scenario's expectations for each variant. Those on metrics that were not kept are left out.
    pub(super) fn judge(&self, expects: &[Expected]) -> Vec<Vec<Expectation>> {
        let seeds = self.plan.seeds.len().max(1);
        let column = |expected: &Expected| self.plan.metrics.iter().position(|path| *path == expected.that);
        let kept: Vec<(usize, &Expected)> = expects
            .iter()
            .filter_map(|expected| Some((column(expected)?, expected)))
            .filter(|(column, _)| self.rows.iter().any(|row| row[*column].is_some()))
            .collect();
        let variant = |rows: &[lockgate_experiment::Row]| {
            let one = |(column, expected): &(usize, &Expected)| {
                Expectation::judge(expected, rows.iter().map(|row| row[*column]).collect())
            };
            kept.iter().map(one).collect()
        };
        self.rows.chunks(seeds).map(variant).collect()
    }

    /// Returns the number of expectations that a variant keeps, and of all that were judged.
    pub(super) fn held(&self, variant: usize) -> (usize, usize) {
        let judged = self.judged.get(variant).map_or(&[][..], Vec::as_slice);
        (judged.iter().filter(|expect| expect.holds).count(), judged.len())
    }

    /// Returns the sentences that decide: the variant to take and what it costs, and which variants keep the
    /// expectations. None for a single variant, or if no direction of any metric is better.
    pub fn decision(&self) -> Vec<String> {
        if self.variants.len() < 2 {
            return Vec::new();
        }
        let (most, candidates) = self.candidates();
        let aims = self.aims();
        if aims.is_empty() {
            return self.keepers().into_iter().chain(self.longest_waits(None)).collect();
        }
        let best = self.ranking().first().copied();
        let chosen = self.chosen(&aims);
        let keepers = self.keepers();
        if self.is_given() && keepers.is_some() {
            return keepers.into_iter().chain(self.longest_waits(None)).collect();
        }
        let mut sentences = Vec::new();
        match (chosen, best) {
            (Some(chosen), _) => sentences.push(self.choice(chosen, &aims)),
            (None, Some(_)) => sentences.extend(self.without_choice(&candidates, &aims)),
            (None, None) => {}
        }
        sentences.extend(self.shortfall(most, best));
        sentences.extend(keepers);
        sentences.extend(self.longest_waits(chosen));
        sentences
    }

    /// Returns the largest number of expectations that a variant keeps, and the variants that keep as many.
    fn candidates(&self) -> (usize, Vec<usize>) {
        let most = (0..self.variants.len()).map(|variant| self.held(variant).0).max().unwrap_or(0);
        (most, (0..self.variants.len()).filter(|variant| self.held(*variant).0 == most).collect())
    }

    /// Returns the variant that the decision names; `None` if the runs do not tell one from the others.
    fn chosen(&self, aims: &[Aim]) -> Option<usize> {
        let is_open = aims.is_empty() || self.without_choice(&self.candidates().1, aims).is_some();
        self.ranking().first().copied().filter(|_| !is_open && self.variants.len() > 1)
    }

    /// Returns the variant to take; `None` if the runs tell none.
    pub fn recommended(&self) -> Option<usize> {
        let aims = self.aims();
        let is_open = self.is_given() && self.keepers().is_some();
        self.chosen(&aims).filter(|_| self.is_told(&aims) && !is_open)
    }

    /// Returns true if a variable is of the world, as the rate of a line is, beside one that can be chosen.
    /// No variant is then to be taken, for a faster line is always better.
    fn is_given(&self) -> bool {
        let of_world = |column: &Column| {
            ["link.", "flow.", "node."]
                .iter()
                .any(|kind| column.path.trim_start_matches('"').starts_with(kind))
        };
        let given = self.columns.iter().filter(|column| of_world(column)).count();
        (1..self.columns.len()).contains(&given)
    }

    /// Returns the indices of the variants: by expectations kept, then by the number of metrics in which a
    /// variant is worse than the best, then by what it loses in these, and by the means; of equal ones the
    /// first of the plan.
    pub fn ranking(&self) -> Vec<usize> {
        let aims = self.aims();
        let key = |variant: usize| {
            let worse = aims.iter().filter(|aim| self.shown(variant, aim) == Shown::Worse).count();
            let held = core::cmp::Reverse(self.held(variant).0);
            ((held, worse), [self.loss(variant, &aims), self.loss_of_means(variant, &aims)])
        };
        let mut order: Vec<_> = (0..self.variants.len()).map(|variant| (variant, key(variant))).collect();
        order.sort_by(|(_, (rank, loss)), (_, (other_rank, other_loss))| {
            let by_loss = loss[0].total_cmp(&other_loss[0]).then(loss[1].total_cmp(&other_loss[1]));
            rank.cmp(other_rank).then(by_loss)
        });
        order.into_iter().map(|(variant, _)| variant).collect()
    }

    /// Returns the metrics with a better direction, each with the best variant, whatever else it misses.
    fn aims(&self) -> Vec<Aim> {
        let aim = |(metric, path): (usize, &String)| {
            let of = Quantity::parse(path).ok()?;
            let better = of.better()?;
            let cost = |variant: usize| {
                let mean = self.mean(metric, variant)?;
                Some(if better == Better::Lower { mean } else { -mean })
            };
            let means = (0..self.variants.len()).filter_map(|variant| Some((variant, cost(variant)?)));
            let (best, _) = means.min_by(|one, other| one.1.total_cmp(&other.1))?;
            Some(Aim { metric, better, unit: of.unit(), best })
        };
        self.plan.metrics.iter().enumerate().filter_map(aim).collect()
    }

    fn mean(&self, metric: usize, variant: usize) -> Option<f64> {
        self.metrics[metric].intervals[variant].as_ref().map(|interval| interval.mean)
    }

    /// Returns what the runs show of a variant in a metric: as good as any other within the limits that
    /// matter, worse than the best by more, or neither.
    fn shown(&self, variant: usize, aim: &Aim) -> Shown {
        if variant != aim.best {
            return self.shown_beside_best(variant, aim);
        }
        // The best mean is shown to be as good as any if no other can be better than it by what matters.
        let compared = &self.with_best[aim.metric];
        let is_open = |one: &&Difference| match (one.verdict, one.half_width) {
            (Verdict::Same, _) => false,
            (Verdict::Unknown, _) => true,
            (_, half) => {
                let reference = self.mean(aim.metric, aim.best).unwrap_or(0.0);
                aim.worse(one) - half.unwrap_or(0.0) < -self.practical.limit(reference, aim.unit)
            }
        };
        match compared.differences.iter().flatten().find(is_open) {
            Some(_) => Shown::Undecided,
            None => Shown::AsGood,
        }
    }

    /// Returns what the runs show of the difference of a variant from the best of a metric.
    fn shown_beside_best(&self, variant: usize, aim: &Aim) -> Shown {
        match (&self.with_best[aim.metric].differences[variant], self.mean(aim.metric, aim.best)) {
            (Some(one), Some(best)) if one.mean.is_finite() => {
                self.practical.shown(one, aim.worse(one), best, aim.unit)
            }
            // Without a value it cannot be taken for it.
            _ if self.mean(aim.metric, variant).is_none() => Shown::Worse,
            _ => Shown::Undecided,
        }
    }

    /// Returns the sentence that takes the place of a choice: if all candidates are as good as each other, if
    /// they cannot be told apart, and if most differences between them are undecided.
    fn without_choice(&self, candidates: &[usize], aims: &[Aim]) -> Option<String> {
        let seeds = self.plan.seeds.len();
        if !self.is_told(aims) || candidates.len() < 2 {
            return None;
        }
        let cells = || {
            let of = |aim| candidates.iter().map(move |variant| (*variant, aim));
            aims.iter().flat_map(of).filter(|(variant, aim)| *variant != aim.best)
        };
        let undecided: Vec<(usize, &Aim)> = cells()
            .filter(|(variant, aim)| self.shown_beside_best(*variant, aim) == Shown::Undecided)
            .collect();
        let worse = cells().filter(|(variant, aim)| self.shown_beside_best(*variant, aim) == Shown::Worse);
        let (worse, all) = (worse.count(), cells().count());
        let are_all = candidates.len() == self.variants.len();
        let any = if are_all {
            "any of the variants".to_owned()
        } else {
            format!("any of {}", self.named(candidates))
        };
        if worse == 0 && undecided.is_empty() {
            let is_same = |(variant, aim): (usize, &Aim)| {
                let one = &self.with_best[aim.metric].differences[variant];
                one.as_ref().is_some_and(|one| one.verdict == Verdict::Same)
            };
            let why = if cells().all(is_same) {
                "all their values are the same".to_owned()
            } else {
                format!("none is worse by more than {} (--equal)", self.practical)
            };
            return Some(format!("Take {any}: they cannot be told apart, {why}."));
        }
        let more = self.would(&undecided);
        if worse == 0 {
            let these = if are_all { "the variants".to_owned() } else { self.named(candidates) };
            return Some(format!("With {seeds} seeds, {these} cannot be told apart{more}."));
        }
        (2 * undecided.len() > all).then(|| {
            let many = undecided.len();
            format!("No decision: {many} of {all} differences cannot be shown with {seeds} seeds{more}.")
        })
    }

    /// Returns true if the decision says how many seeds would make it.
    pub(super) fn names_seeds(&self) -> bool {
        let (_, candidates) = self.candidates();
        self.without_choice(&candidates, &self.aims()).is_some_and(|text| text.contains(WOULD_DECIDE))
    }

    /// Returns how many seeds would decide half of these cells: `; about 40 seeds would decide half of them`;
    /// empty if it is not known of any.
    fn would(&self, undecided: &[(usize, &Aim)]) -> String {
        let of = |(variant, aim): &(usize, &Aim)| {
            let one = self.with_best[aim.metric].differences[*variant].as_ref()?;
            let best = self.mean(aim.metric, aim.best)?;
            self.practical.seeds_needed(one, aim.worse(one), best, aim.unit)
        };
        let mut needed: Vec<u64> = undecided.iter().filter_map(of).collect();
        needed.sort_unstable();
        let these = if undecided.len() == 1 { "it" } else { "half of them" };
        let half = undecided.len().div_ceil(2).checked_sub(1).and_then(|half| needed.get(half));
        half.map_or_else(String::new, |seeds| format!("; about {seeds} {WOULD_DECIDE} {these}"))
    }

    /// Returns the product of the factors by which a variant is worse than the best of each metric, as a
    /// logarithm. Only a difference that is shown to matter counts.
    fn loss(&self, variant: usize, aims: &[Aim]) -> f64 {
        let is_worse = |aim: &&Aim| self.shown(variant, aim) == Shown::Worse;
        aims.iter().filter(is_worse).map(|aim| self.loss_in(variant, aim)).sum()
    }

    /// Returns the same of all differences of the means.
    fn loss_of_means(&self, variant: usize, aims: &[Aim]) -> f64 {
        aims.iter().map(|aim| self.loss_in(variant, aim)).sum()
    }

    fn loss_in(&self, variant: usize, aim: &Aim) -> f64 {
        let (Some(one), Some(best)) = (self.mean(aim.metric, variant), self.mean(aim.metric, aim.best))
        else {
            return f64::INFINITY;
        };
        match (one, best) {
            (one, best) if one > 0.0 && best > 0.0 => (one / best).ln().abs(),
            (one, best) => (one - best).abs(),
        }
    }

    /// Returns the sentence on the variant to take: in what it is best, what it costs, and what the seeds do
    /// not tell.
    fn choice(&self, variant: usize, aims: &[Aim]) -> String {
        let is_best = |aim: &&Aim| self.mean(aim.metric, variant) == self.mean(aim.metric, aim.best);
        let words =
            |aims: &[&Aim]| listed(&aims.iter().map(|aim| self.words(aim.metric)).collect::<Vec<String>>());
        let is = |shown: Shown| move |aim: &&Aim| self.shown(variant, aim) == shown;
        let (best, others): (Vec<&Aim>, Vec<&Aim>) = aims.iter().partition(is_best);
        let equal: Vec<&Aim> = others.iter().copied().filter(is(Shown::AsGood)).collect();
        let open: Vec<&Aim> = others.iter().copied().filter(is(Shown::Undecided)).collect();
        let costs: Vec<String> = others
            .iter()
            .filter(|aim| is(Shown::Worse)(aim))
            .filter_map(|aim| self.cost(variant, aim))
            .collect();
        let mut parts = Vec::new();
        match best.as_slice() {
            [] => {}
            all if all.len() == aims.len() && all.len() > 2 => {
                parts.push("best in everything compared".to_owned());
            }
            some => parts.push(format!("best in {}", words(some))),
        }
        if !equal.is_empty() {
            parts.push(format!("within {} of the best in {}", self.practical, words(&equal)));
        }
        if !open.is_empty() {
            parts.push(format!("not shown to be worse in {}", words(&open)));
        }
        if parts.is_empty() {
            parts.push("the least loss in all".to_owned());
        }
        let costs = if costs.is_empty() { String::new() } else { format!("; it costs {}", listed(&costs)) };
        let (name, parts) = (self.name(variant), parts.join(", "));
        let is_open = aims.iter().any(|aim| self.shown(variant, aim) == Shown::Undecided);
        match (self.is_told(aims), self.plan.seeds.len(), is_open) {
            (true, _, false) => format!("Take {name}: {parts}{costs}."),
            (true, seeds, true) => {
                format!("As far as {seeds} seeds can tell, take {name}: {parts}{costs}.")
            }
            (false, 1, _) => {
                format!("One seed cannot tell which to take. In its runs {name} is {parts}{costs}.")
            }
            (false, ..) => {
                format!("Too few values tell which to take. In these {name} is {parts}{costs}.")
            }
        }
    }

    /// Returns true if a difference of any aim could be told from chance.
    fn is_told(&self, aims: &[Aim]) -> bool {
        let differences = aims.iter().flat_map(|aim| self.with_best[aim.metric].differences.iter().flatten());
        differences.into_iter().any(|one| one.verdict != Verdict::Unknown)
    }

    /// Returns what a variant is worse by in a metric: `1.9 % of backup goodput sum (9.28 Mbit/s of 9.46
    /// Mbit/s)`.
    fn cost(&self, variant: usize, aim: &Aim) -> Option<String> {
        let (one, best) = (self.mean(aim.metric, variant)?, self.mean(aim.metric, aim.best)?);
        let (path, words) = (&self.plan.metrics[aim.metric], self.words(aim.metric));
        let [shown, best_shown] = [one, best].map(|value| quantity(path, Some(value)));
        let factor = if one.abs() > best.abs() { one / best } else { best / one };
        Some(match aim.better {
            _ if !factor.is_finite() || factor <= 0.0 => format!("{words} ({shown} instead of {best_shown})"),
            Better::Lower if factor >= LEAST_FACTOR => {
                format!("{} times the {words} ({shown} instead of {best_shown})", plain(factor))
            }
            Better::Lower => {
                format!("{} % more {words} ({shown} instead of {best_shown})", plain((factor - 1.0) * 100.0))
            }
            Better::Higher => {
                format!("{} % of {words} ({shown} of {best_shown})", plain((1.0 - one / best) * 100.0))
            }
        })
    }

    /// Returns the sentence on what the chosen variant misses, if no variant keeps all expectations.
    fn shortfall(&self, most: usize, best: Option<usize>) -> Option<String> {
        let (variant, (_, all)) = (best?, self.held(best?));
        if most == all {
            return None;
        }
        let missed = self.judged[variant].iter().filter(|expect| !expect.holds);
        let missed: Vec<String> = missed
            .map(|expect| {
                let words = Words::of(&expect.that).in_sentence();
                format!("{words} is {}, wanted {}", value(expect), short_bounds(expect))
            })
            .collect();
        let expected = match all {
            1 => "the expectation".to_owned(),
            2 => "both expectations".to_owned(),
            all => format!("all {all} expectations"),
        };
        Some(format!("No variant keeps {expected}: of {}, {}.", self.name(variant), listed(&missed)))
    }

    /// Returns the value of the first variable of a variant.
    fn first(&self, variant: usize) -> &str {
        self.columns.first().map_or("", |column| self.variants[variant].values[column.index].as_str())
    }

    /// Returns variants by the value of the first variable: `cake 95% 99%`.
    fn grouped(&self, variants: &[usize]) -> Vec<String> {
        let mut groups: Vec<(&str, String)> = Vec::new();
        for variant in variants {
            let rest: Vec<&str> = self
                .columns
                .iter()
                .skip(1)
                .map(|column| self.variants[*variant].values[column.index].as_str())
                .collect();
            let (first, rest) = (self.first(*variant), rest.join(" "));
            match groups.iter_mut().find(|(value, _)| *value == first) {
                Some((_, text)) => {
                    text.push(' ');
                    text.push_str(&rest);
                }
                None => groups.push((first, format!("{first} {rest}").trim_end().to_owned())),
            }
        }
        groups.into_iter().map(|(_, text)| text).collect()
    }

    fn named(&self, variants: &[usize]) -> String {
        let groups = self.grouped(variants);
        if groups.len() <= MOST_NAMED { listed(&groups) } else { format!("{} variants", variants.len()) }
    }

    /// Returns a metric as part of a sentence.
    pub(super) fn words(&self, metric: usize) -> String {
        Words::of(&self.plan.metrics[metric]).in_sentence()
    }
}

/// Joins parts of a sentence: `a`, `a and b`, `a, b and c`.
pub(super) fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn plain(value: f64) -> String {
    let text = if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") };
    figures::without_zeros(&text)
}

#[cfg(test)]
mod tests {
    use lockgate_experiment::{Plan, Row};
    use lockgate_measure::comparison::Practical;
    use lockgate_scenario::Vary;

    use super::*;

    /// Delays of 0.157 and 0.245 ms are practically equal, and no reason to take less of the line. The third
    /// variant, best in goodput, has a delay of half a second.
    #[test]
    fn a_difference_that_does_not_matter_decides_nothing() {
        let plan = Plan {
            vary: vec![Vary::parse("port.isp:modem.rate=13mbit,14mbit,16mbit").expect("a variation")],
            seeds: vec![1, 2, 3],
            metrics: vec!["flow.call.owd.p99".to_owned(), "flow.upload.goodput".to_owned()],
            ..Plan::default()
        };
        let values = [(157e-6, 10.9e6), (245e-6, 13.9e6), (0.5, 14.0e6)];
        let row = |(delay, goodput): (f64, f64)| {
            [1.0, 1.001, 0.999].map(|seed| -> Row { vec![Some(delay * seed), Some(goodput * seed)] })
        };
        let rows: Vec<Row> = values.into_iter().flat_map(row).collect();
        let variants = plan.variants().expect("variants");
        let compared = Compared::new(&plan, "t", &variants, &rows, None).within(Practical::default());
        let decision = compared.decision();
        assert!(decision[0].starts_with("Take 14mbit (#2): "), "{decision:?}");
    }
}
