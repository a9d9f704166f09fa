//! `claims.toml` of a paper: runs, claims with their criteria, figures, tables, and runs under other
//! disciplines.
//!
//! ```text
//! title paper scenario   [[run]]   [[fitted]]   [[ours]]   [[claim]]   [[figure]] [[figure.series]]
//! [[table]] [[table.column]]   [[today]]
//! ```

use std::collections::BTreeMap;

use lockgate_scenario::Problems;
use lockgate_scenario::diagnostic::Span;
use serde::{Deserialize, Serialize};

use crate::ClaimsError;
use crate::matrix::{Each, Rows, Scalar};
use lockgate_scenario::Scale;

/// Contents of a `claims.toml`.
#[expect(clippy::struct_field_names, reason = "the file's own words")]
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claims {
    /// Title of the reproduction, in one line.
    pub(crate) title: String,
    /// Citation of the paper, in a sentence.
    pub(crate) paper: String,
    /// Scenario shown in the report.
    pub(crate) scenario: String,
    #[serde(rename = "run")]
    pub(crate) runs: Vec<Runs>,
    #[serde(default)]
    pub(crate) fitted: Vec<Fitted>,
    #[serde(default)]
    pub(crate) ours: Vec<Ours>,
    #[serde(rename = "claim")]
    pub(crate) claims: Vec<Claim>,
    #[serde(default, rename = "figure")]
    pub(crate) figures: Vec<Figure>,
    #[serde(default, rename = "table")]
    pub(crate) tables: Vec<Table>,
    #[serde(default)]
    pub(crate) today: Vec<Substitutes>,
}

/// Runs of a scenario, one for each combination of its variables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Runs {
    /// Name of the runs, with variables: `tbf/$hz/$asked`.
    pub(crate) name: String,
    /// Scenario file.
    pub(crate) scenario: String,
    /// Settings, as with `--set`.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// Additional settings for `--quick`.
    #[serde(default)]
    pub(crate) quick: Vec<String>,
    #[serde(default)]
    pub(crate) each: Each,
    #[serde(default)]
    pub(crate) rows: Rows,
    /// Options on real packets.
    #[serde(default)]
    pub(crate) live: OnPackets,
}

/// Options of runs on real packets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnPackets {
    /// Reason why they are not made, in a phrase.
    #[serde(default)]
    pub(crate) not: Option<String>,
    /// Reason why they are not made for `--quick`.
    #[serde(default)]
    pub(crate) not_quick: Option<String>,
    /// Speed-up: rates up and times down.
    #[serde(default)]
    pub(crate) scale: Option<Scale>,
    /// Additional settings.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// Additional settings for `--quick`, instead of `set`.
    #[serde(default)]
    pub(crate) quick: Vec<String>,
    /// Number of runs made in parallel, if they do not strain a machine; one by default.
    #[serde(default)]
    pub(crate) together: Option<u8>,
}

/// Parameter of which one value was chosen because claims then hold: the paper does not give it, or gives
/// another (`stated`). The report shows the verdicts at other values in a sensitivity table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fitted {
    /// Name by which claims refer to it in `fitted`.
    pub(crate) name: String,
    /// Description, in a phrase.
    pub(crate) parameter: String,
    /// Section or figure where the paper states the value, or is silent.
    #[serde(rename = "where")]
    pub(crate) place: String,
    /// The paper's words there, in a phrase: what it states, or of what it is silent.
    pub(crate) paper: String,
    /// Fitted value. The runs have it, unless the paper states one.
    pub(crate) used: Scalar,
    /// Value that the paper states, and that the runs have: claims are judged by it, and their verdicts at
    /// `used` stand beside. `None` if the paper is silent.
    #[serde(default)]
    pub(crate) stated: Option<Scalar>,
    /// Reason for the fitted value, in a sentence.
    pub(crate) why: String,
    /// Plausible values, in a phrase.
    pub(crate) range: String,
    /// Values to try, `used` and `stated` among them; none if no key of the scenario can change it.
    #[serde(default)]
    pub(crate) values: Vec<Scalar>,
    /// Settings for a value, `$value`, in addition to those of each run.
    #[serde(default)]
    pub(crate) set: Vec<String>,
}

impl Fitted {
    /// Returns the value that the runs have.
    pub(crate) fn of_runs(&self) -> &Scalar {
        self.stated.as_ref().unwrap_or(&self.used)
    }
}

/// Parameter of which one value was chosen, but not because claims then hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ours {
    /// Name by which claims refer to it in `ours`.
    pub(crate) name: String,
    /// Chosen value, in a phrase.
    pub(crate) used: String,
    /// Section or figure where the paper is silent, or states another value.
    #[serde(rename = "where")]
    pub(crate) place: String,
    /// The paper's words there, in a phrase: of what it is silent, or what it states.
    pub(crate) paper: String,
}

/// A known difference between real packets and the simulation. It exempts a required claim only within its
/// bound, and only if the cause was found.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LiveDifference {
    /// Observed difference.
    pub seen: String,
    /// Mechanism; `None` if it was not found, and nothing is exempted.
    #[serde(default)]
    pub cause: Option<String>,
    /// Upper bound of the values on real packets; this and the following replace the claim's own.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// Lower bound.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Relative tolerance.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Absolute tolerance.
    #[serde(default)]
    pub rounding: Option<f64>,
}

impl LiveDifference {
    /// Returns the claim with the bounds of real packets; `None` if it exempts nothing.
    pub(crate) fn exemption(&self, claim: &Claim) -> Option<Claim> {
        self.cause.as_ref()?;
        let bounds = [self.at_most, self.at_least, self.tolerance, self.rounding];
        bounds.iter().any(Option::is_some).then(|| Claim {
            at_most: self.at_most.or(claim.at_most),
            at_least: self.at_least.or(claim.at_least),
            tolerance: self.tolerance.unwrap_or(claim.tolerance),
            rounding: self.rounding.unwrap_or(claim.rounding),
            ..claim.clone()
        })
    }

    /// Returns the difference and its cause, in words.
    pub fn words(&self) -> String {
        match &self.cause {
            Some(cause) => format!("{}: {cause}", self.seen),
            None => format!("{}; the cause was not found", self.seen),
        }
    }
}

/// Claim and its criterion.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Name of the claim.
    pub id: String,
    /// True if the claim is Lockgate's own: a cause, a check against another model, or a derivation that the
    /// paper does not make.
    #[serde(default)]
    pub own: bool,
    /// Figure, table or section.
    #[serde(rename = "where")]
    pub place: String,
    /// The claim, in a sentence.
    pub text: String,
    /// The paper's value or statement.
    pub paper: String,
    /// Criterion, in words.
    pub decide: String,
    /// Criterion, as a formula over the runs.
    pub value: String,
    /// Unit of the value.
    #[serde(default)]
    pub unit: String,
    /// Variables of the formula: one value for each combination.
    #[serde(default, skip_serializing)]
    pub(crate) each: Each,
    /// Variables whose values belong together.
    #[serde(default, skip_serializing)]
    pub(crate) rows: Rows,
    /// Upper bound of every value.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// Lower bound of every value.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Expected values: one for all, or one for each.
    #[serde(default)]
    pub expected: Vec<f64>,
    /// Relative tolerance of the expected values.
    #[serde(default)]
    pub tolerance: f64,
    /// Additional absolute tolerance, in the value's unit: half of the last printed digit.
    #[serde(default)]
    pub rounding: f64,
    /// The values strictly rise or fall in their order.
    #[serde(default)]
    pub order: Option<Order>,
    /// Reason why it cannot be decided; our value is shown all the same.
    #[serde(default)]
    pub undecidable: Option<String>,
    /// True if the command fails when the claim does not hold.
    #[serde(default = "yes")]
    pub required: bool,
    /// Reason for the bound, if it is ours.
    #[serde(default)]
    pub chosen: String,
    /// Names of the `[[ours]]` parameters on which it depends most.
    #[serde(default)]
    pub ours: Vec<String>,
    /// Names of the `[[fitted]]` parameters without which it might not hold. After reading, those of
    /// which the paper is silent; the others are in `beside`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitted: Vec<String>,
    /// Names of the fitted parameters of which the paper states a value: the claim is judged at that value,
    /// and at the fitted one beside.
    #[serde(skip)]
    pub(crate) beside: Vec<String>,
    /// Remark: why it does not hold, or how narrowly it does.
    #[serde(default)]
    pub note: String,
    /// Reason why it is not decided on real packets, although its runs can be made.
    #[serde(default)]
    pub not_live: Option<String>,
    /// Known difference between real packets and the simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_differs: Option<LiveDifference>,
}

fn yes() -> bool {
    true
}

/// Order of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Each value is greater than the one before.
    Rising,
    /// Each value is less than the one before.
    Falling,
}

impl Claim {
    /// Returns the criterion in words.
    pub fn bound(&self) -> String {
        let mut parts = Vec::new();
        if let [expected] = self.expected.as_slice() {
            parts.push(format!("{expected}"));
        } else if !self.expected.is_empty() {
            parts.push("each as given".to_owned());
        }
        if self.tolerance > 0.0 {
            parts.push(format!("±{:.3} %", self.tolerance * 100.0).replace(".000", ""));
        }
        if self.rounding > 0.0 {
            parts.push(format!("±{}", self.rounding));
        }
        parts.extend(self.at_most.map(|bound| format!("at most {bound}")));
        parts.extend(self.at_least.map(|bound| format!("at least {bound}")));
        parts.extend(self.order.map(|order| match order {
            Order::Rising => "rising".to_owned(),
            Order::Falling => "falling".to_owned(),
        }));
        parts.join(", ")
    }

    /// True if it has a criterion.
    fn decides(&self) -> bool {
        self.at_most.is_some() || self.at_least.is_some() || !self.expected.is_empty() || self.order.is_some()
    }
}

/// Axis of a figure.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axis {
    pub(crate) label: String,
    #[serde(default)]
    pub(crate) unit: String,
    #[serde(default)]
    pub(crate) log: bool,
}

/// Figure of the paper, redrawn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    pub(crate) id: String,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) caption: String,
    /// `line`, `scatter` or `bar`.
    #[serde(default)]
    pub(crate) kind: Kind,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

/// Kind of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    #[default]
    Line,
    Scatter,
    Bar,
}

/// Curve, or one for each combination of its variables. Exactly one of `y`, `over_time`, `density`,
/// `cumulative` and `points` gives its points.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) each: Each,
    /// Values of the horizontal axis, `$x` in `y`.
    #[serde(default)]
    pub(crate) x: Vec<f64>,
    /// Formula, evaluated for each of `x`.
    #[serde(default)]
    pub(crate) y: Option<String>,
    /// Observation, drawn over time.
    #[serde(default)]
    pub(crate) over_time: Option<String>,
    /// Observed distribution, drawn as its density.
    #[serde(default)]
    pub(crate) density: Option<String>,
    /// Observed distribution, drawn as its distribution function.
    #[serde(default)]
    pub(crate) cumulative: Option<String>,
    /// Constant points.
    #[serde(default)]
    pub(crate) points: Vec<[f64; 2]>,
    /// Factor of the vertical values.
    #[serde(default = "one")]
    pub(crate) scale: f64,
    /// Origin of constant points; the paper by default.
    #[serde(default)]
    pub(crate) origin: Origin,
}

fn one() -> f64 {
    1.0
}

/// Origin of constant points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Origin {
    #[default]
    Paper,
    Theory,
}

/// Table, one row for each combination of its variables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) note: String,
    #[serde(default)]
    pub(crate) each: Each,
    #[serde(default)]
    pub(crate) rows: Rows,
    #[serde(rename = "column")]
    pub(crate) columns: Vec<Column>,
}

/// Column of a table: a text or a formula, with variables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    pub(crate) head: String,
    #[serde(default)]
    pub(crate) text: Option<String>,
    #[serde(default)]
    pub(crate) value: Option<String>,
}

/// Experiment under other disciplines than the paper's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Substitutes {
    /// Title.
    pub(crate) title: String,
    /// Purpose, in a sentence.
    #[serde(default)]
    pub(crate) note: String,
    pub(crate) scenario: String,
    #[serde(default)]
    pub(crate) set: Vec<String>,
    #[serde(default)]
    pub(crate) quick: Vec<String>,
    /// Ports whose discipline is replaced.
    pub(crate) ports: Vec<String>,
    /// Queue with children at these ports, whose kind is replaced if a discipline needs children. `unset`
    /// then names its parameters, which the other kind does not have.
    #[serde(default)]
    pub(crate) root: Option<String>,
    #[serde(default)]
    pub(crate) unset: Vec<String>,
    /// Additional settings if a discipline replaces that queue.
    #[serde(default)]
    pub(crate) instead: Vec<String>,
    /// Parent queue of the discipline, if the link itself is not the bottleneck.
    #[serde(default)]
    pub(crate) under: Option<String>,
    /// Disciplines shown by default.
    pub(crate) kinds: Vec<String>,
    /// Parameters of a kind, as in `queue.NAME`.
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, toml::Table>,
    #[serde(rename = "column")]
    pub(crate) columns: Vec<Column>,
}

impl Claims {
    /// Parses the file called `name`. [`check`](Self::check) checks its contents.
    ///
    /// # Errors
    /// Problems, with their positions.
    pub(crate) fn read(text: &str, name: &str) -> Result<Self, Problems> {
        let mut file = Self::parse(text, name)?;
        let stated: Vec<&str> = file
            .fitted
            .iter()
            .filter(|fitted| fitted.stated.is_some())
            .map(|fitted| fitted.name.as_str())
            .collect();
        for claim in &mut file.claims {
            let names = std::mem::take(&mut claim.fitted);
            (claim.beside, claim.fitted) =
                names.into_iter().partition(|name| stated.contains(&name.as_str()));
        }
        Ok(file)
    }

    fn parse(text: &str, name: &str) -> Result<Self, Problems> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let message = error.message();
            let missing = message.strip_prefix("missing field ").map(|field| field.trim_matches('`'));
            let help = missing.map_or_else(
                || "CONTRIBUTING.md says what it may have".to_owned(),
                |field| format!("add `{field} = …`; CONTRIBUTING.md says what it may have"),
            );
            // A table that lacks a key is underlined at its head.
            let head = |span: Span| {
                let first = text.get(span.clone()).and_then(|table| table.find('\n'));
                span.start..first.map_or(span.end, |length| span.start + length)
            };
            Problems::of_file(name, text, error.span().map(head), message, &help)
        })
    }

    /// Checks the rules that the types do not express.
    ///
    /// # Errors
    /// The problem, with the name of the claim.
    pub(crate) fn check(&self) -> Result<(), ClaimsError> {
        for (index, claim) in self.claims.iter().enumerate() {
            if self.claims[..index].iter().any(|other| other.id == claim.id) {
                return Err(ClaimsError::of("claim", &claim.id)(ClaimsError::Twice));
            }
            self.check_claim(claim).map_err(ClaimsError::of("claim", &claim.id))?;
        }
        let fitted = self.fitted.iter().map(|fitted| (&fitted.name, &fitted.place, &fitted.paper));
        let ours = self.ours.iter().map(|ours| (&ours.name, &ours.place, &ours.paper));
        for (name, place, paper) in fitted.chain(ours) {
            if place.trim().is_empty() || paper.trim().is_empty() {
                return Err(ClaimsError::NoSilence(name.clone()));
            }
        }
        for fitted in &self.fitted {
            let lacks = |value: &Scalar| !fitted.values.contains(value);
            let wrong = |key| Err(ClaimsError::of("fitted", &fitted.name)(ClaimsError::NotAmongValues(key)));
            if fitted.stated.as_ref().is_some_and(lacks) {
                return wrong("stated");
            }
            if !fitted.values.is_empty() && lacks(&fitted.used) {
                return wrong("used");
            }
        }
        for figure in &self.figures {
            for series in &figure.series {
                let curves = [&series.y, &series.over_time, &series.density, &series.cumulative];
                let given = curves.iter().filter(|curve| curve.is_some()).count();
                if given + usize::from(!series.points.is_empty()) != 1 {
                    return Err(ClaimsError::Series(figure.id.clone(), series.name.clone()));
                }
            }
        }
        Ok(())
    }

    /// Checks the rules of a claim.
    fn check_claim(&self, claim: &Claim) -> Result<(), ClaimsError> {
        match (claim.decides(), &claim.undecidable) {
            (false, None) => return Err(ClaimsError::Undecided),
            (true, Some(_)) => return Err(ClaimsError::Bounded),
            _ => {}
        }
        if claim.place.trim().is_empty() || claim.paper.trim().is_empty() {
            return Err(ClaimsError::NoPlace);
        }
        let unknown = |name: &&String| !self.ours.iter().any(|ours| ours.name == **name);
        if let Some(name) = claim.ours.iter().find(unknown) {
            return Err(ClaimsError::NoTable("ours", name.clone(), "ours"));
        }
        let unknown = |name: &&String| !self.fitted.iter().any(|fitted| fitted.name == **name);
        if let Some(name) = claim.fitted.iter().chain(&claim.beside).find(unknown) {
            return Err(ClaimsError::NoTable("fitted", name.clone(), "fitted"));
        }
        if claim.order.is_some()
            && claim.each.is_empty()
            && claim.rows.is_empty()
            && !claim.value.contains('{')
        {
            return Err(ClaimsError::OneValue);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"
title = "t"
paper = "p"
scenario = "s.toml"
[[run]]
name = "r"
scenario = "s.toml"
[[claim]]
id = "a"
where = "Figure 1"
text = "t"
paper = "p"
decide = "d"
value = "[r: flow.f.loss]"
"#;

    fn why(text: &str) -> String {
        match read(text) {
            Ok(claims) => claims.check().expect_err(text).to_string(),
            Err(problems) => {
                let problem = problems.iter().next().expect("a problem");
                let line = problem.position().map(|(line, _)| format!("line {line}: ")).unwrap_or_default();
                format!("{line}{problem}")
            }
        }
    }

    fn read(text: &str) -> Result<Claims, Problems> {
        Claims::read(text, "mine/claims.toml")
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        assert!(read(&format!("{HEAD}at_most = 1.0")).is_ok_and(|claims| claims.check().is_ok()));
        assert!(why(HEAD).contains("claim `a`: nothing decides it"));
        assert!(why(&format!("{HEAD}at_most = 1.0\nundecidable = \"no numbers\"")).contains("has no bound"));
        assert!(why(&format!("{HEAD}at_mots = 1.0")).contains("unknown field `at_mots`"));
        assert!(why(&format!("{HEAD}at_most = \"one\"")).contains("invalid type"));
        assert!(why(&format!("{HEAD}order = \"rising\"")).contains("one value has no order"));
        let placeless = HEAD.replace("Figure 1", "");
        assert!(why(&format!("{placeless}at_most = 1.0")).contains("claim `a`: `where` and `paper`"));
        assert!(why(&format!("{HEAD}at_most = 1.0\nours = [\"x\"]")).contains("no such [[ours]]"));
        let ours = |place: &str| {
            format!(
                "{HEAD}at_most = 1.0\nours = [\"x\"]\n\
                 [[ours]]\nname = \"x\"\nused = \"1\"\nwhere = \"{place}\"\npaper = \"silent on x\""
            )
        };
        assert!(read(&ours("Section 2")).is_ok_and(|claims| claims.check().is_ok()));
        assert!(why(&ours(" ")).contains("`x`: `where` and `paper` say where the paper is silent"));
        assert!(why("title = 1").contains("line 1"));
        let twice =
            format!("{HEAD}at_most = 1.0\n{}at_most = 1.0", &HEAD[HEAD.find("[[claim]]").unwrap_or(0)..]);
        assert!(why(&twice).contains("there are two of this name"));
        let series = "at_most = 1.0\n[[figure]]\nid = \"f\"\ntitle = \"t\"\nx = { label = \"x\" }\ny = { label = \"y\" }\n\
                      [[figure.series]]\nname = \"s\"";
        assert!(why(&format!("{HEAD}{series}")).contains("exactly one of"));
    }

    #[test]
    fn bounds_are_said_in_words() {
        let bound = |more: &str| read(&format!("{HEAD}{more}")).expect("valid").claims[0].bound();
        assert_eq!(bound("at_most = 0.01"), "at most 0.01");
        assert_eq!(bound("expected = [373]\ntolerance = 0.01"), "373, ±1 %");
        assert_eq!(
            bound("expected = [1, 2]\ntolerance = 0.05\nrounding = 0.005"),
            "each as given, ±5 %, ±0.005"
        );
    }
}
