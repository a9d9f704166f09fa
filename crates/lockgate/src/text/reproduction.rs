//! Reproductions of papers as text.

use std::time::Duration;

use lockgate_experiment::claims::words::{bound, claims, on_packets, remarks, sentences, whose};
use lockgate_experiment::claims::{JudgedClaim, Reproduction, Tallies, Tally, number};
use lockgate_measure::report::Cell;

use super::lines::Lines;
use crate::figures;

/// Adds the tallies of all papers.
pub fn overview(all: &[Reproduction], lines: &mut Lines) {
    let mut tallies: Vec<(&str, Tallies)> =
        all.iter().map(|one| (one.name.as_str(), Tallies::of(&one.claims))).collect();
    let sum = tallies.iter().fold(Tallies::default(), |sum, (_, tallies)| sum.plus(*tallies));
    tallies.push(("together", sum));
    let header =
        ["paper", "claims", "hold", "hold, fitted", "do not hold", "of these with a fit", "not decidable"];
    for (title, of) in [
        ("the papers' claims", (|tallies| tallies.paper) as fn(&Tallies) -> Tally),
        (whose(true), |tallies| tallies.own),
    ] {
        lines.heading(title);
        let row = |(name, tallies): &(&str, Tallies)| {
            let Tally { claims, hold, hold_fitted, do_not_hold, hold_beside, not_decidable } = of(tallies);
            let counts = [claims, hold, hold_fitted, do_not_hold, hold_beside, not_decidable];
            std::iter::once((*name).to_owned()).chain(counts.iter().map(usize::to_string)).collect()
        };
        lines.table(&header, &tallies.iter().map(row).collect::<Vec<_>>());
    }
}

/// Adds a reproduction.
pub fn reproduction(reproduction: &Reproduction, lines: &mut Lines) {
    lines.heading(&reproduction.title);
    lines.line(&reproduction.paper);
    for own in [false, true] {
        let claims = claims(reproduction, own);
        if !claims.is_empty() {
            lines.heading(whose(own));
            lines.words(&["claim", "in words"], &claims.into_iter().map(row).collect::<Vec<_>>());
        }
    }
    for table in &reproduction.tables {
        lines.heading(&table.title);
        let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(text).collect()).collect();
        lines.texts(&table.columns, &rows);
        lines.line(&table.note);
    }
    for note in &reproduction.notes {
        lines.line(&format!("note: {note}"));
    }
    lines.line("");
    for sentence in sentences(reproduction) {
        lines.line(&sentence);
    }
    if let Some(live) = &reproduction.live {
        lines.line(&on_packets(reproduction, live));
    }
}

/// Returns the row of a claim: two columns, so that a terminal of 100 columns has room for its words.
fn row(judged: &JudgedClaim) -> Vec<String> {
    let claim = &judged.claim;
    let mut lines = vec![claim.text.clone(), format!("{}: {}", claim.place, claim.paper)];
    let mut values = match bound(judged) {
        bound if bound.is_empty() => format!("simulation: {}", judged.shown()),
        bound => format!("simulation: {} (bound: {bound})", judged.shown()),
    };
    let beside = judged.shown_beside();
    for (name, shown) in [("fitted", beside), ("live", judged.shown_live())] {
        if !shown.is_empty() {
            values = format!("{values}; {name}: {shown}");
        }
    }
    lines.push(values);
    lines.extend(remarks(judged));
    vec![format!("{}\n{}", claim.id, judged.words()), lines.join("\n")]
}

/// Adds the number of runs and the time that they took, and the report's path.
pub fn reproduction_cost(
    reproduction: &Reproduction,
    took: Duration,
    report: &std::path::Path,
    lines: &mut Lines,
) {
    if let Some(live) = &reproduction.live {
        lines.line("");
        lines.line(&format!(
            "{} live runs, {:.0} s of real time if one after the other; {} outside the limits",
            live.scales.len(),
            live.real_s,
            live.outside.len()
        ));
    }
    let cost = &reproduction.cost;
    lines.line("");
    lines.line(&format!(
        "{} runs, {:.0} s simulated, {:.0} million packet-hops in {:.1} s; report: {}",
        cost.runs,
        cost.simulated_s,
        cost.packet_hops as f64 / 1e6,
        took.as_secs_f64(),
        report.display()
    ));
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Number(value) => number(*value),
        Cell::Quantity(quantity) => figures::quantity(Some(quantity.value), quantity.unit.symbol()),
        Cell::Text(text) => text.clone(),
        Cell::Empty => String::new(),
    }
}
