//! Reproductions in the terminal, and the sentences that the report shares.

use std::time::Duration;

use lockgate::figures;
use lockgate_experiment::claims::{JudgedClaim, Live, Reproduction, Tallies, Tally, number};
use lockgate_measure::report::Cell;

use crate::output::say;
use crate::terminal;

/// Returns the claims of the paper, or Lockgate's own.
pub(super) fn claims(reproduction: &Reproduction, own: bool) -> Vec<&JudgedClaim> {
    reproduction.claims.iter().filter(|judged| judged.claim.own == own).collect()
}

/// Returns the name of a set of claims.
pub(super) const fn whose(own: bool) -> &'static str {
    if own { "Lockgate's own claims" } else { "the paper's claims" }
}

/// Returns a tally in words.
fn sentence(whose: &str, tally: Tally) -> String {
    let mut parts = vec![format!("{} of {} hold", tally.hold, tally.claims)];
    for (count, words) in [
        (tally.hold_fitted, "hold with a parameter that was fitted to them"),
        (tally.do_not_hold, "do not hold"),
        (tally.not_decidable, "cannot be decided from the paper's text"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    }
    format!("{whose}: {}", parts.join(", "))
}

/// Returns the tallies in words: of the paper's claims and, if there are any, of Lockgate's own.
pub(super) fn sentences(reproduction: &Reproduction) -> Vec<String> {
    let Tallies { paper, own } = Tallies::of(&reproduction.claims);
    let all = [(false, paper), (true, own)].into_iter();
    let some = all.filter(|(_, tally)| tally.claims > 0);
    some.map(|(is_own, tally)| sentence(whose(is_own), tally)).collect()
}

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

/// Returns the criterion of a claim, with the expected values if they are few.
pub(super) fn bound(judged: &JudgedClaim) -> String {
    let claim = &judged.claim;
    if claim.expected.len() > 1 && claim.expected.len() <= 6 {
        return format!("{}{}", judged.expected(), claim.bound().replace("each as given", ""));
    }
    claim.bound()
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

/// Returns a sentence on the results on real packets.
pub(super) fn on_packets(reproduction: &Reproduction, live: &Live) -> String {
    let of = |own: bool| {
        let claims = claims(reproduction, own);
        let agree = |wanted: Option<bool>| claims.iter().filter(|judged| judged.agree() == wanted).count();
        (!claims.is_empty()).then(|| {
            format!(
                "{}: {} as in the simulation, {} otherwise, {} not decided",
                whose(own),
                agree(Some(true)),
                agree(Some(false)),
                agree(None)
            )
        })
    };
    let words = [false, true].into_iter().filter_map(of).collect::<Vec<_>>().join("; ");
    if live.outside.is_empty() {
        return format!("live, {words}");
    }
    let (outside, made) = (live.outside.len(), live.scales.len());
    format!(
        "live, {words}; {outside} of {made} runs outside the fidelity limits: values of such runs are marked `!`"
    )
}

/// Returns the remarks on a claim.
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
