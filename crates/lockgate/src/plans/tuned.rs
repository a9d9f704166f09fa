//! Outcome of a search in words: the points, the judgement, the recommended settings; tables of the terminal,
//! of notebooks and of the page.

mod improvement;
mod knee;
mod page;

use lockgate_experiment::tune::{Goal, JudgedFinalists, Request, Search, Stop, Tried, judge, search};
use lockgate_measure::comparison::{Difference, Verdict};
use lockgate_measure::intervals::Interval;
use lockgate_measure::metric::Better;
use lockgate_measure::report::{Cell, Comparison};
use lockgate_measure::verdict::Words;
use serde_json::json;

use super::{Column, PlanError, Stopped, TuneOptions, TuneRequest, Tuning, all_columns, without_values};
use crate::figures;
use crate::shell::word;
use crate::verdict::{self, quantity};

/// A search with its judgement.
#[derive(Debug)]
pub struct Tuned<'a> {
    /// The search as it was requested.
    pub tuning: &'a Tuning,
    /// Points that were tried.
    pub found: Search,
    /// Best points on unseen seeds.
    pub judged: JudgedFinalists,
}

/// Sentence of a search without a winner.
pub const NO_WINNER: &str = "no point has a value of each goal and keeps every constraint on the unseen seeds: make runs longer, widen the ranges, \
     or allow more --runs";

impl<'a> Tuned<'a> {
    /// Makes a search, and judges the best points. Returns the reason if the caller stopped.
    ///
    /// # Errors
    /// If a scenario cannot be read, or a run fails.
    pub fn make(tuning: &'a Tuning, options: &TuneOptions<'_>) -> Result<Result<Self, Stopped>, PlanError> {
        let TuneRequest { seeds, unseen, runs, patience, seed, .. } = &tuning.request;
        let request = Request {
            space: &tuning.space,
            goals: &tuning.goals,
            constraints: &tuning.constraints,
            seeds: seeds.len(),
            runs: *runs,
            patience: *patience,
            seed: *seed,
        };
        (options.begins)(*runs);
        let found: Search = search(&request, |point| {
            let rows = tuning.run(std::slice::from_ref(point), seeds, options)?;
            Ok(rows.map(|rows| rows.into_iter().flatten().collect()))
        })?;
        let stopped = |was_judging| Stopped { points: found.tried.len(), was_judging };
        if found.stop == Stop::Interrupted {
            return Ok(Err(stopped(false)));
        }
        let judged: Option<JudgedFinalists> = judge(&request, &found, seeds, unseen, |points, seeds| {
            (options.begins)(points.len() * seeds.len());
            tuning.run(points, seeds, options)
        })?;
        match judged {
            Some(judged) => Ok(Ok(Self { tuning, found, judged })),
            None => Ok(Err(stopped(true))),
        }
    }
}

impl Tuned<'_> {
    /// Returns the meaning of the marks of the finalists' table.
    pub fn marks(&self) -> String {
        let tests = "paired by seed, Holm's method";
        if self.tuning.goals.len() > 1 {
            format!(
                "* front   k its knee   = no difference from the file as it is seen   + better   - worse ({tests})"
            )
        } else if self.judged.winner.is_some() {
            format!("* winner   = no difference from it seen   + better   - worse ({tests})")
        } else {
            format!("= no difference from the file as it is seen   + better   - worse ({tests})")
        }
    }

    /// Returns true if all points have the same values, to the last bit: what varies has no effect.
    pub fn has_no_effect(&self) -> bool {
        let means = |tried: &Tried| -> Vec<Option<u64>> {
            tried.means.iter().map(|mean| mean.map(f64::to_bits)).collect()
        };
        let mut all = self.found.tried.iter().map(means);
        let first = all.next();
        self.found.tried.len() > 1 && all.all(|other| Some(other) == first)
    }

    /// Returns the points to use, each with its role: the winner of one goal, the knee and the rest of the
    /// front of several; none if what varies has no effect.
    pub fn recommended(&self) -> Vec<(&'static str, usize)> {
        if self.has_no_effect() {
            return Vec::new();
        }
        let role = |finalist: usize| match finalist {
            _ if self.judged.winner == Some(finalist) => "the winner",
            _ if self.judged.knee == Some(finalist) => "the knee of the front",
            _ => "on the front",
        };
        let all = self.judged.recommended().into_iter();
        all.filter_map(|finalist| Some((role(finalist), self.judged.finalists[finalist]?))).collect()
    }

    /// Returns the number of points, seeds and runs.
    pub fn size(&self) -> String {
        let (points, seeds) = (self.found.tried.len(), self.tuning.request.seeds.len());
        let runs = points * seeds;
        let confirmation =
            self.judged.confirmation().map(|text| format!(", then {text}")).unwrap_or_default();
        format!("{points} points × {seeds} seed{} = {runs} runs{confirmation}", figures::plural(seeds as f64))
    }

    /// Returns the columns of the variations.
    fn columns(&self) -> Vec<Column> {
        all_columns(self.tuning.space.variations())
    }

    /// Returns the metrics with their indices, each once: that of a goal may have a constraint, too.
    fn metrics(&self) -> impl Iterator<Item = (usize, &String)> {
        let all = &self.tuning.metrics;
        let is_first =
            |(index, path): &(usize, &String)| all.iter().position(|one| one == *path) == Some(*index);
        all.iter().enumerate().filter(is_first)
    }

    /// Returns the index of a finalist among the points.
    fn point(&self, finalist: Option<usize>) -> Option<usize> {
        finalist.and_then(|finalist| self.judged.finalists[finalist])
    }

    /// Returns the command that runs a point of the scenario in `file`.
    pub fn command(&self, file: &str, point: usize) -> String {
        format!("lockgate run {} {}", word(file), self.tuning.options(&self.found.tried[point].point))
    }

    /// Returns the settings of a point, each `PATH=VALUE`.
    pub fn settings(&self, point: usize) -> &[String] {
        &self.found.tried[point].point.settings
    }

    /// Returns the points in the order in which they were tried.
    pub fn points(&self) -> Comparison {
        let front = self.found.front(&self.tuning.goals);
        let mut heads = vec![Head::named("#")];
        heads.extend(
            self.columns().into_iter().map(|column| Head { words: column.name, address: column.path }),
        );
        heads.extend(self.metrics().map(|(_, path)| Head::of_metric(path)));
        heads.push(Head::named(""));
        let row = |(index, tried): (usize, &Tried)| {
            let mut cells = vec![(index + 1).to_string()];
            cells.extend(tried.point.values.iter().cloned());
            cells.extend(self.metrics().map(|(metric, path)| quantity(path, tried.means[metric])));
            let mark = match tried.is_feasible() {
                _ if front.contains(&index) => "*",
                true => "",
                false => "✗",
            };
            cells.push(mark.to_owned());
            cells
        };
        let note = if self.tuning.goals.len() > 1 {
            "* best of the search: the front   ✗ a constraint is not kept"
        } else {
            "* best of the search   ✗ a constraint is not kept"
        };
        table(
            "Points in the order in which they were tried",
            heads,
            self.found.tried.iter().enumerate().map(row),
            note,
        )
    }

    /// Returns the reason of the end.
    pub fn stop(&self) -> String {
        let last = self.found.last_progress + 1;
        let why = match self.found.stop {
            Stop::Runs | Stop::Interrupted => "the runs that --runs allows are made".to_owned(),
            Stop::NoProgress(points) => format!("{points} points in succession were no better (--patience)"),
            Stop::Converged => "no other point was expected to be better".to_owned(),
        };
        format!("{why}; the last improvement was point {last} of {}", self.found.tried.len())
    }

    /// Returns the finalists on the unseen seeds: each metric with its interval, and the differences from the
    /// winner.
    pub fn finalists(&self) -> Comparison {
        let name = |finalist: &Option<usize>| match finalist {
            Some(index) => format!("#{} {}", index + 1, self.found.tried[*index].point.values.join(" ")),
            None => "the file as it is".to_owned(),
        };
        let role = |at: usize| match at {
            _ if self.judged.knee == Some(at) => " *k",
            _ if self.judged.front.contains(&at) => " *",
            _ => "",
        };
        let mut heads = vec![Head::named("point")];
        heads.extend(self.metrics().map(|(_, path)| Head::of_metric(path)));
        let row = |(at, finalist): (usize, &Option<usize>)| {
            let mut cells = vec![name(finalist) + role(at)];
            cells.extend(self.metrics().map(|(metric, path)| self.cell(metric, path, at)));
            cells
        };
        let unseen = self.tuning.request.unseen.len();
        let title = format!(
            "On {unseen} seed{} that the search has not seen, mean ± 95 %",
            figures::plural(unseen as f64)
        );
        table(&title, heads, self.judged.finalists.iter().enumerate().map(row), &self.marks())
    }

    fn cell(&self, metric: usize, path: &str, at: usize) -> String {
        let compared = &self.judged.metrics[metric];
        let Some(interval) = &compared.intervals[at] else { return "-".to_owned() };
        let goal = self.tuning.goals.get(metric);
        let mark = match &compared.differences[at] {
            _ if self.judged.winner == Some(at) => " *",
            Some(one) => sign(one, goal),
            None => "",
        };
        format!("{}{mark}", verdict::interval(path, interval.mean, interval.half_width))
    }

    /// Returns the document of `--json`.
    pub fn json(&self) -> serde_json::Value {
        let tuned = self.tuning;
        let point = |tried: &Tried| {
            json!({
                "values": tried.point.values,
                "settings": tried.point.settings,
                "means": tried.means,
                "feasible": tried.is_feasible(),
            })
        };
        json!({
            "schema": 1,
            "lockgate": super::ENGINE,
            "title": tuned.base.title,
            "vary": tuned.space.names().collect::<Vec<_>>(),
            "metrics": tuned.metrics,
            "goals": tuned.goals.len(),
            "seeds": tuned.request.seeds,
            "unseen": tuned.request.unseen,
            "tried": self.found.tried.iter().map(point).collect::<Vec<_>>(),
            "front": self.found.front(&tuned.goals),
            "stopped": self.stop(),
            "finalists": self.judged.finalists,
            "judged": self.judged.metrics,
            "confirmed": self.judged.more,
            "winner": self.point(self.judged.winner),
            "judged_front": self.judged.front.iter().map(|index| self.judged.finalists[*index]).collect::<Vec<_>>(),
            "knee": self.point(self.judged.knee),
        })
    }
}

impl Tuned<'_> {
    /// Returns the sentences on metrics that some runs of the judgement have no value of. A point without a
    /// value of a goal on one seed has no mean, and cannot win.
    pub fn without_values(&self) -> Vec<String> {
        let unseen = self.tuning.request.unseen.len();
        let sentence = |(metric, path): (usize, &String)| {
            let compared = self.judged.metrics.get(metric)?;
            let seen = |one: &Option<Interval>| one.as_ref().map_or(0, |one| one.n as usize);
            let lacking: Vec<(usize, String)> = compared
                .intervals
                .iter()
                .zip(&self.judged.finalists)
                .filter(|(one, _)| seen(one) < unseen)
                .map(|(one, finalist)| {
                    let name =
                        finalist.map_or("the file as it is".to_owned(), |index| format!("#{}", index + 1));
                    (unseen - seen(one), name)
                })
                .collect();
            without_values(path, unseen, &lacking)
        };
        self.metrics().filter_map(sentence).collect()
    }
}

/// Head of a column: words, and the address that they stand for, if any.
struct Head {
    words: String,
    address: String,
}

impl Head {
    fn named(words: &str) -> Self {
        Self { words: words.to_owned(), address: String::new() }
    }

    fn of_metric(path: &str) -> Self {
        Self { words: Words::of(path).in_sentence(), address: path.to_owned() }
    }
}

/// Returns a table of texts.
fn table(title: &str, heads: Vec<Head>, rows: impl Iterator<Item = Vec<String>>, note: &str) -> Comparison {
    let rows = rows.map(|row| row.into_iter().map(Cell::Text).collect()).collect();
    let (columns, addresses) = heads.into_iter().map(|head| (head.words, head.address)).unzip();
    Comparison { title: title.to_owned(), columns, addresses, rows, note: note.to_owned() }
}

/// Returns the mark of a difference from the reference; of a constraint's metric, nothing.
fn sign(one: &Difference, goal: Option<&Goal>) -> &'static str {
    let Some(goal) = goal else { return "" };
    match one.verdict {
        Verdict::NotSeen | Verdict::Same => " =",
        Verdict::Equal => " ≈",
        Verdict::Unknown => " ?",
        Verdict::Differs if (one.mean < 0.0) == (goal.better == Better::Lower) => " +",
        Verdict::Differs => " -",
    }
}
