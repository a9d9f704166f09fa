//! Definitions of a paper's runs: `[[run]]` with its variables filled in.

use std::collections::BTreeMap;

use super::file::{OnPackets, Runs};
use crate::ClaimsError;
use crate::matrix::{Variables, combinations, fill};

/// Run that the claims file defines.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// Name of the run.
    pub(crate) name: String,
    /// Scenario file.
    pub(crate) scenario: String,
    /// Settings, each `PATH=VALUE`, applied in this order.
    pub(crate) settings: Vec<String>,
    /// Offset of the seed: the variable `seed` less 1.
    pub(crate) offset: u64,
    /// Options on real packets; `None` if it is not made there.
    pub(crate) live: Option<OnPackets>,
}

impl Definition {
    /// Creates a run without variables.
    pub(crate) fn new(name: &str, scenario: &str, settings: Vec<String>) -> Self {
        Self { name: name.to_owned(), scenario: scenario.to_owned(), settings, offset: 0, live: None }
    }

    /// Returns the runs of a `[[run]]`, with its quick settings if `quick`: rows first, then the variables by
    /// name.
    ///
    /// # Errors
    /// If a name or a setting contains a variable that does not exist, or the variable `seed` is not a
    /// number.
    pub(crate) fn all(runs: &Runs, quick: bool) -> Result<Vec<Self>, ClaimsError> {
        combinations(&runs.each, &runs.rows)
            .map_err(ClaimsError::of("run", &runs.name))?
            .iter()
            .map(|variables| Self::filled(runs, quick, variables))
            .collect()
    }

    fn filled(runs: &Runs, quick: bool, variables: &Variables) -> Result<Self, ClaimsError> {
        let filled =
            |texts: &[String]| texts.iter().map(|text| fill(text, variables)).collect::<Result<Vec<_>, _>>();
        let name = fill(&runs.name, variables)?;
        let mut settings = filled(&runs.set)?;
        if quick {
            settings.extend(filled(&runs.quick)?);
        }
        let seed = variables.get("seed").map_or(Ok(1), |seed| seed.parse::<u64>());
        let seed = seed.map_err(|_| ClaimsError::of("run", &name)(ClaimsError::Seed))?;
        let mut live = runs.live.clone();
        (live.set, live.quick) = (filled(&live.set)?, filled(&live.quick)?);
        let (scenario, offset) = (runs.scenario.clone(), seed.saturating_sub(1));
        Ok(Self { name, scenario, settings, offset, live: Some(live) })
    }
}

/// Definitions by name.
pub(crate) type Definitions = BTreeMap<String, Definition>;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<(String, u64)>, ClaimsError> {
        let runs: Runs = toml::from_str(text).expect("a run");
        let all = Definition::all(&runs, false)?;
        Ok(all.into_iter().map(|run| (run.name, run.offset)).collect())
    }

    #[test]
    fn every_combination_is_a_run() {
        let text = "name = \"$a/$seed\"\nscenario = \"s.toml\"\nset = [\"x=$a\"]\neach = { a = [1, 2], seed = [5, 6] }\n";
        let expected = [("1/5", 4), ("1/6", 5), ("2/5", 4), ("2/6", 5)];
        assert_eq!(names(text), Ok(expected.map(|(name, offset)| (name.to_owned(), offset)).to_vec()));
        assert!(
            names(&text.replace("5, 6", "\"many\""))
                .is_err_and(|why| why.to_string().contains("whole number"))
        );
        assert!(
            names(&text.replace("\"$a/", "\"$b/"))
                .is_err_and(|why| why.to_string().contains("is not a variable"))
        );
    }
}
