//! Reproductions in the terminal.

use std::time::Duration;

use lockgate::figures;
use lockgate_experiment::claims::words::{bound, claims, on_packets, remarks, sentences, whose};
use lockgate_experiment::claims::{JudgedClaim, Reproduction, Tallies, Tally, number};
use lockgate_measure::report::Cell;

use crate::output::say;
use crate::terminal;

/// Prints the tallies of all papers.
pub(crate) fn overview(all: &[Reproduction]) {
    let mut tallies: Vec<(&str, Tallies)> =
        all.iter().map(|one| (one.name.as_str(), Tallies::of(&one.claims))).collect();
    let sum = tallies.iter().fold(Tallies::default(), |sum, (_, tallies)| sum.plus(*tallies));
    tallies.push(("together", sum));
    let header = ["paper", "claims", "hold", "hold, fitted", "do not hold", "not decidable"];
    for (title, of) in [
        ("the papers' claims", (|tallies| tallies.paper) as fn(&Tallies) -> Tally),
        (whose(true), |tallies| tallies.own),
    ] {
        terminal::heading(title);
        let row = |(name, tallies): &(&str, Tallies)| {
            let Tally { claims, hold, hold_fitted, do_not_hold, not_decidable } = of(tallies);
            let counts = [claims, hold, hold_fitted, do_not_hold, not_decidable];
            std::iter::once((*name).to_owned()).chain(counts.iter().map(usize::to_string)).collect()
        };
        terminal::table(&header, &tallies.iter().map(row).collect::<Vec<_>>());
    }
}

/// Prints a reproduction.
pub(crate) fn show(reproduction: &Reproduction) {
    terminal::heading(&reproduction.title);
    say!("{}", reproduction.paper);
    for own in [false, true] {
        let claims = claims(reproduction, own);
        if !claims.is_empty() {
            terminal::heading(whose(own));
            terminal::words(&["claim", "in words"], &claims.into_iter().map(row).collect::<Vec<_>>());
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
    say!("");
    for sentence in sentences(reproduction) {
        say!("{sentence}");
    }
    if let Some(live) = &reproduction.live {
        say!("{}", on_packets(reproduction, live));
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
    let live = judged.shown_live();
    if !live.is_empty() {
        values.push_str("; live: ");
        values.push_str(&live);
    }
    lines.push(values);
    lines.extend(remarks(judged));
    vec![format!("{}\n{}", claim.id, judged.words()), lines.join("\n")]
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

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Number(value) => number(*value),
        Cell::Quantity(quantity) => figures::quantity(Some(quantity.value), quantity.unit.symbol()),
        Cell::Text(text) => text.clone(),
        Cell::Empty => String::new(),
    }
}
