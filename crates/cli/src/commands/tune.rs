//! `lockgate tune`: the best values of parameters, searched with some seeds and judged on others.

mod judge;
mod report;

use lockgate::figures;
use lockgate::verdict::{self, quantity};
use lockgate_experiment::tune::{Goal, Point, Request, Search, Stop, Tried, search};
use lockgate_measure::comparison::{Difference, Verdict};
use lockgate_measure::metric::Better;
use serde_json::json;

use self::judge::{JudgedFinalists, judge};
use crate::arguments::Tune;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::plans::outputs::{Form, OutputFile};
use crate::plans::tuned::{Tuned, check_memory, tuned};
use crate::results::ResultsDirectory;
use crate::{interrupt, plans, results, runs, terminal};

pub(crate) fn tune(arguments: &Tune) -> Result<Exit, Failure> {
    if let (Some(path), Some(condition)) = (&arguments.largest, &arguments.condition) {
        return super::largest::largest(arguments, path, condition);
    }
    let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
    let (seeds, unseen) = seeds(arguments)?;
    let tuned = tuned(file, arguments)?;
    let json =
        arguments.json.as_deref().map(|file| OutputFile::start(file, Form::Search, "--json")).transpose()?;
    let out = arguments.out.as_deref();
    let out = out.map(|out| ResultsDirectory::start(Some(out), &tuned.base.title)).transpose()?;
    let limit = runs::memory_limit(arguments.limits.memory.as_deref())?;
    check_memory(tuned.memory, arguments.limits.jobs, arguments.runs, limit)?;
    interrupt::listen();
    let bar = plans::progress(arguments.runs, arguments.quiet);
    let request = Request {
        space: &tuned.space,
        goals: &tuned.goals,
        constraints: &tuned.constraints,
        seeds: seeds.len(),
        runs: arguments.runs,
        patience: arguments.patience,
        seed: arguments.seed,
    };
    let one = |point: &Point| {
        let rows = tuned.run(std::slice::from_ref(point), &seeds, arguments.limits.jobs, &|| bar.inc(1))?;
        Ok(rows.map(|rows| rows.into_iter().flatten().collect()))
    };
    let found = search(&request, one);
    bar.finish_and_clear();
    let found = found?;
    if found.stop == Stop::Interrupted {
        tell!("stopped after {} points; nothing is kept of a search", found.tried.len());
        return Ok(Exit::Interrupted);
    }
    let Some(judged) = judge(&tuned, &request, &found, (&seeds, &unseen), arguments)? else {
        return Ok(Exit::Interrupted);
    };
    let outcome = Outcome {
        file: file.display().to_string(),
        tuned: &tuned,
        found: &found,
        judged: &judged,
        seeds: &seeds,
        unseen: &unseen,
    };
    let is_shown = arguments.json.as_deref() != Some(std::path::Path::new("-"));
    if is_shown {
        outcome.show();
    }
    if let Some(json) = json {
        json.write(&results::json(&outcome.json())?)?;
    }
    if let Some(out) = out {
        let page = report::write(out, &outcome)?;
        if is_shown {
            say!("report: {}", page.display());
        }
    }
    Ok(if judged.recommended().is_empty() { Exit::ExpectMissed } else { Exit::Ok })
}

/// Returns the seeds of the search, and those of the judgement, which must be others.
fn seeds(arguments: &Tune) -> Result<(Vec<u64>, Vec<u64>), Failure> {
    let (seeds, unseen) = (plans::seeds(&arguments.seeds)?, plans::seeds(&arguments.validate)?);
    if let Some(seed) = unseen.iter().find(|seed| seeds.contains(seed)) {
        return Err(Failure::usage(
            format!("seed {seed} is in --seeds and in --validate"),
            "judge on seeds that the search has not seen",
        ));
    }
    if arguments.runs < 5 * seeds.len() {
        return Err(Failure::usage(
            format!("{} runs are fewer than five points of {} seeds", arguments.runs, seeds.len()),
            "allow more with --runs, or name fewer --seeds",
        ));
    }
    Ok((seeds, unseen))
}

/// A search with its judgement, to be shown.
struct Outcome<'a> {
    /// Path of the scenario's file.
    file: String,
    tuned: &'a Tuned,
    found: &'a Search,
    judged: &'a JudgedFinalists,
    seeds: &'a [u64],
    unseen: &'a [u64],
}

/// Heads of the columns, and the rows.
type TextTable = (Vec<String>, Vec<Vec<String>>);

const NO_WINNER: &str = "no point has a value of each goal and keeps every constraint on the unseen seeds: make runs longer, widen the ranges, \
     or allow more --runs";

impl Outcome<'_> {
    fn show(&self) {
        terminal::heading(&self.tuned.base.title);
        say!("{}", self.size());
        say!();
        show_table(&self.points());
        say!();
        say!(
            "* best of the search{}   - a constraint is not kept",
            if self.tuned.goals.len() > 1 { ": the front" } else { "" }
        );
        say!("stopped: {}", self.stop());
        say!();
        let unseen = self.unseen.len();
        say!("on {unseen} seed{} that the search has not seen, mean ± 95 %:", figures::plural(unseen as f64));
        show_table(&self.finalists());
        say!("{}", self.marks());
        say!();
        let recommended = self.recommended();
        if recommended.is_empty() {
            say!("{NO_WINNER}");
        }
        for (role, index) in recommended {
            say!("{role}, #{}:", index + 1);
            say!("  {}", self.command(index));
        }
    }

    /// Returns the meaning of the marks of the finalists' table.
    fn marks(&self) -> String {
        let tests = "paired by seed, Holm's method";
        if self.tuned.goals.len() > 1 {
            format!(
                "* front   k its knee   = no difference from the file as it is seen   + better   - worse ({tests})"
            )
        } else if self.judged.winner.is_some() {
            format!("* winner   = no difference from it seen   + better   - worse ({tests})")
        } else {
            format!("= no difference from the file as it is seen   + better   - worse ({tests})")
        }
    }

    /// Returns the points to use, each with its role: the winner of one goal, the knee and the rest of the
    /// front of several.
    fn recommended(&self) -> Vec<(&'static str, usize)> {
        let role = |finalist: usize| match finalist {
            _ if self.judged.winner == Some(finalist) => "the winner",
            _ if self.judged.knee == Some(finalist) => {
                "the knee of the front: from here, a step along it costs a larger factor than it gains"
            }
            _ => "on the front",
        };
        let all = self.judged.recommended().into_iter();
        all.filter_map(|finalist| Some((role(finalist), self.judged.finalists[finalist]?))).collect()
    }

    /// Returns the number of points, seeds and runs.
    fn size(&self) -> String {
        let (points, seeds) = (self.found.tried.len(), self.seeds.len());
        let runs = points * seeds;
        let confirmation =
            self.judged.confirmation().map(|text| format!(", then {text}")).unwrap_or_default();
        format!("{points} points x {seeds} seed{} = {runs} runs{confirmation}", figures::plural(seeds as f64))
    }

    /// Returns the index of a finalist among the points.
    fn point(&self, finalist: Option<usize>) -> Option<usize> {
        finalist.and_then(|finalist| self.judged.finalists[finalist])
    }

    /// Returns the command that runs a point.
    fn command(&self, point: usize) -> String {
        format!("lockgate run {} {}", self.file, self.tuned.options(&self.found.tried[point].point))
    }

    /// Returns the points in the order in which they were tried.
    fn points(&self) -> TextTable {
        let front = self.found.front(&self.tuned.goals);
        let mut header = vec!["#".to_owned()];
        header.extend(self.tuned.space.names().map(str::to_owned));
        header.extend(self.tuned.metrics.iter().cloned());
        header.push(String::new());
        let row = |(index, tried): (usize, &Tried)| {
            let mut cells = vec![(index + 1).to_string()];
            cells.extend(tried.point.values.iter().cloned());
            cells.extend(
                self.tuned.metrics.iter().zip(&tried.means).map(|(path, mean)| quantity(path, *mean)),
            );
            let mark = match tried.is_feasible() {
                _ if front.contains(&index) => "*",
                true => "",
                false => "-",
            };
            cells.push(mark.to_owned());
            cells
        };
        (header, self.found.tried.iter().enumerate().map(row).collect())
    }

    fn stop(&self) -> String {
        let last = self.found.last_progress + 1;
        let why = match self.found.stop {
            Stop::Runs | Stop::Interrupted => "the runs that --runs allows are made".to_owned(),
            Stop::NoProgress(points) => format!("{points} points in succession were no better (--patience)"),
            Stop::Converged => {
                "only points are proposed that were tried or are as good as the best".to_owned()
            }
        };
        format!("{why}; the last improvement was point {last} of {}", self.found.tried.len())
    }

    /// Returns the finalists on the unseen seeds: each metric with its interval, and the differences from the
    /// winner.
    fn finalists(&self) -> TextTable {
        let name = |finalist: &Option<usize>| match finalist {
            Some(index) => format!("#{} {}", index + 1, self.found.tried[*index].point.values.join(" ")),
            None => "the file as it is".to_owned(),
        };
        let role = |at: usize| match at {
            _ if self.judged.knee == Some(at) => " *k",
            _ if self.judged.front.contains(&at) => " *",
            _ => "",
        };
        let mut header = vec!["point".to_owned()];
        header.extend(self.tuned.metrics.iter().cloned());
        let row = |(at, finalist): (usize, &Option<usize>)| {
            let mut cells = vec![name(finalist) + role(at)];
            cells.extend(
                self.tuned.metrics.iter().enumerate().map(|(metric, path)| self.cell(metric, path, at)),
            );
            cells
        };
        (header, self.judged.finalists.iter().enumerate().map(row).collect())
    }

    fn cell(&self, metric: usize, path: &str, at: usize) -> String {
        let compared = &self.judged.metrics[metric];
        let Some(interval) = &compared.intervals[at] else { return "-".to_owned() };
        let goal = self.tuned.goals.get(metric);
        let mark = match &compared.differences[at] {
            _ if self.judged.winner == Some(at) => " *",
            Some(one) => sign(one, goal),
            None => "",
        };
        format!("{}{mark}", verdict::interval(path, interval.mean, interval.half_width))
    }

    fn json(&self) -> serde_json::Value {
        let tuned = self.tuned;
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
            "lockgate": env!("CARGO_PKG_VERSION"),
            "title": tuned.base.title,
            "vary": tuned.space.names().collect::<Vec<_>>(),
            "metrics": tuned.metrics,
            "goals": tuned.goals.len(),
            "seeds": self.seeds,
            "unseen": self.unseen,
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

fn show_table((header, rows): &TextTable) {
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    terminal::table(&header, rows);
}

/// Returns the mark of a difference from the reference; of a constraint's metric, nothing.
fn sign(one: &Difference, goal: Option<&Goal>) -> &'static str {
    let Some(goal) = goal else { return "" };
    match one.verdict {
        Verdict::NotSeen | Verdict::Same => " =",
        Verdict::Unknown => " ?",
        Verdict::Differs if (one.mean < 0.0) == (goal.better == Better::Lower) => " +",
        Verdict::Differs => " -",
    }
}
