//! Comparison of a scenario's variants over the same seeds, as `lockgate compare` makes it.

use lockgate::plans::{Compared, Curves, Planned, Request, RunValues};
use lockgate::{Seed, Simulation, memory, report};
use lockgate_experiment::{Row, Task, Variant};
use lockgate_measure::comparison::Practical;
use lockgate_measure::verdict::Wait;
use lockgate_scenario::Vary;
use serde::{Deserialize, Serialize};

use crate::answer::Wrong;
use crate::budget::{Budget, Job};
use crate::message::{Message, Value};
use crate::scenario::{Opened, ScenarioRequest};

/// Limit on the variants: each is a row of the table.
const MOST_VARIANTS: usize = 10_000;

/// Request for a comparison.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct CompareRequest {
    /// The scenario. Its settings are those of all runs.
    pub scenario: ScenarioRequest,
    /// Variations, each `PATH=VALUES`; without any, those of the scenario.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub vary: Vec<String>,
    /// Variations that advance together, value by value.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub vary_together: Vec<String>,
    /// Seeds of each variant; 1 to 10 by default.
    #[serde(default = "default_seeds")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<u64>>"))]
    pub seeds: Vec<u64>,
    /// Addresses of the metrics that are compared; by default those of the expectations.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub show: Vec<String>,
    /// Index from 0 of the variant that the others are compared with; by default the best.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub base: Option<usize>,
    /// Limits of differences that matter, such as `1%,1ms`, which is the default.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub equal: Option<String>,
}

fn default_seeds() -> Vec<u64> {
    (1..=10).collect()
}

/// Result of a comparison. Its parts are `report`, the data of the command's report.html, `comparison`, the
/// text of its comparison.json, and `runs`, that of its runs.csv.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedVariants {
    /// Title of the scenario.
    pub title: String,
    /// Number of variants and seeds in words.
    pub size: String,
    /// Sentences on which variant to take, and why.
    pub decision: Vec<String>,
}

/// Compares variants.
///
/// # Errors
/// If a variant has problems, or a run fails.
pub fn compare(message: &Message<'_>) -> Result<Value<ComparedVariants>, Wrong> {
    let mut comparing = Comparing::new(message.head()?, message)?;
    comparing.step(&mut Budget::unlimited())?;
    comparing.finish()
}

/// Comparison in progress.
pub(crate) struct Comparing {
    planned: Planned,
    variants: Vec<Variant>,
    tasks: Vec<Task>,
    curves: Curves,
    values: Vec<RunValues>,
    current: Option<Simulation<'static>>,
    base: Option<usize>,
    equal: Practical,
}

impl Comparing {
    pub(crate) fn new(request: CompareRequest, message: &Message<'_>) -> Result<Self, Wrong> {
        let equal = request.equal.as_deref().map_or(Ok(Practical::default()), str::parse);
        let equal = equal.map_err(|why| Wrong::new(format!("`equal`: {why}")))?;
        let opened = Opened::new(request.scenario, message)?;
        let base = opened.read()?;
        let mut vary = parsed(&request.vary)?;
        let together = parsed(&request.vary_together)?.into_iter();
        vary.extend(together.map(|vary| Vary { together: Some("together".to_owned()), ..vary }));
        let plan = Request {
            settings: opened.settings.clone(),
            vary,
            seeds: lockgate::plans::seeds(request.seeds)?,
            show: request.show,
        };
        let planned = Planned::new(opened.source(), &base, plan)?;
        let (variants, tasks) = (planned.plan.variants()?, planned.plan.tasks()?);
        if variants.len() > MOST_VARIANTS {
            let message = format!("{} variants are too many for a table", variants.len());
            return Err(Wrong::new(message).help(Some("vary less".to_owned())));
        }
        if let Some(base) = request.base.filter(|base| *base >= variants.len()) {
            return Err(Wrong::new(format!("variant {base} is not there")));
        }
        memory::check_together(planned.memory, Some(1), 1, planned.base.memory)
            .map_err(|why| Wrong::new(why.to_string()))?;
        let curves = Curves::new(&planned, variants.len());
        let (values, current) = (Vec::new(), None);
        Ok(Self { planned, variants, tasks, curves, values, current, base: request.base, equal })
    }

    /// Returns the result, once all runs are made.
    ///
    /// # Errors
    /// If some are not made.
    pub(crate) fn finish(self) -> Result<Value<ComparedVariants>, Wrong> {
        if self.values.len() < self.tasks.len() {
            let (made, all) = (self.values.len(), self.tasks.len());
            return Err(Wrong::new(format!("{made} of {all} runs are made: a comparison needs all")));
        }
        let planned = &self.planned;
        let (rows, waits): (Vec<Row>, Vec<Option<Wait>>) = self.values.into_iter().unzip();
        let compared = Compared::new(&planned.plan, &planned.title, &self.variants, &rows, self.base)
            .expecting(&planned.base.expects)
            .within(self.equal)
            .waiting(waits);
        let parts = vec![
            ("report", serde_json::to_vec(&compared.report(&planned.base, Some(self.curves)).readable())?),
            ("comparison", report::json(&compared.json())?.into_bytes()),
            ("runs", compared.csv().into_bytes()),
        ];
        let value = ComparedVariants {
            title: planned.title.clone(),
            size: compared.size(),
            decision: compared.decision(),
        };
        Ok(Value { value, parts })
    }
}

fn parsed(texts: &[String]) -> Result<Vec<Vary>, Wrong> {
    let parse = |text: &String| {
        Vary::parse(text)
            .map_err(|error| Wrong::new(format!("`{text}`: {error}")).help(Some(error.help().to_owned())))
    };
    texts.iter().map(parse).collect()
}

impl Job for Comparing {
    fn step(&mut self, budget: &mut Budget) -> Result<(), Wrong> {
        while let Some(task) = self.tasks.get(self.values.len()) {
            let mut simulation = if let Some(simulation) = self.current.take() {
                simulation
            } else {
                let scenario = self.planned.source().scenario(task, &self.planned.plan.metrics)?;
                Simulation::owning((*scenario).clone(), Seed(task.seed)).map_err(lockgate::Error::from)?
            };
            if !budget.advance(&mut simulation, lockgate::units::Instant::NEVER)? {
                self.current = Some(simulation);
                break;
            }
            let recording = simulation.finish().map_err(lockgate::Error::from)?.recording;
            let values = self.planned.values(task, recording, Some(&self.curves));
            self.values.push(values.map_err(lockgate::Error::from)?);
        }
        Ok(())
    }

    fn done(&self) -> f64 {
        let end = self.planned.base.end().as_secs_f64();
        let part = self.current.as_ref().map_or(0.0, |run| run.now().as_secs_f64() / end);
        self.values.len() as f64 + part.min(1.0)
    }

    fn runs(&self) -> usize {
        self.tasks.len()
    }

    fn has_ended(&self) -> bool {
        self.values.len() >= self.tasks.len()
    }
}
