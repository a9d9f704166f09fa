//! Files of a comparison: `report.html` with every variant in each figure, and the numbers.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use lockgate_experiment::{Task, report_variants, shown};
use lockgate_measure::recording::Recording;
use lockgate_measure::report::{Run, Shown, VariantRun, page};
use serde_json::json;

use super::Compared;
use crate::exit::Failure;
use crate::results::{self, ResultsDirectory};
use lockgate::plans::Planned;

/// Limit on the variants of which a page shows curves.
const MOST_CURVES: usize = 24;

/// Curves of the variants, collected while the runs are made, in any order.
pub(super) struct Curves {
    shown: Shown,
    first_seed: u64,
    variants: Vec<Mutex<VariantRun>>,
}

impl Curves {
    /// Creates the curves of a plan.
    pub(super) fn new(planned: &Planned, variants: usize) -> Self {
        let flows: Vec<String> = planned.base.flows.iter().map(|flow| flow.name.clone()).collect();
        Self {
            shown: shown(&planned.plan, &flows),
            first_seed: planned.plan.seeds.first().copied().unwrap_or_default(),
            variants: (0..variants.min(MOST_CURVES)).map(|_| Mutex::default()).collect(),
        }
    }

    /// Adds the run of a task.
    pub(super) fn add(&self, task: &Task, recording: &Recording) {
        let Some(variant) = self.variants.get(task.variant) else { return };
        let mut variant = variant.lock().unwrap_or_else(PoisonError::into_inner);
        variant.add("", recording, &self.shown, task.seed == self.first_seed);
    }

    /// Returns a run for each variant, labelled in their order.
    fn finish(self, labels: impl Iterator<Item = String>) -> Vec<Run> {
        let run = |(variant, label): (Mutex<VariantRun>, String)| {
            let run = variant.into_inner().unwrap_or_else(PoisonError::into_inner).finish()?;
            Some(Run { label, ..run })
        };
        self.variants.into_iter().zip(labels).filter_map(run).collect()
    }
}

/// Writes the files of a comparison and moves the directory to its place. Returns the page's path.
pub(super) fn write(
    out: ResultsDirectory,
    compared: &Compared<'_>,
    curves: Curves,
) -> Result<PathBuf, Failure> {
    let plan = &compared.planned.plan;
    let (columns, names): (Vec<usize>, Vec<String>) = compared.planned.columns().into_iter().unzip();
    let mut variants = report_variants(plan, compared.variants, &columns, compared.metrics);
    for (variable, name) in variants.variables.iter_mut().zip(names) {
        variable.name = name;
    }
    let mut report = results::report_head(&compared.planned.title, &plan.text);
    // The page itself marks the variants without a significant difference, in its table.
    report.verdict = compared.sentences().into_iter().filter(|line| !line.starts_with(' ')).collect();
    report.runs = curves.finish(variants.variants.iter().map(|variant| variant.label.clone()));
    if report.runs.len() < variants.variants.len() {
        report.verdict.push(format!("Curves are those of the first {} variants.", report.runs.len()));
    }
    report.topology = results::topology(&compared.planned.base);
    report.variants = Some(variants);
    out.write("scenario.toml", &plan.text)?;
    out.write("comparison.json", results::json(&compared.json())?)?;
    out.write("runs.csv", compared.csv())?;
    out.write("report.html", page(results::TEMPLATE, &report))?;
    let manifest = json!({
        "lockgate": plan.engine,
        "title": compared.planned.title,
        "command": results::command_line(),
        "scenario_sha256": results::hash(&plan.text),
        "seeds": plan.seeds,
        "finished": results::now(),
    });
    Ok(out.finish(&manifest)?.join("report.html"))
}
