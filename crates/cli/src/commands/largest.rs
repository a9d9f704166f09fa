//! `lockgate tune --largest`: the largest number, such as of calls, that keeps a condition.

use std::collections::BTreeMap;

use indicatif::{ProgressBar, ProgressStyle};
use lockgate::{Options, Seed, memory, verdict};
use lockgate_experiment::tune::{Constraint, Largest, largest as search};
use lockgate_measure::metric::MetricError;
use serde_json::json;

use crate::arguments::Tune;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::plans::outputs::{Form, OutputFile};
use crate::terminal::{self, Cell, Column, Grid, Look};
use crate::{interrupt, plans, results, runs};

/// Limit on the numbers that are tried.
const LARGEST_TRIED: u64 = 1 << 20;

/// Values of the condition's metric by the number that was set, one a seed; `None`: nothing was observed.
type Values = BTreeMap<u64, Vec<Option<f64>>>;

/// A question with the values that answer it.
struct Question<'a> {
    path: &'a str,
    /// The condition, as written.
    condition: &'a str,
    constraint: Constraint,
    seeds: Vec<u64>,
    values: Values,
}

pub(super) fn largest(arguments: &Tune, path: &str, condition: &str) -> Result<Exit, Failure> {
    let mut question = Question {
        path,
        condition,
        constraint: Constraint::parse(condition)?,
        seeds: plans::seeds(&arguments.seeds)?,
        values: Values::new(),
    };
    let json = arguments.json.as_deref();
    let json = json.map(|file| OutputFile::start(file, Form::Search, "--json")).transpose()?;
    interrupt::listen();
    let bar = spinner(arguments.quiet);
    let found = search(LARGEST_TRIED, |number| question.run(arguments, number, &bar));
    bar.finish_and_clear();
    let Some(found) = found? else {
        tell!("stopped after {} numbers; nothing is kept of a search", question.values.len());
        return Ok(Exit::Interrupted);
    };
    if let Some(json) = &json {
        json.write(&results::json(&question.json(&found))?)?;
    }
    if !json.as_ref().is_some_and(OutputFile::is_stdout) {
        question.show(&found);
    }
    Ok(if found.all == 0 { Exit::ExpectMissed } else { Exit::Ok })
}

fn spinner(quiet: bool) -> ProgressBar {
    let bar = terminal::progress(0, quiet);
    bar.set_style(
        ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    bar
}

impl Question<'_> {
    /// Runs every seed with a number. Returns which of them keep the condition; `None` if it was interrupted.
    fn run(
        &mut self,
        arguments: &Tune,
        number: u64,
        bar: &ProgressBar,
    ) -> Result<Option<Vec<bool>>, Failure> {
        bar.set_message(format!("{} = {number}, after {} other numbers", self.path, self.values.len()));
        let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
        let mut settings = arguments.limits.overrides.clone();
        settings.push(format!("{}={number}", self.path));
        let scenario = runs::read_file(file, &settings, arguments.limits.memory.as_deref())?;
        memory::estimate(&scenario, self.seeds.len())?;
        let options = Options {
            seeds: self.seeds.iter().map(|seed| Seed(*seed)).collect(),
            threads: arguments.limits.jobs,
            memory: Some(scenario.memory),
            stop: &interrupt::is_requested,
            ..Options::default()
        };
        let made = lockgate::run(&scenario, &options)?;
        if made.stopped_early {
            return Ok(None);
        }
        let value = |recording| match lockgate_measure::summarise(&[recording]).metric(&self.constraint.path)
        {
            Ok(value) => Ok(Some(value)),
            Err(MetricError::Empty { .. }) => Ok(None),
            Err(unknown) => {
                Err(Failure::usage(format!("`{}` is not a metric", unknown.path()), unknown.help()))
            }
        };
        let values: Vec<Option<f64>> = made.recordings.into_iter().map(value).collect::<Result<_, _>>()?;
        let kept = values.iter().map(|value| self.is_kept(*value)).collect();
        self.values.insert(number, values);
        Ok(Some(kept))
    }

    fn is_kept(&self, value: Option<f64>) -> bool {
        value.is_some_and(|value| self.constraint.violation(value) <= 0.0)
    }

    /// Prints the numbers that were tried, and the answer.
    fn show(&self, found: &Largest) {
        let surface = terminal::surface();
        let mut grid = Grid::new(vec![
            Column::sign(),
            Column::number(self.path),
            Column::number(&self.constraint.path),
            Column::number("kept by"),
        ]);
        for (number, values) in &self.values {
            let kept = values.iter().filter(|value| self.is_kept(**value)).count();
            let (sign, look) = match kept {
                all if all == values.len() => ("✓", Look::Good),
                0 => ("✗", Look::Bad),
                _ => ("~", Look::Plain),
            };
            grid.row([
                Cell::new(sign, look),
                number.to_string().into(),
                verdict::quantity(&self.constraint.path, mean(values)).into(),
                format!("{kept} of {}", values.len()).into(),
            ]);
        }
        grid.lines(&surface).iter().for_each(|line| say!("{line}"));
        terminal::sentence(&self.answer(found));
    }

    /// Returns the answer in a sentence.
    fn answer(&self, found: &Largest) -> String {
        let (path, condition) = (self.path, self.condition);
        let seeds = match self.seeds.len() {
            1 => format!("seed {}", self.seeds[0]),
            several => format!("all of {several} seeds"),
        };
        let at = |number: u64| {
            let values = self.values.get(&number).map_or(&[][..], Vec::as_slice);
            verdict::quantity(&self.constraint.path, mean(values))
        };
        match *found {
            Largest { some: 0, .. } => format!("{path}: none keeps {condition}: 1 gives {}", at(1)),
            Largest { all, is_limit: true, .. } if all == found.some => {
                format!("{path}: {all} still keeps {condition} ({}), and no more are tried", at(all))
            }
            Largest { all, some, .. } if all == some => format!(
                "{path}: {all} is the largest that keeps {condition} in {seeds} ({}); {} gives {}",
                at(all),
                all + 1,
                at(all + 1)
            ),
            Largest { all, some, .. } => format!(
                "{path}: up to {all} keep {condition} in {seeds} ({}), and from {} on none do ({}): between {all} \
                 and {some} it depends on the seed",
                if all == 0 { "none".to_owned() } else { at(all) },
                some + 1,
                at(some + 1)
            ),
        }
    }

    fn json(&self, found: &Largest) -> serde_json::Value {
        let tried = |(number, values): (&u64, &Vec<Option<f64>>)| {
            let kept = values.iter().filter(|value| self.is_kept(**value)).count();
            json!({ "number": number, "values": values, "kept": kept })
        };
        json!({
            "schema": 1,
            "lockgate": crate::version::NUMBER,
            "largest": self.path,
            "while": self.condition,
            "metric": self.constraint.path,
            "seeds": self.seeds,
            "tried": self.values.iter().map(tried).collect::<Vec<_>>(),
            "kept_by_all": found.all,
            "kept_by_some": found.some,
            "is_limit": found.is_limit,
        })
    }
}

/// Returns the mean; `None` if a seed has no value.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
