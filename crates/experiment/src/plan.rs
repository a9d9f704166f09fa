//! Plans: one scenario under every combination of its variations and seeds.

use crate::Error;
use crate::matrix::{Variables, Variations, combinations, fill};

/// Runs of a scenario, one for each combination of variables and each seed.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Key of the tasks, with variables: `tbf/$hz/$seed`.
    pub name: String,
    /// Scenario, as the caller names it.
    pub scenario: String,
    /// Settings with variables: `link.line.rate=$rate`.
    pub settings: Vec<String>,
    /// Variables and their values.
    pub variations: Variations,
    /// Seeds: the values of the variable `seed`. If empty, `seed` is an ordinary variable, 1 by default.
    pub seeds: Vec<u64>,
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Name of the run.
    pub key: String,
    /// Scenario, as the caller names it.
    pub scenario: String,
    /// Settings, each `PATH=VALUE`, applied in this order.
    pub settings: Vec<String>,
    /// Seed of the random draws.
    pub seed: u64,
    /// Values of the variables.
    pub variables: Variables,
}

impl Plan {
    /// Returns the tasks: rows first, then the variables by name, then the seeds.
    ///
    /// # Errors
    /// If a name or a setting contains a variable that does not exist, or the variable `seed` is no number.
    pub fn tasks(&self) -> Result<Vec<Task>, Error> {
        let mut tasks = Vec::new();
        for variables in combinations(&self.variations.each, &self.variations.rows) {
            if self.seeds.is_empty() {
                tasks.push(self.task(variables).map_err(Error::Plan)?);
                continue;
            }
            for seed in &self.seeds {
                let mut with = variables.clone();
                with.insert("seed".to_owned(), seed.to_string());
                tasks.push(self.task(with).map_err(Error::Plan)?);
            }
        }
        Ok(tasks)
    }

    fn task(&self, variables: Variables) -> Result<Task, String> {
        let key = fill(&self.name, &variables)?;
        let settings = self.settings.iter().map(|text| fill(text, &variables)).collect::<Result<_, _>>()?;
        let seed = match variables.get("seed") {
            Some(seed) => {
                seed.parse::<u64>().map_err(|_| format!("run `{key}`: `seed` is a whole number from 1"))?
            }
            None => 1,
        };
        Ok(Task { key, scenario: self.scenario.clone(), settings, seed, variables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scalar;

    #[test]
    fn a_plan_has_a_task_for_each_combination_and_seed() {
        let mut plan = Plan {
            name: "$a/$seed".into(),
            settings: vec!["x=$a".into()],
            variations: Variations::each([("a", ["1", "2"].map(Scalar::from))]),
            seeds: vec![5, 6],
            ..Plan::default()
        };
        let keys = |plan: &Plan| {
            plan.tasks().expect("tasks").into_iter().map(|task| (task.key, task.seed)).collect::<Vec<_>>()
        };
        assert_eq!(
            keys(&plan),
            [("1/5", 5), ("1/6", 6), ("2/5", 5), ("2/6", 6)].map(|(key, seed)| (key.to_owned(), seed))
        );
        (plan.seeds, plan.name) = (Vec::new(), "$a".into());
        assert_eq!(keys(&plan), [("1".to_owned(), 1), ("2".to_owned(), 1)]);
        plan.variations.each.insert("seed".into(), vec![Scalar::from("many")]);
        assert!(plan.tasks().is_err_and(|error| error.to_string().contains("whole number")));
        plan.name = "$b".into();
        assert!(plan.tasks().is_err_and(|error| error.to_string().contains("is no variable")));
    }
}
