//! Reproductions in the terminal, and the sentences that the report shares.

use std::time::Duration;

use lockgate::figures;
use lockgate_experiment::claims::{JudgedClaim, Live, Reproduction, Verdict, number};
use lockgate_measure::report::Cell;

use crate::output::say;
use crate::terminal;

/// Counts the claims by verdict.
fn counts(reproduction: &Reproduction) -> [usize; 4] {
    [Verdict::Holds, Verdict::HoldsFitted, Verdict::DoesNotHold, Verdict::NotDecidable]
        .map(|verdict| reproduction.claims.iter().filter(|judged| judged.verdict == verdict).count())
}

/// Returns the counts in words.
pub(super) fn sentence(reproduction: &Reproduction) -> String {
    let [holds, fitted, fails, open] = counts(reproduction);
    let mut parts = vec![format!("{holds} of {} claims hold", reproduction.claims.len())];
    for (count, words) in [
        (fitted, "hold with a parameter that was fitted to them"),
        (fails, "do not hold"),
        (open, "are not decidable from the paper's text"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    }
    parts.join(", ")
}

/// Prints the counts of all papers.
pub(crate) fn overview(all: &[Reproduction]) {
    terminal::heading("papers");
    let mut rows = Vec::new();
    let mut sum = [0; 4];
    for reproduction in all {
        let counts = counts(reproduction);
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        rows.push((reproduction.name.clone(), counts));
    }
    rows.push(("together".to_owned(), sum));
    let row = |(name, counts): &(String, [usize; 4])| {
        let total: usize = counts.iter().sum();
        let mut cells = vec![name.clone(), total.to_string()];
        cells.extend(counts.iter().map(usize::to_string));
        cells
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    terminal::table(&["paper", "claims", "hold", "hold, fitted", "do not hold", "figure only"], &rows);
}

/// Returns the criterion of a claim, with the expected values if they are few.
pub(super) fn bound(judged: &JudgedClaim) -> String {
    let claim = &judged.claim;
    if claim.expected.len() > 1 && claim.expected.len() <= 6 {
        return format!("{}{}", judged.expected(), claim.bound().replace("each as given", ""));
    }
    claim.bound()
}

/// Column of real packets in the terminal's table.
pub(super) const LIVE: usize = 5;

/// Prints a reproduction.
pub(crate) fn show(reproduction: &Reproduction) {
    terminal::heading(&reproduction.title);
    say!("{}", reproduction.paper);
    terminal::heading("claims");
    let row = |judged: &JudgedClaim| {
        let claim = &judged.claim;
        vec![
            claim.id.clone(),
            claim.text.clone(),
            format!("{}: {}", claim.place, claim.paper),
            bound(judged),
            judged.shown(),
            judged.shown_live(),
            judged.words(),
        ]
    };
    let mut rows: Vec<Vec<String>> = reproduction.claims.iter().map(row).collect();
    let mut header = vec!["claim", "in words", "the paper", "bound", "simulation", "live", "verdict"];
    if reproduction.live.is_none() {
        header.remove(LIVE);
        for row in &mut rows {
            row.remove(LIVE);
        }
    }
    terminal::words(&header, &rows);
    for judged in &reproduction.claims {
        for remark in remarks(judged) {
            say!("{}: {remark}", judged.claim.id);
        }
    }
    for table in &reproduction.tables {
        terminal::heading(&table.title);
        let header: Vec<&str> = table.columns.iter().map(String::as_str).collect();
        let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(text).collect()).collect();
        terminal::table(&header, &rows);
        say!("{}", table.note);
    }
    for note in &reproduction.notes {
        say!("note: {note}");
    }
    say!("\n{}", sentence(reproduction));
    if let Some(live) = &reproduction.live {
        say!("{}", on_packets(reproduction, live));
    }
}

/// Prints the number of runs and the time that they took, and the report's path.
pub(crate) fn cost(reproduction: &Reproduction, took: Duration, report: &std::path::Path) {
    if let Some(live) = &reproduction.live {
        say!(
            "\n{} live runs, {:.0} s of real time if one after the other; {} outside the limits",
            live.scales.len(),
            live.real_s,
            live.outside.len()
        );
    }
    let cost = &reproduction.cost;
    say!(
        "\n{} runs, {:.0} s simulated, {:.0} million packet-hops in {:.1} s; report: {}",
        cost.runs,
        cost.simulated_s,
        cost.packet_hops as f64 / 1e6,
        took.as_secs_f64(),
        report.display()
    );
}

/// Returns a sentence on the results on real packets.
pub(super) fn on_packets(reproduction: &Reproduction, live: &Live) -> String {
    let agree =
        |wanted: Option<bool>| reproduction.claims.iter().filter(|judged| judged.agree() == wanted).count();
    let words = format!(
        "live: {} claims as in the simulation, {} otherwise, {} not decided there",
        agree(Some(true)),
        agree(Some(false)),
        agree(None)
    );
    if live.outside.is_empty() {
        return words;
    }
    let (outside, made) = (live.outside.len(), live.scales.len());
    format!(
        "{words}; {outside} of {made} runs outside the fidelity limits: values of such runs are marked `!`"
    )
}

/// Returns the remarks on a claim, for below the table.
pub(super) fn remarks(judged: &JudgedClaim) -> Vec<String> {
    let claim = &judged.claim;
    let mut remarks = Vec::new();
    if !claim.note.is_empty() {
        remarks.push(claim.note.clone());
    }
    remarks.extend(claim.undecidable.iter().map(|why| format!("not decidable: {why}")));
    if judged.agree() == Some(false) {
        remarks.extend(claim.live_differs.iter().map(|difference| format!("live: {}", difference.words())));
    }
    remarks
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Number(value) => number(*value),
        Cell::Quantity(quantity) => figures::quantity(Some(quantity.value), quantity.unit.symbol()),
        Cell::Text(text) => text.clone(),
        Cell::Empty => String::new(),
    }
}
