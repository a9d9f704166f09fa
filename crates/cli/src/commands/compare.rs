//! `lockgate compare`: variants of a scenario beside each other, over the same seeds.

use std::path::{Path, PathBuf};

use lockgate::plans::{Compared, Curves, Planned, RunValues, on_threads};
use lockgate_experiment::{Row, Task, run_tasks};
use lockgate_measure::report::page;
use lockgate_measure::verdict::Wait;

use crate::arguments::{Compare, Variations};
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::plans;
use crate::plans::check_memory;
use crate::plans::outputs::{Form, OutputFile};
use crate::results::{self, ResultsDirectory};
use crate::{interrupt, runs, terminal};

/// Limit on the variants: each is a row of the table.
pub(super) const MOST_VARIANTS: usize = 10_000;

pub(crate) fn compare(arguments: &Compare) -> Result<Exit, Failure> {
    let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
    plans::outputs::check_distinct(&[("--csv", &arguments.csv), ("--json", &arguments.json)])?;
    let planned = plans::plan(file, &arguments.variations, Some(MOST_VARIANTS))?;
    let variants = planned.plan.variants()?;
    let base = base(arguments.base, variants.len())?;
    let out = arguments.out.as_deref();
    let out = out.map(|out| ResultsDirectory::start(Some(out), &planned.title)).transpose()?;
    let csv =
        arguments.csv.as_deref().map(|file| OutputFile::start(file, Form::Runs, "--csv")).transpose()?;
    let json = arguments
        .json
        .as_deref()
        .map(|file| OutputFile::start(file, Form::Comparison, "--json"))
        .transpose()?;
    let limit = arguments.variations.limits.reading.limit.bytes()?;
    let runs = variants.len() * planned.plan.seeds.len();
    check_memory(planned.memory, arguments.variations.limits.jobs, runs, limit)?;
    let curves = out.is_some().then(|| Curves::new(&planned, variants.len()));
    interrupt::listen();
    let Some(made) = make(&planned, &arguments.variations, curves.as_ref())? else {
        return Ok(Exit::Interrupted);
    };
    let (rows, waits): (Vec<Row>, Vec<Option<Wait>>) = made.into_iter().unzip();
    let compared = Compared::new(&planned.plan, &planned.title, &variants, &rows, base)
        .expecting(&planned.base.expects)
        .within(arguments.equal)
        .waiting(waits);
    let offer = offer(file, &planned, &compared)?;
    // Printed first, so that a file that cannot be written does not suppress the table.
    let is_document = json.as_ref().is_some_and(OutputFile::is_stdout);
    if !is_document {
        show(&compared);
        if let Some(line) = &offer {
            terminal::offer(line);
        }
    }
    if let Some(csv) = &csv {
        csv.write(&compared.csv())?;
    }
    if let Some(json) = &json {
        json.write(&results::json(&compared.json())?)?;
    }
    if let (Some(out), Some(curves)) = (out, curves) {
        let page = write(out, &planned, &compared, curves, offer)?;
        if !is_document {
            say!("report: {}", page.display());
        }
    }
    Ok(Exit::Ok)
}

/// Makes the runs of a plan, in the order of the tasks. Returns `None` if it was interrupted.
pub(super) fn make(
    planned: &Planned,
    variations: &Variations,
    curves: Option<&Curves>,
) -> Result<Option<Vec<RunValues>>, Failure> {
    let tasks = planned.plan.tasks()?;
    let bar = plans::progress(tasks.len(), variations.quiet);
    let one = |task: &Task| {
        let metrics = &planned.plan.metrics;
        let Some(recording) = planned.source().record(task, metrics, &interrupt::is_requested)? else {
            return Ok(None);
        };
        let values = planned.values(task, recording, curves)?;
        bar.inc(1);
        Ok::<_, lockgate::Error>(Some(values))
    };
    let made = on_threads(variations.limits.jobs, || run_tasks(&tasks, one));
    bar.finish_and_clear();
    let made: Vec<Option<RunValues>> = made?;
    let done = made.iter().flatten().count();
    let all = made.into_iter().collect::<Option<Vec<RunValues>>>();
    if all.is_none() {
        tell!("stopped after {done} of {} runs; nothing is kept of a comparison", tasks.len());
    }
    Ok(all)
}

/// Returns the index of the variant that `--base` numbers from 1.
fn base(number: Option<usize>, variants: usize) -> Result<Option<usize>, Failure> {
    match number {
        Some(number) if number == 0 || number > variants => Err(Failure::usage(
            format!("`--base {number}` is not a variant"),
            format!("there are {variants}, counted from 1"),
        )),
        number => Ok(number.map(|number| number - 1)),
    }
}

/// Returns how the kernel is set up like the variant to take, or like the only one, if the kernel can be.
fn offer(file: &Path, planned: &Planned, compared: &Compared<'_>) -> Result<Option<String>, Failure> {
    let only = (compared.variants.len() == 1).then_some(0);
    let Some(variant) = compared.recommended().or(only) else { return Ok(None) };
    let tasks = planned.plan.tasks()?;
    let Some(task) = tasks.iter().find(|task| task.variant == variant) else { return Ok(None) };
    let offer = plans::kernel::offer(file, &compared.variants[variant].settings, &task.settings);
    Ok(offer.map(|offer| format!("#{} {offer}", variant + 1)))
}

/// Prints the table, the best variant first, and a line for each metric.
pub(super) fn show_metrics(compared: &Compared<'_>) {
    say!("{}", compared.size());
    say!();
    let table = compared.table();
    terminal::comparison(&table);
    say!();
    terminal::sentence(&table.note);
    compared.sentences().iter().for_each(|line| terminal::sentence(&terminal::visible(line)));
}

/// Prints the table, a line for each metric, and at the end the decision.
fn show(compared: &Compared<'_>) {
    terminal::heading(compared.title);
    show_metrics(compared);
    let decision = compared.decision();
    if !decision.is_empty() {
        say!();
        for line in &decision {
            terminal::sentence(&terminal::visible(line));
        }
    }
}

/// Writes the files of a comparison and moves the directory to its place. Returns the page's path.
fn write(
    out: ResultsDirectory,
    planned: &Planned,
    compared: &Compared<'_>,
    curves: Curves,
    offer: Option<String>,
) -> Result<PathBuf, Failure> {
    let plan = compared.plan;
    let mut report = results::signed(compared.report(&planned.base, Some(curves)));
    report.verdict.extend(offer);
    out.write("scenario.toml", &plan.text)?;
    out.write("comparison.json", results::json(&compared.json())?)?;
    out.write("runs.csv", compared.csv())?;
    out.write("report.html", page(&results::template(), report))?;
    results::finish(out, compared.title, &plan.text, &plan.seeds)
}
