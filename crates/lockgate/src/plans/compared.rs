//! Comparison of a plan's variants in words: the table of the terminal, of notebooks and of the page;
//! sentences; CSV and JSON.

mod bounds;
mod decision;
mod keepers;
mod waits;

use std::fmt::Write;

use lockgate_experiment::{Plan, Row, Variant, compare};
use lockgate_measure::comparison::{Difference, MetricComparison, Practical, Verdict};
use lockgate_measure::metric::Quantity;
use lockgate_measure::report::{Cell, Comparison};
use lockgate_measure::summary::{Expectation, Expected};
use lockgate_measure::verdict::{Wait, Words};
use serde_json::json;

use super::{Column, columns, without_values};
use crate::figures;
use crate::verdict::{self, difference};

/// Limit on the differences that have a sentence each.
const SHOWN: usize = 4;
/// Limit on the variants with the same values that are named.
const SAME: usize = 2;
/// Times as many seeds as were run up to which a number of seeds is recommended.
const MOST_MORE: u64 = 20;

/// A comparison with its plan and rows.
#[derive(Debug)]
pub struct Compared<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Title of the scenario.
    pub title: &'a str,
    /// Variants of the plan.
    pub variants: &'a [Variant],
    /// Row of each task, in the order of the tasks.
    pub rows: &'a [Row],
    /// Comparison of each metric of the plan.
    pub metrics: Vec<MetricComparison>,
    /// Comparison of each metric with its best variant, by which is decided.
    with_best: Vec<MetricComparison>,
    /// Limits of differences that matter.
    pub practical: Practical,
    /// Expectations of the scenario, judged for each variant: those on the plan's metrics.
    pub judged: Vec<Vec<Expectation>>,
    /// Longest wait of each run, in the order of the tasks; empty if the runs are only known by their
    /// metrics.
    waits: Vec<Option<Wait>>,
    columns: Vec<Column>,
}

impl<'a> Compared<'a> {
    /// Compares the variants with that of index `base`, by default with the best.
    pub fn new(
        plan: &'a Plan,
        title: &'a str,
        variants: &'a [Variant],
        rows: &'a [Row],
        base: Option<usize>,
    ) -> Self {
        let (metrics, columns) = (compare(plan, rows, base), columns(&plan.vary));
        let with_best = if base.is_some() { compare(plan, rows, None) } else { metrics.clone() };
        let practical = Practical { ratio: 0.0, seconds: 0.0 };
        Self {
            plan,
            title,
            variants,
            rows,
            metrics,
            with_best,
            practical,
            judged: Vec::new(),
            waits: Vec::new(),
            columns,
        }
    }

    /// Judges the scenario's expectations for each variant.
    #[must_use]
    pub fn expecting(self, expects: &[Expected]) -> Self {
        Self { judged: self.judge(expects), ..self }
    }

    /// Marks real differences that do not matter.
    #[must_use]
    pub fn within(self, practical: Practical) -> Self {
        let unit = |path: &String| Quantity::parse(path).map(|quantity| quantity.unit());
        let metrics = self.metrics.into_iter().zip(&self.plan.metrics);
        let metrics = metrics.map(|(compared, path)| match unit(path) {
            Ok(unit) => compared.with(&practical, unit),
            Err(_) => compared,
        });
        Self { metrics: metrics.collect(), practical, ..self }
    }

    /// Returns the columns of the variations.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the size: `3 variants × 10 seeds, mean ± 95 %`.
    pub fn size(&self) -> String {
        let (variants, seeds) = (self.variants.len(), self.plan.seeds.len());
        let [of_variants, of_seeds] = [variants, seeds].map(|count| figures::plural(count as f64));
        format!("{variants} variant{of_variants} × {seeds} seed{of_seeds}, mean ± 95 %")
    }

    /// Returns the table, a row a variant in the order of the ranking; the note explains the marks.
    pub fn table(&self) -> Comparison {
        let mut heads = vec![("#".to_owned(), String::new())];
        heads.extend(self.columns.iter().map(|column| (column.name.clone(), column.path.clone())));
        heads.extend(self.plan.metrics.iter().map(|path| (Words::of(path).in_sentence(), path.clone())));
        let is_judged = self.held(0).1 > 0;
        heads.extend(is_judged.then(|| ("holds".to_owned(), String::new())));
        let (columns, addresses) = heads.into_iter().unzip();
        let row = |index: usize| {
            let variant = &self.variants[index];
            let mut cells = vec![(index + 1).to_string()];
            cells.extend(self.columns.iter().map(|column| variant.values[column.index].clone()));
            cells.extend((0..self.plan.metrics.len()).map(|metric| self.cell(metric, index)));
            let (held, of) = self.held(index);
            cells.extend(is_judged.then(|| format!("{held}/{of}")));
            cells.into_iter().map(Cell::Text).collect()
        };
        Comparison {
            title: self.title.to_owned(),
            columns,
            addresses,
            rows: self.ranking().into_iter().map(row).collect(),
            note: self.marks(),
        }
    }

    /// Returns the meaning of the marks.
    fn marks(&self) -> String {
        let has_base =
            self.metrics.iter().any(|metric| metric.reference.is_some() && metric.reference != metric.best);
        let from = if has_base { "the base" } else { "it" };
        let base = if has_base { "   b base" } else { "" };
        let is_equal = |one: &Difference| one.verdict == Verdict::Equal;
        let differences = || self.metrics.iter().flat_map(|metric| metric.differences.iter().flatten());
        let equal = if differences().any(is_equal) {
            format!("   ≈ real, but below {} (--equal)", self.practical)
        } else {
            String::new()
        };
        format!("* best{base}   = no difference from {from} seen{equal}   ? too few values to tell")
    }

    /// Returns the sentences on all metrics.
    pub fn sentences(&self) -> Vec<String> {
        let plan = self.plan;
        let mut lines: Vec<String> =
            (0..plan.metrics.len()).flat_map(|metric| self.verdicts(metric)).collect();
        lines.extend(self.unseen());
        lines.extend(self.without_values());
        let mut intervals =
            self.metrics.iter().flat_map(|metric| metric.intervals.iter().flatten()).peekable();
        let has_values = intervals.peek().is_some();
        if plan.seeds.len() > 1 && has_values && intervals.all(|one| one.half_width.is_none()) {
            lines.push("every seed gives the same values of what is compared".to_owned());
        }
        lines
    }

    /// Returns the sentences on runs that have no value of a metric: means and differences are of the rest.
    fn without_values(&self) -> Vec<String> {
        let seeds = self.plan.seeds.len().max(1);
        let lacking = |metric: usize| -> Vec<(usize, usize)> {
            let lacks = |rows: &[Row]| rows.iter().filter(|row| row[metric].is_none()).count();
            let all = self.rows.chunks(seeds).map(lacks).enumerate();
            all.filter(|(_, lacks)| (1..seeds).contains(lacks)).collect()
        };
        let sentence = |(metric, path): (usize, &String)| {
            let lacking = lacking(metric);
            let named = lacking.iter().take(SHOWN).map(|(variant, lacks)| (*lacks, self.name(*variant)));
            let more = match lacking.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(", and some with {more} more variants"),
            };
            Some(without_values(path, seeds, &named.collect::<Vec<_>>())? + &more)
        };
        self.plan.metrics.iter().enumerate().filter_map(sentence).collect()
    }

    /// Returns a variant's mean of a metric, marked.
    fn cell(&self, metric: usize, variant: usize) -> String {
        let (path, compared) = (&self.plan.metrics[metric], &self.metrics[metric]);
        let Some(interval) = &compared.intervals[variant] else { return "-".to_owned() };
        let mark = match compared.differences[variant].map(|difference| difference.verdict) {
            _ if compared.best == Some(variant) => " *",
            _ if compared.reference == Some(variant) => " b",
            Some(Verdict::NotSeen | Verdict::Same) => " =",
            Some(Verdict::Equal) => " ≈",
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
                let is_tested = matches!(one.verdict, Verdict::Differs | Verdict::NotSeen | Verdict::Equal);
                is_tested.then_some((metric, variant, one))
            })
        })
    }

    /// Returns the sentence on the differences that are not seen, with the seeds that would show them.
    fn unseen(&self) -> Option<String> {
        let seeds = self.plan.seeds.len();
        let (all, unseen) =
            (self.tested().count(), self.tested().filter(|(.., one)| one.verdict == Verdict::NotSeen));
        let unseen: Vec<&Difference> = unseen.map(|(.., one)| one).collect();
        if seeds == 1 && self.variants.len() > 1 {
            return Some("1 seed cannot tell differences from chance; try --seeds 1..10".to_owned());
        }
        if unseen.is_empty() {
            return None;
        }
        let near = |one: &Difference| one.seeds_needed.filter(|needed| *needed <= MOST_MORE * seeds as u64);
        let mut needed: Vec<u64> = unseen.iter().filter_map(|one| near(one)).collect();
        needed.sort_unstable();
        // The decision names seeds of its own: one count is enough.
        let median = needed.get(needed.len() / 2).filter(|_| !self.names_seeds());
        let more = median.map(|median| {
            let would = needed.iter().filter(|needed| *needed <= median).count();
            let these = if unseen.len() == 1 { "it".to_owned() } else { format!("{would} of these") };
            format!("; about {median} would show {these}, if as large as it seems")
        });
        let many = unseen.len();
        Some(format!("{seeds} seeds cannot show {many} of {all} differences (=){}", more.unwrap_or_default()))
    }

    /// Returns the sentences on a metric: its best variant, the differences from the reference that are seen,
    /// and the variants with the same values.
    fn verdicts(&self, metric: usize) -> Vec<String> {
        let (path, compared) = (&self.plan.metrics[metric], &self.metrics[metric]);
        let words = Words::of(path).in_sentence();
        let Some(reference) = compared.reference else {
            return vec![format!("{words}: no variant has a value")];
        };
        let role = if compared.best == Some(reference) { "best" } else { "base" };
        let all = || {
            compared
                .differences
                .iter()
                .enumerate()
                .filter_map(|(index, one)| one.as_ref().map(|one| (index, one)))
        };
        let same: Vec<String> = all()
            .filter(|(_, one)| one.verdict == Verdict::Same)
            .map(|(index, _)| self.name(index))
            .collect();
        let of = self.name(reference);
        let same = match same.as_slice() {
            [] => None,
            few if few.len() <= SAME => Some(format!("{words}: the same values as {of}: {}", few.join(", "))),
            // The table marks them.
            many => Some(format!("{words}: {} more have the same values as {of}", many.len())),
        };
        let real: Vec<(usize, &Difference)> =
            all().filter(|(_, one)| one.verdict == Verdict::Differs).collect();
        let unknown = all().filter(|(_, one)| one.verdict == Verdict::Unknown).count();
        let mut line = format!("{words}: {role} is {}", self.name(reference));
        match real.as_slice() {
            few if (1..=SHOWN).contains(&few.len()) && self.variants.len() <= SHOWN + 1 => {
                let texts: Vec<String> = few
                    .iter()
                    .map(|(index, one)| format!("{} {}", self.name(*index), difference(path, one)))
                    .collect();
                let _ = write!(line, "; real differences: {}", texts.join(", "));
            }
            // The table marks the best and the rest, and the decision names what matters.
            _ if unknown == 0 => return same.into_iter().collect(),
            _ => {}
        }
        if unknown > 0 {
            let others = figures::count(unknown as u64, "other variant");
            let _ = write!(line, "; too few values to tell of {others}");
        }
        std::iter::once(line).chain(same).collect()
    }

    /// Returns the values of a variant, and its number.
    fn name(&self, variant: usize) -> String {
        let values: Vec<&str> =
            self.columns.iter().map(|column| self.variants[variant].values[column.index].as_str()).collect();
        format!("{} (#{})", values.join(" "), variant + 1)
    }

    /// Returns a row for each run: the variables, the seed, and every metric by its address in its base unit.
    pub fn csv(&self) -> String {
        let plan = self.plan;
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

    /// Returns the document of `--json`.
    pub fn json(&self) -> serde_json::Value {
        let plan = self.plan;
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
            .zip(&self.metrics)
            .map(|(path, compared)| json!({ "that": path, "comparison": compared }))
            .collect();
        json!({
            "schema": 1,
            "lockgate": plan.engine,
            "title": self.title,
            "vary": names,
            "seeds": plan.seeds,
            "variants": variants,
            "metrics": metrics,
            "decision": self.decision(),
            "equal": { "ratio": self.practical.ratio, "seconds": self.practical.seconds },
            "expectations": self.judged,
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
