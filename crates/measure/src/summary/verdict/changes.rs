//! Sentence for each change of a run: the values before and after it.

use core::cmp::Ordering;

use super::words::Words;
use super::{Summary, text};
use crate::figures;
use crate::metric::{Address, Better};
use crate::summary::PhaseSummary;

/// Ratio of two values from which one counts as better or worse than the other.
const NOTABLE: f64 = 1.1;

/// Changes named in a sentence; the others are counted.
const NAMED: usize = 2;

/// A metric before and after a change.
struct Pair<'a> {
    path: &'a str,
    before: f64,
    after: f64,
    /// How many times better it became; below 1 if it became worse.
    gain: f64,
}

impl Pair<'_> {
    /// Returns the pair in words: `call delay median 950 ms → 20.7 ms, 46 times less`.
    fn words(&self) -> String {
        let [before, after] = [self.before, self.after].map(|value| text::quantity(self.path, Some(value)));
        let ratio = self.after / self.before;
        let times = |factor: f64| {
            if factor >= 10.0 {
                format!("{factor:.0}")
            } else {
                figures::without_zeros(&format!("{factor:.1}"))
            }
        };
        let how = match ratio.partial_cmp(&1.0) {
            Some(Ordering::Less) if ratio > 0.5 => format!("{:.0} % less", (1.0 - ratio) * 100.0),
            Some(Ordering::Less) if ratio > 0.0 => format!("{} times less", times(1.0 / ratio)),
            Some(Ordering::Greater) if ratio < 2.0 => format!("{:.0} % more", (ratio - 1.0) * 100.0),
            Some(Ordering::Greater) if ratio.is_finite() => format!("{} times as much", times(ratio)),
            _ => return format!("{} {before} → {after}", Words::of(self.path).in_sentence()),
        };
        format!("{} {before} → {after}, {how}", Words::of(self.path).in_sentence())
    }
}

/// Returns a sentence for each change in the measured window.
pub(super) fn sentences(summary: &Summary) -> Vec<String> {
    let pairs = summary.phases.iter().zip(summary.phases.iter().skip(1));
    pairs.map(|(before, after)| sentence(before, after)).collect()
}

fn sentence(before: &PhaseSummary, after: &PhaseSummary) -> String {
    let mut named = after.changes.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if after.changes.len() > NAMED {
        let more = figures::count((after.changes.len() - NAMED) as u64, "more change");
        named = format!("{named} and {more}");
    }
    let at = figures::without_zeros(&figures::seconds(Some(after.from_s)));
    let mut pairs = pairs(before, after);
    pairs.sort_by(|one, other| other.gain.total_cmp(&one.gain));
    let best = pairs.first().filter(|pair| pair.gain >= NOTABLE);
    let worst = pairs.last().filter(|pair| pair.gain <= 1.0 / NOTABLE);
    let told: Vec<String> = best.into_iter().chain(worst).map(Pair::words).collect();
    let told = if told.is_empty() { "nothing changed by a tenth".to_owned() } else { told.join("; ") };
    let moved = match (after.moved_packets, after.forced_out_packets) {
        (0, 0) => String::new(),
        (moved, lost) => {
            let lost = if lost == 0 { "none".to_owned() } else { lost.to_string() };
            format!("; {} moved, {lost} lost", figures::count(moved, "waiting packet"))
        }
    };
    format!("At {at}, {named}: {told}{moved}.")
}

/// Returns the metrics that both phases have a value of, and of which more or less is better.
fn pairs<'a>(before: &'a PhaseSummary, after: &PhaseSummary) -> Vec<Pair<'a>> {
    let pair = |(path, value): (&'a String, &Option<f64>)| {
        let better = Address::parse(path).ok()?.metric.better?;
        let (before, after) = ((*value)?, after.values.get(path).copied().flatten()?);
        let gain = match better {
            Better::Lower => before / after,
            Better::Higher => after / before,
        };
        (before >= 0.0 && after >= 0.0 && !gain.is_nan()).then_some(Pair { path, before, after, gain })
    };
    before.values.iter().filter_map(pair).collect()
}
