//! Report of a reproduction.

use lockgate_experiment::claims::{JudgedClaim, Live, Reproduction};
use lockgate_measure::report::{Cell, Comparison, page};

use super::show::{bound, claims, on_packets, remarks, sentences, whose};
use crate::results;

/// Returns the page of a reproduction. `command` repeats it.
pub(crate) fn report(reproduction: &Reproduction, command: &str) -> String {
    let mut report = results::report_head(&reproduction.title, &reproduction.text);
    command.clone_into(&mut report.command);
    report.verdict = sentences(reproduction);
    report.verdict.extend(reproduction.live.iter().map(|live| on_packets(reproduction, live)));
    report.verdict.extend(reproduction.notes.iter().cloned());
    report.comparisons = [false, true].into_iter().filter_map(|own| table(reproduction, own)).collect();
    report.comparisons.extend(reproduction.live.as_ref().map(live_runs));
    report.comparisons.extend(ours(reproduction));
    report.comparisons.extend(reproduction.tables.iter().cloned());
    report.figures.clone_from(&reproduction.figures);
    report.topology = results::topology(&reproduction.scenario);
    page(results::TEMPLATE, &report)
}

/// Returns the table of the paper's claims, or of Lockgate's own; `None` if there are none.
fn table(reproduction: &Reproduction, own: bool) -> Option<Comparison> {
    let is_live = reproduction.live.is_some();
    let cells = |judged: &JudgedClaim| {
        let claim = &judged.claim;
        let mut cells = vec![
            claim.place.clone(),
            claim.text.clone(),
            claim.paper.clone(),
            claim.decide.clone(),
            bound(judged),
            judged.shown(),
        ];
        cells.extend(is_live.then(|| judged.shown_live()));
        cells.push(judged.words());
        cells.into_iter().map(Cell::Text).collect()
    };
    let rows: Vec<Vec<Cell>> = claims(reproduction, own).into_iter().map(cells).collect();
    let mut columns = vec!["where", "claim", "the paper", "decided by", "bound", "simulation"];
    columns.extend(is_live.then_some("live"));
    columns.push("verdict");
    let note = if own {
        "Causes, checks against other models, and derivations that the paper does not make."
    } else {
        reproduction.paper.as_str()
    };
    (!rows.is_empty()).then(|| Comparison {
        title: whose(own).to_owned(),
        columns: columns.into_iter().map(str::to_owned).collect(),
        rows,
        note: note.to_owned(),
    })
}

/// Returns the table of runs on real packets, with the reasons why others were not made.
fn live_runs(live: &Live) -> Comparison {
    let text = |text: &str| Cell::Text(text.to_owned());
    let made = live.scales.iter().map(|(run, scale)| {
        let limits = live.outside.get(run).map_or_else(|| "within".to_owned(), |why| why.join("; "));
        vec![text(run), Cell::Number(scale.times()), Cell::Text(limits)]
    });
    let not = live
        .not
        .iter()
        .map(|(run, why)| vec![text(run), Cell::Empty, Cell::Text(format!("not made: {why}"))]);
    Comparison {
        title: "Runs on real packets".to_owned(),
        columns: ["run", "times faster", "fidelity limits"].map(str::to_owned).to_vec(),
        rows: made.chain(not).collect(),
        note: "A run that is faster has its rates multiplied and its times divided by that; its values are told in the paper's \
               time."
            .to_owned(),
    }
}

/// Returns the table of parameters that we chose for the claims, with remarks.
fn ours(reproduction: &Reproduction) -> Option<Comparison> {
    let mut rows = Vec::new();
    for judged in &reproduction.claims {
        let claim = &judged.claim;
        let mut words = remarks(judged);
        if !claim.ours.is_empty() {
            words.push(format!("ours, because the paper is silent: {}", claim.ours.join("; ")));
        }
        if !claim.fitted.is_empty() {
            words.push(format!("fitted: {}", claim.fitted.join(", ")));
        }
        if !claim.chosen.is_empty() {
            words.push(format!("the bound is ours: {}", claim.chosen));
        }
        rows.extend(words.into_iter().map(|words| vec![Cell::Text(claim.text.clone()), Cell::Text(words)]));
    }
    (!rows.is_empty()).then(|| Comparison {
        title: "Remarks".to_owned(),
        columns: ["claim", "remark"].map(str::to_owned).to_vec(),
        rows,
        note: String::new(),
    })
}
