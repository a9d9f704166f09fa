//! Figures and tables of a paper, computed from observations.

use lockgate_measure::report::{self, Cell, Comparison, FigureKind, FigureSeries};

use super::experiment::Experiment;
use super::expression::{Expression, observations};
use super::file::{Axis, Column, Figure, Kind, Origin, Series, Table};
use super::observation::Curve;
use super::results::Observations;
use crate::ClaimsError;
use crate::matrix::{Variables, combinations, fill};

/// Parses a formula after filling in its variables.
pub(crate) fn formula(text: &str, variables: &Variables) -> Result<Expression, ClaimsError> {
    Expression::parse(&fill(text, variables)?)
}

/// Data of one series.
enum Source<'a> {
    Formula(&'a str),
    Curve(&'a str, Curve),
    Points,
}

impl Series {
    fn source(&self) -> Source<'_> {
        match (&self.y, &self.over_time, &self.density, &self.cumulative) {
            (Some(y), ..) => Source::Formula(y),
            (_, Some(observation), ..) => Source::Curve(observation, Curve::OverTime),
            (_, _, Some(observation), _) => Source::Curve(observation, Curve::Density),
            (.., Some(observation)) => Source::Curve(observation, Curve::Cumulative),
            _ => Source::Points,
        }
    }

    fn at(variables: &Variables, x: f64) -> Variables {
        let mut with = variables.clone();
        with.insert("x".to_owned(), x.to_string());
        with
    }

    fn want(&self, experiment: &mut Experiment<'_>) -> Result<(), ClaimsError> {
        for variables in combinations(&self.each, &Vec::new())? {
            match self.source() {
                Source::Formula(y) => {
                    for x in &self.x {
                        experiment.want(&formula(y, &Self::at(&variables, *x))?)?;
                    }
                }
                Source::Curve(text, curve) => {
                    for observation in read_observation(text, &variables)? {
                        experiment.want_curve(observation, curve)?;
                    }
                }
                Source::Points => {}
            }
        }
        Ok(())
    }

    /// Draws the series from the observations `seen`. With `is_live` (real packets), values without their
    /// observations are left out.
    fn draw(&self, seen: &Observations, is_live: bool) -> Result<Vec<FigureSeries>, ClaimsError> {
        let draw = |variables: &Variables| {
            let points: Vec<(f64, f64)> = match self.source() {
                Source::Points => self.points.iter().map(|[x, y]| (*x, *y)).collect(),
                Source::Curve(text, curve) => read_observation(text, variables)?
                    .into_iter()
                    .flat_map(|one| seen.curves.get(&(one, curve)).cloned().unwrap_or_default())
                    .map(|(x, y)| (x, y * self.scale))
                    .collect(),
                Source::Formula(y) => {
                    let mut points = Vec::new();
                    for x in &self.x {
                        let formula = formula(y, &Self::at(variables, *x))?;
                        if is_live && !is_whole(&formula, seen) {
                            continue;
                        }
                        let value = formula.value(&seen.values)?;
                        points.extend(value.into_iter().map(|value| (*x, value * self.scale)));
                    }
                    points
                }
            };
            let (x, y) = points.into_iter().filter(|(_, y)| y.is_finite()).unzip();
            let mode = match (self.source(), self.origin) {
                (Source::Points, Origin::Paper) => report::Origin::Paper,
                (Source::Points, Origin::Theory) => report::Origin::Theory,
                _ if is_live => report::Origin::Live,
                _ => report::Origin::Sim,
            };
            Ok(FigureSeries { name: fill(&self.name, variables)?, mode, x, y, ..FigureSeries::default() })
        };
        combinations(&self.each, &Vec::new())?.iter().map(draw).collect()
    }
}

/// True if all observations of a formula were made.
fn is_whole(formula: &Expression, seen: &Observations) -> bool {
    let mut whole = true;
    formula.each_observation(&mut |observation| whole &= seen.values.contains_key(observation));
    whole
}

fn read_observation(
    text: &str,
    variables: &Variables,
) -> Result<Vec<super::expression::Observation>, ClaimsError> {
    let text = fill(text, variables)?;
    let inside = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    observations(inside.ok_or_else(|| ClaimsError::Observation(text.clone()))?)
}

impl Figure {
    /// Requests the observations it draws.
    pub(crate) fn want(&self, experiment: &mut Experiment<'_>) -> Result<(), ClaimsError> {
        self.series.iter().try_for_each(|series| series.want(experiment)).map_err(self.wrong())
    }

    fn wrong(&self) -> impl Fn(ClaimsError) -> ClaimsError {
        ClaimsError::of("figure", &self.id)
    }

    /// Draws the figure.
    pub(crate) fn draw(&self, experiment: &Experiment<'_>) -> Result<report::Figure, ClaimsError> {
        let mut series = Vec::new();
        for one in &self.series {
            series.extend(one.draw(&experiment.seen, false).map_err(self.wrong())?);
        }
        if let Some(live) = &experiment.live {
            for one in self.series.iter().filter(|one| !matches!(one.source(), Source::Points)) {
                let drawn = one.draw(&live.seen, true).map_err(self.wrong())?;
                series.extend(drawn.into_iter().filter(|drawn| !drawn.x.is_empty()));
            }
        }
        Ok(report::Figure {
            id: self.id.clone(),
            title: self.title.clone(),
            caption: self.caption.clone(),
            x: axis(&self.x),
            y: axis(&self.y),
            kind: match self.kind {
                Kind::Line => FigureKind::Line,
                Kind::Scatter => FigureKind::Scatter,
                Kind::Bar => FigureKind::Bar,
            },
            series,
        })
    }
}

fn axis(axis: &Axis) -> report::Axis {
    report::Axis { label: axis.label.clone(), unit: axis.unit.clone(), log: axis.log }
}

/// Requests the observations of a row's cells.
pub(crate) fn want_row(
    columns: &[Column],
    variables: &Variables,
    experiment: &mut Experiment<'_>,
) -> Result<(), ClaimsError> {
    for value in columns.iter().filter_map(|column| column.value.as_deref()) {
        experiment.want(&formula(value, variables)?)?;
    }
    Ok(())
}

/// Returns the cells of a row. A cell without an observation stays empty.
pub(crate) fn row(
    columns: &[Column],
    variables: &Variables,
    experiment: &Experiment<'_>,
) -> Result<Vec<Cell>, ClaimsError> {
    let cell = |column: &Column| {
        if let Some(value) = &column.value {
            let values = formula(value, variables)?.value(&experiment.seen.values)?;
            return Ok(match values.as_slice() {
                [value] if value.is_finite() => Cell::Number(*value),
                [_] => Cell::Empty,
                values => Cell::Text(
                    values.iter().map(|value| super::verdict::number(*value)).collect::<Vec<_>>().join(", "),
                ),
            });
        }
        column.text.as_ref().map_or(Ok(Cell::Empty), |text| fill(text, variables).map(Cell::Text))
    };
    columns.iter().map(cell).collect()
}

impl Table {
    fn wrong(&self) -> impl Fn(ClaimsError) -> ClaimsError {
        ClaimsError::of("table", &self.title)
    }

    /// Requests the observations it shows.
    pub(crate) fn want(&self, experiment: &mut Experiment<'_>) -> Result<(), ClaimsError> {
        combinations(&self.each, &self.rows)
            .map_err(self.wrong())?
            .iter()
            .try_for_each(|variables| want_row(&self.columns, variables, experiment))
            .map_err(self.wrong())
    }

    /// Fills the table.
    pub(crate) fn fill(&self, experiment: &Experiment<'_>) -> Result<Comparison, ClaimsError> {
        let rows = combinations(&self.each, &self.rows).map_err(self.wrong())?;
        let rows =
            rows.iter().map(|variables| row(&self.columns, variables, experiment)).collect::<Result<_, _>>();
        Ok(Comparison {
            title: self.title.clone(),
            columns: self.columns.iter().map(|column| column.head.clone()).collect(),
            rows: rows.map_err(self.wrong())?,
            addresses: Vec::new(),
            note: self.note.clone(),
        })
    }
}
