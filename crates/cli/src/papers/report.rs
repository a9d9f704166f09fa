//! Report of a reproduction.

use lockgate_experiment::claims::Reproduction;
use lockgate_experiment::claims::words::{on_packets, sentences, tables};
use lockgate_measure::report::page;

use crate::results;

/// Returns the page of a reproduction. `command` repeats it.
pub(crate) fn report(reproduction: &Reproduction, command: &str) -> String {
    let mut report = results::report_head(&reproduction.title, &reproduction.text);
    command.clone_into(&mut report.command);
    report.verdict = sentences(reproduction);
    report.verdict.extend(reproduction.live.iter().map(|live| on_packets(reproduction, live)));
    report.verdict.extend(reproduction.notes.iter().cloned());
    report.comparisons = tables(reproduction);
    report.comparisons.extend(reproduction.tables.iter().cloned());
    report.figures.clone_from(&reproduction.figures);
    report.topology = results::topology(&reproduction.scenario);
    page(&results::template(), report)
}
