//! Output of `lockgate identify`: lines, a document, a page.

use lockgate::figures;
use lockgate_identify::picture::{figures_of, rounds_of};
use lockgate_identify::{Property, Verdict, properties};
use lockgate_measure::report::{Cell, Comparison, page as page_of};
use serde_json::json;

use super::Probed;
use crate::exit::Failure;
use crate::output::say;
use crate::results;

/// Prints at most fifteen lines, and with `explain` the rounds and the fits.
pub(super) fn show(probed: &Probed, explain: bool) {
    let Probed { what, identified, .. } = probed;
    let rounds = identified.probe.rounds.len() as u64;
    say!(
        "{what}: {} in {}, {:.1} s",
        figures::quantity(Some(identified.probe.bytes() as f64), "B"),
        figures::count(rounds, "round"),
        identified.probe.span().as_secs_f64()
    );
    let all = properties(identified);
    let width = all.iter().map(|property| property.name.len()).max().unwrap_or(0);
    for Property { name, value, how, .. } in &all {
        say!("{name:width$}  {value}  [{how}]");
    }
    if explain {
        say!();
        for round in &identified.probe.rounds {
            say!(
                "{:8} {:>9}  {}",
                round.purpose.name(),
                figures::quantity(Some(round.bytes() as f64), "B"),
                round.reason
            );
        }
        say!();
        say!(
            "{} simulated passes; the misfit of a feature is about 1 for the right queue",
            identified.passes
        );
        for fit in identified.fits.iter().take(5) {
            say!("{:10} misfit {:.2}  {}", fit.candidate.name, fit.mean_misfit(), fit.candidate.sentence);
        }
    }
}

fn document(probed: &Probed) -> serde_json::Value {
    let Probed { what, identified, .. } = probed;
    let verdict = match &identified.verdict {
        Verdict::Decided => "decided",
        Verdict::Undecided => "undecided",
        Verdict::NoneOfThese => "none",
        Verdict::Unknown(_) => "unknown",
    };
    let rounds = identified.probe.rounds.iter().map(|round| {
        json!({ "purpose": round.purpose, "reason": round.reason, "bytes": round.bytes(), "packets": round.packets.len() })
    });
    let fits = identified.fits.iter().map(
        |fit| json!({ "queue": fit.candidate.name, "misfit": fit.mean_misfit(), "others_bps": fit.others }),
    );
    json!({
        "schema": 1,
        "line": what,
        "verdict": verdict,
        "queue": identified.fits.first().filter(|_| verdict == "decided").map(|fit| fit.candidate.name),
        "odds": identified.odds.min(1e12),
        "sent_bytes": identified.probe.bytes(),
        "seconds": identified.probe.span().as_secs_f64(),
        "properties": properties(identified),
        "rounds": rounds.collect::<Vec<_>>(),
        "fits": fits.collect::<Vec<_>>(),
    })
}

/// Prints the document of one direction, or of two in an array.
pub(super) fn print_json(all: &[Probed]) -> Result<(), Failure> {
    if let [one] = all {
        return results::print_json(&document(one));
    }
    let directions: Vec<_> = all.iter().map(document).collect();
    results::print_json(&json!({ "schema": 1, "directions": directions }))
}

/// Returns the page: the properties of each direction, what was sent and what came, and the predictions of
/// the two best candidates beside it.
pub(super) fn page(all: &[Probed]) -> String {
    let (mut verdict, mut tables, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    for probed in all {
        let Probed { identified, .. } = probed;
        let what = probed.line.as_ref().unwrap_or(&probed.what);
        let rows = properties(identified);
        verdict.extend(rows.first().map(|queue| format!("The line {what}: {}", queue.value)));
        let cells = |row: Property| {
            [row.name.to_owned(), row.value, row.how].into_iter().map(Cell::Text).collect::<Vec<_>>()
        };
        tables.push(Comparison {
            title: format!("The line {what}"),
            columns: ["property", "value", "how it was seen"].map(str::to_owned).to_vec(),
            rows: rows.into_iter().map(cells).collect(),
            ..Comparison::default()
        });
        tables.push(rounds_of(what, identified));
        figures.extend(figures_of(what, identified, probed.origin));
    }
    let mut report = results::report_head("Which queue is on this line", "");
    (report.verdict, report.comparisons, report.figures) = (verdict, tables, figures);
    report.definitions.clear();
    page_of(&results::template(), report)
}
