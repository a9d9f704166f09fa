//! Verdict of a run in sentences: what holds and how tightly, where packets wait, what a change did.
//!
//! Terminal, page, notebook and `summary.json` all show these sentences; none of them makes its own.

mod blame;
mod changes;
mod limits;
mod phases;
mod text;
mod waits;
mod words;

pub use text::{
    bounds, difference, interval, margin, quantity, sentence, short_bounds, sign, used, value, words,
};
pub use waits::{Wait, longest_wait};
pub use words::{Words, label, metric, settings};

use crate::figures;
use crate::metric::Address;
use crate::summary::{Expectation, Summary};
pub use crate::summary::{JudgedRow, Outcome, PhaseRow, PhaseTable, RunVerdict};

impl JudgedRow {
    fn of(expect: &Expectation) -> Self {
        let Words { subject, quantity } = text::words(expect);
        let (measured, wanted) = match expect.members {
            Some(members) => {
                let share = match members.wanted_ratio {
                    1.0 => "all".to_owned(),
                    share => figures::without_zeros(&figures::ratio(Some(share))),
                };
                let held = format!("{} of {}", members.held, members.of);
                (held, format!("{}, for {share}", short_bounds(expect)))
            }
            None => (value(expect), short_bounds(expect)),
        };
        Self {
            that: expect.that.clone(),
            subject,
            quantity,
            value: measured,
            wanted,
            holds: expect.holds,
            used_ratio: used(expect).filter(|used| used.is_finite()),
            margin: margin(expect),
        }
    }

    /// Returns subject and quantity, such as `call: delay p99`.
    pub fn label(&self) -> String {
        Words { subject: self.subject.clone(), quantity: self.quantity.clone() }.joined()
    }
}

impl Summary {
    /// Returns the verdict of the run: sentences and formatted expectations.
    pub fn verdict(&self) -> RunVerdict {
        let missed = self.expect.iter().filter(|expect| !expect.holds);
        let held = self.expect.iter().filter(|expect| expect.holds);
        let rows: Vec<JudgedRow> = missed.chain(held).map(JudgedRow::of).collect();
        let outcome = match (self.expect.is_empty(), self.expect.iter().all(|expect| expect.holds)) {
            (true, _) => Outcome::None,
            (false, true) => Outcome::Held,
            (false, false) => Outcome::Missed,
        };
        let mut changes = changes::sentences(self);
        let first = self.first_change(&changes).map(|index| changes.remove(index));
        let is_worse = first.as_ref().is_some_and(|told| told.is_worse);
        let mut members = None;
        let (headline, held, hurts) = match (first, exceptions(self)) {
            (Some(told), _) => (told.sentence, Some(headline(self, outcome)), is_worse),
            // Members that pay are more than an expectation that allows it, and less than one that is missed.
            (None, Some(except)) if outcome == Outcome::Held => {
                (except, Some(judgement(self, outcome)), true)
            }
            (None, Some(except)) => {
                members = Some(except);
                (judgement(self, outcome), None, false)
            }
            (None, None) => (judgement(self, outcome), None, false),
        };
        let change_first = held.is_some();
        let mut findings: Vec<String> = held.into_iter().chain(members).collect();
        findings.extend(changes.into_iter().map(|told| told.sentence));
        findings.extend(blame::full_port(self));
        findings.push(longest_wait(self));
        if outcome == Outcome::Missed || is_worse {
            findings.extend(waits::advice(self));
        }
        findings.extend(limits::sentence(self));
        let phases = phases::table(self);
        RunVerdict { outcome, headline, change_first, hurts, findings, rows, phases }
    }

    /// Returns the summary as the report and the file have it: with its verdict, and without the details of
    /// members that are not among the worst and not judged.
    #[must_use]
    pub fn folded(&self) -> Self {
        Self { verdict: Some(self.verdict()), ..self.without_details() }
    }

    /// Returns the summary as it is written: folded, with each value under its address in `metrics`.
    #[must_use]
    pub fn written(&self) -> Self {
        let mut written = self.folded();
        written.metrics = self.metrics_of(&written);
        written
    }

    /// Returns the index of the change with the largest effect, if nothing is expected of the metric that it
    /// changed most.
    fn first_change(&self, changes: &[changes::Told]) -> Option<usize> {
        let effects =
            changes.iter().enumerate().filter_map(|(index, told)| Some((index, told.most.as_ref()?)));
        // Of equal ones the first.
        let largest = effects.rev().max_by(|(_, one), (_, other)| one.1.total_cmp(&other.1));
        let (index, (path, _)) = largest?;
        (!self.expect.iter().any(|expect| expect.that == *path)).then_some(index)
    }
}

/// Returns the sentences on what holds, and on the members that do not keep it.
fn headline(summary: &Summary, outcome: Outcome) -> String {
    let judged = judgement(summary, outcome);
    exceptions(summary).map_or(judged.clone(), |except| format!("{judged} But {except}"))
}

/// Returns the sentences on what holds.
fn judgement(summary: &Summary, outcome: Outcome) -> String {
    match outcome {
        Outcome::None => "Nothing is expected of this run.".to_owned(),
        Outcome::Held => held(&summary.expect).join(" "),
        Outcome::Missed => missed(&summary.expect).join(" "),
    }
}

/// Returns the sentences on the members that do not keep expectations that hold all the same; `None` without.
fn exceptions(summary: &Summary) -> Option<String> {
    let all: Vec<String> = summary.expect.iter().filter_map(|expect| exception(summary, expect)).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Returns what holds, and the tightest of it.
fn held(all: &[Expectation]) -> Vec<String> {
    let what = match all {
        [_] => "It holds".to_owned(),
        [_, _] => "Both hold".to_owned(),
        all => format!("All {} hold", all.len()),
    };
    let rank = |expect: &&Expectation| used(expect).unwrap_or(0.0);
    // Those that some members do not keep have a sentence of their own.
    let is_kept = |expect: &&Expectation| expect.members.is_none_or(|members| members.held == members.of);
    let tightest = all.iter().filter(is_kept).max_by(|one, other| rank(one).total_cmp(&rank(other)));
    let Some(tightest) = tightest.filter(|one| !margin(one).is_empty()) else {
        return vec![format!("{what}.")];
    };
    let told = measured(tightest);
    match all {
        [_] => vec![format!("{what}: {told}.")],
        _ => vec![format!("{what}."), format!("Tightest: {told}.")],
    }
}

/// Returns how many are missed, and the worst of them.
fn missed(all: &[Expectation]) -> Vec<String> {
    let missed: Vec<&Expectation> = all.iter().filter(|expect| !expect.holds).collect();
    let rank = |expect: &Expectation| used(expect).unwrap_or(f64::INFINITY);
    // The first of equally bad ones.
    let worst = missed.iter().rev().max_by(|one, other| rank(one).total_cmp(&rank(other)));
    let told = worst.map(|worst| measured(worst));
    let count = match (missed.len(), all.len()) {
        (1, 1) => "It is missed".to_owned(),
        (2, 2) => "Both are missed".to_owned(),
        (missed, all) if missed == all => format!("All {all} are missed"),
        (missed, all) => format!("{missed} of {all} missed"),
    };
    let first = if missed.len() > 1 { "; worst: " } else { ": " };
    vec![told.map_or_else(|| format!("{count}."), |told| format!("{count}{first}{told}."))]
}

/// Returns subject, value and margin: `backup goodput sum 8.88 Mbit/s, 11 % above its bound of 8 Mbit/s`, or
/// with the name that the scenario gives it: `“the line stays free”: 8.88 Mbit/s, 11 % above its bound of 8
/// Mbit/s`.
fn measured(expect: &Expectation) -> String {
    let words = Words::of(&expect.that);
    let subject = match &expect.name {
        Some(name) => format!("“{name}”:"),
        None if expect.members.is_some() => format!("{}:", words.in_sentence()),
        None => words.in_sentence(),
    };
    if let Some(members) = expect.members {
        let share = text::share(members);
        let wanted = if members.wanted_ratio < 1.0 {
            format!(", wanted {}", figures::without_zeros(&figures::ratio(Some(members.wanted_ratio))))
        } else {
            String::new()
        };
        let keeps = if members.held == 1 { "keeps" } else { "keep" };
        // The name may not say of which quantity the bound is.
        let quantity = expect.name.as_ref().map(|_| format!("{} ", words.quantity)).unwrap_or_default();
        let bounds = short_bounds(expect);
        return format!(
            "{subject} {} of {} ({share}) {keeps} {quantity}{bounds}{wanted}",
            members.held, members.of
        );
    }
    let value = value(expect);
    if let Some(why) = &expect.no_bound {
        return format!("{subject} has no bound: {why}; wanted {}", short_bounds(expect));
    }
    if expect.value.is_none() {
        return format!("{subject} was not observed, wanted {}", short_bounds(expect));
    }
    match text::margin_of_bound(expect).as_str() {
        "" => format!("{subject} {value}, wanted {}", short_bounds(expect)),
        margin => format!("{subject} {value}, {margin}"),
    }
}

/// Returns a sentence on the flows or queues that do not keep an expectation that holds all the same.
fn exception(summary: &Summary, expect: &Expectation) -> Option<String> {
    let members = expect.members.filter(|members| expect.holds && members.held < members.of)?;
    let address = Address::parse(&expect.that).ok()?;
    let outside = members.of - members.held;
    let share = figures::ratio(Some(outside as f64 / members.of.max(1) as f64));
    let Words { quantity, .. } = Words::of(&expect.that);
    let all = words::members(&address);
    let silent = summary.values(&address).iter().filter(|(_, value)| value.is_none()).count() as u64;
    // The worst value is of one that does not keep the bounds, unless all of those have no value.
    let told = summary.worst_of(&address).filter(|_| silent < outside);
    let Some((worst, value)) = told else {
        let have = if outside == 1 { "has" } else { "have" };
        return Some(format!("{outside} of {} {all} ({share}) {have} no value of {quantity}.", members.of));
    };
    let worst_value = quantity_of(&expect.that, value);
    let fails = match (text::opposite(expect), outside) {
        (Some(opposite), 1) => format!("has {quantity} {opposite}"),
        (Some(opposite), _) => format!("have {quantity} {opposite}"),
        (None, 1) => format!("does not keep {quantity} {}", short_bounds(expect)),
        (None, _) => format!("do not keep {quantity} {}", short_bounds(expect)),
    };
    let worst = if outside == 1 { worst } else { format!("worst {worst}") };
    let without = match silent {
        0 => String::new(),
        silent => format!(", or no value ({silent})"),
    };
    Some(format!("{outside} of {} {all} ({share}) {fails}{without}: {worst}, {worst_value}.", members.of))
}

fn quantity_of(path: &str, value: f64) -> String {
    text::quantity(path, Some(value))
}

#[cfg(test)]
mod tests;
