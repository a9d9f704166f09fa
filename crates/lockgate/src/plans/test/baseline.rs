//! Baseline of tests: the values of an earlier run, and the differences from them.

use std::collections::BTreeMap;

use lockgate_measure::comparison::{Difference, MetricComparison, Reference, Verdict};
use lockgate_measure::metric::{Better, Quantity};
use lockgate_measure::report::{Cell, Comparison};
use lockgate_scenario::diagnostic::one_line;
use serde::{Deserialize, Serialize};

use super::Tested;
use crate::plans::ENGINE;
use crate::verdict::{difference, quantity};

/// Values of files, as in the file of `--write-baseline`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Baseline {
    schema: u32,
    lockgate: String,
    seeds: Vec<u64>,
    /// Values of each file's expectations, by address: one for each seed.
    files: BTreeMap<String, BTreeMap<String, Vec<Option<f64>>>>,
}

/// A value beside that of the baseline.
#[derive(Debug, Serialize)]
pub struct Change {
    /// Address of the metric.
    pub that: String,
    /// Mean in the baseline; absent if it has none.
    pub old: Option<f64>,
    /// Mean now.
    pub new: Option<f64>,
    /// Difference, paired by seed; absent where either has no value.
    pub difference: Option<Difference>,
}

impl Baseline {
    /// Creates the baseline of these results, of these seeds.
    pub fn of(all: &[Tested], seeds: &[u64]) -> Self {
        let values = |tested: &Tested| {
            let expects = tested.expectations().iter();
            (
                tested.file.clone(),
                expects.map(|expect| (expect.that.clone(), expect.values.clone())).collect(),
            )
        };
        let files = all.iter().filter(|tested| tested.outcome.is_ok()).map(values).collect();
        Self { schema: 1, lockgate: ENGINE.to_owned(), seeds: seeds.to_vec(), files }
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// If the text is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Returns its text, as in the file of `--write-baseline`.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn to_text(&self) -> Result<String, String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        Ok(text + "\n")
    }

    /// Returns the seeds of its values: those of the runs that are compared with them.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// Returns a sentence on each file and value that is only in the baseline or only in these results: it
    /// was not compared.
    pub fn gaps(&self, all: &[Tested]) -> Vec<String> {
        let known = || self.files.keys().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ");
        let mut gaps = Vec::new();
        for tested in all.iter().filter(|tested| tested.outcome.is_ok()) {
            let now: Vec<&str> = tested.expectations().iter().map(|expect| expect.that.as_str()).collect();
            let Some(before) = self.files.get(&tested.file) else {
                if !now.is_empty() {
                    let has = if self.files.is_empty() { "no file".to_owned() } else { known() };
                    gaps.push(format!("the baseline has no values of `{}`: it has {has}", tested.file));
                }
                continue;
            };
            let lost = before.keys().filter(|that| !now.contains(&that.as_str()));
            gaps.extend(lost.map(|that| {
                format!("`{}`: {that} is in the baseline, and no expectation any more", tested.file)
            }));
        }
        let untested = self.files.keys().filter(|file| all.iter().all(|tested| tested.file != **file));
        gaps.extend(untested.map(|file| format!("`{file}` is in the baseline, and was not tested")));
        gaps
    }

    /// Returns the values of a file beside those of the baseline.
    pub fn changes(&self, tested: &Tested) -> Vec<Change> {
        let known = self.files.get(&tested.file);
        let change = |expect: &lockgate_measure::summary::Expectation| {
            let old = known.and_then(|values| values.get(&expect.that)).cloned().unwrap_or_default();
            let better = better(&expect.that);
            let compared = MetricComparison::new(&[old, expect.values.clone()], better, Reference::Given(0));
            let mean = |at: usize| compared.intervals[at].as_ref().map(|interval| interval.mean);
            Change {
                that: expect.that.clone(),
                old: mean(0),
                new: mean(1),
                difference: compared.differences[1].filter(|one| one.pairs > 0),
            }
        };
        tested.expectations().iter().map(change).collect()
    }
}

/// Returns the better direction of a metric.
fn better(path: &str) -> Option<Better> {
    Quantity::parse(path).ok().and_then(|quantity| quantity.better())
}

impl Baseline {
    /// Returns the table of all changes; the note explains the marks.
    pub fn table(&self, all: &[Tested]) -> Comparison {
        let row = |file: &str, change: &Change| {
            let value = |value: Option<f64>| quantity(&change.that, value);
            let (difference, mark) = change.difference.as_ref().map_or_else(
                || ("-".to_owned(), if change.old.is_none() { "new" } else { "" }),
                |one| (difference(&change.that, one), mark(one, better(&change.that))),
            );
            let cells = [
                file.to_owned(),
                change.that.clone(),
                value(change.old),
                value(change.new),
                difference,
                mark.to_owned(),
            ];
            cells.map(Cell::Text).to_vec()
        };
        let rows = all.iter().flat_map(|tested| {
            let changes = self.changes(tested);
            changes.iter().map(|change| row(&tested.file, change)).collect::<Vec<_>>()
        });
        Comparison {
            title: "differences from the baseline".to_owned(),
            columns: ["file", "metric", "old", "new", "difference", ""].map(str::to_owned).to_vec(),
            rows: rows.collect(),
            addresses: Vec::new(),
            note: "+ better   - worse   = no difference seen   ? too few seeds to tell   new: not in the baseline"
                .to_owned(),
        }
    }
}

impl Baseline {
    /// Returns a sentence for each metric that is worse than in the baseline by more than `share` of its old
    /// value. A difference that the seeds cannot tell from none is not a regression; one seed is compared as
    /// it is.
    pub fn regressions(&self, all: &[Tested], share: f64) -> Vec<String> {
        let mut found = Vec::new();
        for tested in all {
            for change in self.changes(tested) {
                let (Some(old), Some(new), Some(one)) = (change.old, change.new, &change.difference) else {
                    continue;
                };
                let Some(better) = better(&change.that) else { continue };
                let is_seen = matches!(one.verdict, Verdict::Differs | Verdict::Unknown);
                let is_worse = (one.mean > 0.0) == (better == Better::Lower) && one.mean != 0.0;
                if is_seen && is_worse && one.mean.abs() > share * old.abs() {
                    let [old, new] = [old, new].map(|value| quantity(&change.that, Some(value)));
                    found.push(format!("{}: {} was {old} and is {new}", one_line(&tested.file), change.that));
                }
            }
        }
        found
    }
}

/// Returns the mark of a difference. One seed has no scatter: equal values are equal, others cannot be
/// judged.
fn mark(one: &Difference, better: Option<Better>) -> &'static str {
    match (one.verdict, better) {
        (Verdict::Same | Verdict::NotSeen | Verdict::Equal, _) => "=",
        (Verdict::Unknown, _) if one.mean == 0.0 => "=",
        (Verdict::Unknown, _) => "?",
        (Verdict::Differs, None) => "!",
        (Verdict::Differs, Some(better)) if (one.mean < 0.0) == (better == Better::Lower) => "+",
        (Verdict::Differs, Some(_)) => "-",
    }
}
