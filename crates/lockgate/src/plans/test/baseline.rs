//! Baseline of tests: the values of an earlier run, and the differences from them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use lockgate_measure::comparison::{Difference, MetricComparison, Reference, Verdict};
use lockgate_measure::metric::{Better, Quantity};
use lockgate_measure::report::{Cell, Comparison};
use serde::{Deserialize, Serialize};

use super::{Case, Judgement, Tested};
use crate::plans::ENGINE;
use crate::verdict::{difference, quantity};

/// Version of the document's format.
const SCHEMA: u32 = 1;

/// Values of files, as in the file of `--write-baseline`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Baseline {
    schema: u32,
    lockgate: String,
    seeds: Vec<u64>,
    /// Values of each file's expectations, by [key] and address: one for each seed.
    files: BTreeMap<String, BTreeMap<String, Vec<Option<f64>>>>,
}

/// Error of reading or writing a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// Not JSON, or not that of a baseline.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Of another version of the format.
    #[error("its `schema` is {0}, and {SCHEMA} is read")]
    Schema(u32),
    /// Not a value for each seed.
    #[error("`{that}` has {values} values of {seeds} seeds")]
    Values {
        /// Address of the metric.
        that: String,
        /// Number of its values.
        values: usize,
        /// Number of the seeds.
        seeds: usize,
    },
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
            (key(&tested.file), expects.map(|expect| (expect.that.clone(), expect.values.clone())).collect())
        };
        let files = all.iter().filter(|tested| tested.outcome.is_ok()).map(values).collect();
        Self { schema: SCHEMA, lockgate: ENGINE.to_owned(), seeds: seeds.to_vec(), files }
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// If the text is none, or is damaged.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        // Editors of Windows begin a file with a byte order mark, which is not part of the text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut read: Self = serde_json::from_str(text)?;
        if read.schema != SCHEMA {
            return Err(BaselineError::Schema(read.schema));
        }
        let values = || read.files.values().flatten();
        if let Some((that, values)) = values().find(|(_, values)| values.len() != read.seeds.len()) {
            let (that, values) = (that.clone(), values.len());
            return Err(BaselineError::Values { that, values, seeds: read.seeds.len() });
        }
        for (file, values) in core::mem::take(&mut read.files) {
            read.files.entry(key(&file)).or_default().extend(values);
        }
        Ok(read)
    }

    /// Returns its text, as in the file of `--write-baseline`.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn to_text(&self) -> Result<String, BaselineError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns the seeds of its values: those of the runs that are compared with them.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// True if it has values of this file, however its path is written.
    pub fn has(&self, file: &str) -> bool {
        self.files.contains_key(&key(file))
    }

    /// Returns its values of a file, however its path is written.
    fn of_file(&self, tested: &Tested) -> Option<&BTreeMap<String, Vec<Option<f64>>>> {
        self.files.get(&key(&tested.file))
    }

    /// Returns the metrics of a file that only the baseline has.
    fn lost<'a>(&'a self, tested: &'a Tested) -> impl Iterator<Item = &'a str> {
        let before = self.of_file(tested).into_iter().flat_map(BTreeMap::keys).map(String::as_str);
        before.filter(|that| tested.expectations().iter().all(|expect| expect.that != *that))
    }

    /// Returns a sentence on each file and value that is only in the baseline or only in these results: it
    /// was not compared.
    pub fn gaps(&self, all: &[Tested]) -> Vec<String> {
        let mut gaps = Vec::new();
        for tested in all.iter().filter(|tested| tested.outcome.is_ok()) {
            if self.of_file(tested).is_none() {
                gaps.push(format!(
                    "the baseline has no values of `{}`: it has {}",
                    tested.file,
                    self.known()
                ));
            }
            gaps.extend(self.lost(tested).map(|that| lost(&tested.file, that)));
        }
        let untested = self.untested(all);
        gaps.extend(untested.map(|file| format!("`{file}` is in the baseline, and was not tested")));
        gaps
    }

    /// Returns its files that were not tested.
    fn untested<'a>(&'a self, all: &[Tested]) -> impl Iterator<Item = &'a str> {
        let tested: Vec<String> = all.iter().map(|tested| key(&tested.file)).collect();
        self.files.keys().filter(move |file| !tested.contains(file)).map(String::as_str)
    }

    /// Returns its files below these directories that were not tested: they are gone, or expect nothing now.
    pub fn gone_from(&self, directories: &[PathBuf], all: &[Tested]) -> Vec<String> {
        let directories: Vec<PathBuf> =
            directories.iter().map(|path| key(&path.display().to_string()).into()).collect();
        let is_below = |file: &Path| {
            let mut own = directories.iter().filter(|path| path.is_absolute() == file.is_absolute());
            own.any(|path| file.starts_with(path))
        };
        self.untested(all).filter(|file| is_below(Path::new(file))).map(str::to_owned).collect()
    }

    /// Returns the files that it has, in words.
    fn known(&self) -> String {
        let files: Vec<String> = self.files.keys().map(|file| format!("`{file}`")).collect();
        if files.is_empty() { "no file".to_owned() } else { files.join(", ") }
    }

    /// Returns the reason if no value of any file was compared: then a comparison says nothing.
    pub fn compares_nothing(&self, all: &[Tested]) -> Option<String> {
        let mut judged = all.iter().filter(|tested| tested.outcome.is_ok()).peekable();
        judged.peek()?;
        let has_difference =
            |tested: &Tested| self.changes(tested).iter().any(|one| one.difference.is_some());
        let words = || format!("nothing was compared with the baseline: it has {}", self.known());
        (!judged.any(has_difference)).then(words)
    }

    /// Judges the values of a file: one that is worse than in the baseline by more than `share` of its old
    /// value is missed, and one that the baseline has and that cannot be compared is not judged. A file that
    /// the baseline does not have is new.
    pub fn judge(&self, tested: &mut Tested, share: f64) {
        if tested.outcome.is_err() || self.of_file(tested).is_none() {
            return;
        }
        let changes = self.changes(tested);
        let mut cases: Vec<Case> =
            self.lost(tested).map(|that| Case::unjudged(that, lost(&tested.file, that))).collect();
        let known = |that: &String| self.of_file(tested).is_some_and(|values| values.contains_key(that));
        let is_compared = |change: &&Change| change.difference.is_some();
        for change in changes.iter().filter(|one| !is_compared(one) && known(&one.that)) {
            let why = format!("{} has no value to compare with in the baseline", change.that);
            cases.push(Case::unjudged(&change.that, why));
        }
        let lines = |that: &str| tested.expectations().iter().find(|expect| expect.that == that)?.line;
        for change in changes.iter().filter(|change| change.is_regression(share)) {
            let [old, new] = [change.old, change.new].map(|value| quantity(&change.that, value));
            let message = format!("regression: {} was {old} and is {new}", change.that);
            let (name, line) = (format!("regression of {}", change.that), lines(&change.that));
            cases.push(Case { name, line, judgement: Judgement::Missed, message });
        }
        tested.beside_baseline = cases;
    }

    /// Returns the values of a file beside those of the baseline.
    pub fn changes(&self, tested: &Tested) -> Vec<Change> {
        let known = self.of_file(tested);
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

impl Change {
    /// Returns true if it is worse by more than `share` of the old value. A difference that the seeds cannot
    /// tell from none is not a regression; one seed is compared as it is.
    fn is_regression(&self, share: f64) -> bool {
        let (Some(old), Some(one), Some(better)) = (self.old, &self.difference, better(&self.that)) else {
            return false;
        };
        let is_seen = matches!(one.verdict, Verdict::Differs | Verdict::Unknown);
        let is_worse = (one.mean > 0.0) == (better == Better::Lower) && one.mean != 0.0;
        is_seen && is_worse && one.mean.abs() > share * old.abs()
    }
}

/// Reads the share of its old value by which a value may be worse: `5%`, from 0 to 1000 %. `None` if it is no
/// such text.
pub fn share(text: &str) -> Option<f64> {
    let percent = text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()?;
    (0.0..=1000.0).contains(&percent).then_some(percent / 100.0)
}

/// Returns the words for a value that only the baseline has.
fn lost(file: &str, that: &str) -> String {
    format!("`{file}`: {that} is in the baseline, and no expectation any more")
}

/// Returns the name of a file in baselines: its path from the current directory if it is below that, whatever
/// way it was written. What is no file keeps its name.
fn key(file: &str) -> String {
    let Ok(here) = std::env::current_dir().and_then(fs::canonicalize) else { return file.to_owned() };
    let path = Path::new(file);
    let plain = || path.components().filter(|part| *part != Component::CurDir).collect();
    let whole = fs::canonicalize(path).or_else(|_| std::path::absolute::<PathBuf>(plain()));
    let whole = whole.unwrap_or_else(|_| path.to_path_buf());
    let parts = whole.strip_prefix(&here).unwrap_or(&whole).components();
    parts.collect::<PathBuf>().display().to_string().replace(std::path::MAIN_SEPARATOR, "/")
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
