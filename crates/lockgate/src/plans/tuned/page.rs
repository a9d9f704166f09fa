//! Parts of a search's report: sentences, tables and figures.

use lockgate_experiment::tune::{Constraint, Goal, Tried};
use lockgate_measure::comparison::Practical;
use lockgate_measure::metric::{Quantity, Unit};
use lockgate_measure::report::{Axis, Comparison, Figure, FigureBound, FigureKind, FigureSeries, Origin};
use lockgate_measure::summary::Bound;
use lockgate_measure::verdict::Words;
use lockgate_scenario::path::resolved;
use lockgate_scenario::{Override, vary};

use super::super::bound_words;
use super::{NO_WINNER, Tuned, knee};
use crate::figures;
use crate::verdict::quantity;

/// Sentence on the knee of a front of more than two goals.
const LEAST_LOSS: &str =
    "No other point of the front gains a larger factor, all goals together, than it loses.";

/// Fraction of a bound below which a kept constraint is near a cliff.
const CLIFF: f64 = 0.03;

impl Tuned<'_> {
    /// Returns the sentences at the top: the winner, or the knee and the front, and how the search ended.
    /// `file` is the scenario's path in commands.
    pub fn sentences(&self, file: &str) -> Vec<String> {
        let mut lines = self.recommendation(file);
        lines.extend(self.front_without_improvement());
        lines.push(format!("{}; stopped: {}.", self.size(), self.stop()));
        lines.extend(self.without_values());
        lines
    }

    /// Returns the sentences and the command of the point to use: the winner, or the knee of the front, whose
    /// other points are in the table; one sentence if there is none.
    pub fn recommendation(&self, file: &str) -> Vec<String> {
        if self.has_no_effect() {
            return self.without_effect();
        }
        match self.recommended().first() {
            Some((role, point)) => self.told(role, *point, file),
            None => vec![format!("{}.", capital(NO_WINNER))],
        }
    }

    /// Returns the sentences on a search whose points are all the same, with the reason if it is known.
    fn without_effect(&self) -> Vec<String> {
        let points = self.found.tried.len();
        let sentence = format!(
            "Take any: all {points} points have exactly the same values, so what varies has no effect on them."
        );
        let scenario = &self.tuning.base;
        let unused = |path: &String| {
            let one = Override::new(path, "0").ok()?;
            let one = resolved(&scenario.to_toml(), &[one]).pop()?;
            let [section, port, queue, name, ..] = one.path() else { return None };
            let port =
                &scenario.ports[scenario.port(port).filter(|_| section == "port" && queue == "queue")?];
            let is_member =
                |own: &str| own == name || own.split_once('/').is_some_and(|(group, _)| group == name);
            let is_used = port.tree.queues().iter().any(|queue| is_member(&queue.name));
            (!is_used).then(|| {
                format!(
                    "The queue `{name}` of `{}` is out of use: the root there is `{}`.",
                    port.name, port.root
                )
            })
        };
        let paths = self.tuning.space.variations().iter().flat_map(|vary| &vary.paths);
        core::iter::once(sentence).chain(paths.filter_map(unused)).collect()
    }

    /// Returns the sentences on a recommended point, the bounds near to it, and its command at the end.
    pub fn told(&self, role: &str, point: usize, file: &str) -> Vec<String> {
        let is_knee = self.point(self.judged.knee) == Some(point);
        let role = match self.tuning.goals.len() {
            2 if is_knee && self.judged.front.len() == 1 => "best means of both goals",
            _ if is_knee && self.judged.front.len() == 1 => "best means of all goals",
            _ => role,
        };
        let nothing_better =
            self.without_improvement().filter(|_| self.point(self.judged.winner) == Some(point));
        let role = match &nothing_better {
            Some(nothing) => format!("{nothing} The best point"),
            None => capital(role),
        };
        let mut sentence = format!("{role}, #{}, {}: ", point + 1, self.named_values(point));
        sentence.push_str(&self.results(point));
        sentence.push('.');
        sentence.extend(nothing_better.and_then(|_| self.alike(point)));
        for step in is_knee.then(|| self.steps()).into_iter().flatten() {
            sentence.push(' ');
            sentence.push_str(&step);
        }
        let mut lines = vec![sentence];
        lines.extend(self.cliffs(point));
        lines.push(self.command(file, point));
        lines
    }

    /// Returns the sentence on the points of the search that give the same as the winner, and on that of them
    /// that gives most of the first constraint's metric; `None` if there is no other.
    fn alike(&self, winner: usize) -> Option<String> {
        let goal = self.tuning.goals.first()?;
        let best = self.found.tried.get(winner)?.means.first().copied().flatten()?;
        let limit = Practical::default().limit(best, unit_of(goal));
        let is_alike = |tried: &Tried| {
            let cost = tried.means.first().copied().flatten().map(|mean| goal.cost(mean));
            tried.is_feasible() && cost.is_some_and(|cost| cost <= goal.cost(best) + limit)
        };
        let all = self.found.tried.iter().enumerate();
        let alike: Vec<(usize, &Tried)> = all.filter(|(_, tried)| is_alike(tried)).collect();
        if alike.len() < 2 {
            return None;
        }
        let text =
            format!(" {} of {} points of the search give the same", alike.len(), self.found.tried.len());
        let Some(constraint) = self.tuning.constraints.first() else { return Some(format!("{text}.")) };
        let metric = self.tuning.goals.len();
        let slack = |tried: &Tried| Some(constraint.slack(tried.means.get(metric).copied().flatten()?));
        let most = alike.into_iter().filter_map(|(index, tried)| Some((index, tried, slack(tried)?)));
        let (index, tried, _) = most.max_by(|one, other| one.2.total_cmp(&other.2))?;
        let value = quantity(&constraint.path, tried.means.get(metric).copied().flatten());
        let which = if constraint.is_at_least { "most" } else { "least" };
        let words = Words::of(&constraint.path).in_sentence();
        let values = self.named_values(index);
        Some(format!("{text}; of these #{}, {values}, has {which} {words}: {value}.", index + 1))
    }

    /// Returns the values of a point with their names: `cake bandwidth 9.87mbit`.
    fn named_values(&self, point: usize) -> String {
        let values = self.columns().into_iter().zip(&self.found.tried[point].point.values);
        values.map(|(column, value)| format!("{} {value}", column.name)).collect::<Vec<_>>().join(", ")
    }

    /// Returns what a finalist gives on the unseen seeds: the goals, of a winner beside those of the file as
    /// it is, and the metrics of constraints with their bounds.
    fn results(&self, point: usize) -> String {
        let is_winner = self.point(self.judged.winner) == Some(point);
        let Some(finalist) = self.finalist(point) else { return "not judged".to_owned() };
        let unchanged = self.judged.finalists.iter().position(Option::is_none);
        let shown = |metric: usize, finalist: usize| {
            let mean = self.judged.metrics.get(metric)?.intervals.get(finalist)?.as_ref()?.mean;
            Some(quantity(&self.tuning.metrics[metric], Some(mean)))
        };
        let one = |(metric, path): (usize, &String)| {
            let value = shown(metric, finalist)?;
            let words = Words::of(path).in_sentence();
            let is_goal = metric < self.tuning.goals.len();
            let before = unchanged.filter(|_| is_goal && is_winner);
            let before = before.and_then(|unchanged| shown(metric, unchanged));
            let before = before.map(|before| format!(" ({before} with the file as it is)"));
            let constraints = self.tuning.constraints.iter().filter(|constraint| constraint.path == *path);
            let wanted: Vec<String> =
                constraints.map(|constraint| format!(", wanted {}", bound_words(constraint))).collect();
            Some(format!("{words} {value}{}{}", before.unwrap_or_default(), wanted.concat()))
        };
        let told: Vec<String> = self.metrics().filter_map(one).collect();
        told.join("; ")
    }

    /// Returns the sentences on the points beside the knee: of two goals the next on either side.
    fn steps(&self) -> Vec<String> {
        let [one, two] = self.tuning.goals.as_slice() else {
            let is_alone = self.judged.front.len() < 2;
            return if is_alone { Vec::new() } else { vec![LEAST_LOSS.to_owned()] };
        };
        let front = self.judged.front.iter().filter_map(|finalist| {
            let point = self.judged.finalists[*finalist]?;
            let value = |goal: usize| Some(self.judged.metrics[goal].intervals[*finalist].as_ref()?.mean);
            let values = self.found.tried[point].point.values.join(" ");
            let name = format!("{values} (#{})", point + 1);
            Some((*finalist, knee::FrontPoint { name, values: [value(0)?, value(1)?] }))
        });
        let (finalists, points): (Vec<usize>, Vec<knee::FrontPoint>) = front.unzip();
        let knee = finalists.iter().position(|finalist| self.judged.knee == Some(*finalist));
        knee.map_or_else(Vec::new, |knee| knee::steps([one, two], &points, knee))
    }

    /// Returns the position of a point among the finalists.
    pub(super) fn finalist(&self, index: usize) -> Option<usize> {
        self.judged.finalists.iter().position(|finalist| *finalist == Some(index))
    }

    /// Returns a sentence on each bound that a point keeps by less than [`CLIFF`]: a little more load breaks
    /// it.
    fn cliffs(&self, index: usize) -> Vec<String> {
        let near = |constraint: &Constraint| {
            let metric = self.tuning.metrics.iter().position(|path| *path == constraint.path)?;
            let interval = self.judged.metrics.get(metric)?.intervals[self.finalist(index)?].as_ref()?;
            let slack = constraint.slack(interval.mean);
            if !(0.0..CLIFF).contains(&slack) || self.tuning.request.margin > 0.0 {
                return None;
            }
            let [mean, bound] =
                [interval.mean, constraint.bound].map(|value| quantity(&constraint.path, Some(value)));
            let words = Words::of(&constraint.path).in_sentence();
            let apart = figures::without_zeros(&figures::ratio(Some(slack)));
            Some(format!(
                "Near a cliff: {words} is {mean}, {apart} from its bound of {bound}; --margin 3% stays away from it."
            ))
        };
        self.tuning.constraints.iter().filter_map(near).collect()
    }

    /// Returns the tables: the finalists, then all points.
    pub fn tables(&self) -> Vec<Comparison> {
        vec![self.finalists(), self.points()]
    }

    /// Returns the figures: the first goal point by point, against the other metrics, and against each
    /// variable.
    pub fn figures(&self) -> Vec<Figure> {
        figures(self)
    }
}

/// Returns the figures: the first goal point by point, against the other metrics, and against each variable.
fn figures(outcome: &Tuned<'_>) -> Vec<Figure> {
    let tuned = outcome.tuning;
    let mut figures = Vec::new();
    for (index, column) in outcome.columns().into_iter().enumerate() {
        let values = || outcome.found.tried.iter().map(move |tried| tried.point.values[index].as_str());
        let unit = values().next().map_or("", vary::unit);
        if !values().all(|value| vary::number(value).is_some() && vary::unit(value) == unit) {
            continue;
        }
        let x = || Axis { label: column.name.clone(), unit: unit.to_owned(), log: false };
        let number = |tried: &Tried| vary::number(&tried.point.values[index]);
        let caption = "Each point of the search with its number, whatever its other values.";
        figures.push(scatter(outcome, &format!("variable-{index}"), x(), (caption, 0), number));
        // The first goal has this figure already.
        for (metric, path) in outcome.metrics().skip(1) {
            let Some(at) = tuned.constraints.iter().position(|one| one.path == *path) else { continue };
            let id = format!("constraint-{at}-{index}");
            figures.push(scatter(outcome, &id, x(), ("Each point of the search.", metric), number));
        }
    }
    let against = outcome.metrics().skip(1).map(|(index, path)| {
        let caption = "Each point of the search with its number: means over its seeds. The front: no other point is better in all goals.";
        let value = |tried: &Tried| tried.means[index];
        let mut figure =
            scatter(outcome, &format!("goal-{index}"), axis(outcome, path, index), (caption, 0), value);
        for limit in limits(outcome, path) {
            draw_bound(&mut figure, limit, true);
        }
        figure
    });
    // Of several goals the front decides; of one, the variable that is turned.
    let index = if tuned.goals.len() > 1 { 0 } else { figures.len() };
    figures.splice(index..index, against);
    figures.push(progress(outcome));
    figures
}

/// Bound that a search or its file sets on a metric.
#[derive(Clone, Copy)]
struct Limit {
    /// Setter: a point that breaks a constraint is out, one that misses an expectation is not.
    setter: &'static str,
    is_lower: bool,
    value: f64,
}

/// Returns the bounds of a metric: of the constraints, and of the scenario's expectations on what was
/// measured.
fn limits(outcome: &Tuned<'_>, path: &str) -> Vec<Limit> {
    let tuned = outcome.tuning;
    let constraints = tuned.constraints.iter().filter(|constraint| constraint.path == path);
    let constraints = constraints.map(|constraint| Limit {
        setter: "constraint",
        is_lower: constraint.is_at_least,
        value: constraint.bound,
    });
    let expects = tuned.base.expects.iter().filter(|expect| expect.that == path && !expect.proven);
    let expected = |is_lower, value| Some(Limit { setter: "expectation", is_lower, value });
    let expected = expects.flat_map(|expect| &expect.bounds).flat_map(|bound| match *bound {
        Bound::Below(most) | Bound::AtMost(most) => [expected(false, most), None],
        Bound::Above(least) | Bound::AtLeast(least) => [expected(true, least), None],
        Bound::Between(least, most) => [expected(true, least), expected(false, most)],
    });
    let mut limits: Vec<Limit> = Vec::new();
    for limit in constraints.chain(expected.flatten()) {
        if !limits.iter().any(|one| (one.is_lower, one.value) == (limit.is_lower, limit.value)) {
            limits.push(limit);
        }
    }
    limits
}

/// Adds a bound to a figure, as a line over the values of the other axis.
fn draw_bound(figure: &mut Figure, Limit { setter, is_lower, value }: Limit, is_of_x: bool) {
    let others = figure.series.iter().filter(|series| series.bound.is_none());
    let others = others.flat_map(|series| if is_of_x { &series.y } else { &series.x }).copied();
    let (low, high) = others
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let points = if is_of_x { [(value, low), (value, high)] } else { [(low, value), (high, value)] };
    let name = format!("{setter}: {}", if is_lower { "at least" } else { "at most" });
    let bound = Some(FigureBound { is_of_x, is_lower, value });
    figure.series.push(FigureSeries { mode: Origin::Theory, bound, ..series(&name, points.to_vec()) });
}

/// Returns the unit of a goal's metric.
fn unit_of(goal: &Goal) -> Unit {
    Quantity::parse(&goal.path).map_or(Unit::Number, |quantity| quantity.unit())
}

/// Returns a text that begins with a capital letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Factor between the values of a metric from which its axis is logarithmic: one outlier would flatten the
/// rest.
const WIDE: f64 = 8.0;

/// Returns the axis of a metric, by its address and index: of the points' values and its bounds.
fn axis(outcome: &Tuned<'_>, path: &str, index: usize) -> Axis {
    let unit = Quantity::parse(path).map_or("", |quantity| quantity.unit().symbol());
    let values = outcome.found.tried.iter().filter_map(|tried| tried.means[index]);
    let values = values.chain(limits(outcome, path).into_iter().map(|limit| limit.value));
    let (low, high) =
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    Axis { label: Words::of(path).in_sentence(), unit: unit.to_owned(), log: low > 0.0 && high > WIDE * low }
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
    let mut figure = scatter(outcome, "progress", x, (caption, 0), number);
    figure.title = format!("{}, point by point", figure.y.label);
    // The axis has the numbers.
    figure.series.iter_mut().for_each(|series| series.labels.clear());
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

/// Returns a figure of a metric, by its index beside the caption, over `x` of each point.
fn scatter(
    outcome: &Tuned<'_>,
    id: &str,
    x: Axis,
    (caption, metric): (&str, usize),
    value: impl Fn(&Tried) -> Option<f64>,
) -> Figure {
    let is_single = outcome.tuning.goals.len() == 1;
    let kept = if outcome.tuning.constraints.is_empty() { "tried" } else { "keeps the constraints" };
    let broken = "breaks a constraint";
    let role = if is_single { "winner" } else { "knee" };
    let decided = outcome.judged.winner.or(outcome.judged.knee);
    let decided = decided.and_then(|finalist| outcome.judged.finalists[finalist]);
    // The front of a single goal is the best point itself.
    let mut front = outcome.found.front(&outcome.tuning.goals);
    front.retain(|index| !is_single && Some(*index) != decided);
    let all = || outcome.found.tried.iter().enumerate();
    let of = |name, is_in: &dyn Fn(usize, &Tried) -> bool| {
        let points = all().filter(|(index, tried)| is_in(*index, tried));
        let of = |(index, tried): (usize, &Tried)| Some((index, (value(tried)?, tried.means[metric]?)));
        let (numbers, points): (Vec<usize>, Vec<(f64, f64)>) = points.filter_map(of).unzip();
        let labels = numbers.into_iter().map(|index| format!("{}", index + 1)).collect();
        FigureSeries { labels, ..series(name, points) }
    };
    let path = &outcome.tuning.metrics[metric];
    let y = axis(outcome, path, metric);
    let mut figure = Figure {
        id: id.to_owned(),
        title: format!("{} over {}", y.label, x.label),
        caption: caption.to_owned(),
        x,
        y,
        kind: FigureKind::Scatter,
        series: vec![
            of(kept, &|index, tried| {
                tried.is_feasible() && !front.contains(&index) && Some(index) != decided
            }),
            of(broken, &|index, tried| !tried.is_feasible() && Some(index) != decided),
            of(FRONT, &|index, _| front.contains(&index)),
            of(role, &|index, _| Some(index) == decided),
        ],
    };
    figure.series.retain(|series| !series.x.is_empty());
    for limit in limits(outcome, path) {
        draw_bound(&mut figure, limit, false);
    }
    figure
}

fn series(name: &str, points: Vec<(f64, f64)>) -> FigureSeries {
    let (x, y) = points.into_iter().unzip();
    FigureSeries { name: name.to_owned(), x, y, ..FigureSeries::default() }
}
