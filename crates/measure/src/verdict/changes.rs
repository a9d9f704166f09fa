//! Sentence for each change of a run: the values with and without it. A run without another life has those
//! before and after it, which is no effect, and no word says so.

use core::cmp::Ordering;

use super::words::Words;
use super::{Summary, text};
use crate::comparison::effect::{is_notable, is_step};
use crate::figures;
use crate::metric::{Address, Better};
use crate::summary::levels;
use crate::summary::{PhaseSummary, WithoutChange};

/// Changes named in a sentence; the others are counted.
const NAMED: usize = 2;

/// Sentence on a change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub(super) sentence: String,
    /// Address of the metric that the change had the largest effect on, and by which factor; `None` if no
    /// effect is told.
    pub(super) most: Option<(String, f64)>,
    /// True if that effect is for the worse.
    pub(super) is_worse: bool,
}

/// A metric before and after a change, or without and with it.
#[derive(Clone, Copy)]
struct Pair<'a> {
    path: &'a str,
    other: f64,
    this: f64,
    /// How many times better it became; below 1 if it became worse.
    gain: f64,
}

impl<'a> Pair<'a> {
    /// Returns the pair of a metric of which more or less is better.
    fn new(path: &'a str, other: f64, this: f64) -> Option<Self> {
        let gain = match Address::parse(path).ok()?.metric.better? {
            Better::Lower => other / this,
            Better::Higher => this / other,
        };
        (other >= 0.0 && this >= 0.0 && !gain.is_nan()).then_some(Self { path, other, this, gain })
    }

    /// Returns how far it is from no difference, as a logarithm.
    fn distance(&self) -> f64 {
        libm::log(self.gain).abs()
    }

    fn is_notable(&self) -> bool {
        is_notable((self.this, self.other))
    }

    /// Returns the metric with its value: `call delay median 20.7 ms`.
    fn value(&self) -> String {
        format!("{} {}", Words::of(self.path).in_sentence(), text::quantity(self.path, Some(self.this)))
    }

    /// Returns the other value: `951 ms`.
    fn other(&self) -> String {
        text::quantity(self.path, Some(self.other))
    }
}

/// Returns `46 times less` or `31 % more` for a ratio, and whether it is a factor; `None` if there is none.
fn ratio_words(ratio: f64) -> Option<(String, bool)> {
    Some(match ratio.partial_cmp(&1.0)? {
        Ordering::Less if ratio > 0.5 => (format!("{:.0} % less", (1.0 - ratio) * 100.0), false),
        Ordering::Less if ratio > 0.0 => (format!("{} times less", times(1.0 / ratio)), true),
        Ordering::Greater if ratio < 2.0 => (format!("{:.0} % more", (ratio - 1.0) * 100.0), false),
        Ordering::Greater if ratio.is_finite() => (format!("{} times as much", times(ratio)), true),
        _ => return None,
    })
}

fn times(factor: f64) -> String {
    match factor {
        large if large >= 10.0 => format!("{large:.0}"),
        small => figures::without_zeros(&format!("{small:.1}")),
    }
}

/// Returns the ends of a range of ratios in the form of the ratio that it is beside: `38 to 50 times`; one
/// number if both read the same.
fn range([low, high]: [f64; 2], is_factor: bool) -> String {
    let mut ends = match (high < 1.0, is_factor) {
        (true, true) => [1.0 / high, 1.0 / low],
        (true, false) => [1.0 - high, 1.0 - low],
        (false, true) => [low, high],
        (false, false) => [low - 1.0, high - 1.0],
    };
    ends.sort_by(f64::total_cmp);
    let shown = |end: f64| if is_factor { times(end) } else { format!("{:.0}", end * 100.0) };
    let unit = if is_factor { "times" } else { "%" };
    match ends.map(shown) {
        [low, high] if low == high => format!("{low} {unit}"),
        [low, high] => format!("{low} to {high} {unit}"),
    }
}

/// Returns a sentence for each change in the measured window.
pub(super) fn sentences(summary: &Summary) -> Vec<Told> {
    let pairs = summary.phases.iter().zip(summary.phases.iter().skip(1));
    pairs.map(|(before, after)| sentence(summary, before, after)).collect()
}

fn sentence(summary: &Summary, before: &PhaseSummary, after: &PhaseSummary) -> Told {
    let mut named = after.changes.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if after.changes.len() > NAMED {
        let more = figures::count((after.changes.len() - NAMED) as u64, "more change");
        named = format!("{named} and {more}");
    }
    let at = figures::instant(after.from_s);
    let moved = match (after.moved_packets, after.forced_out_packets) {
        (0, 0) => String::new(),
        (0, lost) => format!("; {} lost", figures::count(lost, "waiting packet")),
        (moved, lost) => {
            let lost = if lost == 0 { "none".to_owned() } else { lost.to_string() };
            format!("; {} moved, {lost} of them lost", figures::count(moved, "waiting packet"))
        }
    };
    let (told, most) = match &after.without {
        Some(without) => effect(summary, without),
        None => (before_and_after(before, after), None),
    };
    let is_worse = most.as_ref().is_some_and(|most| most.gain < 1.0);
    let most = most.map(|most| (most.path.to_owned(), most.distance()));
    Told { sentence: format!("At {at} s, {named}: {told}{moved}."), most, is_worse }
}

/// Returns the best and the worst of pairs, in this order, if they are better and worse.
fn extremes<'a, 'p>(pairs: &'a [Pair<'p>]) -> impl Iterator<Item = &'a Pair<'p>> {
    let by_gain = |one: &&Pair<'_>, other: &&Pair<'_>| one.gain.total_cmp(&other.gain);
    // Of equal ones the first.
    let best = pairs.iter().rev().max_by(by_gain).filter(|pair| pair.gain > 1.0);
    let worst = pairs.iter().min_by(by_gain).filter(|pair| pair.gain < 1.0);
    best.into_iter().chain(worst)
}

/// Returns the pair of the largest difference, if it is a tenth or more.
fn largest<'a, 'p>(pairs: &'a [Pair<'p>]) -> Option<&'a Pair<'p>> {
    let notable = pairs.iter().rev().filter(|pair| pair.is_notable());
    notable.max_by(|one, other| one.distance().total_cmp(&other.distance()))
}

/// Returns what a change did, and the metric that it changed most.
fn effect<'a>(summary: &Summary, without: &'a WithoutChange) -> (String, Option<Pair<'a>>) {
    if without.same_packets {
        return ("no packet differs without it".to_owned(), None);
    }
    let all: Vec<Pair<'_>> = without
        .values
        .iter()
        .filter_map(|(path, value)| {
            let (with, without) = value.pair()?;
            Pair::new(path, without, with)
        })
        .collect();
    let is_effect = |pair: &Pair<'_>| without.values.get(pair.path).is_some_and(|value| value.is_effect);
    let (effects, others): (Vec<Pair<'_>>, Vec<Pair<'_>>) = all.into_iter().partition(is_effect);
    // Of several changes each is left out alone.
    let alone = if summary.phases.len() > 2 { ", the other changes made," } else { "" };
    let on_average = if summary.runs > 1 { "on average" } else { "in this run" };
    let told: Vec<String> = extremes(&effects)
        .enumerate()
        .map(|(index, pair)| {
            let first = if index == 0 { alone } else { "" };
            let at = if index == 0 && alone.is_empty() { " at the same time" } else { "" };
            let main = format!("{}, without it{first} {}{at}", pair.value(), pair.other());
            match ratio_words(pair.this / pair.other) {
                Some((words, is_factor)) => {
                    format!("{main}: {words}{}", scatter(without, pair, is_factor, index == 0))
                }
                None => main,
            }
        })
        .collect();
    if let Some(most) = largest(&effects).copied() {
        return (told.join("; "), Some(most));
    }
    let told = match (largest(&others), without.runs) {
        (None, _) if others.is_empty() => "no metric of flows is recorded by phase".to_owned(),
        (None, _) => format!("without it{alone} {} {on_average}", little(others.len())),
        (Some(pair), runs) => {
            let both = format!("{on_average} {}, without it{alone} {}", pair.value(), pair.other());
            match runs {
                0 | 1 => format!("{both}; one pair of runs cannot tell an effect from chance"),
                _ => format!("{runs} runs with and without it tell no effect from chance; {both}"),
            }
        }
    };
    (told, None)
}

/// Returns the scatter of an effect in brackets: over several seeds the interval of the difference, else the
/// range of its ratio in all pairs of runs.
fn scatter(without: &WithoutChange, pair: &Pair<'_>, is_factor: bool, is_first: bool) -> String {
    let Some(value) = without.values.get(pair.path) else { return String::new() };
    if let Some(half) = value.half_width {
        let apart = text::interval(pair.path, (pair.this - pair.other).abs(), Some(half));
        return format!(" ({apart} apart)");
    }
    let Some(ratios) = value.ratios else { return String::new() };
    let runs = if is_first { format!(" in {} runs each way", without.runs) } else { String::new() };
    format!(" ({}{runs})", range(ratios, is_factor))
}

/// Returns the values before and after a change. A ratio is only said if both phases are long enough to tell
/// them apart.
fn before_and_after(before: &PhaseSummary, after: &PhaseSummary) -> String {
    let pair = |(path, value): (&'_ String, &Option<f64>)| {
        Some((path.clone(), (*value)?, after.values.get(path).copied().flatten()?))
    };
    let values: Vec<(String, f64, f64)> = before.values.iter().filter_map(pair).collect();
    let all: Vec<Pair<'_>> =
        values.iter().filter_map(|(path, before, after)| Pair::new(path, *before, *after)).collect();
    let is_told = |pair: &Pair<'_>| {
        let Ok(address) = Address::parse(pair.path) else { return false };
        let [before, after] = [before, after].map(|phase| levels(&phase.levels, &address));
        pair.is_notable() && is_step(&before, &after, values.len())
    };
    let (steps, others): (Vec<Pair<'_>>, Vec<Pair<'_>>) = all.into_iter().partition(is_told);
    let both = |pair: &Pair<'_>| {
        let name = Words::of(pair.path).in_sentence();
        format!("{name} {} before, {} after", pair.other(), text::quantity(pair.path, Some(pair.this)))
    };
    let told: Vec<String> = extremes(&steps)
        .map(|pair| match ratio_words(pair.this / pair.other) {
            Some((words, _)) => format!("{}, {words}", both(pair)),
            None => both(pair),
        })
        .collect();
    match (told.is_empty(), largest(&others)) {
        (false, _) => told.join("; "),
        (true, Some(pair)) => both(pair),
        (true, None) if others.is_empty() => "no metric of flows is recorded by phase".to_owned(),
        (true, None) => format!("{} before and after", little(others.len())),
    }
}

/// Returns the words for metrics that all differ by less than a tenth. What is not recorded by phase, as a
/// loss is not unless it is judged, may differ.
fn little(metrics: usize) -> String {
    match metrics {
        1 => "the one metric compared does not differ by a tenth".to_owned(),
        metrics => format!("none of {metrics} metrics compared differs by a tenth"),
    }
}
