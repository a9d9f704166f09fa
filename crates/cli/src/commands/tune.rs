//! `lockgate tune`: the best values of parameters, searched with some seeds and judged on others.

mod report;

use lockgate::figures;
use lockgate::verdict::quantity;
use lockgate_experiment::Row;
use lockgate_experiment::tune::{Goal, Point, Request, Search, Stop, Tried, search};
use lockgate_measure::comparison::{Difference, MetricComparison, Reference, Verdict};
use lockgate_measure::metric::Better;
use serde_json::json;

use crate::arguments::Tune;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::plans::outputs::{Form, OutputFile};
use crate::plans::tuned::{Tuned, check_memory, tuned};
use crate::results::ResultsDirectory;
use crate::{interrupt, plans, results, runs, terminal};

/// Points of one goal that are judged on unseen seeds.
const FINALISTS: usize = 4;
/// Points of a front that are judged on unseen seeds.
const MOST_FRONT: usize = 8;

/// Points judged on unseen seeds.
struct JudgedFinalists {
    /// Index of each finalist in the search; `None` for the scenario as it is.
    finalists: Vec<Option<usize>>,
    /// Comparison of each metric, with the winner as the reference.
    metrics: Vec<MetricComparison>,
    /// Index of the winner among the finalists; `None` if no finalist keeps every constraint.
    winner: Option<usize>,
}

pub(crate) fn tune(arguments: &Tune) -> Result<Exit, Failure> {
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
    let Some(judged) = judge(&tuned, &request, &found, &unseen, arguments)? else {
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
    Ok(if judged.winner.is_some() { Exit::Ok } else { Exit::ExpectMissed })
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

/// Runs the best points, and the scenario as it is, with the unseen seeds.
fn judge(
    tuned: &Tuned,
    request: &Request<'_>,
    found: &Search,
    unseen: &[u64],
    arguments: &Tune,
) -> Result<Option<JudgedFinalists>, Failure> {
    let mut best = found.front(&tuned.goals);
    if tuned.goals.len() == 1 {
        best = found.finalists(request, FINALISTS);
    } else if best.len() > MOST_FRONT {
        // Spread along the whole front, both ends included.
        let last = best.len() - 1;
        best = (0..MOST_FRONT).map(|index| best[index * last / (MOST_FRONT - 1)]).collect();
    }
    if best.is_empty() {
        // The point nearest to feasible, so that the report can say how far it is.
        let nearest =
            found.tried.iter().enumerate().min_by(|one, other| one.1.violation.total_cmp(&other.1.violation));
        best.extend(nearest.map(|(index, _)| index));
    }
    let finalists: Vec<Option<usize>> = best.into_iter().map(Some).chain([None]).collect();
    let point = |finalist: &Option<usize>| {
        finalist.map_or_else(Point::default, |index| found.tried[index].point.clone())
    };
    let points: Vec<Point> = finalists.iter().map(point).collect();
    let bar = plans::progress(points.len() * unseen.len(), arguments.quiet);
    let rows = tuned.run(&points, unseen, arguments.limits.jobs, &|| bar.inc(1));
    bar.finish_and_clear();
    let Some(rows) = rows? else {
        tell!("stopped while the best points were judged; nothing is kept of a search");
        return Ok(None);
    };
    let winner = winner(tuned, &rows[..rows.len() - 1]);
    let compared = |metric: usize| {
        let values: Vec<Vec<Option<f64>>> =
            rows.iter().map(|rows| rows.iter().map(|row| row[metric]).collect()).collect();
        let better = tuned.goals.get(metric).map(|goal| goal.better);
        MetricComparison::new(&values, better, Reference::Chosen(winner.unwrap_or_default()))
    };
    let metrics = (0..tuned.metrics.len()).map(compared).collect();
    Ok(Some(JudgedFinalists { finalists, metrics, winner }))
}

/// Returns the index of the winner among the finalists that keep every constraint in the mean: the best by
/// the goal or, with several goals, the one nearest to the best value of each, every goal scaled to its span.
fn winner(tuned: &Tuned, rows: &[Vec<Row>]) -> Option<usize> {
    let mean = |rows: &[Row], metric: usize| {
        let values: Vec<f64> = rows.iter().map(|row| row[metric]).collect::<Option<_>>()?;
        Some(values.iter().sum::<f64>() / values.len().max(1) as f64)
    };
    let goals = tuned.goals.len();
    let holds = |rows: &[Row]| {
        let mut bounded = tuned.constraints.iter().enumerate();
        bounded.all(|(index, one)| mean(rows, goals + index).is_some_and(|mean| one.violation(mean) <= 0.0))
    };
    let costs = |rows: &Vec<Row>| -> Option<Vec<f64>> {
        let cost = |(index, goal): (usize, &Goal)| mean(rows, index).map(|mean| goal.cost(mean));
        tuned.goals.iter().enumerate().map(cost).collect::<Option<_>>().filter(|_| holds(rows))
    };
    let all: Vec<Option<Vec<f64>>> = rows.iter().map(costs).collect();
    let ends = |goal: usize| {
        let values = all.iter().flatten().map(|costs| costs[goal]);
        (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max))
    };
    let distance = |costs: &[f64]| {
        let part = |(goal, cost): (usize, &f64)| {
            let (low, high) = ends(goal);
            let part = if high > low { (cost - low) / (high - low) } else { 0.0 };
            part * part
        };
        costs.iter().enumerate().map(part).sum::<f64>()
    };
    let found = all.iter().enumerate().filter_map(|(index, costs)| Some((index, distance(costs.as_ref()?))));
    found.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(index, _)| index)
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

const NO_WINNER: &str =
    "no point keeps every constraint on the unseen seeds: widen the ranges, or allow more --runs";

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
        say!("* winner   = no difference from it seen   + better   - worse (paired by seed, Holm's method)");
        match self.winner() {
            Some(index) => {
                say!();
                say!("the winner, #{}:", index + 1);
                say!("  {}", self.command(index));
            }
            None => say!("{NO_WINNER}"),
        }
    }

    /// Returns the number of points, seeds and runs.
    fn size(&self) -> String {
        let (points, seeds) = (self.found.tried.len(), self.seeds.len());
        format!("{points} points x {seeds} seed{} = {} runs", figures::plural(seeds as f64), points * seeds)
    }

    /// Returns the index of the winner among the points.
    fn winner(&self) -> Option<usize> {
        self.judged.winner.and_then(|winner| self.judged.finalists[winner])
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
        let mut header = vec!["point".to_owned()];
        header.extend(self.tuned.metrics.iter().cloned());
        let row = |(at, finalist): (usize, &Option<usize>)| {
            let mut cells = vec![name(finalist)];
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
        let half = interval.half_width.map(|half| format!(" ± {}", quantity(path, Some(half))));
        let goal = self.tuned.goals.get(metric);
        let mark = match &compared.differences[at] {
            _ if self.judged.winner == Some(at) => " *",
            Some(one) => sign(one, goal),
            None => "",
        };
        format!("{}{}{mark}", quantity(path, Some(interval.mean)), half.unwrap_or_default())
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
            "winner": self.winner(),
        })
    }
}

fn show_table((header, rows): &TextTable) {
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    terminal::table(&header, rows);
}

/// Returns the mark of a difference from the winner; of a constraint's metric, nothing.
fn sign(one: &Difference, goal: Option<&Goal>) -> &'static str {
    let Some(goal) = goal else { return "" };
    match one.verdict {
        Verdict::NotSeen | Verdict::Same => " =",
        Verdict::Unknown => " ?",
        Verdict::Differs if (one.mean < 0.0) == (goal.better == Better::Lower) => " +",
        Verdict::Differs => " -",
    }
}
