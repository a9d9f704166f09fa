//! Experiment of a paper under other disciplines, such as current ones.

use lockgate_measure::report::{Cell, Comparison};

use super::experiment::Experiment;
use super::figures::{row, want_row};
use super::file::Substitutes;
use crate::matrix::Variables;
use crate::{ClaimsError, Error};

/// Experiment with the disciplines under which it can be run.
pub(crate) struct SubstituteExperiment<'a> {
    today: &'a Substitutes,
    /// Each kind with the name of its run, or the reason why there is none.
    kinds: Vec<(String, Result<String, Error>)>,
}

impl<'a> SubstituteExperiment<'a> {
    /// Adds a run for each kind, after the paper's own configuration.
    pub(crate) fn plan(
        (number, today): (usize, &'a Substitutes),
        asked: &[String],
        quick: bool,
        experiment: &mut Experiment<'_>,
    ) -> Result<Self, ClaimsError> {
        let kinds = if asked.is_empty() { &today.kinds } else { asked };
        let mut others = Self { today, kinds: Vec::new() };
        let quick: &[String] = if quick { &today.quick } else { &[] };
        let base = [today.set.as_slice(), quick].concat();
        for kind in std::iter::once(None).chain(kinds.iter().map(Some)) {
            let name = format!("today/{number}/{}", kind.map_or("paper", |kind| kind));
            let ways = match kind {
                None => vec![base.clone()],
                Some(kind) => [Some(today.alone(kind)), today.instead(kind)]
                    .into_iter()
                    .flatten()
                    .map(|set| [base.as_slice(), &set].concat())
                    .collect(),
            };
            let kind = kind.map_or("the paper's", |kind| kind);
            let mut outcome = Ok(());
            for set in ways {
                outcome = experiment.try_run(&name, &today.scenario, set);
                if outcome.is_ok() {
                    break;
                }
            }
            let outcome = outcome.map(|()| name.clone());
            if outcome.is_ok() {
                want_row(&today.columns, &variables(&name, kind), experiment)
                    .map_err(ClaimsError::of("today", &today.title))?;
            }
            others.kinds.push((kind.to_owned(), outcome));
        }
        Ok(others)
    }

    /// Returns the table.
    pub(crate) fn table(&self, experiment: &Experiment<'_>) -> Result<Comparison, ClaimsError> {
        let mut rows = Vec::new();
        let mut note = self.today.note.clone();
        for (kind, run) in &self.kinds {
            let mut cells = vec![Cell::Text(kind.clone())];
            match run {
                Ok(run) => cells.extend(row(&self.today.columns, &variables(run, kind), experiment)?),
                Err(why) => {
                    cells.extend(self.today.columns.iter().map(|_| Cell::Empty));
                    note = format!("{note} {kind} cannot stand here: {why}.");
                }
            }
            rows.push(cells);
        }
        let heads = self.today.columns.iter().map(|column| column.head.clone());
        Ok(Comparison {
            title: format!("Today: {}", self.today.title),
            columns: std::iter::once("discipline".to_owned()).chain(heads).collect(),
            rows,
            addresses: Vec::new(),
            note: note.trim().to_owned(),
        })
    }
}

fn variables(run: &str, kind: &str) -> Variables {
    Variables::from([("run".to_owned(), run.to_owned()), ("kind".to_owned(), kind.to_owned())])
}

impl Substitutes {
    /// Returns the settings that replace the tree by the discipline alone.
    fn alone(&self, kind: &str) -> Vec<String> {
        let parameters = self.parameters.get(kind).cloned().unwrap_or_default();
        let mut table = toml::Table::from_iter([("kind".to_owned(), toml::Value::from(kind))]);
        table.extend(parameters);
        let inline = toml::Value::Table(table);
        let set = |port: &String| {
            let root = match &self.under {
                Some(under) => format!("port.{port}.queue.{under}.children=[\"today\"]"),
                None => format!("port.{port}.root=today"),
            };
            [format!("port.{port}.queue.today={inline}"), root]
        };
        self.ports.iter().flat_map(set).collect()
    }

    /// Returns the settings that replace the queue with children by the discipline.
    fn instead(&self, kind: &str) -> Option<Vec<String>> {
        let root = self.root.as_ref()?;
        let set = |port: &String| {
            let mut all = vec![format!("port.{port}.queue.{root}.kind={kind}")];
            all.extend(self.unset.iter().map(|name| format!("port.{port}.queue.{root}.{name}=")));
            let parameters = self.parameters.get(kind).into_iter().flatten();
            all.extend(parameters.map(|(name, value)| format!("port.{port}.queue.{root}.{name}={value}")));
            all
        };
        Some(self.ports.iter().flat_map(set).chain(self.instead.iter().cloned()).collect())
    }
}
