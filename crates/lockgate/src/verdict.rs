//! Verdict of runs in words: the sentences of [`lockgate_measure::verdict`], and a line on all of them.

use lockgate_measure::summary::{Expectation, Summary};
pub use lockgate_measure::verdict::{
    Wait, Words, bounds, difference, interval, label, margin, quantity, sentence, settings, short_bounds,
    sign, used, value, words,
};
use lockgate_scenario::diagnostic::visible;

use crate::Runs;

/// True if all expectations hold.
pub fn holds(summary: &Summary) -> bool {
    summary.expect.iter().all(|expect| expect.holds)
}

/// Returns a sentence for each expectation.
pub fn sentences(summary: &Summary) -> Vec<String> {
    summary.expect.iter().map(|expect| format!("{}: {}", sign(expect.holds), sentence(expect))).collect()
}

/// Returns the sentences of the verdict: what holds and how tightly, where packets waited, what changes did.
pub fn answer(summary: &Summary) -> Vec<String> {
    summary.verdict().sentences().iter().map(|sentence| visible(sentence).into_owned()).collect()
}

/// Returns the verdict in a line.
pub fn line(summary: &Summary, runs: &Runs) -> String {
    let stopped = if runs.stopped_early { "stopped early; " } else { "" };
    let missed: Vec<&Expectation> = summary.expect.iter().filter(|expect| !expect.holds).collect();
    let all = summary.expect.len();
    let text = match (runs.unfaithful.as_slice(), missed.as_slice(), all) {
        (reasons @ [_, ..], ..) => format!("✗ outside the fidelity limits: {}", reasons.join("; ")),
        ([], [], 0) => "ended; nothing is expected in this scenario".to_owned(),
        ([], [], 1) => format!("✓ the expectation holds: {}", sentence(&summary.expect[0])),
        ([], [], _) => format!("✓ {all} of {all} expectations hold"),
        ([], [only], 1) => format!("✗ the expectation is missed: {}", sentence(only)),
        ([], [first, ..], _) => {
            format!("✗ {} of {all} expectations missed: {}", missed.len(), sentence(first))
        }
    };
    visible(&format!("{stopped}{text}")).into_owned()
}

/// Returns the most important finding besides the verdict: the queue in which packets waited longest, with
/// its drops.
pub fn main_finding(summary: &Summary) -> String {
    visible(&lockgate_measure::verdict::longest_wait(summary)).into_owned()
}
