//! Baseline of tests: the values of an earlier run, and the differences from them.

use std::collections::BTreeMap;
use std::path::Path;

use lockgate::verdict::{difference, quantity};
use lockgate_measure::comparison::{Difference, MetricComparison, Reference, Verdict};
use lockgate_measure::metric::{Better, Quantity};
use lockgate_scenario::diagnostic::one_line;
use serde::{Deserialize, Serialize};

use super::Tested;
use crate::exit::Failure;
use crate::output::say;
use crate::terminal;

/// Values of files, as in the file of `--write-baseline`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Baseline {
    schema: u32,
    lockgate: String,
    seeds: Vec<u64>,
    /// Values of each file's expectations, by address: one for each seed.
    files: BTreeMap<String, BTreeMap<String, Vec<Option<f64>>>>,
}

/// A value beside that of the baseline.
#[derive(Debug, Serialize)]
pub(super) struct Change {
    pub(super) that: String,
    /// Mean in the baseline; absent if it has none.
    old: Option<f64>,
    /// Mean now.
    new: Option<f64>,
    /// Difference, paired by seed; absent where either has no value.
    difference: Option<Difference>,
}

impl Baseline {
    /// Creates the baseline of these results.
    pub(super) fn of(all: &[Tested], seeds: &[u64]) -> Self {
        let values = |tested: &Tested| {
            let expects = tested.expectations().iter();
            (
                tested.file.clone(),
                expects.map(|expect| (expect.that.clone(), expect.values.clone())).collect(),
            )
        };
        let files = all.iter().filter(|tested| tested.outcome.is_ok()).map(values).collect();
        Self { schema: 1, lockgate: env!("CARGO_PKG_VERSION").to_owned(), seeds: seeds.to_vec(), files }
    }

    /// Reads a baseline, which must be of these seeds.
    ///
    /// # Errors
    /// If the file cannot be read, or is of other seeds.
    pub(super) fn read(path: &Path, seeds: &[u64]) -> Result<Self, Failure> {
        let shown = path.display();
        // Reading a pipe that nothing is written to would not end.
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Failure::usage(
                format!("`{shown}` is no regular file"),
                "name a file that `--write-baseline FILE` wrote",
            ));
        }
        let text = lockgate::files::text(path)
            .map_err(|why| Failure::usage(why, "`--write-baseline FILE` writes one"))?;
        let baseline: Self = serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!("`{shown}` is no baseline: {error}"), "`--write-baseline FILE` writes one")
        })?;
        if baseline.seeds != seeds {
            return Err(Failure::usage(
                format!("the baseline `{shown}` is of the seeds {}", list(&baseline.seeds)),
                format!("test with `--seeds {}`, or write another baseline", list(&baseline.seeds)),
            ));
        }
        Ok(baseline)
    }

    /// Returns the values of a file beside those of the baseline.
    pub(super) fn changes(&self, tested: &Tested) -> Vec<Change> {
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

fn list(seeds: &[u64]) -> String {
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Prints the table of all changes.
pub(super) fn show(all: &[Tested], baseline: &Baseline) {
    let mut rows = Vec::new();
    for tested in all {
        for change in baseline.changes(tested) {
            let value = |value: Option<f64>| quantity(&change.that, value);
            let (difference, mark) = change.difference.as_ref().map_or_else(
                || ("-".to_owned(), if change.old.is_none() { "new" } else { "" }),
                |one| (difference(&change.that, one), mark(one, better(&change.that))),
            );
            rows.push(vec![
                tested.file.clone(),
                change.that.clone(),
                value(change.old),
                value(change.new),
                difference,
                mark.to_owned(),
            ]);
        }
    }
    say!();
    terminal::table(&["file", "metric", "old", "new", "difference", ""], &rows);
    say!("+ better   - worse   = no difference seen   ? too few seeds to tell");
}

/// Returns a sentence for each metric that is worse than in the baseline by more than `share` of its old value. A
/// difference that the seeds cannot tell from none is no regression; one seed is compared as it is.
pub(super) fn regressions(all: &[Tested], baseline: &Baseline, share: f64) -> Vec<String> {
    let mut found = Vec::new();
    for tested in all {
        for change in baseline.changes(tested) {
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

/// Returns the mark of a difference. One seed has no scatter: equal values are equal, others cannot be judged.
fn mark(one: &Difference, better: Option<Better>) -> &'static str {
    match (one.verdict, better) {
        (Verdict::Same | Verdict::NotSeen, _) => "=",
        (Verdict::Unknown, _) if one.mean == 0.0 => "=",
        (Verdict::Unknown, _) => "?",
        (Verdict::Differs, None) => "!",
        (Verdict::Differs, Some(better)) if (one.mean < 0.0) == (better == Better::Lower) => "+",
        (Verdict::Differs, Some(_)) => "-",
    }
}
