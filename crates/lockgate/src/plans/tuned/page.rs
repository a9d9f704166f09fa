//! Parts of a search's report: sentences, tables and figures.

use lockgate_experiment::tune::{Goal, Tried};
use lockgate_measure::metric::Address;
use lockgate_measure::report::{Axis, Comparison, Figure, FigureKind, FigureSeries, Origin};
use lockgate_scenario::vary;

use super::{NO_WINNER, Tuned};

impl Tuned<'_> {
    /// Returns the sentences at the top: the winner, or the knee and the front, and how the search ended. `file`
    /// is the scenario's path in commands.
    pub fn sentences(&self, file: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let recommended = self.recommended();
        if recommended.is_empty() {
            lines.push(NO_WINNER.to_owned());
        }
        for (role, index) in recommended {
            let settings = self.found.tried[index].point.settings.join(", ");
            lines.push(format!("{role}, point #{}: {settings}.", index + 1));
            lines.push(self.command(file, index));
        }
        lines.push(format!("{}; stopped: {}.", self.size(), self.stop()));
        lines.extend(self.without_values());
        lines
    }

    /// Returns the tables: the finalists, then all points.
    pub fn tables(&self) -> Vec<Comparison> {
        vec![self.finalists(), self.points()]
    }

    /// Returns the figures: the first goal point by point, against the other metrics, and against each variable.
    pub fn figures(&self) -> Vec<Figure> {
        figures(self)
    }
}

/// Returns the figures: the first goal point by point, against the other metrics, and against each variable.
fn figures(outcome: &Tuned<'_>) -> Vec<Figure> {
    let tuned = outcome.tuning;
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
fn progress(outcome: &Tuned<'_>) -> Figure {
    let goal = &outcome.tuning.goals[0];
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
    outcome: &Tuned<'_>,
    id: &str,
    x: Axis,
    caption: &str,
    value: impl Fn(&Tried) -> Option<f64>,
) -> Figure {
    let front = outcome.found.front(&outcome.tuning.goals);
    let all = || outcome.found.tried.iter().enumerate();
    let of = |name, is_in: &dyn Fn(usize, &Tried) -> bool| {
        let points = all().filter(|(index, tried)| is_in(*index, tried));
        series(name, points.filter_map(|(_, tried)| Some((value(tried)?, tried.means[0]?))).collect())
    };
    let y = axis(&outcome.tuning.metrics[0]);
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
