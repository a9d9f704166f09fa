//! Plans: one scenario under every combination of its variations, each with the same seeds.
//!
//! ```text
//! vary a = 1, 2; vary b = x, y -> variants 1 x, 1 y, 2 x, 2 y -> tasks: variants x seeds, the seed fastest
//! ```
//!
//! Every variant has the same seeds (common random numbers), so that variants are compared seed by seed. A
//! task's key depends on everything that its result depends on and on nothing else.

use std::collections::BTreeMap;
use std::fmt::Write;

use lockgate_scenario::{Vary, VaryError, vary};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::matrix::product;

/// Limit on the tasks of a plan.
pub const MOST_TASKS: usize = 10_000_000;

/// Runs of a scenario: every combination of its variations with every seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Version of the engine that makes the runs.
    pub engine: String,
    /// Text of the scenario.
    pub text: String,
    /// SHA-256 of each file that the scenario names, by its name, in hexadecimal.
    pub files: BTreeMap<String, String>,
    /// Settings of all runs, each `PATH=VALUE`, applied before those of a variant.
    pub settings: Vec<String>,
    /// Variations: the first varies slowest. Those of one group advance together.
    pub vary: Vec<Vary>,
    /// Seeds of each variant.
    pub seeds: Vec<u64>,
    /// Addresses of the metrics that are kept of each run.
    pub metrics: Vec<String>,
}

/// Combination of one value of each variation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// Values as tables show them, in the order of the plan's variations.
    pub values: Vec<String>,
    /// Settings, each `PATH=VALUE`.
    pub settings: Vec<String>,
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// SHA-256 of the engine's version, the scenario, its files, the settings and the seed, in hexadecimal.
    pub key: String,
    /// Index of its variant.
    pub variant: usize,
    /// Settings, each `PATH=VALUE`, applied in this order.
    pub settings: Vec<String>,
    /// Seed of the random draws.
    pub seed: u64,
}

/// Result of a task: value of each metric of the plan, `None` where the run has none.
pub type Row = Vec<Option<f64>>;

/// Value of a variation: as shown, with its settings.
type Choice = (usize, String, Vec<String>);

impl Plan {
    /// Returns the variants: every combination of the variations, the first slowest. One without settings if
    /// nothing varies.
    ///
    /// # Errors
    /// If the values of a variation are invalid, those of a group differ in number, or there are too many.
    pub fn variants(&self) -> Result<Vec<Variant>, Error> {
        let document: toml::Table = toml::from_str(&self.text).unwrap_or_default();
        let axes = self.axes(&document)?;
        self.size(&axes)?;
        let variant = |parts: Vec<Vec<Choice>>| {
            let mut choices: Vec<Choice> = parts.into_iter().flatten().collect();
            choices.sort_by_key(|(index, ..)| *index);
            let values = choices.iter().map(|(_, value, _)| value.clone()).collect();
            Variant { values, settings: choices.into_iter().flat_map(|(.., settings)| settings).collect() }
        };
        Ok(product(&axes).into_iter().map(variant).collect())
    }

    /// Returns the number of variants, without making them.
    ///
    /// # Errors
    /// Those of [`variants`](Self::variants).
    pub fn variant_count(&self) -> Result<usize, Error> {
        let document: toml::Table = toml::from_str(&self.text).unwrap_or_default();
        self.size(&self.axes(&document)?)
    }

    /// Returns the number of combinations of the axes.
    fn size(&self, axes: &[Vec<Vec<Choice>>]) -> Result<usize, Error> {
        let runs = axes.iter().try_fold(self.seeds.len().max(1), |size, axis| size.checked_mul(axis.len()));
        match runs {
            Some(runs) if runs <= MOST_TASKS => Ok(axes.iter().map(Vec::len).product()),
            _ => Err(Error::Plan(format!("the plan has more than {MOST_TASKS} runs"))),
        }
    }

    /// Returns the axes of the product: a variation alone, or a group whose variations advance together.
    fn axes(&self, document: &toml::Table) -> Result<Vec<Vec<Vec<Choice>>>, VaryError> {
        let mut axes: Vec<Vec<Vec<Choice>>> = Vec::new();
        // Index in `axes` of each group, and its first variation.
        let mut groups: BTreeMap<&str, (usize, &Vary)> = BTreeMap::new();
        for (index, one) in self.vary.iter().enumerate() {
            let choice = |text: &String| {
                Ok::<_, VaryError>(vec![(index, vary::shown(text).to_owned(), one.settings(text, document)?)])
            };
            let steps = one.values.texts()?.iter().map(choice).collect::<Result<Vec<_>, _>>()?;
            match one.together.as_deref().and_then(|group| groups.get(group)) {
                Some((at, first)) if axes[*at].len() == steps.len() => {
                    axes[*at].iter_mut().zip(steps).for_each(|(known, more)| known.extend(more));
                }
                Some((at, first)) => {
                    let (first, other) = (first.name.clone(), one.name.clone());
                    return Err(VaryError::Uneven {
                        first,
                        expected: axes[*at].len(),
                        other,
                        found: steps.len(),
                    });
                }
                None => {
                    groups.extend(one.together.as_deref().map(|group| (group, (axes.len(), one))));
                    axes.push(steps);
                }
            }
        }
        Ok(axes)
    }

    /// Returns the tasks: those of the first variant, one for each seed, then those of the next.
    ///
    /// # Errors
    /// Those of [`variants`](Self::variants).
    pub fn tasks(&self) -> Result<Vec<Task>, Error> {
        let mut tasks = Vec::new();
        for (index, variant) in self.variants()?.into_iter().enumerate() {
            let settings = [self.settings.as_slice(), &variant.settings].concat();
            tasks.extend(self.seeds.iter().map(|seed| Task {
                key: self.key(&settings, *seed),
                variant: index,
                settings: settings.clone(),
                seed: *seed,
            }));
        }
        Ok(tasks)
    }

    /// Returns the key of a run. Each part is hashed with its length, so that different lists of parts have
    /// different keys.
    fn key(&self, settings: &[String], seed: u64) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        };
        add(&self.engine);
        add(&self.text);
        add(&self.files.len().to_string());
        for (name, content) in &self.files {
            add(name);
            add(content);
        }
        for setting in settings {
            add(setting);
        }
        add(&format!("seed {seed}"));
        hexadecimal(&hash.finalize())
    }
}

/// Returns the SHA-256 of bytes, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Returns bytes in hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn plan(vary: &[&str], seeds: &[u64]) -> Plan {
        let vary = vary.iter().map(|text| Vary::parse(text).expect("a variation")).collect();
        Plan {
            engine: "1".into(),
            text: "title = 't'".into(),
            vary,
            seeds: seeds.to_vec(),
            ..Plan::default()
        }
    }

    #[test]
    fn every_combination_has_every_seed_and_a_key_of_its_own() {
        let mut plan = plan(&["link.a.rate=1mbit,2mbit", "port.a->b.root=x,y"], &[5, 6]);
        let tasks = plan.tasks().expect("tasks");
        assert_eq!(tasks.len(), 8);
        assert_eq!(tasks[3].settings, ["link.a.rate=1mbit", "port.a:b.root=y"]);
        assert_eq!((tasks[3].variant, tasks[3].seed), (1, 6));
        let keys = |plan: &Plan| {
            plan.tasks().expect("tasks").into_iter().map(|task| task.key).collect::<BTreeSet<_>>()
        };
        let known = keys(&plan);
        assert_eq!(known.len(), 8);
        plan.metrics = vec!["loss".into()];
        assert_eq!(keys(&plan), known, "a run does not depend on what is kept of it");
        plan.engine = "2".into();
        assert!(keys(&plan).is_disjoint(&known));
        (plan.engine, plan.files) = ("1".into(), BTreeMap::from([("x.csv".into(), digest(b"x"))]));
        assert!(keys(&plan).is_disjoint(&known));
    }

    #[test]
    fn a_group_advances_together() {
        let mut plan =
            plan(&["link.a.rate=1mbit,2mbit", "link.b.rate=3mbit,4mbit", "link.b.loss=1%,2%"], &[1]);
        plan.vary[0].together = Some("rates".into());
        plan.vary[2].together = Some("rates".into());
        let values = plan.variants().expect("variants").into_iter().map(|variant| variant.values.join(" "));
        assert_eq!(
            values.collect::<Vec<_>>(),
            ["1mbit 3mbit 1%", "1mbit 4mbit 1%", "2mbit 3mbit 2%", "2mbit 4mbit 2%"]
        );
        plan.vary[2] = Vary { together: Some("rates".into()), ..Vary::parse("link.b.loss=1%").expect("one") };
        assert!(plan.variants().is_err_and(|error| error.to_string().contains("same number")));
    }
}
