//! Report of a comparison: the sentences, every variant in each figure, the table.

use std::sync::{Mutex, PoisonError};

use lockgate_experiment::{Task, report_variants, shown};
use lockgate_measure::recording::Recording;
use lockgate_measure::report::{ReportData, Run, Shown, VariantRun};
use lockgate_scenario::Scenario;

use super::{Compared, Planned};

/// Limit on the variants of which a page shows curves.
const MOST_CURVES: usize = 24;

/// Curves of the variants, collected while the runs are made, in any order.
#[derive(Debug)]
pub struct Curves {
    shown: Shown,
    first_seed: u64,
    variants: Vec<Mutex<VariantRun>>,
}

impl Curves {
    /// Creates the curves of a plan.
    pub fn new(planned: &Planned, variants: usize) -> Self {
        let flows: Vec<String> = planned.base.flows.iter().map(|flow| flow.name.clone()).collect();
        Self {
            shown: shown(&planned.plan, &flows),
            first_seed: planned.plan.seeds.first().copied().unwrap_or_default(),
            variants: (0..variants.min(MOST_CURVES)).map(|_| Mutex::default()).collect(),
        }
    }

    /// Adds the run of a task.
    pub fn add(&self, task: &Task, recording: &Recording) {
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

impl Compared<'_> {
    /// Returns the report of the comparison: its sentences, the network of the scenario `base`, the curves of
    /// the variants, if they were kept, and the table.
    pub fn report(&self, base: &Scenario, curves: Option<Curves>) -> ReportData {
        let mut report = crate::report::head(self.title, &self.plan.text);
        report.topology = crate::report::topology(base);
        let columns: Vec<usize> = self.columns().iter().map(|column| column.index).collect();
        let mut variants = report_variants(self.plan, self.variants, &columns, &self.metrics);
        variants.table = self.table();
        variants.recommended = self.recommended();
        for (index, variant) in variants.variants.iter_mut().enumerate() {
            variant.missed = self.missed(index);
        }
        for (index, metric) in variants.metrics.iter_mut().enumerate() {
            metric.bounds = self.bounds(index);
        }
        for (variable, column) in variants.variables.iter_mut().zip(self.columns()) {
            variable.name.clone_from(&column.name);
            variable.path.clone_from(&column.path);
        }
        // The page itself marks the variants without a significant difference, in its table.
        report.verdict = self.decision();
        report.verdict.extend(self.sentences().into_iter().filter(|line| !line.starts_with(' ')));
        let has_curves = curves.is_some();
        let labels = variants.variants.iter().map(|variant| variant.label.clone());
        report.runs = curves.map(|curves| curves.finish(labels)).unwrap_or_default();
        if has_curves && report.runs.len() < variants.variants.len() {
            report.verdict.push(format!("Curves are those of the first {} variants.", report.runs.len()));
        }
        report.variants = Some(variants);
        report
    }
}
