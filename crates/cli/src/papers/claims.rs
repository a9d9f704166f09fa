//! `claims.toml` of a paper: the runs, the claims and what decides them, the figures, the tables, and what a
//! discipline of today would do.
//!
//! ```text
//! title paper scenario   [[run]]   [[fitted]]   [[claim]]   [[figure]] [[figure.series]]   [[table]] [[table.column]]   [[today]]
//! ```

use std::collections::BTreeMap;

use lockgate_scenario::Problems;
use lockgate_scenario::diagnostic::Span;
use serde::{Deserialize, Serialize};

use super::matrix::{Each, Rows, Scalar};
use lockgate_scenario::Scale;

/// The whole file.
#[expect(clippy::struct_field_names, reason = "the file's own words")]
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claims {
    /// What is reproduced, in a line.
    pub(crate) title: String,
    /// The paper, in a sentence.
    pub(crate) paper: String,
    /// The scenario that the report shows.
    pub(crate) scenario: String,
    #[serde(rename = "run")]
    pub(crate) runs: Vec<Runs>,
    #[serde(default)]
    pub(crate) fitted: Vec<Fitted>,
    #[serde(rename = "claim")]
    pub(crate) claims: Vec<Claim>,
    #[serde(default, rename = "figure")]
    pub(crate) figures: Vec<Figure>,
    #[serde(default, rename = "table")]
    pub(crate) tables: Vec<Table>,
    #[serde(default)]
    pub(crate) today: Vec<Today>,
}

/// Runs of a scenario, one for each combination of its variables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Runs {
    /// The runs' name, with variables: `tbf/$hz/$asked`.
    pub(crate) name: String,
    /// The scenario file.
    pub(crate) scenario: String,
    /// What is set in it, as with `--set`.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// What is set besides for `--quick`.
    #[serde(default)]
    pub(crate) quick: Vec<String>,
    #[serde(default)]
    pub(crate) each: Each,
    #[serde(default)]
    pub(crate) rows: Rows,
    /// How they are made on real packets.
    #[serde(default)]
    pub(crate) live: OnPackets,
}

/// How runs are made on real packets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnPackets {
    /// Why they are not, in a phrase.
    #[serde(default)]
    pub(crate) not: Option<String>,
    /// Why not for `--quick`.
    #[serde(default)]
    pub(crate) not_quick: Option<String>,
    /// How many times faster: rates up and times down.
    #[serde(default)]
    pub(crate) scale: Option<Scale>,
    /// What is set besides.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// What is set besides for `--quick`, in the place of `set`.
    #[serde(default)]
    pub(crate) quick: Vec<String>,
    /// How many of them are made at the same time, where that is no strain for a machine; one where it is not given.
    #[serde(default)]
    pub(crate) together: Option<u8>,
}

/// A free parameter whose value was chosen because claims then hold: the paper does not give it, and other plausible
/// values give other verdicts. The report shows them in a sensitivity table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fitted {
    /// Name by which claims refer to it in `fitted`.
    pub(crate) name: String,
    /// What it is, in a phrase.
    pub(crate) parameter: String,
    /// The value that the runs have.
    pub(crate) used: Scalar,
    /// Why this value was chosen, in a sentence.
    pub(crate) why: String,
    /// Which values are plausible, in a phrase.
    pub(crate) range: String,
    /// Values to try, `used` among them; none if no key of the scenario can change it.
    #[serde(default)]
    pub(crate) values: Vec<Scalar>,
    /// What is set for a value, `$value`, besides what each run sets.
    #[serde(default)]
    pub(crate) set: Vec<String>,
}

/// A known difference between real packets and the simulation. It exempts a required claim only within its bound, and
/// only if the cause was found.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LiveDifference {
    /// What was seen.
    pub(crate) seen: String,
    /// The mechanism; `None`: it was not found, and nothing is exempted.
    #[serde(default)]
    pub(crate) cause: Option<String>,
    /// Bounds of the values on real packets, each in place of the claim's own.
    #[serde(default)]
    pub(crate) at_most: Option<f64>,
    #[serde(default)]
    pub(crate) at_least: Option<f64>,
    #[serde(default)]
    pub(crate) tolerance: Option<f64>,
    #[serde(default)]
    pub(crate) rounding: Option<f64>,
}

impl LiveDifference {
    /// The claim with the bounds of real packets; `None` if it exempts nothing.
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

    /// What was seen, and why.
    pub(crate) fn words(&self) -> String {
        match &self.cause {
            Some(cause) => format!("{}: {cause}", self.seen),
            None => format!("{}; the cause was not found", self.seen),
        }
    }
}

/// One claim and what decides it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    pub(crate) id: String,
    /// The figure, table or section.
    #[serde(rename = "where")]
    pub(crate) place: String,
    /// In a sentence.
    pub(crate) text: String,
    /// The paper's value, or what it says.
    pub(crate) paper: String,
    /// What decides it, in words.
    pub(crate) decide: String,
    /// What decides it, as a formula over the runs.
    pub(crate) value: String,
    /// The value's unit.
    #[serde(default)]
    pub(crate) unit: String,
    #[serde(default, skip_serializing)]
    pub(crate) each: Each,
    #[serde(default, skip_serializing)]
    pub(crate) rows: Rows,
    /// Every value is this or less.
    #[serde(default)]
    pub(crate) at_most: Option<f64>,
    /// Every value is this or more.
    #[serde(default)]
    pub(crate) at_least: Option<f64>,
    /// What the values should be: one for all, or one for each.
    #[serde(default)]
    pub(crate) expected: Vec<f64>,
    /// How far a value may be from what it should be, as a share of that.
    #[serde(default)]
    pub(crate) tolerance: f64,
    /// How far it may be besides, in its unit: half of the last digit that is printed.
    #[serde(default)]
    pub(crate) rounding: f64,
    /// The values strictly rise or fall in their order.
    #[serde(default)]
    pub(crate) order: Option<Order>,
    /// Why it cannot be decided; our value is shown all the same.
    #[serde(default)]
    pub(crate) undecidable: Option<String>,
    /// Whether the command fails where it does not hold.
    #[serde(default = "yes")]
    pub(crate) required: bool,
    /// Where the bound is ours: why this one.
    #[serde(default)]
    pub(crate) chosen: String,
    /// Parameters that are ours because the paper is silent.
    #[serde(default)]
    pub(crate) ours: Vec<String>,
    /// Names of the `[[fitted]]` parameters without which it might not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) fitted: Vec<String>,
    /// Why, where it is known not to hold.
    #[serde(default)]
    pub(crate) note: String,
    /// Why it is not decided on real packets, though its runs can be made.
    #[serde(default)]
    pub(crate) not_live: Option<String>,
    /// How real packets differ from the simulation, where that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) live_differs: Option<LiveDifference>,
}

fn yes() -> bool {
    true
}

/// An order of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    Rising,
    Falling,
}

impl Claim {
    /// What a value must be, in words.
    pub(crate) fn bound(&self) -> String {
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

    /// Whether anything decides it.
    fn decides(&self) -> bool {
        self.at_most.is_some() || self.at_least.is_some() || !self.expected.is_empty() || self.order.is_some()
    }
}

/// An axis.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axis {
    pub(crate) label: String,
    #[serde(default)]
    pub(crate) unit: String,
    #[serde(default)]
    pub(crate) log: bool,
}

/// A figure of the paper, drawn again.
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

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    #[default]
    Line,
    Scatter,
    Bar,
}

/// A curve, or one for each combination of its variables. Exactly one of `y`, `over_time`, `density`,
/// `cumulative` and `points` says what is drawn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) each: Each,
    /// Horizontal places, `$x` in `y`.
    #[serde(default)]
    pub(crate) x: Vec<f64>,
    /// A formula for each of `x`.
    #[serde(default)]
    pub(crate) y: Option<String>,
    /// An observation over time.
    #[serde(default)]
    pub(crate) over_time: Option<String>,
    /// The density of an observed distribution.
    #[serde(default)]
    pub(crate) density: Option<String>,
    /// Its distribution function.
    #[serde(default)]
    pub(crate) cumulative: Option<String>,
    /// Values known beforehand.
    #[serde(default)]
    pub(crate) points: Vec<[f64; 2]>,
    /// What a curve's vertical places are multiplied by.
    #[serde(default = "one")]
    pub(crate) scale: f64,
    /// Whose the points are; the paper's where it is not given.
    #[serde(default)]
    pub(crate) origin: Origin,
}

fn one() -> f64 {
    1.0
}

/// Where known values come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Origin {
    #[default]
    Paper,
    Theory,
}

/// A table, one row for each combination of its variables.
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

/// A column of a table: a text or a formula, with variables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    pub(crate) head: String,
    #[serde(default)]
    pub(crate) text: Option<String>,
    #[serde(default)]
    pub(crate) value: Option<String>,
}

/// An experiment under other disciplines than the paper's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Today {
    /// Its title.
    pub(crate) title: String,
    /// What it shows, in a sentence.
    #[serde(default)]
    pub(crate) note: String,
    pub(crate) scenario: String,
    #[serde(default)]
    pub(crate) set: Vec<String>,
    #[serde(default)]
    pub(crate) quick: Vec<String>,
    /// The ports whose discipline is another.
    pub(crate) ports: Vec<String>,
    /// Their queue with children, whose kind is another where a discipline needs children. Then `unset` names its
    /// parameters, which the other kind does not know.
    #[serde(default)]
    pub(crate) root: Option<String>,
    #[serde(default)]
    pub(crate) unset: Vec<String>,
    /// What is set besides, where a discipline takes the place of that queue.
    #[serde(default)]
    pub(crate) instead: Vec<String>,
    /// The queue above which the discipline stands where the link itself is not the bottleneck.
    #[serde(default)]
    pub(crate) under: Option<String>,
    /// Disciplines to show where none are asked for.
    pub(crate) kinds: Vec<String>,
    /// Parameters of a kind, as in `queue.NAME`.
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, toml::Table>,
    #[serde(rename = "column")]
    pub(crate) columns: Vec<Column>,
}

impl Claims {
    /// Reads the file called `name`; what it says is checked by [`check`](Self::check).
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(crate) fn read(text: &str, name: &str) -> Result<Self, Problems> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let message = error.message();
            let missing = message.strip_prefix("missing field ").map(|field| field.trim_matches('`'));
            let help = missing.map_or_else(
                || "CONTRIBUTING.md says what it may have".to_owned(),
                |field| format!("add `{field} = …`; CONTRIBUTING.md says what it may have"),
            );
            // A table that misses something is underlined at its head.
            let head = |span: Span| {
                let first = text.get(span.clone()).and_then(|table| table.find('\n'));
                span.start..first.map_or(span.end, |length| span.start + length)
            };
            Problems::of_file(name, text, error.span().map(head), message, &help)
        })
    }

    /// Checks what the types do not say.
    ///
    /// # Errors
    /// What is wrong, with the name of the claim.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (index, claim) in self.claims.iter().enumerate() {
            let wrong = |why: &str| Err(format!("claim `{}`: {why}", claim.id));
            if self.claims[..index].iter().any(|other| other.id == claim.id) {
                return wrong("there are two of this name");
            }
            match (claim.decides(), &claim.undecidable) {
                (false, None) => {
                    return wrong(
                        "nothing decides it: give at_most, at_least, expected, order or undecidable",
                    );
                }
                (true, Some(_)) => return wrong("what is undecidable has no bound"),
                _ => {}
            }
            let unknown = |name: &&String| !self.fitted.iter().any(|fitted| fitted.name == **name);
            if let Some(name) = claim.fitted.iter().find(unknown) {
                return wrong(&format!("`fitted` names `{name}`, and there is no such [[fitted]]"));
            }
            if claim.order.is_some()
                && claim.each.is_empty()
                && claim.rows.is_empty()
                && !claim.value.contains('{')
            {
                return wrong("one value has no order: give each, rows or a list in braces");
            }
        }
        for fitted in &self.fitted {
            if !fitted.values.is_empty() && !fitted.values.contains(&fitted.used) {
                return Err(format!("fitted `{}`: `used` is not among `values`", fitted.name));
            }
        }
        for figure in &self.figures {
            for series in &figure.series {
                let curves = [&series.y, &series.over_time, &series.density, &series.cumulative];
                let given = curves.iter().filter(|curve| curve.is_some()).count();
                if given + usize::from(!series.points.is_empty()) != 1 {
                    return Err(format!(
                        "figure `{}`, series `{}`: give exactly one of y, over_time, density, cumulative and points",
                        figure.id, series.name
                    ));
                }
            }
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
            Ok(claims) => claims.check().expect_err(text),
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
