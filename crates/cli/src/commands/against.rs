//! `lockgate conform --against`: a kernel's reference runs, repeated in the simulator.

use std::path::Path;
use std::time::Instant;

use lockgate_conform::kernel::{Comparison, Line, Reference, RunComparison, Verdict, compare};
use lockgate_measure::report::{Cell, Comparison as Table, ReportData};

use super::conform::{each, ended, leave};
use crate::arguments::Conform;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::say;
use crate::results::{self, ResultsDirectory};
use crate::terminal;
use lockgate::figures::{self, count};
use lockgate::files;

const COLUMNS: [&str; 7] =
    ["flow", "quantity", "kernel", "ours ± one run", "difference", "tolerance", "verdict"];

pub(crate) fn against(arguments: &Conform, file: &Path) -> Result<Exit, Failure> {
    let shown = file.display();
    let unusable = |why: String| {
        Failure::usage(format!("cannot use `{shown}`: {why}"), "name a JSON file of reference runs")
    };
    let reference = files::text(file).and_then(|text| Reference::read(&text)).map_err(unusable)?;
    let out =
        arguments.out.as_deref().map(|out| ResultsDirectory::start(Some(out), "conform")).transpose()?;
    interrupt::listen();
    let started = Instant::now();
    let all: Vec<usize> = (0..reference.experiments.len()).collect();
    let name = |index: &usize| reference.experiments[*index].0.clone();
    let one = |index: &usize| compare(&reference, *index, arguments.seed);
    let (runs, interrupted) = each(&all, arguments.quiet, &name, &one);
    let document = Comparison::new(arguments.seed, arguments.allow_missing, runs);
    if !arguments.json {
        show(&document);
    }
    leave(arguments, out, &document, &report(&document), started)?;
    Ok(ended(document.holds || (interrupted && document.differing == 0), interrupted))
}

/// Formats a value with its unit; counts and shares have none.
fn quantity(value: f64, unit: &str) -> String {
    if unit.is_empty() {
        lockgate_conform::page::quantity(value, "")
    } else {
        figures::quantity(Some(value), unit)
    }
}

fn cells(line: &Line) -> [String; 7] {
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
        verdict(line),
    ]
}

fn verdict(line: &Line) -> String {
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

fn show(document: &Comparison) {
    for run in &document.runs {
        terminal::heading(&run.id);
        if let Some(why) = &run.not_run {
            say!("not run: {why}");
            continue;
        }
        let rows: Vec<Vec<String>> = run.lines.iter().map(|line| cells(line).into()).collect();
        terminal::words(&COLUMNS, &rows);
        remarks(run).for_each(|line| say!("{line}"));
    }
    say!(
        "\nOurs is the mean of the simulated runs; ± is the standard deviation of one run, in brackets the difference in \
         standard errors (se). A quantity differs if it is more than 2.58 se beyond its tolerance."
    );
    say!("{}", sentence(document));
}

fn sentence(document: &Comparison) -> String {
    let Comparison { compared, held, known, not_decidable, not_run, .. } = document;
    let ran = document.runs.len() - not_run;
    let sign = if document.holds { "✓" } else { "✗" };
    let known = if *known > 0 { format!("; {known} are off as is known") } else { String::new() };
    let open =
        if *not_decidable > 0 { format!("; {not_decidable} are not decidable") } else { String::new() };
    let missing = match (not_run, document.allows_missing) {
        (0, _) => String::new(),
        (_, true) => format!("; {} not made, which is allowed", count(*not_run as u64, "run")),
        (_, false) => format!("; {} not made: `--allow-missing` allows that", count(*not_run as u64, "run")),
    };
    let ran = count(ran as u64, "run");
    format!("{sign} {held} of {compared} quantities of {ran} hold{known}{open}{missing}")
}

/// Returns what a reader of a run's table must know besides.
fn remarks(run: &RunComparison) -> impl Iterator<Item = String> + '_ {
    let replayed = (!run.replayed.is_empty())
        .then(|| format!("the kernel's own arrivals, packet for packet: {}", run.replayed.join(", ")));
    let left_out = run.left_out.iter().map(|what| format!("left out: {what}"));
    replayed.into_iter().chain(known(run)).chain(left_out)
}

fn note(run: &RunComparison) -> String {
    let ours = format!("ours is the mean of {} runs; behind ± the standard deviation of one", run.runs);
    [ours].into_iter().chain(remarks(run)).collect::<Vec<_>>().join("; ")
}

fn report(document: &Comparison) -> ReportData {
    let mut report = results::report_head("The simulator beside a kernel", "");
    report.verdict = vec![sentence(document)];
    let not_run = |run: &RunComparison| Some(format!("{} was not run: {}", run.id, run.not_run.as_ref()?));
    report.verdict.extend(document.runs.iter().filter_map(not_run));
    let table = |run: &RunComparison| Table {
        title: run.id.clone(),
        columns: COLUMNS.map(str::to_owned).to_vec(),
        rows: run.lines.iter().map(|line| cells(line).map(Cell::Text).to_vec()).collect(),
        note: note(run),
    };
    report.comparisons = document.runs.iter().filter(|run| run.not_run.is_none()).map(table).collect();
    report.definitions.clear();
    report
}
