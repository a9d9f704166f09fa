//! Verdicts over the plausible range of a fitted parameter. Claims cannot support a value that was chosen
//! because they then hold, so the report shows their verdicts at the other values too. If the paper states a
//! value, they are judged by that one, and the fitted one stands beside.

use lockgate_measure::report::{Cell, Comparison};

use super::experiment::Experiment;
use super::expression::{Observation, Values};
use super::figures::formula;
use super::file::{Claim, Fitted};
use super::verdict::{Beside, JudgedClaim};
use crate::ClaimsError;
use crate::matrix::{Scalar, Variables, combinations, fill};

/// Fitted parameter and the claims that depend on its value.
pub(crate) struct Sensitivity<'a> {
    fitted: &'a Fitted,
    claims: Vec<&'a Claim>,
}

impl<'a> Sensitivity<'a> {
    /// Adds the runs of the parameter's other values; `None` if no claim is fitted by it, or it has no values
    /// to try.
    ///
    /// # Errors
    /// If a value cannot be filled in, or a formula names a run that does not exist.
    pub(crate) fn plan(
        fitted: &'a Fitted,
        claims: &'a [Claim],
        experiment: &mut Experiment<'_>,
    ) -> Result<Option<Self>, ClaimsError> {
        let depends =
            |claim: &&Claim| claim.fitted.contains(&fitted.name) || claim.beside.contains(&fitted.name);
        let claims: Vec<_> = claims.iter().filter(depends).collect();
        if claims.is_empty() || fitted.values.is_empty() {
            return Ok(None);
        }
        for value in fitted.values.iter().filter(|value| *value != fitted.of_runs()) {
            let variables = Variables::from([("value".to_owned(), value.0.clone())]);
            let set: Vec<String> =
                fitted.set.iter().map(|text| fill(text, &variables)).collect::<Result<_, _>>()?;
            let variant = variant(fitted, value);
            for claim in &claims {
                for variables in combinations(&claim.each, &claim.rows)? {
                    let formula = formula(&claim.value, &variables)?;
                    let mut observed: Vec<Observation> = Vec::new();
                    formula.each_observation(&mut |observation| observed.push(observation.clone()));
                    for observation in observed {
                        experiment.want_variant(&variant, &set, observation)?;
                    }
                }
            }
        }
        Ok(Some(Self { fitted, claims }))
    }

    /// Returns the observations of the runs with this value.
    fn seen_at(&self, value: &Scalar, experiment: &Experiment<'_>) -> Values {
        let is_base = value == self.fitted.of_runs();
        let prefix = if is_base { String::new() } else { variant(self.fitted, value) };
        without_prefix(&experiment.seen.values, &prefix)
    }

    /// Adds the verdicts at the fitted value to the claims, if the paper states another.
    ///
    /// # Errors
    /// If a formula cannot be evaluated.
    pub(crate) fn judge_beside(
        &self,
        claims: &mut [JudgedClaim],
        experiment: &Experiment<'_>,
    ) -> Result<(), ClaimsError> {
        if self.fitted.stated.is_none() {
            return Ok(());
        }
        let seen = self.seen_at(&self.fitted.used, experiment);
        for judged in claims.iter_mut().filter(|judged| judged.claim.beside.contains(&self.fitted.name)) {
            let JudgedClaim { values, verdict, .. } =
                JudgedClaim::new(&judged.claim, super::value(&judged.claim, &seen)?);
            let at = format!("{} {}", self.fitted.name, self.fitted.used.0);
            judged.beside = Some(Beside { at, values, verdict });
        }
        Ok(())
    }

    /// Returns one row a value of the parameter: each claim's value with its verdict, and how many hold.
    ///
    /// # Errors
    /// If a formula cannot be evaluated.
    pub(crate) fn table(&self, experiment: &Experiment<'_>) -> Result<Comparison, ClaimsError> {
        let row = |value: &Scalar| {
            let seen = self.seen_at(value, experiment);
            let name = match (&self.fitted.stated, *value == self.fitted.used) {
                (Some(stated), _) if stated == value => format!("{} (paper)", value.0),
                (Some(_), true) => format!("{} (fitted)", value.0),
                (None, true) => format!("{} (used)", value.0),
                (_, false) => value.0.clone(),
            };
            let mut cells = vec![Cell::Text(name)];
            let mut holding = 0;
            for claim in &self.claims {
                let judged = JudgedClaim::new(claim, super::value(claim, &seen)?);
                holding += usize::from(judged.verdict.holds());
                let sign = if judged.verdict.holds() { '✓' } else { '✗' };
                cells.push(Cell::Text(format!("{sign} {}", judged.shown())));
            }
            cells.push(Cell::Text(format!("{holding} of {}", self.claims.len())));
            Ok(cells)
        };
        let heads = self.claims.iter().map(|claim| claim.id.clone());
        Ok(Comparison {
            title: format!("Sensitivity: {}", self.fitted.parameter),
            columns: std::iter::once(self.fitted.name.clone())
                .chain(heads)
                .chain(["hold".to_owned()])
                .collect(),
            rows: self.fitted.values.iter().map(row).collect::<Result<_, ClaimsError>>()?,
            addresses: Vec::new(),
            note: format!(
                "{} {}: {}. Plausible: {}.",
                self.fitted.why, self.fitted.place, self.fitted.paper, self.fitted.range
            ),
        })
    }
}

/// Returns the prefix of the names of a variant's runs.
fn variant(fitted: &Fitted, value: &Scalar) -> String {
    format!("sensitivity/{}/{}/", fitted.name, value.0)
}

/// Selects the observations of runs whose name begins with `prefix`, and removes it.
fn without_prefix(values: &Values, prefix: &str) -> Values {
    values
        .iter()
        .filter_map(|(observation, values)| {
            let run = observation.run.strip_prefix(prefix)?.to_owned();
            Some((Observation { run, ..observation.clone() }, values.clone()))
        })
        .collect()
}
