//! Files of a search: `report.html` with the points, the front and the judgement, and the numbers.

use std::path::PathBuf;

use lockgate_experiment::tune::{Goal, Tried};
use lockgate_measure::metric::Address;
use lockgate_measure::report::{Axis, Cell, Comparison, Figure, FigureKind, FigureSeries, Origin, page};
use lockgate_scenario::vary;
use serde_json::json;

use super::{NO_WINNER, Outcome, TextTable};
use crate::exit::Failure;
use crate::results::{self, ResultsDirectory};

/// Writes the files of a search and moves the directory to its place. Returns the page's path.
pub(super) fn write(out: ResultsDirectory, outcome: &Outcome<'_>) -> Result<PathBuf, Failure> {
    let tuned = outcome.tuned;
    let mut report = results::report_head(&tuned.base.title, tuned.text());
    report.verdict = verdict(outcome);
    report.figures = figures(outcome);
    let of = outcome.unseen.len();
    report.comparisons = vec![
        table(
            &format!("The best points, judged on {of} seeds that the search has not seen"),
            outcome.finalists(),
            &format!("Mean ± half the width of the 95 % interval. {}.", outcome.marks()),
        ),
        table(
            "Points in the order in which they were tried",
            outcome.points(),
            "Means over the seeds of the search. * best of the search, or its front; - a constraint is not kept.",
        ),
    ];
    report.topology = results::topology(&tuned.base);
    out.write("scenario.toml", tuned.text())?;
    out.write("search.json", results::json(&outcome.json())?)?;
    out.write("report.html", page(results::TEMPLATE, &report))?;
    let manifest = json!({
        "lockgate": env!("CARGO_PKG_VERSION"),
        "title": tuned.base.title,
        "command": results::command_line(),
        "scenario_sha256": results::hash(tuned.text()),
        "seeds": outcome.seeds,
        "finished": results::now(),
    });
    Ok(out.finish(&manifest)?.join("report.html"))
}

/// Returns the sentences at the top: the winner, or the knee and the front, and how the search ended.
fn verdict(outcome: &Outcome<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let recommended = outcome.recommended();
    if recommended.is_empty() {
        lines.push(NO_WINNER.to_owned());
    }
    for (role, index) in recommended {
        let settings = outcome.found.tried[index].point.settings.join(", ");
        lines.push(format!("{role}, point #{}: {settings}.", index + 1));
        lines.push(outcome.command(index));
    }
    lines.push(format!("{}; stopped: {}.", outcome.size(), outcome.stop()));
    lines
}

fn table(title: &str, (columns, rows): TextTable, note: &str) -> Comparison {
    let cells = |row: Vec<String>| row.into_iter().map(Cell::Text).collect();
    Comparison {
        title: title.to_owned(),
        columns,
        rows: rows.into_iter().map(cells).collect(),
        note: note.to_owned(),
    }
}

/// Returns the figures: the first goal point by point, against the other metrics, and against each variable.
fn figures(outcome: &Outcome<'_>) -> Vec<Figure> {
    let tuned = outcome.tuned;
    let mut figures = vec![progress(outcome)];
    for (index, path) in tuned.metrics.iter().enumerate().skip(1) {
        let caption = "Each point of the search: means over its seeds. The front: no other point is better in all goals.";
        figures.push(scatter(outcome, &format!("goal-{index}"), axis(path), caption, |tried| {
            tried.means[index]
        }));
    }
    for (index, name) in tuned.space.names().enumerate() {
        let values = || outcome.found.tried.iter().map(move |tried| tried.point.values[index].as_str());
        let unit = values().next().map_or("", vary::unit);
        if !values().all(|value| vary::number(value).is_some() && vary::unit(value) == unit) {
            continue;
        }
        let x = Axis { label: name.to_owned(), unit: unit.to_owned(), log: false };
        let caption = "Each point of the search, whatever its other values.";
        figures.push(scatter(outcome, &format!("variable-{index}"), x, caption, |tried| {
            vary::number(&tried.point.values[index])
        }));
    }
    figures
}

fn axis(path: &str) -> Axis {
    let unit = Address::parse(path).map_or("", |address| address.metric.unit.symbol());
    Axis { label: path.to_owned(), unit: unit.to_owned(), log: false }
}

/// Returns the first goal of each point, and the best until then.
fn progress(outcome: &Outcome<'_>) -> Figure {
    let goal = &outcome.tuned.goals[0];
    let x = Axis { label: "point".to_owned(), ..Axis::default() };
    let number = |tried: &Tried| {
        let index = outcome.found.tried.iter().position(|one| std::ptr::eq(one, tried));
        index.map(|index| (index + 1) as f64)
    };
    let caption = "The first goal's metric of each point, in the order of the search.";
    let mut figure = scatter(outcome, "progress", x, caption, number);
    figure.series.retain(|series| series.name != FRONT);
    figure.series.push(best_until(&outcome.found.tried, goal));
    figure
}

fn best_until(tried: &[Tried], goal: &Goal) -> FigureSeries {
    let mut best: Option<f64> = None;
    let mut series = series("best until then", Vec::new());
    for (index, one) in tried.iter().enumerate() {
        let value = one.means[0].filter(|_| one.is_feasible());
        let is_better = |value: &f64| best.is_none_or(|best| goal.cost(*value) < goal.cost(best));
        best = value.filter(is_better).or(best);
        series.x.extend(best.map(|_| (index + 1) as f64));
        series.y.extend(best);
    }
    series
}

/// Name of the points that no other beats.
const FRONT: &str = "front";

/// Returns a figure of the first goal's metric over `x` of each point.
fn scatter(
    outcome: &Outcome<'_>,
    id: &str,
    x: Axis,
    caption: &str,
    value: impl Fn(&Tried) -> Option<f64>,
) -> Figure {
    let front = outcome.found.front(&outcome.tuned.goals);
    let all = || outcome.found.tried.iter().enumerate();
    let of = |name, is_in: &dyn Fn(usize, &Tried) -> bool| {
        let points = all().filter(|(index, tried)| is_in(*index, tried));
        series(name, points.filter_map(|(_, tried)| Some((value(tried)?, tried.means[0]?))).collect())
    };
    let y = axis(&outcome.tuned.metrics[0]);
    Figure {
        id: id.to_owned(),
        title: format!("{} over {}", y.label, x.label),
        caption: caption.to_owned(),
        x,
        y,
        kind: FigureKind::Scatter,
        series: vec![
            of("keeps the constraints", &|index, tried| tried.is_feasible() && !front.contains(&index)),
            of("does not", &|_, tried| !tried.is_feasible()),
            of(FRONT, &|index, _| front.contains(&index)),
        ],
    }
}

fn series(name: &str, points: Vec<(f64, f64)>) -> FigureSeries {
    let (x, y) = points.into_iter().unzip();
    FigureSeries { name: name.to_owned(), mode: Origin::Sim, x, y, error: None }
}
