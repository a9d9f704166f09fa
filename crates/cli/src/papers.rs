//! The experiments of the papers: what they claim, what ours give, and whether that agrees.

pub(crate) mod caqt;

use std::collections::BTreeMap;

use lockgate_measure::report::{Comparison, Figure, Topology};
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// `claims.toml` of a paper.
#[derive(Debug, Deserialize)]
pub(crate) struct Claims {
    /// The paper, in a sentence.
    pub(crate) paper: String,
    #[serde(rename = "claim")]
    pub(crate) claims: Vec<Claim>,
}

/// One claim and how it is decided.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Claim {
    pub(crate) id: String,
    /// In a sentence.
    pub(crate) text: String,
    /// What the paper says, and where.
    pub(crate) paper: String,
    /// How it is decided, in words.
    pub(crate) decide: String,
    /// The value that decides it, by name.
    pub(crate) metric: String,
    #[serde(default)]
    pub(crate) at_most: Option<f64>,
    #[serde(default)]
    pub(crate) at_least: Option<f64>,
    /// Whether the command fails where it does not hold.
    #[serde(default = "yes")]
    pub(crate) required: bool,
    /// Why, where it is known not to hold.
    #[serde(default)]
    pub(crate) note: String,
}

fn yes() -> bool {
    true
}

/// A claim with our value.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Judged {
    #[serde(flatten)]
    pub(crate) claim: Claim,
    /// Ours, in simulation.
    pub(crate) value: f64,
    pub(crate) holds: bool,
}

/// Everything a paper's experiments yield.
pub(crate) struct Reproduction {
    pub(crate) paper: String,
    pub(crate) title: String,
    pub(crate) scenario: String,
    pub(crate) topology: Topology,
    pub(crate) claims: Vec<Judged>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) tables: Vec<Comparison>,
    /// What the user must know to read the numbers.
    pub(crate) notes: Vec<String>,
    pub(crate) interrupted: bool,
}

/// Holds each claim against the value of its name.
pub(crate) fn judge(claims: &Claims, values: &BTreeMap<&'static str, f64>) -> Result<Vec<Judged>, Failure> {
    let judge = |claim: &Claim| {
        let value = values.get(claim.metric.as_str()).copied().ok_or_else(|| {
            Failure::run(
                format!("claim `{}` asks for `{}`, which is not computed", claim.id, claim.metric),
                "this is a fault of Lockgate: please report it",
            )
        })?;
        let holds = claim.at_most.is_none_or(|bound| value <= bound)
            && claim.at_least.is_none_or(|bound| value >= bound)
            && value.is_finite();
        Ok(Judged { claim: claim.clone(), value, holds })
    };
    claims.claims.iter().map(judge).collect()
}
