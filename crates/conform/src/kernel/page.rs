//! Comparisons with a kernel as texts: for the terminal and the report.

use lockgate_measure::figures::{self, count};
use lockgate_measure::report::{Cell, Comparison as Table};

use super::{Comparison, Line, RunComparison, Verdict};

/// Headings of the tables.
pub const COLUMNS: [&str; 7] =
    ["flow", "quantity", "kernel", "ours ± one run", "difference", "tolerance", "verdict"];

/// Formats a value with its unit; counts and shares have none.
fn quantity(value: f64, unit: &str) -> String {
    if unit.is_empty() { crate::page::quantity(value, "") } else { figures::quantity(Some(value), unit) }
}

/// Returns the table row of a quantity.
pub fn cells(line: &Line) -> [String; 7] {
    let off = |value: f64| {
        if line.relative { format!("{:.2} %", value * 100.0) } else { quantity(value, line.unit) }
    };
    let spread =
        if line.spread > 0.0 { format!(" ± {}", quantity(line.spread, line.unit)) } else { String::new() };
    [
        line.flow.clone(),
        line.quantity.to_owned(),
        quantity(line.kernel, line.unit),
        quantity(line.ours, line.unit) + &spread,
        off(line.difference),
        off(line.tolerance),
        line_verdict(line),
    ]
}

fn line_verdict(line: &Line) -> String {
    let deviations =
        line.deviations().map(|deviations| format!(" ({deviations:.1} se beyond)")).unwrap_or_default();
    match line.verdict {
        Verdict::Holds => "✓ holds".to_owned(),
        Verdict::Known => format!("~ known{deviations}"),
        Verdict::NotDecidable => format!("? not decidable{deviations}"),
        Verdict::Differs => format!("✗ differs{deviations}"),
    }
}

/// Returns the known differences of a run's quantities, whether or not they are out of bounds.
fn known(run: &RunComparison) -> impl Iterator<Item = String> + '_ {
    run.lines.iter().filter_map(|line| {
        let why = line.known.as_ref()?;
        let now = if line.verdict == Verdict::Holds { "known to be off, and holds" } else { "known" };
        Some(format!("{now}: {} {}: {why}", line.flow, line.quantity))
    })
}

/// Returns the number of quantities that hold, in a sentence.
pub fn sentence(document: &Comparison) -> String {
    let Comparison { compared, held, known, not_decidable, not_run, without_queue, .. } = document;
    let ran = document.runs.len() - not_run;
    let sign = if document.holds { "✓" } else { "✗" };
    let known = if *known > 0 { format!("; {known} are off as is known") } else { String::new() };
    let open =
        if *not_decidable > 0 { format!("; {not_decidable} are not decidable") } else { String::new() };
    let missing = match (not_run - without_queue, document.allows_missing) {
        (0, _) => String::new(),
        (other, true) => format!("; {} not made, which is allowed", count(other as u64, "run")),
        (other, false) => format!("; {} not made: `--allow-missing` allows that", count(other as u64, "run")),
    };
    let bare = match without_queue {
        0 => String::new(),
        bare => format!("; {} without a queue not made", count(*bare as u64, "run")),
    };
    let ran = count(ran as u64, "run");
    format!("{sign} {held} of {compared} quantities of {ran} hold{known}{open}{missing}{bare}")
}

/// Returns what a reader of a run's table must know besides.
pub fn remarks(run: &RunComparison) -> impl Iterator<Item = String> + '_ {
    let replayed = (!run.replayed.is_empty())
        .then(|| format!("the kernel's own arrivals, packet for packet: {}", run.replayed.join(", ")));
    let left_out = run.left_out.iter().map(|what| format!("left out: {what}"));
    replayed.into_iter().chain(known(run)).chain(left_out)
}

fn note(run: &RunComparison) -> String {
    let ours = format!("ours is the mean of {} runs; behind ± the standard deviation of one", run.runs);
    [ours].into_iter().chain(remarks(run)).collect::<Vec<_>>().join("; ")
}

/// Returns the verdict on all runs: the sentence, then each run that was not made.
pub fn verdict(document: &Comparison) -> Vec<String> {
    let not_run = |run: &RunComparison| Some(format!("{} was not run: {}", run.id, run.not_run.as_ref()?));
    std::iter::once(sentence(document)).chain(document.runs.iter().filter_map(not_run)).collect()
}

/// Returns a table for each run that was made.
pub fn tables(document: &Comparison) -> Vec<Table> {
    let table = |run: &RunComparison| Table {
        title: run.id.clone(),
        columns: COLUMNS.map(str::to_owned).to_vec(),
        rows: run.lines.iter().map(|line| cells(line).map(Cell::Text).to_vec()).collect(),
        addresses: Vec::new(),
        note: note(run),
    };
    document.runs.iter().filter(|run| run.not_run.is_none()).map(table).collect()
}
