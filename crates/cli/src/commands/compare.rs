//! `lockgate compare`: variants of a scenario beside each other, over the same seeds.

mod report;

use std::fmt::Write;

use lockgate::figures;
use lockgate::plans::{Planned, on_threads};
use lockgate::verdict::{difference, quantity};
use lockgate_experiment::{Row, Task, Variant, compare as judge, row, run_tasks};
use lockgate_measure::comparison::{Difference, MetricComparison, Verdict};
use serde_json::json;

use crate::arguments::Compare;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::plans;
use crate::plans::outputs::{Form, OutputFile};
use crate::plans::tuned::check_memory;
use crate::results::{self, ResultsDirectory};
use crate::{interrupt, runs, terminal};

use self::report::Curves;

/// A comparison with its plan and rows.
struct Compared<'a> {
    planned: &'a Planned,
    variants: &'a [Variant],
    rows: &'a [Row],
    metrics: &'a [MetricComparison],
}

pub(crate) fn compare(arguments: &Compare) -> Result<Exit, Failure> {
    let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
    let planned = plans::plan(file, &arguments.variations)?;
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
    let limit = runs::memory_limit(arguments.variations.limits.memory.as_deref())?;
    let runs = variants.len() * planned.plan.seeds.len();
    check_memory(planned.memory, arguments.variations.limits.jobs, runs, limit)?;
    let curves = out.is_some().then(|| Curves::new(&planned, variants.len()));
    interrupt::listen();
    let Some(rows) = make(&planned, arguments, curves.as_ref())? else { return Ok(Exit::Interrupted) };
    let metrics = judge(&planned.plan, &rows, base);
    let compared = Compared { planned: &planned, variants: &variants, rows: &rows, metrics: &metrics };
    // Printed first, so that a file that cannot be written does not suppress the table.
    if json.is_none() {
        compared.show();
    }
    if let Some(csv) = &csv {
        csv.write(&compared.csv())?;
    }
    if let Some(json) = &json {
        json.write(&results::json(&compared.json())?)?;
    }
    if let (Some(out), Some(curves)) = (out, curves) {
        let page = report::write(out, &compared, curves)?;
        if arguments.json.is_none() {
            say!("report: {}", page.display());
        }
    }
    Ok(Exit::Ok)
}

/// Makes the runs of a plan. Returns the rows in the order of the tasks; `None` if it was interrupted.
fn make(
    planned: &Planned,
    arguments: &Compare,
    curves: Option<&Curves>,
) -> Result<Option<Vec<Row>>, Failure> {
    let tasks = planned.plan.tasks()?;
    let bar = plans::progress(tasks.len(), arguments.variations.quiet);
    let one = |task: &Task| {
        let Some(recording) = planned.source().record(task, &interrupt::is_requested)? else {
            return Ok(None);
        };
        if let Some(curves) = curves {
            curves.add(task, &recording);
        }
        let row = row(&lockgate_measure::summarise(&[recording]), &planned.plan.metrics)?;
        bar.inc(1);
        Ok::<_, lockgate::Error>(Some(row))
    };
    let made = on_threads(arguments.variations.limits.jobs, || run_tasks(&tasks, one));
    bar.finish_and_clear();
    let made: Vec<Option<Row>> = made?;
    let done = made.iter().flatten().count();
    let rows = made.into_iter().collect::<Option<Vec<Row>>>();
    if rows.is_none() {
        tell!("stopped after {done} of {} runs; nothing is kept of a comparison", tasks.len());
    }
    Ok(rows)
}

/// Returns the index of the variant that `--base` numbers from 1.
fn base(number: Option<usize>, variants: usize) -> Result<Option<usize>, Failure> {
    match number {
        Some(number) if number == 0 || number > variants => Err(Failure::usage(
            format!("`--base {number}` is no variant"),
            format!("there are {variants}, counted from 1"),
        )),
        number => Ok(number.map(|number| number - 1)),
    }
}

impl Compared<'_> {
    /// Prints the table, a row a variant, and a line for each metric.
    fn show(&self) {
        let plan = &self.planned.plan;
        let (variants, seeds) = (self.variants.len(), plan.seeds.len());
        terminal::heading(&self.planned.title);
        say!("{variants} variants x {seeds} seed{}, mean ± 95 %", figures::plural(seeds as f64));
        say!();
        let columns = self.planned.columns();
        let mut header = vec!["#"];
        header.extend(columns.iter().map(|(_, vary)| vary.name.as_str()));
        header.extend(plan.metrics.iter().map(String::as_str));
        let row = |(index, variant): (usize, &Variant)| {
            let mut cells = vec![(index + 1).to_string()];
            cells.extend(columns.iter().map(|(column, _)| variant.values[*column].clone()));
            cells.extend((0..plan.metrics.len()).map(|metric| self.cell(metric, index)));
            cells
        };
        let rows: Vec<Vec<String>> = self.variants.iter().enumerate().map(row).collect();
        terminal::table(&header, &rows);
        say!();
        say!("* best   = no difference from it seen   ? too few values to tell");
        self.sentences().iter().for_each(|line| say!("{line}"));
    }

    /// Returns the sentences on all metrics.
    fn sentences(&self) -> Vec<String> {
        let plan = &self.planned.plan;
        let mut lines: Vec<String> =
            (0..plan.metrics.len()).flat_map(|metric| self.verdicts(metric)).collect();
        let mut intervals = self.metrics.iter().flat_map(|metric| metric.intervals.iter().flatten());
        if plan.seeds.len() > 1 && intervals.all(|one| one.half_width.is_none()) {
            lines.push("every seed gives the same values: nothing in this scenario is random".to_owned());
        }
        lines
    }

    /// Returns a variant's mean of a metric, marked.
    fn cell(&self, metric: usize, variant: usize) -> String {
        let (path, compared) = (&self.planned.plan.metrics[metric], &self.metrics[metric]);
        let Some(interval) = &compared.intervals[variant] else { return "-".to_owned() };
        let mark = match compared.differences[variant].map(|difference| difference.verdict) {
            _ if compared.best == Some(variant) => " *",
            Some(Verdict::NotSeen | Verdict::Same) => " =",
            Some(Verdict::Unknown) => " ?",
            _ => "  ",
        };
        let half =
            interval.half_width.map(|half| format!(" ± {}", quantity(path, Some(half)))).unwrap_or_default();
        format!("{}{half}{mark}", quantity(path, Some(interval.mean)))
    }

    /// Returns the sentences on a metric: its best variant, and the others' differences from the reference.
    fn verdicts(&self, metric: usize) -> Vec<String> {
        const SHOWN: usize = 4;
        let (path, compared) = (&self.planned.plan.metrics[metric], &self.metrics[metric]);
        let Some(reference) = compared.reference else {
            return vec![format!("{path}: no variant has a value")];
        };
        let role = if compared.best == Some(reference) { "best" } else { "base" };
        let all = || {
            compared
                .differences
                .iter()
                .enumerate()
                .filter_map(|(index, one)| one.as_ref().map(|one| (index, one)))
        };
        let same = all().filter(|(_, one)| matches!(one.verdict, Verdict::NotSeen | Verdict::Same)).map(
            |(index, one)| {
                let name = self.name(index);
                match one.verdict {
                    Verdict::Same => format!("{name}: the same values"),
                    _ => format!("{name}: no difference seen: {}", difference(path, one)),
                }
            },
        );
        let same: Vec<String> = same.collect();
        let real: Vec<(usize, &Difference)> =
            all().filter(|(_, one)| one.verdict == Verdict::Differs).collect();
        let unknown = all().filter(|(_, one)| one.verdict == Verdict::Unknown).count();
        let mut line = format!("{path}: {role} is {}", self.name(reference));
        match real.as_slice() {
            [] => {}
            few if few.len() <= SHOWN => {
                let texts: Vec<String> = few
                    .iter()
                    .map(|(index, one)| format!("{} {}", self.name(*index), difference(path, one)))
                    .collect();
                let _ = write!(line, "; real differences: {}", texts.join(", "));
            }
            many => {
                let _ = write!(line, "; {} others really differ", many.len());
            }
        }
        if unknown > 0 {
            let _ = write!(line, "; of {unknown} too few values to tell");
        }
        std::iter::once(line).chain(same.into_iter().map(|text| format!("  {text}"))).collect()
    }

    /// Returns the values of a variant, and its number.
    fn name(&self, variant: usize) -> String {
        let columns = self.planned.columns();
        let values: Vec<&str> =
            columns.iter().map(|(column, _)| self.variants[variant].values[*column].as_str()).collect();
        format!("{} (#{})", values.join(" "), variant + 1)
    }

    /// Returns a row for each run: the variables, the seed, and every metric by its address in its base unit.
    fn csv(&self) -> String {
        let plan = &self.planned.plan;
        let line =
            |cells: Vec<String>| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n";
        let mut header: Vec<String> = plan.vary.iter().map(|vary| vary.name.clone()).collect();
        header.push("seed".to_owned());
        header.extend(plan.metrics.iter().cloned());
        let mut text = line(header);
        for (index, row) in self.rows.iter().enumerate() {
            let mut cells = self.variants[index / plan.seeds.len()].values.clone();
            cells.push(plan.seeds[index % plan.seeds.len()].to_string());
            cells.extend(row.iter().map(|value| value.map_or_else(String::new, |value| value.to_string())));
            text += &line(cells);
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let plan = &self.planned.plan;
        let names: Vec<&str> = plan.vary.iter().map(|vary| vary.name.as_str()).collect();
        let variants: Vec<_> = self
            .variants
            .iter()
            .map(|variant| {
                names.iter().copied().zip(&variant.values).collect::<std::collections::BTreeMap<_, _>>()
            })
            .collect();
        let metrics: Vec<_> = plan
            .metrics
            .iter()
            .zip(self.metrics)
            .map(|(path, compared)| json!({ "that": path, "comparison": compared }))
            .collect();
        json!({
            "schema": 1,
            "lockgate": plan.engine,
            "title": self.planned.title,
            "vary": names,
            "seeds": plan.seeds,
            "variants": variants,
            "metrics": metrics,
        })
    }
}

/// Quotes a cell of CSV if it must be (RFC 4180).
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
