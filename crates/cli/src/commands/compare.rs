//! `lockgate compare`: variants of a scenario beside each other, over the same seeds.

mod report;

use std::fmt::Write;

use lockgate::figures;
use lockgate::plans::{Planned, on_threads};
use lockgate::verdict::{self, difference};
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

/// Limit on the differences that have a sentence each.
const SHOWN: usize = 4;
/// Times as many seeds as were run up to which a number of seeds is recommended.
const MOST_MORE: u64 = 20;
/// Limit on the variants: each is a row of the table.
const MOST_VARIANTS: usize = 10_000;

/// A comparison with its plan and rows.
struct Compared<'a> {
    planned: &'a Planned,
    variants: &'a [Variant],
    rows: &'a [Row],
    metrics: &'a [MetricComparison],
}

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
    let limit = runs::memory_limit(arguments.variations.limits.memory.as_deref())?;
    let runs = variants.len() * planned.plan.seeds.len();
    check_memory(planned.memory, arguments.variations.limits.jobs, runs, limit)?;
    let curves = out.is_some().then(|| Curves::new(&planned, variants.len()));
    interrupt::listen();
    let Some(rows) = make(&planned, arguments, curves.as_ref())? else { return Ok(Exit::Interrupted) };
    let metrics = judge(&planned.plan, &rows, base);
    let compared = Compared { planned: &planned, variants: &variants, rows: &rows, metrics: &metrics };
    // Printed first, so that a file that cannot be written does not suppress the table.
    let is_document = json.as_ref().is_some_and(OutputFile::is_stdout);
    if !is_document {
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
        if !is_document {
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
        header.extend(columns.iter().map(|(_, name)| name.as_str()));
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
        let base =
            self.metrics.iter().any(|metric| metric.reference.is_some() && metric.reference != metric.best);
        let reference =
            if base { "b base   = no difference from the base seen" } else { "= no difference from it seen" };
        say!("* best   {reference}   ? too few values to tell");
        self.sentences().iter().for_each(|line| say!("{line}"));
    }

    /// Returns the sentences on all metrics.
    fn sentences(&self) -> Vec<String> {
        let plan = &self.planned.plan;
        let mut lines: Vec<String> =
            (0..plan.metrics.len()).flat_map(|metric| self.verdicts(metric)).collect();
        lines.extend(self.unseen());
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
            _ if compared.reference == Some(variant) => " b",
            Some(Verdict::NotSeen | Verdict::Same) => " =",
            Some(Verdict::Unknown) => " ?",
            _ => "  ",
        };
        format!("{}{mark}", verdict::interval(path, interval.mean, interval.half_width))
    }

    /// Returns all differences that were tested: the metric, the variant and the difference.
    fn tested(&self) -> impl Iterator<Item = (usize, usize, &Difference)> {
        self.metrics.iter().enumerate().flat_map(|(metric, compared)| {
            compared.differences.iter().enumerate().filter_map(move |(variant, one)| {
                let one = one.as_ref()?;
                matches!(one.verdict, Verdict::Differs | Verdict::NotSeen).then_some((metric, variant, one))
            })
        })
    }

    /// Returns the sentences on the differences that are not seen, with the seeds that would show them: one
    /// each, or one for all if they are many.
    fn unseen(&self) -> Vec<String> {
        let seeds = self.planned.plan.seeds.len();
        let unseen: Vec<_> = self.tested().filter(|(.., one)| one.verdict == Verdict::NotSeen).collect();
        let near = |one: &Difference| one.seeds_needed.filter(|needed| *needed <= MOST_MORE * seeds as u64);
        if unseen.len() <= SHOWN {
            let plural = figures::plural(seeds as f64);
            let sentence = |(metric, variant, one): &(usize, usize, &Difference)| {
                let (path, name) = (&self.planned.plan.metrics[*metric], self.name(*variant));
                let difference = difference(path, one);
                match near(one) {
                    Some(needed) => format!(
                        "{path}: {seeds} seed{plural} cannot show that {name} differs ({difference}); about {needed} would"
                    ),
                    None => format!("{path}: no difference of {name} seen ({difference})"),
                }
            };
            return unseen.iter().map(sentence).collect();
        }
        let (all, many) = (self.tested().count(), unseen.len());
        let mut needed: Vec<u64> = unseen.iter().filter_map(|(.., one)| near(one)).collect();
        needed.sort_unstable();
        let more = needed.get(needed.len() / 2).map(|median| {
            let would = needed.iter().filter(|needed| *needed <= median).count();
            format!("; about {median} would show {would} of these, if they are as large as they seem")
        });
        vec![format!("{seeds} seeds cannot show {many} of {all} differences (=){}", more.unwrap_or_default())]
    }

    /// Returns the sentences on a metric: its best variant, the differences from the reference that are seen,
    /// and the variants with the same values.
    fn verdicts(&self, metric: usize) -> Vec<String> {
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
        let same = all().filter(|(_, one)| one.verdict == Verdict::Same);
        let same: Vec<String> =
            same.map(|(index, _)| format!("  {}: the same values", self.name(index))).collect();
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
        std::iter::once(line).chain(same).collect()
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
