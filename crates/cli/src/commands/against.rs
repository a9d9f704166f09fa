//! `lockgate conform --against`: reference runs of a kernel, run in the simulator.

use std::path::Path;
use std::time::Instant;

use lockgate_conform::kernel::{Comparison, Line, Reference, RunComparison, compare};
use lockgate_measure::report::{Cell, Comparison as Table, ReportData};

use super::conform::{each, ended, leave};
use crate::arguments::Conform;
use crate::directory::Results;
use crate::exit::{Exit, Failure};
use crate::figures;
use crate::files;
use crate::output::say;
use crate::terminal;
use crate::{interrupt, results};

const COLUMNS: [&str; 7] =
    ["flow", "quantity", "kernel", "ours ± one run", "difference", "tolerance", "verdict"];

pub(crate) fn against(arguments: &Conform, file: &Path) -> Result<Exit, Failure> {
    let shown = file.display();
    let unusable = |why: String| {
        Failure::usage(format!("cannot use `{shown}`: {why}"), "name a JSON file of reference runs")
    };
    let reference = files::text(file).and_then(|text| Reference::read(&text)).map_err(unusable)?;
    let out = arguments.out.as_deref().map(|out| Results::start(Some(out), "conform")).transpose()?;
    interrupt::listen();
    let started = Instant::now();
    let all: Vec<usize> = (0..reference.experiments.len()).collect();
    let name = |index: &usize| reference.experiments[*index].0.clone();
    let one = |index: &usize| compare(&reference, *index, arguments.seed);
    let (runs, interrupted) = each(&all, arguments.quiet, &name, &one);
    let document = Comparison::new(arguments.seed, runs);
    if !arguments.json {
        show(&document);
    }
    leave(arguments, out, &document, &report(&document), started)?;
    Ok(ended(document.holds, interrupted))
}

/// A value with its unit; counts and shares as they are.
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
    match line.deviations() {
        _ if line.holds => "✓ holds".to_owned(),
        Some(deviations) => format!("✗ does not hold ({deviations:.1} sd)"),
        None => "✗ does not hold".to_owned(),
    }
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
    }
    say!(
        "\nBehind ± is the standard deviation (sd) of one run: of ours, or of runs that start with other phases of the flows."
    );
    say!("{}", sentence(document));
}

fn sentence(document: &Comparison) -> String {
    let lines = document.runs.iter().flat_map(|run| &run.lines);
    let (all, held) = lines.fold((0, 0), |(all, held), line| (all + 1, held + u32::from(line.holds)));
    let ran = document.runs.iter().filter(|run| run.not_run.is_none()).count();
    let sign = if document.holds { "✓" } else { "✗" };
    format!(
        "{sign} {held} of {all} quantities of {ran} runs hold; {} were not run",
        document.runs.len() - ran
    )
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
        note: match run.runs {
            1 => "nothing is drawn: one run; behind ± what other phases of the flows make of it".to_owned(),
            runs => format!("ours is the mean of {runs} runs; behind ± the standard deviation of one"),
        },
    };
    report.comparisons = document.runs.iter().filter(|run| run.not_run.is_none()).map(table).collect();
    report.definitions.clear();
    report
}
