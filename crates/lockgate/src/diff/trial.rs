//! Both sides run with the same seeds.

use lockgate_experiment::{Plan, Row, Task, Variant};
use lockgate_scenario::vary::Values;
use lockgate_scenario::{Scenario, Vary};

use crate::Error;
use crate::plans::{Compared, ENGINE, PlanError, Source, Wanted};

/// Scenario of a side.
#[derive(Debug)]
pub struct TrialSource {
    /// Text and files.
    pub source: Source,
    /// Settings, each `PATH=VALUE`.
    pub settings: Vec<String>,
    /// The scenario.
    pub scenario: Scenario,
}

/// Runs of both sides with the same seeds.
#[derive(Debug)]
pub struct Trial {
    plan: Plan,
    variants: [Variant; 2],
    sides: [TrialSource; 2],
}

impl Trial {
    /// Creates the runs of two sides, which keep the metrics at the addresses `show`; without any, those of
    /// the new side's expectations or flows, as far as the old one has them. Returns `None` if it has none of
    /// them.
    ///
    /// # Errors
    /// If a metric is malformed, or neither has it.
    pub fn new(sides: [TrialSource; 2], seeds: Vec<u64>, show: &[String]) -> Result<Option<Self>, PlanError> {
        let [old, new] = &sides;
        let mut wanted = Wanted::new(show);
        wanted.look_in(&new.scenario);
        if !show.is_empty() {
            wanted.look_in(&old.scenario);
        }
        let has = |metric: &String, side: &Scenario| {
            let mut one = Wanted::new(core::slice::from_ref(metric));
            one.look_in(side);
            one.found().is_ok()
        };
        let metrics: Vec<String> =
            wanted.found()?.into_iter().filter(|metric| has(metric, &old.scenario)).collect();
        if metrics.is_empty() {
            return Ok(None);
        }
        let values = ["old", "new"].map(str::to_owned).to_vec();
        let name = "version".to_owned();
        let vary = Vary { paths: vec![name.clone()], name, values: Values::List(values), together: None };
        let text = new.source.text().to_owned();
        let plan =
            Plan { engine: ENGINE.to_owned(), text, vary: vec![vary], seeds, metrics, ..Plan::default() };
        let variant = |value: &str, side: &TrialSource| Variant {
            values: vec![value.to_owned()],
            settings: side.settings.clone(),
        };
        let variants = [variant("old", old), variant("new", new)];
        Ok(Some(Self { plan, variants, sides }))
    }

    /// Returns the estimate of the memory of a run of the larger one, in bytes.
    pub fn memory(&self) -> u64 {
        self.sides.iter().map(|side| crate::memory::of_run(&side.scenario)).max().unwrap_or(0)
    }

    /// Returns the runs: side by side, the seed fastest.
    pub fn tasks(&self) -> Vec<Task> {
        let seeds = || self.plan.seeds.iter();
        let of = |variant: usize| {
            let settings = &self.variants[variant].settings;
            seeds().map(move |seed| Task {
                key: String::new(),
                variant,
                settings: settings.clone(),
                seed: *seed,
            })
        };
        (0..2).flat_map(of).collect()
    }

    /// Makes a run; `None` if `stop` ended it.
    ///
    /// # Errors
    /// If the run fails.
    pub fn run(&self, task: &Task, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Row>, Error> {
        self.sides[task.variant].source.run(task, &self.plan.metrics, stop)
    }

    /// Compares the rows of the tasks.
    pub fn compared<'t>(&'t self, rows: &'t [Row]) -> Compared<'t> {
        Compared::new(&self.plan, &self.sides[1].scenario.title, &self.variants, rows, Some(0))
    }
}
