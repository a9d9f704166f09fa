//! `lockgate conform`: disciplines tested against their theorems.

use std::time::Instant;

use lockgate_conform::page::{COLUMNS, cells, failures, sentence, tables, verdict};
use lockgate_conform::{Conformance, Kind, Row, Task, tasks};
use lockgate_measure::report::{Comparison, ReportData, page};
use rayon::prelude::*;
use serde::Serialize;

use crate::arguments::Conform;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::say;
use crate::results::{self, ResultsDirectory};
use crate::terminal;

pub(crate) fn conform(arguments: &Conform) -> Result<Exit, Failure> {
    let kinds = kinds(arguments.kind.as_deref())?;
    let out =
        arguments.out.as_deref().map(|out| ResultsDirectory::start(Some(out), "conform")).transpose()?;
    interrupt::listen();
    let started = Instant::now();
    let tasks = tasks(&kinds, arguments.seed, arguments.trials);
    let (rows, interrupted) = run(&tasks, arguments.quiet);
    let document = Conformance::new(&kinds, arguments.seed, rows);
    if !arguments.json {
        show(&document);
    }
    let report = report("Disciplines against their theorems", verdict(&document), tables(&document));
    leave(arguments, out, &document, report, started)?;
    Ok(ended(document.holds, interrupted))
}

/// Prints the document or the elapsed time, and writes document and report if requested.
pub(super) fn leave(
    arguments: &Conform,
    out: Option<ResultsDirectory>,
    document: &impl Serialize,
    report: ReportData,
    started: Instant,
) -> Result<(), Failure> {
    let text = results::json(document)?;
    if arguments.json {
        crate::output::document(text.as_bytes());
    } else {
        say!("{:.1} s", started.elapsed().as_secs_f64());
    }
    let Some(out) = out else { return Ok(()) };
    let directory = write(out, &text, report)?;
    if !arguments.json {
        say!("report: {directory}");
    }
    Ok(())
}

/// Returns the command's exit code.
pub(super) fn ended(holds: bool, interrupted: bool) -> Exit {
    match (holds, interrupted) {
        (false, _) => Exit::ExpectMissed,
        (true, true) => Exit::Interrupted,
        (true, false) => Exit::Ok,
    }
}

fn kinds(name: Option<&str>) -> Result<Vec<Kind>, Failure> {
    let Some(name) = name else { return Ok(Kind::all()) };
    Kind::named(name).map(|kind| vec![kind]).ok_or_else(|| {
        let known: Vec<_> = Kind::all().iter().map(|kind| kind.name).collect();
        Failure::usage(
            format!("there is no discipline called `{name}`"),
            format!("name one of {}", known.join(", ")),
        )
    })
}

/// Runs all tasks on all processors. The flag is true if the user interrupted them.
pub(crate) fn run(tasks: &[Task], quiet: bool) -> (Vec<Row>, bool) {
    each(tasks, quiet, &|task| format!("{} {}", task.entry.name, task.kind.name), &Task::run)
}

/// Runs `one` for each of `them` on all processors, with a progress bar that shows their names. The flag is
/// true if the user interrupted them.
pub(super) fn each<T: Sync, R: Send>(
    them: &[T],
    quiet: bool,
    name: &(dyn Fn(&T) -> String + Sync),
    one: &(dyn Fn(&T) -> R + Sync),
) -> (Vec<R>, bool) {
    let bar = terminal::progress(them.len() as u64, quiet);
    let done: Vec<Option<R>> = them
        .par_iter()
        .with_max_len(1)
        .map(|it| {
            if interrupt::is_requested() {
                return None;
            }
            bar.set_message(name(it));
            let done = one(it);
            bar.inc(1);
            Some(done)
        })
        .collect();
    bar.finish_and_clear();
    let interrupted = done.iter().any(Option::is_none);
    (done.into_iter().flatten().collect(), interrupted)
}

fn show(document: &Conformance) {
    for rows in document.by_oracle() {
        let [first, ..] = rows else { continue };
        terminal::heading(&format!("{} {}", first.family, first.oracle));
        say!("{}\n({})", first.theorem, first.source);
        let table: Vec<Vec<String>> = rows.iter().flat_map(cells).map(Vec::from).collect();
        terminal::words(&COLUMNS, &table);
    }
    say!();
    for (subject, why) in failures(document) {
        say!("✗ {subject}: {why}");
    }
    for kind in &document.without_oracle {
        say!("{kind}: no oracle is about it");
    }
    say!("{}", sentence(document));
}

/// Returns the report of these tables.
pub(super) fn report(title: &str, verdict: Vec<String>, tables: Vec<Comparison>) -> ReportData {
    let mut report = results::report_head(title, "");
    (report.verdict, report.comparisons) = (verdict, tables);
    report.definitions.clear();
    report
}

/// Writes document and report. Returns the report's path.
fn write(out: ResultsDirectory, document: &str, report: ReportData) -> Result<String, Failure> {
    out.write("conformance.json", document)?;
    let manifest = serde_json::json!({
        "lockgate": crate::version::NUMBER,
        "command": results::command_line(),
        "finished": results::now(),
    });
    out.write("report.html", page(&results::template(), report))?;
    Ok(out.finish(&manifest)?.join("report.html").display().to_string())
}
